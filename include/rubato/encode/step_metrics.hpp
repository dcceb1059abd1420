#ifndef RUBATO_ENCODE_STEP_METRICS_HPP
#define RUBATO_ENCODE_STEP_METRICS_HPP

#include <cstdint>
#include <limits>

#include "../core/types.hpp"
#include "../dynarray.hpp"
#include "../pinned.hpp"

namespace rubato::inline RUBATO_ABI {

/// A metric that was not measured.
inline constexpr float not_measured = std::numeric_limits<float>::quiet_NaN();

/// What a host measured of one step of a worker, beyond what its push says. Whatever it cannot measure stays
/// not_measured. Times are in the host's unit, the same for all workers.
struct step_metrics {
  float compute_time = not_measured;        ///< of the gradient, sleep of a straggler included
  float communication_time = not_measured;  ///< of pull and push together
  float throughput = not_measured;          ///< bytes moved / what the link could have moved in that time, 0 to 1
  float retransmissions = not_measured;     ///< per unit of time
  float processor = not_measured;           ///< utilisation of CPU or GPU, 0 to 1
  float memory = not_measured;              ///< utilisation, 0 to 1
  float accuracy = not_measured;            ///< of the mini-batch, 0 to 1
  /// Trace of the covariance of one sample's gradient, from within the batch.
  float gradient_variance = not_measured;
  /// Squared norm of the gradient over all samples, without bias, so that it may be negative: that of a batch's mean
  /// less the variance over the batch's size.
  float gradient_square = not_measured;
};

/// The latest metrics of every worker, where the host writes them and a policy reads them.
///
/// Call measured() before the push whose step it describes. What cannot be (negative times, shares above 1, numbers
/// that are not finite) counts as not measured, metric by metric, and absurd() says how often that was.
///
/// Cost    O(1), without allocation. 36 bytes a worker, made at construction.
/// Thread  guarded by what guards the controller.
/// Tests   tests/encode/step_metrics_test.cpp: LatestIsKept, AbsurdIsNotMeasured, MissingIsNotAbsurd,
///         StrangersAreIgnored, ForgetsAWorker
class metrics_board {
 public:
  metrics_board() = default;                                             ///< for no worker
  explicit metrics_board(std::uint32_t capacity) : latest_(capacity) {}  ///< nothing is measured yet

  /// Replaces what is known of this worker. Of workers beyond the capacity nothing is kept.
  void measured(worker_id who, const step_metrics& step) noexcept {
    if (who.index >= latest_.size()) return;
    latest_[who.index] = {.compute_time = sound(step.compute_time, 0, most),
                          .communication_time = sound(step.communication_time, 0, most),
                          .throughput = sound(step.throughput, 0, 1),
                          .retransmissions = sound(step.retransmissions, 0, most),
                          .processor = sound(step.processor, 0, 1),
                          .memory = sound(step.memory, 0, 1),
                          .accuracy = sound(step.accuracy, 0, 1),
                          .gradient_variance = sound(step.gradient_variance, 0, most),
                          .gradient_square = sound(step.gradient_square, -most, most)};
  }
  /// Of its latest step; all not_measured if there was none. Precondition: worker < capacity().
  [[nodiscard]] const step_metrics& operator[](std::uint32_t worker) const noexcept { return latest_[worker]; }
  /// Workers that there is room for.
  [[nodiscard]] std::uint32_t capacity() const noexcept { return static_cast<std::uint32_t>(latest_.size()); }
  /// Metrics that could not be.
  [[nodiscard]] std::uint64_t absurd() const noexcept { return absurd_; }
  /// The worker has gone: nothing is measured of it. Precondition: worker < capacity().
  void forget(std::uint32_t worker) noexcept { latest_[worker] = {}; }

 private:
  static constexpr float most = 1e30F;

  [[nodiscard]] float sound(float metric, float least, float largest) noexcept {
    if (pinned::is_nan(metric) || pinned::within(metric, least, largest)) return metric;
    ++absurd_;
    return not_measured;
  }

  detail::dynarray<step_metrics> latest_{};
  std::uint64_t absurd_ = 0;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
