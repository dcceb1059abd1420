#ifndef RUBATO_SYNC_KNEE_FINDER_HPP
#define RUBATO_SYNC_KNEE_FINDER_HPP

#include <cmath>
#include <cstdint>
#include <limits>

#include "../dynarray.hpp"
#include "../pinned.hpp"
#include "concepts.hpp"
#include "level_search.hpp"

namespace rubato::inline RUBATO_ABI::detail {

/// What knee knows of a worker.
struct knee_note {
  static constexpr std::uint8_t moved = 2, unknown = 3;
  float usual = 0.0F;            // log of the time of its steps at the best level, from -most_log to most_log
  float speed = 0.0F;            // that it brings into the machine: exp(-usual) while it runs, else 0
  std::uint32_t period = 0;      // in which its step started; 0: another policy let it start
  std::uint8_t doubt = unknown;  // of `usual`: unknown, or how many steps until it counts; moved after a change
};

/// What knee knows and does: it measures steps, moves the level of parallelism, and holds the barrier. `threshold` and
/// `most_scatter` are knee's. View is cluster_view, or what a controller on a device has instead, as is Notes.
template <class View, class Notes>
class basic_knee_finder {
 public:
  void resize(std::uint32_t capacity) { *this = {}, each_ = Notes(capacity); }
  RUBATO_DETAIL_SHARED void reset(std::uint32_t worker) noexcept { take_speed(worker), each_[worker] = {}; }

  RUBATO_DETAIL_UNCHECKED [[nodiscard]] RUBATO_DETAIL_SHARED decision release(const View& view, const event& what,
                                                                              float threshold,
                                                                              float most_scatter) noexcept {
    if (view.alive() != alive_)
      count_members(view.alive());
    else if (what.why == cause::push && what.why_dropped != reason::cancelled)
      measure(view, what.worker, threshold, most_scatter);
    if (what.worker != no_worker) take_speed(what.worker);
    if (what.dropped) owes_turn_ = true;  // it learns nothing from those whose gradients are of no use
    const bool waits = meet(view);
    const std::uint32_t most = smaller(level_, alive_);
    const std::uint32_t busy = view.busy();
    if (!settled_ && busy <= most) settled_ = true, ++period_;
    if (waits || busy >= most) return {.wakes = true, .wake_at = deadline_};
    const bool turn = settled_ && most - busy == 1 && exchanged(owes_turn_, false);
    const release_order order = turn ? release_order::fifo : release_order::fastest;
    return {.verb = release_verb::up_to, .order = order, .count = most - busy, .wakes = true, .wake_at = deadline_};
  }

  /// The worker starts a step.
  RUBATO_DETAIL_UNCHECKED RUBATO_DETAIL_SHARED void start(const View& view, std::uint32_t worker) noexcept {
    longest_batch_ = larger(longest_batch_, log_batch_factor_);
    if (deadline_ != never) deadline_ = larger(deadline_, view.now() + longest());
    knee_note& e = each_[worker];
    take_speed(worker);
    e.period = period_;
    if (e.doubt == unknown) return;
    e.speed = std::exp(-e.usual);
    speeds_ += static_cast<double>(e.speed), known_ += e.speed > 0.0F ? 1U : 0U;
  }

  void allow_for_batch(float factor) noexcept {
    RUBATO_ASSERT(factor > 0.0F, "knee: a step that takes no time for its batch");
    log_batch_factor_ = std::log(factor);
  }

  /// The best level so far.
  [[nodiscard]] RUBATO_DETAIL_SHARED std::uint32_t parallelism() const noexcept { return search_.level(alive_); }
  /// alive / parallelism.
  [[nodiscard]] RUBATO_DETAIL_SHARED float room() const noexcept {
    return static_cast<float>(alive_) / static_cast<float>(parallelism());
  }
  [[nodiscard]] RUBATO_DETAIL_SHARED bool searches() const noexcept { return search_.narrows; }
  [[nodiscard]] RUBATO_DETAIL_SHARED bool has_barrier() const noexcept { return has_barrier_; }

  void state(archive& bytes) {
    search_.state(bytes);
    bytes(alive_, fewest_, members_, level_, period_, count_, strangers_, sum_, squares_, settled_, owes_turn_);
    bytes(scatter_, seen_, home_speed_, first_speeds_, firsts_);
    bytes(limit_, deadline_, log_batch_factor_, longest_batch_, windows_, patience_, has_barrier_);
    for (knee_note& e : each_) {
      bytes(e.usual, e.speed, e.period, e.doubt);
      if (e.doubt > unknown || !pinned::within(e.usual, -most_log, most_log) || !pinned::within(e.speed, 0, most_speed))
        bytes.fail();
    }
    sum_speeds();
    if (level_ == 0 || larger(patience_, search_.patience) > level_search::longest_patience ||
        !pinned::is_finite(static_cast<double>(scatter_ + log_batch_factor_ + longest_batch_) + limit_))
      bytes.fail();
  }

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();
  static constexpr std::uint32_t least_window = 4;
  static constexpr std::uint8_t moved = knee_note::moved, unknown = knee_note::unknown;
  static constexpr float longest_log = 65.0F, most_log = 80.0F, most_speed = 1e38F;

  // What is being compared bears an eighth more or fewer members, or clusters with much coming and going would never be
  // known; beyond that it is void. That few may all run says nothing of twice as many.
  RUBATO_DETAIL_SHARED void count_members(std::uint32_t alive) noexcept {
    const bool tries = level_ != parallelism();
    alive_ = alive;
    if (search_.home == no_worker && alive / 2 >= fewest_) search_anew(), fewest_ = alive;
    has_barrier_ = has_barrier_ && parallelism() == alive_;
    fewest_ = smaller(fewest_, alive);
    const std::uint32_t changed = larger(alive_, members_) - smaller(alive_, members_);
    if (changed > (members_ + 7) / 8 || (tries && smaller(level_, alive_) == parallelism()))
      return go_to(parallelism());
    if (!tries) level_ = parallelism();
  }

  // From everybody down.
  RUBATO_DETAIL_SHARED void search_anew() noexcept {
    search_ = {};
    has_barrier_ = false;
    first_speeds_ = 0.0F, firsts_ = 0;
    for (knee_note& e : each_) e.doubt = unknown;
    go_to(parallelism());
  }

  // It does not run, or not any longer.
  RUBATO_DETAIL_SHARED void take_speed(std::uint32_t worker) noexcept {
    const float speed = exchanged(each_[worker].speed, 0.0F);
    speeds_ -= static_cast<double>(speed);
    known_ -= speed > 0.0F ? 1U : 0U;
    if (known_ == 0) speeds_ = 0.0;  // no rounding error lasts
  }

  // All anew: where speeds change, differences would make rounding errors grow.
  RUBATO_DETAIL_SHARED void sum_speeds() noexcept {
    speeds_ = 0.0, known_ = 0;
    for (const knee_note& e : each_) speeds_ += static_cast<double>(e.speed), known_ += e.speed > 0.0F ? 1U : 0U;
  }

  // Of all that run now, if nothing were shared; who is not known is taken for an average one.
  [[nodiscard]] RUBATO_DETAIL_SHARED float speed(std::uint32_t running) const noexcept {
    return static_cast<float>(speeds_ * running / larger(known_, 1U));
  }

  RUBATO_DETAIL_SHARED void go_to(std::uint32_t level) noexcept {
    level_ = level, members_ = alive_, settled_ = false;
    count_ = strangers_ = 0;
    sum_ = squares_ = 0.0F;
  }

  RUBATO_DETAIL_UNCHECKED RUBATO_DETAIL_SHARED void measure(const View& view, std::uint32_t worker, float threshold,
                                                            float most_scatter) noexcept {
    knee_note& e = each_[worker];
    const std::uint32_t home = parallelism();
    const std::uint32_t at = smaller(level_, alive_);
    const bool at_one_level = settled_ && e.period == period_;  // from start to end
    // Counts as a step beside everybody.
    const bool first = e.doubt == unknown && e.period != 0 && search_.opens() && (at == home || !at_one_level);
    if (!first && !at_one_level) return;
    const float time = std::log(view.step_time_of_submitter()) - log_batch_factor_;
    if (std::abs(time) > longest_log) return;  // none: the host's clock has stepped back
    const std::uint32_t window = larger(least_window, at);
    const float off = time - e.usual;
    if (first || at == home) {
      if (e.doubt == 0) {
        seen_ = smaller(seen_ + 1, 8 * window);
        scatter_ += (off * off - scatter_) / static_cast<float>(seen_);
      }
      e.usual += (e.doubt == 0 ? 0.3F : e.doubt == unknown ? 1.0F : 0.6F) * off;
      e.doubt = e.doubt == unknown || e.doubt == 0 ? 0 : e.doubt - 1;
      if (first) first_speeds_ += std::exp(-time), ++firsts_;
      if (at != home || (!first && ++count_ < std::uint64_t{search_.patience} * window)) return;
      if (seen_ >= window && scatter_ > most_scatter) {
        if (home < alive_) search_anew();
        return;
      }
      home_speed_ = speed(at);
      windows_ += search_.patience;
      try_next(view, threshold);
    } else if (e.doubt != unknown) {
      sum_ += off, squares_ += off * off;
      if (++count_ >= window) compare(view, threshold, most_scatter, count_ >= 3 * window);
    } else if (++strangers_ >= window) {
      go_to(home);  // to know who runs
    }
  }

  // Ends a trial if its samples suffice, or if they have to.
  RUBATO_DETAIL_SHARED void compare(const View& view, float threshold, float most_scatter, bool must_end) noexcept {
    const std::uint32_t home = parallelism();
    const std::uint32_t at = smaller(level_, alive_);
    const auto low = static_cast<float>(smaller(at, home));
    const auto high = static_cast<float>(larger(at, home));
    const auto samples = static_cast<float>(count_);
    const float change = sum_ / samples;
    const float now_speed = speed(at);
    if (search_.opens()) home_speed_ = first_speeds_ * static_cast<float>(home) / static_cast<float>(firsts_);
    const float sign = at > home ? 1.0F : -1.0F;
    const float cost = sign * change;                             // how much longer steps take at the higher level
    const float more = sign * std::log(now_speed / home_speed_);  // throughput there, if they took no longer
    const float gain = more - cost;
    const float margin = gain - threshold * more;
    const float variance = larger(squares_ / samples - change * change, 1e-4F);
    const float sources = search_.opens() ? 2.0F : 1.0F;  // of scatter: what is usual is one step then
    const float here = (squares_ - samples * change * change) / sources, seen = static_cast<float>(seen_);
    const bool scatters = (scatter_ * seen + here) / (seen + samples) > most_scatter;
    const bool sure = scatters || margin * margin * samples > variance;
    if (!sure && !must_end) return;
    const bool tracks = !search_.narrows;
    const bool worth = scatters || (tracks && !sure ? at < home : margin >= 0.0F);
    // Step times and throughput never fall with the level, so a small change bounds that of every level between.
    const float each = more / std::log(high / low);
    const bool all_between = scatters || (worth ? cost <= (1.0F - threshold) * each * std::log(high / (high - 1.0F))
                                                : gain <= threshold * each * std::log((low + 1.0F) / low));
    const bool moves = search_.judge(at, alive_, worth, all_between);
    if (moves) move_home(change, now_speed);
    owes_turn_ = tracks && !moves;
    if (tracks) return go_to(parallelism());
    try_next(view, threshold);
  }

  // The level that was tried is the best one. By how much longer steps take there is known of all together only.
  RUBATO_DETAIL_SHARED void move_home(float change, float speed_there) noexcept {
    const float quicker = std::exp(clamped(-change, -most_log, most_log));
    for (knee_note& e : each_) {
      e.usual = clamped(e.usual + change, -most_log, most_log);
      e.speed = smaller(e.speed * quicker, most_speed);
      if (e.doubt != unknown) e.doubt = moved;
    }
    sum_speeds();
    home_speed_ = speed_there * quicker;
    has_barrier_ = false;
  }

  // Stays at the best level where nothing is left to be tried.
  RUBATO_DETAIL_SHARED void try_next(const View& view, float threshold) noexcept {
    const std::uint32_t level = search_.next(alive_);
    if (level >= alive_ && parallelism() == alive_ && (has_barrier_ || windows_ >= patience_))
      weigh_barrier(view, threshold);
    go_to(level);
  }

  // What a barrier wins is what half the level would: half the staleness. So it may cost as much throughput.
  RUBATO_DETAIL_UNCHECKED RUBATO_DETAIL_SHARED void weigh_barrier(const View& view, float threshold) noexcept {
    double sum = 0.0, longest = 0.0, known = 0.0;
    for (std::uint32_t w = 0; w < each_.size(); ++w) {
      if (each_[w].doubt == unknown || !view.counts(w)) continue;
      const double time = std::exp(static_cast<double>(each_[w].usual));
      sum += time, known += 1.0, longest = larger(longest, time);
    }
    limit_ = std::exp2(static_cast<double>(threshold)) * sum / known;
    has_barrier_ = longest <= limit_;
    if (has_barrier_) return search_.be_patient(2 * level_search::first_patience);
    be_patient();
  }

  RUBATO_DETAIL_SHARED void be_patient() noexcept {
    windows_ = 0;
    patience_ = clamped(2 * patience_, 4 * level_search::first_patience, level_search::longest_patience);
  }

  // That a step of everybody may take.
  RUBATO_DETAIL_SHARED double longest() const noexcept { return limit_ * std::exp(double(longest_batch_)); }

  // Whether those who have come wait for the rest. Steps that take too long say that the cluster is another one now.
  RUBATO_DETAIL_UNCHECKED [[nodiscard]] RUBATO_DETAIL_SHARED bool meet(const View& view) noexcept {
    if (has_barrier_ && view.now() >= deadline_) be_patient(), search_anew();
    const bool met = view.busy() == 0;
    if (met) longest_batch_ = log_batch_factor_;
    if (!has_barrier_ || level_ < alive_)
      deadline_ = never;
    else if (met || deadline_ == never)
      deadline_ = view.now() + longest();
    return deadline_ != never && !met;
  }

  Notes each_{};
  level_search search_{};
  std::uint32_t alive_ = 0;
  std::uint32_t fewest_ = 0;     // that were there since the search from everybody down began
  std::uint32_t members_ = 0;    // alive when what is being measured began
  std::uint32_t level_ = 1;      // in force
  std::uint32_t period_ = 0;     // grows when all that run are of one level
  std::uint32_t count_ = 0;      // samples in this window
  std::uint32_t strangers_ = 0;  // steps in it of workers that were never seen at the best level
  std::uint32_t firsts_ = 0;     // steps that are their workers' first since the search began
  std::uint32_t known_ = 0;      // workers of known speed that run
  std::uint32_t windows_ = 0;    // at the best level, since a barrier was given up
  std::uint32_t patience_ = 0;   // so many before another
  double speeds_ = 0.0;          // sum of the speeds of those that are known and run
  double limit_ = 0.0;           // how long a step of everybody may take at the barrier
  double deadline_ = never;      // when it will have taken that long; never while nobody waits for the others
  float first_speeds_ = 0.0F;    // sum of the speeds in the first steps
  float home_speed_ = 0.0F;     // of all at the best level, told by those that ran last: beside a barrier the latest
  float log_batch_factor_ = 0.0F;  // how much longer a step takes for its batch
  float longest_batch_ = 0.0F;     // the largest such number of what has pushed or started since nobody ran
  float sum_ = 0.0F, squares_ = 0.0F;  // of log(time / usual time) in this trial
  float scatter_ = 0.0F;               // mean square of it, of the last steps at the best level
  std::uint32_t seen_ = 0;             // so many of them
  bool has_barrier_ = false, settled_ = false, owes_turn_ = false;
};

using knee_finder = basic_knee_finder<cluster_view, dynarray<knee_note>>;

}  // namespace rubato::inline RUBATO_ABI::detail

#endif
