#include "training_agents.hpp"

#include <algorithm>
#include <string>

#include "search.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

[[nodiscard]] rl::dqn_options scaled_paper() {
  rl::dqn_options options = rl::dqn_options::paper();
  options.max_gradient_norm = 10;
  return options;
}

// Source: Zhu et al. (ICLR 2020), section 4.
[[nodiscard]] std::string experts_of_the_paper(std::uint32_t) { return "bsp:sum,asp,ssp:2:rlp,ssp:5:rlp,ssp:8:rlp"; }

// Besides those, from few running to many: what an action is worth depends on how many run afterwards. The fastest
// first, so that it is mostly the submitter who goes on: that somebody else does is no action of a learned policy.
[[nodiscard]] std::string diverse_experts(std::uint32_t workers) {
  std::string list = experts_of_the_paper(workers);
  for (const std::uint32_t running : {1U, 2U, 3U, 4U, 5U, 6U, 8U, 12U, 16U, 24U, 32U, 48U})
    if (running < workers) list += ",cap:" + std::to_string(running) + ":fastest";
  return list;
}

const training_agent all_agents[] = {
    {.name = "dqn-paper",
     .meaning =
         "Algorithm 2 of Zhu et al. (ICLR 2020) to the letter, after a regression on the time that experts had left",
     .state = "rlp",
     .experts = experts_of_the_paper,
     .expert_runs = 100,
     .episodes = 1000,
     .evaluate_every = 0,
     .time_in_steps = false,
     .experts_scale = false,
     .lesson = {{.adaptive = false, .learning_rate = rl::dqn_options::paper().learning_rate}},
     .learning = rl::dqn_options::paper()},
    {.name = "dqn-paper-scaled",
     .meaning = "dqn-paper with what it needs to stay finite: features on one scale, time in steps, gradients of norm "
                "10 at most",
     .state = "rlp_normalised",
     .experts = experts_of_the_paper,
     .expert_runs = 100,
     .episodes = 1000,
     .evaluate_every = 0,
     .time_in_steps = true,
     .experts_scale = false,
     .lesson = {{.regression = {.max_gradient_norm = scaled_paper().max_gradient_norm},
                 .adaptive = false,
                 .learning_rate = scaled_paper().learning_rate}},
     .learning = scaled_paper()},
    {.name = "dqn",
     .meaning = "double DQN over several steps with Adam and a large replay; keeps the best policy of its evaluations",
     .state = "cluster",
     .experts = experts_of_the_paper,
     .expert_runs = 20,
     .episodes = 1000,
     .evaluate_every = 20'000,
     .time_in_steps = true,
     .experts_scale = true,
     .lesson = {{.returns = {.gamma = rl::dqn_options::robust().gamma, .by_elapsed = true},
                 .regression = {.passes = 3, .max_gradient_norm = 10},
                 .learning_rate = rl::dqn_options::robust().learning_rate}},
     .learning = rl::dqn_options::robust()},
    {.name = "ppo",
     .meaning = "proximal policy optimisation from a random network; keeps the best policy of its evaluations",
     .state = "cluster",
     .experts = experts_of_the_paper,
     .expert_runs = 20,
     .episodes = 1000,
     .evaluate_every = 20'000,
     .time_in_steps = true,
     .experts_scale = true,
     .lesson = {},
     .learning = rl::ppo_options::robust()},
    {.name = "mc",
     .meaning = "Monte Carlo: a regression on the time that many different experts had left, and no episodes",
     .state = "cluster",
     .experts = diverse_experts,
     .expert_runs = 20,
     .episodes = 0,
     .evaluate_every = 0,
     .time_in_steps = true,
     .experts_scale = true,
     .lesson = {{.regression = {.passes = 3, .max_gradient_norm = 10}}},
     .learning = rl::dqn_options::robust()},  // which is never asked to learn
};

[[nodiscard]] std::uint64_t learns_after(const rl::dqn_options& learning) { return learning.learn_after; }
[[nodiscard]] std::uint64_t learns_after(const rl::ppo_options& learning) { return learning.horizon; }

}  // namespace

std::span<const training_agent> training_agents() { return all_agents; }

const training_agent& find_training_agent(std::string_view name) {
  const auto found = std::ranges::find(all_agents, name, &training_agent::name);
  if (found != std::end(all_agents)) return *found;
  std::string known;
  const auto add = [&](std::string_view each) { known.append(known.empty() ? "" : ", ").append(each); };
  for (const training_agent& each : all_agents) add(each.name);
  for (const search_agent& each : search_agents()) add(each.name);
  throw support::user_error{"--agent: found \"" + std::string{name} + "\", expected one of " + known};
}

std::vector<policy_request> experts_of(const training_agent& agent, const support::scenario& scenario) {
  return parse_policies(agent.experts(scenario.cluster.workers), false);
}

std::uint64_t learns_after(const training_agent& agent) {
  return std::visit([](const auto& learning) { return learns_after(learning); }, agent.learning);
}

}  // namespace rubato::lab
