#ifndef RUBATO_SYNC_RIVALS_DSSP_HPP
#define RUBATO_SYNC_RIVALS_DSSP_HPP

#include <cmath>
#include <cstdint>
#include <limits>

#include "../../core/number_text.hpp"
#include "../../dynarray.hpp"
#include "../../pinned.hpp"
#include "../concepts.hpp"
#include "wording.hpp"

namespace rubato::inline RUBATO_ABI {

/// Dynamic stale synchronous parallel: ssp whose bound stretches, for the fastest worker, from `lower` up to `upper`.
///
/// A worker that is more than `lower` steps ahead of the slowest waits, unless it is a fastest one. Then its coming
/// pushes and those of the slowest are predicted from their latest intervals, and it is granted as many further steps
/// as bring one of its pushes nearest to one of the slowest's: it waits where it waits least. These steps are used up
/// push by push, whatever the lead is by then; after the last the prediction is made anew. None starts more than
/// `upper` steps ahead. Equal bounds are ssp.
///
/// The step that begins at once is one of those granted. (The pseudocode of the paper does not count it, which would
/// let the lead exceed `upper` by one; and it plans over the whole range, where this plans over what is left of it for
/// a worker whose lead is above `lower` already.) A worker of which two pushes have not been seen is not predicted:
/// nothing is granted. Every gradient is applied as it arrives.
/// Options  lower, upper in steps; smoothing in (0, 1]: how far a new interval moves the predicted one, 1 in the paper
/// Cost     O(1) per push; O(upper - lower) when a fastest worker is at `lower`; O(released) when the slowest worker
///          advances. Allocates in resize only. Not thread-safe.
/// Tests    tests/sync/rivals/dssp_test.cpp: ExtraStepsByHand, ExtraStepsAgreeWithASearch, StretchesForTheFastest,
///          NeverMoreThanUpperAhead, PlansWithinWhatIsLeftOfTheRange, OnlyTheFastestIsPredicted,
///          NothingIsPredictedFromOnePush, SurvivesDepartureOfTheSlowest, ForgetsAnEarlierLife;
///          tests/properties/identities_test.cpp: DsspOfEqualBoundsIsSsp
/// Source   Zhao et al., "Dynamic Stale Synchronous Parallel Distributed Training for Deep Learning", ICDCS 2019
struct dssp {
  clock_type lower = 3;    ///< lead over the slowest, in steps, within which everybody may start
  clock_type upper = 15;   ///< the same, for the fastest; at least `lower`
  double smoothing = 1.0;  ///< how far a new interval moves the predicted one, in (0, 1]

  static constexpr clock_type widest = 65'535;  ///< of upper - lower, as the cost is proportional to it

  /// Pushes at a steady interval.
  struct rhythm {
    double last = 0.0;      ///< when the latest was committed, in the host's unit of time
    double interval = 0.0;  ///< between two of them, likewise
  };

  /// How many further steps of `fast`, at most `most`, put one of its pushes nearest to a push of `slow`: the r for
  /// which the least |fast.last + r x interval - (slow.last + j x interval)| over j = 1 ... most + 1 is least, and the
  /// smallest such r. O(most).
  [[nodiscard]] static clock_type extra_steps(const rhythm& fast, const rhythm& slow, clock_type most) noexcept {
    clock_type best = 0;
    double nearest = std::numeric_limits<double>::infinity();
    for (clock_type r = 0, j = 1; r <= most;) {
      const double ahead = (fast.last + static_cast<double>(r) * fast.interval) -
                           (slow.last + static_cast<double>(j) * slow.interval);
      if (std::abs(ahead) < nearest) {
        nearest = std::abs(ahead);
        best = r;
      }
      if (ahead > 0.0 && j <= most)
        ++j;  // the slow one catches up
      else
        ++r;
    }
    return best;
  }

  void resize(std::uint32_t capacity) { known = detail::dynarray<history>(capacity); }
  void reset(std::uint32_t worker) noexcept { known[worker] = {}; }

  void observe(const feedback& f) noexcept {
    history& h = known[f.what.worker];
    const double interval = f.what.now - h.pushes.last;
    h.pushes.interval = h.seen > 1 ? h.pushes.interval + smoothing * (interval - h.pushes.interval) : interval;
    h.pushes.last = f.what.now;
    h.seen = h.seen > 0 ? 2 : 1;
  }

  [[nodiscard]] decision release(const cluster_view& view, const event& what) noexcept {
    const bool pushed = what.why == cause::push;
    const bool granted = pushed && known[what.worker].extra > 0;
    if (granted) --known[what.worker].extra;
    if (view.minimum_moved() || !pushed) return decision::up_to_clock(saturating_add(view.minimum_clock(), lower));
    const clock_type lead = view.clock_of_submitter() - view.minimum_clock();
    if (lead <= lower || (granted && lead <= upper)) return decision::submitter();
    if (lead > upper || view.clock_of_submitter() != view.maximum_clock()) return decision::hold();
    history& fast = known[what.worker];
    const history& slow = known[view.slowest()];
    if (fast.seen < 2 || slow.seen < 2) return decision::hold();
    const clock_type more = extra_steps(fast.pushes, slow.pushes, upper - lead + 1);
    if (more == 0) return decision::hold();
    fast.extra = more - 1;
    return decision::submitter();
  }

  [[nodiscard]] constexpr clock_type clock_bound() const noexcept { return upper; }
  /// Whoever waits is at most upper + 1 ahead, and goes on once it is no more than `lower` ahead.
  [[nodiscard]] constexpr double max_legal_wait(std::uint32_t) const noexcept {
    return static_cast<double>(upper - lower) + 1.0;
  }
  [[nodiscard]] std::string problem(std::uint32_t) const {
    if (upper < lower) return detail::below("upper", upper, lower) + ", the lower bound";
    if (upper - lower > widest) return detail::outside("upper - lower", upper - lower, 0, widest, "for its cost");
    return detail::unless_a_share("smoothing", smoothing);
  }
  void state(archive& bytes) {
    for (history& h : known) {
      bytes(h.pushes.last, h.pushes.interval, h.extra, h.seen);
      if (!pinned::is_finite(h.pushes.last) || !pinned::is_finite(h.pushes.interval) || h.seen > 2) bytes.fail();
    }
  }
  [[nodiscard]] description describe() const {
    const auto number = [](clock_type n, const char* none) { return n == unbounded ? none : std::to_string(n); };
    return {detail::sentence_of("dssp: no worker starts a step more than ", number(lower, "any number of"),
                                " steps ahead of the slowest, the fastest up to ", number(upper, "any number")),
            detail::sentence_of(R"({"kind":"dssp","lower":)", number(lower, "null"), R"(,"upper":)",
                                number(upper, "null"), R"(,"smoothing":)", detail::text_of(smoothing), "}")};
  }

  static constexpr std::string_view kind = "dssp";

 private:
  struct history {
    rhythm pushes{};
    clock_type extra = 0;   // steps granted and not yet used
    std::uint8_t seen = 0;  // pushes, up to the two that make an interval
  };

 public:
  detail::dynarray<history> known{};  ///< state: the pushes of each worker, and the steps granted to it
};

}  // namespace rubato::inline RUBATO_ABI

#endif
