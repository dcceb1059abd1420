#ifndef RUBATO_EXAMPLES_LAB_SWITCH_EXPERIMENT_HPP
#define RUBATO_EXAMPLES_LAB_SWITCH_EXPERIMENT_HPP

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runner.hpp"
#include "support/statistics.hpp"
#include "switch_cases.hpp"

namespace rubato::lab {

/// The experiment of Sync-Switch, or parts of it.
struct switch_experiment_request {
  support::scenario scenario{};
  std::vector<std::string> parts{};  ///< names of switch_parts()
  std::uint64_t seed = 1;            ///< of the first training of each case; each further one has the next
  std::uint32_t seeds = 5;
  double switch_time = 36;  ///< units of time that a switch costs the authors, added to the time of trainings
};

/// A case and its trainings, in the order of seeds; none for those that were stopped. One that came to its end without
/// being better than guessing by half (accuracy below 1.5 / classes) is not `reached`, and its end is "failed"; but not
/// in `latency`, where time alone is asked for.
struct switch_trainings {
  switch_case of;
  std::vector<std::optional<measurement>> runs{};
};

/// A part, case by case.
struct switch_part_result {
  std::string part;
  std::vector<switch_trainings> rows{};
};

/// What was measured.
struct switch_experiment {
  switch_experiment_request asked;
  std::vector<switch_part_result> parts{};
  bool interrupted = false;
};

/// How a case compares with its baseline. Means and 95 % intervals by Student's t over trainings that came to their
/// end; differences are of the same seeds.
struct switch_comparison {
  std::uint32_t failed = 0;  ///< diverged, not over at objective.max_time, or no better than guessing
  support::estimate accuracy{};
  support::estimate difference{};  ///< from the baseline's accuracy
  support::estimate time{};
  support::estimate times{};          ///< the baseline's time
  support::estimate with_switches{};  ///< the same, each switch of both taking switch_time
};
[[nodiscard]] switch_comparison compare_with(const switch_trainings& baseline, const switch_trainings&,
                                             double switch_time);

/// Whether simulation and logs say the same: "agrees", "differs", or "-" where one of them says nothing.
///
/// Failed: whether more than half of the trainings have, where those of the logs diverged. Accuracy: whether it is
/// lower than the baseline's, higher, or neither; in the simulator if the interval of the difference leaves out 0, in
/// the logs if it is more than 0.01, the threshold of the paper. Time: agrees if the ratio to the baseline is within a
/// tenth of that in the logs. A baseline, which is its own one, is not compared with the logs unless it has failed.
struct switch_verdict {
  std::string accuracy;
  std::string time;
};
[[nodiscard]] switch_verdict verdict_on(const switch_comparison&, const switch_trainings& baseline,
                                        const switch_trainings&);

/// What is left of the paper's claim, that a small synchronous share at the beginning gives the accuracy of synchronous
/// training at nearly the speed of asynchronous training. From the rows of part `share`: a line that begins with
/// confirmed, refuted or open, and the measurement in two more.
///
/// One is about as good as another if the interval of the difference ends within 0.01, the threshold of the paper, and
/// better if that interval leaves out 0. Where ASP fails, nothing is compared with it.
///
/// refuted    6.25 % of BSP fails; or ASP is about as good as BSP, or as 6.25 % of BSP; or that takes more than 1.5
///            times as long as ASP; or BSP is better
/// confirmed  6.25 % of BSP is about as good as BSP
/// open       else: too few trainings, or they scatter too much to tell
[[nodiscard]] std::string claim_of(const switch_part_result& share);

/// Makes the trainings, part by part; what two parts have in common once.
///
/// What the runner's cache knows is not run again: that is how an interrupted experiment goes on. The result depends
/// neither on the runner's threads nor on interruptions.
///
/// Errors  user_error: those of cases_of(), of the cache
/// Tests   tests/examples/switch_experiment_test.cpp: SameForAnyThreads, GoesOnFromTheCache, SharedCasesAreRunOnce,
///         NoBetterThanGuessingHasFailed, LatencyIsAboutTimeAlone, ComparesWithTheBaselineBySeed,
///         VerdictsFollowTheRule, ClaimFollowsTheRule, ScatterLeavesTheClaimOpen
[[nodiscard]] switch_experiment run_switch_experiment(const switch_experiment_request&, const runner&);

/// For a terminal: "x" is the time in that of the baseline, "x paid" the same where switches cost switch_time; "logs"
/// and the "x" after it are what the logs have.
///
/// Tests   tests/examples/experiment_command_test.cpp: PrintsATableForEachPart;
///         tests/examples/switch_experiment_test.cpp: WhatIsMissingIsADash
[[nodiscard]] std::string table(const switch_experiment&);

/// Everything, see docs/sync-switch-results.md.
[[nodiscard]] nlohmann::json to_json(const switch_experiment&, const training_data&);

}  // namespace rubato::lab

#endif
