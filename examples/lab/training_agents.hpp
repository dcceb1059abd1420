#ifndef RUBATO_EXAMPLES_LAB_TRAINING_AGENTS_HPP
#define RUBATO_EXAMPLES_LAB_TRAINING_AGENTS_HPP

#include <cstdint>
#include <optional>
#include <rubato/rl/dqn_options.hpp>
#include <rubato/rl/ppo_options.hpp>
#include <rubato/rl/pretrain.hpp>
#include <rubato/rl/trace.hpp>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "policies.hpp"
#include "support/scenario.hpp"

namespace rubato::lab {

/// What experts teach: a regression on the returns of their runs.
struct expert_lesson {
  rl::return_options returns{};
  rl::pretrain_options regression{};
  bool adaptive = true;  ///< by Adam; else by plain SGD
  double learning_rate = 0.001;
};

/// A way to learn a policy that `rubato-lab train --agent` can name, with its defaults.
struct training_agent {
  std::string_view name;
  std::string_view meaning;        ///< one line
  std::string_view state;          ///< kind of the encoder
  std::string (*experts)(std::uint32_t workers);  ///< whom it watches among so many workers: as for --policies
  std::uint32_t expert_runs;       ///< of each expert
  std::uint64_t episodes;          ///< 0: it does not learn by acting
  std::uint64_t evaluate_every;    ///< pushes; 0: the result is the last policy, not the best one
  bool time_in_steps;              ///< the unit of time is that of a step when all workers run; else the scenario's
  bool experts_scale;              ///< observations are scaled by their mean and deviation in the experts' runs
  std::optional<expert_lesson> lesson;  ///< none: it begins with a random network
  std::variant<rl::dqn_options, rl::ppo_options> learning;  ///< by acting; their time_unit is set by train()
};

/// All agents. A new one is an entry in training_agents.cpp; a dueling network would have to be folded, too, before it
/// is saved (rl/dueling.hpp), which no agent needs yet.
[[nodiscard]] std::span<const training_agent> training_agents();

/// Errors  user_error that names those that there are
[[nodiscard]] const training_agent& find_training_agent(std::string_view name);

/// Whom an agent watches in a scenario.
/// Tests   tests/examples/train_test.cpp: DiverseExpertsFitTheWorkers
[[nodiscard]] std::vector<policy_request> experts_of(const training_agent&, const support::scenario&);

/// Pushes before the first update by acting.
/// Tests   tests/examples/lab_program_test.cpp: TrainingSaysWhatWasKeptAndWhatItIsWorth
[[nodiscard]] std::uint64_t learns_after(const training_agent&);

}  // namespace rubato::lab

#endif
