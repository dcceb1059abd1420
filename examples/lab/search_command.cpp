// `train` with an agent that searches: reads what was asked for, searches, says what became of it.
#include <cmath>
#include <iostream>
#include <thread>

#include "commands.hpp"
#include "interrupt.hpp"
#include "search.hpp"
#include "shipped.hpp"
#include "support/scenario_files.hpp"
#include "support/shell_word.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

using support::shell_word;
using support::user_error;

constexpr std::string_view at_random = "random";

[[nodiscard]] search_request request_of(const train_arguments& given, const search_agent& agent) {
  search_request asked{.scenario_argument = given.scenario,
                       .settings = given.settings,
                       .agent = agent,
                       .generations = given.generations,
                       .clusters = given.clusters,
                       .rounds = given.rounds,
                       .hidden = given.hidden,
                       .select_every = given.select_every,
                       .selection_clusters = given.selection_clusters,
                       .seed = given.seed,
                       .licence = given.licence};
  if (given.population) asked.agent.population = *given.population;
  if (agent.name == "es" && asked.agent.population % 2 != 0)
    throw user_error{"--population: found " + std::to_string(asked.agent.population) +
                     ", expected an even number: candidates of es are in pairs"};
  if (asked.rounds > asked.clusters)
    throw user_error{"--rounds: found " + std::to_string(asked.rounds) + ", expected at most the " +
                     std::to_string(asked.clusters) + " clusters"};
  if (!given.initial.empty() || given.expert_runs || given.evaluate_every || given.evaluation_episodes ||
      !given.state.empty())
    throw user_error{"--agent " + given.agent +
                     ": found an option of learners (--initial, --state, --expert-runs, --evaluate-every or "
                     "--evaluation-episodes), expected those of searches"};
  if (given.scenario == at_random) {
    if (!given.settings.empty())
      throw user_error{"--set: found it with --scenario random, expected a scenario that it can change"};
    return asked;
  }
  asked.scenario = support::find_scenario(given.scenario, shipped("examples/lab/scenarios"));
  support::apply_settings(*asked.scenario, given.settings);
  if (asked.scenario->run.target_accuracy == support::scenario::auto_target)
    throw user_error{"--scenario " + given.scenario +
                     ": found objective.target_accuracy = auto, expected a number: only compare finds it by itself"};
  return asked;
}

}  // namespace

int run_search(const train_arguments& given, const search_agent& agent) {
  if (given.out.empty()) throw user_error{"--out: found \"\", expected the name of a file"};
  const training_files files{given.out, given.curve};
  const search_request asked = request_of(given, agent);
  const training_data data =
      load_data(asked.scenario.value_or(support::scenario{}),
                given.data.empty() ? shipped("examples/data") : std::filesystem::path{given.data});
  const run_context how{
      .data = data,
      .threads = given.threads > 0 ? given.threads : std::max(1U, std::thread::hardware_concurrency()),
      .stop = catch_interrupt(),
      .progress = std::cerr,
      .display = {.quiet = given.quiet}};
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
  for (const rl::selection_report& s : report.selections)
    if (s.best)
      std::cout << "after " << s.generation << " generations: time of knee+decay / its time " << std::exp(-s.mean)
                << "  [" << std::exp(-s.mean - 2 * s.standard_error) << ", " << std::exp(-s.mean + 2 * s.standard_error)
                << "] in " << asked.selection_clusters << " clusters\n";
  std::cout << "written: " << given.out << "\nsee it:  rubato-lab inspect " << shell_word(given.out)
            << "\ntry it:  rubato-lab compare --policies " << shell_word("knee+decay,file:" + given.out) << std::endl;
  return 0;
}

}  // namespace rubato::lab
