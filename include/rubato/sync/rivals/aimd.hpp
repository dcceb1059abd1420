#ifndef RUBATO_SYNC_RIVALS_AIMD_HPP
#define RUBATO_SYNC_RIVALS_AIMD_HPP

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "../../core/number_text.hpp"
#include "../../dynarray.hpp"
#include "../../pinned.hpp"
#include "../concepts.hpp"
#include "wording.hpp"

namespace rubato::inline RUBATO_ABI {

/// Additive increase, multiplicative decrease of the number of running workers, as of a congestion window: one more
/// after each window of steps that took about as long as the shortest of the same worker, half as many after one that
/// took longer. The fastest idle workers go first.
///
/// It begins with one worker, so that the shortest steps are those of a machine that is not shared; a minimum rises by
/// 1 % a step, so that a machine that has become slower is forgiven in time. One that a step exceeds tenfold was of a
/// step without work, and is given up; cancelled steps are not measured. The level is a saw-tooth below the knee.
/// Invariant: while somebody is parked, as many workers are busy as parallelism(); more only until running steps of a
/// higher level are over.
///
/// Options  tolerance: mean lengthening of steps from which on the level falls, above 0. decrease: factor on the level
///          then, between 0 and 1.
/// Cost     O(1) per push. Allocates in resize() only, 8 bytes per worker. Not thread-safe.
/// Tests    tests/sync/rivals/aimd_test.cpp: SawsBelowTheKnee, RunsEverybodyWhereNothingIsShared, FollowsADrift,
///          SurvivesJoinsAndDeaths, AStepOfNoDurationIsForgotten, CancelledStepsAreNotMeasured, ForgetsNothing,
///          RefusesOptionsOutOfRange
/// Source   Chiu and Jain, "Analysis of the Increase and Decrease Algorithms for Congestion Avoidance in Computer
///          Networks", Computer Networks and ISDN Systems 17, 1989; the signal, time against the shortest, is that of
///          Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC 13, 1995
struct aimd {
  float tolerance = 0.2F;  ///< mean lengthening of steps from which on the level falls, above 0
  float decrease = 0.5F;   ///< factor on the level then, between 0 and 1

  [[nodiscard]] decision release(const cluster_view& view, const event& what) noexcept {
    if (what.why == cause::push && what.why_dropped != reason::cancelled && what.worker < each_.size())
      measure(each_[what.worker], view.step_time_of_submitter(), view.alive());
    const std::uint32_t busy = view.busy();
    const std::uint32_t most = parallelism();
    return busy < most ? decision::up_to(most - busy, release_order::fastest) : decision::hold();
  }
  void shape(const cluster_view&, std::uint32_t worker, grant&) noexcept { each_[worker].window = window_; }

  /// The level: how many workers are to run.
  [[nodiscard]] std::uint32_t parallelism() const noexcept { return (std::max)(level_, 1U); }

  void resize(std::uint32_t capacity) { each_ = detail::dynarray<worker_note>(capacity); }
  void reset(std::uint32_t worker) noexcept { each_[worker] = {}; }
  void state(archive& bytes) {
    bytes(level_, window_, samples_, longer_);
    for (worker_note& w : each_) bytes(w.shortest, w.window);
  }
  [[nodiscard]] std::string problem(std::uint32_t) const {
    return detail::first_of({detail::unless_above_0("tolerance", tolerance),
                             detail::unless(pinned::within(decrease, 0, 1) && decrease > 0.0F && decrease < 1.0F,
                                            "decrease", decrease, "a number above 0 and below 1")});
  }
  [[nodiscard]] description describe() const {
    std::string json = R"({"kind":"aimd","tolerance":)";
    json.append(detail::text_of(tolerance)).append(R"(,"decrease":)").append(detail::text_of(decrease)).append("}");
    return {"aimd: one more worker while steps take no longer, a fraction of them when they do", std::move(json)};
  }

  static constexpr std::string_view kind = "aimd";

 private:
  struct worker_note {
    float shortest = 0.0F;     // of its step times; 0: unknown
    std::uint32_t window = 0;  // in which its step began
  };

  void measure(worker_note& w, float time, std::uint32_t alive) noexcept {
    const bool counts = w.window == window_;  // began after the level was set
    const bool known = time <= 10.0F * w.shortest;  // else none yet, or of a step without work
    w.shortest = known ? (std::min)(1.01F * w.shortest, time) : time;
    if (!counts || !(time > 0.0F)) return;
    longer_ += time / w.shortest - 1.0F;
    const std::uint32_t level = parallelism();
    if (++samples_ < (std::min)(level, alive)) return;
    if (longer_ > tolerance * static_cast<float>(samples_))
      level_ = static_cast<std::uint32_t>(decrease * static_cast<float>((std::min)(level, alive)));
    else if (level <= alive)
      level_ = level + 1;
    ++window_;
    samples_ = 0;
    longer_ = 0.0F;
  }

 public:
  // What follows is state, not options. An aggregate has no private data.
  detail::dynarray<worker_note> each_{};  ///< by worker: its shortest step, and the window in which its step began
  std::uint32_t level_ = 1;               ///< as parallelism(); 0 counts as 1
  std::uint32_t window_ = 1;              ///< number of the present one
  std::uint32_t samples_ = 0;             ///< steps measured in it
  float longer_ = 0.0F;                   ///< sum of their lengthenings, as shares of the shortest step
};

}  // namespace rubato::inline RUBATO_ABI

#endif
