#include "compare.hpp"

#include <algorithm>
#include <limits>
#include <rubato/sync/bsp.hpp>

#include "clairvoyant.hpp"
#include "tuning.hpp"

namespace rubato::lab {
namespace {

using results = std::vector<std::optional<measurement>>;

[[nodiscard]] std::vector<std::uint32_t> all_hidden_layers(const support::scenario& scenario) {
  if (scenario.objective == support::objective_kind::quadratic) return {0};
  std::vector<std::uint32_t> distinct = scenario.hidden_layers;
  std::ranges::sort(distinct);
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  return distinct;
}

// What the better of bsp mean and sum converges to, for each number of hidden layers, less a margin.
void find_targets(comparison& made, const runner& run) {
  const auto& asked = made.asked;
  const auto layers = all_hidden_layers(asked.scenario);
  if (!finds_target(asked)) {
    for (const auto h : layers) made.targets[h] = asked.scenario.run.target_accuracy;
    return;
  }
  const any_policy rules[] = {bsp{.aggregate = bsp::mean}, bsp{.aggregate = bsp::sum}};
  std::vector<job> jobs;
  for (const auto h : layers)
    for (const any_policy& rule : rules)
      for (std::uint32_t i = 0; i < asked.tuning_seeds; ++i) {
        setting at{asked.scenario, h, asked.host, asked.unit_seconds};
        at.scenario.run.stop = sim::stop_rule::converged;
        jobs.push_back({std::move(at), &rule, tuning_seed(asked, i)});
      }
  const results measured = run.run(jobs, "target");
  if (run.stop) return;
  std::size_t next = 0;
  for (const auto h : layers) {
    double best = 0;
    for (std::size_t rule = 0; rule < std::size(rules); ++rule) {
      double sum = 0;
      for (std::uint32_t i = 0; i < asked.tuning_seeds; ++i) sum += measured[next++]->final_accuracy;
      best = std::max(best, sum / asked.tuning_seeds);
    }
    made.targets[h] = std::max(best - auto_target_margin, std::numeric_limits<double>::min());
  }
}

// Seed by seed, so that an interruption leaves about as many runs of each policy.
void measure(comparison& made, const runner& run) {
  std::vector<job> jobs;
  for (std::uint32_t i = 0; i < made.asked.seeds; ++i)
    for (const comparison_row& row : made.rows) {
      const std::uint64_t seed = made.asked.seed + i;
      jobs.push_back({setting_of(made, seed, row.learning_rate), &row.used.policy, seed});
    }
  results measured = run.run(jobs, "comparing");
  for (std::size_t j = 0; j < jobs.size(); ++j)
    made.rows[j % made.rows.size()].runs[j / made.rows.size()] = std::move(measured[j]);
}

}  // namespace

bool finds_target(const compare_options& asked) {
  const sim::run_options& run = asked.scenario.run;
  return run.stop == sim::stop_rule::target && run.target_accuracy == support::scenario::auto_target;
}

setting setting_of(const comparison& made, std::uint64_t seed, double learning_rate) {
  setting at{made.asked.scenario, hidden_layers_of(made.asked.scenario, seed), made.asked.host,
             made.asked.unit_seconds};
  at.scenario.run.learning_rate.base = learning_rate;
  at.scenario.run.target_accuracy = made.targets.at(at.hidden_layers);
  return at;
}

comparison compare(const compare_options& asked, const runner& run) {
  comparison made{};
  made.asked = asked;
  made.data = run.data.description;
  made.data_fingerprint = run.data.fingerprint;
  for (std::uint32_t i = 0; i < asked.seeds; ++i)
    made.hidden_layers.push_back(hidden_layers_of(asked.scenario, asked.seed + i));
  for (const policy_request& request : asked.policies)
    made.rows.push_back(
        {request.name, request.candidates.front(), asked.scenario.run.learning_rate.base, results(asked.seeds)});
  find_targets(made, run);
  if (asked.tune && !run.stop) tune(made, run);
  if (!run.stop) measure(made, run);
  if (asked.clairvoyant && !run.stop) add_clairvoyant(made, run);
  made.interrupted = run.stop && std::ranges::any_of(made.rows, [](const comparison_row& row) {
                       return std::ranges::any_of(row.runs, [](const auto& each) { return !each.has_value(); });
                     });
  return made;
}

}  // namespace rubato::lab
