#ifndef RUBATO_BENCH_EXPERIMENTS_STIGMERGY_EPISODES_HPP
#define RUBATO_BENCH_EXPERIMENTS_STIGMERGY_EPISODES_HPP

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <rubato/core/rng.hpp>
#include <rubato/rl/evaluation.hpp>
#include <span>
#include <vector>

#include "tunnel.hpp"

namespace stigmergy {

/// What an agent does next.
using chooser = std::function<std::uint32_t(const tunnel&, std::size_t agent, rubato::random_sequence&)>;

/// How episodes went: their means.
struct summary {
  double delivered = 0;   ///< pellets of all agents
  double gini = 0;        ///< of the agents' deliveries: 0 where all do as much, 1 - 1 / agents where one does all
  double idle = 0;        ///< share of steps in which an agent chose to stay
  double collisions = 0;  ///< moves into another, of all agents
};

/// Half of the mean difference between two of them, as a share of the mean; 0 where there is nothing.
/// Source  Gini, "Variabilità e mutabilità", 1912
[[nodiscard]] inline double gini(std::span<const std::uint32_t> values) {
  double differences = 0, sum = 0;
  for (const std::uint32_t a : values) {
    sum += a;
    for (const std::uint32_t b : values) differences += std::abs(static_cast<double>(a) - static_cast<double>(b));
  }
  return sum > 0 ? differences / (2 * static_cast<double>(values.size()) * sum) : 0;
}

/// One episode, each step of which is shown to `watch` before it is made, and the state at the end.
template <class Watch>
summary play(tunnel& world, std::uint64_t seed, const chooser& choose, Watch&& watch) {
  world.reset(seed);
  rubato::random_sequence random{seed, 0x706C6179};
  std::vector<std::uint32_t> actions(world.agents());
  for (bool is_over = false; !is_over;) {
    watch(world);
    for (std::size_t i = 0; i < actions.size(); ++i) actions[i] = choose(world, i, random);
    is_over = world.step(actions).truncated;
  }
  watch(world);
  const tunnel_tally& tally = world.tally();
  summary all{.delivered = static_cast<double>(world.delivered()), .gini = gini(tally.delivered)};
  for (const std::uint32_t each : tally.idle) all.idle += each;
  for (const std::uint32_t each : tally.collisions) all.collisions += each;
  all.idle /= static_cast<double>(world.agents()) * world.options().steps;
  return all;
}

/// The mean of so many episodes for one purpose.
inline summary play(tunnel& world, const chooser& choose, std::uint64_t seed, rubato::rl::purpose what,
                    std::uint32_t episodes) {
  summary mean;
  for (std::uint32_t e = 0; e < episodes; ++e) {
    const summary one = play(world, rubato::rl::episode_seed(seed, what, e), choose, [](const tunnel&) {});
    mean.delivered += one.delivered / episodes;
    mean.gini += one.gini / episodes;
    mean.idle += one.idle / episodes;
    mean.collisions += one.collisions / episodes;
  }
  return mean;
}

}  // namespace stigmergy

#endif
