#include "switch_trials.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "number_text.hpp"
#include "support/user_error.hpp"
#include "switching_policy.hpp"

namespace rubato::lab {
namespace {

using support::user_error;

constexpr std::uint64_t evaluations_of_a_training = 20;

[[nodiscard]] adapt::switch_outcome outcome_of(const measurement& run, const switch_request& asked, double share) {
  if (run.end == name(sim::run_end::diverged)) return {.time = run.ended, .diverged = true};
  if (run.reached) return {.accuracy = run.final_accuracy, .time = run.time};
  const std::string where = "--scenario: found a run with " + share_text(share) + " of BSP that ";
  if (run.end == name(sim::run_end::out_of_time))
    throw user_error{where + "has made " + std::to_string(run.pushes) + " of " + std::to_string(asked.pushes) +
                     " pushes at objective.max_time = " + short_text(asked.scenario.run.max_time) +
                     ", expected a later one"};
  throw user_error{where + "ends with " + run.end + " after " + std::to_string(run.pushes) + " of " +
                   std::to_string(asked.pushes) + " pushes, expected a cluster in which it goes on"};
}

[[nodiscard]] std::vector<std::optional<measurement>> measured_at(double share, std::uint32_t how_many,
                                                                  const switch_request& asked, const runner& run) {
  const any_policy policy = switching_policy(share, asked.pushes);
  std::vector<job> jobs;
  for (std::uint32_t i = 0; i < how_many; ++i)
    jobs.push_back({setting_of(asked, asked.seed + i), &policy, asked.seed + i});
  return run.run(jobs, share_text(share) + " BSP");
}

}  // namespace

setting setting_of(const switch_request& asked, std::uint64_t seed) {
  setting at{asked.scenario, hidden_layers_of(asked.scenario, seed)};
  sim::run_options& run = at.scenario.run;
  run.stop = sim::stop_rule::workload;
  run.workload = asked.pushes * run.batch;
  run.evaluate_every = (asked.pushes + evaluations_of_a_training - 1) / evaluations_of_a_training;
  return at;
}

double share_of_a_barrier(const switch_request& asked) {
  return static_cast<double>(asked.scenario.cluster.workers) / static_cast<double>(asked.pushes);
}

switch_trials search_switch(const switch_request& asked, const runner& run) {
  adapt::switch_search_options options = asked.search;
  options.least_share = std::min(share_of_a_barrier(asked), 1.0);
  switch_trials made{support::value_or_refuse(adapt::switch_search::make(options))};
  adapt::switch_search& search = made.search;
  while (!search.done()) {
    const double share = search.next().share;
    // Of runs made at the same time, those behind one that has diverged are not asked for.
    for (const auto& each : measured_at(share, search.ahead(), asked, run)) {
      if (!each) {
        made.interrupted = true;
        return made;
      }
      if (search.done() || search.next().share != share) break;
      const error refused = search.report(search.next(), outcome_of(*each, asked, share));
      if (refused.code != errc::ok) throw user_error{refused.message};
    }
  }
  if (!search.target()) return made;
  std::vector<adapt::switch_outcome> outcomes;
  for (const auto& each : measured_at(0, asked.search.runs, asked, run)) {
    if (!each) {
      made.interrupted = true;
      return made;
    }
    outcomes.push_back(outcome_of(*each, asked, 0));
  }
  adapt::switch_point& point = made.asynchronous.emplace(adapt::summary_of(0, std::move(outcomes)));
  point.judged = true;
  point.passed = point.diverged == 0 && search.is_good_enough(point.accuracy);
  return made;
}

}  // namespace rubato::lab
