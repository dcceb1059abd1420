#ifndef RUBATO_SYNC_RIVALS_RENNALA_HPP
#define RUBATO_SYNC_RIVALS_RENNALA_HPP

#include "fresh_gradients.hpp"
#include "wording.hpp"

namespace rubato::inline RUBATO_ABI {

/// Rennala SGD: collects `batch` gradients that were computed on the current version; stale ones are dropped.
///
/// Every update is the mean of exactly `batch` gradients, all computed on the version before it. Nobody is cancelled,
/// and nobody waits but for gradients that are being added: k_batch_sync for hosts whose steps cannot be stopped.
///
/// Its time to a given accuracy is optimal, up to constants, where all workers draw from the same data, whatever their
/// speeds. What a slow worker computes is lost whenever an update comes before it is done.
///
/// Options  batch: at least 1; it may exceed the number of workers
/// Cost     O(1) per push. No allocation. Not thread-safe.
/// Tests    tests/sync/rivals/rennala_test.cpp: StaleGradientsAreDroppedAndNobodyIsCancelled,
///          OneWorkerMayGiveSeveralGradients
/// Source   Tyurin and Richtárik, "Optimal Time Complexities of Parallel Stochastic Optimization Methods Under a Fixed
///          Computation Model", NeurIPS 2023, Rennala SGD
struct rennala {
  std::uint32_t batch = 1;  ///< gradients an update

  [[nodiscard]] admission admit(const cluster_view& view, const event& what) const noexcept {
    return detail::admit_fresh(view, what, batch);
  }
  [[nodiscard]] decision release(const cluster_view& view, const event& what) const noexcept {
    return detail::release_at_once(view, what, false);
  }

  /// While gradients are being added each of the others finishes one step at most.
  [[nodiscard]] constexpr double max_legal_wait(std::uint32_t) const noexcept { return 1.0; }
  [[nodiscard]] std::string problem(std::uint32_t) const { return detail::below("batch", batch, 1); }
  [[nodiscard]] description describe() const {
    return {detail::sentence_of("rennala: an update by ", batch, " gradients on a version, stale ones are dropped"),
            detail::json_of(kind, {{"batch", batch}})};
  }

  static constexpr std::string_view kind = "rennala";
};

}  // namespace rubato::inline RUBATO_ABI

#endif
