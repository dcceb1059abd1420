#ifndef RUBATO_SYNC_RIVALS_K_SYNC_HPP
#define RUBATO_SYNC_RIVALS_K_SYNC_HPP

#include <algorithm>
#include <limits>

#include "fresh_gradients.hpp"
#include "wording.hpp"

namespace rubato::inline RUBATO_ABI {

/// K-sync: the first k workers of a round make the update; the others are cancelled, and all start anew.
///
/// Every update is the mean of exactly k gradients of different workers, all computed on the version before it, so no
/// gradient in an update is stale. With k = all workers it is bsp.
///
/// A host that cannot cancel lets the slow finish: what comes late is dropped as stale, and its worker joins the round
/// that is open by then. While fewer than k workers are alive, k is their number (reason::degraded, once an update). An
/// update whose last gradient is of a worker that has gone cancels nobody.
///
/// Options  k: 1 to the number of workers; with m in its place this is m-synchronous SGD
/// Cost     O(1) per push, O(workers) per update. No allocation. Not thread-safe.
/// Tests    tests/sync/rivals/k_sync_test.cpp: FirstKMakeTheUpdateAndTheRestIsCancelled, LateGradientsAreDropped,
///          NeverTakesMoreThanK, ADepartureCompletesTheRound,
///          ADepartureWaitsForWhatIsBeingAdded, FewerThanKAreDegraded,
///          DegradedOnceWhereAGradientIsBeingAdded, NobodyWaitsForTheDead
/// Source   Dutta et al., "Slow and Stale Gradients Can Win the Race: Error-Runtime Trade-offs in Distributed SGD",
///          AISTATS 2018; Begunov and Tyurin, "Do We Need Asynchronous SGD? On the Near-Optimality of Synchronous
///          Methods", arXiv 2602.03802, 2026 (m-synchronous)
struct k_sync {
  std::uint32_t k = 1;  ///< workers that make an update

  [[nodiscard]] admission admit(const cluster_view& view, const event& what) const noexcept {
    return detail::admit_fresh(view, what, needed(view));
  }
  [[nodiscard]] decision release(const cluster_view& view, const event& what) const noexcept {
    const decision next = detail::release_after_round(view, what, needed(view), true);
    return next.with_degraded(detail::updates_now(view, what, next) && view.alive() < k);
  }

  /// Gradients that fail or are dropped do not count, so there is no limit in steps to how long the others wait.
  [[nodiscard]] constexpr double max_legal_wait(std::uint32_t) const noexcept {
    return std::numeric_limits<double>::infinity();
  }
  [[nodiscard]] std::string problem(std::uint32_t capacity) const {
    return detail::outside("k", k, 1, capacity, "the number of workers");
  }
  [[nodiscard]] description describe() const {
    return {detail::sentence_of("ksync: an update by the first ", k, " workers, the others are cancelled"),
            detail::json_of(kind, {{"k", k}})};
  }

  static constexpr std::string_view kind = "ksync";

 private:
  [[nodiscard]] std::uint32_t needed(const cluster_view& view) const noexcept { return (std::min)(k, view.alive()); }
};

}  // namespace rubato::inline RUBATO_ABI

#endif
