#ifndef RUBATO_ADAPT_GRADIENT_NOISE_HPP
#define RUBATO_ADAPT_GRADIENT_NOISE_HPP

#include <cstdint>

#include "../core/archive.hpp"
#include "../pinned.hpp"
#include "batch_sizer.hpp"

namespace rubato::inline RUBATO_ABI::adapt::detail {

/// The noise of a sample's gradient and the square of the gradient, averaged over workers and periods: one period alone
/// says little. A square that is not above 0 is one that drowns in noise.
struct gradient_noise {
  double variance = 0;  ///< of a sample's gradient; 0 where nobody has measured
  double square = 0;    ///< of the gradient

  /// `newest`: how far the period moves the averages, in (0, 1].
  void add(const batch_period& seen, double newest) noexcept {
    double variances = 0, squares = 0;
    std::uint32_t measured = 0;
    for (const batch_worker& each : seen.workers) {
      const step_metrics& had = each.metrics;
      if (!each.counts || pinned::is_nan(had.gradient_variance) || pinned::is_nan(had.gradient_square)) continue;
      variances += static_cast<double>(had.gradient_variance);
      squares += static_cast<double>(had.gradient_square);
      ++measured;
    }
    if (measured == 0) return;
    const double by = variance > 0 ? newest : 1.0;
    variance += by * (variances / measured - variance);
    square += by * (squares / measured - square);
  }

  void state(archive& bytes) {
    bytes(variance, square);
    if (!pinned::is_finite(variance) || !pinned::is_finite(square)) bytes.fail();
  }
};

}  // namespace rubato::inline RUBATO_ABI::adapt::detail

#endif
