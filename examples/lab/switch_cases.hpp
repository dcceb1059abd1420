#ifndef RUBATO_EXAMPLES_LAB_SWITCH_CASES_HPP
#define RUBATO_EXAMPLES_LAB_SWITCH_CASES_HPP

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/scenario.hpp"
#include "workbench.hpp"

namespace rubato::lab {

/// A part of the experiment.
struct switch_part {
  std::string_view name;
  std::string_view meaning;
};

/// In the order in which they are made: latency, share, order, configuration, stragglers, cluster, policies.
[[nodiscard]] const std::vector<switch_part>& switch_parts();

/// What the paper or its logs say of a case.
struct logged_case {
  std::optional<double> accuracy{};
  std::optional<double> time{};  ///< in seconds; of `policies`, what follows from the ratios in the paper
  bool diverged = false;
};

/// Trainings that differ in their seed alone.
struct switch_case {
  std::string name;
  setting at;  ///< but for the hidden layers, which the seed draws
  any_policy policy;
  std::size_t baseline = 0;  ///< what it is compared with: an index into its part
  logged_case logged{};
};

/// The cases of a part, in rows of its table; of `latency` the synchronous ones, then the asynchronous ones, each with
/// no latency first and then as in logged_latencies.
///
/// The scenario is that of the experiment with eight workers. `cluster` has twice as many, each step time twice. What
/// is set in seconds (occurrences of latency) is in units of time here.
///
/// Pre     the part is one of switch_parts(); the scenario is valid
/// Errors  user_error: a scenario that does not stop after a workload, or after less than a batch of each worker, or
///         that has fewer than four workers
/// Tests   tests/examples/switch_cases_test.cpp: EachPartHasCases, SharesAreWhatThePolicyDoes,
///         AnOccurrenceIsWithinTheShare, TwiceAsManyWorkersHaveTheirStepTimes, RefusesOtherScenarios
[[nodiscard]] std::vector<switch_case> cases_of(std::string_view part, const support::scenario&);

}  // namespace rubato::lab

#endif
