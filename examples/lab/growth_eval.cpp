#include "growth_eval.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "aligned_text.hpp"
#include "growth_json.hpp"
#include "number_text.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

// How often each action was taken, in whatever order; the last one, doing nothing, is of no matter to the model.
[[nodiscard]] std::vector<std::uint32_t> architecture_of(std::size_t number, const adapt::growth_table& table) {
  std::vector<std::uint32_t> taken(table.actions() - 1, 0);
  for (const std::uint32_t action : table.actions_of(number))
    if (action < taken.size()) ++taken[action];
  return taken;
}

[[nodiscard]] growth_appraisal appraise(const any_growth_agent& agent, const growth_task& task) {
  const adapt::growth_table& table = task.table;
  growth_appraisal made{.task = &task};
  adapt::growable_model model = task.start;
  std::vector<std::uint32_t> actions;
  while (actions.size() < table.steps()) {
    const double left = table.time_left(actions);
    auto said = std::visit([&](const auto& kind) { return kind.advise(model, left, table.budget()); }, agent);
    if (!said) throw support::user_error{task.model + ", " + task.scenario + ": " + said.error().message};
    const auto action = static_cast<std::uint32_t>(said->action);
    made.steps.push_back({left, std::move(said->probabilities), action});
    actions.push_back(action);
    model.grow(action);
  }
  const std::size_t number = table.number_of(actions);
  made.accuracy = made.twins_least = made.twins_most = table.accuracy(number);
  made.rank = table.rank(number);
  const auto architecture = architecture_of(number, table);
  for (std::size_t other = 0; other < table.sequences(); ++other) {
    if (architecture_of(other, table) != architecture) continue;
    ++made.twins;
    made.twins_least = std::min(made.twins_least, table.accuracy(other));
    made.twins_most = std::max(made.twins_most, table.accuracy(other));
  }
  return made;
}

}  // namespace

std::vector<growth_appraisal> appraise(const any_growth_agent& agent, const std::vector<growth_task>& tasks) {
  std::vector<growth_appraisal> all;
  for (const growth_task& task : tasks) all.push_back(appraise(agent, task));
  return all;
}

bool can_advise(const any_growth_agent& agent, const adapt::growable_model& model) {
  return std::visit([&](const auto& kind) { return bool{kind.advise(model, 1, 1)}; }, agent);
}

double mean_accuracy(const std::vector<growth_appraisal>& all) {
  double sum = 0;
  for (const growth_appraisal& each : all) sum += each.accuracy;
  return sum / static_cast<double>(all.size());
}

double mean_regret(const std::vector<growth_appraisal>& all) {
  double sum = 0;
  for (const growth_appraisal& each : all) sum += each.task->table.best() - each.accuracy;
  return sum / static_cast<double>(all.size());
}

std::string twins_of(const growth_appraisal& of) {
  return std::to_string(of.twins) + ": " + decimals(of.twins_least, 4) + " to " + decimals(of.twins_most, 4);
}

nlohmann::ordered_json document_of(const std::string& agent, const std::vector<growth_appraisal>& all) {
  nlohmann::ordered_json document{{"agent", agent},
                                  {"mean_accuracy", mean_accuracy(all)},
                                  {"mean_regret", mean_regret(all)},
                                  {"scenarios", nlohmann::ordered_json::array()}};
  for (const growth_appraisal& each : all) {
    nlohmann::ordered_json steps = nlohmann::ordered_json::array(), actions = steps;
    for (const growth_step& step : each.steps) {
      steps.push_back({{"time_left", step.time_left}, {"probabilities", step.probabilities}, {"action", step.action}});
      actions.push_back(step.action);
    }
    document["scenarios"].push_back(
        {{"model", each.task->model},
         {"scenario", each.task->scenario},
         {"steps", steps},
         {"actions", actions},
         {"accuracy", each.accuracy},
         {"rank", each.rank},
         {"best", each.task->table.best()},
         {"mean", each.task->table.mean()},
         {"same_architecture", {{"sequences", each.twins}, {"least", each.twins_least}, {"most", each.twins_most}}}});
  }
  return document;
}

std::string as_text(const std::vector<growth_appraisal>& all) {
  std::vector<std::vector<std::string>> rows{
      {"model", "scenario", "actions", "accuracy", "rank", "best", "by chance", "same architecture"}};
  for (const growth_appraisal& each : all) {
    std::string actions;
    for (const growth_step& step : each.steps) actions += (actions.empty() ? "" : ",") + std::to_string(step.action);
    rows.push_back({each.task->model, each.task->scenario, actions, decimals(each.accuracy, 4),
                    std::to_string(each.rank) + "/" + std::to_string(each.task->table.sequences()),
                    decimals(each.task->table.best(), 4), decimals(each.task->table.mean(), 4), twins_of(each)});
  }
  return aligned_text(rows) + "mean accuracy " + decimals(mean_accuracy(all), 4) + ", " +
         decimals(mean_regret(all), 4) + " below the best\n";
}

}  // namespace rubato::lab
