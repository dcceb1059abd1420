// What was measured as tables and as JSON.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "aligned_text.hpp"
#include "latency_model.hpp"
#include "library_version.hpp"
#include "number_text.hpp"
#include "switch_experiment.hpp"

namespace rubato::lab {
namespace {

using nlohmann::json;
using cell_rows = std::vector<std::vector<std::string>>;

// A mean and half the width of its interval, which is symmetric.
[[nodiscard]] std::string mean_text(const support::estimate& e, int digits) {
  if (!std::isfinite(e.value)) return "-";
  std::string text = decimals(e.value, digits);
  return std::isfinite(e.high) ? text + " +- " + decimals(e.high - e.value, digits) : text;
}
[[nodiscard]] std::string optional_text(const std::optional<double>& number, int digits) {
  return number ? decimals(*number, digits) : "-";
}
[[nodiscard]] json estimate_json(const support::estimate& e) {
  const auto finite = [](double x) { return std::isfinite(x) ? json(x) : json(nullptr); };
  return {{"mean", finite(e.value)}, {"low", finite(e.low)}, {"high", finite(e.high)}};
}

[[nodiscard]] std::string meaning_of(const std::string& part) {
  return std::string{std::ranges::find(switch_parts(), part, &switch_part::name)->meaning};
}

// How much more one number is than another, in per cent.
[[nodiscard]] std::string off_by(double number, double from) {
  return std::isfinite(number) ? decimals(100 * (number / from - 1), 0) + " %" : "-";
}

// A number of the logs, and what is said about it.
[[nodiscard]] std::string marked(const std::string& number, const std::string& verdict) {
  return number + (verdict == "agrees" ? " =" : verdict == "differs" ? " !" : "");
}

// What all parts but `latency` have.
[[nodiscard]] std::string trainings_table(const switch_part_result& part, double switch_time) {
  cell_rows rows{{"", "failed", "accuracy", "- baseline", "time", "x", "x paid", "logs", "x"}};
  for (std::size_t i = 0; i < part.rows.size(); ++i) {
    const switch_trainings &row = part.rows[i], &baseline = part.rows[row.of.baseline];
    const switch_comparison found = compare_with(baseline, row, switch_time);
    const switch_verdict said = verdict_on(found, baseline, row);
    const logged_case &logged = row.of.logged, &logged_baseline = baseline.of.logged;
    std::optional<double> times;
    if (logged.time && logged_baseline.time) times = *logged.time / *logged_baseline.time;
    rows.push_back({row.of.name, std::to_string(found.failed), mean_text(found.accuracy, 4),
                    row.of.baseline == i ? "" : mean_text(found.difference, 4), decimals(found.time.value, 0),
                    decimals(found.times.value, 3), decimals(found.with_switches.value, 3),
                    marked(logged.diverged ? "diverged" : optional_text(logged.accuracy, 4), said.accuracy),
                    marked(optional_text(times, 3), said.time)});
  }
  return aligned_text(rows);
}

// Of a row of `latency`: what was logged of its latency; none for rows without any.
[[nodiscard]] const logged_latency* latency_of(std::size_t row) {
  const std::size_t in_rule = row % (logged_latencies.size() + 1);
  return in_rule == 0 ? nullptr : &logged_latencies[in_rule - 1];
}
[[nodiscard]] bool is_synchronous(std::size_t row) { return row <= logged_latencies.size(); }

[[nodiscard]] std::string latency_table(const switch_part_result& part) {
  const latency_model model = fit_latency();
  std::string text = "excess of a round = " + decimals(model.scale, 4) + " x (delay / 10 ms x workers) ^ " +
                     decimals(model.exponent, 3) + " rounds\n";
  cell_rows rows{{"", "excess: logs", "fitted", "off by", "slowdown: simulated", "logs", "off by"}};
  for (std::size_t i = 0; i < part.rows.size(); ++i) {
    const logged_latency* const logged = latency_of(i);
    if (logged == nullptr) continue;
    const switch_trainings& row = part.rows[i];
    const support::estimate slowdown = compare_with(part.rows[row.of.baseline], row, 0).times;
    const double excess = logged_excess(*logged), fitted = model.excess(logged->delay, logged->workers);
    const double factor = is_synchronous(i) ? 1 + excess : logged_asynchronous_slowdown(*logged);
    rows.push_back({row.of.name, is_synchronous(i) ? decimals(excess, 3) : "",
                    is_synchronous(i) ? decimals(fitted, 3) : "", is_synchronous(i) ? off_by(fitted, excess) : "",
                    mean_text(slowdown, 3), decimals(factor, 3), off_by(slowdown.value, factor)});
  }
  return text + aligned_text(rows);
}

[[nodiscard]] json run_json(std::uint64_t seed, const std::optional<measurement>& run) {
  if (!run) return {{"seed", seed}, {"end", nullptr}};
  return {{"seed", seed},
          {"end", run->end},
          {"accuracy", run->reached ? json(run->final_accuracy) : json(nullptr)},
          {"time", run->ended},
          {"switches", run->switches},
          {"staleness_mean", run->staleness_mean}};
}

[[nodiscard]] json case_json(const switch_part_result& part, const switch_trainings& row,
                             const switch_experiment_request& asked) {
  const switch_trainings& baseline = part.rows[row.of.baseline];
  const switch_comparison found = compare_with(baseline, row, asked.switch_time);
  const switch_verdict said = verdict_on(found, baseline, row);
  const logged_case& logged = row.of.logged;
  json trainings = json::array();
  for (std::size_t i = 0; i < row.runs.size(); ++i) trainings.push_back(run_json(asked.seed + i, row.runs[i]));
  return {{"name", row.of.name},
          {"policy", json::parse(row.of.policy.describe().json)},
          {"baseline", baseline.of.name},
          {"failed", found.failed},
          {"accuracy", estimate_json(found.accuracy)},
          {"difference", estimate_json(found.difference)},
          {"time", estimate_json(found.time)},
          {"times", estimate_json(found.times)},
          {"with_switches", estimate_json(found.with_switches)},
          {"logged",
           {{"accuracy", logged.accuracy ? json(*logged.accuracy) : json(nullptr)},
            {"time", logged.time ? json(*logged.time) : json(nullptr)},
            {"diverged", logged.diverged}}},
          {"verdict", {{"accuracy", said.accuracy}, {"time", said.time}}},
          {"runs", std::move(trainings)}};
}

}  // namespace

std::string table(const switch_experiment& made) {
  const switch_experiment_request& asked = made.asked;
  std::string text = asked.scenario.name + ": " + std::to_string(asked.scenario.cluster.workers) +
                     " workers; trainings of " +
                     std::to_string(asked.scenario.run.workload / asked.scenario.run.batch) + " pushes; seeds " +
                     std::to_string(asked.seed) + " to " + std::to_string(asked.seed + asked.seeds - 1) +
                     "; a switch takes " + short_text(asked.switch_time) + (made.interrupted ? "; INTERRUPTED" : "") +
                     "\nlogs: = they say the same, ! they do not\n";
  for (const switch_part_result& part : made.parts) {
    text += '\n' + part.part + ": " + meaning_of(part.part) + '\n';
    text += part.part == "latency" ? latency_table(part) : trainings_table(part, asked.switch_time);
    if (part.part == "share" && !made.interrupted) text += claim_of(part) + '\n';
  }
  return text;
}

json to_json(const switch_experiment& made, const training_data& data) {
  const switch_experiment_request& asked = made.asked;
  const latency_model model = fit_latency();
  json document{{"experiment", "sync-switch"},
                {"scenario", support::to_json(asked.scenario)},
                {"data", {{"description", data.description}, {"fingerprint", data.fingerprint}}},
                {"seed", asked.seed},
                {"seeds", asked.seeds},
                {"switch_time", asked.switch_time},
                {"latency_model", {{"scale", model.scale}, {"exponent", model.exponent}}},
                {"interrupted", made.interrupted},
                {"parts", json::array()},
                {"version", library_version()}};
  for (const switch_part_result& part : made.parts) {
    json rows = json::array();
    for (const switch_trainings& row : part.rows) rows.push_back(case_json(part, row, asked));
    document["parts"].push_back({{"part", part.part}, {"rows", std::move(rows)}});
    if (part.part == "share" && !made.interrupted) document["claim"] = claim_of(part);
  }
  return document;
}

}  // namespace rubato::lab
