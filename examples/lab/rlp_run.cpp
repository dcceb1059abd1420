#include "rlp_run.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "aligned_text.hpp"
#include "library_version.hpp"
#include "number_text.hpp"
#include "policies.hpp"

namespace rubato::lab {
namespace {

using nlohmann::json;

constexpr std::array<rlp_table_row, 4> published{{
    {"BSP", {28, 28, 28, 28, 28, 28, 28, 28, 28, 28}, 0.5424, 0},
    {"ASP", {52, 47, 100, 93, 87, 31, 21, 91, 70, 67}, 0, 0},
    {"SSP, 3", {26, 26, 26, 26, 26, 25, 19, 26, 26, 26}, 0.435, 0},
    {"RLP", {34, 28, 53, 51, 51, 19, 14, 54, 38, 38}, 0.081, 0.014},
}};

constexpr std::array<std::string_view, 7> compared{"bsp:sum", "asp",       "ssp:3:rlp", "rlp",
                                                   "learned", "distilled", "knee"};

[[nodiscard]] std::string percent(double share) { return decimals(100 * share, 1) + " %"; }

template <class Steps>
[[nodiscard]] std::vector<std::string> cells_of(std::string name, const Steps& steps, double idle, double deciding) {
  std::vector<std::string> cells{std::move(name)};
  for (const auto each : steps) cells.push_back(std::to_string(each));
  cells.push_back(std::to_string(std::accumulate(steps.begin(), steps.end(), std::uint64_t{0})));
  cells.push_back(percent(idle));
  cells.push_back(percent(deciding));
  return cells;
}

[[nodiscard]] std::string attribute(const char* name, double value) {
  return std::string{" "} + name + "=\"" + decimals(value, 1) + "\"";
}

}  // namespace

std::span<const rlp_table_row> rlp_table() { return published; }

rlp_runs run_rlp_table(const support::scenario& scenario, std::uint64_t seed, const run_context& how) {
  const setting at{scenario, hidden_layers_of(scenario, seed)};
  workbench bench{how.data};
  rlp_runs runs{.scenario = scenario, .seed = seed, .data = text_of(how.data)};
  for (const std::string_view name : compared) {
    const named_policy policy = parse_policy(std::string{name});
    rlp_run run{.policy = policy.name, .whole = {}, .steps = {}, .spans = {}};
    run.steps.resize(scenario.cluster.workers);
    std::vector<double> since(scenario.cluster.workers);
    any_observer watcher{[&](const record& r) {
      if (r.worker.index >= since.size()) return;
      if (r.what == record::kind::release) since[r.worker.index] = r.now;
      if (r.what != record::kind::admit) return;
      ++run.steps[r.worker.index];
      run.spans.push_back({r.worker.index, since[r.worker.index], r.now});
    }};
    const auto whole = bench.watch(at, policy.policy, seed, watcher, how.stop);
    runs.interrupted = !whole;
    if (runs.interrupted) break;
    run.whole = *whole;
    runs.of.push_back(std::move(run));
  }
  return runs;
}

std::string table(const rlp_runs& runs) {
  std::vector<std::vector<std::string>> rows{{"policy"}};
  const std::size_t workers = runs.scenario.cluster.workers;
  for (std::size_t w = 1; w <= workers; ++w) rows.front().push_back("W" + std::to_string(w));
  for (const char* column : {"steps", "idle", "deciding", "time"}) rows.front().emplace_back(column);
  for (const rlp_run& run : runs.of) {
    rows.push_back(cells_of(run.policy, run.steps, run.whole.idle_share, run.whole.decision_share));
    rows.back().push_back(decimals(run.whole.time, 0) + (run.whole.reached ? "" : ", not reached"));
  }
  if (workers == published.front().steps.size())
    for (const rlp_table_row& row : published)
      rows.push_back(
          cells_of(std::string{row.policy} + ", in the paper", row.steps, row.idle_share, row.decision_share));
  return runs.scenario.name + ": the run of seed " + std::to_string(runs.seed) + ", " + runs.data +
         (runs.interrupted ? "; INTERRUPTED\n" : "\n") + aligned_text(rows);
}

json to_json(const rlp_runs& runs) {
  json all = json::array();
  for (const rlp_run& run : runs.of) {
    json spans = json::array();
    for (const rlp_run::span& each : run.spans) spans.push_back({each.worker, each.begin, each.end});
    all.push_back(
        {{"policy", run.policy}, {"run", to_json(run.whole)}, {"steps", run.steps}, {"spans", std::move(spans)}});
  }
  return {{"format", "rubato.rlp_runs"},
          {"format_version", 1},
          {"scenario", support::to_json(runs.scenario)},
          {"seed", runs.seed},
          {"data", runs.data},
          {"runs", std::move(all)},
          {"interrupted", runs.interrupted},
          {"version", library_version()}};
}

std::string svg(const rlp_runs& runs, double until) {
  constexpr double left = 90, width = 900, lane = 10, title = 22;
  double height = 0;
  for (const rlp_run& run : runs.of) height += title + lane * static_cast<double>(run.steps.size());
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\"" + attribute("width", left + width + 10) +
                    attribute("height", height + title) + " font-family=\"sans-serif\" font-size=\"12\">\n" +
                    "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
  double top = 0;
  for (const rlp_run& run : runs.of) {
    const double first = top + title, lanes = lane * static_cast<double>(run.steps.size());
    out += "<text" + attribute("x", 4) + attribute("y", first - 6) + ">" + run.policy + "</text>\n<rect" +
           attribute("x", left) + attribute("y", first) + attribute("width", width) + attribute("height", lanes) +
           " fill=\"#eee\"/>\n";
    for (const rlp_run::span& each : run.spans) {
      if (each.begin >= until) continue;
      const double begin = width * each.begin / until, end = width * std::min(each.end, until) / until;
      // A gap of half a pixel tells one step from the next.
      out += "<rect" + attribute("x", left + begin) + attribute("y", first + lane * each.worker + 1) +
             attribute("width", std::max(end - begin - 0.5, 0.5)) + attribute("height", lane - 2) +
             " fill=\"#3366cc\"/>\n";
    }
    top = first + lanes;
  }
  return out + "<text" + attribute("x", left) + attribute("y", top + 16) + ">time 0 to " + decimals(until, 0) +
         "</text>\n</svg>\n";
}

}  // namespace rubato::lab
