#ifndef RUBATO_SYNC_RIVALS_K_BATCH_ASYNC_HPP
#define RUBATO_SYNC_RIVALS_K_BATCH_ASYNC_HPP

#include "../concepts.hpp"
#include "wording.hpp"

namespace rubato::inline RUBATO_ABI {

/// K-batch-async: every k-th gradient makes the update, whosesoever they are; nobody waits.
///
/// Every update is the mean of exactly k gradients, fresh or stale, in the order of their arrival. With k = 1 it is
/// asp. Fewer workers make an update slower, never smaller: nothing is degraded. The gradients of a worker that goes
/// stay in the round.
///
/// Options  k: at least 1; it may exceed the number of workers
/// Cost     O(1) per push. No allocation. Not thread-safe.
/// Tests    tests/sync/rivals/k_batch_async_test.cpp: EveryKthGradientIsAnUpdate, TheNextRoundFillsWhileTheLastIsAdded
/// Source   Dutta et al., "Slow and Stale Gradients Can Win the Race: Error-Runtime Trade-offs in Distributed SGD",
///          AISTATS 2018
struct k_batch_async {
  std::uint32_t k = 1;  ///< gradients that make an update

  [[nodiscard]] admission admit(const cluster_view& view, const event&) const noexcept {
    return view.round_admissions() + 1 >= k ? admission::accumulate_and_flush() : admission::accumulate();
  }
  [[nodiscard]] constexpr decision release(const cluster_view&, const event& what) const noexcept {
    return what.why == cause::push ? decision::submitter() : decision::all();
  }

  [[nodiscard]] constexpr double max_legal_wait(std::uint32_t) const noexcept { return 0.0; }
  [[nodiscard]] std::string problem(std::uint32_t) const { return detail::below("k", k, 1); }
  [[nodiscard]] description describe() const {
    return {detail::sentence_of("kbatchasync: an update by every ", k, " gradients, nobody waits"),
            detail::json_of(kind, {{"k", k}})};
  }

  static constexpr std::string_view kind = "kbatchasync";
};

}  // namespace rubato::inline RUBATO_ABI

#endif
