#ifndef RUBATO_SYNC_EXTRAS_SCORES_HPP
#define RUBATO_SYNC_EXTRAS_SCORES_HPP

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "../../core/record.hpp"
#include "../observer.hpp"

namespace rubato::inline RUBATO_ABI {

/// How many gradients of a worker had which staleness: bucket 0 counts staleness 0, bucket b from 2^(b-1) to 2^b - 1,
/// the last one everything above.
struct staleness_histogram {
  static constexpr std::size_t buckets = 16;    ///< the last one begins at 2^14
  std::array<std::uint32_t, buckets> counts{};  ///< gradients, by bucket

  /// The bucket that counts this staleness.
  [[nodiscard]] static constexpr std::size_t bucket_of(std::uint64_t staleness) noexcept {
    return (std::min<std::size_t>)(static_cast<unsigned>(std::bit_width(staleness)), buckets - 1);
  }
  /// The smallest staleness that the bucket counts.
  [[nodiscard]] static constexpr std::uint64_t lower_edge(std::size_t bucket) noexcept {
    return bucket == 0 ? 0 : std::uint64_t{1} << (bucket - 1);
  }
};

/// What became of a worker's gradients: pushed = contributed + lost for each reason + in flight.
struct gradient_fates {
  static constexpr reason first = reason::stale;    ///< the reasons for which a gradient is lost go from here ...
  static constexpr reason last = reason::switched;  ///< ... to here
  /// How many these are.
  static constexpr std::size_t reasons = static_cast<std::size_t>(last) - static_cast<std::size_t>(first) + 1;

  std::uint64_t pushed = 0;                       ///< arrived; repeated ones count once
  std::uint64_t contributed = 0;                  ///< in an update of the parameters, or in a round that is still open
  std::uint32_t in_flight = 0;                    ///< admitted, not committed
  std::array<std::uint32_t, reasons> lost_for{};  ///< by reason, from `first` on; see lost()

  /// For this reason; 0 for reasons that lose no gradient.
  [[nodiscard]] constexpr std::uint32_t lost(reason why) const noexcept {
    return why >= first && why <= last ? lost_for[static_cast<std::size_t>(why) - static_cast<std::size_t>(first)] : 0;
  }
  /// For whatever reason.
  [[nodiscard]] constexpr std::uint64_t lost() const noexcept {
    std::uint64_t all = 0;
    for (const std::uint32_t n : lost_for) all += n;
    return all;
  }
};

/// One worker, as scores sees it. Times are in the host's unit; a score is 0 before the worker's first step is over.
struct worker_score {
  float relative = 0.0F;            ///< best recent step time of all workers / its own; 1: it is the best
  float individual = 0.0F;          ///< its own best recent step time / its recent one; 1: as quick as it ever was
  float step_time = 0.0F;           ///< recent: smoothed by 0.2 per step
  double lateness = 0.0;            ///< time that it is overdue in the step that it is in
  double waiting = 0.0;             ///< time that it has been waiting for its release; 0 if it does not wait
  double waited = 0.0;              ///< in all, from join or commit to the next step's start, with the current wait
  gradient_fates gradients{};       ///< what became of them
  staleness_histogram staleness{};  ///< of all its gradients, the dropped ones too
};

/// A worker that is in a step for much longer than expected.
struct late_worker {
  std::uint32_t worker = no_worker;  ///< its index
  double running = 0.0;              ///< time that it has been in this step
  double times = 0.0;                ///< the same, in step times that were expected of it
};

/// Observer that answers: who is slow, who is missing, what became of my gradients?
///
/// A worker's step time is measured from its grant to the arrival of its gradient, cancelled steps left out. Expected
/// of it is its recent step time; in its first step, that of the slowest worker; while nobody has finished a step,
/// nothing. The dead and those who left are no measure for others. A worker that comes back begins its times anew; its
/// waits and gradients add up. Gradients of a round that a switch discards, but only after a further switch, count as
/// contributed.
///
/// Invariant  gradients: pushed = contributed + lost() + in_flight, for each worker, after every record.
/// Pre        worker < capacity, that of the controller; `now` is finite.
/// Cost    O(1) per record, but O(capacity) at a switch; missing(): O(capacity), and sorting those
///         it finds. The others O(1), O(capacity) after the quickest or the slowest worker has changed its pace or
///         left. 216 bytes a worker, made at construction; no other allocation. Not thread-safe.
/// Tests   tests/extras/scores_test.cpp: RelativeToTheBestWorker, IndividualToItsOwnBest, Lateness,
///         MissingAreOrderedWorstFirst, WaitsAddUp, StalenessInPowersOfTwo, FatesOfEveryGradient,
///         AgreesWithTheCountersUnderRandomSchedules; tests/properties/no_allocation_test.cpp:
///         ScoresAndGroupsAfterConstruction
class scores {
 public:
  explicit scores(std::uint32_t capacity) : rows_(capacity), late_(capacity) {}  ///< that of the controller

  /// Called by the controller.
  void operator()(const record& r) noexcept {
    if (r.what == record::kind::discard) return r.because == reason::switched ? take_back(r.round) : void();
    if (r.what == record::kind::change_policy) return keep_open_round();
    if (r.worker.index >= rows_.size()) return;
    row& w = rows_[r.worker.index];
    switch (r.what) {
      case record::kind::join: return enter(w, r);
      case record::kind::release: return start(w, r);
      case record::kind::admit: return arrive(w, r);
      case record::kind::commit: return finish(w, r);
      case record::kind::depart: return leave(w, r);
      default: return;
    }
  }

  /// Worker indices are below it.
  [[nodiscard]] std::uint32_t capacity() const noexcept { return static_cast<std::uint32_t>(rows_.size()); }

  /// Everything about one worker.
  [[nodiscard]] worker_score of(std::uint32_t worker, double now) const noexcept {
    const row& w = rows_[worker];
    const double waiting = w.is == phase::waiting ? (std::max)(now - w.since, 0.0) : 0.0;
    return {.relative = relative(worker),
            .individual = individual(worker),
            .step_time = w.recent,
            .lateness = lateness(worker, now),
            .waiting = waiting,
            .waited = w.waited + waiting,
            .gradients = w.gradients,
            .staleness = w.staleness};
  }

  /// Best recent step time of all workers / its own, at most 1; 0 before its first step is over.
  [[nodiscard]] float relative(std::uint32_t worker) const noexcept {
    return rows_[worker].recent > 0.0F ? (std::min)(extremes().best / rows_[worker].recent, 1.0F) : 0.0F;
  }
  /// Its own best recent step time / its recent one; 0 before its first step is over.
  [[nodiscard]] float individual(std::uint32_t worker) const noexcept {
    return rows_[worker].recent > 0.0F ? rows_[worker].best / rows_[worker].recent : 0.0F;
  }
  /// Time beyond the step time that is expected of it; 0 if it is not in a step.
  [[nodiscard]] double lateness(std::uint32_t worker, double now) const noexcept {
    const row& w = rows_[worker];
    return w.is == phase::working ? (std::max)(now - w.since - expected(w), 0.0) : 0.0;
  }

  /// Who is in a step for more than `times` the step time that is expected, worst first; among equals by index. Valid
  /// until the next call.
  [[nodiscard]] std::span<const late_worker> missing(double now, double times = 3.0) noexcept {
    std::size_t found = 0;
    for (std::uint32_t i = 0; i < capacity(); ++i) {
      const row& w = rows_[i];
      if (w.is != phase::working) continue;
      const double ratio = (now - w.since) / expected(w);
      if (ratio > times) late_[found++] = {.worker = i, .running = now - w.since, .times = ratio};
    }
    const std::span all{late_.data(), found};
    std::sort(all.begin(), all.end(), [](const late_worker& a, const late_worker& b) {
      return a.times != b.times ? a.times > b.times : a.worker < b.worker;
    });
    return all;
  }

 private:
  enum class phase : std::uint8_t { unknown, waiting, working, arrived, done, gone };

  static constexpr std::uint64_t no_round = ~std::uint64_t{0};
  struct share {
    std::uint64_t round = no_round;
    std::uint32_t gradients = 0;
  };
  struct row {
    phase is = phase::unknown;
    std::uint32_t incarnation = 0;
    float recent = 0.0F;
    float best = 0.0F;
    double since = 0.0;  // when its phase began
    double waited = 0.0;
    std::uint64_t joins = no_round;  // the round that takes the gradient in flight
    bool doomed = false;             // that round was discarded
    share recent_round{};    // the latest that took gradients of it
    share switched_round{};  // the one that was open at the latest switch
    gradient_fates gradients{};
    staleness_histogram staleness{};
  };
  static_assert(sizeof(row) + sizeof(late_worker) <= 216, "what it takes for a worker is said above");
  struct range {
    float best = 0.0F;  // 0: nobody has finished a step
    float worst = 0.0F;
  };

  void enter(row& w, const record& r) noexcept {
    forget(w);
    w.incarnation = r.worker.incarnation;
    w.recent = w.best = 0.0F;
    wait(w, r.now);
  }

  void start(row& w, const record& r) noexcept {
    if (w.is == phase::waiting) w.waited += (std::max)(r.now - w.since, 0.0);
    w.incarnation = r.worker.incarnation;
    w.is = phase::working;
    w.since = r.now;
  }

  void arrive(row& w, const record& r) noexcept {
    w.incarnation = r.worker.incarnation;
    ++w.gradients.pushed;
    ++w.staleness.counts[staleness_histogram::bucket_of(r.staleness)];
    if (r.decided == verdict::drop)
      lose(w, r.because, 1);
    else
      ++w.gradients.in_flight;
    w.joins = r.decided == verdict::accumulate ? r.round : no_round;
    w.doomed = false;
    if (w.joins != no_round) latest_round_ = w.joins;
    // A step that began before this object watched, or before a load, has no beginning to measure from.
    const bool measured = w.is == phase::working && r.because != reason::cancelled && r.now >= w.since;
    if (measured) note_step_time(w, r.now - w.since);
    w.is = phase::arrived;
  }

  void finish(row& w, const record& r) noexcept {
    if (r.decided != verdict::drop && w.gradients.in_flight > 0) {
      --w.gradients.in_flight;
      if (r.because == reason::failed || w.doomed) {
        lose(w, r.because == reason::failed ? reason::failed : reason::switched, 1);
      } else {
        ++w.gradients.contributed;
        if (w.joins != no_round) note_share(w);
      }
    }
    if (w.is == phase::arrived && w.incarnation == r.worker.incarnation) wait(w, r.now);
  }

  void leave(row& w, const record& r) noexcept {
    if (w.is == phase::waiting) w.waited += (std::max)(r.now - w.since, 0.0);
    w.is = r.why == cause::done ? phase::done : phase::gone;
    if (w.is == phase::gone) forget(w);
  }

  static void wait(row& w, double now) noexcept {
    w.is = phase::waiting;
    w.since = now;
  }

  static void lose(row& w, reason why, std::uint32_t gradients) noexcept {
    if (why < gradient_fates::first || why > gradient_fates::last) return;
    w.gradients.lost_for[static_cast<std::size_t>(why) - static_cast<std::size_t>(gradient_fates::first)] += gradients;
  }

  void note_share(row& w) const noexcept {
    share& s = w.joins == switched_round_ ? w.switched_round : w.recent_round;
    s = {w.joins, s.round == w.joins ? s.gradients + 1 : 1};
  }

  // Only a round that is open at a switch can be discarded with gradients in it, but perhaps long after, by the last
  // commit to it.
  void keep_open_round() noexcept {
    switched_round_ = latest_round_;
    for (row& w : rows_)
      if (w.recent_round.round == switched_round_) w.switched_round = w.recent_round, w.recent_round = {};
  }

  void take_back(std::uint64_t round) noexcept {
    for (row& w : rows_) {
      // The commit that makes a discarded round complete is reported after the discard.
      w.doomed = w.doomed || (w.gradients.in_flight > 0 && w.joins == round);
      for (share* s : {&w.recent_round, &w.switched_round}) {
        if (s->round != round) continue;
        w.gradients.contributed -= s->gradients;
        lose(w, reason::switched, s->gradients);
        *s = {};
      }
    }
  }

  void note_step_time(row& w, double duration) noexcept {
    const float time = static_cast<float>((std::max)(duration, 1e-30));
    forget(w);
    w.recent = w.recent > 0.0F ? w.recent + 0.2F * (time - w.recent) : time;
    w.best = w.best > 0.0F ? (std::min)(w.best, w.recent) : w.recent;
    if (!known_) return;
    range_.best = range_.best > 0.0F ? (std::min)(range_.best, w.recent) : w.recent;
    range_.worst = (std::max)(range_.worst, w.recent);
  }

  // The range is no longer known once one of its ends may have gone.
  void forget(const row& w) noexcept {
    if (w.recent > 0.0F && (w.recent <= range_.best || w.recent >= range_.worst)) known_ = false;
  }

  [[nodiscard]] const range& extremes() const noexcept {
    if (known_) return range_;
    range_ = {};
    for (const row& w : rows_) {
      if (w.recent <= 0.0F || w.is == phase::gone) continue;
      range_.best = range_.best > 0.0F ? (std::min)(range_.best, w.recent) : w.recent;
      range_.worst = (std::max)(range_.worst, w.recent);
    }
    known_ = true;
    return range_;
  }

  [[nodiscard]] double expected(const row& w) const noexcept {
    const float time = w.recent > 0.0F ? w.recent : extremes().worst;
    return time > 0.0F ? static_cast<double>(time) : std::numeric_limits<double>::infinity();
  }

  std::vector<row> rows_;
  std::vector<late_worker> late_;  // as many as there could be, so that copies need not allocate either
  std::uint64_t latest_round_ = no_round - 1;  // that was admitted to
  std::uint64_t switched_round_ = no_round - 1;
  mutable range range_{};
  mutable bool known_ = true;
};

static_assert(Observer<scores>);

}  // namespace rubato::inline RUBATO_ABI

#endif
