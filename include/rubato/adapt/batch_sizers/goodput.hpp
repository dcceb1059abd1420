#ifndef RUBATO_ADAPT_BATCH_SIZERS_GOODPUT_HPP
#define RUBATO_ADAPT_BATCH_SIZERS_GOODPUT_HPP

#include <algorithm>
#include <cmath>
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
#include "../gradient_noise.hpp"
#include "share_out.hpp"
#include "step_time_fit.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// The batch of the highest goodput: samples per unit of time x what a sample is worth in an update of so many.
///
/// What a sample is worth is in proportion to 1 / (noise + total), where `noise` is the gradient-noise scale: the
/// variance of a sample's gradient over the square of the gradient, both averaged over the periods
/// (step_metrics::gradient_variance, gradient_square). The time of a step is taken to be affine in its samples, worker
/// by worker. Without the noise scale nothing changes.
///
/// With `balanced`, batches differ between workers so that all steps take equally long; else they are equal, as in the
/// source, and the slowest worker decides how long an update takes.
///
/// Options  newest: how far a period moves averages, in (0, 1]; largest_change: factor between the total of a period
///          and that of the next, above 1; balanced
/// Cost     O(workers), some 160 times over. Allocates in resize() only, 32 bytes per worker.
/// Source   Qiao et al., "Pollux: Co-adaptive Cluster Scheduling for Goodput-Optimized Deep Learning", OSDI 2021,
///          section 3; McCandlish et al., "An Empirical Model of Large-Batch Training", arXiv 1812.06162, section 2
/// Tests    tests/adapt/batch_sizers_test.cpp: GoodputGrowsWithTheNoise, StepTimeFitFindsTheLine,
///          GoodputBalances, GoodputNeedsTheNoise
struct goodput {
  float newest = 0.2F;       ///< how far a period moves averages
  float largest_change = 2;  ///< of the total, from a period to the next: a factor
  bool balanced = false;     ///< batches by speed, not the same for all

  void resize(std::uint32_t capacity) {
    fits = rubato::detail::dynarray<detail::step_time_fit>(capacity);
    noise = {};
  }
  void forget(std::uint32_t worker) noexcept { fits[worker] = {}; }

  void operator()(const batch_period& seen, std::span<std::uint32_t> batches) noexcept {
    learn(seen);
    if (!(noise_scale() > 0)) return;
    double longest = 0, most = 0;
    for (std::size_t w = 0; w < seen.workers.size(); ++w) {
      const batch_worker& each = seen.workers[w];
      if (!each.counts) continue;
      longest = (std::max)(longest, fits[w].time_of(each.most));
      most = (std::max)(most, static_cast<double>(each.most));
    }
    if (balanced)
      choose(
          seen, longest, [&](std::size_t w, double time) { return fits[w].samples_in(time); }, batches);
    else
      choose(
          seen, most, [](std::size_t, double batch) { return batch; }, batches);
  }

  /// The gradient-noise scale, in samples; 0 as long as it is not known.
  [[nodiscard]] double noise_scale() const noexcept { return noise.square > 0 ? noise.variance / noise.square : 0.0; }

  void state(archive& bytes) {
    for (detail::step_time_fit& each : fits) each.state(bytes);
    noise.state(bytes);
  }
  [[nodiscard]] std::string problem() const {
    return rubato::detail::first_of({rubato::detail::unless_a_share("newest", newest),
                                     rubato::detail::unless(pinned::is_finite(largest_change) && largest_change > 1,
                                                            "largest_change", largest_change, "a number above 1")});
  }
  [[nodiscard]] description describe() const {
    std::string json = R"({"kind":"goodput","newest":)" + rubato::detail::text_of(newest);
    json.append(R"(,"largest_change":)").append(rubato::detail::text_of(largest_change));
    json.append(R"(,"balanced":)").append(balanced ? "true}" : "false}");
    return {balanced ? "batches of the highest goodput, balanced" : "batches of the highest goodput", json};
  }

  rubato::detail::dynarray<detail::step_time_fit> fits{};  ///< state, not an option
  detail::gradient_noise noise{};                          ///< likewise

 private:
  void learn(const batch_period& seen) noexcept {
    noise.add(seen, static_cast<double>(newest));
    for (std::size_t w = 0; w < seen.workers.size(); ++w) {
      const batch_worker& each = seen.workers[w];
      if (each.counts && each.steps > 0 && each.samples > 0 && each.step_time > 0)
        fits[w].add(static_cast<double>(each.samples), static_cast<double>(each.step_time),
                    static_cast<double>(newest));
    }
  }

  template <class BatchAt>
  void choose(const batch_period& seen, double highest_level, const BatchAt& batch_at,
              std::span<std::uint32_t> batches) const noexcept {
    double present = 0;
    for (const batch_worker& each : seen.workers) present += each.counts ? each.batch : 0;
    const double from = present / static_cast<double>(largest_change),
                 to = present * static_cast<double>(largest_change);
    const double lowest = detail::level_for(from, highest_level, seen.workers, batch_at);
    const double highest = detail::level_for(to, highest_level, seen.workers, batch_at);
    double best = lowest, best_goodput = 0;
    for (int c = 0; c <= candidates; ++c) {
      const double level = lowest + (highest - lowest) * c / candidates;
      if (const double value = goodput_at(level, seen, batch_at); value > best_goodput)
        best = level, best_goodput = value;
    }
    if (best_goodput > 0) detail::set_batches(best, seen.workers, batch_at, batches);
  }

  template <class BatchAt>
  [[nodiscard]] double goodput_at(double level, const batch_period& seen, const BatchAt& batch_at) const noexcept {
    double samples = 0, time = 0;
    for (std::size_t w = 0; w < seen.workers.size(); ++w) {
      if (!seen.workers[w].counts) continue;
      const double batch = detail::allowed(batch_at, seen.workers[w], w, level);
      samples += batch;
      time = (std::max)(time, fits[w].time_of(batch));
    }
    return time > 0 ? samples / time / (noise_scale() + samples) : 0.0;
  }

  static constexpr int candidates = 60;
};

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
