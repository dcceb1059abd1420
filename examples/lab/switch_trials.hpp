#ifndef RUBATO_EXAMPLES_LAB_SWITCH_TRIALS_HPP
#define RUBATO_EXAMPLES_LAB_SWITCH_TRIALS_HPP

#include <cstdint>
#include <optional>
#include <rubato/adapt/switch_timing.hpp>

#include "runner.hpp"
#include "support/scenario.hpp"

namespace rubato::lab {

/// A search for the switch point of a simulated job.
struct switch_request {
  support::scenario scenario{};  ///< but for the end of its runs
  std::uint64_t pushes = 2'000;  ///< of a training, which is the workload
  std::uint64_t seed = 1;        ///< of the first run of each share; each further run has the next one
  adapt::switch_search_options search{};
};

/// What it came to.
struct switch_trials {
  adapt::switch_search search;
  std::optional<adapt::switch_point> asynchronous{};  ///< share 0, which the search does not try; none without a target
  bool interrupted = false;                           ///< it is not over
};

/// The setting of a training: it ends after its pushes, and is evaluated every twentieth part of them, which is how
/// soon it is noticed that one has diverged.
[[nodiscard]] setting setting_of(const switch_request&, std::uint64_t seed);

/// What part of the workload one barrier is. Smaller shares are the same training: they switch at the first one.
[[nodiscard]] double share_of_a_barrier(const switch_request&);

/// Makes the trainings that the search asks for, down to the share of one barrier, and then as many that are
/// asynchronous throughout, judged as a candidate is. Those of one share have different seeds, those of different
/// shares the same ones, so that all shares meet the same clusters, models and data. Time is virtual; a training that
/// has diverged took until that was noticed.
///
/// What the runner's cache knows is not run again: that is how an interrupted search goes on. The result does not
/// depend on the runner's threads, nor on interruptions.
/// Errors  user_error: options that the search refuses; a run that is not over at objective.max_time, or in which all
///         workers have gone; that of the cache
/// Tests   tests/examples/switch_trials_test.cpp: FindsTheShareThatIsNeeded, TriesNoLessThanABarrier,
///         SaysWhetherAspIsGoodEnough, SameForAnyThreads, GoesOnFromTheCache,
///         DivergedTrainingsTakeUntilNoticed, RefusesARunThatIsNotOver
[[nodiscard]] switch_trials search_switch(const switch_request&, const runner&);

}  // namespace rubato::lab

#endif
