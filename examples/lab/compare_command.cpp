// `compare`: reads what was asked for, compares, writes what was found.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "commands.hpp"
#include "compare.hpp"
#include "given.hpp"
#include "gloo_host.hpp"
#include "interrupt.hpp"
#include "output_file.hpp"
#include "record_run.hpp"
#include "report.hpp"
#include "shipped.hpp"
#include "support/scenario_files.hpp"
#include "support/user_error.hpp"
#include "switching_policy.hpp"
#include "threads_host.hpp"

namespace rubato::lab {
namespace {

using support::user_error;

void check_files(const compare_arguments& given) {
  std::vector<named_file> inputs = given_files(given.scenario, given.data);
  inputs.push_back(given_cache_file(given.cache, given.no_cache));
  for (const std::string& file : files_in(given.policies)) inputs.push_back({"--policies", file});
  check_outputs(inputs, {{"--json", given.json}, {"--csv", given.csv}, {"--log", given.log}, {"--trace", given.trace}});
}

// Says on standard error what an interruption left. Nothing that was complete before is replaced.
void report_interruption(const std::vector<std::string>& files, bool json_to_screen, bool records) {
  std::string said = "rubato-lab: interrupted";
  if (json_to_screen) said += "; --json -: nothing printed";
  for (std::size_t i = 0; i < files.size(); ++i) said += (i == 0 ? "; partial result in " : ", ") + files[i];
  if (records) said += "; no log, no trace";
  std::cerr << said << '\n';
}

[[nodiscard]] compare_options options_of(const compare_arguments& given) {
  compare_options asked{.scenario = support::find_scenario(given.scenario, shipped("examples/lab/scenarios")),
                        .policies = parse_policies(given.policies, given.tune),
                        .seed = given.seed,
                        .seeds = given.seeds,
                        .tune = given.tune,
                        .tuning_seeds = given.tuning_seeds,
                        .clairvoyant = given.clairvoyant};
  support::apply_settings(asked.scenario, given.settings);
  fit_policies(asked.policies, asked.scenario.cluster.workers);
  for (const host_kind each : {host_kind::threads, host_kind::gloo})
    if (given.host == name(each)) asked.host = each;
  if (asked.host != host_kind::simulator) {
    const std::string missing =
        asked.host == host_kind::threads ? not_on_threads(asked.scenario) : not_on_gloo(asked.scenario);
    if (!missing.empty()) throw user_error{"--host " + given.host + ": " + missing};
    if (asked.clairvoyant) throw user_error{"--host " + given.host + ": --clairvoyant is for the simulator"};
    asked.unit_seconds = given.time_scale;
  }
  return asked;
}

// Of the policies that were asked for: the plan that --clairvoyant adds is no policy that a name stands for.
void note_steps(const comparison& made) {
  for (const comparison_row& row : std::span{made.rows}.first(made.asked.policies.size())) {
    double pushes = 0, runs = 0;
    for (const auto& run : row.runs)
      if (run) pushes += static_cast<double>(run->pushes), ++runs;
    if (runs == 0) continue;
    if (const std::string note = steps_beyond_runs(row.used.name, pushes / runs); !note.empty())
      std::cerr << "rubato-lab: note: " << note << '\n';
  }
}

}  // namespace

int run_compare(const compare_arguments& given) {
  const compare_options asked = options_of(given);
  const training_data data = given_data(asked.scenario, given.data);
  const bool json_to_screen = given.json == "-";
  check_files(given);
  output_file json{json_to_screen ? "" : given.json, "--json"};
  output_file every_run{given.csv, "--csv"};
  output_file log{given.log, "--log"};
  output_file trace{given.trace, "--trace"};
  const auto cache = given_cache(given.cache, given.no_cache);
  const runner run = given_runner(data, *cache, asked.host == host_kind::simulator ? given.threads : 1, given.quiet);
  const comparison made = compare(asked, run);
  note_steps(made);

  const std::string document = to_json(made).dump(2) + "\n";
  const bool records = log.get() != nullptr || trace.get() != nullptr;
  if (made.interrupted) {
    std::vector<std::string> files{json.write_partial(document), every_run.write_partial(csv(made))};
    std::erase(files, "");
    if (!json_to_screen) std::cout << table(made, given.by_hidden_layers) << std::flush;
    report_interruption(files, json_to_screen, records);
    return interrupted_status();
  }
  json.write(document);  // files first: whoever reads the table may close the pipe
  every_run.write(csv(made));
  json.remove_partial();
  every_run.remove_partial();
  std::cout << (json_to_screen ? document : table(made, given.by_hidden_layers)) << std::flush;

  if (records) {
    if (!record_first_run(made, data, log.get(), trace.get(), run.stop)) {
      std::cerr << "rubato-lab: interrupted; the log and the trace are not written\n";
      return interrupted_status();
    }
    log.commit();
    trace.commit();
    (json_to_screen ? std::cerr : std::cout)
        << "log and trace: the run of " << made.rows.front().name << " with seed " << asked.seed << '\n';
  }
  return 0;
}

}  // namespace rubato::lab
