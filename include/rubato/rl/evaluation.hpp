#ifndef RUBATO_RL_EVALUATION_HPP
#define RUBATO_RL_EVALUATION_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "../core/archive.hpp"
#include "../core/rng.hpp"
#include "learner.hpp"

namespace rubato::inline RUBATO_ABI::rl {

/// What the random numbers of a training are for: each purpose has a stream of its own.
enum class purpose : std::uint64_t {
  weights = 1,  ///< of networks at the start
  exploration,  ///< act(), by step
  replay,       ///< update(), by iteration
  training,     ///< episodes, or runs, that are learned from
  selection,    ///< episodes, or runs, by which the best policy is chosen
  test,         ///< episodes that only tell how good it is
  pretraining,  ///< the order in which a trace is learned from
  search        ///< candidates
};

/// The sequence for one purpose. Sequences of different `number` share nothing in their first 2^20 numbers.
[[nodiscard]] constexpr random_sequence sequence_for(std::uint64_t seed, purpose what,
                                                     std::uint64_t number = 0) noexcept {
  return random_sequence{seed, static_cast<std::uint64_t>(what), number << 20};
}

/// The seed of one episode. Training, selection and test episodes come from different streams: what is reported about a
/// policy was seen neither in its training nor in its selection.
/// Tests   tests/rl/evaluation_test.cpp: SeedsOfPurposesDiffer
[[nodiscard]] constexpr std::uint64_t episode_seed(std::uint64_t seed, purpose what, std::uint64_t episode) noexcept {
  const auto words = philox(seed, static_cast<std::uint64_t>(what), episode);
  return std::uint64_t{words[1]} << 32 | words[0];
}

/// How episodes went that nobody learned from.
struct evaluation {
  std::uint64_t steps = 0;     ///< of training, before it
  std::uint64_t episodes = 0;  ///< of training, before it
  double mean = 0;             ///< total reward of an episode, undiscounted
  double least = 0;            ///< total reward of the worst episode
  double most = 0;             ///< total reward of the best
  double mean_elapsed = 0;     ///< time that an episode took

  friend bool operator==(const evaluation&, const evaluation&) = default;
};

/// The totals of `episodes` episodes in which the learner acts greedily. Nothing if stop(), which is asked before each
/// of them, says true; an empty one never does.
/// Tests   tests/rl/evaluation_test.cpp: TotalsByHand, IsRepeatable, StopsBetweenEpisodes
template <Environment Task, class Actor>
[[nodiscard]] std::optional<evaluation> evaluate(Task& task, const Actor& actor, std::uint64_t seed,
                                                 std::uint32_t episodes, purpose what,
                                                 const std::function<bool()>& stop) {
  evaluation sum;
  sum.least = std::numeric_limits<double>::infinity();
  sum.most = -sum.least;
  for (std::uint32_t e = 0; e < episodes; ++e) {
    if (stop && stop()) return std::nullopt;
    std::span<const float> observation = task.reset(episode_seed(seed, what, e));
    double total = 0;
    for (bool over = false; !over;) {
      const auto outcome = task.step(actor.greedy(observation, task.legal()));
      observation = outcome.observation;
      total += static_cast<double>(outcome.reward);
      sum.mean_elapsed += outcome.elapsed;
      over = outcome.terminated || outcome.truncated;
    }
    sum.mean += total;
    sum.least = (std::min)(sum.least, total);
    sum.most = (std::max)(sum.most, total);
  }
  const double count = static_cast<double>((std::max)(episodes, std::uint32_t{1}));
  sum.mean /= count;
  sum.mean_elapsed /= count;
  return sum;
}
/// The same, to its end.
template <Environment Task, class Actor>
[[nodiscard]] evaluation evaluate(Task& task, const Actor& actor, std::uint64_t seed, std::uint32_t episodes,
                                  purpose what = purpose::test) {
  return *evaluate(task, actor, seed, episodes, what, {});
}

}  // namespace rubato::inline RUBATO_ABI::rl

#endif
