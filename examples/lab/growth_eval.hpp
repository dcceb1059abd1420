#ifndef RUBATO_EXAMPLES_LAB_GROWTH_EVAL_HPP
#define RUBATO_EXAMPLES_LAB_GROWTH_EVAL_HPP

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "growth_tasks.hpp"
#include "growth_weights.hpp"

namespace rubato::lab {

/// A step of an agent through a table.
struct growth_step {
  double time_left = 0;
  std::vector<float> probabilities;
  std::uint32_t action = 0;  ///< the most probable
};

/// What an agent does with a task, and what that comes to.
struct growth_appraisal {
  const growth_task* task = nullptr;
  std::vector<growth_step> steps{};
  double accuracy = 0;
  std::uint32_t rank = 0;  ///< from 1, among all sequences
  /// Sequences that end with the same architecture, this one included, and their accuracies: what the table's numbers
  /// differ by where only order, and luck, do.
  std::uint32_t twins = 0;
  double twins_least = 0, twins_most = 0;
};

/// Goes through each task with the most probable actions.
/// Errors  user_error: the agent cannot read a model of a task
/// Tests   tests/examples/growth_eval_test.cpp: GoesThroughTheTables, TwinsHaveOneArchitecture,
///         SaysWhatAnAgentCannotRead
[[nodiscard]] std::vector<growth_appraisal> appraise(const any_growth_agent&, const std::vector<growth_task>&);

/// Whether an agent can read a model, and has as many actions.
/// Tests   tests/examples/growth_eval_test.cpp: SaysWhatAnAgentCannotRead
[[nodiscard]] bool can_advise(const any_growth_agent&, const adapt::growable_model&);

/// Of their accuracies, and by how much these are below the best of their tables.
[[nodiscard]] double mean_accuracy(const std::vector<growth_appraisal>&);
[[nodiscard]] double mean_regret(const std::vector<growth_appraisal>&);  ///< see mean_accuracy()

/// The appraisals as JSON: of each scenario the steps with their probabilities and actions, accuracy and rank.
/// Tests   tests/examples/growth_eval_test.cpp: GoesThroughTheTables
[[nodiscard]] nlohmann::ordered_json document_of(const std::string& agent, const std::vector<growth_appraisal>&);
/// As a table for a terminal.
[[nodiscard]] std::string as_text(const std::vector<growth_appraisal>&);
/// Accuracies of sequences with one architecture, as text.
[[nodiscard]] std::string twins_of(const growth_appraisal&);

}  // namespace rubato::lab

#endif
