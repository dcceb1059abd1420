#ifndef RUBATO_ENCODE_BATCH_COST_HPP
#define RUBATO_ENCODE_BATCH_COST_HPP

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "../core/archive.hpp"
#include "../core/event.hpp"

namespace rubato::inline RUBATO_ABI {

/// What of a step's time its batch is to blame for: learned from workers whose batches change from step to step.
///
/// The elasticity is how many octaves a step's time changes with an octave of its batch: 1 where all of a step is
/// computing, 0 where nothing is. It is the slope of a regression through the changes of the last fifty steps or so,
/// and as long as no batch changes 0.7. A change of the time counts as at most two octaves, so that a straggler's sleep
/// does not drown the rest. From it follows the overhead: the part of a step that is there whatever the batch, such as
/// transfers and sleep, in times of what the usual batch takes to compute. The usual batch is that of the first push.
///
/// Steps without samples or time, and cancelled ones, say nothing.
/// Cost    observe: O(1), two logarithms. 8 bytes per worker, allocated by resize. Not thread-safe.
/// Tests   tests/encode/batch_cost_test.cpp: TheUsualBatchIsTheFirst, ElasticityByHand, ElasticityOfRandomSteps,
///         OverheadDoesNotDependOnTheBatch, FactorByHand, NothingKnown, SurvivesStragglers, ForgetsAWorker,
///         SavesItsState
class batch_cost {
 public:
  void observe(const feedback& step) noexcept {
    const std::uint32_t samples = step.what.samples;
    const bool whole = step.what.why_dropped != reason::cancelled;
    const bool timed = step.step_time > 0 && std::isfinite(step.step_time);
    if (samples == 0 || !whole || !timed || step.what.worker >= latest_.size()) return;
    if (usual_ == 0) usual_ = samples;
    note& before = latest_[step.what.worker];
    const note now{static_cast<float>(std::log2(step.step_time)),
                   static_cast<float>(std::log2(static_cast<double>(samples))), true};
    if (before.known && now.batch != before.batch) {
      const double change = static_cast<double>(now.batch) - static_cast<double>(before.batch);
      const double longer = std::clamp(static_cast<double>(now.time) - static_cast<double>(before.time), -most, most);
      ++changes_;
      squares_ += change * change - forgotten * squares_;
      products_ += change * longer - forgotten * products_;
      const double middle = (static_cast<double>(now.batch) + static_cast<double>(before.batch)) / 2;
      const double octaves = middle - std::log2(static_cast<double>(usual_));
      at_ += (std::min)(change * change / squares_, 1.0) * (octaves - at_);
    }
    before = now;
  }

  /// Samples of a step before anybody asked for others; 0: not known yet.
  [[nodiscard]] std::uint32_t usual() const noexcept { return usual_; }

  /// Steps that had another batch than the one before, of the same worker: how many the rest is known from.
  [[nodiscard]] std::uint64_t changes() const noexcept { return changes_; }

  /// From 0.02 to 0.98.
  [[nodiscard]] double elasticity() const noexcept { return std::clamp(products_ / squares_, 0.02, 0.98); }

  /// What a step takes whatever its batch is, in times of what computing the usual batch takes.
  [[nodiscard]] double overhead() const noexcept {
    const double e = elasticity();
    return (1 - e) / e * std::exp2(at_);
  }

  /// How many times as long as one of the usual batch such a step takes; 1 where either is not known.
  [[nodiscard]] float factor(std::uint32_t samples) const noexcept {
    if (samples == 0 || usual_ == 0) return 1.0F;
    const double fixed = overhead();
    return static_cast<float>((fixed + static_cast<double>(samples) / usual_) / (fixed + 1));
  }

  void resize(std::uint32_t capacity) {
    *this = {};
    latest_.resize(capacity);
  }
  void forget(std::uint32_t worker) noexcept { latest_[worker] = {}; }

  void state(archive& bytes) {
    bytes(usual_, changes_, squares_, products_, at_);
    for (note& each : latest_) bytes(each.time, each.batch, each.known);
    if (!(squares_ > 0) || !std::isfinite(squares_) || !std::isfinite(products_) || !std::isfinite(at_)) bytes.fail();
  }

 private:
  static constexpr double most = 2;          // octaves that a change of the time counts as
  static constexpr double forgotten = 0.02;  // of what was known, with each change

  struct note {
    float time = 0;   // log2
    float batch = 0;  // log2
    bool known = false;
  };

  std::vector<note> latest_{};  // steps, by worker
  std::uint32_t usual_ = 0;
  std::uint64_t changes_ = 0;
  double squares_ = 1;     // of changes of log2(batch)
  double products_ = 0.7;  // with those of log2(time)
  double at_ = 0;          // log2 of the batch, over the usual one, that this was measured at
};

}  // namespace rubato::inline RUBATO_ABI

#endif
