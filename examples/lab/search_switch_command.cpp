// `search-switch`: reads what was asked for, searches in simulations or in logs, says what was found.
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "commands.hpp"
#include "given.hpp"
#include "number_text.hpp"
#include "result_output.hpp"
#include "shipped.hpp"
#include "support/scenario_files.hpp"
#include "support/user_error.hpp"
#include "switch_report.hpp"

namespace rubato::lab {
namespace {

using support::user_error;

[[nodiscard]] adapt::switch_search_options search_options_of(const search_switch_arguments& given) {
  adapt::switch_search_options options{.beta = given.beta,
                                       .target_runs = given.target_runs.value_or(5),
                                       .runs = given.runs.value_or(5),
                                       .most_candidates = given.candidates,
                                       .stops_at_failure = !given.go_on,
                                       .level = given.level.value_or(adapt::switch_search_options{}.level),
                                       .charges_diverged = given.charge_diverged};
  if (given.acceptance == "welch") options.acceptance = adapt::switch_acceptance::welch;
  if (given.level && given.acceptance != "welch")
    throw user_error{"--level: found it without a test, expected it together with --acceptance welch"};
  if (given.target_accuracy.has_value() != given.target_time.has_value())
    throw user_error{"--target-accuracy: expected it together with --target-time, found one of them"};
  if (given.target_accuracy) {
    if (given.target_runs) throw user_error{"--bsp-runs: found it beside --target-accuracy, expected one of them"};
    if (given.acceptance == "welch")
      throw user_error{
          "--target-accuracy: found it beside --acceptance welch, whose test needs trainings of the target, "
          "expected --bsp-runs or --acceptance mean"};
    options.stored = adapt::switch_target{{.size = 1, .mean = *given.target_accuracy}, *given.target_time};
    options.target_runs = 0;
  }
  return options;
}

// Where trainings differ by more than may be lost, every candidate may pass.
void note_noise(const adapt::switch_search& search, const std::string& remedy) {
  const auto& target = search.target();
  if (!target || target->accuracy.size < 2 || target->accuracy.deviation() <= search.options().beta) return;
  std::cerr << "rubato-lab: note: the accuracy of BSP has a deviation of "
            << decimals(target->accuracy.deviation(), 4) << " between trainings, more than beta, "
            << short_text(search.options().beta) << ": which candidates are good enough may be chance" << remedy
            << '\n';
}

// How many models the seeds draw from.
[[nodiscard]] std::size_t models_of(const support::scenario& asked) {
  return asked.objective == support::objective_kind::sgd ? asked.hidden_layers.size() : 1;
}

// Options of one way to search that are of no use in the other.
void refuse_others(const std::string& way, const std::vector<std::pair<const char*, bool>>& options) {
  for (const auto& [option, is_given] : options)
    if (is_given) throw user_error{std::string{option} + ": found it with " + way + ", expected one of them"};
}

[[nodiscard]] int search_in_logs(const search_switch_arguments& given) {
  refuse_others("--logs", {{"--scenario", !given.scenario.empty()},
                           {"--set", !given.settings.empty()},
                           {"--pushes", given.pushes.has_value()},
                           {"--seed", given.seed.has_value()},
                           {"--bsp-runs", given.target_runs.has_value()},
                           {"--runs", given.runs.has_value()},
                           {"--target-accuracy", given.target_accuracy.has_value()},
                           {"--target-time", given.target_time.has_value()},
                           {"--charge-diverged", given.charge_diverged},
                           {"--cache", given.cache.has_value()},
                           {"--no-cache", given.no_cache},
                           {"--threads", given.threads != 0},
                           {"--data", !given.data.empty()}});
  if (given.workload.empty()) throw user_error{"--workload: found none beside --logs, expected the name of one"};
  result_output output{given.json, {{"--logs", given.logs + "/summary.csv"}}};
  const logged_search made = search_logs(read_switch_logs(given.logs, given.workload), search_options_of(given));
  note_noise(made.search, "");
  return output.put(to_json(made).dump(2) + "\n", table(made));
}

[[nodiscard]] switch_request switch_request_of(const search_switch_arguments& given) {
  if (given.scenario.empty()) throw user_error{"--scenario: found neither it nor --logs, expected one of them"};
  if (!given.workload.empty()) throw user_error{"--workload: found it without --logs, expected --pushes"};
  switch_request asked{.scenario = support::find_scenario(given.scenario, shipped("examples/lab/scenarios")),
                       .pushes = given.pushes.value_or(switch_request{}.pushes),
                       .seed = given.seed.value_or(1),
                       .search = search_options_of(given)};
  support::apply_settings(asked.scenario, given.settings);
  const adapt::switch_search_options& search = asked.search;
  const std::size_t models = models_of(asked.scenario);
  if (models > 1 && !search.stored && search.target_runs != search.runs)
    throw user_error{"--bsp-runs: found " + std::to_string(search.target_runs) + " beside --runs " +
                     std::to_string(search.runs) + " where seeds draw one of " + std::to_string(models) +
                     " numbers of hidden layers, expected equal numbers of runs, or --set objective.hidden_layers=N"};
  if (const std::string wrong = problem(search); !wrong.empty()) throw user_error{"search-switch: " + wrong};
  if (share_of_a_barrier(asked) > 0.5)
    throw user_error{"--pushes: found " + std::to_string(asked.pushes) + ", expected at least two barriers of " +
                     std::to_string(asked.scenario.cluster.workers) + " workers"};
  return asked;
}

[[nodiscard]] int search_in_simulations(const search_switch_arguments& given) {
  const switch_request asked = switch_request_of(given);
  const training_data data = given_data(asked.scenario, given.data);
  std::vector<named_file> inputs = given_files(given.scenario, given.data);
  inputs.push_back(given_cache_file(given.cache.value_or(default_cache), given.no_cache));
  result_output output{given.json, inputs};
  const auto cache = given_cache(given.cache.value_or(default_cache), given.no_cache);
  const switch_trials made = search_switch(asked, given_runner(data, *cache, given.threads, given.quiet));
  const std::size_t models = models_of(asked.scenario);
  note_noise(made.search, models < 2 ? ""
                                     : "; seeds draw one of " + std::to_string(models) +
                                           " numbers of hidden layers, --set objective.hidden_layers=N takes one");
  const std::string document = to_json(asked, made, data).dump(2) + "\n";
  return made.interrupted ? output.put_partial(document, table(asked, made), !given.no_cache)
                          : output.put(document, table(asked, made));
}

}  // namespace

int run_search_switch(const search_switch_arguments& given) {
  return given.logs.empty() ? search_in_simulations(given) : search_in_logs(given);
}

}  // namespace rubato::lab
