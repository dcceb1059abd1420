#ifndef RUBATO_RL_DUELING_HPP
#define RUBATO_RL_DUELING_HPP

#include <algorithm>
#include <cstddef>
#include <span>

#include "../nn/activation.hpp"
#include "../nn/training_concepts.hpp"
#include "../pinned.hpp"

namespace rubato::inline RUBATO_ABI::rl {

/// The dueling head: a network whose outputs are (V, A_0, A_1, ...) stands for Q_a = V + A_a - mean(A).
///
/// The two streams share all hidden layers. As the last layer is linear, so is Q: fold_dueling() turns such a network
/// into one of plain action values, and nobody who uses a policy needs to know how it was trained.
/// Tests   tests/rl/dueling_test.cpp: ValuesByHand, GradientMatchesFiniteDifferences, FoldedNetworkHasTheSameValues
/// Source  Wang et al., "Dueling Network Architectures for Deep Reinforcement Learning", ICML 2016, eq. 9
RUBATO_DETAIL_PINNED inline void dueling_values(std::span<const float> outputs, std::span<float> values) noexcept {
  RUBATO_DETAIL_EXACT
  const std::size_t actions = values.size();
  float sum = 0;
  for (std::size_t a = 0; a < actions; ++a) sum += outputs[a + 1];
  const float mean = sum / static_cast<float>(actions);
  for (std::size_t a = 0; a < actions; ++a) values[a] = outputs[0] + (outputs[a + 1] - mean);
}

/// The gradient by the outputs, given the gradient by the values. Tests, source: see dueling_values().
RUBATO_DETAIL_PINNED inline void dueling_gradient(std::span<const float> values, std::span<float> outputs) noexcept {
  RUBATO_DETAIL_EXACT
  const std::size_t actions = values.size();
  float sum = 0;
  for (std::size_t a = 0; a < actions; ++a) sum += values[a];
  const float mean = sum / static_cast<float>(actions);
  outputs[0] = sum;
  for (std::size_t a = 0; a < actions; ++a) outputs[a + 1] = values[a] - mean;
}

/// Makes `plain`, which is as `dueling` but with one output less, compute its action values. Returns false, and changes
/// nothing, if the shapes do not match or `dueling` does not end with a linear layer. Tests: see dueling_values().
template <nn::TrainableNetwork Dueling, nn::TrainableNetwork Plain>
[[nodiscard]] bool fold_dueling(const Dueling& dueling, Plain& plain) noexcept {
  const std::size_t count = dueling.layers().size(), last = count - 1;
  if (plain.layers().size() != count || plain.options() != dueling.options()) return false;
  if (dueling.options().output.kind != nn::activation_kind::identity) return false;
  for (std::size_t l = 0; l < count; ++l) {
    const std::size_t extra = l == last ? 1 : 0;
    if (plain.layers()[l].inputs != dueling.layers()[l].inputs) return false;
    if (plain.layers()[l].outputs + extra != dueling.layers()[l].outputs) return false;
  }
  const std::size_t shared = dueling.layers()[last].first, actions = plain.outputs();
  std::copy_n(dueling.parameters().begin(), shared, plain.parameters().begin());
  const auto from = dueling.weight(last);
  const auto to = plain.weight(last);
  for (std::size_t i = 0; i < from.inputs; ++i)
    dueling_values(from.values.subspan(i * (actions + 1), actions + 1), to.values.subspan(i * actions, actions));
  dueling_values(dueling.bias(last), plain.bias(last));
  return true;
}

}  // namespace rubato::inline RUBATO_ABI::rl

#endif
