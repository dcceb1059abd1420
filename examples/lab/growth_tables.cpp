#include "growth_tables.hpp"

#include <cmath>
#include <cstddef>

#include "growth_models.hpp"

namespace rubato::lab {
namespace {

// All sequences that begin as this job has, which has not yet taken action times.size().
void follow(const growth_job& so_far, const adapt::growable_model& model, std::uint32_t steps,
            std::vector<double>& times, std::vector<adapt::growth_outcome>& all) {
  times.push_back(so_far.time_left());
  for (std::size_t number = 0; number < model.actions(); ++number) {
    growth_job next = so_far;
    if (const auto action = model.action(number)) {
      if (action->kind == adapt::growth_kind::deepen)
        next.deepen(action->block);
      else
        next.widen(action->block);
    }
    if (times.size() < steps) {
      next.train();
      follow(next, model, steps, times, all);
    } else {
      while (next.train()) {
      }
      all.push_back({next.accuracy(), times});
    }
  }
  times.pop_back();
}

[[nodiscard]] double quadratic_mean_error(const std::vector<std::vector<double>>& by_repeat) {
  const auto repeats = static_cast<double>(by_repeat.size());
  const std::size_t count = by_repeat.front().size();
  double variances = 0;
  for (std::size_t n = 0; n < count; ++n) {
    double sum = 0, squares = 0;
    for (const auto& each : by_repeat) sum += each[n];
    for (const auto& each : by_repeat) squares += std::pow(each[n] - sum / repeats, 2);
    variances += squares / (repeats - 1) / repeats;
  }
  return std::sqrt(variances / static_cast<double>(count));
}

}  // namespace

adapt::growable_model model_of(const tabled_job& of, const sim::data_split& images) {
  return perceptron(images.training.inputs, of.job.hidden, images.training.classes, of.widens);
}

std::vector<adapt::growth_outcome> every_outcome(const tabled_job& of, const sim::data_split& images,
                                                 std::uint64_t seed) {
  growth_job job{images, of.job, seed};
  while (job.budget() - job.time_left() < of.at * job.budget() && job.train()) {
  }
  std::vector<double> times;
  std::vector<adapt::growth_outcome> all;
  follow(job, model_of(of, images), of.steps, times, all);
  return all;
}

repeated_table mean_of(const std::vector<std::vector<adapt::growth_outcome>>& repeats, std::uint32_t actions,
                       double budget) {
  std::vector<adapt::growth_outcome> means = repeats.front();
  std::vector<std::vector<double>> accuracies, differences;
  for (const auto& repeat : repeats) {
    double mean = 0;
    for (const adapt::growth_outcome& each : repeat) mean += each.accuracy / static_cast<double>(repeat.size());
    accuracies.emplace_back();
    differences.emplace_back();
    for (const adapt::growth_outcome& each : repeat) {
      accuracies.back().push_back(each.accuracy);
      differences.back().push_back(each.accuracy - mean);
    }
  }
  for (std::size_t n = 0; n < means.size(); ++n) {
    means[n].accuracy = 0;
    for (const auto& each : accuracies) means[n].accuracy += each[n];
    means[n].accuracy /= static_cast<double>(repeats.size());
  }
  return {*adapt::growth_table::make(actions, budget, std::move(means)), quadratic_mean_error(accuracies),
          quadratic_mean_error(differences)};
}

}  // namespace rubato::lab
