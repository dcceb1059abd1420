#ifndef RUBATO_SYNC_KNEE_HPP
#define RUBATO_SYNC_KNEE_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>

#include "../core/number_text.hpp"
#include "../pinned.hpp"
#include "concepts.hpp"
#include "knee_finder.hpp"

namespace rubato::inline RUBATO_ABI {

/// Runs as many workers as raise the throughput noticeably, the fastest first: parallelism at the knee of the curve.
///
/// Each further worker makes every gradient staler; that is worth it while it speeds the whole cluster up. The rule
/// compares two levels of parallelism at a time, by how much longer steps of the same workers take at the higher one.
/// The elasticity of throughput, what it gains over what it would gain if steps took no longer, both as logarithms, is
/// 1 where nothing is shared and 0 where cores, a link or the server are saturated. How the levels to compare are
/// chosen: docs/policies.md. It needs neither a loss nor tuning.
///
/// Where everybody is to run, and nobody's steps are much longer than the others', they wait for each other after each
/// step: a barrier halves the staleness, as half the level would, and may cost as much throughput. When the latest of
/// them takes 2^threshold times as long as a step did without a barrier, the others wait no longer, and the search
/// begins anew. Hosts have to poll() for that: where one does not, they wait until the latest pushes, dies or leaves.
///
/// Invariant: while somebody is parked, as many workers are busy as the level that is in force, which is parallelism()
/// or the level that is being tried; more only until steps of a higher level are over, fewer only at a barrier or where
/// the guard's bound or max_release_per_call keeps somebody back.
///
/// Slow workers run only while the level has room for them, and for a step after a trial that was lost or a gradient
/// that was dropped: rare turns, by which one that became fast is noticed. Where their data matter: `guard.max_wait`.
///
/// Options  threshold: of the elasticity, 0 to 1, from which on more workers are worth their staleness.
///          scales_rate: the host's learning rate, which is to suit a cluster in which everybody runs, is scaled by
///          sqrt(alive / parallelism), at most 2: what is less stale may move the parameters further.
///          most_scatter: mean square of log(time of a step / usual time of its worker) above which everybody runs and
///          nothing is tried, infinity for none: whoever pauses at random takes nothing of what is shared meanwhile.
/// Cost     O(1) per push; O(capacity) when the level changes or a search begins anew, and where everybody is to run
///          every few steps of everybody. Allocates in resize() only, 16 bytes per worker. Not thread-safe.
/// Tests    tests/sync/knee_test.cpp: FindsTheKnee, FollowsADrift, ABarrierWhereItIsCheap,
///          NobodyWaitsLongForTheLate, SurvivesJoinsAndDeaths, ForgetsNothing; tests/sync/knee_scatter_test.cpp
struct knee {
  float threshold = 0.3F;      ///< elasticity of throughput from which on more workers run; between 0 and 1
  bool scales_rate = true;     ///< a larger learning rate where fewer run
  float most_scatter = 0.25F;  ///< of step times, above which everybody runs; above 0

  [[nodiscard]] decision release(const cluster_view& view, const event& what) noexcept {
    return finder.release(view, what, threshold, most_scatter);
  }
  void shape(const cluster_view& view, std::uint32_t worker, grant& terms) noexcept {
    finder.start(view, worker);
    if (scales_rate) terms.lr_scale *= std::clamp(std::sqrt(finder.room()), 1.0F, 2.0F);
  }

  /// For whoever shapes batches, or the rule takes a change of the batch for one of the cluster: how many times as long
  /// as with the usual one takes the step that release() or shape() is told of next. Until the next call; above 0.
  void allow_for_batch(float factor) noexcept { finder.allow_for_batch(factor); }

  /// The level found so far.
  [[nodiscard]] std::uint32_t parallelism() const noexcept { return finder.parallelism(); }
  /// Is the first search, or one that began anew, still on?
  [[nodiscard]] bool searches() const noexcept { return finder.searches(); }
  /// Do workers wait for each other after each step?
  [[nodiscard]] bool has_barrier() const noexcept { return finder.has_barrier(); }
  [[nodiscard]] insight explain() const noexcept {
    static constexpr std::array<std::string_view, 2> names{"level", "barrier"};
    return {names, {static_cast<float>(parallelism()), has_barrier() ? 1.0F : 0.0F}};
  }

  void resize(std::uint32_t capacity) { finder.resize(capacity); }
  void reset(std::uint32_t worker) noexcept { finder.reset(worker); }
  void state(archive& bytes) { finder.state(bytes); }
  [[nodiscard]] std::string problem(std::uint32_t) const {
    if (!(pinned::within(threshold, 0, 1) && threshold > 0.0F && threshold < 1.0F))
      return "threshold is " + detail::text_of(threshold) + ", expected a number between 0 and 1";
    if (!pinned::is_nan(most_scatter) && most_scatter > 0.0F) return {};
    return "most_scatter is " + detail::text_of(most_scatter) + ", expected a number above 0";
  }
  [[nodiscard]] description describe() const {
    description self{"knee: the fastest workers, as many as raise the throughput", R"({"kind":"knee","threshold":)"};
    if (scales_rate) self.line.append("; learning rate by parallelism");
    self.json.append(detail::text_of(threshold)).append(R"(,"scales_rate":)").append(scales_rate ? "true" : "false");
    self.line.append(pinned::is_finite(most_scatter) ? "" : "; however much steps scatter");
    if (pinned::is_finite(most_scatter)) self.json.append(R"(,"most_scatter":)").append(detail::text_of(most_scatter));
    self.json.append("}");
    return self;
  }

  static constexpr std::string_view kind = "knee";

  detail::knee_finder finder{};  ///< state, not an option
};

}  // namespace rubato::inline RUBATO_ABI

#endif
