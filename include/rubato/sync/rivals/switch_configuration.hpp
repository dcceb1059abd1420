#ifndef RUBATO_SYNC_RIVALS_SWITCH_CONFIGURATION_HPP
#define RUBATO_SYNC_RIVALS_SWITCH_CONFIGURATION_HPP

#include <algorithm>
#include <cstdint>
#include <string>

#include "wording.hpp"

namespace rubato::inline RUBATO_ABI {

/// Which of the two policies of sync_switch is in charge.
enum class switch_phase : std::uint8_t { first, second };

/// What momentum does after the switch to asynchronous training. n workers are alive; mu is the momentum before.
enum class momentum_rule : std::uint8_t {
  keep,        ///< mu
  zero,        ///< 0
  scaled,      ///< mu / n
  ramped,      ///< mu / n for one stage, then mu
  multi_step,  ///< mu / 8, mu / 4, mu / 2, a stage each, then mu
  additive     ///< mu x 1/8, 2/8, ... 7/8, a stage each, then mu
};

/// With which hyper-parameters an update is made.
struct update_configuration {
  std::uint32_t batch = 0;         ///< samples of one worker's step
  std::uint64_t global_batch = 0;  ///< samples behind one update
  double learning_rate = 0.0;      ///< of the mean of these samples' gradients
  double momentum = 0.0;           ///< of the optimiser
  friend bool operator==(const update_configuration&, const update_configuration&) = default;
};

/// Sync-Switch's configuration policy: which hyper-parameters belong to which phase, as data that the host applies.
///
/// With n workers alive a round of synchronous training is an update by n batches, at n times the learning rate (the
/// linear scaling rule); an asynchronous update is one batch at the learning rate itself. So at the switch batch and
/// rate fall to 1/n, and both follow n where workers come, go or are evicted. A host that honours flush scales has all
/// of this from sync_switch with scales_rate; the momentum is its own.
///
///     const auto now = configuration.at(policy.phase(), policy.steps_in_phase(), sync.workers().clock().size());
///
/// A schedule of the learning rate goes on over the switch: `learning_rate` is what it says at the moment. The detours
/// of a greedy sync_switch are second phases like the last one, and have its momentum.
/// The authors kept momentum, after trying all of these. Stages there: ramped 4,000 steps, multi_step 6,400, additive
/// 2,000, with eight workers; that `scaled` is mu / n, and the eighths of the others, are read from short notes.
/// Cost    O(1). No allocation. Thread-safe.
/// Tests   tests/sync/rivals/switch_configuration_test.cpp: BatchAndRateFallByTheNumberOfWorkers, FollowsTheWorkers,
///         MomentumVariantsByHand, MomentumIsWholeBeforeTheSwitch, RefusesBadOptions;
///         tests/sync/rivals/sync_switch_test.cpp: FlushesAreWhatTheConfigurationSays
/// Source  Li et al., "Sync-Switch: Hybrid Parameter Synchronization for Distributed Deep Learning", ICDCS 2021, IV-C,
///         and the notes on its logs in the authors' repository
struct switch_configuration {
  std::uint32_t batch = 128;                  ///< B, samples of one worker's step
  double learning_rate = 0.1;                 ///< eta, for one batch
  double momentum = 0.9;                      ///< mu, before the switch
  momentum_rule after = momentum_rule::keep;  ///< what becomes of it
  std::uint64_t stage = 4'000;                ///< of ramped, multi_step, additive: steps, of one batch each

  /// The hyper-parameters in this phase, so many steps of one batch after it began, with so many workers alive; none
  /// count as one.
  [[nodiscard]] constexpr update_configuration at(switch_phase phase, std::uint64_t steps,
                                                  std::uint32_t workers) const noexcept {
    const std::uint32_t n = (std::max)(workers, 1U);
    if (phase == switch_phase::first)
      return {batch, std::uint64_t{batch} * n, learning_rate * static_cast<double>(n), momentum};
    return {batch, batch, learning_rate, momentum * share_of_momentum(steps, n)};
  }

  /// What is wrong with it, as a sentence; empty if nothing is.
  [[nodiscard]] std::string problem() const {
    return detail::first_of(
        {detail::below("batch", batch, 1), detail::unless_above_0("learning_rate", learning_rate),
         detail::unless(pinned::is_finite(momentum) && momentum >= 0 && momentum < 1, "momentum", momentum,
                        "a number of at least 0, below 1"),
         detail::unless(after <= momentum_rule::additive, "after", after, "one of the six momentum rules"),
         detail::below("stage", stage, 1)});
  }

 private:
  [[nodiscard]] constexpr double share_of_momentum(std::uint64_t steps, std::uint32_t workers) const noexcept {
    const std::uint64_t stages_over = steps / (std::max)(stage, std::uint64_t{1});
    switch (after) {
      case momentum_rule::zero:
        return 0.0;
      case momentum_rule::scaled:
        return 1.0 / workers;
      case momentum_rule::ramped:
        return stages_over < 1 ? 1.0 / workers : 1.0;
      case momentum_rule::multi_step:
        return stages_over < 3 ? 1.0 / static_cast<double>(8 >> stages_over) : 1.0;
      case momentum_rule::additive:
        return stages_over < 7 ? static_cast<double>(stages_over + 1) / 8.0 : 1.0;
      default:
        return 1.0;
    }
  }
};

}  // namespace rubato::inline RUBATO_ABI

#endif
