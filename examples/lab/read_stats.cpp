#include "read_stats.hpp"

namespace rubato::lab {

std::string take_in(log_stats& stats, const log_line& line) {
  if (line.is == log_line::kind::record) return stats.add(line.event);
  if (line.is == log_line::kind::header) stats.begin_after(line.earlier);
  stats.policy(line.policy, line.now);
  return "";
}

log_reading read_stats(const std::filesystem::path& file, log_stats& stats,
                       const std::function<std::string(const log_line&)>& each) {
  return read_log(file, [&](const log_line& line) {
    std::string wrong = take_in(stats, line);
    return wrong.empty() && each ? each(line) : wrong;
  });
}

void read_again(const std::filesystem::path& file, const log_reading& reading,
                const std::function<void(const log_line&, std::uint64_t number)>& each) {
  std::uint64_t number = 0;
  static_cast<void>(read_log(file, [&](const log_line& line) -> std::string {
    if (number == reading.lines) return "that was all";
    each(line, ++number);
    return "";
  }));
}

std::string unread_text(const log_reading& reading) {
  if (!reading.counted && reading.unread == 0) return "an unknown number of lines";
  return (reading.counted ? "" : "at least ") + std::to_string(reading.unread) +
         (reading.unread == 1 ? " line" : " lines");
}

std::string left_out(const log_reading& reading) {
  return reading.problem + "; what comes from there on (" + unread_text(reading) + ") is left out";
}

}  // namespace rubato::lab
