#ifndef RUBATO_CORE_STEP_METRICS_HPP
#define RUBATO_CORE_STEP_METRICS_HPP

#include <cstdint>
#include <limits>

#include "../config.hpp"

namespace rubato::inline RUBATO_ABI {

/// A metric that was not measured.
inline constexpr float not_measured = std::numeric_limits<float>::quiet_NaN();

/// What a host measured of a worker's step beyond its push, or not_measured. Times are in the host's unit for all.
/// Tests   tests/core/step_metrics_test.cpp: NothingIsMeasuredUnlessItIsSaid
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
  /// Samples of a batch that was too large for its memory, so that the step had fewer; 0: none was.
  std::uint32_t out_of_memory = 0;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
