#ifndef RUBATO_EXAMPLES_LAB_CORRECTION_TRIALS_HPP
#define RUBATO_EXAMPLES_LAB_CORRECTION_TRIALS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <rubato/encode/progress_state.hpp>
#include <rubato/learned/residual_policy.hpp>
#include <rubato/nn/dynamic_mlp.hpp>
#include <rubato/rl/search_training.hpp>
#include <span>
#include <vector>

#include "paired_trials.hpp"
#include "run_context.hpp"
#include "support/scenario.hpp"

namespace rubato::lab {

using correction_policy = residual_policy<progress_state, nn::dynamic_mlp>;

/// Tries corrections of a rule on clusters: what rl::search_trainer measures with.
///
/// Compared with the rule alone, as paired_trials says. A run in which the rule does not arrive in a quarter of
/// objective.max_time says nothing; a correction has three and a half times as long as the rule.
///
/// Where one correction is left out, the weights and the bias of its output stay as they are in the network that it
/// begins with, and are no parameters of trials.
///
/// The same costs for any number of threads.
/// Tests   tests/examples/correction_trials_test.cpp: NoCorrectionCostsNothing, ASlowOneCosts, SameForAnyThreads,
///         WhatIsLeftOutStaysZero, RandomClustersAreNotTheHeldOut, RefusesWhereTheRuleDoesNotArrive, StopsWhenAsked
class correction_trials {
 public:
  /// `network` is what the parameters of trials are put into: those of all outputs, or of `only` that one. References
  /// must outlive it.
  correction_trials(std::optional<support::scenario> scenario, nn::dynamic_mlp network, const run_context& how,
                    std::optional<correction> only = {});

  /// False if `stop` was raised.
  [[nodiscard]] bool operator()(std::span<const rl::trial>, std::span<double> costs) const;

  /// The parameters of trials, as they are in the network that it begins with.
  [[nodiscard]] std::vector<float> start() const;

  /// The policy of these parameters, which corrects everywhere.
  [[nodiscard]] correction_policy policy_of(std::span<const float> parameters) const;

  /// What the policy's inputs have been in the first run of each of these clusters, as long as runs of the rule may
  /// take. Nothing if `stop` was raised.
  [[nodiscard]] std::optional<trained_range<progress_state::dim>> range_of(std::span<const float> parameters,
                                                                           std::span<const std::uint64_t> seeds) const;

  [[nodiscard]] const paired_trials& paired() const noexcept { return paired_; }

 private:
  paired_trials paired_;
  nn::dynamic_mlp network_;
  std::vector<std::size_t> free_;  // which of the network's parameters are those of trials
};

}  // namespace rubato::lab

#endif
