#include "switch_report.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "aligned_text.hpp"
#include "library_version.hpp"
#include "number_text.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

using nlohmann::json;
using text_rows = std::vector<std::vector<std::string>>;

constexpr std::uint32_t most_logged_runs = 5;  // that settings have

// JSON knows no infinity.
[[nodiscard]] json finite_or_null(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

[[nodiscard]] json options_json(const adapt::switch_search_options& options) {
  const bool tests = options.acceptance == adapt::switch_acceptance::welch;
  return {{"beta", options.beta},
          {"acceptance", tests ? "welch" : "mean"},
          {"level", tests ? json(options.level) : json(nullptr)},
          {"stops_at_failure", options.stops_at_failure},
          {"most_candidates", options.most_candidates}};
}

[[nodiscard]] json point_json(const adapt::switch_point& point) {
  json trainings = json::array();
  for (const adapt::switch_outcome& run : point.runs)
    trainings.push_back({{"accuracy", run.diverged ? json(nullptr) : json(run.accuracy)},
                         {"time", run.time},
                         {"diverged", run.diverged}});
  const bool any = point.accuracy.size > 0;
  return {{"share", point.share},
          {"accuracy", any ? json(point.accuracy.mean) : json(nullptr)},
          {"deviation", point.accuracy.size > 1 ? json(point.accuracy.deviation()) : json(nullptr)},
          {"time", any ? json(point.time) : json(nullptr)},
          {"diverged", point.diverged},
          {"passed", point.passed},
          {"runs", std::move(trainings)}};
}

// What every search has.
[[nodiscard]] json search_json(const adapt::switch_search& search) {
  json curve = json::array();
  for (const adapt::switch_point& point : search.curve()) curve.push_back(point_json(point));
  json made{{"options", options_json(search.options())},
            {"share", search.share() ? json(*search.share()) : json(nullptr)},
            {"target", nullptr},
            {"curve", std::move(curve)},
            {"version", library_version()}};
  if (const auto& target = search.target())
    made["target"] = {{"accuracy", target->accuracy.mean},
                      {"deviation", target->accuracy.size > 1 ? json(target->accuracy.deviation()) : json(nullptr)},
                      {"time", target->time}};
  return made;
}

[[nodiscard]] std::string duration_text(double time) { return time < 100 ? short_text(time) : decimals(time, 1); }

[[nodiscard]] std::vector<std::string> point_cells(const adapt::switch_point& point,
                                                   const std::optional<adapt::switch_target>& target,
                                                   std::string verdict) {
  const adapt::sample_summary& accuracy = point.accuracy;
  const bool any = accuracy.size > 0;
  return {share_text(point.share),
          std::to_string(point.runs.size()),
          std::to_string(point.diverged),
          any ? decimals(accuracy.mean, 4) : "-",
          accuracy.size > 1 ? decimals(accuracy.deviation(), 4) : "-",
          any ? duration_text(point.time) : "-",
          any && target ? decimals(point.time / target->time, 3) : "-",
          std::move(verdict)};
}

[[nodiscard]] std::string verdict_on(const adapt::switch_point& point) {
  if (!point.judged) return "unfinished";
  if (point.share == 1) return point.passed ? "target" : "no target";
  return point.passed ? "good enough" : "not good enough";
}

const std::vector<std::string> point_columns{"BSP share", "runs", "diverged", "accuracy",
                                             "deviation", "time", "x BSP",    ""};

[[nodiscard]] std::string without_target(const adapt::switch_search& search) {
  const std::size_t finished = search.curve().front().accuracy.size;
  if (finished == 0) return "no synchronous training came to its end";
  return std::to_string(finished) + " synchronous training came to its end, expected at least " +
         std::to_string(search.fewest_runs()) + " for a test";
}

[[nodiscard]] std::string conclusion(const adapt::switch_search& search) {
  const auto share = search.share();
  if (!share) return "no answer: " + without_target(search) + '\n';
  if (*share == 1) return "no switch: no candidate was good enough\n";
  const auto found = std::ranges::find(search.curve(), *share, &adapt::switch_point::share);
  return "switch after " + share_text(*share) + " of the workload: accuracy " + decimals(found->accuracy.mean, 4) +
         ", with BSP throughout " + decimals(search.target()->accuracy.mean, 4) + ", in " +
         decimals(found->time / search.target()->time, 3) + " of its time\n";
}

// A search that went down to the share of one barrier, and what no BSP at all comes to.
[[nodiscard]] std::string ends_of(const switch_request& asked, const switch_trials& made) {
  const adapt::switch_search& search = made.search;
  const adapt::switch_point& asynchronous = *made.asynchronous;
  std::string text;
  const bool any_failed = std::ranges::any_of(search.curve(), [](const auto& point) { return !point.passed; });
  if (!any_failed && *search.share() / 2 < share_of_a_barrier(asked))
    text +=
        "smaller shares were not tried: one barrier is " + share_text(share_of_a_barrier(asked)) + " of the workload\n";
  if (asynchronous.passed)
    text += "ASP throughout is good enough: accuracy " + decimals(asynchronous.accuracy.mean, 4) + ", in " +
            decimals(asynchronous.time / search.target()->time, 3) + " of the time of BSP" +
            (any_failed ? "; a larger share is not, so that may be chance\n" : "\n");
  return text;
}

[[nodiscard]] std::string count_text(double number) { return std::isfinite(number) ? decimals(number, 2) : "never"; }

[[nodiscard]] std::string target_runs_text(std::uint32_t count) {
  return count == 0 ? "stored" : std::to_string(count);
}

// Runs of each candidate downwards, of the target to the right.
[[nodiscard]] std::string success_table(const std::vector<switch_setting>& settings) {
  text_rows rows{{"runs \\ BSP runs"}};
  for (std::uint32_t n = 1; n <= most_logged_runs; ++n) rows.push_back({std::to_string(n)});
  for (const switch_setting& each : settings) {
    if (each.runs == 1) rows[0].push_back(target_runs_text(each.target_runs));
    rows[each.runs].push_back(each.success ? percent(*each.success) : "-");
  }
  return "how likely runs drawn from these find the same share\n" + aligned_text(rows);
}

// The share of a logged training in the search: what it was judged to be, or that it was not needed.
[[nodiscard]] std::string verdict_in(const adapt::switch_search& search, double share) {
  const auto found = std::ranges::find(search.curve(), share, &adapt::switch_point::share);
  return found == search.curve().end() ? "not tried" : verdict_on(*found);
}

// None where not so many runs were logged, of the target or of any candidate, and where success_probability() has none.
[[nodiscard]] std::optional<double> success_of(const switch_setting& setting, const logged_search& from,
                                               const std::vector<adapt::logged_share>& shares) {
  std::size_t most = 0;
  for (const adapt::switch_point& point : from.search.curve())
    if (point.share < 1) most = std::max(most, point.runs.size());
  if (setting.runs > most || setting.target_runs > from.search.target()->accuracy.size) return std::nullopt;
  adapt::switch_search_options options = from.search.options();
  options.stored.reset();
  if (setting.target_runs == 0) options.stored = from.search.target();
  options.target_runs = setting.target_runs;
  options.runs = setting.runs;
  const result<double> found = adapt::success_probability(options, shares, *from.search.share());
  return found ? std::optional{*found} : std::nullopt;
}

}  // namespace

logged_search search_logs(switch_logs logs, const adapt::switch_search_options& options) {
  const std::vector<adapt::logged_share> shares = shares_of(logs);
  logged_search made{std::move(logs), support::value_or_refuse(adapt::replay(options, shares)), {}};
  if (!made.search.target()) return made;
  for (std::uint32_t target_runs = 0; target_runs <= most_logged_runs; ++target_runs)
    for (std::uint32_t n = 1; n <= most_logged_runs; ++n) {
      switch_setting setting{.target_runs = target_runs, .runs = n};
      setting.costs = adapt::expected_cost(made.search, target_runs, n);
      setting.success = success_of(setting, made, shares);
      made.settings.push_back(setting);
    }
  return made;
}

std::string table(const logged_search& from) {
  const switch_logs& logs = from.logs;
  std::string text = logs.workload + ": " + std::to_string(logs.workers) + " workers, " + std::to_string(logs.rounds) +
                     " steps of BSP or " + std::to_string(logs.steps()) + " of ASP; " +
                     std::to_string(logs.used.size()) + " trainings, " + std::to_string(logs.unused.size()) +
                     " others not used\n";
  for (const unused_training& each : logs.unused)
    if (each.named) text += "not used: " + each.name + ": " + each.why + '\n';
  text_rows rows{point_columns};
  for (const adapt::logged_share& each : shares_of(logs))
    rows.push_back(point_cells(adapt::summary_of(each.share, each.runs), from.search.target(),
                               verdict_in(from.search, each.share)));
  text += aligned_text(rows) + conclusion(from.search);
  if (from.settings.empty()) return text;
  text += "what fewer runs would have cost, in BSP trainings\n";
  rows = {{"BSP runs", "runs", "cost", "amortization", "effective"}};
  for (const switch_setting& each : from.settings)
    if (each.target_runs == 0 || each.target_runs == each.runs)
      rows.push_back({target_runs_text(each.target_runs), std::to_string(each.runs), count_text(each.costs.cost),
                      count_text(each.costs.amortization), count_text(each.costs.effective)});
  return text + aligned_text(rows) + success_table(from.settings);
}

std::string table(const switch_request& asked, const switch_trials& made) {
  const adapt::switch_search& search = made.search;
  const std::uint32_t seeds = std::max(search.options().runs, search.options().target_runs);
  std::string text = asked.scenario.name + ": " + std::to_string(asked.scenario.cluster.workers) +
                     " workers; trainings of " + std::to_string(asked.pushes) + " pushes; seeds " +
                     std::to_string(asked.seed) + " to " + std::to_string(asked.seed + seeds - 1) +
                     (made.interrupted ? "; INTERRUPTED" : "") + '\n';
  text_rows rows{point_columns};
  for (const adapt::switch_point& point : search.curve())
    rows.push_back(point_cells(point, search.target(), verdict_on(point)));
  if (made.asynchronous)
    rows.push_back(point_cells(*made.asynchronous, search.target(), verdict_on(*made.asynchronous)));
  text += aligned_text(rows);
  if (made.interrupted) return text;
  text += conclusion(search);
  if (!search.target()) return text;
  text += ends_of(asked, made);
  const double recurrences = search.amortization();
  return text + "cost of the search: " + count_text(search.cost()) + " BSP trainings; " +
         (std::isfinite(recurrences) ? "amortised after " + count_text(recurrences) + " trainings with the switch"
                                     : "never amortised") +
         "; " + count_text(search.effective()) + " usable trainings for the cost of one\n";
}

json to_json(const logged_search& from) {
  json made = search_json(from.search);
  const switch_logs& logs = from.logs;
  made["workload"] = logs.workload;
  made["workers"] = logs.workers;
  made["rounds"] = logs.rounds;
  made["steps"] = logs.steps();
  made["logged"] = json::array();
  for (const logged_training& each : logs.used)
    made["logged"].push_back({{"run", each.name},
                              {"share", each.share},
                              {"accuracy", each.outcome.diverged ? json(nullptr) : json(each.outcome.accuracy)},
                              {"time", each.outcome.time},
                              {"diverged", each.outcome.diverged}});
  made["not_used"] = json::array();
  for (const unused_training& each : logs.unused) made["not_used"].push_back({{"run", each.name}, {"why", each.why}});
  made["settings"] = json::array();
  for (const switch_setting& each : from.settings)
    made["settings"].push_back({{"target_runs", each.target_runs},
                                {"runs", each.runs},
                                {"cost", each.costs.cost},
                                {"amortization", finite_or_null(each.costs.amortization)},
                                {"effective", each.costs.effective},
                                {"success", each.success ? json(*each.success) : json(nullptr)}});
  return made;
}

json to_json(const switch_request& asked, const switch_trials& made, const training_data& data) {
  json document = search_json(made.search);
  document["asynchronous"] = made.asynchronous ? point_json(*made.asynchronous) : json(nullptr);
  document["options"]["least_share"] = made.search.options().least_share;
  document["scenario"] = support::to_json(asked.scenario);
  document["data"] = {{"description", data.description}, {"fingerprint", data.fingerprint}};
  document["pushes"] = asked.pushes;
  document["seed"] = asked.seed;
  document["options"]["target_runs"] = made.search.options().target_runs;
  document["options"]["runs"] = made.search.options().runs;
  document["options"]["charges_diverged"] = made.search.options().charges_diverged;
  document["cost"] = made.search.cost();
  document["amortization"] = finite_or_null(made.search.amortization());
  document["effective"] = made.search.effective();
  document["interrupted"] = made.interrupted;
  return document;
}

}  // namespace rubato::lab
