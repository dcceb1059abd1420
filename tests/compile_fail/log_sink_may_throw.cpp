// expect: constraint(s not satisfied| failure) for .*decision_log
// names: ByteSink
#include <rubato/io/decision_log.hpp>

struct throwing {
  void operator()(std::string_view) {}
};
rubato::decision_log<throwing>* log;
