#ifndef RUBATO_ADAPT_SWITCH_REPLAY_HPP
#define RUBATO_ADAPT_SWITCH_REPLAY_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "switch_timing.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// Trainings that were made at one share.
struct logged_share {
  double share = 1;  ///< of the workload that was synchronous, in [0, 1]; 1: throughout, 0: not at all
  std::vector<switch_outcome> runs{};  ///< in any order, which changes nothing but the last bits of means
};

/// What a search costs; the figures of switch_search, see there.
struct switch_cost {
  double cost = 0;          ///< time of all trainings, in synchronous ones
  double amortization = 0;  ///< recurrences until the switch has paid for it; may be infinite
  double effective = 0;     ///< usable trainings for the cost of a synchronous one
};

/// Most draws that success_probability() tries.
inline constexpr double most_draws = 2e6;

namespace detail {

[[nodiscard]] inline const logged_share* find_share(std::span<const logged_share> logs, double share) noexcept {
  for (const logged_share& each : logs)
    if (each.share == share) return &each;
  return nullptr;
}

// Ways to draw so many of so many, the order being of no matter.
[[nodiscard]] inline double ways(std::size_t drawn, std::size_t of) noexcept {
  double product = 1;
  for (std::size_t i = 0; i < drawn; ++i) product = product * static_cast<double>(of - i) / static_cast<double>(i + 1);
  return product;
}

// The next of the ascending index lists, in lexical order; false after the last.
[[nodiscard]] inline bool next_draw(std::vector<std::size_t>& drawn, std::size_t of) noexcept {
  const std::size_t n = drawn.size();
  for (std::size_t i = n; i-- > 0;) {
    if (drawn[i] == of - n + i) continue;
    std::iota(drawn.begin() + static_cast<std::ptrdiff_t>(i), drawn.end(), drawn[i] + 1);
    return true;
  }
  return false;
}

// Indices of all runs: those that did not diverge, then the others, the one of the shortest time first. A candidate has
// failed at the first of these, so no more than that one is reported.
[[nodiscard]] inline std::vector<std::size_t> all_runs(const logged_share& from) {
  std::vector<std::size_t> all(from.runs.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const auto others =
      std::stable_partition(all.begin(), all.end(), [&](std::size_t i) { return !from.runs[i].diverged; });
  const auto shortest = std::min_element(
      others, all.end(), [&](std::size_t a, std::size_t b) { return from.runs[a].time < from.runs[b].time; });
  if (shortest != all.end()) std::iter_swap(others, shortest);
  return all;
}

// Reports the runs that were drawn, for as long as they are asked for. If there are fewer than the search wants, it
// goes on with these.
inline error report_draw(switch_search& search, const logged_share& from, std::span<const std::size_t> drawn) {
  const std::uint32_t wanted = search.ahead();
  const std::size_t points = search.curve().size();
  const auto is_open = [&] {
    return !search.done() && search.curve().size() == points && !search.curve().back().judged;
  };
  for (const std::size_t i : drawn) {
    if (!is_open()) return {};
    if (error refused = search.report(search.next(), from.runs[i]); refused.code != errc::ok) return refused;
  }
  if (drawn.size() >= wanted || !is_open()) return {};
  if (drawn.size() < search.fewest_runs())
    return {errc::invalid_option, "logged runs: found " + std::to_string(drawn.size()) + " at share " +
                                      rubato::detail::text_of(from.share) + ", expected at least " +
                                      std::to_string(search.fewest_runs()) + " for a test"};
  return search.judge_now();
}

// Of the draws at the point that is open and at those after it, the share that ends at `answer`.
[[nodiscard]] inline result<double> probability_of(const switch_search& search, std::span<const logged_share> logs,
                                                   double answer, double& left) {
  if (search.done()) return search.share() == answer ? 1.0 : 0.0;
  const switch_trial trial = search.next();
  const logged_share* const from = find_share(logs, trial.share);
  if (from == nullptr || from->runs.empty())
    return error{errc::invalid_option, "logged runs: found none at share " + rubato::detail::text_of(trial.share) +
                                           ", expected at least one"};
  const std::size_t size = search.ahead() < from->runs.size() ? search.ahead() : from->runs.size();
  left -= ways(size, from->runs.size());
  if (left < 0)
    return error{errc::invalid_option, "logged runs: found more than " + rubato::detail::text_of(most_draws) +
                                           " ways to draw runs, expected fewer runs"};
  std::vector<std::size_t> drawn(size);
  std::iota(drawn.begin(), drawn.end(), std::size_t{0});
  double draws = 0, sum = 0;
  // What follows depends on the target's runs themselves, of a candidate's only on whether they passed.
  std::optional<double> after[2];
  do {
    switch_search copy = search;
    if (error refused = report_draw(copy, *from, drawn); refused.code != errc::ok) return refused;
    const bool passed = copy.curve()[search.curve().size() - 1].passed;
    std::optional<double> known = trial.share < 1 ? after[passed] : std::nullopt;
    if (!known) {
      const result<double> found = probability_of(copy, logs, answer, left);
      if (!found) return found;
      after[passed] = known = *found;
    }
    sum += *known;
    ++draws;
  } while (next_draw(drawn, from->runs.size()));
  return sum / draws;
}

// Options that a search on logs can have: it tries the shares that were logged.
[[nodiscard]] inline switch_search_options on_logs(switch_search_options options, std::span<const logged_share> logs) {
  options.levels.clear();
  for (const logged_share& each : logs)
    if (each.share > 0 && each.share < 1 && !each.runs.empty()) options.levels.push_back(each.share);
  std::sort(options.levels.begin(), options.levels.end());
  return options;
}

}  // namespace detail

/// A search with every run in the logs: what it would have come to had these been its trainings. `target_runs`, `runs`
/// and `levels` of the options are of no matter: all runs of a share are reported, and the shares that may be tried are
/// those of the logs. Of a candidate of which some diverged, these are the others and, of the diverged, the one of the
/// shortest time. Without a synchronous run that did not diverge (of a test: two) the search is over, and has no
/// answer.
///
/// Errors  invalid_option: options that switch_search::make refuses; no synchronous runs; too few runs for a test; a
///         share between 0 and 1 twice
/// Cost    O(runs); allocates. Thread-safe.
///
/// Tests   tests/adapt/logged_search_test.cpp: TwelveAndAHalfPerCentOnCifar100, ThePapersPoliciesOnTheOthers,
///         TheTestFindsTheSamePolicies; tests/adapt/switch_replay_test.cpp: RefusesLogsThatCannotBeSearched,
///         TheOrderOfRunsIsOfNoMatter, WithoutATargetThereIsNoAnswerWhateverElseWasLogged
[[nodiscard]] inline result<switch_search> replay(switch_search_options options, std::span<const logged_share> logs) {
  const logged_share* const synchronous = detail::find_share(logs, 1);
  if (!options.stored && (synchronous == nullptr || synchronous->runs.empty()))
    return error{errc::invalid_option, "logged runs: found none at share 1, expected at least one"};
  options = detail::on_logs(std::move(options), logs);
  std::size_t most = 1;
  for (const logged_share& each : logs) most = (std::max)(most, each.runs.size());
  options.runs = static_cast<std::uint32_t>((std::max)(most, std::size_t{2}));
  if (!options.stored) options.target_runs = options.runs;
  result<switch_search> search = switch_search::make(std::move(options));
  if (!search) return search;
  while (!search->done()) {
    const logged_share& from = *detail::find_share(logs, search->next().share);
    if (error refused = detail::report_draw(*search, from, detail::all_runs(from)); refused.code != errc::ok)
      return refused;
  }
  return search;
}

/// What a search costs on average that makes so many synchronous trainings and so many of each candidate, and goes the
/// way of `reference`, such as that of replay(). With `target_runs` 0 the target is stored. Diverged runs cost nothing;
/// a candidate of which one diverged counts as so many that did not, although a search stops at the first: it costs at
/// most that, and nothing if all diverged.
///
/// Precondition: reference.target().
/// Cost    O(points). No allocation. Thread-safe.
///
/// Tests   tests/adapt/logged_search_test.cpp: CostsOfTableTwo;
///         tests/adapt/switch_replay_test.cpp: CostsAreThoseOfASearch, TheOrderOfRunsIsOfNoMatter
[[nodiscard]] inline switch_cost expected_cost(const switch_search& reference, std::uint32_t target_runs,
                                               std::uint32_t runs) noexcept {
  RUBATO_ASSERT(reference.target().has_value(), "expected_cost: a search that has a target");
  const double synchronous = reference.target()->time;
  switch_cost made{.cost = static_cast<double>(target_runs)};
  double useful = made.cost, time = synchronous;
  for (const switch_point& point : reference.curve()) {
    if (point.share == 1) continue;
    made.cost += runs * point.time / synchronous;
    if (point.passed) useful += runs;
    if (point.passed && point.share == reference.share()) time = point.time;
  }
  const double saved = 1 - time / synchronous;
  made.amortization = saved > 0 ? made.cost / saved : (std::numeric_limits<double>::infinity)();
  made.effective = made.cost > 0 ? useful / made.cost : 0.0;
  return made;
}

/// How likely a search with these options ends at share `answer`, if its trainings are drawn from the logs: by all ways
/// to draw them, without replacement, each as likely as the others. A share with fewer runs than the options ask for
/// gives all it has; shares without runs are not tried, so the options' `levels` are of no matter. A draw whose
/// synchronous runs all diverged (of a test: all but one) has no answer.
///
/// The enumeration is exact, and cheap: a candidate's runs matter for what follows only in that they pass or not.
/// Errors  invalid_option: options that switch_search::make refuses; no synchronous runs, and no stored target; more
///         draws than most_draws; too few runs for a test
/// Cost    O(draws of the target's runs x those of the candidates), see most_draws; allocates. Thread-safe.
///
/// Tests   tests/adapt/logged_search_test.cpp: SuccessProbabilities, SuccessProbabilitiesOfThePaper;
///         tests/adapt/switch_replay_test.cpp: ProbabilityByHand, ProbabilitiesOfAllAnswersAddUp,
///         TooManyDrawsAreRefused
[[nodiscard]] inline result<double> success_probability(switch_search_options options,
                                                        std::span<const logged_share> logs, double answer) {
  const result<switch_search> search = switch_search::make(detail::on_logs(std::move(options), logs));
  if (!search) return search.error();
  double left = most_draws;
  return detail::probability_of(*search, logs, answer, left);
}

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
