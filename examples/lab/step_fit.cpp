#include "step_fit.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "step_mixture.hpp"
#include "support/statistics.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

constexpr double reason_to_believe = 4;  // of a log-likelihood: that a worker sleeps at every step

[[nodiscard]] std::vector<double> by_worker(const step_fit& fit) {
  std::vector<double> sum(fit.base.size());
  for (const fitted_step& each : fit.steps) sum[each.worker] += each.log_density;
  return sum;
}

[[nodiscard]] bool any_of(std::span<const char> flags) {
  return std::ranges::any_of(flags, [](char each) { return each != 0; });
}

// Workers most of whose steps sleep.
[[nodiscard]] std::vector<habit> mostly_asleep(const step_fit& fit) {
  constexpr double most = 0.7, enough = 8;
  std::vector<double> slept(fit.base.size()), count(fit.base.size());
  for (const fitted_step& each : fit.steps) {
    slept[each.worker] += each.sleeps;
    count[each.worker] += 1;
  }
  std::vector<habit> habits(fit.base.size());
  for (std::size_t w = 0; w < habits.size(); ++w)
    habits[w] = count[w] >= enough && slept[w] > most * count[w] ? habit::yes : habit::no;
  return habits;
}

// What is simpler if it explains the steps about as well.
[[nodiscard]] step_fit solve(std::span<const usable_step> steps, std::span<const unfinished_step> unfinished,
                             std::uint32_t cores, std::span<const habit> habits) {
  step_fit none = fit_mixture(steps, unfinished, cores, habits, false);
  step_fit some = fit_mixture(steps, unfinished, cores, habits, true);
  return some.score() > none.score() ? some : none;
}

// With those for sleepers whose steps are explained better so.
[[nodiscard]] step_fit solve(std::span<const usable_step> steps, std::span<const unfinished_step> unfinished,
                             std::uint32_t workers, std::uint32_t cores) {
  const auto with = [&](std::span<const habit> habits) { return solve(steps, unfinished, cores, habits); };
  step_fit awake = with(std::vector<habit>(workers, habit::no));
  step_fit best = awake;
  const auto keep_if_better = [&](step_fit&& other) {
    if (other.score() > best.score()) best = std::move(other);
  };
  step_fit asleep = with(std::vector<habit>(workers, habit::if_steps_scatter));
  if (any_of(asleep.sleepers)) {
    const std::vector<double> if_asleep = by_worker(asleep), if_awake = by_worker(awake);
    std::vector<habit> habits(workers, habit::no);
    bool all = true;
    for (std::uint32_t w = 0; w < workers; ++w) {
      const bool believed = asleep.sleepers[w] != 0 && if_asleep[w] > if_awake[w] + reason_to_believe;
      all &= believed == (asleep.sleepers[w] != 0);
      if (believed) habits[w] = habit::yes;
    }
    keep_if_better(std::move(asleep));
    if (!all) keep_if_better(with(habits));
  }
  if (const std::vector<habit> habits = mostly_asleep(awake); std::ranges::count(habits, habit::yes) > 0)
    keep_if_better(with(habits));
  return best;
}

// Whoever sleeps does so whatever the number of cores: who was found with one of them is tried with the others. For a
// short sleep on few cores hardly shows.
void share_habits(std::vector<step_fit>& fits, std::span<const usable_step> steps,
                  std::span<const unfinished_step> unfinished, std::uint32_t workers) {
  constexpr std::size_t most = 3;
  std::map<std::vector<char>, double> found;  // and the best score with them
  for (const step_fit& each : fits)
    if (any_of(each.sleepers)) {
      const auto at = found.try_emplace(each.sleepers, each.score()).first;
      at->second = std::max(at->second, each.score());
    }
  std::vector<std::pair<double, std::vector<char>>> likeliest;
  for (const auto& [who, score] : found) likeliest.emplace_back(score, who);
  std::ranges::sort(likeliest, std::greater{});
  if (likeliest.size() > most) likeliest.resize(most);
  for (step_fit& fit : fits)
    for (const auto& [score, who] : likeliest) {
      if (who == fit.sleepers) continue;
      std::vector<habit> habits(workers);
      std::ranges::transform(who, habits.begin(), [](char each) { return each != 0 ? habit::yes : habit::no; });
      step_fit other = solve(steps, unfinished, fit.cores, habits);
      if (other.score() > fit.score()) fit = std::move(other);
    }
}

// Beyond them, in whatever unit, squares and quotients are no numbers.
constexpr double shortest_length = 1e-100;
constexpr double longest_length = 1e100;

[[nodiscard]] std::vector<usable_step> usable_steps(const decision_history& history, const step_fit_options& options) {
  const double service = service_time(history);
  const std::size_t count = std::min(history.steps.size(), options.most_steps);
  std::vector<usable_step> steps;
  steps.reserve(count);
  double free_at = -std::numeric_limits<double>::infinity();
  for (const logged_step& each : std::span{history.steps}.first(count)) {
    const double share = each.batch == 0 ? 1.0 : static_cast<double>(each.batch) / options.nominal_batch;
    const bool waited = service > 0 && std::abs(each.end - free_at) <= 1e-6 * service;
    const bool is_length = each.length() >= shortest_length && each.length() <= longest_length;
    steps.push_back({each.worker, each.start, each.end, share, each.whole && !waited && is_length});
    free_at = std::max(free_at, each.served);
  }
  return steps;
}

}  // namespace

std::vector<std::uint32_t> cores_to_try(std::uint32_t workers) {
  std::vector<std::uint32_t> all;
  for (double c = 1; c < workers; c = std::max(c + 1, std::round(c * 1.15)))
    all.push_back(static_cast<std::uint32_t>(c));
  all.push_back(workers);
  return all;
}

double service_time(const decision_history& history) {
  std::vector<double> times;
  for (const logged_step& each : history.steps) times.push_back(each.served - each.end);
  return support::quantile(times, 0.5);
}

std::vector<step_fit> fit_steps(const decision_history& history, const step_fit_options& options) {
  const std::vector<usable_step> steps = usable_steps(history, options);
  const auto counted = std::ranges::count_if(steps, &usable_step::counts);
  if (counted < static_cast<std::ptrdiff_t>(fewest_steps))
    throw support::user_error{history.source + ": found " + std::to_string(counted) +
                              " steps that can be used, expected at least " + std::to_string(fewest_steps)};
  std::vector<step_fit> fits;
  const std::vector<std::uint32_t> candidates =
      options.cores == 0 ? cores_to_try(history.workers)
                         : std::vector<std::uint32_t>{std::min(options.cores, history.workers)};
  for (const std::uint32_t cores : candidates) fits.push_back(solve(steps, history.unfinished, history.workers, cores));
  share_habits(fits, steps, history.unfinished, history.workers);
  // Only what counts says anything.
  for (step_fit& fit : fits) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < steps.size(); ++i)
      if (steps[i].counts) fit.steps[kept++] = fit.steps[i];
    fit.steps.resize(kept);
  }
  return fits;
}

}  // namespace rubato::lab
