// expect: constraint(s not satisfied| failure) for .*dqn
// names: TrainableNetwork
#include <rubato/rl/dqn.hpp>

struct fixed {
  using scalar = float;
  void evaluate(std::span<const float>, std::span<float>) const noexcept {}
};
rubato::rl::dqn<fixed>* agent;
