#ifndef RUBATO_ADAPT_SWITCH_TIMING_HPP
#define RUBATO_ADAPT_SWITCH_TIMING_HPP

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../core/number_text.hpp"
#include "../core/result.hpp"
#include "../pinned.hpp"
#include "welch.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// When a switch point counts as good enough.
enum class switch_acceptance : std::uint8_t {
  mean,  ///< its mean accuracy is at most `beta` below the target, but for 1e-9 of rounding
  welch  ///< Welch's one-sided test refutes, at `level`, that its true mean is more than `beta` below the target's:
         ///< noise then leads to a later switch, not to a lower accuracy
};

/// What training synchronously throughout comes to.
struct switch_target {
  sample_summary accuracy{};  ///< of the runs that did not diverge
  double time = 0;            ///< mean of the same, in the host's unit; what costs are measured in
};

/// The largest accuracy, down to its negative, and the largest time that a search takes, so that no mean is infinite.
inline constexpr double most_switch_value = 1e100;

/// How to search for a switch point.
struct switch_search_options {
  double beta = 0.01;                     ///< accuracy that may be lost
  std::optional<switch_target> stored{};  ///< of a job that recurs: the target is known, and costs nothing
  std::uint32_t target_runs = 5;          ///< synchronous trainings that the target is the mean of; 0 with `stored`
  std::uint32_t runs = 5;                 ///< trainings of each candidate
  std::uint32_t most_candidates = 8;      ///< 1 to 64; 8 go down to 1/256 of the workload
  bool stops_at_failure = true;  ///< else it goes on by bisection between the last failure and the last success
  switch_acceptance acceptance = switch_acceptance::mean;  ///< what a candidate must come to
  double level = 0.05;                                     ///< of the test
  bool charges_diverged = false;  ///< a diverged run costs its time, until it was noticed; else nothing
  std::vector<double> levels{};   ///< the only shares to be tried, ascending, between 0 and 1; none: any
  double least_share = 0;  ///< no smaller one is tried: where shares that are less than a barrier are the same training
};

/// A training that a search asks for: synchronous for the first `share` of the workload, asynchronous after that.
struct switch_trial {
  double share = 1;              ///< in (0, 1]; 1: synchronous throughout
  std::uint32_t repetition = 0;  ///< 0 is the first at this share
  friend bool operator==(const switch_trial&, const switch_trial&) noexcept = default;
};

/// What such a training came to.
struct switch_outcome {
  double accuracy = 0;    ///< at the end; more is better. Of no matter if it diverged
  double time = 0;        ///< of the whole training, above 0; if it diverged, until that was noticed, or 0
  bool diverged = false;  ///< training broke down
};

/// A share and its trainings so far.
struct switch_point {
  double share = 1;                    ///< of the workload that is synchronous
  std::vector<switch_outcome> runs{};  ///< by repetition
  std::uint32_t diverged = 0;          ///< how many of them did
  sample_summary accuracy{};           ///< of the others
  double time = 0;                     ///< mean of the others; 0 for none
  bool judged = false;                 ///< no more are asked for
  bool passed = false;                 ///< it is good enough
};

/// A share with these runs, summarised, and not judged.
///
/// Cost    O(runs); allocates. Thread-safe.
///
/// Tests   tests/adapt/switch_timing_test.cpp: DivergedTargetRunsDoNotCount
[[nodiscard]] inline switch_point summary_of(double share, std::vector<switch_outcome> runs) {
  switch_point point{.share = share, .runs = std::move(runs)};
  std::vector<double> accuracies;
  for (const switch_outcome& run : point.runs) {
    if (run.diverged) {
      ++point.diverged;
      continue;
    }
    accuracies.push_back(run.accuracy);
    point.time += run.time;
  }
  point.accuracy = summary_of(accuracies);
  if (!accuracies.empty()) point.time /= static_cast<double>(accuracies.size());
  return point;
}

/// What is wrong with these options, as a sentence that names field, value and expectation; empty if nothing is.
[[nodiscard]] inline std::string problem(const switch_search_options& o) {
  const auto wrong = [](std::string field, const std::string& found, const std::string& expected) {
    return field.append(" is ").append(found).append(", expected ").append(expected);
  };
  const auto number = [](double x) { return rubato::detail::text_of(x); };
  const auto positive = [](double x) { return pinned::is_finite(x) && x > 0; };
  const std::string most = number(most_switch_value);
  if (o.acceptance != switch_acceptance::mean && o.acceptance != switch_acceptance::welch)
    return wrong("acceptance", std::to_string(static_cast<unsigned>(o.acceptance)), "mean or welch");
  const bool tests = o.acceptance == switch_acceptance::welch;
  if (!pinned::is_finite(o.beta) || o.beta < 0) return wrong("beta", number(o.beta), "a finite number of 0 or more");
  if (o.stored && o.target_runs != 0)
    return wrong("target_runs", std::to_string(o.target_runs), "0 beside a stored target");
  if (!o.stored && o.target_runs < (tests ? 2U : 1U))
    return wrong("target_runs", std::to_string(o.target_runs), tests ? "at least 2 for a test" : "at least 1");
  if (o.stored && o.stored->accuracy.size < (tests ? 2U : 1U))
    return wrong("stored.accuracy.size", std::to_string(o.stored->accuracy.size),
                 tests ? "at least 2 for a test" : "at least 1");
  if (o.stored && !pinned::within(o.stored->accuracy.mean, -most_switch_value, most_switch_value))
    return wrong("stored.accuracy.mean", number(o.stored->accuracy.mean), "a number from -" + most + " to " + most);
  constexpr double most_variance = most_switch_value * most_switch_value;
  if (o.stored && !pinned::within(o.stored->accuracy.variance, 0, most_variance))
    return wrong("stored.accuracy.variance", number(o.stored->accuracy.variance),
                 "a number from 0 to " + number(most_variance));
  if (o.stored && !(pinned::within(o.stored->time, 0, most_switch_value) && o.stored->time > 0))
    return wrong("stored.time", number(o.stored->time), "a number above 0, at most " + most);
  if (o.runs < (tests ? 2U : 1U))
    return wrong("runs", std::to_string(o.runs), tests ? "at least 2 for a test" : "at least 1");
  if (o.most_candidates < 1 || o.most_candidates > 64)
    return wrong("most_candidates", std::to_string(o.most_candidates), "1 to 64");
  if (tests && !(positive(o.level) && o.level < 1))
    return wrong("level", number(o.level), "a probability between 0 and 1");
  if (!pinned::within(o.least_share, 0, 1)) return wrong("least_share", number(o.least_share), "a share from 0 to 1");
  for (std::size_t i = 0; i < o.levels.size(); ++i) {
    const std::string field = "levels[" + std::to_string(i) + "]";
    if (!positive(o.levels[i]) || o.levels[i] >= 1) return wrong(field, number(o.levels[i]), "a share between 0 and 1");
    if (i > 0 && o.levels[i] <= o.levels[i - 1])
      return wrong(field, number(o.levels[i]), "more than the one before, " + number(o.levels[i - 1]));
  }
  return {};
}

/// Finds out how early a job can switch from synchronous to asynchronous training without losing accuracy: the search
/// of Sync-Switch. It asks for trainings, one after another, and is told what they came to; who makes them is the host.
///
///     auto made = adapt::switch_search::make({.target_runs = 3, .runs = 3});
///     if (!made) return made.error();
///     adapt::switch_search& search = *made;
///     while (!search.done()) {
///       const adapt::switch_trial trial = search.next();
///       if (error refused = search.report(trial, train(trial.share)); refused.code != errc::ok) return refused;
///     }
///     if (const std::optional<double> share = search.share()) use(*share);  // none: there was no target
///
/// First the target is measured, by trainings that are synchronous throughout (share 1), unless it is stored. Then
/// shares are tried: halfway between the smallest that was good enough, at first 1, and the largest that was not, at
/// first 0. If only `levels` may be tried, the nearest one between the two is, of two the smaller. The search ends at
/// the first candidate that is not good enough, or, if it goes on, when there is nothing left between the two; before
/// one below `least_share`, and after `most_candidates` in any case. It never asks for more than target_runs + runs x
/// most_candidates trainings.
///
/// A candidate of which a run diverges has failed, without further runs. Synchronous runs that diverge do not count for
/// the target; if none is left, or of a test fewer than two, the search is over and has no answer. Accuracy need not
/// fall with the share, so what is found may be local: curve() has all that was seen.
///
/// A search is a function of its options and of what is reported to it, in order, and of nothing else. To resume one,
/// make it anew and report the runs in curve() again; a run that it does not ask for is refused, which tells of other
/// options.
/// Errors  make(): invalid_option. report(), judge_now(): invalid_option, and nothing has changed
/// Thread  not thread-safe; copies are independent
/// Cost    O(runs of the point) per report; allocates
///
/// Tests   tests/adapt/switch_timing_test.cpp: HalvesUntilTheFirstFailure, ExactlyBetaBelowIsGoodEnough,
///         GoesOnByBisection, TriesOnlyLevels, LargestValuesAreJudged, JudgesATargetOfDivergedRuns,
///         StoredTargetCostsNothing, CostsAreAsDefined, DivergedCandidateHasFailed, DivergedRunsCostWhatIsAsked,
///         DivergedTargetRunsDoNotCount, WithoutATargetThereIsNoAnswer, ReportsAgainResume, RefusesWhatItDidNotAskFor,
///         RefusesBadOptions, NeverAsksForMoreThanPromised, TheTestIsSaferThanTheMeanInNoise, CandidatesHaveALimit,
///         NoneBelowTheLeastIsTried, JudgesWhatItHasNotAskedFor, JudgesWithFewerRuns;
///         tests/adapt/logged_search_test.cpp
/// Source  Li, Mangoubi, Xu, Guo, "Sync-Switch: Hybrid Parameter Synchronization for Distributed Deep Learning", ICDCS
///         2021, IV-B1; the rule is the one that its Table II follows from, see docs/sync-switch-results.md
class switch_search {
 public:
  /// Errors: invalid_option, with problem(options).
  [[nodiscard]] static result<switch_search> make(switch_search_options options) {
    if (std::string wrong = problem(options); !wrong.empty())
      return error{errc::invalid_option, "switch_search: " + std::move(wrong)};
    return switch_search{std::move(options)};
  }

  [[nodiscard]] bool done() const noexcept { return over_; }  ///< nothing more is asked for
  /// The training to be made now. Precondition: !done().
  [[nodiscard]] switch_trial next() const noexcept {
    RUBATO_ASSERT(!over_, "switch_search: next() after done()");
    return {points_.back().share, static_cast<std::uint32_t>(points_.back().runs.size())};
  }
  /// How many trainings at next().share are still to come, this one included, if none diverges: they may be made at the
  /// same time, and reported in order for as long as they are asked for. 0 if done().
  [[nodiscard]] std::uint32_t ahead() const noexcept {
    return over_ ? 0 : wanted(points_.back()) - static_cast<std::uint32_t>(points_.back().runs.size());
  }

  /// What the training `trial`, which must be next(), came to.
  [[nodiscard]] error report(const switch_trial& trial, const switch_outcome& what) {
    if (over_) return refused("found " + name_of(trial) + " after the end of the search, expected none");
    if (!(trial == next())) return refused("found " + name_of(trial) + ", expected " + name_of(next()));
    const std::string most = rubato::detail::text_of(most_switch_value);
    if (!pinned::within(what.time, 0, most_switch_value) || (!what.diverged && what.time <= 0))
      return refused(name_of(trial) + ": found the time " + rubato::detail::text_of(what.time) +
                     ", expected a number above 0, at most " + most);
    if (!what.diverged && !pinned::within(what.accuracy, -most_switch_value, most_switch_value))
      return refused(name_of(trial) + ": found the accuracy " + rubato::detail::text_of(what.accuracy) +
                     ", expected a number from -" + most + " to " + most + ", or that the run has diverged");
    switch_point& point = points_.back();
    point.runs.push_back(what);
    if (what.diverged) ++point.diverged;
    const bool failed = what.diverged && !is_target(point);
    if (failed || point.runs.size() == wanted(point)) judge();
    return {};
  }

  /// Goes on with the runs that next().share has so far, for who cannot make more. The test needs two of them, and two
  /// of the target's. If too few of the target's have not diverged, the search is over, as ever.
  [[nodiscard]] error judge_now() {
    if (over_) return refused("found judge_now() after the end of the search, expected none");
    const std::size_t made = points_.back().runs.size(), fewest = fewest_runs();
    if (made < fewest)
      return refused("found judge_now() after " + std::to_string(made) + " runs at share " +
                     rubato::detail::text_of(points_.back().share) + ", expected at least " + std::to_string(fewest));
    judge();
    return {};
  }

  /// All shares so far in the order of their trials, the target's first unless it was stored; the last one may be open.
  /// Valid until the next report.
  [[nodiscard]] std::span<const switch_point> curve() const noexcept { return points_; }
  /// What candidates are judged by; none while it is not known.
  [[nodiscard]] const std::optional<switch_target>& target() const noexcept { return target_; }
  /// The smallest share so far that was good enough; 1 if no candidate was, none without a target.
  [[nodiscard]] std::optional<double> share() const noexcept { return target_ ? std::optional{passed_} : std::nullopt; }
  [[nodiscard]] const switch_search_options& options() const noexcept { return options_; }  ///< as they were given
  /// Trainings that a share needs to be judged by: two for the test, else one.
  [[nodiscard]] std::size_t fewest_runs() const noexcept {
    return options_.acceptance == switch_acceptance::welch ? 2 : 1;
  }

  /// Whether trainings of this accuracy, at whatever share, are good enough. Precondition: target(), and as many
  /// trainings as fewest_runs().
  [[nodiscard]] bool is_good_enough(const sample_summary& accuracy) const noexcept {
    RUBATO_ASSERT(target_.has_value(), "switch_search: is_good_enough() without a target");
    // Accuracies are decimals: 0.92 - 0.91 is above 0.01 for a double, and is not to be for a search.
    if (options_.acceptance == switch_acceptance::mean)
      return target_->accuracy.mean - accuracy.mean <= options_.beta + rounding;
    return welch_p(accuracy, target_->accuracy, -options_.beta) <= options_.level;
  }

  /// Time of all trainings so far, in synchronous trainings; 0 without a target.
  [[nodiscard]] double cost() const noexcept {
    double time = 0;
    for (const switch_point& point : points_)
      for (const switch_outcome& run : point.runs)
        if (!run.diverged || options_.charges_diverged) time += run.time;
    return target_ ? time / target_->time : 0.0;
  }
  /// How often the job must recur until what share() saves has paid for cost(); infinite if it saves nothing.
  [[nodiscard]] double amortization() const noexcept {
    const double saved = target_ ? 1 - time_ / target_->time : 0.0;
    return saved > 0 ? cost() / saved : (std::numeric_limits<double>::infinity)();
  }
  /// Trainings that were good enough to be used, the target's included, for the cost of one synchronous training: above
  /// 1 the search was a better use of the machines than training synchronously as often. 0 if nothing was paid.
  [[nodiscard]] double effective() const noexcept {
    double useful = 0;
    for (const switch_point& point : points_)
      if (point.passed) useful += static_cast<double>(point.runs.size() - point.diverged);
    const double paid = cost();
    return paid > 0 ? useful / paid : 0.0;
  }

 private:
  explicit switch_search(switch_search_options options) : options_{std::move(options)}, target_{options_.stored} {
    if (target_) time_ = target_->time;
    target_ ? begin_candidate() : points_.push_back({.share = 1});
  }

  [[nodiscard]] static bool is_target(const switch_point& point) noexcept { return point.share == 1; }
  [[nodiscard]] std::uint32_t wanted(const switch_point& point) const noexcept {
    return is_target(point) ? options_.target_runs : options_.runs;
  }

  [[nodiscard]] static std::string name_of(const switch_trial& trial) {
    return "run " + std::to_string(trial.repetition) + " at share " + rubato::detail::text_of(trial.share);
  }
  [[nodiscard]] static error refused(std::string why) {
    return {errc::invalid_option, "switch_search: " + std::move(why)};
  }

  void judge() {
    switch_point& point = points_.back();
    point = summary_of(point.share, std::move(point.runs));
    point.judged = true;
    if (is_target(point)) {
      point.passed = point.accuracy.size >= fewest_runs();
      if (!point.passed) return end();
      target_ = {point.accuracy, point.time};
      time_ = point.time;
      return begin_candidate();
    }
    point.passed = point.diverged == 0 && is_good_enough(point.accuracy);
    if (point.passed) {
      passed_ = point.share;
      time_ = point.time;
    } else {
      failed_ = point.share;
      if (options_.stops_at_failure) return end();
    }
    begin_candidate();
  }

  void begin_candidate() {
    const std::optional<double> middle = between();
    if (!middle || *middle < options_.least_share || candidates_ == options_.most_candidates) return end();
    ++candidates_;
    points_.push_back({.share = *middle});
  }

  // The share to be tried next; none if there is nothing left.
  [[nodiscard]] std::optional<double> between() const noexcept {
    const double middle = (failed_ + passed_) / 2;
    std::optional<double> nearest;
    if (options_.levels.empty() && middle > failed_ && middle < passed_) nearest = middle;
    for (const double level : options_.levels)
      if (level > failed_ && level < passed_ &&
          (!nearest || std::abs(level - middle) < std::abs(*nearest - middle) - rounding))
        nearest = level;
    return nearest;
  }

  void end() noexcept { over_ = true; }

  static constexpr double rounding = 1e-9;  // is not to decide, whether of two levels as near or at `beta` itself

  switch_search_options options_;
  std::optional<switch_target> target_;
  std::vector<switch_point> points_;
  double passed_ = 1;  // the smallest share that was good enough
  double failed_ = 0;  // the largest that was not
  double time_ = 0;    // mean of a training at the former
  std::uint32_t candidates_ = 0;
  bool over_ = false;
};

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
