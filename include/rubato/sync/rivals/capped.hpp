#ifndef RUBATO_SYNC_RIVALS_CAPPED_HPP
#define RUBATO_SYNC_RIVALS_CAPPED_HPP

#include <limits>

#include "../concepts.hpp"
#include "wording.hpp"

namespace rubato::inline RUBATO_ABI {

/// At most so many workers run at a time; every gradient is applied on arrival.
///
/// Never do more than `running` workers run, but for those that ran already when the rule was switched on, and never
/// fewer while somebody waits. That bounds the number of steps that are computed on parameters other than the latest,
/// and with it the mean staleness, to running - 1. With as many as there are workers it is asp.
///
/// Options  running: at least 1; order: who goes next. `fifo` lets nobody be overtaken while it waits; `fastest`
///          starves the slow, see m_fastest; `random` draws from the controller's seed
/// Cost     O(1) per push. No allocation. Not thread-safe.
/// Tests    tests/sync/rivals/capped_test.cpp: NeverMoreThanTheCap, WaitsForThoseWhoRanAlready, FifoOvertakesNobody,
///          FastestPrefersTheFast;
///          tests/sync/rivals/legal_wait_test.cpp
/// Source   the cap on concurrency of federated learning: Nguyen et al., "Federated Learning with Buffered Asynchronous
///          Aggregation", AISTATS 2022
struct capped {
  std::uint32_t running = 1;                  ///< the most that run at a time; at least 1
  release_order order = release_order::fifo;  ///< who goes next
  std::uint32_t workers = 0;                  ///< of which this is the rule, 0 while that is unknown: not an option

  [[nodiscard]] decision release(const cluster_view& view, const event&) const noexcept {
    return view.busy() < running ? decision::up_to(running - view.busy(), order) : decision::hold();
  }

  /// In the order of waiting nobody is overtaken, and as many as may run go on in the time of the longest step.
  [[nodiscard]] constexpr double max_legal_wait(std::uint32_t) const noexcept {
    if (order != release_order::fifo || workers == 0 || running == 0) return std::numeric_limits<double>::infinity();
    return workers <= running ? 0.0 : static_cast<double>((workers - 1) / running);
  }
  void resize(std::uint32_t capacity) noexcept { workers = capacity; }
  [[nodiscard]] std::string problem(std::uint32_t) const {
    return detail::first_of({detail::unless(order <= release_order::random, "order", order, "fifo, fastest or random"),
                             detail::below("running", running, 1)});
  }
  [[nodiscard]] description describe() const {
    const std::string_view first = order == release_order::fifo      ? "fifo"
                                   : order == release_order::fastest ? "fastest"
                                                                     : "random";
    std::string json = R"({"kind":"cap","running":)";
    json.append(std::to_string(running)).append(R"(,"order":")").append(first).append(R"("})");
    return {detail::sentence_of("cap: at most ", running, " workers run, next: ", first), std::move(json)};
  }

  static constexpr std::string_view kind = "cap";
};

}  // namespace rubato::inline RUBATO_ABI

#endif
