// One update of a DQN with the network 40-64-32-3 by other libraries: a batch of 32 from a replay of transitions, the
// target network's greatest value of the next state, the mean of (Q - target)^2, its gradient, one step of Adam (0.9,
// 0.999, 1e-8). The target network stays as it was made; gradients are not clipped.
#ifndef RUBATO_BENCH_PEERS_DQN_UPDATE_HPP
#define RUBATO_BENCH_PEERS_DQN_UPDATE_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace rubato::bench {

inline constexpr std::size_t update_batch = 32;

/// Each array has one entry, or 40 numbers, per transition. The arrays outlive whatever is made from them.
struct replayed {
  std::size_t transitions;
  const float* here;
  const float* there;
  const std::uint32_t* action;
  const float* reward;
  const float* discount;  ///< of the next state's value; 0 at the end of an episode
};

struct update_peer {
  virtual ~update_peer() = default;
  /// Learns from these 32 transitions.
  virtual void update(const std::uint32_t* transitions) = 0;
  /// The parameters that it has come to, as in nn::mlp.
  virtual void parameters(float* out) const = 0;
};

struct update_library {
  const char* name;
  float slope;  ///< of the activation below 0 that it computes
  std::unique_ptr<update_peer> (*make)(const float* parameters, const replayed& replay, float learning_rate);
};

/// Those that this program was built with.
[[nodiscard]] const std::vector<update_library>& update_libraries();

}  // namespace rubato::bench

#endif
