#include <algorithm>

#include "report.hpp"
#include "number_text.hpp"
#include "summary.hpp"

namespace rubato::lab {
namespace {

using line = std::vector<std::string>;

// The first column to the left, the others to the right.
[[nodiscard]] std::string aligned(const std::vector<line>& lines) {
  std::vector<std::size_t> widths;
  for (const line& each : lines)
    for (std::size_t c = 0; c < each.size(); ++c) {
      if (c == widths.size()) widths.push_back(0);
      widths[c] = std::max(widths[c], each[c].size());
    }
  std::string text;
  for (const line& each : lines) {
    for (std::size_t c = 0; c < each.size(); ++c) {
      const std::string padding(widths[c] - each[c].size(), ' ');
      text += (c == 0 ? "" : "  ") + (c == 0 ? each[c] + padding : padding + each[c]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

// One for all, or one for each number of hidden layers.
[[nodiscard]] std::string target_text(const comparison& from) {
  std::string text;
  bool differ = false;
  for (const auto& [layers, accuracy] : from.targets) differ |= accuracy != from.targets.begin()->second;
  for (const auto& [layers, accuracy] : from.targets) {
    if (differ) text += (text.empty() ? "" : ", ") + percent(accuracy) + " (h = " + std::to_string(layers) + ")";
    if (!differ) return percent(accuracy);
  }
  return text;
}

[[nodiscard]] std::string end_text(const comparison& from) {
  const sim::run_options& run = from.asked.scenario.run;
  switch (run.stop) {
    case sim::stop_rule::target:
      return "time to accuracy " + (from.targets.empty() ? "auto" : target_text(from));
    case sim::stop_rule::workload:
      return "time for " + std::to_string(run.workload) + " samples";
    case sim::stop_rule::converged:
      return "time to convergence";
  }
  return "time";
}

[[nodiscard]] std::string headline(const comparison& from) {
  const compare_options& asked = from.asked;
  const auto& cluster = asked.scenario.cluster;
  std::string text = asked.scenario.name + ": " + std::to_string(cluster.workers) + " workers";
  if (cluster.cores > 0) text += " on " + std::to_string(cluster.cores) + (cluster.cores == 1 ? " core" : " cores");
  if (asked.host != host_kind::simulator)
    text += std::string{"; in real time "} + (asked.host == host_kind::threads ? "on threads" : "over Gloo") + ", " +
            sensible(asked.unit_seconds) + " s a unit";
  text += "; " + end_text(from) + "; ";
  if (asked.scenario.objective == support::objective_kind::sgd) {
    text += "hidden layers";
    for (const std::uint32_t layers : asked.scenario.hidden_layers) text += " " + std::to_string(layers);
    text += "; ";
  }
  return text + from.data + "; seeds " + std::to_string(asked.seed) + " to " +
         std::to_string(asked.seed + asked.seeds - 1) + (from.interrupted ? "; INTERRUPTED" : "") + "\n";
}

[[nodiscard]] std::string main_table(const comparison& from, const comparison_summary& sum) {
  const bool tuned = from.asked.tune;
  std::vector<line> lines{{"policy"}};
  if (tuned) lines[0].insert(lines[0].end(), {"chosen", "lr"});
  lines[0].insert(lines[0].end(), {"time", "time 95 % CI", "reached", "pushes", "updates", "staleness", "stale p95",
                                   "idle", "deciding", "x bsp", "x bsp 95 % CI"});
  if (sum.clairvoyant) lines[0].insert(lines[0].end(), {"regret", "regret 95 % CI"});
  for (std::size_t i = 0; i < from.rows.size(); ++i) {
    const row_summary& row = sum.rows[i];
    line cells{from.rows[i].name};
    if (tuned) cells.insert(cells.end(), {from.rows[i].used.name, sensible(from.rows[i].learning_rate)});
    cells.insert(cells.end(), {sensible(row.time.value), interval(row.time, sensible),
                               std::to_string(row.reached) + "/" + std::to_string(row.seeds), decimals(row.pushes, 0),
                               decimals(row.updates, 0), decimals(row.staleness_mean, 1),
                               decimals(row.staleness_p95, 1), percent(row.idle_share), percent(row.decision_share),
                               row.speedup ? two_decimals(row.speedup->value) : "-",
                               row.speedup ? interval(*row.speedup, two_decimals) : "-"});
    if (sum.clairvoyant)
      cells.insert(cells.end(),
                   {row.regret ? percent(row.regret->value) : "-", row.regret ? interval(*row.regret, percent) : "-"});
    lines.push_back(std::move(cells));
  }
  return aligned(lines);
}

[[nodiscard]] std::string layer_table(const comparison& from) {
  std::vector<line> lines{{"mean time +- standard error"}};
  for (const comparison_row& row : from.rows) lines.push_back({row.name});
  for (const auto& [layers, accuracy] : from.targets) {
    const auto part = summarise(from, layers);
    lines[0].push_back("h = " + std::to_string(layers) + ", n = " + std::to_string(part.rows.front().seeds));
    for (std::size_t i = 0; i < part.rows.size(); ++i)
      lines[i + 1].push_back(sensible(part.rows[i].time_mean.mean) + " +- " +
                             sensible(part.rows[i].time_mean.standard_error));
  }
  return aligned(lines);
}

[[nodiscard]] std::string footline(const comparison& from, const comparison_summary& sum) {
  std::string text = "time: interquartile mean over seeds, in units of the step time; a run that misses counts as " +
                     sensible(from.asked.scenario.run.max_time) + ". CI: bootstrap over seeds.\n";
  if (from.asked.host != host_kind::simulator) {
    double overhead = 0, overrun = 0;
    for (const row_summary& row : sum.rows) overhead += row.overhead, overrun += row.overrun;
    const auto rows = static_cast<double>(sum.rows.size());
    text += "On this host a step takes " + sensible(overhead / rows) + " units beside computing and sleeping, which take " +
            percent(overrun / rows) + " longer than asked for.\n";
  }
  if (sum.baseline)
    text += "x bsp: time of " + from.rows[*sum.baseline].name +
            " / time, seeds resampled together; above 1 is quicker; - where under 90 % reached.\n";
  if (sum.clairvoyant)
    text += "regret: time / that of the clairvoyant plan, less 1: what knowing the run beforehand would save.\n";
  return text;
}

}  // namespace

std::string table(const comparison& from, bool by_hidden_layers) {
  const comparison_summary sum = summarise(from);
  std::string text = headline(from) + main_table(from, sum);
  if (by_hidden_layers) text += layer_table(from);
  return text + footline(from, sum);
}

}  // namespace rubato::lab
