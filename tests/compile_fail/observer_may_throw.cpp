// expect: constraint(s not satisfied| failure) for .*controller
#include <rubato/rubato.hpp>

struct throwing {
  void operator()(const rubato::record&) {}
};
rubato::controller<rubato::asp, int, throwing> host{{.capacity = 2}, {}};
