// `train`: reads what was asked for, trains, says what became of it.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <rubato/io/atomic_file.hpp>
#include <thread>

#include "commands.hpp"
#include "interrupt.hpp"
#include "shipped.hpp"
#include "support/scenario_files.hpp"
#include "support/user_error.hpp"
#include "train.hpp"

namespace rubato::lab {
namespace {

using support::user_error;

[[nodiscard]] training_request request_of(const train_arguments& given) {
  training_request asked{.scenario = support::find_scenario(given.scenario, shipped("examples/lab/scenarios")),
                         .settings = {},
                         .agent = find_training_agent(given.agent),
                         .state = given.state,
                         .episodes = given.episodes,
                         .seed = given.seed,
                         .evaluation_episodes = given.evaluation_episodes,
                         .test_seeds = given.test_seeds,
                         .initial = given.initial,
                         .licence = given.licence};
  support::apply_settings(asked.scenario, given.settings);
  for (const std::string& each : given.settings) asked.settings += " --set " + each;
  if (asked.scenario.run.target_accuracy == support::scenario::auto_target)
    throw user_error{"--scenario " + given.scenario +
                     ": found objective.target_accuracy = auto, expected a number: only compare finds it by itself"};
  if (asked.state.empty()) asked.state = asked.agent.state;
  if (given.expert_runs) asked.agent.expert_runs = *given.expert_runs;
  if (given.evaluate_every) asked.agent.evaluate_every = *given.evaluate_every;
  if (!asked.initial.empty() && given.expert_runs)
    throw user_error{"--expert-runs: found it beside --initial, expected one of them"};
  return asked;
}

[[nodiscard]] std::string curve_of(const training_report& report) {
  std::string text = "episodes,pushes,mean_reward,least_reward,most_reward,mean_time\n";
  for (const rl::evaluation& e : report.evaluations) {
    text += std::to_string(e.episodes) + ',' + std::to_string(e.steps);
    for (const double number : {e.mean, e.least, e.most, e.mean_elapsed}) text += ',' + std::to_string(number);
    text += '\n';
  }
  return text;
}

}  // namespace

int run_train(const train_arguments& given) {
  const training_request asked = request_of(given);
  const training_data data =
      load_data(asked.scenario, given.data.empty() ? shipped("examples/data") : std::filesystem::path{given.data});
  const run_context how{.data = data,
                        .threads = given.threads > 0 ? given.threads : std::max(1U, std::thread::hardware_concurrency()),
                        .stop = catch_interrupt(),
                        .progress = std::cerr,
                        .display = {.quiet = given.quiet}};
  const training_report report = train(asked, given.out, given.resume, how);
  if (report.interrupted) {
    std::cerr << "rubato-lab: interrupted after " << report.episodes << " of " << asked.episodes
              << " episodes; the same command with --resume goes on\n";
    return interrupted_status();
  }
  if (!given.curve.empty())
    if (const auto done = write_file(given.curve, curve_of(report)); !done)
      throw user_error{"--curve: " + done.error().message};
  for (const card_evaluation& line : report.appraisal)
    std::cout << "time of " << line.baseline << " / its time: " << line.ratio << "  [" << line.low << ", " << line.high
              << "]\n";
  const rl::dqn_counters& did = report.counters;
  std::cout << report.episodes << " episodes, " << report.pushes << " pushes, " << did.updates << " updates; refused as not finite: "
            << did.rejected_transitions << " transitions, " << did.rejected_updates << " updates\n"
            << "written: " << given.out << "\nsee it:  rubato-lab inspect " << given.out
            << "\ntry it:  rubato-lab compare --scenario " << given.scenario;
  for (const std::string& each : given.settings) std::cout << " --set " << each;
  std::cout << " --policies bsp:sum,asp,ssp:3,file:" << given.out << std::endl;
  return 0;
}

}  // namespace rubato::lab
