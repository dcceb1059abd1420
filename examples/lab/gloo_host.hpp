#ifndef RUBATO_EXAMPLES_LAB_GLOO_HOST_HPP
#define RUBATO_EXAMPLES_LAB_GLOO_HOST_HPP

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "measurement.hpp"
#include "workbench.hpp"

namespace rubato::lab {

/// What of this scenario the Gloo host does not have, as a sentence that names the key; empty if it has everything.
/// Where the lab was built without Gloo, a sentence that says so.
[[nodiscard]] std::string not_on_gloo(const support::scenario&);

/// The run that the simulator would simulate, in real time: on the parameter server of integrations/gloo_ps, in this
/// process, with a process for each worker, over the loopback. The rest is as in run_on_threads().
///
/// A worker is this program, started with the words of gloo_worker_word. Each gets its grants and parameters over Gloo,
/// and pushes its gradients over it; the cores, and what is measured, are on a run_board. A death is a kill -9. When it
/// returns or throws, no process is left; nor if this program is killed, since workers end with it, and at a time limit
/// of their own besides.
///
/// Nothing if `stop` was raised meanwhile. `program`: the lab, for a caller that is another one.
/// Pre     not_on_gloo(at.scenario).empty(), at.unit_seconds > 0; the calling thread is there until it returns
/// Errors  runtime_error: a worker ended, or lost its connection, where the scenario has no death, with what it said;
///         none can be let in, for want of threads, say, or of files
/// Tests   tests/examples/gloo_host_test.cpp: ReachesWhatTheSimulatorReaches, AccountsForEveryGradient,
///         FollowsTheSchedulesOfTheSeed, LearningRateAndBatchOfAGrantCount, WorkersDieAndComeBack,
///         WhoDoesNotLeaveIsKilledAndComesBack, EndsAtMaxTime, StopsWhenAsked, LeavesNoProcess,
///         InterruptedLabEndsInGoodOrder, WorkersEndWithTheLab, AWorkerThatFailsIsAnError,
///         AWorkerThatIsKilledIsAnError, ADeathHidesNoLostConnection, AWorkerWithoutAThreadIsAnError,
///         TooManyOpenFilesAreAnError, SaysWhatItDoesNotHave
[[nodiscard]] std::optional<measurement> run_on_gloo(const setting& at, const training_data&, const any_policy&,
                                                     std::uint64_t seed, const std::atomic<bool>& stop,
                                                     any_observer* watcher = nullptr,
                                                     const std::filesystem::path& program = "/proc/self/exe");

/// The first argument by which the lab is started as a worker; no command for people.
inline constexpr const char* gloo_worker_word = "gloo-worker";

/// Such a worker, with the further arguments. The exit status.
[[nodiscard]] int run_gloo_worker(const std::vector<std::string>& arguments);

}  // namespace rubato::lab

#endif
