#include "growth_trials.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "aligned_text.hpp"
#include "number_text.hpp"
#include "support/statistics.hpp"

namespace rubato::lab {
namespace {

// "0.71 (0.70 to 0.72)", the interval where there is one.
[[nodiscard]] std::string with_interval(const support::estimate& of) {
  if (std::isnan(of.low)) return decimals(of.value, 4);
  return decimals(of.value, 4) + " (" + decimals(of.low, 4) + " to " + decimals(of.high, 4) + ")";
}
[[nodiscard]] nlohmann::ordered_json as_document(const support::estimate& of) {
  nlohmann::ordered_json made{{"mean", of.value}};
  if (!std::isnan(of.low)) made["low"] = of.low, made["high"] = of.high;
  return made;
}
// Over the seeds, of a mean over the tasks.
template <class Mean>
[[nodiscard]] support::estimate over_seeds(const std::vector<growth_trial>& all, Mean mean) {
  std::vector<double> values;
  for (const growth_trial& each : all) values.push_back(mean(each.judged));
  return support::mean_with_t_interval(values);
}

}  // namespace

std::string as_json(const std::string& method, const std::vector<growth_trial>& all) {
  nlohmann::ordered_json document{{"method", method},
                                  {"mean_accuracy", as_document(over_seeds(all, mean_accuracy))},
                                  {"mean_regret", as_document(over_seeds(all, mean_regret))},
                                  {"agents", nlohmann::ordered_json::array()}};
  for (const growth_trial& each : all)
    document["agents"].push_back(document_of("seed " + std::to_string(each.seed), each.judged));
  return document.dump(2) + "\n";
}

std::string as_text(const std::vector<growth_trial>& all) {
  std::vector<std::vector<std::string>> rows{
      {"model", "scenario", "accuracy", "ranks", "best", "by chance", "same architecture as the first"}};
  for (std::size_t t = 0; t < all.front().judged.size(); ++t) {
    const growth_appraisal& first = all.front().judged[t];
    std::vector<double> accuracies;
    std::string ranks;
    for (const growth_trial& each : all) {
      accuracies.push_back(each.judged[t].accuracy);
      ranks += (ranks.empty() ? "" : ",") + std::to_string(each.judged[t].rank);
    }
    rows.push_back({first.task->model, first.task->scenario, with_interval(support::mean_with_t_interval(accuracies)),
                    ranks, decimals(first.task->table.best(), 4), decimals(first.task->table.mean(), 4),
                    twins_of(first)});
  }
  return aligned_text(rows) + "mean accuracy " + with_interval(over_seeds(all, mean_accuracy)) + ", " +
         with_interval(over_seeds(all, mean_regret)) + " below the best\n";
}

}  // namespace rubato::lab
