#ifndef RUBATO_ADAPT_BATCH_SIZERS_SHARE_OUT_HPP
#define RUBATO_ADAPT_BATCH_SIZERS_SHARE_OUT_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "../batch_sizer.hpp"

namespace rubato::inline RUBATO_ABI::adapt::detail {

/// batch_at(worker, level), within what the worker may have. batch_at must rise with the level.
template <class BatchAt>
[[nodiscard]] double allowed(const BatchAt& batch_at, const batch_worker& worker, std::size_t index,
                             double level) noexcept {
  return std::clamp(batch_at(index, level), static_cast<double>(worker.least), static_cast<double>(worker.most));
}

/// The level in [0, highest] at which the batches of those that count add up to `total`, or as nearly as their limits
/// allow. O(workers).
template <class BatchAt>
[[nodiscard]] double level_for(double total, double highest, std::span<const batch_worker> workers,
                               const BatchAt& batch_at) noexcept {
  double low = 0, high = highest;
  for (int halving = 0; halving < 48; ++halving) {
    const double middle = (low + high) / 2;
    double sum = 0;
    for (std::size_t w = 0; w < workers.size(); ++w)
      if (workers[w].counts) sum += allowed(batch_at, workers[w], w, middle);
    (sum < total ? low : high) = middle;
  }
  return high;
}

/// Sets the batches of those that count to what they are at this level, rounded.
template <class BatchAt>
void set_batches(double level, std::span<const batch_worker> workers, const BatchAt& batch_at,
                 std::span<std::uint32_t> batches) noexcept {
  for (std::size_t w = 0; w < workers.size(); ++w)
    if (workers[w].counts)
      batches[w] = static_cast<std::uint32_t>(std::lround(allowed(batch_at, workers[w], w, level)));
}

}  // namespace rubato::inline RUBATO_ABI::adapt::detail

#endif
