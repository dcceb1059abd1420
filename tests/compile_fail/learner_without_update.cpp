// expect: constraint(s not satisfied| failure) for .*trainer
// names: Learner
#include <rubato/encode/rlp_state.hpp>
#include <rubato/rl.hpp>
#include <rubato/sim.hpp>

struct idle {
  using network = rubato::nn::dynamic_mlp;
  std::size_t observation_size() const { return 1; }
  std::size_t actions() const { return 2; }
  std::uint32_t act(std::span<const float>, std::uint32_t, rubato::random_sequence&) noexcept { return 0; }
  std::uint32_t greedy(std::span<const float>, std::uint32_t) const noexcept { return 0; }
  void record(const rubato::rl::transition&) noexcept {}
  bool updates_at_reset() const noexcept { return false; }
  const network& policy() const noexcept { return net; }
  std::vector<std::string> configuration() const { return {}; }
  void state(rubato::archive&) {}
  network net;
};
using task = rubato::sim::environment<rubato::sim::quadratic, rubato::rlp_state>;
static_assert(rubato::rl::Environment<task>);
rubato::rl::trainer<task, idle>* training;
