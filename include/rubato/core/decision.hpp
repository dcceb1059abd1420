#ifndef RUBATO_CORE_DECISION_HPP
#define RUBATO_CORE_DECISION_HPP

#include <cstdint>
#include <limits>

#include "types.hpp"

namespace rubato::inline RUBATO_ABI {

/// Who may run next: see the functions of `decision` that have these names.
enum class release_verb : std::uint8_t { hold, submitter, only, all, up_to, up_to_clock, contributors };

/// Which parked workers `up_to` prefers.
enum class release_order : std::uint8_t {
  fifo,     ///< longest parked first
  fastest,  ///< shortest smoothed step time first, in classes of a quarter octave; fifo within a class
  random    ///< uniform, from the controller's seed
};

/// A policy's answer: one verb for release, and what goes with it.
///
/// Effects come in the order exclude/readmit (the policy is then asked again and the rest of this answer is void),
/// flush, cancel, re-base, release. `all`, `up_to_clock` and `contributors` go out in park order. The submitter is
/// parked before the policy is asked and counts among the parked. Parts that were not set have no effect.
///
///     return decision::all().with_flush(1.0F).with_wake_at(what.now + 0.5);
struct decision {
  release_verb verb = release_verb::hold;                    ///< who is released
  release_order order = release_order::fifo;                 ///< of up_to
  std::uint32_t count = 0;                                   ///< of up_to
  std::uint32_t worker = no_worker;                          ///< of only
  clock_type clock = 0;                                      ///< of up_to_clock
  bool flushes = false;                                      ///< the open round is completed
  bool cancels = false;                                      ///< `cancel_below` holds
  bool wakes = false;                                        ///< `wake_at` holds
  bool rebases = false;                                      ///< `rebase_bound` holds
  bool is_degraded = false;                                  ///< to be counted as reason::degraded
  float flush_scale = 1.0F;                                  ///< factor on the mean of the round, if it is flushed
  float lr_scale = 1.0F;                                     ///< of the grants of those who are released
  std::uint32_t batch = 0;                                   ///< of these grants, in samples; 0: the host's default
  std::uint32_t exclude = no_worker;                         ///< worker to be taken out of every count; no_worker: none
  std::uint32_t readmit = no_worker;                         ///< excluded worker to be taken back; likewise
  std::uint64_t cancel_below = 0;                            ///< version: steps granted an older one are cancelled
  clock_type rebase_bound = unbounded;                       ///< steps
  double wake_at = std::numeric_limits<double>::infinity();  ///< when to be polled, in the host's unit of time

 private:
  // Defined before its uses: clang 14 needs that in constant expressions.
  template <class Change>
  [[nodiscard]] constexpr decision with(Change&& change) const noexcept {
    decision d = *this;
    change(d);
    return d;
  }

 public:
  /// Nobody.
  [[nodiscard]] static constexpr decision hold() noexcept { return {}; }
  /// The worker whose push it is, if it is parked.
  [[nodiscard]] static constexpr decision submitter() noexcept { return {.verb = release_verb::submitter}; }
  /// This worker, if it is parked.
  [[nodiscard]] static constexpr decision only(std::uint32_t w) noexcept {
    return {.verb = release_verb::only, .worker = w};
  }
  /// Everyone parked.
  [[nodiscard]] static constexpr decision all() noexcept { return {.verb = release_verb::all}; }
  /// At most n of the parked, in this order.
  [[nodiscard]] static constexpr decision up_to(std::uint32_t n, release_order o = release_order::fifo) noexcept {
    return {.verb = release_verb::up_to, .order = o, .count = n};
  }
  /// Every parked worker whose clock is at most c.
  [[nodiscard]] static constexpr decision up_to_clock(clock_type c) noexcept {
    return {.verb = release_verb::up_to_clock, .clock = c};
  }
  /// Every parked worker with a gradient in the round that this decision flushes, or in the open one if it does not.
  [[nodiscard]] static constexpr decision contributors() noexcept { return {.verb = release_verb::contributors}; }

  /// Completes the open round: the parameters move by scale x the mean of its gradients once all of them are in.
  [[nodiscard]] constexpr decision with_flush(float scale = 1.0F) const noexcept {
    return with([&](decision& d) { d.flushes = true, d.flush_scale = scale; });
  }
  /// Stops every running step that was granted a version below this one.
  [[nodiscard]] constexpr decision with_cancel_below(std::uint64_t version) const noexcept {
    return with([&](decision& d) { d.cancels = true, d.cancel_below = version; });
  }
  /// Takes a worker out of every count until it is readmitted.
  [[nodiscard]] constexpr decision with_exclude(std::uint32_t w) const noexcept {
    return with([&](decision& d) { d.exclude = w; });
  }
  /// Takes an excluded worker back.
  [[nodiscard]] constexpr decision with_readmit(std::uint32_t w) const noexcept {
    return with([&](decision& d) { d.readmit = w; });
  }
  /// Asks for poll() at this time; replaces an earlier wish, infinity withdraws it.
  [[nodiscard]] constexpr decision with_wake_at(double time) const noexcept {
    return with([&](decision& d) { d.wakes = true, d.wake_at = time; });
  }
  /// Batch size of the released workers' next step; 0: the host's default.
  [[nodiscard]] constexpr decision with_batch(std::uint32_t samples) const noexcept {
    return with([&](decision& d) { d.batch = samples; });
  }
  /// Learning-rate factor of the released workers' next gradient.
  [[nodiscard]] constexpr decision with_lr_scale(float scale) const noexcept {
    return with([&](decision& d) { d.lr_scale = scale; });
  }
  /// Says that fewer workers were there than the policy's options need. Counted, nothing else.
  [[nodiscard]] constexpr decision with_degraded(bool is = true) const noexcept {
    return with([&](decision& d) { d.is_degraded = is; });
  }
  /// Re-bases the clocks to a tighter bound, as switch_to does.
  [[nodiscard]] constexpr decision with_rebase(clock_type bound) const noexcept {
    return with([&](decision& d) { d.rebases = true, d.rebase_bound = bound; });
  }
};

}  // namespace rubato::inline RUBATO_ABI

#endif
