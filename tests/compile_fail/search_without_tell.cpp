// expect: constraint(s not satisfied| failure) for .*search_trainer
// names: ParameterSearch
#include <rubato/rl/search_training.hpp>

struct deaf {
  std::size_t dimension() const { return 1; }
  std::size_t population() const { return 2; }
  std::uint64_t generation() const { return 0; }
  void ask(std::size_t, std::span<float>) const {}
  void best_guess(std::span<float>) const {}
  double step_size() const { return 1; }
  std::vector<std::string> configuration() const { return {}; }
  void state(rubato::archive&) {}
};
rubato::rl::search_trainer<deaf>* training;
