#ifndef RUBATO_SYNC_RIVALS_ZIPLINE_HPP
#define RUBATO_SYNC_RIVALS_ZIPLINE_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "../../dynarray.hpp"
#include "../concepts.hpp"
#include "wording.hpp"

namespace rubato::inline RUBATO_ABI {

/// Elastic bulk synchronous parallel with the ZipLine planner: a barrier after as many steps of each worker as make
/// all of them arrive nearly together.
///
/// At a barrier everybody starts at once. From the smoothed step times the ends of each worker's next `lookahead` steps
/// are predicted, and one of them is chosen for each worker, so that the time between the first and the last chosen end
/// is least (of equals the earliest). Each runs that many steps and then waits for the rest. A worker of which no step
/// is known yet runs one and is left out of the plan; who joins waits for the barrier. Gradients are applied as they
/// arrive. A lookahead of 1 is bsp (sum).
///
/// The paper predicts from each worker's own last push and interval; here all start when the barrier opens, so that is
/// the origin, and step times are smoothed.
/// Options  lookahead: steps, 1 to `furthest`
/// Cost     O(1) per push; O(workers x lookahead x log workers) at the barrier. Allocates in resize only. Not
///          thread-safe.
/// Tests    tests/sync/rivals/zipline_test.cpp: PlanByHand, PlanAgreesWithASearch, EarliestOfEqualPlans,
///          RunsThePlannedSteps, UnknownWorkersRunOneStep, JoinerWaitsForTheBarrier, DeadWorkerDoesNotHangTheRest;
///          tests/properties/identities_test.cpp: ZiplineOfOneStepIsBsp
/// Source   Zhao et al., "Elastic Bulk Synchronous Parallel Model for Distributed Deep Learning", ICDM 2019
struct zipline {
  std::uint32_t lookahead = 15;  ///< the most steps of a worker from barrier to barrier

  static constexpr std::uint32_t furthest = 65'535;  ///< as the cost of a barrier is proportional to it

  void resize(std::uint32_t capacity) {
    left = detail::dynarray<std::uint32_t>(capacity);
    arrivals = detail::dynarray<arrival>(capacity);
  }
  void reset(std::uint32_t worker) noexcept { left[worker] = 0; }

  [[nodiscard]] decision release(const cluster_view& view, const event& what) noexcept {
    if (what.why == cause::push && left[what.worker] > 1) {
      --left[what.worker];
      return decision::submitter();
    }
    if (what.worker < left.size()) left[what.worker] = 0;
    if (view.busy() > 0) return decision::hold();
    plan([&](std::uint32_t w) { return static_cast<double>(view.step_time_of(w)); });
    return decision::all();
  }

  /// Sets `left` for workers whose steps take step_time(worker), 0 where that is unknown.
  template <class StepTime>
  void plan(StepTime&& step_time) noexcept {
    // The smallest range with one end of each worker: the earliest of them is moved on, until its worker has no more.
    // The best is remembered by its earliest end, from which the steps of the others follow.
    std::size_t n = 0;
    double latest = 0.0;
    for (std::uint32_t w = 0; w < left.size(); ++w) {
      left[w] = 1;
      const double one = step_time(w);
      if (!(one > 0.0)) continue;
      arrivals[n++] = {.time = one, .one = one, .worker = w, .steps = 1};
      latest = (std::max)(latest, one);
    }
    if (n == 0) return;
    const auto end = arrivals.begin() + n;
    std::make_heap(arrivals.begin(), end, later);
    double least = std::numeric_limits<double>::infinity();
    double earliest_of_best = 0.0;
    for (;;) {
      arrival& first = arrivals[0];
      if (latest - first.time < least) {
        least = latest - first.time;
        earliest_of_best = first.time;
      }
      if (first.steps >= lookahead) break;
      std::pop_heap(arrivals.begin(), end, later);
      arrival& moved = arrivals[n - 1];
      moved.time = static_cast<double>(++moved.steps) * moved.one;
      latest = (std::max)(latest, moved.time);
      std::push_heap(arrivals.begin(), end, later);
    }
    for (std::size_t i = 0; i < n; ++i) {
      const double fit = std::floor(earliest_of_best / arrivals[i].one) - 1.0;  // one less: the quotient is rounded
      auto steps = static_cast<std::uint32_t>(std::clamp(fit, 1.0, static_cast<double>(lookahead)));
      while (static_cast<double>(steps) * arrivals[i].one < earliest_of_best) ++steps;
      left[arrivals[i].worker] = steps;
    }
  }

  /// Whoever waits, waits for the planned steps of the others.
  [[nodiscard]] constexpr double max_legal_wait(std::uint32_t) const noexcept { return lookahead; }
  [[nodiscard]] std::string problem(std::uint32_t) const {
    return detail::outside("lookahead", lookahead, 1, furthest, "for its cost");
  }
  void state(archive& bytes) {
    for (std::uint32_t& steps : left) {
      bytes(steps);
      if (steps > lookahead) bytes.fail();
    }
  }
  [[nodiscard]] description describe() const {
    return {detail::sentence_of("zipline: a barrier after up to ", lookahead,
                                " steps of each worker, where they arrive closest together"),
            detail::json_of(kind, {{"lookahead", lookahead}})};
  }

  static constexpr std::string_view kind = "zipline";

  detail::dynarray<std::uint32_t> left{};  ///< state: steps until the barrier, with the running one; 0: none

 private:
  struct arrival {
    double time = 0.0;  // from the barrier on
    double one = 0.0;   // of one step
    std::uint32_t worker = 0;
    std::uint32_t steps = 0;
  };
  static constexpr auto later = [](const arrival& a, const arrival& b) noexcept {
    return a.time != b.time ? a.time > b.time : a.worker > b.worker;
  };

 public:
  detail::dynarray<arrival> arrivals{};  ///< scratch of plan()
};

}  // namespace rubato::inline RUBATO_ABI

#endif
