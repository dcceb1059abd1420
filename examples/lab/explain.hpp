#ifndef RUBATO_EXAMPLES_LAB_EXPLAIN_HPP
#define RUBATO_EXAMPLES_LAB_EXPLAIN_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policy_file.hpp"
#include "run_context.hpp"
#include "support/scenario.hpp"
#include "support/statistics.hpp"

namespace rubato::lab {

struct explain_options {
  support::scenario scenario;
  std::uint64_t seed = 1;    ///< of the first run
  std::uint32_t seeds = 20;  ///< runs, with every feature and without each
};

/// What one feature is to a policy: what changes if it always has its mean.
struct feature_effect {
  std::string name;
  double mean = 0;       ///< in these runs
  double deviation = 0;
  double change = 0;     ///< share of other actions; of a correction, log2_rate and log2_batch: mean difference
  support::estimate slowdown;  ///< time without it ÷ time with it, interquartile means
};

/// A policy's answers where two features vary and the others have their means.
struct action_map {
  std::string title;  ///< what is shown: an output, or the action
  std::string x, y;   ///< features
  double x_least = 0, x_most = 0, y_least = 0, y_most = 0;
  std::vector<std::string> actions{};  ///< what answers stand for, by number; empty: answers are binary logarithms ...
  double limit = 1;                    ///< ... from -limit to limit
  std::uint32_t columns = 0;
  std::vector<double> answers{};  ///< row after row, from y_least up
};

struct explanation {
  std::uint64_t decisions = 0;            ///< that were looked at
  std::vector<feature_effect> features;   ///< from the one that changes most
  std::vector<action_map> maps;           ///< over the first two: one of the action, or one for each output
};

/// Runs the policy of a file as it is, and once more for each feature with that feature replaced by its mean.
/// Nothing if `stop` was raised. The same for any number of threads.
/// Errors  user_error: the file holds a rule, or what this build does not run
/// Tests   tests/examples/explain_test.cpp: FindsTheFeatureThatMatters, ACorrectionHasTwoMaps,
///         BatchesHaveSixteenFeatures, SameForAnyThreads, ComparesWhatWasLegal, NothingIfItIsStopped, RefusesARule,
///         WhatTheTapChangesReachesTheNetwork
[[nodiscard]] std::optional<explanation> explain(const policy_file&, const explain_options&, const run_context&);

/// The maps as an SVG picture, side by side.
/// Tests   tests/examples/explain_test.cpp: TheMapIsAPicture, TheMapHasItsLimit
[[nodiscard]] std::string as_svg(const std::vector<action_map>&);

}  // namespace rubato::lab

#endif
