#ifndef RUBATO_EXAMPLES_LAB_STATS_REPORT_HPP
#define RUBATO_EXAMPLES_LAB_STATS_REPORT_HPP

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "log_lines.hpp"
#include "log_stats.hpp"

namespace rubato::lab {

/// Text that others wrote, fit for a terminal: what is not plain as \xNN, cut to `most` columns at least 8.
[[nodiscard]] std::string terminal_text(std::string_view text, std::size_t most);

/// The answers on one screen: at most `stats_columns` wide and `stats_lines` long, however many workers there are.
/// Tests   tests/examples/stats_test.cpp: AThousandWorkersAreOneScreen, TextOfTheLogIsEscaped
[[nodiscard]] std::string stats_text(std::string_view log, const log_stats&, const log_reading&);

/// What there is to say of a log that is stats.midway().
/// Tests   tests/examples/stats_test.cpp: AFlightRecordBeginsInTheMiddle
[[nodiscard]] std::string midway_text(const log_stats&);

/// The same, and each worker.
/// Tests   tests/examples/stats_test.cpp: TheDocumentHasWhatTheScreenSays
[[nodiscard]] nlohmann::json stats_json(std::string_view log, const log_stats&, const log_reading&);

inline constexpr std::size_t stats_columns = 80;
inline constexpr std::size_t stats_lines = 40;

}  // namespace rubato::lab

#endif
