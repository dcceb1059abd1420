// `train`: reads what was asked for, trains, says what became of it.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <system_error>
#include <utility>

#include "commands.hpp"
#include "given.hpp"
#include "interrupt.hpp"
#include "search.hpp"
#include "support/shell_word.hpp"
#include "support/user_error.hpp"
#include "train.hpp"

namespace rubato::lab {
namespace {

using support::shell_word;
using support::user_error;

[[nodiscard]] training_request request_of(const train_arguments& given) {
  const training_agent& agent = find_training_agent(given.agent);
  if (given.scenario == "random")
    throw user_error{"--scenario: found random with --agent " + given.agent +
                     ", which does not search, expected one cluster, such as random:1"};
  training_request asked{.scenario = given_scenario(given.scenario, given.settings),
                         .scenario_argument = given.scenario,
                         .settings = given.settings,
                         .agent = agent,
                         .state = given.state,
                         .seed = given.seed,
                         .evaluation_episodes = given.evaluation_episodes.value_or(20),
                         .test_seeds = given.test_seeds.value_or(20),
                         .initial = given.initial,
                         .licence = given.licence};
  if (asked.state.empty()) asked.state = asked.agent.state;
  asked.episodes = given.episodes.value_or(asked.agent.episodes);
  if (given.expert_runs) asked.agent.expert_runs = *given.expert_runs;
  if (given.evaluate_every) asked.agent.evaluate_every = *given.evaluate_every;
  const auto refuse = [](const std::string& what) { throw user_error{what}; };
  const std::pair<const char*, bool> of_searches[] = {{"--generations", given.generations.has_value()},
                                                      {"--population", given.population.has_value()},
                                                      {"--clusters", given.clusters.has_value()},
                                                      {"--rounds", given.rounds.has_value()},
                                                      {"--hidden", given.hidden.has_value()},
                                                      {"--corrections", !given.corrections.empty()},
                                                      {"--select-every", given.select_every.has_value()},
                                                      {"--selection-clusters", given.selection_clusters.has_value()}};
  for (const auto& [option, is_given] : of_searches)
    if (is_given) refuse(std::string{option} + ": found it with --agent " + given.agent + ", which does not search");
  if (asked.agent.episodes == 0 && !asked.initial.empty())
    refuse("--initial: found it with --agent " + given.agent + ", which learns from experts alone");
  const bool evaluates = asked.agent.evaluate_every > 0;
  if (!asked.initial.empty() && given.expert_runs)
    refuse("--expert-runs: found it beside --initial, expected one of them");
  if (!given.curve.empty() && !evaluates)
    refuse("--curve: found no evaluations to write, expected --evaluate-every above 0");
  if (given.evaluation_episodes && !evaluates)
    refuse("--evaluation-episodes: found it without evaluations, expected --evaluate-every above 0");
  if (asked.initial.empty()) {
    const bool taught = asked.agent.expert_runs > 0 && asked.agent.lesson;
    if (asked.episodes == 0 && !taught)
      refuse("--episodes 0: found neither experts that teach nor --initial, expected something to learn from");
    if (asked.agent.expert_runs == 0 && asked.agent.experts_scale)
      refuse("--expert-runs: found 0, expected at least 1: " + given.agent +
             " scales what it sees by their statistics");
  }
  return asked;
}

[[nodiscard]] const rl::evaluation& best_of(const training_report& report) {
  return *std::ranges::max_element(report.evaluations, {}, &rl::evaluation::mean);
}

// What looks like success and is none.
void warn(const training_request& asked, const training_report& report) {
  const auto say = [](const std::string& what) { std::cerr << "rubato-lab: warning: " << what << '\n'; };
  if (asked.episodes > 0 && report.updates == 0)
    say("no episode has taught it anything: " +
        (report.rejected_updates > 0 ? "no update was finite"
                                     : "it learns after " + std::to_string(learns_after(asked.agent)) + " pushes"));
  else if (report.rejected_updates > 0)
    say(std::to_string(report.rejected_updates) + " updates were not finite and left out");
  else if (asked.episodes > 0 && !report.evaluations.empty() && best_of(report).episodes == 0)
    say("none of the episodes made it better: it is the policy that learning began with");
  if (asked.test_seeds > 0 && report.appraisal.size() < experts_of(asked.agent, asked.scenario).size())
    say("where ratios are missing, it or the expert missed the target in more than a tenth of the runs");
}

}  // namespace

int run_train(const train_arguments& given) {
  if (const search_agent* agent = find_search_agent(given.agent)) {
    if (!given.tensorboard.empty())
      throw user_error{"--tensorboard: found it with --agent " + given.agent + ", which searches, expected one that acts"};
    return run_search(given, *agent);
  }
  training_files files = files_of(given.out, given.curve, training_inputs(given.initial, given.scenario, given.data));
  files.tensorboard = given.tensorboard;
  const training_request asked = request_of(given);
  const training_data data = given_data(asked.scenario, given.data);
  const run_context how = given_context(data, given.threads, given.quiet);
  const training_report report = train(asked, files, given.resume, how);
  if (report.complete) {
    std::cout << given.out << " is complete already\n";
    return 0;
  }
  if (report.interrupted) {
    std::cerr << "rubato-lab: interrupted ";
    if (!std::filesystem::exists(files.start))
      std::cerr << "while watching experts, of which nothing is kept; the same command begins again\n";
    else
      std::cerr << "after " << report.episodes << " of " << asked.episodes
                << " episodes; the same command with --resume goes on\n";
    return interrupted_status();
  }
  warn(asked, report);
  for (const card_evaluation& line : report.appraisal)
    std::cout << "time of " << line.baseline << " / its time: " << line.ratio << "  [" << line.low << ", " << line.high
              << "]\n";
  if (report.episodes > 0)
    std::cout << report.episodes << " episodes, " << report.pushes << " pushes, " << report.updates
              << " updates; refused as not finite: " << report.rejected_transitions << " transitions, "
              << report.rejected_updates << " updates\n";
  if (!report.evaluations.empty())
    std::cout << "kept: the policy after " << best_of(report).episodes << " episodes, the best of "
              << report.evaluations.size() << " evaluations\n";
  std::cout << "written: " << given.out << "\nsee it:  rubato-lab inspect " << shell_word(given.out)
            << "\ntry it:  rubato-lab compare --scenario " << shell_word(given.scenario);
  for (const std::string& each : given.settings) std::cout << " --set " << shell_word(each);
  std::cout << " --policies " << shell_word("bsp:sum,asp,ssp:3,file:" + given.out) << std::endl;
  return 0;
}

}  // namespace rubato::lab
