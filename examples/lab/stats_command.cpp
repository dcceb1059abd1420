// `stats`: who is slow, who is missing, what happened to my gradients, from a decision log.
#include <iostream>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "read_stats.hpp"
#include "result_output.hpp"
#include "stats_report.hpp"

namespace rubato::lab {

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
