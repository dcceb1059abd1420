#ifndef RUBATO_SIM_OPTIONS_HPP
#define RUBATO_SIM_OPTIONS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../pinned.hpp"
#include "../sync/guard.hpp"
#include "learning_rate.hpp"
#include "out_of_range.hpp"
#include "straggler.hpp"

namespace rubato::inline RUBATO_ABI::sim {

// The unit of time is whatever step_time is measured in; by convention one step of an uncontended worker of step
// time 1.

/// Other traffic on the link, which comes and goes whatever the workers do.
struct congestion_options {
  double share = 1;    ///< of the bandwidth, that is left to transfers meanwhile, 0.001 to 1; 1: no other traffic
  double length = 10;  ///< mean of a congestion, exponential; units of time
  double gap = 30;     ///< mean between two, exponential; units of time
};

/// One link at the server, shared in equal parts by all pulls and pushes under way.
struct link_options {
  double bandwidth = 0;   ///< model units per time; 0: no link, transfers take no time
  double latency = 0;     ///< units of time, added to each transfer
  double model_size = 0;  ///< model units; a transfer that is alone takes model_size / bandwidth + latency
  congestion_options congestion{};  ///< none, by default
};

/// What happens to a worker. A step that it runs is lost when it goes.
enum class failure_kind : std::uint8_t {
  death,  ///< it goes, and the controller is told cause::death
  leave,  ///< it goes, and the controller is told cause::leave
  join    ///< it comes, or comes back as a new incarnation
};

/// A worker that goes or comes. One whose first event is a join is absent from the start.
struct failure {
  double time = 0;                          ///< units of time, from the start of the run
  std::uint32_t worker = 0;                 ///< below the number of workers
  failure_kind kind = failure_kind::death;  ///< each worker goes and joins in turn
};

/// The machines.
struct cluster_options {
  std::uint32_t workers = 10;           ///< 1 to 1,000,000, those absent at first included
  std::uint32_t cores = 0;              ///< shared by all computing workers in equal parts; 0: one core each
  std::vector<double> step_time = {1};  ///< mean computing time of a step on one core: of all workers, or of each
  double fixed_share = 0;               ///< of the step time, in [0, 1]: what another batch size does not change
  double jitter = 0.05;                 ///< relative standard deviation of the computing time
  link_options link{};                  ///< none, by default
  double decision_time = 0;             ///< server time for each push
  double decision_latency = 0;          ///< from a release until its worker hears of it, and begins
  double apply_time = 0;                ///< server time for each push, in addition
  double round_time = 0;  ///< for each gradient of a round, to make it an update: who starts meanwhile pulls after it
  straggler_options stragglers{};   ///< none, by default
  std::vector<failure> failures{};  ///< in any order
};

/// When a run ends, other than at max_time.
enum class stop_rule : std::uint8_t {
  target,    ///< an evaluation reaches target_accuracy
  workload,  ///< so many samples have been applied or accumulated
  converged  ///< the accuracies of five evaluations in a row lie within 0.001
};

/// The loss that a policy sees with a push.
enum class loss_source : std::uint8_t {
  worker_ema,  ///< exponential average, with weight 0.1 for the newest, of the losses that workers measured
  probe        ///< on a fixed set of samples, measured by the server after each update, which takes probe_time
};

/// The training.
struct run_options {
  std::uint64_t seed = 0;              ///< of all that is random, the objective included
  stop_rule stop = stop_rule::target;  ///< when it ends, other than at max_time
  double target_accuracy = 0.88;       ///< share in [0, 1]
  std::uint64_t workload = 0;          ///< samples
  double max_time = 10'000;            ///< units of time; a run that has not arrived by then counts as this
  std::uint64_t evaluate_every = 20;  ///< pushes; towards a target fewer evaluations while it is far, see `finish_line`
  std::uint32_t batch = 16;           ///< samples of a gradient, unless the policy wants another number
  learning_rate_options learning_rate{};       ///< of the server's updates
  loss_source loss = loss_source::worker_ema;  ///< the loss that the policy sees with a push
  double probe_time = 0;                       ///< server time for each update, if loss is `probe`
  bool keep_curve = false;                     ///< record every evaluation
  guard_options guard{};                       ///< of the controller
};

namespace detail {

// A worker comes and goes in turn.
[[nodiscard]] inline std::string out_of_turn(const std::vector<failure>& failures) {
  std::vector<std::size_t> order(failures.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (failures[a].worker != failures[b].worker) return failures[a].worker < failures[b].worker;
    return failures[a].time < failures[b].time;
  });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const failure& before = failures[order[i - 1]];
    const failure& after = failures[order[i]];
    const bool joins = after.kind == failure_kind::join;
    if (before.worker == after.worker && (before.kind == failure_kind::join) == joins)
      return "failures[" + std::to_string(order[i]) + "] has worker " + std::to_string(after.worker) +
             (joins ? " join while present" : " go while absent") + ", expected it to go and to join in turn";
  }
  return {};
}

}  // namespace detail

/// What is wrong with these options, as a sentence that names field, value and expectation; empty if nothing is.
[[nodiscard]] inline std::string problem(const cluster_options& o) {
  using detail::a_duration;
  using detail::is_duration;
  using detail::out_of_range;
  if (o.workers == 0 || o.workers > 1'000'000) return out_of_range("workers", o.workers, "1 to 1000000");
  if (o.step_time.size() != 1 && o.step_time.size() != o.workers)
    return "step_time has " + std::to_string(o.step_time.size()) + " values, expected 1 or one for each of the " +
           std::to_string(o.workers) + " workers";
  for (std::size_t i = 0; i < o.step_time.size(); ++i)
    if (!is_duration(o.step_time[i]) || o.step_time[i] < detail::shortest)
      return out_of_range("step_time[" + std::to_string(i) + "]", o.step_time[i], detail::a_positive_duration);
  if (!pinned::within(o.fixed_share, 0, 1)) return out_of_range("fixed_share", o.fixed_share, "0 to 1");
  if (!pinned::within(o.jitter, 0, 1)) return out_of_range("jitter", o.jitter, "0 to 1");
  if (!is_duration(o.link.bandwidth)) return out_of_range("link.bandwidth", o.link.bandwidth, a_duration);
  if (!is_duration(o.link.latency)) return out_of_range("link.latency", o.link.latency, a_duration);
  if (!is_duration(o.link.model_size)) return out_of_range("link.model_size", o.link.model_size, a_duration);
  const congestion_options& congestion = o.link.congestion;
  if (!pinned::within(congestion.share, 0.001, 1))
    return out_of_range("link.congestion.share", congestion.share, "0.001 to 1");
  if (!is_duration(congestion.length) || congestion.length < detail::shortest)
    return out_of_range("link.congestion.length", congestion.length, detail::a_positive_duration);
  if (!is_duration(congestion.gap) || congestion.gap < detail::shortest)
    return out_of_range("link.congestion.gap", congestion.gap, detail::a_positive_duration);
  if (o.link.bandwidth == 0 && o.link.latency > 0)
    return out_of_range("link.latency", o.link.latency, "0 where link.bandwidth is 0");
  if (!is_duration(o.decision_time)) return out_of_range("decision_time", o.decision_time, a_duration);
  if (!is_duration(o.decision_latency)) return out_of_range("decision_latency", o.decision_latency, a_duration);
  if (!is_duration(o.apply_time)) return out_of_range("apply_time", o.apply_time, a_duration);
  if (!is_duration(o.round_time)) return out_of_range("round_time", o.round_time, a_duration);
  for (std::size_t i = 0; i < o.failures.size(); ++i) {
    const std::string field = "failures[" + std::to_string(i) + "]";
    if (!is_duration(o.failures[i].time)) return out_of_range(field + ".time", o.failures[i].time, a_duration);
    if (o.failures[i].worker >= o.workers)
      return out_of_range(field + ".worker", o.failures[i].worker, "less than the number of workers");
  }
  if (std::string wrong = detail::out_of_turn(o.failures); !wrong.empty()) return wrong;
  return problem(o.stragglers, o.workers);
}

inline constexpr std::uint32_t largest_batch = 65'535;  ///< that objectives are asked for

/// What a step of so many samples computes on a core of its own, with a standard normal deviate for its jitter: a fixed
/// part, and one in proportion to the samples, which make up the step time for the nominal batch.
/// Pre     worker < workers
[[nodiscard]] inline double computing_time(const cluster_options& machines, std::uint32_t worker, std::uint32_t samples,
                                           std::uint32_t nominal, double deviate) noexcept {
  constexpr double shortest = 0.01;  // of the mean: a normal deviate may fall below 0
  double factor = 1;
  if (samples != nominal)
    factor = machines.fixed_share + (1 - machines.fixed_share) * (static_cast<double>(samples) / nominal);
  factor *= (std::max)(shortest, 1 + machines.jitter * deviate);
  return machines.step_time[machines.step_time.size() == 1 ? 0 : worker] * factor;
}

/// The same for a run.
[[nodiscard]] inline std::string problem(const run_options& o) {
  using detail::out_of_range;
  if (o.stop == stop_rule::target && !(pinned::within(o.target_accuracy, 0, 1) && o.target_accuracy > 0))
    return out_of_range("target_accuracy", o.target_accuracy, "a share above 0 and at most 1");
  if (o.stop == stop_rule::workload && o.workload == 0) return "workload is 0, expected a number of samples above 0";
  if (!detail::is_duration(o.max_time) || o.max_time < detail::shortest)
    return out_of_range("max_time", o.max_time, detail::a_positive_duration);
  if (o.evaluate_every == 0) return "evaluate_every is 0, expected a number of pushes above 0";
  if (o.batch == 0 || o.batch > largest_batch) return detail::out_of_range("batch", o.batch, "1 to 65535 samples");
  if (std::string wrong = problem(o.guard); !wrong.empty()) return wrong;
  if (!detail::is_duration(o.probe_time)) return out_of_range("probe_time", o.probe_time, detail::a_duration);
  if (const char* rate = problem(o.learning_rate); rate != nullptr) return std::string{"learning_rate."} + rate;
  return {};
}

}  // namespace rubato::inline RUBATO_ABI::sim

#endif
