// `growth eval` and `growth train`: what agents that grow models come to, by tables of what each way of growing does.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "commands.hpp"
#include "given.hpp"
#include "growth_eval.hpp"
#include "growth_tasks.hpp"
#include "growth_training.hpp"
#include "growth_trials.hpp"
#include "growth_weights.hpp"
#include "interrupt.hpp"
#include "output_file.hpp"
#include "result_output.hpp"
#include "support/parallel.hpp"
#include "support/progress.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {

namespace {

template <class Arguments>
[[nodiscard]] any_growth_agent agent_in(const std::string& weights, const Arguments& given) {
  return read_growth_weights(weights, given.vocabulary, std::filesystem::path{given.tables} / "vocab.json");
}

// The files that `--tables` stands for, so that nothing is written over them: see check_outputs.
[[nodiscard]] std::vector<named_file> files_of_tables(const std::string& folder) {
  std::vector<named_file> files{{"--tables", (std::filesystem::path{folder} / "vocab.json").string()}};
  for (const growth_file& each : growth_files(folder)) {
    files.push_back({"--tables", each.table.string()});
    files.push_back({"--tables", each.described.string()});
  }
  return files;
}

}  // namespace

int run_growth_eval(const growth_eval_arguments& given) {
  std::vector<named_file> inputs = files_of_tables(given.tables);
  inputs.push_back({"WEIGHTS", given.weights});
  inputs.push_back({"--vocabulary", given.vocabulary});
  result_output to{given.json, inputs};
  const any_growth_agent agent = agent_in(given.weights, given);
  const auto tasks = read_growth_tasks(given.tables);
  const auto appraisals = appraise(agent, tasks);
  return to.put(document_of(std::filesystem::path{given.weights}.stem().string(), appraisals).dump(2) + "\n",
                as_text(appraisals));
}

namespace {

[[nodiscard]] growth_training_plan plan_of(const growth_train_arguments& given, const std::vector<growth_task>& all) {
  growth_training_plan plan;
  if (given.reinforce.empty())
    plan.tasks = tasks_named(given.on, all, "--on");
  else
    plan.stages = stages_in(given.reinforce, all, "--reinforce");
  plan.blocks = given.network == "blocks";
  plan.time = given.time == "sines" ? adapt::time_encoding::sines : adapt::time_encoding::cosines;
  if (given.from.empty() && !given.vocabulary.empty()) plan.vocabulary = read_growth_vocabulary(given.vocabulary);
  if (!given.from.empty()) plan.from = agent_in(given.from, given);
  plan.expected.updates = given.updates;
  plan.expected.time_noise = given.time_noise;
  plan.reinforce.baseline = given.baseline ? adapt::growth_baseline::average : adapt::growth_baseline::none;
  plan.reinforce.form = given.temperature_form == "preferences" ? adapt::temperature_form::preferences
                                                                : adapt::temperature_form::second_softmax;
  if (given.learning_rate != 0) plan.expected.learning_rate = plan.reinforce.learning_rate = given.learning_rate;
  if (given.entropy >= 0) {
    plan.expected.entropy_last = plan.reinforce.entropy = given.entropy;
    plan.expected.entropy_first = std::max(plan.expected.entropy_first, given.entropy);
  }
  const std::string wrong = given.reinforce.empty() ? problem(plan.expected) : problem(plan.reinforce);
  if (!wrong.empty()) throw support::user_error{wrong};
  return plan;
}

// An agent of a seed, and what it is judged by.
struct lesson {
  std::uint64_t seed = 0;
  std::optional<std::size_t> left_out{};  // of the plan's tasks
  std::optional<any_growth_agent> agent{};
};

}  // namespace

int run_growth_train(const growth_train_arguments& given) {
  std::vector<named_file> inputs = files_of_tables(given.tables);
  inputs.push_back({"--from", given.from});
  inputs.push_back({"--vocabulary", given.vocabulary});
  check_outputs(inputs, {{"--save", given.save}, {"--json", given.json}});
  if (given.leave_one_out && !given.save.empty())
    throw support::user_error{"--save: there is no one agent with --leave-one-out"};
  result_output to{given.json, inputs};
  output_file saved{given.save, "--save"};
  const std::vector<growth_task> all = read_growth_tasks(given.tables);
  const growth_training_plan plan = plan_of(given, all);
  if (given.leave_one_out && plan.tasks.size() < 2)
    throw support::user_error{"--leave-one-out: found one task, expected at least 2"};

  std::vector<lesson> lessons;
  for (std::uint64_t nth = 0; nth < given.seeds; ++nth)
    for (std::size_t t = 0; t < (given.leave_one_out ? plan.tasks.size() : 1); ++t)
      lessons.push_back({given.first_seed + nth, given.leave_one_out ? std::optional{t} : std::nullopt});
  const std::atomic<bool>& stop = catch_interrupt();
  support::progress shown{std::cerr, "training", lessons.size(), {.quiet = given.quiet}};
  support::share_out(
      lessons.size(), given_threads(given.threads), stop, [] { return 0; },
      [&](int, std::size_t nth) {
        growth_training_plan own = plan;
        if (const auto out = lessons[nth].left_out)
          own.tasks.erase(own.tasks.begin() + static_cast<std::ptrdiff_t>(*out));
        lessons[nth].agent = trained(own, lessons[nth].seed);
        shown.advance();
      });
  if (stop) {
    std::cerr << "rubato-lab: interrupted; nothing is written\n";
    return interrupted_status();
  }

  // By REINFORCE an agent is judged by whatever it can be asked about, too.
  std::vector<growth_task> judged = plan.tasks;
  if (!given.reinforce.empty())
    std::ranges::copy_if(all, std::back_inserter(judged),
                         [&](const growth_task& task) { return can_advise(*lessons[0].agent, task.start); });
  std::vector<growth_trial> trials;
  for (const lesson& each : lessons) {
    if (trials.empty() || trials.back().seed != each.seed) trials.push_back({each.seed});
    std::vector<growth_appraisal> seen = appraise(*each.agent, judged);
    if (each.left_out)
      trials.back().judged.push_back(std::move(seen[*each.left_out]));
    else
      trials.back().judged = std::move(seen);
  }
  if (!given.save.empty()) {
    const auto best = std::ranges::min_element(trials, {}, [](const auto& each) { return mean_regret(each.judged); });
    saved.write(as_json(*lessons[static_cast<std::size_t>(best - trials.begin())].agent));
  }
  return to.put(as_json(given.reinforce.empty() ? "expected gradient" : "reinforce", trials), as_text(trials));
}

}  // namespace rubato::lab
