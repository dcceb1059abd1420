#ifndef RUBATO_CORE_TYPES_HPP
#define RUBATO_CORE_TYPES_HPP

#include <algorithm>
#include <cstdint>
#include <limits>

#include "../config.hpp"

namespace rubato::inline RUBATO_ABI {

/// Steps that a worker has finished since the last re-base.
using clock_type = std::uint64_t;

/// A staleness bound that never binds.
inline constexpr clock_type unbounded = (std::numeric_limits<clock_type>::max)();

/// The index of no worker.
inline constexpr std::uint32_t no_worker = (std::numeric_limits<std::uint32_t>::max)();

/// a + b, or `unbounded` where that would overflow.
[[nodiscard]] RUBATO_DETAIL_SHARED constexpr clock_type saturating_add(clock_type a, clock_type b) noexcept {
  return b > unbounded - a ? unbounded : a + b;
}

/// One life of one worker: a dense index below the controller's capacity, and how often that index was started anew.
struct worker_id {
  std::uint32_t index = no_worker;  ///< its place in every table of workers
  std::uint32_t incarnation = 0;    ///< must grow each time the worker of this index comes back
  friend constexpr bool operator==(worker_id, worker_id) noexcept = default;
};

/// Under which terms a released worker runs its next step.
struct grant {
  std::uint64_t version = 0;  ///< updates that are surely in the parameters which the worker may now read
  std::uint32_t batch = 0;    ///< samples of the next step; 0: the host's default
  float lr_scale = 1.0F;      ///< factor on the learning rate of the gradient computed under this grant
  friend constexpr bool operator==(const grant&, const grant&) noexcept = default;
};

/// The parameter versions that a worker read, over all shards; empty (the default) where the host cannot say.
struct version_range {
  std::uint64_t lowest = (std::numeric_limits<std::uint64_t>::max)();  ///< counts for staleness
  std::uint64_t highest = 0;                                           ///< for the host's own use

  /// Widens the range by one shard's version.
  constexpr void include(std::uint64_t version) noexcept {
    lowest = (std::min)(lowest, version);
    highest = (std::max)(highest, version);
  }
};

/// Factor with which a host adds one gradient (semantics 3): the learning-rate scale of the grant under which it was
/// computed x the weight of its admission x samples / nominal samples. A flush multiplies by learning rate x its scale.
/// Precondition: nominal_samples > 0.
[[nodiscard]] constexpr float applied_weight(const grant& computed_under, float admission_weight, std::uint32_t samples,
                                             std::uint32_t nominal_samples) noexcept {
  return computed_under.lr_scale * admission_weight * static_cast<float>(samples) / static_cast<float>(nominal_samples);
}

}  // namespace rubato::inline RUBATO_ABI

#endif
