#ifndef RUBATO_EXAMPLES_LAB_TRAINING_AGENTS_HPP
#define RUBATO_EXAMPLES_LAB_TRAINING_AGENTS_HPP

#include <cstdint>
#include <rubato/rl/dqn_options.hpp>
#include <rubato/rl/pretrain.hpp>
#include <rubato/rl/trace.hpp>
#include <span>
#include <string_view>

namespace rubato::lab {

/// A way to learn a policy that `rubato-lab train --agent` can name, with its defaults.
struct training_agent {
  std::string_view name;
  std::string_view meaning;        ///< one line
  std::string_view state;          ///< kind of the encoder
  std::uint32_t expert_runs;       ///< of each expert
  std::uint64_t evaluate_every;    ///< pushes; 0: the result is the last policy, not the best one
  bool time_in_steps;              ///< the unit of time is that of a step when all workers run; else the scenario's
  bool experts_scale;              ///< observations are scaled by their mean and deviation in the experts' runs
  rl::dqn_options learning;
  rl::return_options returns;      ///< what the regression on experts aims at
  rl::pretrain_options regression;
  bool adaptive_regression;        ///< by Adam; else by plain SGD. With the learning rate of `learning`
};

/// All agents. A new one is an entry in training_agents.cpp; a dueling network would have to be folded, too, before it
/// is saved (rl/dueling.hpp), which no agent needs yet.
[[nodiscard]] std::span<const training_agent> training_agents();

/// Errors  user_error that names those that there are
[[nodiscard]] const training_agent& find_training_agent(std::string_view name);

}  // namespace rubato::lab

#endif
