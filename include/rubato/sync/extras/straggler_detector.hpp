#ifndef RUBATO_SYNC_EXTRAS_STRAGGLER_DETECTOR_HPP
#define RUBATO_SYNC_EXTRAS_STRAGGLER_DETECTOR_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../../core/archive.hpp"
#include "../../core/number_text.hpp"
#include "../../core/record.hpp"
#include "../../pinned.hpp"
#include "../observer.hpp"

namespace rubato::inline RUBATO_ABI {

/// Who counts as a straggler.
struct straggler_options {
  /// Which throughput of a window is slow, compared with those of all workers.
  enum kind : std::uint8_t {
    robust,    ///< below the mean less one standard deviation, and far below the median
    published  ///< below the mean less one standard deviation
  };
  kind test = robust;         ///< which of the two
  double window = 5.0;        ///< in the host's unit of time; a window is at least so long ...
  std::uint32_t steps = 10;   ///< ... and has at least so many steps of each worker, on average
  std::uint32_t windows = 3;  ///< consecutive ones in which it is that slow
  double slow = 0.8;          ///< robust: a throughput below this share of the median is far below
  double recovered = 0.9;     ///< robust: from this share of the median on it is a straggler no longer
};

/// What is wrong with these options, as a sentence; empty if nothing is.
[[nodiscard]] inline std::string problem(const straggler_options& o) {
  const auto wrong = [](const char* what, double is, const std::string& expected) {
    return std::string{"stragglers."} + what + " is " + detail::text_of(is) + ", expected " + expected;
  };
  if (o.test > straggler_options::published) return "stragglers.test is neither robust nor published";
  if (!(o.window >= 0 && pinned::is_finite(o.window))) return wrong("window", o.window, "a time of 0 or more");
  if (o.steps == 0) return "stragglers.steps is 0, expected at least 1";
  if (o.windows == 0) return "stragglers.windows is 0, expected at least 1";
  if (!(pinned::within(o.slow, 0, 1) && o.slow > 0 && o.slow < 1))
    return wrong("slow", o.slow, "a share between 0 and 1");
  if (!pinned::within(o.recovered, o.slow, 1))
    return wrong("recovered", o.recovered, "a share from slow, " + detail::text_of(o.slow) + ", to 1");
  return {};
}

/// A worker that is slow, and how slow. Times are in the host's unit.
struct straggler {
  worker_id who{};       ///< this life of it
  double step_time = 0;  ///< mean of its latest window with a step of it
  double median = 0;     ///< step time of the median worker in the latest window
};

/// Observer that finds the workers that are slow for long.
///
/// What is compared is a worker's own throughput: its steps in a window / the time from each one's release to the
/// arrival of its gradient. Pushes per unit of wall-clock time would not do: at a barrier all workers have as many of
/// them as the slowest. Windows follow each other. A step counts in the window in which it ends; a worker that ends
/// none in a window is judged by the one before. Cancelled steps do not count. Who departs or is excluded is no measure
/// for the others, and begins anew when it comes back.
///
/// A worker is a straggler once it was slow in so many windows running, and is one until a window in which it is not
/// (robust: until it is back at `recovered` times the median). Slow is, with throughputs S:
///
///     published   S < mean - standard deviation
///     robust      the same, and S < slow x median
///
/// The first of them is that of the paper, which leaves window and count open. It fires on noise: of equal workers
/// about one in six is that low in a window. The second one does not. Both have three limits:
/// - Where half of the workers or more are equally slow, none is found.
/// - A much slower worker hides another straggler until it has gone, and a single worker that is much faster than the
///   rest hides them all.
/// - Who hangs is not found, since no step ends: see scores::missing(), and time limits of the host.
/// Under a policy that gives workers different batch sizes, one with a larger batch looks slower.
///
/// Pre     problem(options) is empty; worker < capacity, that of the controller
/// Cost    O(1) per record, but O(capacity) at the end of a window; worst(), to_evict(): O(1) while there is no
///         straggler, else O(capacity). 56 bytes a worker, made at construction; no other allocation but by a save.
///         Not thread-safe.
/// Tests   tests/extras/straggler_detector_test.cpp: ComparesOwnStepTimesBehindABarrier, WindowsInARow,
///         WindowIsOfTimeAndOfSteps, NeitherFiresWhereHalfAreSlow, PublishedFiresOnAnySlowdown, PublishedFiresOnNoise,
///         RecoversWithHysteresis, ComesBackWithoutAHistory, ExcludedAreNoMeasure, CancelledStepsDoNotCount,
///         AWorseOneHidesOthersUntilItGoes, AFastOneHidesStragglers, EvictsTheWorstAndLeavesTwo,
///         WindowsWaitForWhoeverIsThere, SavesWhatItSaw, RefusesNumbersThatCannotBe, OfTheUnknownNothingIsKnown,
///         RefusesBadOptions;
///         tests/properties/no_allocation_test.cpp: StragglerDetectorAfterConstruction
/// Source  Li et al., "Sync-Switch: Hybrid Parameter Synchronization for Distributed Deep Learning", ICDCS 2021, IV-B2
class straggler_detector {
 public:
  explicit straggler_detector(std::uint32_t capacity, straggler_options options = {})
      : options_{options}, rows_(capacity), sorted_(capacity) {
    RUBATO_ASSERT(problem(options).empty(), "straggler options out of range: problem() says which");
  }  ///< capacity: that of the controller

  /// Called by the controller.
  void operator()(const record& r) noexcept {
    const std::uint32_t w = r.worker.index;
    switch (r.what) {
      case record::kind::join:
      case record::kind::readmit:
        return forget(w), enter(r.worker);
      case record::kind::depart:
      case record::kind::exclude:
        return forget(w);
      case record::kind::release:
        return start(r);
      case record::kind::admit:
        return arrive(r);
      default:
        return;
    }
  }

  /// For those who are told of steps in another way than by records, such as a policy: a step of this worker, which
  /// took `time`, is over. Precondition: time and now are finite.
  void note_step(worker_id who, double time, double now) noexcept {
    if (who.index >= rows_.size()) return;
    enter(who);
    row& w = rows_[who.index];
    w.busy += (std::max)(time, 1e-30);
    ++w.steps;
    if (!std::exchange(begun_, true)) began_ = now - time;
    ++steps_;
    if (now - began_ >= options_.window && steps_ >= std::uint64_t{options_.steps} * members_) close(now);
  }
  /// The same: it is there, though no step of it may be known yet. Windows wait for steps of all who are.
  void enter(worker_id who) noexcept {
    if (who.index >= rows_.size()) return;
    row& w = rows_[who.index];
    w.who = who;
    if (!w.member) w.member = true, ++members_;
  }
  /// It has gone, or is to begin anew.
  void forget(std::uint32_t worker) noexcept {
    if (worker >= rows_.size() || !rows_[worker].member) return;
    --members_;
    if (rows_[worker].straggles) --stragglers_;
    rows_[worker] = {};
  }

  /// Worker indices are below it.
  [[nodiscard]] std::uint32_t capacity() const noexcept { return static_cast<std::uint32_t>(rows_.size()); }
  [[nodiscard]] std::uint32_t members() const noexcept { return members_; }   ///< workers that are there
  [[nodiscard]] std::uint64_t windows() const noexcept { return windows_; }   ///< that are over
  [[nodiscard]] std::uint32_t count() const noexcept { return stragglers_; }  ///< of stragglers
  /// Whether it is there; false for who is unknown.
  [[nodiscard]] bool is_member(std::uint32_t worker) const noexcept {
    return worker < rows_.size() && rows_[worker].member;
  }
  /// Whether it was found slow, and has not recovered; false for who is unknown.
  [[nodiscard]] bool straggles(std::uint32_t worker) const noexcept {
    return worker < rows_.size() && rows_[worker].straggles;
  }
  /// Mean of its latest window with a step of it; 0 before, and for who is unknown.
  [[nodiscard]] double step_time(std::uint32_t worker) const noexcept {
    return worker < rows_.size() && rows_[worker].throughput > 0 ? 1 / rows_[worker].throughput : 0;
  }

  /// The slowest straggler.
  [[nodiscard]] std::optional<straggler> worst() const noexcept {
    if (stragglers_ == 0) return std::nullopt;
    const row* slowest = nullptr;
    for (const row& w : rows_)
      if (w.straggles && (slowest == nullptr || w.throughput < slowest->throughput)) slowest = &w;
    return straggler{.who = slowest->who, .step_time = 1 / slowest->throughput, .median = 1 / median_};
  }
  /// Whom to take out of a job that waits for its slowest: the slowest straggler, if two workers or more remain.
  [[nodiscard]] std::optional<straggler> to_evict() const noexcept { return members_ > 2 ? worst() : std::nullopt; }

  /// Saves what was seen, or takes it from one of the same capacity. Numbers that cannot be fail the archive.
  void state(archive& bytes) {
    bytes(began_, median_, steps_, windows_, begun_);
    bool sound = pinned::is_finite(began_) && pinned::is_finite(median_) && median_ >= 0;
    members_ = stragglers_ = 0;
    for (std::uint32_t index = 0; index < capacity(); ++index) {
      row& w = rows_[index];
      w.who.index = index;
      bytes(w.who.incarnation, w.member, w.working, w.straggles, w.slow_windows, w.steps, w.busy, w.since,
            w.throughput);
      members_ += w.member ? 1U : 0U;
      stragglers_ += w.straggles ? 1U : 0U;
      for (const double number : {w.busy, w.since, w.throughput}) sound = sound && pinned::is_finite(number);
      sound = sound && w.busy >= 0 && w.throughput >= 0;
      sound = sound && (!w.straggles || (w.member && w.throughput > 0 && median_ > 0));
    }
    if (!sound) bytes.fail();
  }

 private:
  struct row {
    worker_id who{};
    bool member = false;
    bool working = false;
    bool straggles = false;
    std::uint32_t slow_windows = 0;  // running
    std::uint32_t steps = 0;         // in this window, as is busy
    double busy = 0;
    double since = 0;       // when the step that it is in began
    double throughput = 0;  // of its latest window with a step; 0: none yet
  };

  void start(const record& r) noexcept {
    if (r.worker.index >= rows_.size()) return;
    enter(r.worker);
    rows_[r.worker.index].working = true;
    rows_[r.worker.index].since = r.now;
  }
  // A step that began before this object watched has no beginning to measure from.
  void arrive(const record& r) noexcept {
    if (r.worker.index >= rows_.size()) return;
    row& w = rows_[r.worker.index];
    const bool measured = w.working && r.because != reason::cancelled;
    w.working = false;
    if (measured) note_step(r.worker, r.now - w.since, r.now);
  }

  void close(double now) noexcept {
    std::size_t n = 0;
    double sum = 0, squares = 0;
    for (row& w : rows_) {
      if (w.steps == 0) continue;
      w.throughput = w.steps / w.busy;
      sum += sorted_[n++] = w.throughput;
    }
    const double mean = sum / static_cast<double>(n);
    for (std::size_t i = 0; i < n; ++i) squares += (sorted_[i] - mean) * (sorted_[i] - mean);
    median_ = median_of_first(n);
    const double low = mean - std::sqrt(squares / static_cast<double>(n));
    for (row& w : rows_) {
      if (w.steps > 0) judge(w, low);
      w.steps = 0;
      w.busy = 0;
    }
    began_ = now;
    steps_ = 0;
    ++windows_;
  }

  void judge(row& w, double low) noexcept {
    const bool robust = options_.test == straggler_options::robust;
    const bool slow = w.throughput < low && (!robust || w.throughput < options_.slow * median_);
    if (!w.straggles) {
      w.slow_windows = slow ? w.slow_windows + 1 : 0;
      if (w.slow_windows < options_.windows) return;
      w.straggles = true;
      ++stragglers_;
    } else if (robust ? w.throughput >= options_.recovered * median_ : !slow) {
      w.straggles = false;
      w.slow_windows = 0;
      --stragglers_;
    }
  }

  [[nodiscard]] double median_of_first(std::size_t n) noexcept {
    const auto begin = sorted_.begin(), middle = begin + static_cast<std::ptrdiff_t>(n / 2);
    std::nth_element(begin, middle, begin + static_cast<std::ptrdiff_t>(n));
    return n % 2 == 1 ? *middle : (*std::max_element(begin, middle) + *middle) / 2;
  }

  straggler_options options_;
  std::vector<row> rows_;
  std::vector<double> sorted_;  // throughputs of a window, as far as the median needs it
  double began_ = 0;            // the window
  double median_ = 0;
  std::uint64_t steps_ = 0;  // in this window
  std::uint64_t windows_ = 0;
  std::uint32_t members_ = 0;
  std::uint32_t stragglers_ = 0;
  bool begun_ = false;  // the first window
};

static_assert(Observer<straggler_detector>);

}  // namespace rubato::inline RUBATO_ABI

#endif
