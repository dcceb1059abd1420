#ifndef RUBATO_LEARNED_ACTIVITY_TRACE_HPP
#define RUBATO_LEARNED_ACTIVITY_TRACE_HPP

#include <algorithm>
#include <cmath>
#include <limits>

#include "../core/archive.hpp"
#include "../encode/encoder.hpp"
#include "../pinned.hpp"

namespace rubato::inline RUBATO_ABI {

/// What workers leave behind at a server, and find there: virtual pheromone. Nobody is known by name.
///
/// Who starts a step leaves a mark of 1, who pushes takes back what has become of its own: so the marks that are there
/// say how many are under way. They evaporate in eight steps or so, and so the mark of one who never comes back goes by
/// itself. Step and interval are running averages of what workers told, each push with a weight of 1/20; the level is
/// where their opinions have moved it.
///
/// Times are those of the host; what runs back counts as no time.
/// Cost    O(1), one or two exponentials a call; 64 bytes. No allocation. Not thread-safe.
/// Source  the idea: Aina and Ha, "Deep Reinforcement Learning for Multi-Agent Coordination", arXiv:2510.03592
/// Tests   tests/learned/activity_trace_test.cpp: MarksAddUpAndEvaporate, WhoPushesTakesItsMarkBack,
///         WhoNeverComesBackIsForgotten, AveragesByHand, CountsSteps, TheLevelIsJoint, StrangeTimesDoNoHarm,
///         SavesItsState, BadBytesAreRefused
class activity_trace {
 public:
  /// A trace that nobody has been at; `level` is what the workers begin with.
  explicit activity_trace(double level = 1) noexcept : level_{level} {}

  /// About how many are under way now.
  [[nodiscard]] double presence(double now) const noexcept { return presence_ * left_after(now - at_); }
  /// How many should be, in the workers' joint opinion.
  [[nodiscard]] double level() const noexcept { return level_; }
  /// What a step takes, of late; 0: nobody has pushed yet.
  [[nodiscard]] double step() const noexcept { return step_; }
  /// How many usual steps have gone by, about.
  [[nodiscard]] double steps() const noexcept { return steps_; }
  /// From push to push, of late; 0: not known yet.
  [[nodiscard]] double interval() const noexcept { return interval_; }

  /// A worker starts a step.
  void start(double now) noexcept {
    evaporate(now);
    presence_ += 1;
  }

  /// A step is over that began at `began`, and took `step` (both as the host counts time; a step of 0 or less, or one
  /// that is not finite, says nothing).
  void push(double now, double began, double step) noexcept {
    evaporate(now);
    presence_ = (std::max)(0.0, presence_ - left_after(now - began));
    if (pinned::is_finite(latest_push_) && now > latest_push_)
      detail::average(interval_, now - latest_push_, newest, interval_ == 0);
    latest_push_ = now;
    steps_ += 1 / level_;
    if (step > 0 && pinned::is_finite(step)) detail::average(step_, step, newest, step_ == 0);
  }

  /// A worker's opinion of the level: so many octaves higher, from then on; from 1 to 2^20 workers.
  void raise(double octaves) noexcept {
    if (!pinned::is_nan(octaves))
      level_ = std::clamp(level_ * std::exp2(std::clamp(octaves, -1.0, 1.0)), 1.0, most_level);
  }

  /// Saves, or loads.
  void state(archive& bytes) {
    bytes(presence_, at_, level_, step_, steps_, interval_, latest_push_);
    const auto is_amount = [](double x) { return x >= 0 && pinned::is_finite(x); };
    if (!is_amount(presence_) || !is_amount(step_) || !is_amount(steps_) || !is_amount(interval_) ||
        !pinned::is_finite(at_) || !pinned::within(level_, 1, most_level) || pinned::is_nan(latest_push_))
      bytes.fail();
  }

 private:
  static constexpr double newest = 0.05, steps_of_a_mark = 8, most_level = 1 << 20;

  // Of a mark that was left so long ago.
  [[nodiscard]] double left_after(double time) const noexcept {
    return step_ > 0 && time > 0 ? std::exp(-time / (steps_of_a_mark * step_)) : 1.0;
  }
  void evaporate(double now) noexcept {
    presence_ *= left_after(now - at_);
    at_ = now;
  }

  double presence_ = 0;
  double at_ = 0;  // when that was
  double level_;
  double step_ = 0;
  double steps_ = 0;
  double interval_ = 0;
  double latest_push_ = -std::numeric_limits<double>::infinity();
};

}  // namespace rubato::inline RUBATO_ABI

#endif
