// expect: constraint(s not satisfied| failure) for .*trainer
// names: Environment
#include <rubato/rl/dqn.hpp>
#include <rubato/rl/training.hpp>

struct endless {
  std::size_t observation_size() const { return 1; }
};
rubato::rl::trainer<endless, rubato::rl::dqn<>>* training;
