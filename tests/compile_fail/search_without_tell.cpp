// expect: constraint(s not satisfied| failure) for .*search_trainer
// names: ParameterSearch
#include <rubato/rl/search_training.hpp>

struct deaf {
  std::size_t dimension() const { return 1; }
};
rubato::rl::search_trainer<deaf>* training;
