// `compare`: reads what was asked for, compares, writes what was found.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "commands.hpp"
#include "compare.hpp"
#include "given.hpp"
#include "interrupt.hpp"
#include "output_file.hpp"
#include "record_run.hpp"
#include "report.hpp"
#include "shipped.hpp"
#include "support/scenario_files.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

using support::user_error;

// Of two outputs with one name, the second would replace the first.
void check_outputs(const compare_arguments& given) {
  std::map<std::filesystem::path, std::string> options;
  for (const auto& [option, file] : {std::pair<std::string, std::string>{"--json", given.json},
                                     {"--csv", given.csv},
                                     {"--log", given.log},
                                     {"--trace", given.trace}}) {
    if (file.empty() || file == "-") continue;
    std::error_code error;
    std::filesystem::path place = std::filesystem::weakly_canonical(std::filesystem::absolute(file, error), error);
    if (error) continue;  // opening it says what is wrong
    const auto [other, added] = options.emplace(std::move(place), option);
    if (!added)
      throw user_error{option + ": found \"" + file + "\", which " + other->second +
                       " names too, expected a file of its own"};
  }
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
  return asked;
}

}  // namespace

int run_compare(const compare_arguments& given) {
  const compare_options asked = options_of(given);
  const training_data data = given_data(asked.scenario, given.data);
  const bool json_to_screen = given.json == "-";
  check_outputs(given);
  output_file json{json_to_screen ? "" : given.json, "--json"};
  output_file every_run{given.csv, "--csv"};
  output_file log{given.log, "--log"};
  output_file trace{given.trace, "--trace"};
  const auto cache =
      given.no_cache ? std::make_unique<result_cache>() : std::make_unique<result_cache>(given.cache, code_version());

  const runner run{.data = data,
                   .cache = *cache,
                   .threads = given_threads(given.threads),
                   .stop = catch_interrupt(),
                   .progress = std::cerr,
                   .display = {.quiet = given.quiet}};
  const comparison made = compare(asked, run);

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
  std::cout << (json_to_screen ? document : table(made, given.by_hidden_layers)) << std::flush;

  if (records) {
    record_first_run(made, data, log.get(), trace.get());
    log.commit();
    trace.commit();
    (json_to_screen ? std::cerr : std::cout)
        << "log and trace: the run of " << made.rows.front().name << " with seed " << asked.seed << '\n';
  }
  return 0;
}

}  // namespace rubato::lab
