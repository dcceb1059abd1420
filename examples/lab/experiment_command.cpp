// `experiment`: lists experiments, or makes one and prints its tables.
#include <algorithm>
#include <array>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "commands.hpp"
#include "given.hpp"
#include "named_parts.hpp"
#include "output_file.hpp"
#include "result_output.hpp"
#include "rlp_figures.hpp"
#include "rlp_run.hpp"
#include "shipped.hpp"
#include "support/name_parts.hpp"
#include "support/scenario_files.hpp"
#include "support/user_error.hpp"
#include "switch_experiment.hpp"

namespace rubato::lab {
namespace {

using support::user_error;

[[nodiscard]] support::scenario scenario_of(const experiment_arguments& given) {
  support::scenario of = support::find_scenario(given.scenario, shipped("examples/lab/scenarios"));
  support::apply_settings(of, given.settings);
  return of;
}

[[nodiscard]] std::vector<named_file> inputs_of(const experiment_arguments& given) {
  std::vector<named_file> inputs = given_files(given.scenario, given.data);
  if (!given.other_data.empty())
    for (named_file& each : given_data_files("--other-data", given.other_data)) inputs.push_back(std::move(each));
  inputs.push_back(given_cache_file(given.cache, given.no_cache));
  return inputs;
}

[[nodiscard]] std::vector<std::string> parts_of(const std::vector<std::string>& given) {
  std::vector<const switch_part*> all;
  for (const switch_part& each : switch_parts()) all.push_back(&each);
  std::vector<std::string> names;
  for (const switch_part* each : named_parts(all, &switch_part::name, given)) names.emplace_back(each->name);
  return names;
}

[[nodiscard]] int make_sync_switch(const experiment_arguments& given) {
  const switch_experiment_request asked{.scenario = scenario_of(given),
                                        .parts = parts_of(given.parts),
                                        .seed = given.seed,
                                        .seeds = given.seeds,
                                        .switch_time = given.switch_time.value_or(36)};
  for (const std::string& part : asked.parts) static_cast<void>(cases_of(part, asked.scenario));  // refuses early
  const training_data data = given_data(asked.scenario, given.data);
  result_output output{given.json, inputs_of(given)};
  const auto cache = given_cache(given.cache, given.no_cache);
  const switch_experiment made = run_switch_experiment(asked, given_runner(data, *cache, given.threads, given.quiet));
  const std::string document = to_json(made, data).dump(2) + "\n";
  return made.interrupted ? output.put_partial(document, table(made), !given.no_cache)
                          : output.put(document, table(made));
}

[[nodiscard]] int make_rlp_figure(const experiment_arguments& given) {
  const rlp_figure_request asked{.experiment = given.name,
                                 .parts = given.parts,
                                 .scenario = scenario_of(given),
                                 .seed = given.seed,
                                 .seeds = given.seeds};
  const std::vector<const rlp_case*> cases = rlp_cases_of(asked.experiment, asked.parts);  // refuses early
  if (!given.other_data.empty() && std::ranges::none_of(cases, &rlp_case::of_other_data))
    throw user_error{"--other-data: none of the parts has use for it"};
  const training_data data = given_data(asked.scenario, given.data);
  std::optional<training_data> other_data;
  if (!given.other_data.empty()) other_data.emplace(given_data(asked.scenario, given.other_data));
  result_output output{given.json, inputs_of(given)};
  const auto cache = given_cache(given.cache, given.no_cache);
  const runner usual = given_runner(data, *cache, given.threads, given.quiet);
  std::optional<runner> other;
  if (other_data) other.emplace(given_runner(*other_data, *cache, given.threads, given.quiet));
  const rlp_figure made = run_rlp_figure(asked, usual, other ? &*other : nullptr);
  const std::string document = to_json(made).dump(2) + "\n";
  return made.interrupted ? output.put_partial(document, table(made), !given.no_cache)
                          : output.put(document, table(made));
}

// The longest step, times what lets several of them be seen.
[[nodiscard]] double shown_of(const support::scenario& of) {
  return 12 * *std::ranges::max_element(of.cluster.step_time);
}

[[nodiscard]] int make_rlp_run(const experiment_arguments& given) {
  if (given.name == "fig4" && given.svg.empty())
    throw user_error{"--svg: found none, expected the file of fig4's picture"};
  const support::scenario scenario = scenario_of(given);
  const training_data data = given_data(scenario, given.data);
  check_outputs(inputs_of(given), {{"--svg", given.svg}, {"--json", given.json == "-" ? "" : given.json}});
  output_file picture{given.svg, "--svg"};
  result_output output{given.json, inputs_of(given)};
  const rlp_runs made = run_rlp_table(scenario, given.seed, given_context(data, 1, given.quiet));
  const std::string document = to_json(made).dump(2) + "\n";
  if (made.interrupted) return output.put_partial(document, table(made), false);
  picture.write(svg(made, shown_of(scenario)));
  return output.put(document, table(made));
}

struct experiment {
  std::string_view name, meaning, scenario;
  std::uint32_t seeds;
  std::string_view takes;  // options besides those of all
  int (*make)(const experiment_arguments&);
};

constexpr std::array experiments{
    experiment{"sync-switch", "the experiments of the Sync-Switch paper, in the simulator; its parts:", "sync-switch",
               5, "--part --seeds --switch-time --cache --no-cache --threads", make_sync_switch},
    experiment{"fig2", "Figure 2 of the RLP paper: learned policies and the best of BSP, ASP and SSP; its parts:",
               "paper", 200, "--part --seeds --cache --no-cache --threads", make_rlp_figure},
    experiment{"fig3", "Figure 3: the same with other numbers of workers, another model and other data; its parts:",
               "paper", 200, "--part --seeds --other-data --cache --no-cache --threads", make_rlp_figure},
    experiment{"fig4", "Figure 4: from when to when each worker is busy in one run, as a picture (--svg)", "table1", 1,
               "--svg", make_rlp_run},
    experiment{"table1", "Table 1: the steps of each worker in one run", "table1", 1, "", make_rlp_run},
};

[[nodiscard]] int list_experiments() {
  const auto list = [](std::string_view name, std::string_view meaning) {
    std::cout << "    " << name << ": " << meaning << '\n';
  };
  for (const experiment& each : experiments) {
    std::cout << each.name << "\n    " << each.meaning << '\n';
    if (each.make == make_sync_switch)
      for (const switch_part& part : switch_parts()) list(part.name, part.meaning);
    for (const rlp_case& part : rlp_cases())
      if (part.experiment == each.name) list(part.part, part.meaning);
  }
  return 0;
}

// What was asked of another experiment than this.
void refuse_foreign_options(const experiment& of, const experiment_arguments& given) {
  const std::array<std::pair<std::string_view, bool>, 8> options{{{"--part", !given.parts.empty()},
                                                                  {"--seeds", given.seeds > 0},
                                                                  {"--switch-time", given.switch_time.has_value()},
                                                                  {"--other-data", !given.other_data.empty()},
                                                                  {"--svg", !given.svg.empty()},
                                                                  {"--cache", given.cache != default_cache},
                                                                  {"--no-cache", given.no_cache},
                                                                  {"--threads", given.threads > 0}}};
  const std::vector<std::string_view> taken = support::split(of.takes, ' ');
  for (const auto& [option, is_given] : options)
    if (is_given && std::ranges::find(taken, option) == taken.end())
      throw user_error{std::string{option} + ": experiment " + std::string{of.name} + " has no use for it"};
}

}  // namespace

int run_experiment(const experiment_arguments& given) {
  if (given.name.empty()) return list_experiments();
  const auto which = std::ranges::find(experiments, given.name, &experiment::name);
  if (which == experiments.end()) {
    std::string known;
    for (const experiment& each : experiments) known += (known.empty() ? "" : ", ") + std::string{each.name};
    throw user_error{"experiment: found \"" + given.name + "\", expected one of " + known};
  }
  refuse_foreign_options(*which, given);
  experiment_arguments all = given;
  if (all.scenario.empty()) all.scenario = which->scenario;
  if (all.seeds == 0) all.seeds = which->seeds;
  return which->make(all);
}

}  // namespace rubato::lab
