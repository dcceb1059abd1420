#include "advise.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <rubato/core/rng.hpp>
#include <span>

#include "step_lengths.hpp"
#include "support/parallel.hpp"
#include "workbench.hpp"

namespace rubato::lab {
namespace {

constexpr std::uint64_t ensemble_stream = 0xAD71CE;
constexpr double least_pushes = 3'000;  // that a run of the log's policy may take before it is given up;
constexpr double most_pushes = 20'000;
constexpr double logs = 8;        // else as many as so many logs have
constexpr double as_good = 0.01;  // of the logarithm of a time: no rule is preferred to a simpler one for that

// A quantile of Student's t: 1.645 of the normal distribution, and its first correction.
[[nodiscard]] double deviations(double degrees) { return 1.645 + 1.524 / std::max(degrees, 1.0); }

struct member {
  setting at;
  std::uint64_t seed = 0;  // of its first run
};

// Each model as often as its weight says: of evenly spaced points, shifted by chance, those that fall to it.
[[nodiscard]] std::vector<member> ensemble(const cluster_fit& fit, const std::vector<model_guess>& guesses,
                                           const advise_options& asked) {
  random_sequence draw{asked.seed, ensemble_stream};
  std::vector<std::size_t> order(fit.draws.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<std::size_t>(draw.below(i))]);
  const double shift = draw.uniform();
  std::vector<member> all;
  double below = 0;
  std::size_t g = 0;
  for (std::uint32_t m = 0; m < asked.members; ++m) {
    const double point = (m + shift) / asked.members;
    while (g + 1 < guesses.size() && below + guesses[g].weight < point) below += guesses[g++].weight;
    const sim::cluster_options& machines = order.empty() ? fit.best : fit.draws[order[m % order.size()]];
    member made{{fitted_scenario(machines, asked.base, "ensemble"), guesses[g].hidden_layers},
                (draw() << 24) | (std::uint64_t{1} << 62)};
    made.at.scenario.run.learning_rate.base *= guesses[g].rate_factor;
    all.push_back(std::move(made));
  }
  return all;
}

struct outcome {
  double time = 0;
  bool reached = false;
  std::uint64_t pushes = 0;
};

// times[rule][member x runs + run]
using outcomes = std::vector<std::vector<outcome>>;

// How long so many pushes take about, if nobody waits.
[[nodiscard]] double longest_time(const sim::cluster_options& machines, double pushes) {
  const timed_run run = time_steps(machines, parse_policy("asp").policy, 20ULL * machines.workers, 1);
  return pushes * run.time / static_cast<double>(std::max<std::uint64_t>(run.pushes, 1));
}

[[nodiscard]] support::estimate time_of(std::span<const outcome> runs) {
  double sum = 0, squares = 0;
  for (const outcome& each : runs) sum += std::log(each.time);
  const auto n = static_cast<double>(runs.size());
  const double mean = sum / n;
  for (const outcome& each : runs) squares += (std::log(each.time) - mean) * (std::log(each.time) - mean);
  const double deviation = n > 1 ? std::sqrt(squares / (n - 1)) : 0;
  const double wide = deviations(n - 1) * deviation * std::sqrt(1 + 1 / n);
  return {std::exp(mean), std::exp(mean - wide), std::exp(mean + wide)};
}

[[nodiscard]] support::estimate gain_of(std::span<const outcome> current, std::span<const outcome> other,
                                        std::uint32_t runs) {
  const std::size_t members = current.size() / runs;
  std::vector<double> means(members);
  double within = 0, mean = 0;
  for (std::size_t m = 0; m < members; ++m) {
    double squares = 0;
    for (std::uint32_t r = 0; r < runs; ++r)
      means[m] += std::log(current[m * runs + r].time / other[m * runs + r].time) / runs;
    for (std::uint32_t r = 0; r < runs; ++r) {
      const double off = std::log(current[m * runs + r].time / other[m * runs + r].time) - means[m];
      squares += off * off;
    }
    within += runs > 1 ? squares / (runs - 1) / static_cast<double>(members) : 0;
    mean += means[m] / static_cast<double>(members);
  }
  double between = 0;
  for (const double each : means) between += (each - mean) * (each - mean);
  const auto n = static_cast<double>(members);
  between = members > 1 ? between / (n - 1) : 0;
  const double of_members = std::max(0.0, between - within / runs);
  const double wide = deviations(n - 1) * std::sqrt(of_members + between / n);
  return {std::expm1(mean), std::expm1(mean - wide), std::expm1(mean + wide)};
}

[[nodiscard]] rule_outlook outlook_of(const std::string& name, std::span<const outcome> runs) {
  double pushes = 0;
  for (const outcome& each : runs) pushes += static_cast<double>(each.pushes) / static_cast<double>(runs.size());
  return {.name = name,
          .time = time_of(runs),
          .reached = static_cast<std::uint32_t>(std::ranges::count_if(runs, &outcome::reached)),
          .runs = static_cast<std::uint32_t>(runs.size()),
          .pushes = pushes};
}

}  // namespace

std::optional<advice> advise(const cluster_fit& fit, const std::vector<model_guess>& guesses,
                             const advise_options& asked, const run_context& how) {
  const std::vector<member> members = ensemble(fit, guesses, asked);
  const std::size_t count = members.size() * asked.runs;
  std::vector<const named_policy*> policies;
  for (const named_policy& each : asked.rules) policies.push_back(&each);
  const std::size_t last = policies.size();
  const bool known = asked.current.has_value();
  const double pushes = std::clamp(logs * static_cast<double>(fit.steps), least_pushes, most_pushes);
  outcomes all(last + (known ? 1 : 0), std::vector<outcome>(count));
  support::progress shown{how.progress, "simulating", count, how.display};
  support::share_out(
      count, how.threads, how.stop, [&] { return workbench{how.data}; },
      [&](workbench& bench, std::size_t i) {
        const member& mine = members[i / asked.runs];
        setting at = mine.at;
        at.scenario.run.max_time = longest_time(at.scenario.cluster, pushes);
        const std::uint64_t seed = mine.seed + i % asked.runs;
        const auto run = [&](const any_policy& policy, outcome& into) {
          if (const auto made = bench.run(at, policy, seed, how.stop); made)
            into = {made->time, made->reached, made->pushes};
        };
        if (known) {
          run(asked.current->policy, all[last][i]);
          if (all[last][i].reached) at.scenario.run.max_time = patience * all[last][i].time;
        }
        for (std::size_t p = 0; p < last; ++p)
          if (known && policies[p]->name == asked.current->name)
            all[p][i] = all[last][i];
          else
            run(policies[p]->policy, all[p][i]);
        shown.advance();
      });
  shown.finish();
  if (how.stop) return std::nullopt;

  advice given;
  if (known) given.current = outlook_of(asked.current->name, all[last]);
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t p = 0; p < last; ++p) {
    rule_outlook outlook = outlook_of(policies[p]->name, all[p]);
    if (known && given.current->reliable() && outlook.reliable()) outlook.gain = gain_of(all[last], all[p], asked.runs);
    if (outlook.reliable()) least = std::min(least, outlook.time.value);
    given.rules.push_back(std::move(outlook));
  }
  for (std::size_t p = 0; p < last && !given.best && !nothing_alike(guesses); ++p)
    if (given.rules[p].reliable() && given.rules[p].time.value <= least * (1 + as_good)) given.best = p;
  given.keep = given.best && given.rules[*given.best].gain && given.rules[*given.best].gain->low < asked.threshold;
  return given;
}

}  // namespace rubato::lab
