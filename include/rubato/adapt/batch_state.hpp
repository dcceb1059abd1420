#ifndef RUBATO_ADAPT_BATCH_STATE_HPP
#define RUBATO_ADAPT_BATCH_STATE_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "../core/archive.hpp"
#include "../dynarray.hpp"
#include "../pinned.hpp"
#include "batch_deltas.hpp"
#include "batch_sizer.hpp"
#include "gradient_noise.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// What a learned BatchSizer sees of a worker: 16 features, and for each of them whether it is known.
///
/// Of the worker:  0 throughput of its transfers / the link's           8 deviation of its batches' accuracies
///                 1 log(1 + retransmissions per unit of time)          9 change of its loss since the last period
///                 2 time of transfers / that of transfers and step       / the loss of the first period
///                 3 utilisation of its processor                      10 log(noise of an update / its square)
///                 4 utilisation of its memory                         Of all:
///                 5 time of its step / that of the slowest            11 mean accuracy
///                 6 log2(batch / usual)                               12 log2(mean batch / usual)
///                 7 mean accuracy of its batches                      13 steps so far / (those and 500)
///                                                                     14 log2(time of a step / in the first period)
///                                                                     15 deviation of the steps' times / mean
///
/// All are clipped to [-4, 4]. The noise of an update is the variance of a sample's gradient (step_metrics) over the
/// samples of all workers' steps; variance and square are averages in which a period counts a fifth, since one alone
/// says little. 10 is half of the logarithm. The time of a step is what the host measured of computing; where it
/// measured nothing, that from grant to arrival. What is not known is 0, and its flag is 0 instead of 1.
///
/// Cost    begin() O(workers), observe() O(1). Allocates in resize() only, 4 bytes per worker.
/// Source  DYNAMIX names the groups (network, system, statistical efficiency), not the features: these are a choice
/// Tests   tests/adapt/batch_state_test.cpp: FeaturesByHand, WhatIsNotKnownIsFlagged, EverythingIsClipped,
///         RemembersTheFirstPeriod, SavesWhatItKnows
class batch_state {
 public:
  static constexpr std::size_t features = 16;        ///< of a worker
  static constexpr std::size_t size = 2 * features;  ///< of an observation: the features, and then their flags

  /// The features' names, in their order.
  static constexpr std::array<std::string_view, features> names{
      "throughput", "retransmissions", "transfer_share", "processor",        "memory",         "step_time_share",
      "batch",      "accuracy",        "accuracy_sd",    "loss_change",      "gradient_noise", "mean_accuracy",
      "mean_batch", "progress",        "period_time",    "step_time_scatter"};

  /// Room for so many workers, nothing known of any. Allocates.
  void resize(std::uint32_t capacity) {
    *this = {};
    losses_ = rubato::detail::dynarray<float>(capacity, not_measured);
  }
  /// The worker has gone, or its index is taken anew.
  void forget(std::uint32_t worker) noexcept { losses_[worker] = not_measured; }

  /// A period has ended: for each worker that counts, adds to its batch the one of batch_deltas of which
  /// choose(worker, observation) says the number.
  template <class Choose>
  void decide(const batch_period& period, std::span<std::uint32_t> batches, const Choose& choose) noexcept {
    begin(period);
    for (std::size_t w = 0; w < period.workers.size(); ++w) {
      if (!period.workers[w].counts) continue;
      std::array<float, size> observation;
      observe(w, observation);
      batches[w] = changed_by(batches[w], batch_deltas[choose(w, observation)]);
    }
    end();
  }

  /// A period has ended; observe() is about it until end().
  void begin(const batch_period& seen) noexcept {
    seen_ = seen;
    double accuracy = 0, loss = 0, samples = 0, sum = 0, squares = 0;
    std::uint32_t accuracies = 0, losses_known = 0, times = 0, steps = 0;
    slowest_ = 0;
    for (const batch_worker& each : seen.workers) {
      if (!each.counts) continue;
      samples += each.batch;
      steps = (std::max)(steps, each.steps);
      if (!pinned::is_nan(each.metrics.accuracy)) accuracy += static_cast<double>(each.metrics.accuracy), ++accuracies;
      if (!pinned::is_nan(each.loss)) loss += static_cast<double>(each.loss), ++losses_known;
      if (const double time = step_time(each); time > 0) {
        slowest_ = (std::max)(slowest_, time);
        sum += time, squares += time * time, ++times;
      }
    }
    const double alive = (std::max)(seen.alive, 1U);
    const double period = steps > 0 ? seen.time / steps : 0.0;
    if (first_time_ <= 0) first_time_ = period;
    if (first_loss_ <= 0 && losses_known > 0) first_loss_ = (std::max)(loss / losses_known, 0.0);
    steps_ += steps;
    const double mean = times > 0 ? sum / times : 0.0;
    const double scatter = times > 0 ? (std::max)(squares / times - mean * mean, 0.0) : 0.0;
    all_[0] = accuracies > 0 ? known(accuracy / accuracies) : unknown;
    all_[1] = known(std::log2(samples / alive / seen.usual));
    all_[2] = known(static_cast<double>(steps_) / (static_cast<double>(steps_) + 500));
    all_[3] = period > 0 && first_time_ > 0 ? known(std::log2(period / first_time_)) : unknown;
    all_[4] = mean > 0 ? known(std::sqrt(scatter) / mean) : unknown;
    noise_.add(seen, newest);
    const double of_update = samples > 0 ? noise_.variance / samples : 0.0;
    // A square that is not above 0 is one that drowns in noise.
    ratio_ = of_update > 0 ? known(std::log(of_update / (std::max)(noise_.square, 1e-3 * of_update)) / 2) : unknown;
  }

  /// The observation of a worker that counts.
  void observe(std::size_t worker, std::span<float, size> out) const noexcept {
    const batch_worker& me = seen_.workers[worker];
    const step_metrics& had = me.metrics;
    const double time = step_time(me);
    const double moving = static_cast<double>(had.communication_time);
    const double before = static_cast<double>(losses_[worker]);
    std::array<value, features> all{
        value_of(had.throughput),
        pinned::is_nan(had.retransmissions) ? unknown : known(std::log1p(static_cast<double>(had.retransmissions))),
        !pinned::is_nan(moving) && time + moving > 0 ? known(moving / (time + moving)) : unknown,
        value_of(had.processor),
        value_of(had.memory),
        time > 0 && slowest_ > 0 ? known(time / slowest_) : unknown,
        known(std::log2(static_cast<double>(me.batch) / seen_.usual)),
        value_of(had.accuracy),
        value_of(me.accuracy_deviation),
        !pinned::is_nan(me.loss) && !pinned::is_nan(before) && first_loss_ > 0
            ? known((static_cast<double>(me.loss) - before) / first_loss_)
            : unknown,
        ratio_,
        all_[0],
        all_[1],
        all_[2],
        all_[3],
        all_[4]};
    for (std::size_t f = 0; f < features; ++f) {
      out[f] = all[f].number;
      out[features + f] = all[f].known;
    }
  }

  /// Ends what observe() may be asked about: keeps the losses of this period for the next.
  void end() noexcept {
    for (std::size_t w = 0; w < losses_.size(); ++w) losses_[w] = seen_.workers[w].loss;
    seen_ = {};
  }

  /// Of this worker in the period before; not a number where unknown.
  [[nodiscard]] float loss_of(std::uint32_t worker) const noexcept { return losses_[worker]; }

  void state(archive& bytes) {
    bytes(first_time_, first_loss_);
    noise_.state(bytes);
    bytes(steps_);
    if (!pinned::is_finite(first_time_) || !pinned::is_finite(first_loss_)) bytes.fail();
    for (float& loss : losses_) {
      bytes(loss);
      if (!pinned::is_nan(loss) && !pinned::is_finite(loss)) bytes.fail();
    }
  }

 private:
  struct value {
    float number, known;
  };
  static constexpr value unknown{0, 0};
  static constexpr double newest = 0.2;  // what a period counts in the averages of the noise

  [[nodiscard]] static value known(double number) noexcept {
    if (!pinned::is_finite(number)) return unknown;
    return {static_cast<float>(std::clamp(number, -4.0, 4.0)), 1};
  }
  [[nodiscard]] static value value_of(float metric) noexcept { return known(static_cast<double>(metric)); }
  [[nodiscard]] static double step_time(const batch_worker& of) noexcept {
    if (!pinned::is_nan(of.metrics.compute_time)) return static_cast<double>(of.metrics.compute_time);
    return pinned::is_nan(of.step_time) ? 0.0 : static_cast<double>(of.step_time);
  }

  batch_period seen_{};
  std::array<value, 5> all_{};
  value ratio_ = unknown;
  double slowest_ = 0;
  double first_time_ = 0;  // of a step, in the first period; 0 before
  double first_loss_ = 0;
  detail::gradient_noise noise_{};
  std::uint64_t steps_ = 0;                   // of the busiest worker
  rubato::detail::dynarray<float> losses_{};  // of each worker in the period before; not a number where unknown
};

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
