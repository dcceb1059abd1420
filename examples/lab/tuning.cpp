#include "tuning.hpp"

#include <algorithm>
#include <iterator>
#include <rubato/sync/asp.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/statistics.hpp"

namespace rubato::lab {
namespace {

struct candidate {
  std::size_t row;
  const named_policy* policy;
  double learning_rate;
  std::vector<double> times{};
  double accuracy = 0;

  // The lower, the better.
  [[nodiscard]] std::tuple<double, double> score() const { return {support::interquartile_mean(times), -accuracy}; }
};

[[nodiscard]] std::vector<candidate> candidates_of(const compare_options& asked) {
  std::vector<candidate> all;
  for (std::size_t row = 0; row < asked.policies.size(); ++row)
    for (const named_policy& policy : asked.policies[row].candidates)
      for (const double factor : tuning_factors)
        all.push_back({row, &policy, factor * asked.scenario.run.learning_rate.base});
  return all;
}

// A run that ends, at the latest, at this time.
[[nodiscard]] job limited(const comparison& made, const any_policy& policy, double learning_rate, std::uint64_t seed,
                          double limit) {
  job run{setting_of(made, seed, learning_rate), &policy, seed};
  run.at.scenario.run.max_time = (std::min)(run.at.scenario.run.max_time, limit);
  return run;
}

// How long asp takes on each seed at the best of the rates; nothing if interrupted.
[[nodiscard]] std::vector<double> times_of_asp(const comparison& made, const runner& run) {
  const any_policy rule = asp{};
  const double base = made.asked.scenario.run.learning_rate.base;
  std::vector<double> best(made.asked.tuning_seeds, made.asked.scenario.run.max_time);
  const auto try_rate = [&](double factor) {
    std::vector<job> jobs;
    for (std::uint32_t i = 0; i < best.size(); ++i)
      jobs.push_back(limited(made, rule, factor * base, tuning_seed(made.asked, i), best[i]));
    const auto measured = run.run(jobs, "tuning, limits");
    for (std::size_t i = 0; i < best.size() && !run.stop; ++i) best[i] = measured[i]->time;
  };
  try_rate(1);
  for (const double factor : tuning_factors)
    if (factor != 1 && !run.stop) try_rate(factor);
  return best;
}

// Row by row, the quickest of each first.
void rank(std::vector<candidate>& all) {
  std::ranges::stable_sort(all, {}, [](const candidate& c) { return std::tuple{c.row, c.score()}; });
}

// Of each row the quicker quarter, but at least two.
void drop_the_slow(std::vector<candidate>& all) {
  rank(all);
  std::vector<candidate> left;
  for (auto first = all.begin(); first != all.end();) {
    const auto last = std::find_if(first, all.end(), [&](const candidate& c) { return c.row != first->row; });
    const auto count = static_cast<std::size_t>(last - first);
    const auto kept = static_cast<std::ptrdiff_t>((std::min)(count, (std::max)(std::size_t{2}, (count + 3) / 4)));
    left.insert(left.end(), std::make_move_iterator(first), std::make_move_iterator(first + kept));
    first = last;
  }
  all = std::move(left);
}

}  // namespace

void tune(comparison& made, const runner& run) {
  const std::vector<double> usual = times_of_asp(made, run);
  auto left = candidates_of(made.asked);
  for (std::uint32_t done = 0; done < made.asked.tuning_seeds && !run.stop;) {
    const std::uint32_t until = (std::min)(done + tuning_round, made.asked.tuning_seeds);
    std::vector<job> jobs;
    for (const candidate& each : left)
      for (std::uint32_t i = done; i < until; ++i)
        jobs.push_back(limited(made, each.policy->policy, each.learning_rate, tuning_seed(made.asked, i),
                               tuning_patience * usual[i]));
    const auto measured = run.run(jobs, "tuning, " + std::to_string(until) + " seeds");
    if (run.stop) return;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      candidate& of = left[j / (until - done)];
      of.times.push_back(measured[j]->time);
      of.accuracy += measured[j]->final_accuracy;
    }
    done = until;
    if (done < made.asked.tuning_seeds) drop_the_slow(left);
  }
  if (run.stop) return;
  rank(left);
  const auto same_row = [](const candidate& a, const candidate& b) { return a.row == b.row; };
  left.erase(std::unique(left.begin(), left.end(), same_row), left.end());
  for (const candidate& winner : left) {
    made.rows[winner.row].used = *winner.policy;
    made.rows[winner.row].learning_rate = winner.learning_rate;
  }
}

}  // namespace rubato::lab
