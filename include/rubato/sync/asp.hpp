#ifndef RUBATO_SYNC_ASP_HPP
#define RUBATO_SYNC_ASP_HPP

#include "concepts.hpp"

namespace rubato::inline RUBATO_ABI {

/// Asynchronous parallel: every gradient is applied on arrival and its worker goes on at once.
///
/// Cost    O(1) per push. No allocation. Not thread-safe.
/// Tests   tests/sync/asp_test.cpp: NobodyWaits, StalenessIsWorkersMinusOne
/// Source  Dean et al., "Large Scale Distributed Deep Networks", NIPS 2012, §4.1 (Downpour SGD)
struct asp {
  [[nodiscard]] constexpr decision release(const cluster_view&, const event& what) const noexcept {
    return what.why == cause::push ? decision::submitter() : decision::all();
  }
  [[nodiscard]] constexpr double max_legal_wait(std::uint32_t) const noexcept { return 0.0; }
  [[nodiscard]] description describe() const {
    return {"asp: every gradient is applied on arrival, nobody waits", R"({"kind":"asp"})"};
  }

  static constexpr std::string_view kind = "asp";
};

}  // namespace rubato::inline RUBATO_ABI

#endif
