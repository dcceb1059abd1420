#ifndef RUBATO_ENCODE_BATCH_COST_HPP
#define RUBATO_ENCODE_BATCH_COST_HPP

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "../core/archive.hpp"
#include "../core/event.hpp"
#include "../dynarray.hpp"
#include "../pinned.hpp"

namespace rubato::inline RUBATO_ABI {

/// How a step's time depends on its batch: learned from workers that are asked for other batches from step to step.
///
/// The elasticity is how many octaves a step's time changes with an octave of its batch: 1 where all of a step is
/// computing, 0 where nothing is. It is the slope of a regression through the changes of the last fifty steps or so,
/// and 0.7 until a batch has changed. A change of the time counts as at most two octaves, so that a straggler's sleep
/// does not drown the rest, and one of less than an octave of the batch counts and forgets less.
///
/// From it follows the overhead: the part of a step that is there whatever the batch, such as transfers and sleep, in
/// times of what the usual batch takes to compute. The usual batch is the first one of a worker that was not asked for
/// any; all workers are taken to have the same.
///
/// Only steps that were announced by granted() count; those without samples or time, and cancelled ones, say nothing.
/// Cost    observe: O(1), three logarithms. 16 bytes per worker, allocated by resize. Not thread-safe.
/// Tests   tests/encode/batch_cost_test.cpp: TheUsualBatchIsTheHostsOwn, ElasticityByHand, ElasticityOfRandomSteps,
///         SmallChangesSayLittle, OverheadDoesNotDependOnTheBatch, FactorByHand, NothingKnown, CountsWhoObeys,
///         WhoStopsObeyingIsSoonNoticed, SurvivesStragglers, ForgetsAWorker, SavesItsState, BadBytesAreRefused
class batch_cost {
 public:
  /// The worker starts a step and is asked for so many samples; 0: as many as the host likes. Precondition, as of
  /// forget(): the worker is below the capacity of resize().
  void granted(std::uint32_t worker, std::uint32_t samples) noexcept {
    latest_[worker].asked = samples;
    latest_[worker].started = true;
  }

  /// A step is over. Workers beyond the capacity are ignored.
  void observe(const feedback& step) noexcept {
    const std::uint32_t samples = step.what.samples;
    const bool timed = step.step_time > 0 && pinned::is_finite(step.step_time);
    if (step.what.worker >= latest_.size()) return;
    note& it = latest_[step.what.worker];
    if (!it.started || samples == 0 || !timed || step.what.why_dropped == reason::cancelled) return;
    if (usual_ == 0) {
      if (it.asked != 0) return;
      usual_ = samples;
    }
    if (it.asked != 0) note_obedience(it.asked, samples);
    const double time = std::log2(step.step_time), batch = std::log2(static_cast<double>(samples));
    if (it.known) learn(batch - static_cast<double>(it.batch), time - static_cast<double>(it.time), batch);
    it.time = static_cast<float>(time);
    it.batch = static_cast<float>(batch);
    it.known = true;
  }

  /// Samples of a step that nobody has asked for; 0: not known yet.
  [[nodiscard]] std::uint32_t usual() const noexcept { return usual_; }

  /// Steps that had the batch that was asked for, other than the usual one, less twice those that had another; from 0
  /// to 50 at any time, so that who stops is soon noticed. A host that keeps its batch stays at 0, or near it if
  /// batches of its own happen to be what was asked for.
  [[nodiscard]] std::uint64_t obeyed() const noexcept { return obeyed_; }

  /// From 0.02 to 0.98.
  [[nodiscard]] double elasticity() const noexcept { return std::clamp(products_ / squares_, 0.02, 0.98); }

  /// What a step takes whatever its batch is, in times of what computing the usual batch takes.
  [[nodiscard]] double overhead() const noexcept {
    const double e = elasticity();
    return pinned::plus_product(0.0, (1 - e) / e, std::exp2(at_));
  }

  /// How many times as long as one of the usual batch such a step takes; 1 for no samples, and while nobody obeys.
  [[nodiscard]] float factor(std::uint32_t samples) const noexcept {
    if (samples == 0 || obeyed_ == 0) return 1.0F;
    const double fixed = overhead();
    return static_cast<float>((fixed + static_cast<double>(samples) / usual_) / (fixed + 1));
  }

  /// Forgets everything; room for workers 0 to capacity - 1. Allocates.
  void resize(std::uint32_t capacity) {
    *this = {};
    latest_ = detail::dynarray<note>(capacity);
  }
  /// The worker has gone, or its index is taken anew: nothing is known of its latest step.
  void forget(std::uint32_t worker) noexcept { latest_[worker] = {}; }

  /// Saves, or loads into one of the same capacity. After bad bytes, resize() comes first.
  void state(archive& bytes) {
    bytes(usual_, obeyed_, squares_, products_, at_);
    for (note& each : latest_) bytes(each.time, each.batch, each.asked, each.started, each.known);
    if (!is_sound()) bytes.fail();
  }

 private:
  static constexpr std::uint64_t most_obeyed = 50;
  static constexpr double most = 2;          // octaves that a change of the time counts as
  static constexpr double forgotten = 0.02;  // of what was known, with a change of the batch by an octave
  static constexpr double largest = 32;      // log2 of a batch

  struct note {
    float time = 0;           // log2, of the step before
    float batch = 0;          // log2
    std::uint32_t asked = 0;  // for the step under way
    bool started = false;
    bool known = false;  // time and batch are
  };

  void note_obedience(std::uint32_t asked, std::uint32_t samples) noexcept {
    if (samples != asked)
      obeyed_ -= (std::min)(obeyed_, std::uint64_t{2});
    else if (samples != usual_)
      obeyed_ = (std::min)(obeyed_ + 1, most_obeyed);
  }

  // From changes of log2(batch) and log2(time), to this batch.
  void learn(double change, double longer, double batch) noexcept {
    if (change == 0) return;
    longer = std::clamp(longer, -most, most);
    const double keep = pinned::plus_product(1.0, -forgotten, (std::min)(change * change, 1.0));
    squares_ = pinned::plus_product(keep * squares_, change, change);
    products_ = pinned::plus_product(keep * products_, change, longer);
    const double octaves = batch - change / 2 - std::log2(static_cast<double>(usual_));
    at_ = pinned::plus_product(at_, (std::min)(change * change / squares_, 1.0), octaves - at_);
  }

  [[nodiscard]] bool is_sound() const noexcept {
    const bool finite = pinned::is_finite(squares_) && pinned::is_finite(products_);
    const bool sums = squares_ > 0 && finite && pinned::within(at_, -largest, largest);
    const bool counts = obeyed_ <= most_obeyed && (obeyed_ == 0 || usual_ > 0);
    for (const note& each : latest_)
      if (!pinned::is_finite(each.time) || !pinned::within(static_cast<double>(each.batch), 0, largest))
        return false;
    return sums && counts;
  }

  detail::dynarray<note> latest_{};  // by worker
  std::uint32_t usual_ = 0;
  std::uint64_t obeyed_ = 0;
  double squares_ = 1;     // of changes of log2(batch)
  double products_ = 0.7;  // with those of log2(time)
  double at_ = 0;          // log2 of the batch, over the usual one, that this was measured at
};

}  // namespace rubato::inline RUBATO_ABI

#endif
