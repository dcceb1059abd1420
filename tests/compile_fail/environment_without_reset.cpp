// expect: constraint(s not satisfied| failure) for .*trainer
// names: Environment
#include <rubato/rl/dqn.hpp>
#include <rubato/rl/training.hpp>

struct endless {
  struct outcome {
    std::span<const float> observation;
    float reward;
    double elapsed;
    std::uint32_t executed;
    bool terminated, truncated;
  };
  std::size_t observation_size() const { return 1; }
  std::size_t actions() const { return 2; }
  std::uint32_t legal() const { return 3; }
  outcome step(std::uint32_t) { return {}; }
};
rubato::rl::trainer<endless, rubato::rl::dqn<>>* training;
