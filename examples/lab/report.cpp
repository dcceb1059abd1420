#include "report.hpp"

#include <array>
#include <nlohmann/json.hpp>

#include "accuracy_curve.hpp"
#include "library_version.hpp"
#include "summary.hpp"

namespace rubato::lab {
namespace {

using nlohmann::json;

// "auto" that was never looked for, because the run ends otherwise, is no target.
[[nodiscard]] json target_json(double accuracy) {
  return accuracy == support::scenario::auto_target ? json(nullptr) : json(accuracy);
}

[[nodiscard]] json targets_of(const comparison& from) {
  json list = json::array();
  for (const auto& [layers, accuracy] : from.targets)
    list.push_back({{"hidden_layers", layers}, {"accuracy", target_json(accuracy)}});
  return list;
}

// Those of the runs that found the target where it was "auto".
[[nodiscard]] json target_seeds(const compare_options& asked) {
  if (!finds_target(asked)) return nullptr;
  return {{"first", tuning_seed(asked, 0)}, {"count", asked.tuning_seeds}};
}

[[nodiscard]] json plans_of(const comparison& from) {
  json list = json::array();
  for (const auto& [layers, stages] : from.plans)
    list.push_back({{"hidden_layers", layers}, {"stages", json::parse(plan_text(stages))}});
  return list;
}

[[nodiscard]] json setting_json(const comparison& from, const comparison_summary& sum) {
  const compare_options& asked = from.asked;
  json setting{{"scenario", support::to_json(asked.scenario)},
               {"data", {{"description", from.data}, {"fingerprint", from.data_fingerprint}}},
               {"targets", targets_of(from)},
               {"seed", asked.seed},
               {"seeds", asked.seeds},
               {"host", name(asked.host)},
               {"unit_seconds", asked.host != host_kind::simulator ? json(asked.unit_seconds) : json(nullptr)},
               {"tuned", asked.tune},
               {"tuning_seeds", asked.tune ? json(asked.tuning_seeds) : json(nullptr)},
               {"target_seeds", target_seeds(asked)},
               {"interval", "95 % percentile bootstrap over seeds, 2000 resamples"},
               {"baseline", sum.baseline ? json(from.rows[*sum.baseline].name) : json(nullptr)},
               {"plans", plans_of(from)},
               {"interrupted", from.interrupted},
               {"version", library_version()}};
  return setting;
}

// A mean of the table, of one run.
struct run_number {
  const char* name;
  double (*of)(const measurement&);
};

constexpr std::array<run_number, 10> run_numbers{{
    {"pushes", [](const measurement& m) { return static_cast<double>(m.pushes); }},
    {"updates", [](const measurement& m) { return static_cast<double>(m.updates); }},
    {"staleness_mean", [](const measurement& m) { return m.staleness_mean; }},
    {"staleness_p95", [](const measurement& m) { return static_cast<double>(m.staleness_p95); }},
    {"idle_share", [](const measurement& m) { return m.idle_share; }},
    {"decision_share", [](const measurement& m) { return m.decision_share; }},
    {"final_accuracy", [](const measurement& m) { return m.final_accuracy; }},
    {"dropped", [](const measurement& m) { return static_cast<double>(m.dropped); }},
    {"overrides", [](const measurement& m) { return static_cast<double>(m.overrides); }},
    {"overhead", [](const measurement& m) { return m.overhead; }},
}};

// 95 % intervals of these means, by Student's t; null below two runs.
[[nodiscard]] json intervals_of(const comparison_row& row) {
  json all = json::object();
  for (const run_number& number : run_numbers) {
    std::vector<double> values;
    for (const auto& run : row.runs)
      if (run) values.push_back(number.of(*run));
    const support::estimate mean = support::mean_with_t_interval(values);
    all[number.name] = {mean.low, mean.high};
  }
  return all;
}

[[nodiscard]] json curve_of(const comparison& from, const comparison_row& row) {
  json levels = json::array();
  for (const curve_level& each : accuracy_curve(from, row))
    levels.push_back({{"share", each.share},
                      {"time_iqm", each.time.value},
                      {"time_lo", each.time.low},
                      {"time_hi", each.time.high},
                      {"reached", each.reached}});
  return levels;
}

[[nodiscard]] json row_json(const comparison& from, const comparison_row& row, const row_summary& sum) {
  json object{{"policy", row.name},
              {"used", row.used.name},
              {"description", row.used.policy.describe().line},
              {"learning_rate", row.learning_rate},
              {"time_iqm", sum.time.value},
              {"time_lo", sum.time.low},
              {"time_hi", sum.time.high},
              {"time_mean", sum.time_mean.mean},
              {"time_se", sum.time_mean.standard_error},
              {"reached", sum.reached},
              {"seeds", sum.seeds},
              {"pushes", sum.pushes},
              {"updates", sum.updates},
              {"staleness_mean", sum.staleness_mean},
              {"staleness_p95", sum.staleness_p95},
              {"idle_share", sum.idle_share},
              {"decision_share", sum.decision_share},
              {"final_accuracy", sum.final_accuracy},
              {"dropped", sum.dropped},
              {"overrides", sum.overrides},
              {"overhead", sum.overhead},
              {"overrun", sum.overrun},
              {"speedup", nullptr},
              {"speedup_lo", nullptr},
              {"speedup_hi", nullptr},
              {"regret", nullptr},
              {"regret_lo", nullptr},
              {"regret_hi", nullptr},
              {"intervals", intervals_of(row)},
              {"curve", curve_of(from, row)},
              {"by_hidden_layers", json::array()}};
  if (sum.speedup) {
    object["speedup"] = sum.speedup->value;
    object["speedup_lo"] = sum.speedup->low;
    object["speedup_hi"] = sum.speedup->high;
  }
  if (sum.regret) {
    object["regret"] = sum.regret->value;
    object["regret_lo"] = sum.regret->low;
    object["regret_hi"] = sum.regret->high;
  }
  return object;
}

// Shortest text that reads back as the same number.
[[nodiscard]] std::string text_of(double value) { return json(value).dump(); }

// A path may have quotes in it; it has no commas and no line ends.
[[nodiscard]] std::string quoted(const std::string& text) {
  if (text.find('"') == std::string::npos) return text;
  std::string twice = "\"";
  for (const char c : text) twice.append(c == '"' ? 2 : 1, c);
  return twice + '"';
}

[[nodiscard]] std::string target_text(double accuracy) {
  return accuracy == support::scenario::auto_target ? "" : text_of(accuracy);
}

}  // namespace

json to_json(const comparison& from) {
  const comparison_summary sum = summarise(from);
  json rows = json::array();
  for (std::size_t i = 0; i < from.rows.size(); ++i) rows.push_back(row_json(from, from.rows[i], sum.rows[i]));
  for (const auto& [layers, accuracy] : from.targets) {
    const comparison_summary part = summarise(from, layers);
    for (std::size_t i = 0; i < from.rows.size(); ++i) {
      const row_summary& one = part.rows[i];
      rows[i]["by_hidden_layers"].push_back({{"hidden_layers", layers},
                                             {"time_iqm", one.time.value},
                                             {"time_lo", one.time.low},
                                             {"time_hi", one.time.high},
                                             {"time_mean", one.time_mean.mean},
                                             {"time_se", one.time_mean.standard_error},
                                             {"reached", one.reached},
                                             {"seeds", one.seeds},
                                             {"pushes", one.pushes},
                                             {"staleness_mean", one.staleness_mean}});
    }
  }
  return {{"format", comparison_format},
          {"format_version", comparison_format_version},
          {"setting", setting_json(from, sum)},
          {"rows", std::move(rows)}};
}

std::string csv(const comparison& from) {
  std::string lines =
      "policy,used,learning_rate,seed,hidden_layers,target_accuracy,time,reached,end,pushes,updates,staleness_mean,"
      "staleness_p95,idle_share,decision_share,final_accuracy,dropped,overrides,overhead,overrun\n";
  for (const comparison_row& row : from.rows)
    for (std::size_t i = 0; i < row.runs.size(); ++i) {
      if (!row.runs[i]) continue;
      const measurement& m = *row.runs[i];
      const std::uint32_t layers = from.hidden_layers[i];
      for (const std::string& cell :
           {quoted(row.name), quoted(row.used.name), text_of(row.learning_rate), std::to_string(from.asked.seed + i),
            std::to_string(layers), target_text(from.targets.at(layers)), text_of(m.time),
            std::string{m.reached ? "1" : "0"}, m.end, std::to_string(m.pushes), std::to_string(m.updates),
            text_of(m.staleness_mean), std::to_string(m.staleness_p95), text_of(m.idle_share),
            text_of(m.decision_share), text_of(m.final_accuracy), std::to_string(m.dropped),
            std::to_string(m.overrides), text_of(m.overhead), text_of(m.overrun)})
        lines += cell + ",";
      lines.back() = '\n';
    }
  return lines;
}

}  // namespace rubato::lab
