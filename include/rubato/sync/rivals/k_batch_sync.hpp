#ifndef RUBATO_SYNC_RIVALS_K_BATCH_SYNC_HPP
#define RUBATO_SYNC_RIVALS_K_BATCH_SYNC_HPP

#include "fresh_gradients.hpp"
#include "wording.hpp"

namespace rubato::inline RUBATO_ABI {

/// K-batch-sync: the first k gradients on the current version make the update, whosesoever they are; then whoever still
/// computes on that version is cancelled.
///
/// Every update is the mean of exactly k gradients, all computed on the version before it. Who finishes before the
/// update goes on at once with another batch on the same version, so that nobody waits but for gradients that are being
/// added.
///
/// A host that cannot cancel gets rennala. Fewer workers make an update slower, never smaller: nothing is degraded. An
/// update whose last gradient is of a worker that has gone cancels nobody.
///
/// Options  k: at least 1; it may exceed the number of workers
/// Cost     O(1) per push, O(workers) per update. No allocation. Not thread-safe.
/// Tests    tests/sync/rivals/k_batch_sync_test.cpp: FinishersGoOnAtTheSameVersion, TheRestIsCancelledAtTheUpdate,
///          WaitsForGradientsThatAreBeingAdded
/// Source   Dutta et al., "Slow and Stale Gradients Can Win the Race: Error-Runtime Trade-offs in Distributed SGD",
///          AISTATS 2018
struct k_batch_sync {
  std::uint32_t k = 1;  ///< gradients that make an update

  [[nodiscard]] admission admit(const cluster_view& view, const event& what) const noexcept {
    return detail::admit_fresh(view, what, k);
  }
  [[nodiscard]] decision release(const cluster_view& view, const event& what) const noexcept {
    return detail::release_at_once(view, what, true);
  }

  /// While gradients are being added each of the others finishes one step at most.
  [[nodiscard]] constexpr double max_legal_wait(std::uint32_t) const noexcept { return 1.0; }
  [[nodiscard]] std::string problem(std::uint32_t) const { return detail::below("k", k, 1); }
  [[nodiscard]] description describe() const {
    return {detail::sentence_of("kbatch: an update by the first ", k, " gradients on a version, the rest is cancelled"),
            detail::json_of(kind, {{"k", k}})};
  }

  static constexpr std::string_view kind = "kbatch";
};

}  // namespace rubato::inline RUBATO_ABI

#endif
