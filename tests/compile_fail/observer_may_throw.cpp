// expect: constraint(s not satisfied| failure) for .*controller
// names: Observer
#include <rubato/sync/asp.hpp>
#include <rubato/sync/controller.hpp>

struct throwing {
  void operator()(const rubato::record&) {}
};
rubato::controller<rubato::asp, int, throwing> host{{.capacity = 2}, {}};
