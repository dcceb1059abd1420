// `train` with an agent that searches: reads what was asked for, searches, says what became of it.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <utility>

#include "commands.hpp"
#include "given.hpp"
#include "interrupt.hpp"
#include "search.hpp"
#include "support/shell_word.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

using support::shell_word;
using support::user_error;

constexpr std::string_view at_random = "random";

// What --corrections stands for.
[[nodiscard]] std::optional<correction> given_corrections(const std::string& text) {
  if (text.empty() || text == "both") return std::nullopt;
  if (text == "rate") return correction::rate;
  if (text == "batch") return correction::batch;
  throw user_error{"--corrections: found \"" + text + "\", expected rate, batch or both"};
}

[[nodiscard]] search_request request_of(const train_arguments& given, const search_agent& agent) {
  search_request asked{.scenario_argument = given.scenario,
                       .settings = given.settings,
                       .agent = agent,
                       .state = given.state,
                       .initial = given.initial,
                       .only = given_corrections(given.corrections),
                       .seed = given.seed,
                       .licence = given.licence};
  const auto take = [](auto& into, const auto& option) { into = option.value_or(into); };
  take(asked.generations, given.generations);
  take(asked.clusters, given.clusters);
  take(asked.rounds, given.rounds);
  take(asked.hidden, given.hidden);
  take(asked.select_every, given.select_every);
  take(asked.selection_clusters, given.selection_clusters);
  if (given.population) asked.agent.population = *given.population;
  if (agent.name == "es" && asked.agent.population % 2 != 0)
    throw user_error{"--population: found " + std::to_string(asked.agent.population) +
                     ", expected an even number: candidates of es are in pairs"};
  if (asked.rounds > asked.clusters)
    throw user_error{"--rounds: found " + std::to_string(asked.rounds) + ", expected at most the " +
                     std::to_string(asked.clusters) + " clusters"};
  const std::pair<const char*, bool> of_learners[] = {{"--episodes", given.episodes.has_value()},
                                                      {"--expert-runs", given.expert_runs.has_value()},
                                                      {"--evaluate-every", given.evaluate_every.has_value()},
                                                      {"--evaluation-episodes", given.evaluation_episodes.has_value()},
                                                      {"--test-seeds", given.test_seeds.has_value()}};
  for (const auto& [option, is_given] : of_learners)
    if (is_given) throw user_error{std::string{option} + ": found it with --agent " + given.agent + ", which searches"};
  if (!asked.state.empty() && !given.corrections.empty())
    throw user_error{"--corrections: found it beside --state, expected one of them"};
  if (!given.curve.empty() && asked.select_every == 0)
    throw user_error{"--curve: found no selections to write, expected --select-every above 0"};
  if (given.scenario == at_random) {
    if (!given.settings.empty())
      throw user_error{"--set: found it with --scenario random, expected a scenario that it can change"};
    return asked;
  }
  asked.scenario = given_scenario(given.scenario, given.settings);
  return asked;
}

}  // namespace

int run_search(const train_arguments& given, const search_agent& agent) {
  const training_files files =
      files_of(given.out, given.curve, training_inputs(file_of_initial(given.initial), given.scenario, given.data));
  const search_request asked = request_of(given, agent);
  const training_data data = given_data(asked.scenario.value_or(support::scenario{}), given.data);
  const run_context how = given_context(data, given.threads, given.quiet);
  const search_report report = search(asked, files, given.resume, how);
  if (report.complete) {
    std::cout << given.out << " is complete already\n";
    return 0;
  }
  if (report.interrupted) {
    std::cerr << "rubato-lab: interrupted after " << report.generations << " of " << asked.generations
              << " generations; the same command with --resume goes on\n";
    return interrupted_status();
  }
  if (!report.selections.empty()) {
    const auto best = std::find_if(report.selections.rbegin(), report.selections.rend(),
                                   [](const rl::selection_report& s) { return s.best; });
    if (best->generation == 0)
      std::cerr << "rubato-lab: warning: no generation was better than "
                << (asked.initial.empty() ? rule_of(asked) : std::string_view{asked.initial})
                << ", which the search began with\n";
    std::cout << "kept: generation " << best->generation << ", time of " << rule_of(asked) << " / its time "
              << std::exp(-best->mean) << "  [" << std::exp(-best->mean - 2 * best->standard_error) << ", "
              << std::exp(-best->mean + 2 * best->standard_error) << "] in " << asked.selection_clusters
              << " clusters, the best of " << report.selections.size() << " selections\n";
  }
  std::cout << "written: " << given.out << "\nsee it:  rubato-lab inspect " << shell_word(given.out)
            << "\ntry it:  rubato-lab compare";
  if (asked.scenario) std::cout << " --scenario " << shell_word(given.scenario);
  for (const std::string& each : given.settings) std::cout << " --set " << shell_word(each);
  std::cout << " --policies "
            << shell_word((asked.state.empty() ? "bsp:sum,knee+decay,file:" : "bsp:sum,asp,ssp:3,file:") + given.out)
            << std::endl;
  return 0;
}

}  // namespace rubato::lab
