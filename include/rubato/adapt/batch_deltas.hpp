#ifndef RUBATO_ADAPT_BATCH_DELTAS_HPP
#define RUBATO_ADAPT_BATCH_DELTAS_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "../pinned.hpp"
#include "batch_sizer.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// What a BatchSizer of discrete steps may do to a batch, in samples.
inline constexpr std::array<int, 5> batch_deltas{-100, -25, 0, 25, 100};

/// The delta that changes nothing.
inline constexpr std::uint32_t no_change = 2;
static_assert(batch_deltas[no_change] == 0);

/// The batch after a delta, not below 1.
[[nodiscard]] constexpr std::uint32_t changed_by(std::uint32_t batch, int delta) noexcept {
  const std::int64_t changed = static_cast<std::int64_t>(batch) + delta;
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(changed, 1, 0xFFFFFFFF));
}

/// Which of batch_deltas change the batch of this worker: bit d: delta d does, or is 0. Those that it could not follow,
/// being at a limit, are not legal.
[[nodiscard]] constexpr std::uint32_t legal_deltas(const batch_worker& worker) noexcept {
  std::uint32_t legal = 0;
  for (std::size_t d = 0; d < batch_deltas.size(); ++d) {
    const bool shrinks = batch_deltas[d]<0, grows = batch_deltas[d]> 0;
    if ((!shrinks || worker.batch > worker.least) && (!grows || worker.batch < worker.most)) legal |= 1U << d;
  }
  return legal;
}

/// Which of the legal deltas is preferred most; no_change where no preference for a legal one is a number.
[[nodiscard]] inline std::size_t preferred_delta(std::span<const float> preferences, std::uint32_t legal) noexcept {
  std::size_t best = no_change;
  for (std::size_t d = 0; d < preferences.size(); ++d) {
    const bool better = pinned::is_nan(preferences[best]) || preferences[d] > preferences[best];
    if ((legal >> d & 1) != 0 && !pinned::is_nan(preferences[d]) && better) best = d;
  }
  return best;
}

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
