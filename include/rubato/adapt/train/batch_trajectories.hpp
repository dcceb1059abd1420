#ifndef RUBATO_ADAPT_TRAIN_BATCH_TRAJECTORIES_HPP
#define RUBATO_ADAPT_TRAIN_BATCH_TRAJECTORIES_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../../core/archive.hpp"
#include "../../core/rng.hpp"
#include "../../nn/concepts.hpp"
#include "../../rl/learner.hpp"
#include "../../rl/softmax_policy.hpp"
#include "../batch_deltas.hpp"
#include "../batch_sizer.hpp"
#include "../batch_state.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// What was decided for one worker at the end of one period.
struct batch_decision {
  std::array<float, batch_state::size> observation{};  ///< see batch_state
  std::uint32_t legal = 0;                             ///< of batch_deltas
  std::uint32_t action = 0;                            ///< one of these
  double time = 0;                                     ///< since the first period began
};

/// The decisions of a run, by worker. A worker that goes, or comes, has those that were made while it was there.
using batch_trajectories = std::vector<std::vector<batch_decision>>;

/// A BatchSizer that draws what dynamix would prefer, and writes it down: for training. Copies write to the same place.
///
/// The draws are a function of seed, worker and period.
/// Tests   tests/adapt/batch_trajectories_test.cpp: DrawsByTheSoftmax, WritesDownWhatItDid, SameSeedSameDraws
template <nn::ActionValueFunction Network>
struct exploring_batches {
  std::shared_ptr<const Network> network{};    ///< preferences
  std::shared_ptr<batch_trajectories> made{};  ///< what was decided; resize() clears it
  std::uint64_t seed = 1;                      ///< of the draws

  void resize(std::uint32_t capacity) {
    seen.resize(capacity);
    now = 0;
    made->assign(capacity, {});
  }
  void forget(std::uint32_t worker) noexcept { seen.forget(worker); }

  void operator()(const batch_period& period, std::span<std::uint32_t> batches) noexcept {
    now += period.time;
    seen.decide(period, batches, [&](std::size_t w, std::span<const float> observation) noexcept {
      std::array<float, batch_deltas.size()> preferences;
      network->evaluate(observation, preferences);
      random_sequence random{seed, w, period.number};
      const std::uint32_t legal = legal_deltas(period.workers[w]);
      batch_decision& next = (*made)[w].emplace_back();
      std::copy(observation.begin(), observation.end(), next.observation.begin());
      next.legal = legal;
      next.action = rl::softmax_action(preferences, legal, random, no_change);
      next.time = now;
      return next.action;
    });
  }

  void state(archive& bytes) { bytes.fail(); }  ///< a training run is not saved halfway
  [[nodiscard]] std::string problem() const { return network && made ? "" : "network and made must not be null"; }
  [[nodiscard]] description describe() const {
    return {"exploring batches", R"({"kind":"exploring-batches","seed":)" + std::to_string(seed) + "}"};
  }

  batch_state seen{};  ///< state, not an option
  double now = 0;      ///< likewise
};

/// Gives `agent`, a ppo or another learner with record(transition, mask), the decisions of a run, worker after worker:
/// the reward of each is minus the time until the worker's next decision, or the run's end, over `unit`; a run that did
/// not arrive costs one more. What has no room is left out.
/// Tests   tests/adapt/batch_trajectories_test.cpp: RewardsAreTimes, ARunThatDoesNotArriveCostsMore
template <class Agent>
void record_run(Agent& agent, const batch_trajectories& made, double end, bool arrived, double unit) {
  for (const std::vector<batch_decision>& worker : made)
    for (std::size_t d = 0; d < worker.size() && !agent.is_due(); ++d) {
      const bool last = d + 1 == worker.size();
      const batch_decision& now = worker[d];
      const batch_decision& next = worker[last ? d : d + 1];
      const double time = (last ? end : next.time) - now.time;
      agent.record({.observation = now.observation,
                    .action = now.action,
                    .reward = static_cast<float>(-time / unit - (last && !arrived ? 1.0 : 0.0)),
                    .elapsed = time,
                    .next = next.observation,
                    .terminated = last},
                   now.legal);
    }
}

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
