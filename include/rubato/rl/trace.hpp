#ifndef RUBATO_RL_TRACE_HPP
#define RUBATO_RL_TRACE_HPP

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../pinned.hpp"
#include "n_step.hpp"

namespace rubato::inline RUBATO_ABI::rl {

/// How returns are discounted. The default is not at all: the return is the sum of the rewards that follow, which for
/// a reward of minus the time passed is minus the time left, as in RLP's pre-training.
struct return_options {
  double gamma = 1;         ///< in [0, 1]; 1: undiscounted
  bool by_elapsed = false;  ///< gamma^(elapsed / time_unit) for each step, instead of gamma
  double time_unit = 1;     ///< > 0, in the unit of `elapsed`

  /// What the return after a step that took so long counts in that of the step.
  [[nodiscard]] double factor(double elapsed) const noexcept {
    return by_elapsed ? std::pow(gamma, elapsed / time_unit) : gamma;
  }
};

/// What was seen, done and earned, in plain arrays: row i of each belongs to step i. Whoever can fill in four columns
/// has a trace: a simulation, a recorded run, another program.
///
///     rl::trace log{40};
///     log.add(state, action, -seconds, seconds);   // for each step ...
///     log.end_episode();                           // ... of each episode
///     log.compute_returns({});
///
/// Memory  grows as needed; nothing else allocates.
/// Tests   tests/rl/trace_test.cpp: ReturnsByHand, UndiscountedReturnIsMinusTheTimeLeft, EpisodesDoNotMix,
///         ElapsedTimeDiscounts, UnfinishedEpisodesHaveNoReturns
struct trace {
  /// Without steps.
  explicit trace(std::size_t size_of_observation) : observation_size{size_of_observation} {}

  /// One more step. Precondition: observation has observation_size numbers.
  void add(std::span<const float> observation, std::uint32_t action, float reward, double time) {
    RUBATO_ASSERT(observation.size() == observation_size, "trace: wrong observation size");
    observations.insert(observations.end(), observation.begin(), observation.end());
    actions.push_back(action);
    rewards.push_back(reward);
    elapsed.push_back(time);
  }
  /// The steps since the last call were one episode.
  void end_episode() {
    if (actions.size() > finished()) ends.push_back(actions.size());
  }
  /// Forgets the steps since the last end_episode(): an episode that came to nothing.
  void drop_episode() {
    actions.resize(finished());
    rewards.resize(finished());
    elapsed.resize(finished());
    observations.resize(finished() * observation_size);
  }

  /// Steps, those of an episode that has not ended included.
  [[nodiscard]] std::size_t size() const noexcept { return actions.size(); }
  /// Steps in episodes that have ended.
  [[nodiscard]] std::size_t finished() const noexcept { return ends.empty() ? 0 : ends.back(); }
  /// What was seen before a step. Precondition: step < size().
  [[nodiscard]] std::span<const float> observation(std::size_t step) const noexcept {
    return std::span{observations}.subspan(step * observation_size, observation_size);
  }

  /// Fills `returns`, one for each step of the episodes that have ended: its reward and the discounted ones after it.
  /// O(steps), summed from the end in double.
  void compute_returns(const return_options& options) {
    returns.resize(finished());
    std::size_t end = finished();
    for (std::size_t e = ends.size(); e-- > 0;) {
      const std::size_t first = e == 0 ? 0 : ends[e - 1];
      detail::discounted_step later{0, 0};
      while (end > first) {
        --end;
        later = detail::before({static_cast<double>(rewards[end]), options.factor(elapsed[end])}, later);
        returns[end] = static_cast<float>(later.reward);
      }
    }
  }

  std::size_t observation_size;          ///< numbers of a row
  std::vector<float> observations{};     ///< rows of observation_size
  std::vector<std::uint32_t> actions{};  ///< that were executed
  std::vector<float> rewards{};          ///< of each step alone
  std::vector<double> elapsed{};         ///< time that each step took
  std::vector<float> returns{};          ///< of finished steps, after compute_returns()
  std::vector<std::size_t> ends{};       ///< of each episode: the index past its last step
};

}  // namespace rubato::inline RUBATO_ABI::rl

#endif
