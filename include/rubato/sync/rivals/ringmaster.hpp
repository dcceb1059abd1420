#ifndef RUBATO_SYNC_RIVALS_RINGMASTER_HPP
#define RUBATO_SYNC_RIVALS_RINGMASTER_HPP

#include "../concepts.hpp"
#include "wording.hpp"

namespace rubato::inline RUBATO_ABI {

/// Ringmaster ASGD: asp that ignores gradients that are `delay` updates old, or older.
///
/// No update is by a gradient whose staleness is `delay` or more, and nobody waits. With `stops`, a step is cancelled
/// as soon as its gradient could not be used any more, and its worker starts anew at once; without, it is dropped when
/// it arrives. With a delay that is never reached it is asp, with 1 only gradients on the current version count.
///
/// Its time to a given accuracy is optimal, up to constants, for any speeds, and also where they change, given the
/// right delay: the variance of a gradient over the accuracy that is sought, or 1 if that is less. For a host that
/// cannot cancel both forms are the same.
///
/// Options  delay: updates, at least 1; stops: cancel what is too old
/// Cost     O(1) per push; with `stops` amortised. No allocation. Not thread-safe.
/// Tests    tests/sync/rivals/ringmaster_test.cpp: GradientsAtTheDelayAreDropped, StopsWhatHasBecomeTooOld,
///          WithoutStopsNobodyIsCancelled, CountsUpdatesThatAreUnderWay
/// Source   Maranjyan, Tyurin and Richtárik, "Ringmaster ASGD: The First Asynchronous SGD with Optimal Time
///          Complexity", ICML 2025, algorithms 4 (without stops) and 5 (with)
struct ringmaster {
  std::uint64_t delay = 20;  ///< staleness, in updates, from which on a gradient is not used; at least 1
  bool stops = false;        ///< cancel what has become too old, instead of dropping it when it arrives

  [[nodiscard]] admission admit(const cluster_view&, const event& what) const noexcept {
    return what.staleness >= delay ? admission::drop(reason::stale) : admission::apply();
  }
  [[nodiscard]] decision release(const cluster_view& view, const event& what) const noexcept {
    if (what.why != cause::push) return decision::all();
    const decision next = decision::submitter();
    if (!stops || what.dropped || view.updates() < delay) return next;
    return next.with_cancel_below(view.updates() - delay + 1);
  }

  [[nodiscard]] constexpr double max_legal_wait(std::uint32_t) const noexcept { return 0.0; }
  [[nodiscard]] std::string problem(std::uint32_t) const { return detail::below("delay", delay, 1); }
  [[nodiscard]] description describe() const {
    std::string json = R"({"kind":"ringmaster","delay":)";
    json.append(std::to_string(delay)).append(stops ? R"(,"stops":true})" : R"(,"stops":false})");
    return {detail::sentence_of("ringmaster: nobody waits, gradients ", delay, " updates old are ",
                                stops ? "stopped" : "dropped"),
            std::move(json)};
  }

  static constexpr std::string_view kind = "ringmaster";
  static constexpr bool accumulates = false;  ///< for may_accumulate: it only drops
};

}  // namespace rubato::inline RUBATO_ABI

#endif
