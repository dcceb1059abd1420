#ifndef RUBATO_SYNC_BSP_HPP
#define RUBATO_SYNC_BSP_HPP

#include "concepts.hpp"

namespace rubato::inline RUBATO_ABI {

/// Bulk synchronous parallel: everyone waits for everyone after each step.
///
/// The barrier counts workers, not clocks: who joins, or was ahead when the rule was switched on, takes one step a
/// round like the others. (ssp{0} would let those behind catch up first, alone.)
///
/// `mean` collects the gradients of a round and moves the parameters once, by their mean. `sum` applies each as it
/// arrives, as Algorithm 1 of Zhu et al. (ICLR 2020) does: nobody reads in between, so for SGD without momentum that is
/// a sum at the barrier, or the mean at a learning rate multiplied by the number of workers.
///
/// Cost    O(1) per push, O(workers) at the barrier. No allocation. Not thread-safe.
/// Tests   tests/sync/bsp_test.cpp: MeanOfTheRound, SumAppliesAtOnce, DeadWorkerDoesNotHangTheRest,
///         JoinerWaitsForTheBarrier
/// Source  Valiant, "A Bridging Model for Parallel Computation", CACM 33(8), 1990
struct bsp {
  /// What becomes of the gradients of a round: see above.
  enum class aggregation : std::uint8_t { mean, sum };
  aggregation aggregate = aggregation::mean;              ///< changes how fast the parameters move, not who waits
  static constexpr aggregation mean = aggregation::mean;  ///< for short: bsp{bsp::mean}
  static constexpr aggregation sum = aggregation::sum;    ///< likewise

  [[nodiscard]] constexpr admission admit(const cluster_view&, const event&) const noexcept {
    return aggregate == mean ? admission::accumulate() : admission::apply();
  }

  [[nodiscard]] decision release(const cluster_view& view, const event&) const noexcept {
    return view.busy() > 0 ? decision::hold() : decision::all().with_flush();
  }

  [[nodiscard]] constexpr double max_legal_wait(std::uint32_t) const noexcept { return 1.0; }
  [[nodiscard]] description describe() const {
    return aggregate == mean
               ? description{"bsp: a barrier after each step, one update by the mean of the round",
                             R"({"kind":"bsp","aggregate":"mean"})"}
               : description{"bsp: a barrier after each step, each gradient applied on arrival (sum of the round)",
                             R"({"kind":"bsp","aggregate":"sum"})"};
  }

  static constexpr std::string_view kind = "bsp";
};

}  // namespace rubato::inline RUBATO_ABI

#endif
