// What a page says about a comparison.
#include <algorithm>
#include <cmath>

#include "../clairvoyant.hpp"
#include "../number_text.hpp"
#include "article.hpp"

namespace rubato::lab::page {
namespace {

using rows = std::vector<const result_row*>;

constexpr const char* and_its_interval = "Bar: interquartile mean over seeds; line: 95 % interval";

[[nodiscard]] bool is_bound(const result_row& row) { return row.policy == clairvoyant_name; }

// The rules, the quickest first; those that too often did not arrive at the end.
[[nodiscard]] rows ranked(const result_file& file) {
  rows order;
  for (const result_row& each : file.rows)
    if (!is_bound(each)) order.push_back(&each);
  const auto place = [](const result_row* row) {
    return row->reliable() && std::isfinite(row->time.value) ? row->time.value : HUGE_VAL;
  };
  std::ranges::stable_sort(order, {}, place);
  return order;
}

[[nodiscard]] std::string span_text(const estimate& of, std::string (*shown)(double)) {
  return shown(of.value) + (std::isfinite(of.low) ? " " + interval(of, shown) : "");
}

[[nodiscard]] std::string times_text(double factor) { return two_decimals(factor) + "\xC3\x97"; }

enum class verdict_on : std::uint8_t { quicker, level, slower, unknown };

[[nodiscard]] verdict_on verdict_of(const result_row& row) {
  if (!std::isfinite(row.speedup.value)) return verdict_on::unknown;
  if (row.speedup.low > 1) return verdict_on::quicker;
  return row.speedup.high < 1 ? verdict_on::slower : verdict_on::level;
}

[[nodiscard]] tone tone_of(const result_row& row) {
  switch (verdict_of(row)) {
    case verdict_on::quicker: return tone::good;
    case verdict_on::slower: return tone::bad;
    case verdict_on::level: return tone::plain;
    case verdict_on::unknown: break;
  }
  return tone::faint;
}

[[nodiscard]] const nlohmann::json* at(const result_file& file, const char* path) {
  const nlohmann::json::json_pointer pointer{path};
  return file.scenario.contains(pointer) ? &file.scenario.at(pointer) : nullptr;
}

[[nodiscard]] std::string number_at(const result_file& file, const char* path) {
  const nlohmann::json* const value = at(file, path);
  return value != nullptr && value->is_number() ? tick_text(value->get<double>()) : "";
}

// What the time of a run is the time to.
[[nodiscard]] std::string goal_of(const result_file& file) {
  const nlohmann::json* const stop = at(file, "/stop");
  if (stop != nullptr && *stop == "workload") return "the end of the workload";
  if (stop != nullptr && *stop == "converged") return "convergence";
  if (file.targets.empty()) return "its end";
  const auto [least, most] = std::ranges::minmax(file.targets);
  if (!std::isfinite(least)) return "its target";
  return least == most ? percent(least) + " accuracy" : percent(least) + " to " + percent(most) + " accuracy";
}

[[nodiscard]] std::string setting_list(const result_file& file) {
  std::string machines = number_at(file, "/workers") + " workers";
  if (const std::string cores = number_at(file, "/cluster/cores"); !cores.empty() && cores != "0")
    machines += " on " + cores + (cores == "1" ? " core" : " cores");
  const std::string last = decimals(file.seed + file.seeds - 1, 0);
  const bool real = std::isfinite(file.unit_seconds);
  std::string terms = term("Scenario", file.scenario_name) + term("About it", file.scenario_description) +
                      term("Machines", machines) +
                      term("Host", file.host == "simulator" ? "simulator, in virtual time"
                                                            : file.host + ", in real time") +
                      term("Unit of time", real ? sensible(file.unit_seconds) + " s, an uncontended step"
                                                : "one uncontended step of a worker") +
                      term("A run ends at", goal_of(file)) + term("Data", file.data) +
                      term("Seeds", decimals(file.seed, 0) + " to " + last + ", the same for every policy") +
                      term("Tuned", file.tuned ? "yes, each policy on other seeds" : "no: all at the scenario's rate") +
                      term("Made by", "rubato-lab " + file.version) + term("File", file.name);
  return element("dl", terms) + "\n" +
         folded("The whole scenario", element("pre", "tabindex=\"0\"", escaped(file.scenario_text)));
}

// ---- parts

[[nodiscard]] figure time_figure(const result_file& file, const std::string& id, const rows& order) {
  std::vector<interval_row> bars;
  std::vector<double> values, highs;
  figure made{.id = id + "-time", .data = {"Time to " + goal_of(file), {"policy", "time", "95 % low", "95 % high", "arrived"}, {}}};
  for (const result_row* row : order) {
    const std::string arrived = decimals(row->reached, 0) + "/" + decimals(row->seeds, 0);
    bars.push_back({row->policy, span_text(row->time, sensible) + (row->reliable() ? "" : " (" + arrived + ")"),
                    row->time.value, row->time.low, row->time.high, tone_of(*row)});
    values.push_back(row->time.value), highs.push_back(row->time.high);
    made.data.rows.push_back({row->policy, sensible(row->time.value), sensible(row->time.low),
                              sensible(row->time.high), arrived});
  }
  made.title = "How long each takes to " + goal_of(file);
  made.caption = "Units of time, the quickest first. " + std::string{and_its_interval} +
                 "; arrow: goes on beyond the axis; (N/M): only N of M runs arrived.";
  made.description = "Bars of " + std::to_string(order.size()) + " policies; the quickest is " + order.front()->policy +
                     " with " + span_text(order.front()->time, sensible) + ". The table below has all numbers.";
  made.panels.push_back(rows_panel(bars, axis_for(values, highs), true));
  return made;
}

[[nodiscard]] figure ratio_figure(const result_file& file, const std::string& id, const rows& order) {
  std::vector<interval_row> dots;
  double least = 1, most = 1;
  figure made{.id = id + "-ratio",
              .data = {"Time of " + file.baseline + " / time of the policy", {"policy", "ratio", "95 % low", "95 % high"}, {}}};
  for (const result_row* row : order) {
    if (!std::isfinite(row->speedup.value) || row->policy == file.baseline) continue;
    constexpr const char* words[] = {"quicker", "undecided", "slower", ""};
    dots.push_back({row->policy, span_text(row->speedup, two_decimals) + " " + words[static_cast<int>(verdict_of(*row))],
                    row->speedup.value, row->speedup.low, row->speedup.high, tone_of(*row)});
    least = std::min({least, row->speedup.low, row->speedup.value});
    most = std::max({most, row->speedup.high, row->speedup.value});
    made.data.rows.push_back({row->policy, two_decimals(row->speedup.value), two_decimals(row->speedup.low),
                              two_decimals(row->speedup.high)});
  }
  const axis scale{std::clamp(least * 0.95, 0.05, 0.95), std::clamp(most * 1.05, 1.05, 20.0), true};
  made.title = "How many times as quick as " + file.baseline;
  made.caption = "Time of " + file.baseline + " / time of the policy, seeds resampled together, with 95 % intervals; "
                 "right of the dashed line is quicker. Equal distances are equal ratios.";
  made.description = "Ratios of " + std::to_string(dots.size()) + " policies to " + file.baseline + ", with intervals.";
  made.panels.push_back(rows_panel(dots, scale, false));
  made.panels.front().marks += mark_line(scale.at(1), 0, scale.at(1), made.panels.front().height - 20, "reference");
  return made;
}

[[nodiscard]] std::vector<point> band_of(const result_row& row, const axis& time, const auto& y_of) {
  std::vector<point> outline;
  for (const level& each : row.curve) outline.push_back({time.at(each.time.low), y_of(each.share)});
  for (auto each = row.curve.rbegin(); each != row.curve.rend(); ++each)
    outline.push_back({time.at(each->time.high), y_of(each->share)});
  return outline;
}

[[nodiscard]] std::vector<point> curve_of(const result_row& row, const axis& time, const auto& y_of) {
  std::vector<point> line;
  for (const level& each : row.curve) {
    line.push_back({time.at(each.time.value), y_of(each.share)});
    if (time.beyond(each.time.value)) break;
  }
  return line;
}

[[nodiscard]] figure curve_figure(const result_file& file, const std::string& id, const rows& order) {
  constexpr double height = 92, top = 4;
  std::vector<double> values, highs;
  const result_row* base = nullptr;
  for (const result_row* row : order) {
    values.push_back(row->time.value), highs.push_back(row->time.high);
    if (row->policy == file.baseline) base = row;
  }
  const axis time = axis_for(values, highs);
  const bool one_target = std::ranges::minmax(file.targets).min == std::ranges::minmax(file.targets).max;
  const double target = one_target ? file.targets.front() : 1;
  figure made{.id = id + "-curves", .narrowest = 158};
  for (const result_row* row : order) {
    if (row->curve.empty()) continue;
    const double least = row->curve.front().share;
    const auto y_of = [&](double share) { return top + (height - top) * (1 - share) / std::max(1 - least, 1e-9); };
    panel one{.title = shortened(row->policy, 16), .note = sensible(row->time.value), .height = height + 20, .left = 34};
    one.marks = mark_ticks(time, 0, height, 3);
    for (const double share : {1.0, (1 + least) / 2, least}) {
      one.marks += mark_line(0, y_of(share), 100, y_of(share), "grid");
      one.marks += mark_text(0, y_of(share) + 4, "end", decimals(100 * share * target, 0) + "%", "tick", -5);
    }
    one.marks += mark_path(band_of(*row, time, y_of), "band", height);
    if (base != nullptr && base != row) one.marks += mark_path(curve_of(*base, time, y_of), "reference", height);
    one.marks += mark_path(curve_of(*row, time, y_of), "curve", height);
    made.panels.push_back(std::move(one));
  }
  const std::string accuracy = one_target ? "Accuracy" : "Share of each seed's target accuracy";
  made.title = "How they get there";
  made.caption = accuracy + " over time: when the interquartile mean of the seeds was at a level, and the band of its "
                 "95 % interval" + (base != nullptr ? "; dashed: " + file.baseline : "") +
                 ". A curve that leaves at the right arrives later.";
  made.description = "A small panel for each policy with accuracy over time and its band.";
  std::vector<std::string> head{"policy"};
  const auto& levels = order.front()->curve;
  for (std::size_t k = 0; k < levels.size(); k += 4) head.push_back("to " + percent(levels[k].share * target));
  made.data = {accuracy + " over time: interquartile mean [95 % interval] of the time to a level", std::move(head), {}};
  for (const result_row* row : order) {
    std::vector<std::string> cells{row->policy};
    for (std::size_t k = 0; k < row->curve.size(); k += 4) cells.push_back(span_text(row->curve[k].time, sensible));
    made.data.rows.push_back(std::move(cells));
  }
  return made;
}

[[nodiscard]] figure room_figure(const std::string& id, const rows& order) {
  std::vector<interval_row> bars;
  std::vector<double> values, highs;
  const result_row* nearest = nullptr;
  figure made{.id = id + "-room", .data = {"Regret", {"policy", "regret", "95 % low", "95 % high"}, {}}};
  for (const result_row* row : order) {
    if (!std::isfinite(row->regret.value)) continue;
    if (nearest == nullptr || row->regret.value < nearest->regret.value) nearest = row;
    bars.push_back({row->policy, span_text(row->regret, percent), 100 * row->regret.value, 100 * row->regret.low,
                    100 * row->regret.high, tone::plain});
    values.push_back(bars.back().at), highs.push_back(bars.back().high);
    made.data.rows.push_back({row->policy, percent(row->regret.value), percent(row->regret.low),
                              percent(row->regret.high)});
  }
  made.title = "The room: " + nearest->policy + " is nearest to what knowing the runs would reach, " +
               span_text(nearest->regret, percent) + " longer";
  made.caption = "How much longer each takes than a plan that was made with the runs known, with 95 % intervals. The plan "
                 "may not be the best one: there is at least that much room.";
  made.description = "Bars of the regret of " + std::to_string(bars.size()) + " policies.";
  made.panels.push_back(rows_panel(bars, axis_for(values, highs), true, "%"));
  return made;
}

// A mean of the table as bars, with a second mark where there is another one to show.
struct mean_part {
  const char* name;
  const char* also;
  std::string (*shown)(double);
  double times;
  const char* unit;
};

[[nodiscard]] figure mean_figure(const std::string& id, const rows& order, const mean_part& part) {
  std::vector<interval_row> bars;
  std::vector<double> values, highs;
  figure made{.id = id, .data = {part.name, {"policy", "mean", "95 % low", "95 % high"}, {}}};
  if (part.also != nullptr) made.data.head.push_back("95 % quantile");
  for (const result_row* row : order) {
    const estimate& mean = row->means.at(part.name);
    bars.push_back({row->policy, span_text(mean, part.shown), part.times * mean.value, part.times * mean.low,
                    part.times * mean.high, tone::plain});
    if (part.also != nullptr) bars.back().also = row->means.at(part.also).value;
    values.push_back(bars.back().at);
    highs.push_back(std::max(std::isfinite(bars.back().high) ? bars.back().high : 0, bars.back().also));
    made.data.rows.push_back({row->policy, part.shown(mean.value), part.shown(mean.low), part.shown(mean.high)});
    if (part.also != nullptr) made.data.rows.back().push_back(part.shown(bars.back().also));
  }
  made.panels.push_back(rows_panel(bars, axis_for(values, highs), true, part.unit));
  return made;
}

[[nodiscard]] std::pair<const result_row*, const result_row*> extremes(const rows& order, const char* name) {
  const auto [least, most] =
      std::ranges::minmax_element(order, {}, [&](const result_row* row) { return row->means.at(name).value; });
  return {*least, *most};
}

[[nodiscard]] figure idle_figure(const std::string& id, const rows& order) {
  figure made = mean_figure(id + "-idle", order, {"idle_share", nullptr, percent, 100, "%"});
  const auto [least, most] = extremes(order, "idle_share");
  made.title = "Waiting: least under " + least->policy + ", " + percent(least->means.at("idle_share").value) +
               ", most under " + most->policy + ", " + percent(most->means.at("idle_share").value);
  made.caption = "Share of the workers' time spent waiting for a release; mean over seeds with 95 % interval.";
  made.description = made.title + ".";
  made.data.caption = "Share of the workers' time spent waiting";
  return made;
}

[[nodiscard]] figure staleness_figure(const std::string& id, const rows& order) {
  figure made = mean_figure(id + "-staleness", order, {"staleness_mean", "staleness_p95", sensible, 1, ""});
  const auto [least, most] = extremes(order, "staleness_mean");
  made.title = "Staleness: least under " + least->policy + ", " + sensible(least->means.at("staleness_mean").value) +
               ", most under " + most->policy + ", " + sensible(most->means.at("staleness_mean").value);
  made.caption = "Updates that a gradient missed; mean over seeds with 95 % interval; upright mark: what 95 % of the "
                 "gradients stay below.";
  made.description = made.title + ".";
  made.data.caption = "Staleness in updates";
  return made;
}

[[nodiscard]] std::string verdict_list(const result_file& file, const rows& order) {
  std::vector<std::string> quicker, level, slower, unknown;
  for (const result_row* row : order) {
    if (row->policy == file.baseline) continue;
    const double ratio = row->speedup.value;
    switch (verdict_of(*row)) {
      case verdict_on::quicker: quicker.push_back(row->policy + " (" + times_text(ratio) + ")"); break;
      case verdict_on::level: level.push_back(row->policy); break;
      case verdict_on::slower: slower.push_back(row->policy + " (takes " + times_text(1 / ratio) + " as long)"); break;
      case verdict_on::unknown:
        unknown.push_back(row->policy + " (" + decimals(row->reached, 0) + " of " + decimals(row->seeds, 0) + ")");
    }
  }
  const auto item = [](const char* colour, const std::string& words, const std::vector<std::string>& names) {
    if (names.empty()) return std::string{};
    return element("li", "<span class=\"swatch\" style=\"background:var(--" + std::string{colour} + ")\"></span>" +
                             escaped(words + ": " + enumeration(names, 99))) + "\n";
  };
  return element("ul", "class=\"verdicts\"",
                 "\n" + item("good", "Quicker than " + file.baseline, quicker) +
                     item("bad", "Lose to " + file.baseline, slower) +
                     item("plain", "Not to be told from " + file.baseline + " by these seeds", level) +
                     item("faint", "No ratio, since fewer than 90 % of the runs arrived", unknown)) + "\n";
}

[[nodiscard]] table everything(const result_file& file) {
  table all{"Everything; means over seeds with their 95 % intervals",
            {"policy", "rate", "time", "arrived", "pushes", "updates", "staleness", "stale p95", "waiting", "deciding",
             "dropped", "overrides", "accuracy", "\xC3\x97 " + (file.baseline.empty() ? "baseline" : file.baseline), "regret"}, {}};
  if (file.tuned) all.head.insert(all.head.begin() + 1, "chosen");
  for (const result_row& row : file.rows) {
    const auto mean = [&](const char* name, std::string (*shown)(double)) { return span_text(row.means.at(name), shown); };
    all.rows.push_back({row.policy, sensible(row.learning_rate), span_text(row.time, sensible),
                        decimals(row.reached, 0) + "/" + decimals(row.seeds, 0), mean("pushes", sensible),
                        mean("updates", sensible), mean("staleness_mean", sensible), mean("staleness_p95", sensible),
                        mean("idle_share", percent), mean("decision_share", percent), mean("dropped", sensible),
                        mean("overrides", sensible), mean("final_accuracy", percent),
                        span_text(row.speedup, two_decimals), span_text(row.regret, percent)});
    if (file.tuned) all.rows.back().insert(all.rows.back().begin() + 1, row.used);
  }
  return all;
}

// Who else may be the quickest, as far as these seeds can tell.
[[nodiscard]] std::string doubts(const rows& order) {
  const result_row& first = *order.front();
  std::vector<std::string> others;
  for (const result_row* row : order)
    if (row != &first && row->reliable() && row->time.low <= first.time.high) others.push_back(row->policy);
  if (!std::isfinite(first.time.low)) return "One run says nothing about chance: there are no intervals.";
  if (others.empty()) return "No other interval reaches that far.";
  return "That interval overlaps " + std::string{others.size() == 1 ? "that of " : "those of "} + enumeration(others) +
         ": these seeds alone do not say who of them is first.";
}

}  // namespace

void article::missing(std::string_view part, std::string_view how, std::string_view command) {
  body += element("p", "class=\"missing\"",
                  escaped(part) + ": " + escaped(how) + " " + element("code", escaped(command))) + "\n";
}

std::string term(std::string_view name, std::string_view value) {
  return value.empty() ? "" : element("dt", escaped(name)) + element("dd", escaped(value)) + "\n";
}

article article_about(const result_file& file, const std::string& id) {
  const rows order = ranked(file);
  article made{.id = id};
  const std::string ask = "rubato-lab compare --scenario " + file.scenario_name;
  if (order.empty() || !order.front()->reliable()) {
    made.heading = file.scenario_name + ": no policy arrives in nine of ten runs";
  } else {
    const result_row& first = *order.front();
    made.heading = file.scenario_name + ": " + first.policy + " reaches " + goal_of(file) + " first, after " +
                   sensible(first.time.value) +
                   (std::isfinite(first.time.low) ? ", " + sensible(first.time.low) + " to " + sensible(first.time.high) : "");
    made.add(element("p", "class=\"lead\"", escaped(doubts(order))) + "\n");
  }
  if (file.interrupted)
    made.missing("Interrupted", "some runs are missing; the same command goes on:", ask + " ...");
  if (!file.baseline.empty()) made.add(verdict_list(file, order));
  made.add(setting_list(file));
  if (order.empty()) return made;

  made.add(time_figure(file, id, order));
  if (file.baseline.empty())
    made.missing("Ratios", "there is no bsp whose runs arrive, to compare with; add one:", ask + " --policies bsp:sum,...");
  else if (order.size() > 1)
    made.add(ratio_figure(file, id, order));
  if (std::ranges::any_of(order, [](const result_row* row) { return !row->curve.empty(); }))
    made.add(curve_figure(file, id, order));
  else
    made.missing("Accuracy over time", "not in this file; runs that end at an accuracy have it:",
                 ask + " --set stop=target --json FILE");
  if (std::ranges::any_of(order, [](const result_row* row) { return std::isfinite(row->regret.value); }))
    made.add(room_figure(id, order));
  else
    made.missing("The room above these policies", "not in this file; it takes", ask + " --clairvoyant --json FILE");
  made.add("<div class=\"pair\">\n");
  made.add(idle_figure(id, order));
  made.add(staleness_figure(id, order));
  made.add("</div>\n");
  made.add(element("h3", "All numbers") + "\n" + as_html(everything(file)));
  return made;
}

}  // namespace rubato::lab::page
