#include "rlp_figures.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "aligned_text.hpp"
#include "library_version.hpp"
#include "named_parts.hpp"
#include "number_text.hpp"
#include "report.hpp"
#include "summary.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

using nlohmann::json;

const std::vector<rlp_case> all_cases{
    {"fig2", "2a", "all cases together", {}, false, {.bsp = 1.56, .asp = 1.86, .ssp = 1.44, .best = 1.44}},
    {"fig2", "2b-0", "no hidden layer", {"objective.hidden_layers=[0]"}, false, {.best = 1.48}},
    {"fig2", "2b-3", "three hidden layers", {"objective.hidden_layers=[3]"}, false, {.best = 1.43}},
    {"fig2", "2c-0", "no straggler", {"stragglers.count=0"}, false, {.best = 1.02}},
    {"fig2", "2c-1", "one straggler", {"stragglers.count=1"}, false, {.best = 1.22}},
    {"fig2", "2c-3", "several stragglers, here three", {"stragglers.count=3"}, false, {.best = 1.51}},
    {"fig3", "3a-2", "two workers, one hidden layer", {"workers=2", "objective.hidden_layers=[1]"}},
    {"fig3", "3a-5", "five workers, one hidden layer", {"workers=5", "objective.hidden_layers=[1]"}},
    {"fig3", "3a-8", "eight workers, one hidden layer", {"workers=8", "objective.hidden_layers=[1]"}},
    {"fig3", "3b-model", "six hidden layers", {"objective.hidden_layers=[6]"}, false, {.best = 1.33}},
    {"fig3", "3b-data", "other data", {"objective.target_accuracy=auto"}, true, {.best = 1.22}},
    {"fig3",
     "3c-2",
     "two workers, six hidden layers, other data",
     {"workers=2", "objective.hidden_layers=[6]", "objective.target_accuracy=auto"},
     true,
     {.best = 1.69}},
    {"fig3",
     "3c-5",
     "five workers, six hidden layers, other data",
     {"workers=5", "objective.hidden_layers=[6]", "objective.target_accuracy=auto"},
     true,
     {.best = 1.19}},
    {"fig3",
     "3c-8",
     "eight workers, six hidden layers, other data",
     {"workers=8", "objective.hidden_layers=[6]", "objective.target_accuracy=auto"},
     true,
     {.best = 1.20}},
};

constexpr std::string_view compared = "bsp:sum,asp,ssp:2:rlp,ssp:3:rlp,ssp:5:rlp,ssp:8:rlp,rlp,learned,distilled,knee";
constexpr std::size_t bsp_row = 0, asp_row = 1, first_ssp_row = 2;

[[nodiscard]] compare_options options_of(const rlp_figure_request& asked, const rlp_case& each) {
  compare_options options{.scenario = asked.scenario,
                          .policies = parse_policies(compared, false),
                          .seed = asked.seed,
                          .seeds = asked.seeds};
  support::apply_settings(options.scenario, each.settings);
  fit_policies(options.policies, options.scenario.cluster.workers);
  return options;
}

// The quickest of the rules from one row to another, of those that can be relied on; none if there is none.
[[nodiscard]] std::optional<support::estimate> times_as_long(const comparison& in, const comparison_summary& sum,
                                                             std::size_t from, std::size_t to, std::size_t row) {
  std::vector<const comparison_row*> rules;
  for (std::size_t i = from; i < to; ++i)
    if (sum.rows[i].reliable()) rules.push_back(&in.rows[i]);
  if (rules.empty()) return std::nullopt;
  std::vector<std::vector<double>> theirs(rules.size());
  std::vector<double> own;
  for (std::size_t seed = 0; seed < in.rows[row].runs.size(); ++seed) {
    const auto has_run = [seed](const comparison_row* each) { return each->runs[seed].has_value(); };
    if (!in.rows[row].runs[seed] || !std::ranges::all_of(rules, has_run)) continue;
    own.push_back(in.rows[row].runs[seed]->time);
    for (std::size_t i = 0; i < rules.size(); ++i) theirs[i].push_back(rules[i]->runs[seed]->time);
  }
  if (own.empty()) return std::nullopt;
  return support::bootstrap_least_ratio(theirs, own);
}

[[nodiscard]] std::string ratio_text(const std::optional<support::estimate>& e) {
  return e ? decimals(e->value, 2) + " [" + decimals(e->low, 2) + ", " + decimals(e->high, 2) + "]" : "-";
}
[[nodiscard]] std::string ratio_text(const std::optional<double>& e) { return e ? decimals(*e, 2) : "-"; }

[[nodiscard]] json ratio_json(const std::optional<support::estimate>& e) {
  return e ? json{{"value", e->value}, {"low", e->low}, {"high", e->high}} : json(nullptr);
}
[[nodiscard]] json ratio_json(const std::optional<double>& e) { return e ? json(*e) : json(nullptr); }

template <class Ratios>
[[nodiscard]] json ratios_json(const Ratios& of) {
  return {{"bsp", ratio_json(of.bsp)},
          {"asp", ratio_json(of.asp)},
          {"ssp", ratio_json(of.ssp)},
          {"best", ratio_json(of.best)}};
}

[[nodiscard]] std::string table(const rlp_case_result& result) {
  const comparison_summary sum = summarise(result.made);
  std::vector<std::vector<std::string>> rows{
      {"policy", "time", "95 % CI", "reached", "bsp / its", "asp / its", "best ssp / its", "best rule / its"}};
  for (std::size_t i = 0; i < result.made.rows.size(); ++i) {
    const row_summary& row = sum.rows[i];
    std::vector<std::string> cells{result.made.rows[i].name, decimals(row.time.value, 0),
                                   "[" + decimals(row.time.low, 0) + ", " + decimals(row.time.high, 0) + "]",
                                   std::to_string(row.reached) + "/" + std::to_string(row.seeds)};
    if (i >= rlp_rules) {
      const rlp_comparison with = compare_with_rules(result.made, sum, i);
      for (const auto* each : {&with.bsp, &with.asp, &with.ssp, &with.best}) cells.push_back(ratio_text(*each));
    }
    rows.push_back(std::move(cells));
  }
  const rlp_ratios& paper = result.of->published;
  rows.push_back({"RLP, in the paper", "", "", "", ratio_text(paper.bsp), ratio_text(paper.asp), ratio_text(paper.ssp),
                  ratio_text(paper.best)});
  return std::string{result.of->part} + ": " + std::string{result.of->meaning} + '\n' + aligned_text(rows);
}

}  // namespace

std::span<const rlp_case> rlp_cases() { return all_cases; }

std::vector<const rlp_case*> rlp_cases_of(std::string_view experiment, const std::vector<std::string>& parts) {
  std::vector<const rlp_case*> all;
  for (const rlp_case& each : all_cases)
    if (each.experiment == experiment) all.push_back(&each);
  return named_parts(all, &rlp_case::part, parts);
}

rlp_figure run_rlp_figure(const rlp_figure_request& asked, const runner& usual, const runner* other) {
  rlp_figure figure{.asked = asked};
  for (const rlp_case* each : rlp_cases_of(asked.experiment, asked.parts)) {
    if (each->of_other_data && other == nullptr) {
      if (!asked.parts.empty())
        throw support::user_error{"--other-data: found none, expected the folder that part " + std::string{each->part} +
                                  " needs"};
      figure.left_out.push_back(each);
      continue;
    }
    figure.cases.push_back({each, compare(options_of(asked, *each), each->of_other_data ? *other : usual)});
    figure.interrupted = figure.cases.back().made.interrupted;
    if (figure.interrupted) break;
  }
  return figure;
}

rlp_comparison compare_with_rules(const comparison& made, const comparison_summary& sum, std::size_t row) {
  if (!sum.rows[row].reliable()) return {};
  const auto of = [&](std::size_t from, std::size_t to) { return times_as_long(made, sum, from, to, row); };
  return {.bsp = of(bsp_row, asp_row),
          .asp = of(asp_row, first_ssp_row),
          .ssp = of(first_ssp_row, rlp_rules),
          .best = of(0, rlp_rules)};
}

std::string table(const rlp_figure& figure) {
  const rlp_figure_request& asked = figure.asked;
  std::string text = asked.scenario.name + ": seeds " + std::to_string(asked.seed) + " to " +
                     std::to_string(asked.seed + asked.seeds - 1) + ", each of them a case of its own" +
                     (figure.interrupted ? "; INTERRUPTED\n" : "\n");
  for (const rlp_case_result& each : figure.cases) text += '\n' + table(each);
  for (const rlp_case* each : figure.left_out)
    text += '\n' + std::string{each->part} + ": left out, it needs other data: --other-data\n";
  return text +
         "\ntime: interquartile mean over seeds; the best rule and the best bound are the quickest in these "
         "runs, in each resample anew. CI: bootstrap over seeds.\n";
}

json to_json(const rlp_figure& figure) {
  json cases = json::array();
  for (const rlp_case_result& each : figure.cases) {
    const comparison_summary sum = summarise(each.made);
    json ratios = json::object();
    for (std::size_t i = rlp_rules; i < each.made.rows.size(); ++i)
      ratios[each.made.rows[i].name] = ratios_json(compare_with_rules(each.made, sum, i));
    cases.push_back({{"part", each.of->part},
                     {"meaning", each.of->meaning},
                     {"published", ratios_json(each.of->published)},
                     {"ratios", std::move(ratios)},
                     {"comparison", to_json(each.made)}});
  }
  json left_out = json::array();
  for (const rlp_case* each : figure.left_out) left_out.push_back(each->part);
  return {{"format", "rubato.rlp_figure"},         {"format_version", 1},
          {"experiment", figure.asked.experiment}, {"cases", std::move(cases)},
          {"left_out", std::move(left_out)},       {"interrupted", figure.interrupted},
          {"version", library_version()}};
}

}  // namespace rubato::lab
