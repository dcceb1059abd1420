#include "growth_training.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "growth_json.hpp"
#include "growth_weights.hpp"
#include "support/name_parts.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

using support::user_error;

[[nodiscard]] std::string name_of(const growth_task& task) { return task.model + "_" + task.scenario; }

template <class Agent>
[[nodiscard]] std::vector<adapt::growth_path> paths_of(const std::vector<growth_task>& tasks, const Agent& agent) {
  std::vector<adapt::growth_path> paths;
  for (const growth_task& task : tasks) {
    auto path = adapt::growth_path::make(task.start, task.table, agent.vocabulary, agent.time);
    if (!path) throw user_error{name_of(task) + ": " + path.error().message};
    if (!agent.network.serves(task.table.actions()))
      throw user_error{name_of(task) + ": found " + std::to_string(task.table.actions()) +
                       " actions, expected as many as the agent has"};
    paths.push_back(std::move(*path));
  }
  return paths;
}

template <class Agent, class Network>
[[nodiscard]] Agent drawn(result<Network> network, growth_vocabulary known, adapt::time_encoding time,
                          random_sequence& random) {
  if (!network) throw user_error{network.error().message};
  std::ranges::copy(known.embeddings, network->embeddings().begin());
  adapt::initialise(*network, random);
  return {.network = std::move(*network), .vocabulary = std::move(known.words), .time = time};
}

[[nodiscard]] any_growth_agent new_agent(const std::vector<growth_task>& tasks, const growth_training_plan& plan,
                                         std::uint64_t seed) {
  random_sequence random{seed};
  growth_vocabulary known =
      plan.vocabulary ? *plan.vocabulary : vocabulary_of(tasks, adapt::growth_shape{}.embedding, random);
  const std::size_t rows = known.words.rows(), width = known.width;
  if (plan.blocks)
    return drawn<adapt::block_agent>(adapt::block_network::make({.vocabulary = rows, .embedding = width}),
                                     std::move(known), plan.time, random);
  return drawn<adapt::growth_agent>(
      adapt::growth_network::make({.vocabulary = rows, .embedding = width, .actions = tasks.front().table.actions()}),
      std::move(known), plan.time, random);
}

[[nodiscard]] std::vector<growth_task> all_tasks_of(const growth_training_plan& plan) {
  std::vector<growth_task> all = plan.tasks;
  for (const growth_stage& stage : plan.stages) all.insert(all.end(), stage.tasks.begin(), stage.tasks.end());
  return all;
}

template <class Agent>
void train(Agent& agent, const growth_training_plan& plan, std::uint64_t seed) {
  if (!plan.tasks.empty()) {
    adapt::expected_growth_options options = plan.expected;
    options.seed = seed + 2'000'003;  // other draws than the parameters have
    adapt::expected_growth_trainer training{agent.network, paths_of(plan.tasks, agent), options};
    training.run();
    agent.network = training.network();
  }
  std::uint64_t draws = seed;
  for (const growth_stage& stage : plan.stages) {
    adapt::growth_training_options options = plan.reinforce;
    options.temperature = stage.temperature;
    options.seed = draws += 1'000'003;  // others than the parameters have
    adapt::basic_growth_trainer training{agent.network, paths_of(stage.tasks, agent), options};
    training.run(stage.episodes);
    agent.network = training.network();
  }
}

}  // namespace

std::vector<growth_task> tasks_named(std::string_view names, const std::vector<growth_task>& all,
                                     const std::string& option) {
  std::vector<growth_task> found;
  for (const std::string_view name : support::split(names, '+')) {
    const std::size_t before = found.size();
    for (const growth_task& task : all)
      if (name == "all" || name == task.model || name == name_of(task)) found.push_back(task);
    if (found.size() == before) {
      std::string expected;
      for (const growth_task& task : all) expected += name_of(task) + ", ";
      throw user_error{option + ": found \"" + std::string{name} + "\", expected one of " + expected +
                       "a model's name, or all"};
    }
  }
  for (std::size_t i = 0; i < found.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (name_of(found[i]) == name_of(found[j]))
        throw user_error{option + ": found " + name_of(found[i]) + " twice in \"" + std::string{names} + '"'};
  return found;
}

std::vector<growth_stage> stages_in(const std::string& text, const std::vector<growth_task>& all,
                                    const std::string& option) {
  std::vector<growth_stage> stages;
  for (const std::string_view part : support::split(text, ',')) {
    const std::vector<std::string_view> fields = support::split(part, ':');
    const auto refuse = [&](const char* expected) {
      throw user_error{option + ": found \"" + std::string{part} + "\", expected " + expected};
    };
    if (fields.size() != 2 && fields.size() != 3) refuse("TASKS:EPISODES or TASKS:EPISODES:TEMPERATURE");
    const auto episodes = support::number_in<std::uint64_t>(fields[1]);
    if (!episodes || *episodes == 0 || *episodes > 1'000'000'000) refuse("1 to 1000000000 episodes");
    const auto temperature = fields.size() == 3 ? support::number_in<double>(fields[2]) : 1.0;
    if (!temperature || !(*temperature >= 1 && *temperature <= 1e6)) refuse("a temperature of 1 to 1e6");
    stages.push_back({tasks_named(fields[0], all, option), *episodes, *temperature});
  }
  return stages;
}

any_growth_agent trained(const growth_training_plan& plan, std::uint64_t seed) {
  any_growth_agent agent = plan.from ? *plan.from : new_agent(all_tasks_of(plan), plan, seed);
  std::visit([&](auto& kind) { train(kind, plan, seed); }, agent);
  return agent;
}

}  // namespace rubato::lab
