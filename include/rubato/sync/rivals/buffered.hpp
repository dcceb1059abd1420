#ifndef RUBATO_SYNC_RIVALS_BUFFERED_HPP
#define RUBATO_SYNC_RIVALS_BUFFERED_HPP

#include <algorithm>
#include <limits>

#include "../concepts.hpp"
#include "fresh_gradients.hpp"
#include "wording.hpp"

namespace rubato::inline RUBATO_ABI {

/// Buffered aggregation, as federated learning spells it: K workers active, a buffer of B gradients, O open slots.
///
/// Every update is the mean of exactly B gradients, fresh or stale, whosesoever they are. At most K workers run at a
/// time; a slot is open while fewer do, and as soon as O slots are open all of them are filled, by those who have
/// waited longest. So O = 1 keeps K running, and O = K lets a wave of K run out before the next one starts: K = B = O =
/// all workers is bsp, and with K = all workers and O = 1 this is k_batch_async.
///
/// Gradients are not weighed by their staleness, as FedBuff may: weights are another matter than who runs. While fewer
/// than K workers are alive, K is their number, and so are those of B and O that are not above K (reason::degraded,
/// once an update).
///
/// Options  active: K, 1 to the number of workers; buffer: B, at least 1; open: O, 1 to K
/// Cost     O(1) per push and released worker. No allocation. Not thread-safe.
/// Tests    tests/sync/rivals/buffered_test.cpp: AtMostKRun, EveryBthGradientIsAnUpdate, SlotsAreFilledWhenOAreOpen,
///          AWaveOfFewerThanKIsDegraded, DegradedOnceWhereAGradientIsBeingAdded,
///          MoreGradientsThanWorkersAreNotLimited; tests/sync/rivals/legal_wait_test.cpp;
///          tests/properties/identities_test.cpp: BufferedIsBspOrKBatchAsyncAtItsEnds
/// Source   Nguyen et al., "Federated Learning with Buffered Asynchronous Aggregation", AISTATS 2022, algorithm 1 (its
///          concurrency is our K, its K our B); NVIDIA FLARE, pull request 5239, 2026 (the names, and O)
struct buffered {
  std::uint32_t active = 1;   ///< workers that may run
  std::uint32_t buffer = 1;   ///< gradients an update
  std::uint32_t open = 1;     ///< open slots at which they are filled
  std::uint32_t workers = 0;  ///< of which this is the rule, 0 while that is unknown: not an option

  [[nodiscard]] admission admit(const cluster_view& view, const event&) const noexcept {
    const bool last = view.round_admissions() + 1 >= of_living(buffer, view);
    return last ? admission::accumulate_and_flush() : admission::accumulate();
  }
  [[nodiscard]] decision release(const cluster_view& view, const event& what) const noexcept {
    const std::uint32_t places = of_living(active, view);
    const std::uint32_t free = places - (std::min)(places, view.busy());
    decision next = free >= of_living(open, view) ? decision::up_to(free) : decision::hold();
    if (view.round_admissions() >= of_living(buffer, view)) next = next.with_flush();  // somebody went
    return next.with_degraded(detail::updates_now(view, what, next) && view.alive() < active);
  }

  /// First come, first served. In the time of the longest step O or more go on, and K - O + 1 or more, as fewer than O
  /// slots are open before and after.
  [[nodiscard]] constexpr double max_legal_wait(std::uint32_t) const noexcept {
    if (workers == 0) return std::numeric_limits<double>::infinity();
    const std::uint32_t kept = active - open + 1;  // at least so many are always busy
    const std::uint32_t rate = (std::max)(open, kept);
    if (workers <= kept) return open == 1 ? 0.0 : 1.0;
    return static_cast<double>((workers - kept + rate - 1) / rate);
  }
  void resize(std::uint32_t capacity) noexcept { workers = capacity; }
  [[nodiscard]] std::string problem(std::uint32_t capacity) const {
    std::string wrong = detail::outside("active", active, 1, capacity, "the number of workers");
    if (wrong.empty()) wrong = detail::below("buffer", buffer, 1);
    return wrong.empty() ? detail::outside("open", open, 1, active, "those that may run") : wrong;
  }
  [[nodiscard]] description describe() const {
    return {detail::sentence_of("buffer: at most ", active, " workers run, an update by every ", buffer,
                                " gradients, new steps when ", open, " slots are open"),
            detail::json_of(kind, {{"active", active}, {"buffer", buffer}, {"open", open}})};
  }

  static constexpr std::string_view kind = "buffer";

 private:
  // An option, limited to the living where it was meant to be within K.
  [[nodiscard]] std::uint32_t of_living(std::uint32_t option, const cluster_view& view) const noexcept {
    return option > active ? option : (std::min)(option, (std::max)(view.alive(), 1U));
  }
};

}  // namespace rubato::inline RUBATO_ABI

#endif
