#ifndef RUBATO_EXAMPLES_LAB_SWITCH_REPORT_HPP
#define RUBATO_EXAMPLES_LAB_SWITCH_REPORT_HPP

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <rubato/adapt/switch_replay.hpp>
#include <string>
#include <vector>

#include "switch_logs.hpp"
#include "switch_trials.hpp"

namespace rubato::lab {

/// What a search with so many runs would have cost on logged trainings, and how likely it finds what all of them say.
struct switch_setting {
  std::uint32_t target_runs = 0;  ///< 0: the job recurs, its target is known
  std::uint32_t runs = 1;
  adapt::switch_cost costs{};
  /// None where there are not so many runs, too few for a test, or too many ways to draw them.
  std::optional<double> success{};
};

/// A search with all logged trainings, and what fewer of them would have come to.
struct logged_search {
  switch_logs logs;
  adapt::switch_search search;
  std::vector<switch_setting> settings;
};

/// Searches on logged trainings; settings of one to five runs of each candidate, and of the target none
/// (it is stored) to five.
/// Errors  user_error: trainings that cannot be searched
/// Tests   tests/examples/switch_logs_test.cpp: SearchesTheLogsOfThePaper
[[nodiscard]] logged_search search_logs(switch_logs, const adapt::switch_search_options&);

/// For a terminal.
[[nodiscard]] std::string table(const logged_search&);
/// The same.
[[nodiscard]] std::string table(const switch_request&, const switch_trials&);

/// Everything, see docs/sync-switch.md.
[[nodiscard]] nlohmann::json to_json(const logged_search&);
/// The same.
[[nodiscard]] nlohmann::json to_json(const switch_request&, const switch_trials&, const training_data&);

}  // namespace rubato::lab

#endif
