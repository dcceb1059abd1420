// `stats`: who is slow, who is missing, what happened to my gradients, from a decision log.
#include <iostream>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "result_output.hpp"
#include "stats_report.hpp"

namespace rubato::lab {

log_reading read_stats(const std::string& file, log_stats& stats) {
  return read_log(file, [&](const log_line& line) -> std::string {
    if (line.is == log_line::kind::record) return stats.add(line.event);
    stats.policy(line.policy, line.now);
    return "";
  });
}

std::string left_out(const log_reading& reading) {
  return reading.problem + "; what comes from there on (" + std::to_string(reading.unread) +
         (reading.unread == 1 ? " line" : " lines") + ") is left out";
}

int run_stats(const stats_arguments& given) {
  result_output output{given.json, {{"LOG", given.log}}};
  log_stats stats;
  const log_reading reading = read_stats(given.log, stats);
  const std::string document =
      stats_json(given.log, stats, reading).dump(2, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
  const int status = output.put(document, stats_text(given.log, stats, reading));
  if (reading.problem.empty()) return status;
  std::cerr << "rubato-lab: " << left_out(reading) << '\n';
  return unsound_log_status;
}

}  // namespace rubato::lab
