#include "switch_experiment.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <rubato/sim/result.hpp>

#include "number_text.hpp"

namespace rubato::lab {
namespace {

constexpr double small_share = 0.0625;
constexpr double threshold = 0.01;  // the paper's, of accuracies that are about the same

[[nodiscard]] bool is_over(const std::optional<measurement>& run) { return run && run->reached; }

[[nodiscard]] bool has_logs(const logged_case& logged) { return logged.accuracy || logged.time || logged.diverged; }

[[nodiscard]] bool mostly_failed(std::uint32_t failed, const switch_trainings& trainings) {
  return 2 * failed > trainings.runs.size();
}

[[nodiscard]] measurement judged(measurement run, double guessing) {
  if (run.reached && run.final_accuracy < 1.5 * guessing) run.reached = false, run.end = "failed";
  return run;
}

// The accuracy of guessing; 0 where that is of no matter, as for trainings that are there for their time.
[[nodiscard]] double guessing_in(std::string_view part, const training_data& data) {
  return part == "latency" || data.images.classes == 0 ? 0.0 : 1.0 / data.images.classes;
}

enum class direction { lower, same, higher };

[[nodiscard]] direction direction_of(const support::estimate& difference) {
  return difference.high < 0 ? direction::lower : difference.low > 0 ? direction::higher : direction::same;
}
[[nodiscard]] direction direction_of(double logged_difference) {
  return logged_difference < -threshold  ? direction::lower
         : logged_difference > threshold ? direction::higher
                                         : direction::same;
}

[[nodiscard]] std::string with_interval(const support::estimate& e, int digits) {
  return decimals(e.value, digits) + " [" + decimals(e.low, digits) + ", " + decimals(e.high, digits) + "]";
}

}  // namespace

switch_experiment run_switch_experiment(const switch_experiment_request& asked, const runner& run) {
  switch_experiment made{.asked = asked};
  std::map<std::string, std::optional<measurement>> results;  // by key: what parts have in common is there once
  for (const std::string& part : asked.parts) {
    switch_part_result result{.part = part};
    for (switch_case& each : cases_of(part, asked.scenario)) result.rows.push_back({.of = std::move(each)});
    std::vector<job> jobs;
    std::vector<std::optional<measurement>*> of_jobs, of_runs;
    for (const switch_trainings& row : result.rows)
      for (std::uint32_t i = 0; i < asked.seeds; ++i) {
        job one{row.of.at, &row.of.policy, asked.seed + i};
        one.at.hidden_layers = hidden_layers_of(one.at.scenario, one.seed);
        const std::string key = result_key(one.at, run.data.fingerprint, *one.policy, one.seed);
        const auto [place, is_new] = results.try_emplace(key);
        of_runs.push_back(&place->second);
        if (!is_new) continue;
        of_jobs.push_back(&place->second);
        jobs.push_back(std::move(one));
      }
    const auto measured = run.run(jobs, part);
    for (std::size_t j = 0; j < jobs.size(); ++j) *of_jobs[j] = measured[j];

    const double guessing = guessing_in(part, run.data);
    auto next = of_runs.begin();
    for (switch_trainings& row : result.rows)
      for (std::uint32_t i = 0; i < asked.seeds; ++i) {
        const std::optional<measurement>& found = **next++;
        row.runs.push_back(found ? std::optional{judged(*found, guessing)} : std::nullopt);
        made.interrupted = made.interrupted || !found;
      }
    made.parts.push_back(std::move(result));
    if (made.interrupted) break;
  }
  return made;
}

switch_comparison compare_with(const switch_trainings& baseline, const switch_trainings& row, double switch_time) {
  std::vector<double> accuracy, difference, time, times, with_switches;
  switch_comparison made;
  for (std::size_t i = 0; i < row.runs.size(); ++i) {
    const auto& here = row.runs[i];
    if (here && !here->reached) ++made.failed;
    if (!is_over(here)) continue;
    accuracy.push_back(here->final_accuracy);
    time.push_back(here->time);
    const auto& there = baseline.runs[i];
    if (!is_over(there)) continue;
    const auto whole = [&](const measurement& m) { return m.time + switch_time * static_cast<double>(m.switches); };
    difference.push_back(here->final_accuracy - there->final_accuracy);
    times.push_back(here->time / there->time);
    with_switches.push_back(whole(*here) / whole(*there));
  }
  made.accuracy = support::mean_with_t_interval(accuracy);
  made.difference = support::mean_with_t_interval(difference);
  made.time = support::mean_with_t_interval(time);
  made.times = support::mean_with_t_interval(times);
  made.with_switches = support::mean_with_t_interval(with_switches);
  return made;
}

switch_verdict verdict_on(const switch_comparison& found, const switch_trainings& baseline,
                          const switch_trainings& row) {
  const auto word = [](bool agrees) { return std::string{agrees ? "agrees" : "differs"}; };
  switch_verdict said{"-", "-"};
  const logged_case &here = row.of.logged, &there = baseline.of.logged;
  if (!has_logs(here)) return said;
  const bool failed = mostly_failed(found.failed, row);
  if (here.diverged || failed) return {word(here.diverged == failed), "-"};
  if (baseline.of.name == row.of.name) return said;
  if (here.accuracy && there.accuracy && std::isfinite(found.difference.low))
    said.accuracy = word(direction_of(found.difference) == direction_of(*here.accuracy - *there.accuracy));
  if (here.time && there.time && std::isfinite(found.times.value)) {
    const double logged = *here.time / *there.time;
    said.time = word(std::abs(found.times.value / logged - 1) <= 0.1);
  }
  return said;
}

std::string claim_of(const switch_part_result& part) {
  const auto find = [&](double share) {
    return std::ranges::find(part.rows, share_text(share), [](const auto& row) { return row.of.name; });
  };
  const auto bsp = find(1), asp = find(0), small = find(small_share);
  if (bsp == part.rows.end() || asp == part.rows.end() || small == part.rows.end()) return "open: a share is missing";
  const switch_comparison of_asp = compare_with(*bsp, *asp, 0), of_small = compare_with(*bsp, *small, 0),
                          over_asp = compare_with(*asp, *small, 0);
  const std::string small_name = small->of.name + " of BSP ";
  const bool asp_failed = mostly_failed(of_asp.failed, *asp);
  const auto measured = [](const switch_comparison& found) { return std::isfinite(found.difference.low); };
  if (mostly_failed(of_small.failed, *small)) return "refuted: " + small_name + "fails";
  if (!measured(of_small) || (!asp_failed && !(measured(of_asp) && measured(over_asp))))
    return "open: too few trainings came to their end";

  const auto against_bsp = [](const switch_comparison& found) {
    return with_interval(found.difference, 4) + " against BSP, in " + decimals(found.times.value, 3) + " of its time";
  };
  const std::string facts =
      "\nASP has " + (asp_failed ? "failed" : against_bsp(of_asp)) + "\n" + small_name + "has " + against_bsp(of_small);
  const std::string gain = asp_failed ? "" : ", by " + with_interval(over_asp.difference, 4);
  if (!asp_failed) {
    if (of_asp.difference.low > -threshold) return "refuted: there is nothing to be gained" + facts;
    if (over_asp.difference.high < threshold) return "refuted: it is not better than ASP" + gain + facts;
    if (direction_of(of_asp.difference) != direction::lower || direction_of(over_asp.difference) != direction::higher)
      return "open: these trainings do not tell ASP apart" + facts;
    if (over_asp.times.value > 1.5) return "refuted: it is not nearly as quick as ASP" + facts;
  }
  if (of_small.difference.low > -threshold) return "confirmed: it is better than ASP" + gain + facts;
  if (direction_of(of_small.difference) != direction::lower)
    return "open: these trainings do not tell it apart from BSP" + facts;
  return "refuted: it is better than ASP" + gain + ", but not as good as BSP" + facts;
}

}  // namespace rubato::lab
