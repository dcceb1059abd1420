#ifndef RUBATO_EXAMPLES_LAB_GROWTH_TRIALS_HPP
#define RUBATO_EXAMPLES_LAB_GROWTH_TRIALS_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "growth_eval.hpp"

namespace rubato::lab {

/// What an agent comes to that was trained with this seed.
struct growth_trial {
  std::uint64_t seed = 0;
  std::vector<growth_appraisal> judged{};  ///< of all trials the same tasks
};
/// Trials as JSON: means over their tasks with intervals over the seeds, and each agent as document_of() has it.
/// Tests   tests/examples/growth_training_test.cpp: ReportsTrials
[[nodiscard]] std::string as_json(const std::string& method, const std::vector<growth_trial>&);
/// As a table for a terminal: a row for each task.
[[nodiscard]] std::string as_text(const std::vector<growth_trial>&);

}  // namespace rubato::lab

#endif
