#ifndef RUBATO_ENCODE_CLUSTER_STATE_HPP
#define RUBATO_ENCODE_CLUSTER_STATE_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../dynarray.hpp"
#include "../pinned.hpp"
#include "encoder.hpp"
#include "next_arrival.hpp"

namespace rubato::inline RUBATO_ABI {

/// What a policy may know of the cluster, as 25 numbers of the order of 1, whatever the number of workers.
///
/// | feature          | what                                                             | unit           | range     |
/// | iteration        | pushes so far                                                    | log1p/10       | 0 to 10   |
/// | loss             | with this push, over that of the first                           | first loss     | -10 to 10 |
/// | loss_trend       | averages of the losses of about 10 and 50 pushes: log(10 / 50)   | log ratio      | -3 to 3   |
/// | staleness        | of this push                                                     | workers        | 0 to 10   |
/// | staleness_median | of the latest 32 pushes                                          | workers        | 0 to 10   |
/// | staleness_high   | their 90 % quantile                                              | workers        | 0 to 10   |
/// | idle_share       | workers in no step between two pushes, average of about 10       | share          | 0 to 1    |
/// | running_share    | workers in a step now                                            | share          | 0 to 1    |
/// | parked_share     | workers that wait now, the submitter not counted                 | share          | 0 to 1    |
/// | next_arrival     | expected time until the next push; 4 if nobody knows             | median step    | 0 to 4    |
/// | speed_dispersion | deviation of the log of the workers' step times                  | log ratio      | 0 to 3    |
/// | own_slowness     | log of the submitter's step time over the median                 | log ratio      | -3 to 3   |
/// | speed_rank       | workers faster than the submitter                                | share          | 0 to 1    |
/// | lead             | steps of the submitter before the slowest                        | log1p(steps)   | 0 to 10   |
/// | spread           | steps of the fastest before the slowest                          | log1p(steps)   | 0 to 10   |
/// | throughput_trend | pushes per time, averages of about 10 and 100: log(10 / 100)     | log ratio      | -3 to 3   |
/// | stretch          | log of steps over the shortest of the same worker, average of 10 | log ratio      | 0 to 3    |
/// | activity@0 .. 7  | running_share at this push and at those before                   | share          | 0 to 1    |
///
/// Counts are over the workers alive now, k of them. That scales them; it does not hide k: one worker is 1/k of a share
/// (running_share at the first push is (k - 1)/k), pushes are counted, and averages are over pushes, of which a larger
/// cluster makes more in the same time. Step times run from grant to arrival. What is not known yet is 0, except as
/// stated. A loss that is not finite, or 0 ("the host has none"), changes nothing.
///
/// Cost    observe and started: O(log workers). encode: O(1), a sort of at most 32 numbers, and what
///         next_arrival::next costs. No allocation but in resize, about 52 bytes per worker. Not thread-safe.
/// Tests   tests/encode/cluster_state_test.cpp: SharesByHand, NextArrivalInMedianSteps, SpeedsByHand,
///         TrendsHaveTheirSign, StalenessQuantiles, IsScaledByTheWorkersAlive, ForgetsWhoLeaves, StaysInItsRanges,
///         ClockMayStartAnew
///
/// cluster_state is basic_cluster_state of float, the only one: a template, so that units without it do not compile it.
template <std::same_as<float> T>
class basic_cluster_state {
  static constexpr std::size_t trace = 8;
  static constexpr std::size_t window = 32;

 public:
  static constexpr std::size_t dim = 17 + trace;  ///< numbers, as in the table
  static constexpr std::string_view kind = "cluster";
  static constexpr double horizon = 4;  ///< most that next_arrival says

  /// See StateEncoder.
  void observe(const feedback& step) noexcept {
    const double now = step.what.now;
    const std::uint32_t w = step.what.worker;
    if (pushes_ > 0 && now < now_) arrivals_.shift(now - now_);  // the host's clock has started anew
    const double interval = pushes_ > 0 && now > now_ ? now - now_ : 0;
    if (pushes_ > 0) detail::average(fast_interval_, interval, 0.1, pushes_ == 1);
    if (pushes_ > 0) detail::average(slow_interval_, interval, 0.01, pushes_ == 1);
    const double active = alive_ > 0 ? static_cast<double>(arrivals_.size()) / static_cast<double>(alive_) : 1.0;
    detail::average(idle_, 1 - std::clamp(active, 0.0, 1.0), 0.1, pushes_ == 0);
    now_ = now;
    arrivals_.remove(w);
    if (const double loss = static_cast<double>(step.what.loss); pinned::is_finite(loss) && loss != 0) {
      if (first_ == 0) first_ = loss;
      detail::average(fast_loss_, loss, 0.1, loss_ == 0);
      detail::average(slow_loss_, loss, 0.02, loss_ == 0);
      loss_ = loss;
    }
    if (step.step_time > 0 && w < speeds_.size()) note_speed(speeds_[w], step.step_time);
    staleness_[pushes_ % window] = static_cast<float>(step.what.staleness);
    ++pushes_;
    fresh_ = true;
  }

  /// See StateEncoder.
  void encode(const cluster_view& view, const event& what, std::span<T, dim> out) noexcept {
    alive_ = (std::max)(view.alive(), 1U);
    const double share = 1 / static_cast<double>(alive_);
    const double running = view.running() * share;
    if (fresh_) {
      std::copy_backward(activity_.begin(), activity_.end() - 1, activity_.end());
      activity_[0] = static_cast<float>(running);
      fresh_ = false;
    }
    const auto held = static_cast<std::size_t>((std::min)(pushes_, std::uint64_t{window}));
    std::array<float, window> sorted = staleness_;
    std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(held));
    const auto quantile = [&](std::size_t tenths) {
      return held == 0 ? 0.0 : static_cast<double>(sorted[(held - 1) * tenths / 10]) * share;
    };
    const double newest = pushes_ == 0 ? 0.0 : static_cast<double>(staleness_[(pushes_ - 1) % window]) * share;
    const auto median = static_cast<double>(view.median_step_time());
    const bool known = view.submitter() < view.capacity();
    const double own = known ? static_cast<double>(view.step_time_of(view.submitter())) : 0.0;
    const clock_type lowest = view.minimum_clock();
    const clock_type lead = known && view.clock_of_submitter() > lowest ? view.clock_of_submitter() - lowest : 0;
    const double next = median > 0 ? (arrivals_.next(what.now) - what.now) / median : horizon;
    const std::uint32_t others = view.parked() > 0 ? view.parked() - 1 : 0;

    std::size_t i = 0;
    const auto add = [&](double number, double least, double most) {
      out[i++] = detail::finite_float(number < least ? least : number > most ? most : number);
    };
    add(std::log1p(static_cast<double>(pushes_)) / 10, 0, 10);
    add(first_ != 0 ? loss_ / std::abs(first_) : 0, -10, 10);
    add(log_ratio(fast_loss_, slow_loss_), -3, 3);
    add(newest, 0, 10);
    add(quantile(5), 0, 10);
    add(quantile(9), 0, 10);
    add(idle_, 0, 1);
    add(running, 0, 1);
    add(others * share, 0, 1);
    add(next, 0, horizon);
    add(dispersion(), 0, 3);
    add(log_ratio(own, median), -3, 3);
    add(view.speed_rank() * share, 0, 1);
    add(std::log1p(static_cast<double>(lead)), 0, 10);
    add(std::log1p(static_cast<double>(view.maximum_clock() - lowest)), 0, 10);
    add(log_ratio(slow_interval_, fast_interval_), -3, 3);
    add(stretch_, 0, 3);
    for (const float each : activity_) add(static_cast<double>(each), 0, 1);
  }

  /// A worker starts a step: it is expected to take as long as its steps usually do, or as the median worker's.
  void started(const cluster_view& view, std::uint32_t worker) noexcept {
    const float own = view.step_time_of(worker);
    const auto usual = static_cast<double>(own > 0 ? own : view.median_step_time());
    arrivals_.start(worker, view.now(), usual > 0 ? usual : next_arrival::never);
  }
  /// See StepFollowingEncoder: the worker is in no step, and its speed does not count any more.
  void forget(std::uint32_t worker) noexcept {
    arrivals_.remove(worker);
    if (worker >= speeds_.size() || !speeds_[worker].known) return;
    take_out(speeds_[worker]);
    speeds_[worker] = {};
  }

  /// See StateEncoder.
  void resize(std::uint32_t capacity) {
    *this = {};
    speeds_ = detail::dynarray<speed>(capacity);
    arrivals_.resize(capacity);
  }

  /// Bad bytes change nothing.
  void state(archive& bytes) {
    basic_cluster_state read = *this;
    read.all(bytes);
    if (!bytes.saving() && bytes.ok()) *this = std::move(read);
  }

  /// See StateEncoder.
  [[nodiscard]] std::vector<feature> features() const {
    std::vector<feature> all{{"iteration", "log1p(pushes)/10"}, {"loss", "first loss"},
                             {"loss_trend", "log ratio"},       {"staleness", "workers"},
                             {"staleness_median", "workers"},   {"staleness_high", "workers"},
                             {"idle_share", "share"},           {"running_share", "share"},
                             {"parked_share", "share"},         {"next_arrival", "median step"},
                             {"speed_dispersion", "log ratio"}, {"own_slowness", "log ratio"},
                             {"speed_rank", "share"},           {"lead", "log1p(steps)"},
                             {"spread", "log1p(steps)"},        {"throughput_trend", "log ratio"},
                             {"stretch", "log ratio"}};
    for (std::size_t i = 0; i < trace; ++i) all.push_back({"activity@" + std::to_string(i), "share"});
    return all;
  }

 private:
  struct speed {
    bool known = false;
    double log = 0;       // of the step time, smoothed
    double shortest = 0;  // step
  };

  void all(archive& bytes) {
    bytes(pushes_, alive_, fresh_, now_, first_, loss_, fast_loss_, slow_loss_, fast_interval_, slow_interval_, idle_,
          stretch_, speed_sum_, speed_squares_, speed_count_);
    for (float& each : staleness_) bytes(each);
    for (float& each : activity_) bytes(each);
    for (speed& each : speeds_) bytes(each.known, each.log, each.shortest);
    arrivals_.state(bytes);
  }

  [[nodiscard]] static double log_ratio(double a, double b) noexcept { return a > 0 && b > 0 ? std::log(a / b) : 0; }

  void note_speed(speed& of, double step_time) noexcept {
    const bool first = !of.known;
    if (!first) take_out(of);
    of.shortest = first ? step_time : (std::min)(of.shortest, step_time);
    detail::average(of.log, std::log(step_time), 0.2, first);
    of.known = true;
    speed_sum_ += of.log;
    speed_squares_ = pinned::plus_product(speed_squares_, of.log, of.log);
    ++speed_count_;
    detail::average(stretch_, log_ratio(step_time, of.shortest), 0.1, pushes_ == 0);
  }
  void take_out(const speed& of) noexcept {
    --speed_count_;
    speed_sum_ = speed_count_ == 0 ? 0 : speed_sum_ - of.log;  // no rounding error outlives the last worker
    speed_squares_ = speed_count_ == 0 ? 0 : pinned::plus_product(speed_squares_, -of.log, of.log);
  }
  [[nodiscard]] double dispersion() const noexcept {
    if (speed_count_ < 2) return 0;
    const auto n = static_cast<double>(speed_count_);
    const double mean = speed_sum_ / n;
    return std::sqrt((std::max)(pinned::plus_product(speed_squares_ / n, -mean, mean), 0.0));
  }

  std::uint64_t pushes_ = 0;
  std::uint32_t alive_ = 0;  // when it last encoded
  bool fresh_ = false;       // a push that no activity belongs to yet
  double now_ = 0;
  double first_ = 0;
  double loss_ = 0;
  double fast_loss_ = 0;
  double slow_loss_ = 0;
  double fast_interval_ = 0;
  double slow_interval_ = 0;
  double idle_ = 0;
  double stretch_ = 0;
  double speed_sum_ = 0;
  double speed_squares_ = 0;
  std::uint32_t speed_count_ = 0;
  std::array<float, window> staleness_{};  // a ring
  std::array<float, trace> activity_{};    // newest first
  detail::dynarray<speed> speeds_;
  next_arrival arrivals_;
};

/// The only one: see basic_cluster_state.
using cluster_state = basic_cluster_state<float>;

}  // namespace rubato::inline RUBATO_ABI

#endif
