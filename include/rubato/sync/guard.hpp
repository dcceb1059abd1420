#ifndef RUBATO_SYNC_GUARD_HPP
#define RUBATO_SYNC_GUARD_HPP

#include <algorithm>
#include <cstdint>

#include "../core/roster.hpp"
#include "options.hpp"

namespace rubato::inline RUBATO_ABI {

namespace detail {

/// Guard rules that need no policy. Tests: tests/sync/semantics/guard_test.cpp
struct guard {
  guard_options options;

  /// How far a worker may lead the slowest; without a guard as far as the policy lets it. O(1).
  [[nodiscard]] clock_type limit() const noexcept { return options.enabled ? options.bound : unbounded; }
  /// The highest clock at which a worker may start, given the policy's bound. O(1).
  [[nodiscard]] clock_type highest(const roster& workers, clock_type policy_bound) const noexcept {
    if (!options.enabled) return unbounded;
    return saturating_add(workers.clock().minimum(), (std::min)(options.bound, policy_bound));
  }
  /// May this worker start? O(1).
  [[nodiscard]] bool allows(const roster& workers, std::uint32_t worker, clock_type policy_bound) const noexcept {
    return workers.clock().clock(worker) <= highest(workers, policy_bound);
  }

  /// The factor on the learning rate that a grant may have. O(1).
  [[nodiscard]] float clipped(float lr_scale) const noexcept {
    if (!options.enabled) return lr_scale;
    const float most = options.max_lr_scale, below = lr_scale < most ? lr_scale : most;  // no references: not in memory
    return below > 0.0F ? below : 0.0F;
  }

  /// The longest parked worker that is overdue and may start; no_worker if there is none. O(1 + overdue).
  [[nodiscard]] std::uint32_t overdue(const roster& workers, double now, clock_type policy_bound) const noexcept {
    if (!options.enabled) return no_worker;
    for (std::uint32_t w = workers.parked().front(); w != no_worker; w = workers.parked().after(w)) {
      if (!(now - workers[w].parked_at > options.max_wait)) break;
      if (allows(workers, w, policy_bound)) return w;
    }
    return no_worker;
  }

  /// The worker to be released so that somebody runs; no_worker if that is not needed. O(1).
  [[nodiscard]] std::uint32_t must_release(const roster& workers) const noexcept {
    return options.enabled && workers.busy() == 0 ? workers.clock().slowest() : no_worker;
  }

  /// The excluded worker to be readmitted so that somebody counts, found in O(capacity); no_worker if none need be.
  [[nodiscard]] std::uint32_t must_readmit(const roster& workers) const noexcept {
    if (!options.enabled || workers.clock().size() > 0 || workers.excluded() == 0) return no_worker;
    std::uint32_t w = 0;
    while (!workers[w].excluded) ++w;
    return w;
  }
};

}  // namespace detail
}  // namespace rubato::inline RUBATO_ABI

#endif
