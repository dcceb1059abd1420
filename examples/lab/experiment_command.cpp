// `experiment`: lists experiments, or makes one and prints its tables.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "commands.hpp"
#include "given.hpp"
#include "result_output.hpp"
#include "shipped.hpp"
#include "support/scenario_files.hpp"
#include "support/user_error.hpp"
#include "switch_experiment.hpp"

namespace rubato::lab {
namespace {

using support::user_error;

constexpr std::string_view only_experiment = "sync-switch";

[[nodiscard]] std::vector<std::string> parts_of(const std::vector<std::string>& given) {
  std::vector<std::string> chosen;
  std::string known;
  for (const switch_part& each : switch_parts()) {
    known += (known.empty() ? "" : ", ") + std::string{each.name};
    if (given.empty() || std::ranges::find(given, each.name) != given.end()) chosen.emplace_back(each.name);
  }
  for (const std::string& each : given)
    if (std::ranges::find(switch_parts(), each, &switch_part::name) == switch_parts().end())
      throw user_error{"--part: found \"" + each + "\", expected one of " + known};
  return chosen;
}

[[nodiscard]] int list_experiments() {
  std::cout << only_experiment << "\n    the experiments of the Sync-Switch paper, in the simulator; its parts:\n";
  for (const switch_part& each : switch_parts()) std::cout << "    " << each.name << ": " << each.meaning << '\n';
  return 0;
}

}  // namespace

int run_experiment(const experiment_arguments& given) {
  if (given.name.empty()) return list_experiments();
  if (given.name != only_experiment)
    throw user_error{"experiment: found \"" + given.name + "\", expected " + std::string{only_experiment}};
  switch_experiment_request asked{.scenario = support::find_scenario(given.scenario, shipped("examples/lab/scenarios")),
                                  .parts = parts_of(given.parts),
                                  .seed = given.seed,
                                  .seeds = given.seeds,
                                  .switch_time = given.switch_time};
  support::apply_settings(asked.scenario, given.settings);
  for (const std::string& part : asked.parts) static_cast<void>(cases_of(part, asked.scenario));  // refuses early
  const training_data data = given_data(asked.scenario, given.data);
  std::vector<named_file> inputs = given_files(given.scenario, given.data);
  inputs.push_back(given_cache_file(given.cache, given.no_cache));
  result_output output{given.json, inputs};
  const auto cache = given_cache(given.cache, given.no_cache);
  const switch_experiment made = run_switch_experiment(asked, given_runner(data, *cache, given.threads, given.quiet));
  const std::string document = to_json(made, data).dump(2) + "\n";
  return made.interrupted ? output.put_partial(document, table(made), !given.no_cache)
                          : output.put(document, table(made));
}

}  // namespace rubato::lab
