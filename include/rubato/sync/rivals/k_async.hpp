#ifndef RUBATO_SYNC_RIVALS_K_ASYNC_HPP
#define RUBATO_SYNC_RIVALS_K_ASYNC_HPP

#include <algorithm>
#include <limits>

#include "../concepts.hpp"
#include "wording.hpp"

namespace rubato::inline RUBATO_ABI {

/// K-async: the first k different workers make the update, wait for it and start anew; the others keep computing.
///
/// Every update is the mean of the gradients, fresh or stale, of at least k different workers, who start their next
/// steps on it; nobody else waits. There are more than k only where others were being added when the k-th was in: they
/// wait for it too. With k = 1 it is asp, with k = all workers bsp.
///
/// While fewer than k workers are alive, k is their number (reason::degraded, once an update).
///
/// Options  k: 1 to the number of workers
/// Cost     O(1) per push, O(k) per update. No allocation. Not thread-safe.
/// Tests    tests/sync/rivals/k_async_test.cpp: ContributorsWaitAndTheOthersGoOn, StaleGradientsCount,
///          WhatIsBeingAddedJoinsTheUpdate, AGradientThatFailsIsNotWaitedWith, DoesNotWaitForTheDead,
///          FewerThanKAreDegraded
/// Source   Dutta et al., "Slow and Stale Gradients Can Win the Race: Error-Runtime Trade-offs in Distributed SGD",
///          AISTATS 2018
struct k_async {
  std::uint32_t k = 1;  ///< workers that make an update

  [[nodiscard]] constexpr admission admit(const cluster_view&, const event&) const noexcept {
    return admission::accumulate();
  }
  [[nodiscard]] decision release(const cluster_view& view, const event& what) const noexcept {
    const bool all_are_in = view.pending() == view.round_admissions() || view.in_flight() == 0;
    const bool enough = view.pending() > 0 && view.pending() >= (std::min)(k, view.alive());
    // All who are parked have contributed, but for a submitter whose gradient came to nothing.
    if (enough && all_are_in && view.parked() > 0)
      return decision::all().with_flush().with_degraded(view.alive() < k);
    if (what.why == cause::push) return what.pending ? decision::hold() : decision::submitter();
    if (view.pending() == 0) return decision::all();
    return what.why == cause::join ? decision::only(what.worker) : decision::hold();
  }

  /// Gradients that fail or are dropped do not count, so there is no limit in steps to how long the others wait.
  [[nodiscard]] constexpr double max_legal_wait(std::uint32_t) const noexcept {
    return std::numeric_limits<double>::infinity();
  }
  [[nodiscard]] std::string problem(std::uint32_t capacity) const {
    return detail::outside("k", k, 1, capacity, "the number of workers");
  }
  [[nodiscard]] description describe() const {
    return {detail::sentence_of("kasync: an update by the first ", k, " workers, who wait for it; the others go on"),
            detail::json_of(kind, {{"k", k}})};
  }

  static constexpr std::string_view kind = "kasync";
};

}  // namespace rubato::inline RUBATO_ABI

#endif
