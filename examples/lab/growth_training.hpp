#ifndef RUBATO_EXAMPLES_LAB_GROWTH_TRAINING_HPP
#define RUBATO_EXAMPLES_LAB_GROWTH_TRAINING_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <rubato/adapt/train/expected_growth_training.hpp>
#include <rubato/adapt/train/growth_training.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "growth_tasks.hpp"
#include "growth_weights.hpp"

namespace rubato::lab {

/// The tasks that a list names, such as "convnet2_early", or "convnet2" for all of that model, or "all"; several are
/// joined by "+".
/// Errors  user_error about `option`: a name of none, or one twice
/// Tests   tests/examples/growth_training_test.cpp: FindsTasksByName
[[nodiscard]] std::vector<growth_task> tasks_named(std::string_view names, const std::vector<growth_task>& all,
                                                   const std::string& option);

/// A part of a training by REINFORCE: it goes on with the network of the part before, and a new Adam.
struct growth_stage {
  std::vector<growth_task> tasks{};
  std::uint64_t episodes = 0;
  double temperature = 1;
};

/// Stages such as "convnet2_early:75000,convnet2_late:10000:10": tasks, episodes, and the temperature at first.
/// Errors  user_error about `option`
/// Tests   tests/examples/growth_training_test.cpp: ReadsStages
[[nodiscard]] std::vector<growth_stage> stages_in(const std::string& text, const std::vector<growth_task>& all,
                                                  const std::string& option);

/// What a training is made of.
struct growth_training_plan {
  std::vector<growth_task> tasks{};               ///< by the expectation of the gradient; before the stages
  std::vector<growth_stage> stages{};             ///< by REINFORCE
  adapt::expected_growth_options expected{};      ///< for `tasks`
  adapt::growth_training_options reinforce{};     ///< for `stages`; temperature and seed are theirs
  std::optional<any_growth_agent> from{};         ///< what it goes on with; nothing: an agent that knows nothing
  std::optional<growth_vocabulary> vocabulary{};  ///< of an agent that knows nothing else; nothing: drawn by the seed
  bool blocks = false;                            ///< an agent that knows nothing is one for any number of actions
  adapt::time_encoding time = adapt::time_encoding::cosines;  ///< of an agent that knows nothing
};

/// An agent after a training. The seed draws embeddings and parameters of an agent that knows nothing, and episodes.
/// Errors  user_error: `from` does not know a layer, or has another number of actions than a task
/// Tests   tests/examples/growth_training_test.cpp: LearnsByBoth, BothKindsLearn, SameSeedSameAgent,
///         BeginsWithAVocabularyThatIsGiven
[[nodiscard]] any_growth_agent trained(const growth_training_plan& plan, std::uint64_t seed);

}  // namespace rubato::lab

#endif
