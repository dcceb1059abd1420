// rubato-lab: compares synchronisation policies on a simulated cluster that trains real models on real images.
#include <CLI/CLI.hpp>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "commands.hpp"
#include "compare.hpp"
#include "gloo_host.hpp"
#include "library_version.hpp"
#include "search.hpp"
#include "shipped.hpp"
#include "support/user_error.hpp"
#include "training_agents.hpp"

namespace {

using namespace rubato::lab;

constexpr std::uint32_t most_seeds = 100'000;

// CLI11 by itself takes -1 for a large number, and does not say what it found.
CLI::Validator whole(std::uint64_t low, std::uint64_t high) {
  return {[=](const std::string& text) -> std::string {
            std::uint64_t value = 0;
            const char* const end = text.data() + text.size();
            const auto [rest, error] = std::from_chars(text.data(), end, value);
            if (error == std::errc{} && rest == end && value >= low && value <= high) return "";
            return "found \"" + text + "\", expected a whole number from " + std::to_string(low) + " to " +
                   std::to_string(high);
          },
          ""};
}

// One value each time that it is given.
void add_repeatable(CLI::App& command, const std::string& name, std::vector<std::string>& to, const std::string& what) {
  command.add_option(name, to, what)->expected(1)->take_all()->allow_extra_args(false);
}

void add_set_option(CLI::App& command, std::vector<std::string>& settings) {
  add_repeatable(command, "--set", settings, "KEY=VALUE: change a key of the scenario; repeatable");
}

void add_threads_option(CLI::App& command, unsigned& threads) {
  command.add_option("--threads", threads, "Threads; the result does not depend on it")->check(whole(1, 1'024));
}

// Options of whatever makes runs.
template <class Arguments>
void add_run_options(CLI::App& command, Arguments& given) {
  add_threads_option(command, given.threads);
  command.add_option("--data", given.data, "Folder of MNIST or CIFAR-10 files; default: the images that ship");
  if constexpr (requires { given.quiet; }) command.add_flag("--quiet", given.quiet, "No progress");
}

template <class Arguments>
void add_json_option(CLI::App& command, Arguments& given, const std::string& in_place_of) {
  command.add_option("--json", given.json,
                     "Write the result there (- for standard output instead of the " + in_place_of + ")");
}

template <class Arguments>
void add_cache_options(CLI::App& command, Arguments& given, const std::string& what) {
  command.add_option("--cache", given.cache, "Folder of results, from which an interrupted " + what + " resumes")
      ->default_str(default_cache);
  command.add_flag("--no-cache", given.no_cache, "Neither read nor write it");
}

void add_compare_options(CLI::App& command, compare_arguments& given) {
  command.add_option("--scenario", given.scenario, "Shipped scenario, or a .json file")->capture_default_str();
  add_set_option(command, given.settings);
  command
      .add_option("--host", given.host,
                  "Where runs take place:\nsimulator: in virtual time\nthreads: in real time, one after another, on a "
                  "parameter server with a thread for each worker\ngloo: likewise, with a process for each worker, over "
                  "Gloo")
      ->check(CLI::IsMember({"simulator", "threads", "gloo"}))
      ->capture_default_str();
  command.add_option("--time-scale", given.time_scale, "In real time: seconds that a unit of the scenario's time takes")
      ->check(CLI::Range(0.0001, 3600.0))
      ->capture_default_str();
  command.add_option("--policies", given.policies, "Comma-separated policies, or all; see `rubato-lab policies`")
      ->capture_default_str();
  command.add_option("--seed", given.seed, "Seed of the first run")
      ->check(whole(0, first_tuning_seed - most_seeds))
      ->capture_default_str();
  command.add_option("--seeds", given.seeds, "Runs of each policy")->check(whole(1, most_seeds))->capture_default_str();
  add_json_option(command, given, "table");
  command.add_option("--csv", given.csv, "Write every run there");
  command.add_option("--trace", given.trace, "Write a Chrome trace of the first policy, first seed, there");
  command.add_option("--log", given.log, "Write the decision log of the first policy, first seed, there");
  add_cache_options(command, given, "comparison");
  command.add_flag("--tune", given.tune, "Find each policy's parameter (of a bare name such as ssp) and learning rate");
  command.add_option("--tuning-seeds", given.tuning_seeds, "Seeds for that, and for target_accuracy=auto")
      ->check(whole(1, most_seeds))
      ->capture_default_str();
  command.add_flag("--by-h", given.by_hidden_layers, "A second table, by number of hidden layers");
  command.add_flag("--clairvoyant", given.clairvoyant,
                   "A last row for what a plan reaches that knows the runs beforehand, and each rule's regret");
  add_run_options(command, given);
}

void add_growth_train_options(CLI::App& train, growth_train_arguments& given) {
  train.add_option("--tables", given.tables, "Folder of tables MODEL_SCENARIO.csv")->required();
  auto* on = train
                 .add_option("--on", given.on,
                             "One agent for these, such as convnet2_early, or convnet2 for all of that model; several "
                             "are joined by +; it learns from whole tables")
                 ->capture_default_str();
  auto* reinforce = train
                        .add_option("--reinforce", given.reinforce,
                                    "Instead, by REINFORCE: TASKS:EPISODES, or TASKS:EPISODES:TEMPERATURE, several "
                                    "in turn")
                        ->excludes(on);
  train.add_flag("--leave-one-out", given.leave_one_out, "An agent for each task, which has not seen it")
      ->excludes(reinforce);
  auto* from = train.add_option("--from", given.from, "Weights to go on with; default: at random");
  train.add_option("--vocabulary", given.vocabulary,
                   "JSON file of the layers that the agent knows; default: with --from its own, or vocab.json beside the "
                   "tables, else those of its tables, drawn by the seed");
  train.add_option("--network", given.network, "What is trained: a preference for each action, or a score for each")
      ->check(CLI::IsMember({"actions", "blocks"}))
      ->excludes(from)
      ->capture_default_str();
  train.add_option("--time", given.time, "How the time is encoded: as published, or so that start and end differ")
      ->check(CLI::IsMember({"sines", "cosines"}))
      ->excludes(from)
      ->capture_default_str();
  train.add_option("--updates", given.updates, "With --on")
      ->check(whole(1, 1'000'000'000))
      ->excludes(reinforce)
      ->capture_default_str();
  train.add_option("--learning-rate", given.learning_rate, "Default: 0.001, or 0.0001 with --reinforce")
      ->check(CLI::PositiveNumber);
  train.add_option("--entropy", given.entropy, "Its factor in the end; default: 0.01, or 0 with --reinforce")
      ->check(CLI::NonNegativeNumber);
  train
      .add_option("--time-noise", given.time_noise,
                  "With --on: how far times are varied, as a share of the budget; for times that no table has")
      ->excludes(reinforce)
      ->capture_default_str();
  train.add_flag("--baseline", given.baseline, "Compare rewards with their average")->needs(reinforce);
  train.add_option("--temperature-form", given.temperature_form, "What a temperature divides")
      ->check(CLI::IsMember({"second-softmax", "preferences"}))
      ->needs(reinforce)
      ->capture_default_str();
  train.add_option("--seeds", given.seeds, "How many agents")->check(whole(1, 10'000))->capture_default_str();
  train.add_option("--first-seed", given.first_seed, "Seed of the first")
      ->check(whole(0, 1'000'000'000'000))
      ->capture_default_str();
  train.add_option("--save", given.save, "Write the weights of the best agent there");
  train.add_option("--json", given.json, "Write the result there as JSON; - prints it");
  add_threads_option(train, given.threads);
  train.add_flag("--quiet", given.quiet, "No progress");
}
void add_growth_tables_options(CLI::App& tables, growth_tables_arguments& given) {
  auto* data = tables.add_option("--data", given.data, "Learn the images of this folder");
  tables.add_option("--pattern", given.pattern, "Or points of a square")
      ->check(CLI::IsMember({"checkers", "spirals"}))
      ->excludes(data)
      ->capture_default_str();
  tables.add_option("--name", given.name, "Of the model, in the names of files; default: the pattern, or images");
  tables.add_option("--hidden", given.hidden, "Widths of the hidden layers that it begins with")->capture_default_str();
  auto* widen = tables.add_flag("--widen", given.widen, "Widening each of them is an action, too");
  tables
      .add_option("--widening-noise", given.widening_noise,
                  "On what a copied unit reads, in standard deviations of its layer's weights")
      ->check(CLI::Range(0.0, 100.0))
      ->needs(widen)
      ->capture_default_str();
  tables.add_option("--epochs", given.epochs, "Budget, in epochs of the model that it begins with")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str();
  tables.add_option("--samples", given.samples, "To learn from; others are held out")
      ->check(whole(1, 1'000'000))
      ->capture_default_str();
  tables.add_option("--learning-rate", given.learning_rate, "Of Adam, at first; it falls to a tenth")
      ->check(CLI::Range(1e-9, 1.0))
      ->capture_default_str();
  tables.add_option("--steps", given.steps, "Actions of a sequence")->check(whole(1, 6))->capture_default_str();
  tables.add_option("--repeats", given.repeats, "Trainings of each sequence, whose mean counts")
      ->check(whole(1, 10'000))
      ->capture_default_str();
  tables.add_option("--first-seed", given.first_seed, "Seed of the first")
      ->check(whole(0, 1'000'000'000'000))
      ->capture_default_str();
  tables.add_option("--out", given.out, "Folder to write NAME.json and NAME_SCENARIO.csv to")->required();
  add_threads_option(tables, given.threads);
  tables.add_flag("--quiet", given.quiet, "No progress");
}
void add_batch_train_options(CLI::App& command, batch_train_arguments& given) {
  const auto number = [&](const std::string& name, auto& to, const std::string& what, std::uint64_t least) {
    command.add_option(name, to, what)->check(whole(least, 1'000'000))->capture_default_str();
  };
  command.add_option("--seed", given.seed, "Seed of everything")
      ->check(whole(0, first_tuning_seed))
      ->capture_default_str();
  number("--updates", given.updates, "Updates of PPO, which comes first", 0);
  number("--generations", given.generations, "Generations of the evolution strategy that goes on from there", 0);
  number("--population", given.population, "Candidates of a generation", 2);
  number("--tasks", given.tasks, "Tasks that each candidate has", 1);
  number("--select-every", given.select_every, "Generations after which the best guess is judged", 1);
  number("--selection-tasks", given.selection_tasks, "Tasks by which it is", 1);
  command.add_option("--out", given.out, "Policy file to write")->required();
  command.add_option("--licence", given.licence, "Of the policy, for its card: an SPDX identifier");
  command.add_flag("--resume", given.resume, "Go on with a training that was interrupted");
  add_threads_option(command, given.threads);
  command.add_flag("--quiet", given.quiet, "No progress");
}

void add_train_options(CLI::App& command, train_arguments& given) {
  command.add_option("--scenario", given.scenario, "Shipped scenario, a .json file, or, for searches, random")
      ->capture_default_str();
  add_set_option(command, given.settings);
  std::string agents;
  for (const training_agent& each : training_agents())
    agents += "\n" + std::string{each.name} + ": " + std::string{each.meaning};
  for (const search_agent& each : search_agents())
    agents += "\n" + std::string{each.name} + ": " + std::string{each.meaning};
  command.add_option("--agent", given.agent, "How to learn:" + agents)->required();
  command.add_option("--state", given.state,
                     "What the policy sees: rlp, rlp_normalised or cluster; default: the agent's, for searches none: a "
                     "correction is searched for");
  command.add_option("--episodes", given.episodes, "Runs to learn from by acting; default: the agent's")
      ->check(whole(0, 1'000'000'000));
  command.add_option("--seed", given.seed, "Seed of everything")
      ->check(whole(0, first_tuning_seed))
      ->capture_default_str();
  command
      .add_option("--expert-runs", given.expert_runs, "Runs of each expert to learn from first; default: the agent's")
      ->check(whole(0, 2'000));
  command.add_option("--initial", given.initial,
                     "Policy file to begin with, in place of experts; in a search for corrections: or distilled");
  command
      .add_option("--evaluate-every", given.evaluate_every,
                  "Pushes between evaluations, of which the best policy is kept; 0: keep the last policy")
      ->check(whole(0, 1'000'000'000'000));
  command.add_option("--evaluation-episodes", given.evaluation_episodes, "Runs of each evaluation; default: 20")
      ->check(whole(1, 100'000));
  command
      .add_option("--test-seeds", given.test_seeds,
                  "Runs of policy and experts at the end, whose ratios go into the file; 0: none; default: 20")
      ->check(whole(0, most_seeds));
  const std::string searches = "Searches: ";
  command.add_option("--generations", given.generations, searches + "generations of candidates; default: 60")
      ->check(whole(0, 1'000'000));
  command.add_option("--population", given.population, searches + "candidates of each; default: the agent's")
      ->check(whole(4, 100'000));
  command.add_option("--clusters", given.clusters, searches + "clusters that each candidate is tried on; default: 32")
      ->check(whole(1, 100'000));
  command
      .add_option("--rounds", given.rounds,
                  searches + "rounds of a race, after which the worst are out; 1: no race; default: 2")
      ->check(whole(1, 100'000));
  command.add_option("--hidden", given.hidden, searches + "units of a hidden layer; default: 0, all is linear")
      ->check(whole(0, 1'024));
  command.add_option("--corrections", given.corrections,
                     searches + "what is corrected: rate, batch or both; default: both");
  command
      .add_option("--select-every", given.select_every,
                  searches + "generations between selections, of which the best is kept; 0: keep the last; default: 10")
      ->check(whole(0, 1'000'000));
  command.add_option("--selection-clusters", given.selection_clusters, searches + "clusters of each; default: 200")
      ->check(whole(2, 100'000));
  command.add_option("--out", given.out, "Write the policy there")->required();
  command.add_flag("--resume", given.resume, "Go on with a training that was interrupted or killed");
  command.add_option("--curve", given.curve, "Write all evaluations there, as CSV");
  command.add_option("--tensorboard", given.tensorboard, "Write curves into this folder, for TensorBoard, as it goes on");
  command.add_option("--licence", given.licence, "SPDX identifier for the policy's card");
  add_run_options(command, given);
}

void add_explain_options(CLI::App& command, explain_arguments& given) {
  auto* file = command.add_option("FILE", given.file, "Policy file")->capture_default_str();
  if (given.file.empty()) file->required();
  command.add_option("--scenario", given.scenario, "Shipped scenario, or a .json file")->capture_default_str();
  add_set_option(command, given.settings);
  command.add_option("--seed", given.seed, "Seed of the first run")
      ->check(whole(0, first_tuning_seed))
      ->capture_default_str();
  command.add_option("--seeds", given.seeds, "Runs, with all features and without each")
      ->check(whole(1, most_seeds))
      ->capture_default_str();
  command.add_option("--map", given.map,
                     "Write a picture there (SVG): what it answers over the two features that matter most");
  add_run_options(command, given);
}

void add_fit_options(CLI::App& command, fit_arguments& given) {
  command.add_option("LOG", given.log, "Decision log of a run, plain or gzip")->required();
  command.add_option("--scenario", given.scenario, "What is trained: shipped scenario, or a .json file")
      ->capture_default_str();
  add_set_option(command, given.settings);
  command.add_option("--policy", given.policy, "The policy of the log, where it is not found by its description");
  command
      .add_option("--cores", given.cores, "Cores that the workers share, if that is known; as many as workers: none")
      ->check(whole(1, 10'000));
  command.add_option("--seed", given.seed, "Seed of the bootstrap")
      ->check(whole(0, first_tuning_seed))
      ->capture_default_str();
}

void add_advise_options(CLI::App& command, advise_arguments& given) {
  add_fit_options(command, given.fit);
  command.add_option("--policies", given.policies, "Comma-separated policies to choose from; default: the recommended");
  command.add_option("--members", given.members, "Clusters and models that the log could have come from")
      ->check(whole(4, 10'000))
      ->capture_default_str();
  command.add_option("--threshold", given.threshold, "Gain in per cent below which nothing is changed")
      ->check(CLI::Range(0.0, 1000.0))
      ->capture_default_str();
  add_json_option(command, given, "text");
  add_run_options(command, given);
}

void add_stats_options(CLI::App& command, stats_arguments& given) {
  command.add_option("LOG", given.log, "Decision log of a run, plain or gzip")->required();
  add_json_option(command, given, "text");
}

void add_timeline_options(CLI::App& command, timeline_arguments& given) {
  command.add_option("LOG", given.log, "Decision log of a run, plain or gzip")->required();
  command.add_option("--out", given.out, "Write the Chrome trace there")->required();
  command.add_option("--unit-seconds", given.unit_seconds, "Seconds to a unit of the log's time")
      ->check(CLI::Range(1e-9, 1e9))
      ->capture_default_str();
}

void add_replay_options(CLI::App& command, replay_arguments& given) {
  command.add_option("LOG", given.log, "Decision log of a run, plain or gzip")->required();
  command
      .add_option("--policy", given.policy,
                  "Who decides: a policy, see `rubato-lab policies`, or recorded: the one of the log, which must repeat "
                  "itself")
      ->capture_default_str();
  command.add_option("--workers", given.workers, "Capacity of the controller; default: as many as the log has")
      ->check(whole(1, 16'384));
  command.add_option("--seed", given.seed, "Seed of the controller, which only releases in random order need")
      ->capture_default_str();
  add_json_option(command, given, "text");
}

void add_search_switch_options(CLI::App& command, search_switch_arguments& given) {
  command.add_option("--scenario", given.scenario, "Search in simulations: shipped scenario, or a .json file");
  add_set_option(command, given.settings);
  command.add_option("--pushes", given.pushes, "Workload of a training; default: 2000")->check(whole(1, 1'000'000'000));
  command.add_option("--logs", given.logs, "Search in logged trainings: folder with a summary.csv");
  command.add_option("--workload", given.workload, "With --logs: first path element of the trainings to take");
  command.add_option("--seed", given.seed, "Seed of the first training of each share; default: 1")
      ->check(whole(0, first_tuning_seed));
  command.add_option("--bsp-runs", given.target_runs, "Synchronous trainings that make the target; default: 5")
      ->check(whole(1, 10'000));
  command.add_option("--runs", given.runs, "Trainings of each candidate; default: 5")->check(whole(1, 10'000));
  command.add_option("--target-accuracy", given.target_accuracy,
                     "In place of --bsp-runs: what synchronous training comes to, of a job that recurs")
      ->check(CLI::Range(0.0, 1.0));
  command.add_option("--target-time", given.target_time, "With it: the time that such a training takes");
  command.add_option("--beta", given.beta, "Accuracy that may be lost")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command
      .add_option("--acceptance", given.acceptance,
                  "When a candidate is good enough:\nmean: its mean is at most beta below the target's\nwelch: a "
                  "one-sided test refutes that it is more than beta below")
      ->check(CLI::IsMember({"mean", "welch"}))
      ->capture_default_str();
  command.add_option("--level", given.level, "Of the test; default: 0.05")->check(CLI::Range(0.0001, 0.5));
  command.add_option("--candidates", given.candidates, "Most candidates")->check(whole(1, 64))->capture_default_str();
  command.add_flag("--go-on", given.go_on, "By bisection after a candidate that is not good enough, too");
  command.add_flag("--charge-diverged", given.charge_diverged, "Trainings that diverge cost their time");
  add_json_option(command, given, "table");
  add_cache_options(command, given, "search");
  add_run_options(command, given);
}

void add_experiment_options(CLI::App& command, experiment_arguments& given) {
  command.add_option("NAME", given.name, "Which one; without it all are listed");
  add_repeatable(command, "--part", given.parts, "A part of it; repeatable; default: all");
  command.add_option("--scenario", given.scenario, "Shipped scenario, or a .json file; default: the experiment's own");
  add_set_option(command, given.settings);
  command.add_option("--seed", given.seed, "Seed of the first training of each case")
      ->check(whole(0, first_tuning_seed - most_seeds))
      ->capture_default_str();
  command.add_option("--seeds", given.seeds, "Trainings of each case; default: 5 of sync-switch, 200 of fig2 and fig3")
      ->check(whole(1, most_seeds));
  command.add_option("--switch-time", given.switch_time, "Of sync-switch: what a switch costs, where it is counted")
      ->check(CLI::Range(0.0, 1e9));
  command.add_option("--other-data", given.other_data, "Of fig3: folder of CIFAR-10 files");
  command.add_option("--svg", given.svg, "Of fig4: the picture that is written");
  add_json_option(command, given, "tables");
  add_cache_options(command, given, "experiment");
  add_run_options(command, given);
}

void add_watch_options(CLI::App& command, watch_arguments& given) {
  command.add_option("URL|LOG", given.source,
                     "Metrics of a server, http://HOST:PORT/metrics (gloo_server --metrics), or a decision log that grows")
      ->required();
  command.add_flag("--once", given.once, "Show it once, in full");
  command.add_option("--every", given.every, "Seconds between two looks")
      ->check(CLI::Range(0.05, 3600.0))
      ->capture_default_str();
}

void add_report_options(CLI::App& command, report_arguments& given) {
  command.add_option("FILES", given.files, "Results of compare --json, and decision logs");
  add_repeatable(command, "--log", given.logs, "A decision log, plain or gzip; repeatable");
  command.add_option("-o,--out", given.out, "Write the page there (HTML)")->required();
  command.add_option("--svg", given.svg, "Write each figure into this folder, too (SVG)");
}

// An option whose value is empty, such as that of a variable which is not set, would be as good as none.
void refuse_empty_words(CLI::App& app) {
  for (CLI::Option* const each : app.get_options())
    if (each->get_type_size() != 0)
      each->check([](const std::string& word) { return word.empty() ? "found \"\", expected something" : ""; });
  for (CLI::App* const each : app.get_subcommands({})) refuse_empty_words(*each);
}

int run(int argc, char** argv) {
  if (argc > 1 && std::string{argv[1]} == gloo_worker_word) return run_gloo_worker({argv + 2, argv + argc});
  CLI::App app{"Compares synchronisation policies on a simulated cluster that trains real models"};
  app.require_subcommand(1);
  app.set_version_flag("--version", "rubato-lab " + library_version());
  compare_arguments given;
  add_compare_options(*app.add_subcommand("compare", "Compare policies; prints a table"), given);
  compare_arguments of_room;
  of_room.policies = "bsp:mean,bsp:sum,asp,ssp,cap";
  of_room.tune = of_room.clairvoyant = true;
  auto* room = app.add_subcommand("room", "How much better a rule could be: compare --tune --clairvoyant");
  add_compare_options(*room, of_room);
  auto* batch = app.add_subcommand("batch", "Policies that set each worker's batch");
  batch->require_subcommand(1);
  compare_arguments of_batches;
  of_batches.scenario = "batch-one-slow";
  of_batches.policies = "dynamix,static,lb-bsp,warm-up,goodput,random";
  of_batches.tune = true;
  auto* batch_compare = batch->add_subcommand("compare", "Compare them: compare --tune, with other defaults");
  add_compare_options(*batch_compare, of_batches);
  explain_arguments of_batch_policy;
  of_batch_policy.file = shipped("examples/lab/policies/dynamix.safetensors").string();
  of_batch_policy.scenario = of_batches.scenario;
  of_batch_policy.seeds = 4;
  auto* batch_explain = batch->add_subcommand("explain", "Show what drives one: explain, with other defaults");
  add_explain_options(*batch_explain, of_batch_policy);
  batch_train_arguments to_train_batches;
  auto* batch_train = batch->add_subcommand("train", "Train one; writes a policy file");
  add_batch_train_options(*batch_train, to_train_batches);
  train_arguments to_train;
  auto* train = app.add_subcommand("train", "Train a policy; writes a policy file");
  add_train_options(*train, to_train);
  auto* policies = app.add_subcommand("policies", "List the policies");
  bool json = false;
  policies->add_flag("--json", json, "As JSON");
  auto* inspect = app.add_subcommand("inspect", "Show what a policy file is, and whether it runs here");
  std::string file;
  inspect->add_option("FILE", file, "Policy file")->required();
  inspect->add_flag("--json", json, "As JSON");
  auto* growth = app.add_subcommand("growth", "Agents that grow a model when devices come free");
  growth->require_subcommand(1);
  growth_eval_arguments to_evaluate;
  auto* growth_eval = growth->add_subcommand("eval", "Show what one does, and what that comes to, by tables");
  growth_eval->add_option("WEIGHTS", to_evaluate.weights, "Weights as JSON, by the names that PyTorch has for them")
      ->required();
  growth_eval->add_option("--tables", to_evaluate.tables, "Folder of tables MODEL_SCENARIO.csv")->required();
  growth_eval->add_option("--vocabulary", to_evaluate.vocabulary,
                          "JSON file of the layers that it knows; default: vocab.json beside the tables");
  growth_eval->add_option("--json", to_evaluate.json, "Write the result there as JSON; - prints it");
  growth_train_arguments to_teach;
  auto* growth_train = growth->add_subcommand("train", "Train them on tables; show what they come to");
  add_growth_train_options(*growth_train, to_teach);
  growth_tables_arguments to_table;
  auto* growth_tables = growth->add_subcommand("tables", "Train small models in every way of growing; write tables");
  add_growth_tables_options(*growth_tables, to_table);
  explain_arguments to_explain;
  auto* explained = app.add_subcommand("explain", "Show which features drive the decisions of a policy file");
  add_explain_options(*explained, to_explain);
  auto* exported = app.add_subcommand("export", "Print a correction, from a policy file, as a C++ header");
  exported->add_option("FILE", file, "Policy file")->required();
  fit_arguments to_fit;
  auto* fitted = app.add_subcommand("fit", "Make a scenario of a decision log");
  add_fit_options(*fitted, to_fit);
  fitted->add_option("--out", to_fit.out, "Write the scenario there; default: standard output");
  advise_arguments to_advise;
  auto* advised = app.add_subcommand("advise", "Say which policy to take, from the decision log of one run");
  add_advise_options(*advised, to_advise);
  stats_arguments of_log;
  auto* stats = app.add_subcommand("stats", "Say who is slow, who is missing, what happened to the gradients of a log");
  add_stats_options(*stats, of_log);
  timeline_arguments to_draw;
  auto* drawn = app.add_subcommand("timeline", "Make a timeline of a log, for ui.perfetto.dev");
  add_timeline_options(*drawn, to_draw);
  replay_arguments to_replay;
  auto* replayed = app.add_subcommand("replay", "Decide the events of a log again; show where decisions differ");
  add_replay_options(*replayed, to_replay);
  search_switch_arguments of_switch;
  auto* searched = app.add_subcommand("search-switch", "Find how early a job can switch from BSP to ASP");
  add_search_switch_options(*searched, of_switch);
  experiment_arguments to_repeat;
  auto* repeated = app.add_subcommand("experiment", "Repeat an experiment of a paper; without a name: list them");
  add_experiment_options(*repeated, to_repeat);
  watch_arguments to_watch;
  auto* watched = app.add_subcommand("watch", "Show a running job: who is slow, who is missing, where gradients go");
  add_watch_options(*watched, to_watch);
  report_arguments to_show;
  auto* shown = app.add_subcommand("report", "Show results and decision logs as one page");
  add_report_options(*shown, to_show);
  auto* scenarios = app.add_subcommand("scenarios", "List the scenarios that ship");
  std::string name;
  bool keys = false;
  scenarios->add_option("name", name, "Print this one as JSON, with all its keys");
  scenarios->add_flag("--keys", keys, "Describe every key");
  refuse_empty_words(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    if (argc < 2 || argv[1][0] == '-' || !app.get_subcommands().empty())
      throw rubato::support::user_error{error.what()};
    std::string known;
    for (const CLI::App* each : app.get_subcommands({})) known += (known.empty() ? "" : ", ") + each->get_name();
    throw rubato::support::user_error{"found \"" + std::string{argv[1]} + "\", expected one of " + known};
  }
  if (policies->parsed()) return run_policies(json);
  if (inspect->parsed()) return run_inspect(file, json);
  if (explained->parsed()) return run_explain(to_explain);
  if (growth_eval->parsed()) return run_growth_eval(to_evaluate);
  if (growth_train->parsed()) return run_growth_train(to_teach);
  if (growth_tables->parsed()) return run_growth_tables(to_table);
  if (exported->parsed()) return run_export(file);
  if (fitted->parsed()) return run_fit(to_fit);
  if (advised->parsed()) return run_advise(to_advise);
  if (stats->parsed()) return run_stats(of_log);
  if (drawn->parsed()) return run_timeline(to_draw);
  if (replayed->parsed()) return run_replay(to_replay);
  if (searched->parsed()) return run_search_switch(of_switch);
  if (repeated->parsed()) return run_experiment(to_repeat);
  if (watched->parsed()) return run_watch(to_watch);
  if (shown->parsed()) return run_report(to_show);
  if (scenarios->parsed()) return run_scenarios(name, keys);
  if (train->parsed()) return run_train(to_train);
  if (room->parsed()) return run_compare(of_room);
  if (batch_train->parsed()) return run_batch_train(to_train_batches);
  if (batch_compare->parsed()) return run_compare(of_batches);
  if (batch_explain->parsed()) return run_explain(of_batch_policy);
  return run_compare(given);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file above the shell's limit is an error like that of a full disk
  try {
    const int status = run(argc, argv);
    if (std::cout.flush()) return status;
    throw std::runtime_error{"standard output: cannot be written"};
  } catch (const rubato::support::user_error& error) {
    std::cerr << "rubato-lab: " << error.what() << '\n';
    return rubato::support::user_error_status;
  } catch (const std::exception& error) {
    std::cerr << "rubato-lab: " << error.what() << '\n';
    return 1;
  }
}
