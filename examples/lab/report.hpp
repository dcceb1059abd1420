#ifndef RUBATO_EXAMPLES_LAB_REPORT_HPP
#define RUBATO_EXAMPLES_LAB_REPORT_HPP

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "compare.hpp"

namespace rubato::lab {

/// A table for people, with a line above that names the setting and one below that says what the numbers are.
/// With `by_hidden_layers`, a second table has the times for each number of hidden layers.
[[nodiscard]] std::string table(const comparison&, bool by_hidden_layers);

/// What the JSON calls itself, and the version that grows when a member changes its meaning.
inline constexpr const char* comparison_format = "rubato.comparison";
inline constexpr unsigned comparison_format_version = 1;

/// {"format", "format_version", "setting": {...}, "rows": [{"policy", "learning_rate", "time_iqm", ...}]}; null for what
/// could not be measured.
/// Depends on what was asked for alone: not on threads, cache or the time of day.
[[nodiscard]] nlohmann::json to_json(const comparison&);

/// One line for each run, with a line of names.
[[nodiscard]] std::string csv(const comparison&);

}  // namespace rubato::lab

#endif
