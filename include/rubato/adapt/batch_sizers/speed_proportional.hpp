#ifndef RUBATO_ADAPT_BATCH_SIZERS_SPEED_PROPORTIONAL_HPP
#define RUBATO_ADAPT_BATCH_SIZERS_SPEED_PROPORTIONAL_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "../../core/archive.hpp"
#include "../../core/number_text.hpp"
#include "../../dynarray.hpp"
#include "../../pinned.hpp"
#include "../../sync/rivals/wording.hpp"
#include "../batch_sizer.hpp"
#include "share_out.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// LB-BSP: batches in proportion to the workers' speeds, samples per unit of time, so that all steps take equally long.
/// Their total stays what it was with the initial batch for everybody, if limits allow.
///
/// The speeds of workers that nothing is known of are taken to be the mean of the others'.
///
/// Option  newest: how far a period moves the average of a speed, in (0, 1]; 1: only the latest counts
/// Cost    O(workers). Allocates in resize() only, 8 bytes per worker.
/// Source  Chen et al., "Semi-Dynamic Load Balancing: Efficient Distributed Learning in Non-Dedicated Environments",
///         SoCC 2020, section 3, whose prediction of speeds is here an exponential average
/// Tests   tests/adapt/batch_sizers_test.cpp: SpeedProportionalEvensStepsOut, SpeedProportionalKeepsTheTotal,
///         SpeedProportionalNeedsOneSpeed
struct speed_proportional {
  float newest = 0.5F;  ///< how far a period moves the average

  void resize(std::uint32_t capacity) { speeds = rubato::detail::dynarray<double>(capacity); }
  void forget(std::uint32_t worker) noexcept { speeds[worker] = 0; }

  void operator()(const batch_period& seen, std::span<std::uint32_t> batches) noexcept {
    double sum = 0, fastest = 0;
    std::uint32_t known = 0;
    for (std::size_t w = 0; w < seen.workers.size(); ++w) {
      const batch_worker& each = seen.workers[w];
      if (each.counts && each.steps > 0 && each.step_time > 0) {
        const double speed = static_cast<double>(each.samples / each.step_time);
        if (!pinned::is_finite(speed)) continue;
        speeds[w] += (speeds[w] > 0 ? static_cast<double>(newest) : 1.0) * (speed - speeds[w]);
      }
      if (!each.counts || !(speeds[w] > 0)) continue;
      sum += speeds[w];
      fastest = (std::max)(fastest, speeds[w]);
      ++known;
    }
    if (known == 0) return;
    const double mean = sum / known;
    const double total = static_cast<double>(seen.initial) * seen.alive;
    const auto speed_of = [&](std::size_t w) { return speeds[w] > 0 ? speeds[w] : mean; };
    double slowest = fastest, largest = 0;
    for (std::size_t w = 0; w < seen.workers.size(); ++w) {
      if (!seen.workers[w].counts) continue;
      slowest = (std::min)(slowest, speed_of(w));
      largest = (std::max)(largest, static_cast<double>(seen.workers[w].most));
    }
    const auto in = [&](std::size_t w, double time) { return time * speed_of(w); };
    detail::set_batches(detail::level_for(total, largest / slowest, seen.workers, in), seen.workers, in, batches);
  }

  void state(archive& bytes) {
    for (double& speed : speeds) {
      bytes(speed);
      if (!pinned::is_finite(speed)) bytes.fail();
    }
  }
  [[nodiscard]] std::string problem() const { return rubato::detail::unless_a_share("newest", newest); }
  [[nodiscard]] description describe() const {
    return {"batches by speed (LB-BSP)", R"({"kind":"lb-bsp","newest":)" + rubato::detail::text_of(newest) + "}"};
  }

  rubato::detail::dynarray<double> speeds{};  ///< state, not an option: samples per unit of time, 0 where unknown
};

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
