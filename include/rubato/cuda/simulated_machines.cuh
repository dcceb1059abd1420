#ifndef RUBATO_CUDA_SIMULATED_MACHINES_CUH
#define RUBATO_CUDA_SIMULATED_MACHINES_CUH

#include <cstddef>
#include <cstdint>
#include <string>

#include "../core/result.hpp"
#include "../sim/options.hpp"
#include "draws.cuh"

namespace rubato::inline RUBATO_ABI::cuda {

/// What a simulated cluster is made of: sim::cluster_options as plain data, an argument of kernels. make() fills it.
///
/// It has workers of any speeds with jitter, cores that they share or one each, and all stragglers but those that come
/// in bursts. It has no link, no time at the server and no failures.
/// Tests   tests/cuda/simulated_cluster_test.cpp: AgreesWithTheHost, SaysWhatItCannotSimulate
template <std::uint32_t MaxWorkers>
struct simulated_machines {
  static_assert(MaxWorkers >= 1 && MaxWorkers <= 64, "simulated_machines: 1 to 64 workers, a bit each");

  std::uint32_t workers = MaxWorkers;                          ///< that there are, at most MaxWorkers
  std::uint32_t cores = 0;                                     ///< shared by all that compute; 0: one each
  double jitter = 0;                                           ///< relative standard deviation of the computing time
  sim::straggler_kind stragglers = sim::straggler_kind::none;  ///< who sleeps after the computation of a step
  bool exact_count = false;           ///< `count` workers straggle, or of each step; else each with `probability`
  std::uint32_t count = 0;            ///< who straggle, with exact_count
  double probability = 0;             ///< that a worker or a step is drawn, without it; in [0, 1]
  double mean = 0;                    ///< of a sleep; units of time
  double sd = 0;                      ///< of a normal sleep, which is cut off at 0; units of time
  double tail_index = 2;              ///< of a Pareto sleep, above 1
  double step_time[MaxWorkers] = {};  ///< of each worker: mean computing time of a step on one core

  /// Errors  invalid_option: what sim::problem() says, or which option is one that is not simulated here
  [[nodiscard]] static result<simulated_machines> make(const sim::cluster_options& o) {
    const auto wrong = [](std::string what) { return error{errc::invalid_option, "simulated_machines: " + what}; };
    if (std::string problem = sim::problem(o); !problem.empty()) return wrong(std::move(problem));
    if (o.workers > MaxWorkers)
      return wrong("workers is " + std::to_string(o.workers) + ", expected at most " + std::to_string(MaxWorkers));
    if (o.link.bandwidth > 0) return wrong("link.bandwidth is set, expected 0: links are not simulated");
    if (o.decision_latency > 0) return wrong("decision_latency is set, expected 0: workers hear at once");
    if (o.decision_time > 0 || o.apply_time > 0)
      return wrong("decision_time or apply_time is set, expected 0: the server's time is not simulated");
    if (!o.failures.empty()) return wrong("failures is not empty: they are not simulated");
    if (o.stragglers.kind == sim::straggler_kind::burst)
      return wrong("stragglers.kind is burst: bursts are not simulated");
    if (o.stragglers.slowdown != 1) return wrong("stragglers.slowdown is set, expected 1: it is not simulated");
    simulated_machines all;
    all.workers = o.workers;
    all.cores = o.cores < o.workers ? o.cores : 0;
    all.jitter = o.jitter;
    all.stragglers = o.stragglers.kind;
    all.exact_count = o.stragglers.count.has_value();
    all.count = o.stragglers.count.value_or(0);
    all.probability = o.stragglers.probability;
    all.mean = o.stragglers.mean;
    all.sd = o.stragglers.sd;
    all.tail_index = o.stragglers.tail_index;
    for (std::uint32_t w = 0; w < o.workers; ++w) all.step_time[w] = o.step_time[o.step_time.size() == 1 ? 0 : w];
    return all;
  }
};

/// When a simulated run ends, and its learning rate: sim::run_options as plain data. The seed is that of the episode.
/// Policies see the average loss of the workers (loss_source::worker_ema); there is no guard, as the policies here need
/// none.
/// Tests   tests/cuda/simulated_cluster_test.cpp: AgreesWithTheHost, SaysWhatItCannotSimulate, EndsAtEachLimit
struct simulated_run {
  static constexpr std::size_t most_boundaries = 4;  ///< of the learning rate

  bool towards_target = true;                 ///< stop_rule::target; else stop_rule::workload
  double target_accuracy = 0;                 ///< share in [0, 1]; the stop rule of towards_target
  std::uint64_t workload = 0;                 ///< samples that are applied or accumulated: the other stop rule
  std::uint64_t evaluate_every = 1;           ///< pushes; towards a target fewer evaluations while it is far
  double max_time = 0;                        ///< units of time; a run that has not arrived by then counts as this
  std::uint64_t max_pushes = 0;               ///< a run ends there, whatever else: nothing hangs
  std::uint32_t batch = 1;                    ///< samples of a gradient
  std::uint32_t boundaries = 0;               ///< so many of the two arrays
  double rate = 0;                            ///< before the first boundary
  double rates[most_boundaries] = {};         ///< from each boundary on
  std::uint64_t after[most_boundaries] = {};  ///< pushes at which each boundary lies, ascending

  /// Errors  invalid_option: what sim::problem() says, or which option is one that is not simulated here
  [[nodiscard]] static result<simulated_run> make(const sim::run_options& o, std::uint64_t max_pushes) {
    const auto wrong = [](std::string what) { return error{errc::invalid_option, "simulated_run: " + what}; };
    if (std::string problem = sim::problem(o); !problem.empty()) return wrong(std::move(problem));
    if (o.stop == sim::stop_rule::converged) return wrong("stop is converged, expected target or workload");
    if (o.loss != sim::loss_source::worker_ema) return wrong("loss is probe, expected worker_ema");
    if (o.learning_rate.boundaries.size() > most_boundaries)
      return wrong("learning_rate.boundaries has " + std::to_string(o.learning_rate.boundaries.size()) +
                   " of them, expected at most " + std::to_string(most_boundaries));
    if (max_pushes == 0 || max_pushes > 0x7fff'ffff)
      return wrong("max_pushes is " + std::to_string(max_pushes) + ", expected 1 to 2147483647");
    simulated_run run;
    run.towards_target = o.stop == sim::stop_rule::target;
    run.target_accuracy = o.target_accuracy;
    run.workload = o.workload;
    run.evaluate_every = o.evaluate_every;
    run.max_time = o.max_time;
    run.max_pushes = max_pushes;
    run.batch = o.batch;
    run.rate = o.learning_rate.base;
    for (const sim::rate_boundary& each : o.learning_rate.boundaries) {
      run.after[run.boundaries] = each.after_pushes;
      run.rates[run.boundaries++] = o.learning_rate.base * each.factor;
    }
    return run;
  }

  /// The learning rate after so many pushes.
  [[nodiscard]] RUBATO_DETAIL_SHARED double rate_at(std::uint64_t pushes) const noexcept {
    double at = rate;
    for (std::uint32_t b = 0; b < boundaries && pushes >= after[b]; ++b) at = rates[b];
    return at;
  }
};

namespace detail {

[[nodiscard]] RUBATO_DETAIL_SHARED constexpr std::uint64_t draw_stream(sim::random_purpose purpose,
                                                                       std::uint32_t worker) noexcept {
  return (static_cast<std::uint64_t>(purpose) << 32) | worker;
}

// sim::computing_time of a step of nominal size.
template <std::uint32_t MaxWorkers>
[[nodiscard]] RUBATO_DETAIL_SHARED double computing_time(const simulated_machines<MaxWorkers>& machines,
                                                         std::uint64_t seed, std::uint32_t worker,
                                                         std::uint64_t step) noexcept {
  if (!(machines.jitter > 0)) return machines.step_time[worker];
  const double deviate = normal(seed, draw_stream(sim::random_purpose::jitter, worker), step);
  const double factor = exact_double::plus_product(1.0, machines.jitter, deviate);
  return exact_double::product(machines.step_time[worker], factor > 0.01 ? factor : 0.01);
}

// Whether a step, or as step 0 a worker, is drawn to straggle.
template <std::uint32_t MaxWorkers>
[[nodiscard]] RUBATO_DETAIL_SHARED bool straggles(const simulated_machines<MaxWorkers>& machines, std::uint64_t seed,
                                                  std::uint32_t worker, std::uint64_t step) noexcept {
  const double own = uniform(seed, draw_stream(sim::random_purpose::straggles, worker), step);
  if (!machines.exact_count) return own < machines.probability;
  std::uint32_t before = 0;
  for (std::uint32_t w = 0; w < machines.workers; ++w) {
    const double other = uniform(seed, draw_stream(sim::random_purpose::straggles, w), step);
    before += other < own || (other == own && w < worker) ? 1U : 0U;
  }
  return before < machines.count;
}

// How long a step sleeps after its computation: straggler_model::sleep. `drawn`: the workers that straggle all the
// time, a bit each.
template <std::uint32_t MaxWorkers>
[[nodiscard]] RUBATO_DETAIL_SHARED double sleep_of(const simulated_machines<MaxWorkers>& machines, std::uint64_t seed,
                                                   std::uint64_t drawn, std::uint32_t worker,
                                                   std::uint64_t step) noexcept {
  using sim::straggler_kind;
  if (machines.stragglers == straggler_kind::none) return 0;
  const bool always = machines.stragglers == straggler_kind::fixed;
  if (!(always ? (drawn >> worker & 1) != 0 : straggles(machines, seed, worker, step))) return 0;
  const std::uint64_t stream = draw_stream(sim::random_purpose::sleep_length, worker);
  if (machines.stragglers == straggler_kind::heavy_tailed) {
    const double least = machines.mean * (machines.tail_index - 1) / machines.tail_index;
    return exact_double::product(least, ::pow(1 - uniform(seed, stream, step), -1 / machines.tail_index));
  }
  const double sleep = exact_double::plus_product(machines.mean, machines.sd, normal(seed, stream, step));
  return sleep > 0 ? sleep : 0;
}

// Of all workers, those that straggle all the time.
template <std::uint32_t MaxWorkers>
[[nodiscard]] RUBATO_DETAIL_SHARED std::uint64_t drawn_workers(const simulated_machines<MaxWorkers>& machines,
                                                               std::uint64_t seed) noexcept {
  if (machines.stragglers != sim::straggler_kind::fixed) return 0;
  std::uint64_t drawn = 0;
  for (std::uint32_t w = 0; w < machines.workers; ++w)
    drawn |= std::uint64_t{straggles(machines, seed, w, 0) ? 1U : 0U} << w;
  return drawn;
}

}  // namespace detail
}  // namespace rubato::inline RUBATO_ABI::cuda

#endif
