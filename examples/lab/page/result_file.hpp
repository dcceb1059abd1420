#ifndef RUBATO_EXAMPLES_LAB_PAGE_RESULT_FILE_HPP
#define RUBATO_EXAMPLES_LAB_PAGE_RESULT_FILE_HPP

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/statistics.hpp"

namespace rubato::lab::page {

/// A number of a result file with its interval; each NaN where the file has null.
using support::estimate;

/// How long a policy took to a share of the target.
struct level {
  double share = 0;
  estimate time;
};

/// A policy in a result file.
struct result_row {
  std::string policy, used, description;
  double learning_rate = 0;
  double reached = 0, seeds = 0;
  estimate time, speedup, regret;
  std::map<std::string, estimate> means{};  ///< the numbers that are named in result_means
  std::vector<level> curve{};

  [[nodiscard]] bool reliable() const noexcept;  ///< enough runs arrived for ratios: see summary.hpp
};

inline constexpr const char* result_means[] = {"pushes",         "updates",        "staleness_mean", "staleness_p95",
                                               "idle_share",     "decision_share", "final_accuracy", "dropped",
                                               "overrides",      "overhead"};

/// What `compare --json` wrote.
struct result_file {
  std::string name;  ///< of the file
  std::string version{}, baseline{}, host{}, data{};
  std::string scenario_name{}, scenario_description{};
  std::string scenario_text{};  ///< all of it, as JSON
  nlohmann::json scenario{};
  double seed = 0, seeds = 0;
  double unit_seconds = 0;      ///< NaN in the simulator
  std::vector<double> targets{};  ///< accuracies, by number of hidden layers; NaN: none
  bool tuned = false, interrupted = false;
  std::vector<result_row> rows{};
};

/// Errors  user_error, which begins with the name: no JSON, cut off, a key twice, another document, a newer format, a
///         member that is missing or of another type, no row, a policy twice
/// Tests   tests/examples/report_page_test.cpp: BadResultsAreRefused, AResultOfBeforeIsRead
[[nodiscard]] result_file read_result(const std::string& text, const std::string& name);

}  // namespace rubato::lab::page

#endif
