#include "correction_trials.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "support/parallel.hpp"
#include "support/random_scenario.hpp"
#include "support/user_error.hpp"
#include "tapped_encoder.hpp"
#include "workbench.hpp"

namespace rubato::lab {
namespace {

constexpr std::uint64_t first_cluster = 1'000'000;  // below are those that are held out
constexpr double patience_with_rule = 0.25;         // of max_time
constexpr double patience = 3.5;                    // times what the rule took
constexpr double largest_cost = 1.2;

[[nodiscard]] std::uint32_t runs_in(const setting& at) {
  constexpr std::array<std::uint32_t, 2> of_few_layers{6, 2};
  return at.hidden_layers < of_few_layers.size() ? of_few_layers[at.hidden_layers] : 1;
}

// At least 2^63, above all seeds of tables and tests.
[[nodiscard]] std::uint64_t seed_of(std::uint64_t cluster, std::uint32_t run) {
  return rl::episode_seed(cluster, rl::purpose::training, run) | std::uint64_t{1} << 63;
}

// The time that the rule takes in each run of a cluster; 0 where it does not arrive in time.
using times_of_rule = std::vector<double>;

[[nodiscard]] trained_range<progress_state::dim> nothing_seen() {
  trained_range<progress_state::dim> range;
  std::swap(range.least, range.most);
  return range;
}

}  // namespace

correction_trials::correction_trials(std::optional<support::scenario> scenario, nn::dynamic_mlp network,
                                     const run_context& how, std::optional<correction> only)
    : scenario_{std::move(scenario)}, network_{std::move(network)}, how_{&how} {
  // The last layer: a row of one weight for each output, for every input, and then the biases.
  const std::size_t size = network_.parameters().size(), last = network_.layers().back().first;
  for (std::size_t i = 0; i < size; ++i)
    if (i < last || !only || (i - last) % corrections == static_cast<std::size_t>(*only)) free_.push_back(i);
}

setting correction_trials::setting_of(std::uint64_t seed) const {
  if (scenario_) return {*scenario_, hidden_layers_of(*scenario_, seed)};
  const support::scenario drawn = support::random_scenario(first_cluster + (seed >> 16));
  return {drawn, drawn.hidden_layers.front()};
}

std::vector<float> correction_trials::start() const {
  std::vector<float> parameters;
  for (const std::size_t i : free_) parameters.push_back(network_.parameters()[i]);
  return parameters;
}

correction_policy correction_trials::policy_of(std::span<const float> parameters) const {
  nn::dynamic_mlp network = network_;
  for (std::size_t i = 0; i < parameters.size(); ++i) network.parameters()[free_[i]] = parameters[i];
  return correction_policy{network};
}

bool correction_trials::operator()(std::span<const rl::trial> trials, std::span<double> costs) const {
  std::map<std::uint64_t, times_of_rule> rules;
  for (const rl::trial& each : trials) rules[each.seed];
  std::vector<std::pair<const std::uint64_t, times_of_rule>*> clusters;
  for (auto& each : rules) clusters.push_back(&each);
  const auto make = [&] { return workbench{how_->data}; };
  support::share_out(clusters.size(), how_->threads, how_->stop, make, [&](workbench& bench, std::size_t i) {
    auto& [seed, times] = *clusters[i];
    setting at = setting_of(seed);
    at.scenario.run.max_time *= patience_with_rule;
    for (std::uint32_t r = 0; r < runs_in(at); ++r) {
      const auto run = bench.run(at, any_policy{correction_policy::rule_type{knee{}}}, seed_of(seed, r), how_->stop);
      times.push_back(run && run->reached ? run->time : 0);
    }
  });
  const auto says_nothing = [](double time) { return time == 0; };
  if (!how_->stop &&
      std::ranges::all_of(rules, [&](const auto& each) { return std::ranges::all_of(each.second, says_nothing); }))
    throw support::user_error{
        "--scenario: found no run in which knee+decay arrives in a quarter of "
        "objective.max_time, expected some"};
  support::share_out(trials.size(), how_->threads, how_->stop, make, [&](workbench& bench, std::size_t i) {
    const rl::trial& asked = trials[i];
    const any_policy policy{policy_of(asked.parameters)};
    setting at = setting_of(asked.seed);
    const times_of_rule& times = rules.find(asked.seed)->second;
    double sum = 0, count = 0;
    for (std::uint32_t r = 0; r < times.size(); ++r) {
      if (times[r] == 0) continue;
      at.scenario.run.max_time = patience * times[r];
      const auto run = bench.run(at, policy, seed_of(asked.seed, r), how_->stop);
      if (!run) return;
      sum += std::clamp(std::log(run->time / times[r]), -largest_cost, largest_cost);
      ++count;
    }
    costs[i] = count > 0 ? sum / count : 0;
  });
  return !how_->stop;
}

std::optional<trained_range<progress_state::dim>> correction_trials::range_of(
    std::span<const float> parameters, std::span<const std::uint64_t> seeds) const {
  const nn::dynamic_mlp network = policy_of(parameters).network();
  std::vector<trained_range<progress_state::dim>> seen(seeds.size(), nothing_seen());
  support::share_out(
      seeds.size(), how_->threads, how_->stop, [&] { return workbench{how_->data}; },
      [&](workbench& bench, std::size_t i) {
        const auto note = [&range = seen[i]](std::span<float, progress_state::dim> inputs) {
          for (std::size_t f = 0; f < inputs.size(); ++f) {
            range.least[f] = std::min(range.least[f], inputs[f]);
            range.most[f] = std::max(range.most[f], inputs[f]);
          }
        };
        const residual_policy policy{network, {}, knee{}, tapped_encoder<progress_state>{note}};
        setting at = setting_of(seeds[i]);
        at.scenario.run.max_time *= patience_with_rule;
        static_cast<void>(bench.run(at, any_policy{policy}, seed_of(seeds[i], 0), how_->stop));
      });
  if (how_->stop) return std::nullopt;
  trained_range<progress_state::dim> all = nothing_seen();
  for (const auto& each : seen)
    for (std::size_t i = 0; i < progress_state::dim; ++i) {
      all.least[i] = std::min(all.least[i], each.least[i]);
      all.most[i] = std::max(all.most[i], each.most[i]);
    }
  return all;
}

}  // namespace rubato::lab
