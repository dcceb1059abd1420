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

#include "run_context.hpp"
#include "support/scenario.hpp"

namespace rubato::lab {

using correction_policy = residual_policy<progress_state, nn::dynamic_mlp>;

/// Tries corrections of a rule on clusters: what rl::search_trainer measures with.
///
/// A seed is a cluster: the scenario with the hidden layers that the seed draws or, without a scenario, one drawn at
/// random, random:1000000 or above. In it the correction and the rule alone make the same runs: one, two with one
/// hidden layer, six without any, which are short and differ most. The cost is the mean of log(time / time of the
/// rule), each from -1.2 to 1.2. A run in which the rule does not arrive in a quarter of max_time says nothing, and a
/// cluster without any other costs 0; a correction has three and a half times as long as the rule.
///
/// Where one correction is left out, the weights and the bias of its output stay as they are in the network that it
/// begins with, and are no parameters of trials.
///
/// The same costs for any number of threads. Errors: user_error if no run of a call says anything
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

  /// What the policy's inputs have been in the first run of each of these clusters. Nothing if `stop` was raised.
  [[nodiscard]] std::optional<trained_range<progress_state::dim>> range_of(std::span<const float> parameters,
                                                                           std::span<const std::uint64_t> seeds) const;

  /// The cluster of a seed.
  [[nodiscard]] setting setting_of(std::uint64_t seed) const;

 private:
  std::optional<support::scenario> scenario_;
  nn::dynamic_mlp network_;
  std::vector<std::size_t> free_;  // which of the network's parameters are those of trials
  const run_context* how_;
};

}  // namespace rubato::lab

#endif
