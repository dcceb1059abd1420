#ifndef RUBATO_SYNC_SSP_HPP
#define RUBATO_SYNC_SSP_HPP

#include "concepts.hpp"

namespace rubato::inline RUBATO_ABI {

/// Stale synchronous parallel: no worker starts a step while it is more than `staleness` steps ahead of the slowest.
///
/// 0 is a barrier, `unbounded` is asp. Zhu et al. (ICLR 2020, §3.1) hold a worker when its lead *equals* their s;
/// theirs is ours plus one, see ssp_rlp().
///
/// Cost    O(1) per push; O(released) when the slowest worker advances. No allocation. Not thread-safe.
/// Tests   tests/sync/ssp_test.cpp: Bound, ZeroEqualsBsp, UnboundedEqualsAsp, SurvivesDepartureOfTheSlowest
/// Source  Ho et al., "More Effective Distributed ML via a Stale Synchronous Parallel Parameter Server", NIPS 2013
struct ssp {
  clock_type staleness = 3;  ///< steps

  [[nodiscard]] decision release(const cluster_view& view, const event& what) const noexcept {
    // Only when the minimum moves, or membership changes, can somebody who waits become admissible.
    if (view.minimum_moved() || what.why != cause::push)
      return decision::up_to_clock(saturating_add(view.minimum_clock(), staleness));
    return view.clock_of_submitter() - view.minimum_clock() <= staleness ? decision::submitter() : decision::hold();
  }

  [[nodiscard]] constexpr clock_type clock_bound() const noexcept { return staleness; }
  /// Whoever waits is at the bound, so one step of the slowest frees it.
  [[nodiscard]] constexpr double max_legal_wait(std::uint32_t) const noexcept { return 1.0; }
  [[nodiscard]] description describe() const {
    const bool bounded = staleness != unbounded;
    std::string line = "ssp: no worker starts a step more than ";
    line.append(bounded ? std::to_string(staleness) : "any number of").append(" steps ahead of the slowest");
    std::string json = R"({"kind":"ssp","staleness":)";
    json.append(bounded ? std::to_string(staleness) : "null").append("}");
    return {std::move(line), std::move(json)};
  }

  static constexpr std::string_view kind = "ssp";
};

/// The same rule in the convention of Zhu et al.: a worker waits when its lead equals s. Precondition: s >= 1.
[[nodiscard]] constexpr ssp ssp_rlp(clock_type s) noexcept {
  RUBATO_ASSERT(s >= 1, "with s = 0 nobody could ever run");
  return {.staleness = s - 1};
}

}  // namespace rubato::inline RUBATO_ABI

#endif
