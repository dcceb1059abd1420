#ifndef RUBATO_EXAMPLES_LAB_LOG_LINES_HPP
#define RUBATO_EXAMPLES_LAB_LOG_LINES_HPP

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <rubato/core/record.hpp>
#include <string>
#include <string_view>

namespace rubato::lab {

inline constexpr std::size_t longest_line = std::size_t{1} << 20;  ///< bytes

/// One line of a decision log (see rubato::decision_log).
struct log_line {
  enum class kind : std::uint8_t { header, policy, record };
  kind is = kind::record;
  record event;             ///< of a record
  std::string policy;       ///< of header and policy, in one line
  std::string description;  ///< likewise, as JSON in canonical form
  double now = 0;           ///< of policy, of header 0; this, and that of a record, is -infinity where the line has null
  std::uint64_t earlier = 0;  ///< of header: records before the first one, which the log does not have
};

/// Reads one line into `to`. What is wrong with it, as "found ..., expected ...", fit for a terminal; empty if nothing
/// is. Members that are not known are ignored. Memory does not grow with the nesting or the numbers of a line.
/// Tests   tests/examples/log_lines_test.cpp: WhatIsWrittenIsRead, WhatIsWrongIsSaid
[[nodiscard]] std::string read_log_line(std::string_view text, log_line& to);

/// How far a log was sound.
struct log_reading {
  std::uint64_t lines = 0;   ///< that were read and are sound
  std::uint64_t unread = 0;  ///< after the first that is not; that one counts
  bool cut_off = false;      ///< nothing but the last line is not sound, which has no end, or a gzip file ends early
  bool counted = true;       ///< false: there may be more, in gzip data that are missing, corrupt or behind them
  std::string problem;       ///< FILE:LINE: found ..., expected ...; empty if all is sound
};

/// Reads a decision log, plain or gzip, with memory for one line, and gives each line to `each`, the header first. What
/// `each` answers, if anything, is what is wrong with the line. Nothing is given from the first one on that is no sound
/// line, as after a crash; a second header, of a log that was put behind another, is none.
///
/// Errors  user_error that begins with the file: it cannot be read, or not even its first line is sound
/// Tests   tests/examples/log_lines_test.cpp: ReadsAsFarAsItIsSound, ALogBehindALogIsNotSound
[[nodiscard]] log_reading read_log(const std::filesystem::path& file,
                                   const std::function<std::string(const log_line&)>& each);

/// Exit status of commands that could read only a part of a log.
inline constexpr int unsound_log_status = 1;
/// And of a replay of the policy of a log that decided otherwise.
inline constexpr int replay_differs_status = 3;

}  // namespace rubato::lab

#endif
