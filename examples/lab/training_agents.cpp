#include "training_agents.hpp"

#include <algorithm>
#include <string>

#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

[[nodiscard]] rl::dqn_options scaled_paper() {
  rl::dqn_options options = rl::dqn_options::paper();
  options.max_gradient_norm = 10;
  return options;
}

const training_agent all_agents[] = {
    {.name = "dqn-paper",
     .meaning =
         "Algorithm 2 of Zhu et al. (ICLR 2020) to the letter, after a regression on the time that experts had left",
     .state = "rlp",
     .expert_runs = 100,
     .evaluate_every = 0,
     .time_in_steps = false,
     .experts_scale = false,
     .learning = rl::dqn_options::paper(),
     .returns = {},
     .regression = {},
     .adaptive_regression = false},
    {.name = "dqn-paper-scaled",
     .meaning = "dqn-paper with what it needs to stay finite: features on one scale, time in steps, gradients of norm "
                "10 at most",
     .state = "rlp_normalised",
     .expert_runs = 100,
     .evaluate_every = 0,
     .time_in_steps = true,
     .experts_scale = false,
     .learning = scaled_paper(),
     .returns = {},
     .regression = {.max_gradient_norm = scaled_paper().max_gradient_norm},
     .adaptive_regression = false},
    {.name = "dqn",
     .meaning = "double DQN over several steps with Adam and a large replay; keeps the best policy of its evaluations",
     .state = "cluster",
     .expert_runs = 20,
     .evaluate_every = 20'000,
     .time_in_steps = true,
     .experts_scale = true,
     .learning = rl::dqn_options::robust(),
     .returns = {.gamma = rl::dqn_options::robust().gamma, .by_elapsed = true, .time_unit = 1},
     .regression = {.passes = 3, .max_gradient_norm = 10},
     .adaptive_regression = true},
};

}  // namespace

std::span<const training_agent> training_agents() { return all_agents; }

const training_agent& find_training_agent(std::string_view name) {
  const auto found = std::ranges::find(all_agents, name, &training_agent::name);
  if (found != std::end(all_agents)) return *found;
  std::string known;
  for (const training_agent& each : all_agents) known += (known.empty() ? "" : ", ") + std::string{each.name};
  throw support::user_error{"--agent: found \"" + std::string{name} + "\", expected one of " + known};
}

}  // namespace rubato::lab
