#ifndef RUBATO_EXAMPLES_LAB_THREADS_HOST_HPP
#define RUBATO_EXAMPLES_LAB_THREADS_HOST_HPP

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "measurement.hpp"
#include "workbench.hpp"

namespace rubato::lab {

/// What of this scenario the threads host does not have, as a sentence that names the key; empty if it has everything.
[[nodiscard]] std::string not_on_threads(const support::scenario&);

/// The run that the simulator would simulate, in real time: on the parameter server of integrations/threads_ps, with a
/// thread for each worker. A unit of the scenario's time takes `at.unit_seconds`. Batches, sleeps and the lengths of
/// steps are those of the seed, as in the simulator; when what happens is up to the machine.
///
/// The computing part of a step keeps one of the scenario's cores busy (core_permits.hpp), the gradient included; only
/// stragglers sleep. Pulls, pushes and decisions take what they take. Parameters are copied when an evaluation is due,
/// and evaluated while the workers go on; the time that counts is that of the push that made it due.
///
/// Nothing if `stop` was raised meanwhile. Precondition: not_on_threads(at.scenario).empty(), at.unit_seconds > 0.
/// Tests   tests/examples/threads_host_test.cpp: ReachesWhatTheSimulatorReaches, AccountsForEveryGradient,
///         FollowsTheSchedulesOfTheSeed, WorkersDieAndComeBack, EndsAtMaxTime, StopsWhenAsked, SaysWhatItDoesNotHave
[[nodiscard]] std::optional<measurement> run_on_threads(const setting& at, const training_data&, const any_policy&,
                                                        std::uint64_t seed, const std::atomic<bool>& stop,
                                                        any_observer* watcher = nullptr);

}  // namespace rubato::lab

#endif
