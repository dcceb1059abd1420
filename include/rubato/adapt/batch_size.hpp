#ifndef RUBATO_ADAPT_BATCH_SIZE_HPP
#define RUBATO_ADAPT_BATCH_SIZE_HPP

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "../dynarray.hpp"
#include "../encode/mean_metrics.hpp"
#include "../pinned.hpp"
#include "../sync/rivals/treatment.hpp"
#include "../sync/rivals/wording.hpp"
#include "batch_sizer.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// How the learning rate follows the samples of an update: by their ratio to the usual ones, to the power of 0, 1/2, 1.
enum class rate_rule : std::uint8_t { none, square_root, linear };

/// The rule as it appears in descriptions.
[[nodiscard]] constexpr std::string_view name(rate_rule rule) noexcept {
  return rule == rate_rule::none ? "none" : rule == rate_rule::square_root ? "square_root" : "linear";
}

/// Options of batch_sized.
struct batch_options {
  std::uint32_t usual = 64;                 ///< samples of a step that the host's learning rate was chosen for
  std::uint32_t initial = 64;               ///< samples of the first steps
  std::uint32_t least = 32;                 ///< samples of a step
  std::uint32_t most = 1024;                ///< likewise
  std::uint32_t period = 20;                ///< steps of each worker after which batches may change
  rate_rule rate = rate_rule::square_root;  ///< linear for SGD far from instability, square_root for Adam

  /// What is wrong with them, as a sentence; empty if nothing is.
  [[nodiscard]] std::string problem() const {
    using rubato::detail::below;
    return rubato::detail::first_of(
        {below("batches.usual", usual, 1), below("batches.least", least, 1), below("batches.most", most, least),
         rubato::detail::outside("batches.initial", initial, least, most, "the most samples of a step"),
         below("batches.period", period, 1),
         rubato::detail::unless(rate <= rate_rule::linear, "batches.rate", rate, "none, square_root or linear")});
  }
};

/// A treatment of any policy: each worker's steps have as many samples as a BatchSizer says, which learns every period
/// what came of the ones before.
///
///     rubato::controller sync{{.capacity = 8}, adapt::batch_sized{bsp{}, {.usual = 64}, adapt::speed_proportional{}}};
///
/// The host gives a worker the batch of its grant, reports in each push how many samples there were, and multiplies
/// gradients by applied_weight() with `usual` as the nominal samples. So an update is the mean over its samples, times
/// a rate that follows the rule: with b samples of a step on average, (b / usual)^0, ^1/2 or ^1 of the host's. What
/// else the host measures it tells the controller by measured(). A worker whose batch did not fit its memory pushes
/// with fewer samples, and says so by out_of_memory: it gets no more than it could do from then on, even if that is
/// less than `least`. A worker that joins gets the median batch. Of one that does another batch than it was granted,
/// what it did counts, and ignored() counts the step.
///
/// Cost    O(1) per push; O(capacity), and the sizer's cost, per period and when somebody comes or goes. Allocates in
///         resize() only, 300 bytes per worker. Thread: as the policy.
/// Tests   tests/adapt/batch_size_test.cpp: GrantsWhatTheSizerSays, PeriodsAreStepsOfEverybody, RateFollowsTheRule,
///         AWorkerThatJoinsGetsTheMedian, OutOfMemoryIsACap, ACapMayBeBelowTheLeast, IgnoredGrantsAreCounted,
///         TellsTheSizerWhatWasMeasured, ForgetsTheDead, SavesWhatItKnows, RefusesBadOptions, DecidesAsThePolicy
template <TreatablePolicy Policy, BatchSizer Sizer>
struct batch_sized : Policy {
  batch_options batches{};  ///< options
  Sizer sizer{};            ///< what sets batches

  /// This policy, with batches that `by` sets.
  batch_sized(Policy policy, batch_options options, Sizer by = {})
      : Policy(std::move(policy)), batches{options}, sizer{std::move(by)} {}

  void measured(std::uint32_t worker, const step_metrics& step) noexcept {
    each_[worker].metrics.add(step);
    each_[worker].too_many = step.out_of_memory;
    if constexpr (MeasuringPolicy<Policy>) Policy::measured(worker, step);
  }

  void observe(const feedback& f) noexcept {
    take_in(f);
    if constexpr (ObservingPolicy<Policy>) Policy::observe(f);
  }

  [[nodiscard]] decision release(const cluster_view& view, const event& what) noexcept {
    if (what.why == cause::join) seat(view, what.worker);
    const std::uint32_t alive = view.alive();
    if (alive > 0 && steps_ >= std::uint64_t{batches.period} * alive) {
      end_period(view);
    } else if (alive != alive_) {
      add_up(view);
    }
    return Policy::release(view, what);
  }

  void shape(const cluster_view& view, std::uint32_t worker, grant& terms) noexcept {
    if constexpr (ShapingPolicy<Policy>) Policy::shape(view, worker, terms);
    terms.batch = each_[worker].batch;
    terms.lr_scale *= rate_;
  }

  void resize(std::uint32_t capacity) {
    if constexpr (ResizablePolicy<Policy>) Policy::resize(capacity);
    sizer.resize(capacity);
    each_ = rubato::detail::dynarray<tally>(capacity, tally{.batch = batches.initial, .most = batches.most});
    seen_ = rubato::detail::dynarray<batch_worker>(capacity);
    wanted_ = rubato::detail::dynarray<std::uint32_t>(capacity);
    steps_ = periods_ = ignored_ = absurd_of_others_ = 0;
    began_ = now_ = 0;
    alive_ = 0;
    rate_ = rate_for(batches.initial);
  }
  void reset(std::uint32_t index) noexcept {
    if constexpr (ResettablePolicy<Policy>) Policy::reset(index);
    absurd_of_others_ += each_[index].metrics.absurd();
    each_[index] = {.batch = batches.initial, .most = batches.most};
    sizer.forget(index);
  }

  [[nodiscard]] std::uint32_t batch_of(std::uint32_t index) const noexcept { return each_[index].batch; }  ///< samples
  /// Samples that this worker can do: the largest batch, or less since it ran out of memory.
  [[nodiscard]] std::uint32_t cap_of(std::uint32_t index) const noexcept { return each_[index].most; }
  [[nodiscard]] std::uint64_t periods() const noexcept { return periods_; }  ///< that have ended
  /// Steps that had other batches than they were granted, without being out of memory.
  [[nodiscard]] std::uint64_t ignored() const noexcept { return ignored_; }
  /// Metrics that could not be, such as shares above 1.
  [[nodiscard]] std::uint64_t absurd() const noexcept {
    std::uint64_t all = absurd_of_others_;
    for (const tally& each : each_) all += each.metrics.absurd();
    return all;
  }

  [[nodiscard]] std::string problem(std::uint32_t capacity) const {
    std::string wrong = problem_of(static_cast<const Policy&>(*this), capacity);
    if (wrong.empty()) wrong = batches.problem();
    return wrong.empty() ? sizer.problem() : wrong;
  }

  void state(archive& bytes) {
    if constexpr (StatefulPolicy<Policy>) Policy::state(bytes);
    for (tally& each : each_) {
      bytes(each.batch, each.most, each.too_many, each.steps, each.samples, each.step_time, each.loss, each.losses);
      each.metrics.state(bytes);
      const bool sound = each.batch <= each.most && each.most <= batches.most && each.most > 0 && each.batch > 0;
      if (!sound || !pinned::is_finite(each.step_time) || !pinned::is_finite(each.loss)) bytes.fail();
    }
    bytes(steps_, periods_, ignored_, absurd_of_others_, began_, now_, alive_, rate_);
    const bool sound = pinned::is_finite(began_) && pinned::is_finite(now_) && pinned::is_finite(rate_) && rate_ > 0;
    if (!sound) bytes.fail();
    sizer.state(bytes);
  }

  [[nodiscard]] description describe() const {
    const description by = sizer.describe();
    std::string json = R"("batches":{"usual":)";
    json.append(std::to_string(batches.usual)).append(R"(,"initial":)").append(std::to_string(batches.initial));
    json.append(R"(,"least":)").append(std::to_string(batches.least)).append(R"(,"most":)");
    json.append(std::to_string(batches.most)).append(R"(,"period":)").append(std::to_string(batches.period));
    json.append(R"(,"rate":")").append(name(batches.rate)).append(R"(","by":)").append(by.json).append("}");
    return rubato::detail::treated(static_cast<const Policy&>(*this),
                                   by.line + " from " + std::to_string(batches.initial), json);
  }

 private:
  struct tally {
    std::uint32_t batch = 0;
    std::uint32_t most = 0;
    std::uint32_t too_many = 0;  // of the step that it pushes next, see step_metrics::out_of_memory
    std::uint32_t steps = 0;     // in this period, as all that follows
    std::uint64_t samples = 0;
    double step_time = 0;
    double loss = 0;
    std::uint32_t losses = 0;
    mean_metrics metrics{};
  };

  [[nodiscard]] std::uint32_t clipped(std::uint32_t batch, const tally& of) const noexcept {
    return std::clamp(batch, (std::min)(batches.least, of.most), of.most);
  }
  // With so many samples of a step on average. The weight of a sample is that of usual ones (applied_weight).
  [[nodiscard]] float rate_for(double mean_batch) const noexcept {
    const double ratio = batches.usual / mean_batch;
    if (batches.rate == rate_rule::linear) return 1;
    return static_cast<float>(batches.rate == rate_rule::none ? ratio : std::sqrt(ratio));
  }

  void take_in(const feedback& f) noexcept {
    tally& me = each_[f.what.worker];
    now_ = f.what.now;
    const std::uint32_t samples = f.what.samples > 0 ? f.what.samples : me.batch;
    if (const std::uint32_t too_many = std::exchange(me.too_many, 0); too_many > 0) {
      me.most = (std::min)(me.most, samples < too_many ? samples : (std::max)(too_many / 2, 1U));
      me.batch = (std::min)(me.batch, me.most);
    } else if (samples != me.batch) {
      ++ignored_;
    }
    ++steps_;
    ++me.steps;
    me.samples += samples;
    if (pinned::is_finite(f.step_time)) me.step_time += f.step_time;
    if (pinned::is_finite(f.what.loss) && f.what.loss != 0.0F) {
      me.loss += static_cast<double>(f.what.loss);
      ++me.losses;
    }
  }

  // The median of those that are there already.
  void seat(const cluster_view& view, std::uint32_t newcomer) noexcept {
    std::uint32_t others = 0;
    for (std::uint32_t w = 0; w < view.capacity(); ++w)
      if (w != newcomer && view.counts(w)) wanted_[others++] = each_[w].batch;
    if (others == 0) return;
    std::nth_element(wanted_.begin(), wanted_.begin() + others / 2, wanted_.begin() + others);
    each_[newcomer].batch = clipped(wanted_[others / 2], each_[newcomer]);
  }

  void end_period(const cluster_view& view) noexcept {
    for (std::uint32_t w = 0; w < view.capacity(); ++w) {
      tally& me = each_[w];
      batch_worker& shown = seen_[w];
      shown = {.counts = view.counts(w),
               .batch = me.batch,
               .least = (std::min)(batches.least, me.most),
               .most = me.most,
               .steps = me.steps};
      if (me.steps > 0) {
        shown.samples = static_cast<float>(static_cast<double>(me.samples) / me.steps);
        shown.step_time = static_cast<float>(me.step_time / me.steps);
      }
      if (me.losses > 0) shown.loss = static_cast<float>(me.loss / me.losses);
      shown.metrics = me.metrics.mean();
      shown.accuracy_deviation = me.metrics.accuracy_deviation();
      wanted_[w] = me.batch;
      me.steps = me.losses = 0;
      me.samples = 0;
      me.step_time = me.loss = 0;
      me.metrics.clear();
    }
    sizer({.workers = {seen_.data(), seen_.size()},
           .alive = view.alive(),
           .usual = batches.usual,
           .initial = batches.initial,
           .number = periods_,
           .time = now_ - began_},
          {wanted_.data(), wanted_.size()});
    for (std::uint32_t w = 0; w < view.capacity(); ++w) each_[w].batch = clipped(wanted_[w], each_[w]);
    steps_ = 0;
    ++periods_;
    began_ = now_;
    add_up(view);
  }

  // What the learning rate goes by.
  void add_up(const cluster_view& view) noexcept {
    alive_ = view.alive();
    std::uint64_t samples = 0;
    for (std::uint32_t w = 0; w < view.capacity(); ++w) samples += view.counts(w) ? each_[w].batch : 0;
    if (alive_ > 0 && samples > 0) rate_ = rate_for(static_cast<double>(samples) / alive_);
  }

  rubato::detail::dynarray<tally> each_{};
  rubato::detail::dynarray<batch_worker> seen_{};     // scratch
  rubato::detail::dynarray<std::uint32_t> wanted_{};  // scratch
  std::uint64_t steps_ = 0;                           // of everybody, in this period
  std::uint64_t periods_ = 0;
  std::uint64_t ignored_ = 0;
  std::uint64_t absurd_of_others_ = 0;  // who had these indices before
  double began_ = 0;  // this period
  double now_ = 0;    // at the latest push
  std::uint32_t alive_ = 0;
  float rate_ = 1;
};

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
