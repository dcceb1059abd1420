#include "paired_trials.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <rubato/sync/knee.hpp>
#include <rubato/sync/rivals/loss_decayed.hpp>
#include <utility>
#include <vector>

#include "support/parallel.hpp"
#include "support/random_scenario.hpp"
#include "support/user_error.hpp"
#include "workbench.hpp"

namespace rubato::lab {
namespace {

constexpr std::uint64_t first_cluster = 1'000'000;  // below are those that are held out
constexpr double largest_cost = 1.2;

[[nodiscard]] std::uint32_t runs_in(const setting& at) {
  constexpr std::array<std::uint32_t, 2> of_few_layers{6, 2};
  return at.hidden_layers < of_few_layers.size() ? of_few_layers[at.hidden_layers] : 1;
}

// The time that the rule takes in each run of a cluster; 0 where it does not arrive in time.
using times_of_rule = std::vector<double>;

}  // namespace

reference_rule knee_with_decay() {
  return {.policy = loss_decayed{knee{}},
          .name = "knee+decay",
          .share_of_time = 0.25,
          .time_text = "a quarter of objective.max_time",
          .patience = 3.5};
}

std::uint64_t paired_trials::run_seed(std::uint64_t cluster, std::uint32_t run) {
  return rl::episode_seed(cluster, rl::purpose::training, run) | std::uint64_t{1} << 63;
}

paired_trials::cluster_maker paired_trials::clusters_of(const std::optional<support::scenario>& scenario) {
  if (scenario) return [one = *scenario](std::uint64_t seed) { return setting{one, hidden_layers_of(one, seed)}; };
  return [](std::uint64_t seed) {
    const support::scenario drawn = support::random_scenario(first_cluster + (seed >> 16));
    return setting{drawn, drawn.hidden_layers.front()};
  };
}

setting paired_trials::rule_setting_of(std::uint64_t seed) const {
  setting at = setting_of(seed);
  at.scenario.run.max_time *= rule_.share_of_time;
  return at;
}

void paired_trials::require_arrivals(std::span<const std::uint64_t> clusters) const {
  workbench bench{how_->data};
  for (const std::uint64_t seed : clusters) {
    const setting at = rule_setting_of(seed);
    for (std::uint32_t r = 0; r < runs_in(at); ++r) {
      const auto run = bench.run(at, rule_.policy, run_seed(seed, r), how_->stop);
      if (how_->stop || (run && run->reached)) return;
    }
  }
  throw support::user_error{"--scenario: found no run in which " + rule_.name + " arrives in " + rule_.time_text +
                            ", expected some"};
}

bool paired_trials::measure(const policy_maker& policy_of, std::span<const rl::trial> trials,
                            std::span<double> costs) const {
  std::map<std::uint64_t, times_of_rule> rules;
  for (const rl::trial& each : trials) rules[each.seed];
  std::vector<std::pair<const std::uint64_t, times_of_rule>*> clusters;
  for (auto& each : rules) clusters.push_back(&each);
  const auto make = [&] { return workbench{how_->data}; };
  support::share_out(clusters.size(), how_->threads, how_->stop, make, [&](workbench& bench, std::size_t i) {
    auto& [seed, times] = *clusters[i];
    const setting at = rule_setting_of(seed);
    for (std::uint32_t r = 0; r < runs_in(at); ++r) {
      const auto run = bench.run(at, rule_.policy, run_seed(seed, r), how_->stop);
      times.push_back(run && run->reached ? run->time : 0);
    }
  });
  support::share_out(trials.size(), how_->threads, how_->stop, make, [&](workbench& bench, std::size_t i) {
    const rl::trial& asked = trials[i];
    const any_policy policy = policy_of(asked.parameters);
    setting at = setting_of(asked.seed);
    const times_of_rule& times = rules.find(asked.seed)->second;
    double sum = 0, count = 0;
    for (std::uint32_t r = 0; r < times.size(); ++r) {
      if (times[r] == 0) continue;
      at.scenario.run.max_time = rule_.patience * times[r];
      const auto run = bench.run(at, policy, run_seed(asked.seed, r), how_->stop);
      if (!run) return;
      sum += std::clamp(std::log(run->time / times[r]), -largest_cost, largest_cost);
      ++count;
    }
    costs[i] = count > 0 ? sum / count : 0;
  });
  return !how_->stop;
}

}  // namespace rubato::lab
