// `timeline`: a decision log as a Chrome trace, for a viewer.
#include <cstdint>
#include <iostream>
#include <rubato/io/chrome_trace.hpp>

#include "commands.hpp"
#include "output_file.hpp"
#include "read_stats.hpp"

namespace rubato::lab {

int run_timeline(const timeline_arguments& given) {
  check_outputs({{"LOG", given.log}}, {{"--out", given.out}});
  output_file file{given.out, "--out"};
  chrome_trace_options options{.microseconds_per_unit = 1e6 * given.unit_seconds};
  log_stats stats;  // says of each record whether it can be
  const log_reading reading = read_stats(given.log, stats, [&](const log_line& line) {
    if (line.is == log_line::kind::header) options.policy = line.policy;
    return std::string{};
  });
  options.workers = static_cast<std::uint32_t>(stats.workers().size());  // of strangers an index may be anything
  chrome_trace_stream spans{file_reference{file.get()}, options};
  read_again(given.log, reading, [&](const log_line& line, std::uint64_t) {
    if (line.is == log_line::kind::record) spans(line.event);
  });
  spans.finish();
  file.commit();
  if (reading.problem.empty()) return 0;
  std::cerr << "rubato-lab: " << left_out(reading) << '\n';
  return unsound_log_status;
}

}  // namespace rubato::lab
