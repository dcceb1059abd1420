#include "appraisal.hpp"

#include <utility>

#include "compare.hpp"
#include "summary.hpp"
#include "support/statistics.hpp"

namespace rubato::lab {
namespace {

[[nodiscard]] std::vector<double> times_of(const comparison_row& row) {
  std::vector<double> times;
  for (const auto& run : row.runs) times.push_back(run->time);
  return times;
}

}  // namespace

std::optional<std::vector<card_evaluation>> appraise(const any_policy& policy, std::vector<policy_request> experts,
                                                     const support::scenario& scenario, std::uint32_t seeds,
                                                     const run_context& how) {
  if (seeds == 0) return std::vector<card_evaluation>{};
  compare_options asked{.scenario = scenario, .policies = std::move(experts), .seeds = seeds};
  asked.policies.push_back({"this", {{"this", policy}}});
  result_cache nothing;
  const comparison made = compare(asked, {.data = how.data,
                                          .cache = nothing,
                                          .threads = how.threads,
                                          .stop = how.stop,
                                          .progress = how.progress,
                                          .display = how.display});
  if (made.interrupted) return std::nullopt;

  const comparison_summary sum = summarise(made);
  std::vector<card_evaluation> lines;
  const std::size_t own = made.rows.size() - 1;
  for (std::size_t i = 0; i < own; ++i) {
    if (!sum.rows[i].reliable() || !sum.rows[own].reliable()) continue;
    const support::estimate ratio = support::bootstrap_ratio(times_of(made.rows[i]), times_of(made.rows[own]));
    lines.push_back({.scenario = scenario.name,
                     .baseline = made.rows[i].name,
                     .ratio = ratio.value,
                     .low = ratio.low,
                     .high = ratio.high,
                     .seeds = seeds});
  }
  return lines;
}

}  // namespace rubato::lab
