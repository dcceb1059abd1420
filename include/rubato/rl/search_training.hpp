#ifndef RUBATO_RL_SEARCH_TRAINING_HPP
#define RUBATO_RL_SEARCH_TRAINING_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../pinned.hpp"
#include "checkpoint.hpp"
#include "evaluation.hpp"
#include "search.hpp"
#include "setting.hpp"

namespace rubato::inline RUBATO_ABI::rl {

/// A run to be made: what these parameters cost under this seed.
struct trial {
  std::span<const float> parameters;  ///< valid until run_trials returns
  std::uint64_t seed = 0;             ///< of all that is random in the run
};

/// Makes runs, and writes what each has cost, lower is better, NaN and infinities the worst; in any order, in as many
/// threads as it likes. A cost may depend on nothing but parameters and seed. False: it was stopped, and the costs are
/// of no use.
using run_trials = std::function<bool(std::span<const trial>, std::span<double> costs)>;

/// How candidates are measured, and guesses selected.
struct search_training_options {
  std::uint64_t seed = 1;              ///< of the runs
  std::string task{};                  ///< what is trained on: part of the configuration; at most 240 bytes
  std::uint32_t runs = 24;             ///< for each candidate of a generation; all have the same seeds
  std::uint32_t rounds = 1;            ///< in which they are made, at most `runs`: after each a candidate may be out
  std::uint64_t select_every = 0;      ///< generations; 0: never, and the last guess is the result
  std::uint32_t selection_runs = 100;  ///< of each guess that is selected from; the same each time
  std::string checkpoint{};            ///< path of the file that run() keeps up to date; empty: none
};

/// How a generation went.
struct generation_report {
  std::uint64_t generation = 0;  ///< 0 is the first
  std::uint64_t trials = 0;      ///< since the beginning, without those of selections
  double least_cost = 0;         ///< mean of the best candidate's runs
  double median_cost = 0;        ///< of the candidates, of those out as far as they came
  std::uint32_t out = 0;         ///< candidates that did not have all of their runs
  double step_size = 0;          ///< of the search, after the generation

  friend bool operator==(const generation_report&, const generation_report&) = default;
};

/// What a guess cost in the runs of the selection.
struct selection_report {
  std::uint64_t generation = 0;  ///< before which it was made
  double mean = 0;               ///< infinite where a cost was not finite
  double standard_error = 0;     ///< of the mean; infinite where that is
  bool best = false;             ///< so far

  friend bool operator==(const selection_report&, const selection_report&) = default;
};

/// Called between generations. A report that answers false ends run(), which can be continued.
struct search_callbacks {
  std::function<bool(const generation_report&)> generation{};  ///< after each; empty: go on
  std::function<bool(const selection_report&)> selected{};     ///< after each; empty: go on
};

/// Lets a search try its candidates in noisy runs, one generation after another.
///
///     rl::search_trainer training{*rl::cma_es::make(start, {}), {.runs = 24, .select_every = 10}};
///     training.run(100, measure);
///     use(training.best());
///
/// All candidates of a generation are measured on the same seeds, each generation on new ones. With several `rounds`
/// they race: after each round, those who are worse than the median candidate by more than two standard errors of the
/// difference, seed by seed, have no further runs, and rank behind all who have; behind them those with a cost that is
/// not finite. Every `select_every` generations, and before the first, the search's best guess is measured on seeds of
/// their own; the best of those is best().
///
/// Everything random is keyed by (seed, purpose, generation), and a checkpoint is written after every generation: a
/// training that was killed at any moment and continued ends with the same bits as one that was not.
/// Thread  not thread-safe; what measures may be as parallel as it likes.
/// Tests   tests/rl/search_training_test.cpp: FindsTheMinimumOfNoisyRuns, CandidatesShareTheirSeeds,
///         SeedsAreNewEachGeneration, RacingSavesTrials, WhoIsOutRanksBehind, WhatIsNotFiniteRanksLast,
///         KeepsTheBestGuess, TheLastGuessCompetes, WhoGoesOnDoesNotKnowOfTheLastSelection, KilledAndResumedBitForBit,
///         AnotherConfigurationIsRefused, ACallbackEndsTheRun, StoppedTrialsLeaveNoTrace, NanCostsAreSurvived,
///         ASelectionThatIsNotFiniteIsTheWorst, RefusesBadOptions
template <ParameterSearch Search>
class search_trainer {
 public:
  /// Begins where the search is. Options that are out of range are found by run(), select() and resume().
  search_trainer(Search search, search_training_options options)
      : search_{std::move(search)}, options_{std::move(options)}, best_(search_.dimension()) {
    search_.best_guess(best_);
  }

  /// Searches until so many generations are done since the beginning, or a callback or `measure` says so.
  /// Errors  io: the checkpoint cannot be written; invalid_option
  result<std::uint64_t> run(std::uint64_t generations, const run_trials& measure,
                            const search_callbacks& callbacks = {}) {
    if (error wrong = problem(); wrong.code != errc::ok) return wrong;
    bool more = true;
    while (more) {
      if (selection_is_due()) {
        const std::optional<selection_report> report = measured(measure);
        if (!report) break;
        if (error wrong = keep(); wrong.code != errc::ok) return wrong;
        more = !callbacks.selected || callbacks.selected(*report);
        continue;
      }
      if (search_.generation() >= generations) break;
      const std::optional<generation_report> report = advance(measure);
      if (!report) break;
      if (error wrong = keep(); wrong.code != errc::ok) return wrong;
      more = !callbacks.generation || callbacks.generation(*report);
    }
    return search_.generation();
  }

  /// Selects now, unless the search's best guess has been measured already: so that the last one competes, too. For
  /// the end: no checkpoint is written with it, so a search that goes on from one is none the wiser, as this object
  /// would be. False if `measure` was stopped.
  /// Precondition: run() is not called afterwards.
  /// Errors  invalid_option
  result<bool> select(const run_trials& measure, const search_callbacks& callbacks = {}) {
    if (error wrong = problem(true); wrong.code != errc::ok) return wrong;
    if (!selections_.empty() && selections_.back().generation == search_.generation()) return true;
    const std::optional<selection_report> report = measured(measure);
    if (!report) return false;
    if (callbacks.selected) callbacks.selected(*report);
    return true;
  }

  /// Of the runs of every selection.
  [[nodiscard]] std::vector<std::uint64_t> selection_seeds() const {
    std::vector<std::uint64_t> seeds;
    for (std::uint32_t r = 0; r < options_.selection_runs; ++r)
      seeds.push_back(episode_seed(options_.seed, purpose::selection, r));
    return seeds;
  }

  /// Goes on where the checkpoint was written. On an error nothing has changed.
  /// Errors  io, corrupt, wrong_kind: see detail::read_checkpoint; invalid_option
  [[nodiscard]] result<std::uint64_t> resume() {
    if (error wrong = problem(); wrong.code != errc::ok) return wrong;
    search_trainer loaded = *this;
    error wrong = detail::read_checkpoint(options_.checkpoint, configuration(),
                                          [&loaded](archive& bytes) { loaded.state(bytes); });
    if (wrong.code != errc::ok) return wrong;
    *this = std::move(loaded);
    return search_.generation();
  }

  /// Writes the checkpoint now; its size in bytes. run() does so by itself.
  [[nodiscard]] result<std::uint64_t> save() {
    return detail::write_checkpoint(options_.checkpoint, configuration(), [this](archive& bytes) { state(bytes); });
  }

  [[nodiscard]] const Search& search() const noexcept { return search_; }  ///< as far as it has come
  /// Generations that are done since the beginning.
  [[nodiscard]] std::uint64_t generation() const noexcept { return search_.generation(); }
  /// The parameters to keep: of the selection with the least mean, the first of equals; where nothing was selected, the
  /// search's best guess.
  [[nodiscard]] std::vector<float> best() const {
    std::vector<float> parameters = best_;
    if (selections_.empty()) search_.best_guess(parameters);
    return parameters;
  }
  /// All selections since the beginning: the learning curve.
  [[nodiscard]] std::span<const selection_report> selections() const noexcept { return selections_; }

  /// What must be the same for a checkpoint to be resumed, as "name=value".
  [[nodiscard]] std::vector<std::string> configuration() const {
    std::vector<std::string> lines = {"task=" + options_.task,
                                      detail::setting("seed", options_.seed),
                                      detail::setting("runs", options_.runs),
                                      detail::setting("rounds", options_.rounds),
                                      detail::setting("select_every", options_.select_every),
                                      detail::setting("selection_runs", options_.selection_runs)};
    for (std::string& line : search_.configuration()) lines.push_back(std::move(line));
    return lines;
  }

 private:
  [[nodiscard]] error problem() const { return problem(options_.select_every > 0); }
  [[nodiscard]] error problem(bool selects) const {
    const auto wrong = [](std::string text) { return error{errc::invalid_option, "search training: " + text}; };
    if (options_.task.size() > 240) return wrong("task: expected at most 240 bytes");
    if (options_.runs == 0) return wrong("runs: expected at least 1");
    if (options_.rounds == 0 || options_.rounds > options_.runs)
      return wrong("rounds: expected 1 to " + std::to_string(options_.runs) + ", the number of runs");
    if (selects && options_.selection_runs < 2) return wrong("selection_runs: expected at least 2");
    return {};
  }

  [[nodiscard]] bool selection_is_due() const noexcept {
    if (options_.select_every == 0 || search_.generation() % options_.select_every != 0) return false;
    return selections_.empty() || selections_.back().generation != search_.generation();
  }

  // Infinite where a cost is not finite.
  [[nodiscard]] static double mean_of(const std::vector<double>& costs) noexcept {
    const double mean = std::accumulate(costs.begin(), costs.end(), 0.0) / static_cast<double>(costs.size());
    return pinned::is_finite(mean) ? mean : std::numeric_limits<double>::infinity();
  }

  // Nothing, and nothing has changed, if it was stopped.
  [[nodiscard]] std::optional<selection_report> measured(const run_trials& measure) {
    std::vector<float> guess(search_.dimension());
    search_.best_guess(guess);
    std::vector<trial> trials;
    for (const std::uint64_t seed : selection_seeds()) trials.push_back({guess, seed});
    std::vector<double> costs(trials.size());
    if (!measure(trials, costs)) return std::nullopt;
    const double count = static_cast<double>(costs.size());
    selection_report report{.generation = search_.generation(), .mean = mean_of(costs)};
    double squares = 0;
    for (const double cost : costs) squares += (cost - report.mean) * (cost - report.mean);
    report.standard_error = pinned::is_finite(report.mean) ? std::sqrt(squares / (count - 1) / count) : report.mean;
    report.best = selections_.empty() || report.mean < least_;
    if (report.best) best_ = std::move(guess);
    if (report.mean < least_) least_ = report.mean;
    selections_.push_back(report);
    return report;
  }

  // A candidate in a race.
  struct entrant {
    std::vector<float> parameters;
    std::vector<double> costs;  // of its runs so far
    [[nodiscard]] double mean() const noexcept { return mean_of(costs); }
  };

  // Nothing, and nothing has changed, if it was stopped.
  [[nodiscard]] std::optional<generation_report> advance(const run_trials& measure) {
    std::vector<entrant> field(search_.population());
    for (std::size_t c = 0; c < field.size(); ++c) {
      field[c].parameters.resize(search_.dimension());
      search_.ask(c, field[c].parameters);
    }
    std::vector<std::size_t> racing(field.size());
    std::iota(racing.begin(), racing.end(), std::size_t{0});
    std::uint64_t made = 0;
    std::uint32_t done = 0;
    for (std::uint32_t round = 0; round < options_.rounds; ++round) {
      const auto until = static_cast<std::uint32_t>(std::uint64_t{options_.runs} * (round + 1) / options_.rounds);
      std::vector<trial> trials;
      for (std::uint32_t r = done; r < until; ++r)
        for (const std::size_t c : racing) trials.push_back({field[c].parameters, seed_of(r)});
      std::vector<double> costs(trials.size());
      if (!measure(trials, costs)) return std::nullopt;
      std::size_t next = 0;
      for (std::uint32_t r = done; r < until; ++r)
        for (const std::size_t c : racing) field[c].costs.push_back(costs[next++]);
      made += trials.size();
      done = until;
      if (done < options_.runs) drop_the_worst(racing, field);
    }
    return told(field, made);
  }

  // Behind the median of those still in, beyond doubt.
  void drop_the_worst(std::vector<std::size_t>& racing, const std::vector<entrant>& field) const {
    std::vector<double> means;
    for (const std::size_t c : racing) means.push_back(field[c].mean());
    const entrant& median = field[racing[detail::by_cost(means)[(racing.size() - 1) / 2]]];
    const auto is_worse = [&](std::size_t c) {
      if (!pinned::is_finite(field[c].mean())) return pinned::is_finite(median.mean());
      const std::size_t n = median.costs.size();
      const double difference = field[c].mean() - median.mean();
      double squares = 0;
      for (std::size_t r = 0; r < n; ++r) squares += std::pow(field[c].costs[r] - median.costs[r] - difference, 2);
      return n > 1 && difference > 2 * std::sqrt(squares / static_cast<double>(n * (n - 1)));
    };
    std::erase_if(racing, is_worse);
  }

  [[nodiscard]] generation_report told(const std::vector<entrant>& field, std::uint64_t made) {
    std::vector<double> means;
    for (const entrant& e : field) means.push_back(e.mean());
    std::vector<std::size_t> order = detail::by_cost(means);
    const auto runs_that_count = [&](std::size_t c) { return pinned::is_finite(means[c]) ? field[c].costs.size() : 0; };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return runs_that_count(a) > runs_that_count(b); });
    trials_ += made;
    generation_report report{.generation = search_.generation(),
                             .trials = trials_,
                             .least_cost = means[order.front()],
                             .median_cost = means[order[(order.size() - 1) / 2]]};
    for (const entrant& e : field) report.out += e.costs.size() < options_.runs ? 1U : 0U;
    std::vector<double> ranks(field.size());
    for (std::size_t r = 0, first = 0; r < order.size(); ++r) {
      const std::size_t one = order[r], before = order[first];
      if (runs_that_count(one) != runs_that_count(before) || means[one] != means[before]) first = r;
      ranks[order[r]] = static_cast<double>(first);  // equals stay equal
    }
    search_.tell(ranks);
    report.step_size = search_.step_size();
    return report;
  }

  [[nodiscard]] std::uint64_t seed_of(std::uint32_t run) const noexcept {
    return episode_seed(options_.seed, purpose::training, search_.generation() * options_.runs + run);
  }

  [[nodiscard]] error keep() {
    if (options_.checkpoint.empty()) return {};
    auto done = save();
    return done ? error{} : done.error();
  }

  void state(archive& bytes) {
    search_.state(bytes);
    bytes(trials_, least_);
    std::uint64_t count = selections_.size();
    bytes(count);
    if (!bytes.saving()) selections_.clear();
    for (std::uint64_t i = 0; i < count && bytes.ok(); ++i) {
      if (!bytes.saving()) selections_.emplace_back();
      selection_report& s = selections_.data()[i];
      bytes(s.generation, s.mean, s.standard_error, s.best);
    }
    for (float& x : best_) {
      bytes(x);
      if (!pinned::is_finite(x)) bytes.fail();
    }
  }

  Search search_;
  search_training_options options_;
  std::uint64_t trials_ = 0;
  std::vector<selection_report> selections_;
  std::vector<float> best_;
  double least_ = std::numeric_limits<double>::infinity();
};

}  // namespace rubato::inline RUBATO_ABI::rl

#endif
