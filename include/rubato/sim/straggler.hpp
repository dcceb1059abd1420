#ifndef RUBATO_SIM_STRAGGLER_HPP
#define RUBATO_SIM_STRAGGLER_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../core/rng.hpp"
#include "../pinned.hpp"
#include "burst_process.hpp"
#include "normal_draws.hpp"
#include "out_of_range.hpp"

namespace rubato::inline RUBATO_ABI::sim {

/// Random streams of a cluster: apart from each other, and from the objectives', which use those below 2^32 (one a
/// worker) and those from 2^63 on.
enum class random_purpose : std::uint64_t {
  jitter = 1,        ///< of computing times
  straggles,         ///< whether a worker or a step is drawn
  sleep_length,      ///< of a step
  burst_phase,       ///< whether a worker begins in a burst
  burst,             ///< lengths of bursts and of the gaps between them
  congestion_phase,  ///< whether the link begins congested
  congestion         ///< how long it is, and is not
};

/// The number of a worker's stream for this purpose.
[[nodiscard]] constexpr std::uint64_t stream_of(random_purpose purpose, std::uint32_t worker) noexcept {
  return (static_cast<std::uint64_t>(purpose) << 32) | worker;
}

/// Who sleeps after the computation of a step, and may be slow to compute it.
enum class straggler_kind : std::uint8_t {
  none,         ///< nobody
  fixed,        ///< workers, drawn once per run: each of their steps
  transient,    ///< steps, drawn one by one
  burst,        ///< workers, drawn once per run: the steps that end in one of their bursts
  heavy_tailed  ///< steps, drawn one by one; Pareto sleeps
};

/// A slowdown that is known: every step of the worker whose computation ends within it sleeps so much longer.
struct straggler_episode {
  std::uint32_t worker = 0;  ///< below the number of workers
  double from = 0;           ///< units of time, from the start of the run
  double until = 0;          ///< after `from`; it ends before this
  double sleep = 0;          ///< of each step, beside what is drawn; units of time
};

/// Who straggles, and for how long.
struct straggler_options {
  straggler_kind kind = straggler_kind::none;  ///< who is drawn, and how
  double probability = 0.3;              ///< that a worker (fixed, burst) or a step (transient, heavy_tailed) is drawn
  std::optional<std::uint32_t> count{};  ///< exact number of workers drawn in all, or for each step; not `probability`
  double mean = 1;                       ///< of a sleep; units of time
  double sd = 1.0 / 3;                   ///< of a normal sleep, which is cut off at 0; units of time
  double burst_length = 10;              ///< mean of a burst, exponential; units of time
  double burst_gap = 30;                 ///< mean between two bursts of a worker, exponential; units of time
  double tail_index = 1.5;               ///< of the Pareto sleep, above 1; smaller is heavier
  double slowdown = 1;                   ///< factor on the computing time of who is drawn, 1 to 1000; beside the sleep
  std::vector<straggler_episode> episodes{};  ///< whatever `kind` is, in any order; those that overlap add up
};

/// What is wrong with the options, as a sentence; empty if nothing is. O(episodes).
[[nodiscard]] inline std::string problem(const straggler_options& o, std::uint32_t workers) {
  using detail::a_duration;
  using detail::is_duration;
  using detail::out_of_range;
  if (!pinned::within(o.probability, 0, 1))
    return out_of_range("stragglers.probability", o.probability, "0 to 1");
  if (o.count.has_value() && *o.count > workers)
    return out_of_range("stragglers.count", *o.count, "at most the number of workers");
  if (!is_duration(o.mean)) return out_of_range("stragglers.mean", o.mean, a_duration);
  if (!is_duration(o.sd)) return out_of_range("stragglers.sd", o.sd, a_duration);
  if (!is_duration(o.burst_length) || o.burst_length < detail::shortest)
    return out_of_range("stragglers.burst_length", o.burst_length, detail::a_positive_duration);
  if (!is_duration(o.burst_gap) || o.burst_gap < detail::shortest)
    return out_of_range("stragglers.burst_gap", o.burst_gap, detail::a_positive_duration);
  if (pinned::is_nan(o.tail_index) || o.tail_index <= 1)
    return out_of_range("stragglers.tail_index", o.tail_index, "a number above 1");
  if (!pinned::within(o.slowdown, 1, 1000)) return out_of_range("stragglers.slowdown", o.slowdown, "1 to 1000");
  for (std::size_t i = 0; i < o.episodes.size(); ++i) {
    const straggler_episode& each = o.episodes[i];
    const std::string field = "stragglers.episodes[" + std::to_string(i) + "]";
    if (each.worker >= workers) return out_of_range(field + ".worker", each.worker, "less than the number of workers");
    if (!is_duration(each.from)) return out_of_range(field + ".from", each.from, a_duration);
    if (!is_duration(each.until) || !(each.until > each.from))
      return out_of_range(field + ".until", each.until, "a finite number above its `from`");
    if (!is_duration(each.sleep)) return out_of_range(field + ".sleep", each.sleep, a_duration);
  }
  return {};
}

/// How long each step of each worker sleeps, and how much slower than another it is computed.
///
/// Every draw depends on (seed, worker, step) alone: whichever policy runs, the same step has the same sleep. Bursts
/// belong to (seed, worker) and virtual time, episodes to the latter alone.
///
/// Pre     problem(options, workers).empty()
/// Cost    sleep, slowdown: O(episodes), amortised; O(workers) more for an exact count per step. Allocates in
///         construction only.
/// Thread  one object per thread
/// Tests   tests/sim/straggler_test.cpp
class straggler_model {
 public:
  /// Draws what is drawn once per run.
  straggler_model(const straggler_options& options, std::uint32_t workers, std::uint64_t seed)
      : options_{options},
        seed_{seed},
        workers_{workers},
        lengths_{seed, stream_of(random_purpose::sleep_length, 0),
                 options.kind == straggler_kind::fixed ? workers : 0} {
    RUBATO_ASSERT(problem(options, workers).empty(), "straggler options out of range");
    if (options.kind != straggler_kind::fixed && options.kind != straggler_kind::burst) return;
    drawn_.resize(workers);
    for (std::uint32_t w = 0; w < workers; ++w) drawn_[w] = draw(w, 0) ? 1 : 0;
    if (options.kind == straggler_kind::fixed) return;
    bursts_.reserve(workers);
    for (std::uint32_t w = 0; w < workers; ++w)
      bursts_.emplace_back(options.burst_length, options.burst_gap, seed, stream_of(random_purpose::burst_phase, w),
                           stream_of(random_purpose::burst, w));
  }

  /// Factor on the computing time of a step that begins at `now`; 1 if it does not straggle. A worker's `now` never
  /// runs back.
  [[nodiscard]] double slowdown(std::uint32_t worker, std::uint64_t step, double now) noexcept {
    return options_.slowdown != 1 && straggles(worker, step, now) ? options_.slowdown : 1.0;
  }
  /// Sleep of a step whose computation ends at `now`; 0 if it does not straggle. The same holds for `now`.
  [[nodiscard]] double sleep(std::uint32_t worker, std::uint64_t step, double now) {
    double all = options_.kind == straggler_kind::none ? 0 : drawn_sleep(worker, step, now);
    for (const straggler_episode& each : options_.episodes)
      if (each.worker == worker && each.from <= now && now < each.until) all += each.sleep;
    return all;
  }

 private:
  [[nodiscard]] bool straggles(std::uint32_t worker, std::uint64_t step, double now) noexcept {
    switch (options_.kind) {
      case straggler_kind::none: return false;
      case straggler_kind::fixed: return drawn_[worker] != 0;
      case straggler_kind::burst: return drawn_[worker] != 0 && bursts_[worker].at(now);
      default: return draw(worker, step);
    }
  }

  [[nodiscard]] double drawn_sleep(std::uint32_t worker, std::uint64_t step, double now) {
    if (!straggles(worker, step, now)) return 0;
    switch (options_.kind) {
      case straggler_kind::fixed: return cut_off(lengths_(worker, step));
      case straggler_kind::heavy_tailed: return pareto(worker, step);
      default: return normal(worker, step);
    }
  }

  [[nodiscard]] double uniform(random_purpose purpose, std::uint32_t worker, std::uint64_t index) const noexcept {
    return random_sequence{seed_, stream_of(purpose, worker), index}.uniform();
  }

  [[nodiscard]] bool draw(std::uint32_t worker, std::uint64_t step) const noexcept {
    const double own = uniform(random_purpose::straggles, worker, step);
    if (!options_.count.has_value()) return own < options_.probability;
    std::uint32_t before = 0;  // of all workers' draws for this step, the smallest `count` straggle
    for (std::uint32_t w = 0; w < workers_; ++w) {
      const double other = uniform(random_purpose::straggles, w, step);
      before += other < own || (other == own && w < worker) ? 1 : 0;
    }
    return before < *options_.count;
  }

  [[nodiscard]] double normal(std::uint32_t worker, std::uint64_t step) const noexcept {
    random_sequence random{seed_, stream_of(random_purpose::sleep_length, worker), step};
    return cut_off(random.normal());
  }
  [[nodiscard]] double cut_off(double deviate) const noexcept {
    return (std::max)(0.0, options_.mean + options_.sd * deviate);
  }

  [[nodiscard]] double pareto(std::uint32_t worker, std::uint64_t step) const noexcept {
    const double least = options_.mean * (options_.tail_index - 1) / options_.tail_index;
    return least * std::pow(1 - uniform(random_purpose::sleep_length, worker, step), -1 / options_.tail_index);
  }

  straggler_options options_;
  std::uint64_t seed_;
  std::uint32_t workers_;
  normal_draws lengths_;               // fixed
  std::vector<std::uint8_t> drawn_;    // fixed, burst
  std::vector<burst_process> bursts_;  // burst
};

}  // namespace rubato::inline RUBATO_ABI::sim

#endif
