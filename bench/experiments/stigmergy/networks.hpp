#ifndef RUBATO_BENCH_EXPERIMENTS_STIGMERGY_NETWORKS_HPP
#define RUBATO_BENCH_EXPERIMENTS_STIGMERGY_NETWORKS_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <rubato/nn/batch_workspace.hpp>
#include <rubato/nn/dynamic_mlp.hpp>
#include <rubato/nn/initialiser.hpp>
#include <rubato/rl/softmax_policy.hpp>
#include <span>
#include <vector>

namespace stigmergy {

using network = rubato::nn::dynamic_mlp;

/// A network of these widths with drawn weights, which has the same bits on every processor.
[[nodiscard]] inline network drawn_network(const std::vector<std::size_t>& widths, rubato::random_sequence& random) {
  network net = *network::make(widths);
  net.use(rubato::nn::kernels::reproducible<float>());
  rubato::nn::initialise(net, {}, random);
  return net;
}

/// `target` moves by a share of the way to `online`.
inline void follow(network& target, const network& online, double rate) {
  const auto to = target.parameters();
  const auto from = online.parameters();
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += static_cast<float>(rate) * (from[i] - to[i]);
}

/// An action drawn by the preferences that a policy has for it.
[[nodiscard]] inline std::uint32_t drawn_action(const network& policy, std::span<const float> observation,
                                                rubato::random_sequence& random) {
  std::array<float, rubato::rl::max_actions> memory;
  const auto preferences = std::span{memory}.first(policy.outputs());
  policy.evaluate(observation, preferences);
  return rubato::rl::softmax_action(preferences, rubato::rl::all_legal, random);
}

}  // namespace stigmergy

#endif
