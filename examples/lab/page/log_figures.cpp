// What happened when, in a log: histogram, maps, strip.
#include <algorithm>
#include <cmath>
#include <functional>

#include "../number_text.hpp"
#include "log_article.hpp"

namespace rubato::lab::page {
namespace {

using moment = log_timeline::moment;
using stay = log_timeline::stay;

constexpr std::size_t most_drawn = 32;
constexpr double label_room = 44;

[[nodiscard]] axis time_axis(const log_timeline& line) { return {line.begin(), line.end()}; }

// Where the parts of a timeline begin and end, in per cent.
[[nodiscard]] double edge(const log_timeline& line, std::size_t part) {
  return time_axis(line).at(line.begin() + static_cast<double>(part) * line.length());
}

// Shades from 0 to 1, in tenths.
[[nodiscard]] std::string shade(double x, double y, double width, double height, int tenths) {
  std::string box = mark_box(x, y, width, height, tone::plain);
  const std::string_view plain = "class=\"plain\"";
  box.replace(box.find(plain), plain.size(),
              "class=\"heat\" fill-opacity=\"" + decimals(std::max(tenths / 10.0, 0.04), 2) + "\"");
  return box;
}

[[nodiscard]] panel shade_key(const std::string& least, const std::string& half, const std::string& most) {
  panel key{.height = 26, .left = label_room};
  for (int k = 0; k <= 10; ++k) key.marks += shade(k * 5, 0, 5, 10, k);
  key.marks += mark_text(0, 23, "start", least, "tick") + mark_text(27.5, 23, "middle", half, "tick") +
               mark_text(55, 23, "end", most, "tick");
  return key;
}

// Those to draw: all, or those with most of what is shown, by their numbers.
[[nodiscard]] std::vector<std::size_t> chosen(const log_timeline& line, const std::function<double(const stay&)>& value) {
  std::vector<std::pair<double, std::size_t>> all;
  for (std::size_t w = 0; w < line.workers().size(); ++w) {
    double sum = 0;
    for (const stay& each : line.workers()[w]) sum += value(each);
    if (!line.workers()[w].empty()) all.emplace_back(-sum, w);
  }
  std::ranges::sort(all);
  if (all.size() > most_drawn) all.resize(most_drawn);
  std::vector<std::size_t> rows;
  for (const auto& each : all) rows.push_back(each.second);
  std::ranges::sort(rows);
  return rows;
}

struct map_request {
  std::string id;
  std::function<double(const stay&)> above, below;  // a cell is their quotient; nothing below: no cell
  double most;                                      // is darkest
  std::string (*shown)(double);
};

[[nodiscard]] figure heat_map(const log_story& story, const map_request& asked) {
  constexpr double row_height = 18;
  const log_timeline& line = story.timeline;
  const std::vector<std::size_t> rows = chosen(line, asked.above);
  const double bottom = row_height * static_cast<double>(rows.size());
  panel map{.height = bottom + 20, .left = label_room};
  figure made{.id = asked.id, .data = {"", {"worker"}, {}}};
  constexpr std::size_t columns = 8;  // of the table
  const std::size_t parts = line.parts(), wide = (parts + columns - 1) / columns;
  for (std::size_t part = 0; part < parts; part += wide)
    made.data.head.push_back("from " + sensible(line.begin() + static_cast<double>(part) * line.length()));
  double top = 0;
  for (const std::size_t w : rows) {
    const std::vector<stay>& mine = line.workers()[w];
    map.marks += mark_text(0, top + 12, "end", std::to_string(w), "tick", -6);
    const auto tenths_of = [&](std::size_t part) {
      const double below = asked.below(mine[part]);
      if (below <= 0) return -1;
      return static_cast<int>(std::lround(10 * std::clamp(asked.above(mine[part]) / below / asked.most, 0.0, 1.0)));
    };
    for (std::size_t part = 0, next = 0; part < parts; part = next) {  // equal neighbours as one
      const int tenths = tenths_of(part);
      while (next < parts && tenths_of(next) == tenths) ++next;
      const double x = edge(line, part);
      if (tenths >= 0) map.marks += shade(x, top, edge(line, next) - x, row_height - 2, tenths);
    }
    std::vector<std::string> cells{std::to_string(w)};
    for (std::size_t part = 0; part < parts; part += wide) {
      double above = 0, below = 0;
      for (std::size_t i = part; i < std::min(part + wide, parts); ++i)
        above += asked.above(mine[i]), below += asked.below(mine[i]);
      cells.push_back(below > 0 ? asked.shown(above / below) : "-");
    }
    made.data.rows.push_back(std::move(cells));
    map.marks += "\n";
    top += row_height;
  }
  map.marks += mark_ticks(time_axis(line), bottom, bottom, 5);
  made.panels = {std::move(map), shade_key(asked.shown(0), asked.shown(asked.most / 2), asked.shown(asked.most))};
  made.caption = "A row for each worker, time from left to right; nothing where it was not there or did nothing.";
  if (line.workers().size() > rows.size())
    made.caption += " Of " + std::to_string(story.stats.seen()) + " workers the " + std::to_string(rows.size()) +
                    " with most of it.";
  return made;
}

[[nodiscard]] double length_of(const log_timeline& line, std::size_t part) {
  const double from = line.begin() + static_cast<double>(part) * line.length();
  return std::min(line.length(), line.end() - from);
}

// A line over time, with its numbers at the left.
[[nodiscard]] panel track(const log_timeline& line, std::string title, std::string note, double least, double most,
                          const std::function<double(std::size_t)>& value) {
  constexpr double height = 64;
  const axis up{least, most};
  panel made{.title = std::move(title), .note = std::move(note), .height = height + 4, .left = label_room};
  const auto y_of = [&](double of) { return 4 + (height - 4) * (1 - up.at(of) / 100); };
  for (const double each : {least, up.high()}) {
    made.marks += mark_line(0, y_of(each), 100, y_of(each), "grid");
    made.marks += mark_text(0, y_of(each) + 4, "end", tick_text(each), "tick", -6);
  }
  std::vector<point> path;
  for (std::size_t part = 0; part < line.parts(); ++part) {
    const double of = value(part);
    if (!std::isfinite(of)) continue;
    path.push_back({edge(line, part), y_of(of)});
    path.push_back({edge(line, part + 1), y_of(of)});
  }
  made.marks += mark_path(path, "curve", height + 4);
  return made;
}

[[nodiscard]] panel verdict_track(const log_timeline& line) {
  constexpr double height = 30;
  panel made{.title = "Verdicts", .note = "blue: applied; grey: added to a round; orange: dropped", .height = height, .left = label_room};
  for (std::size_t part = 0; part < line.parts(); ++part) {
    const moment& here = line.moments()[part];
    if (here.pushes() == 0) continue;
    const double x = edge(line, part), width = edge(line, part + 1) - x;
    double bottom = height;
    const auto stack = [&](std::uint64_t count, tone is) {
      const double tall = height * static_cast<double>(count) / static_cast<double>(here.pushes());
      if (count > 0) made.marks += mark_box(x, bottom - tall, width, tall, is);
      bottom -= tall;
    };
    stack(here.apply, tone::good), stack(here.accumulate, tone::faint), stack(here.drop, tone::bad);
  }
  return made;
}

[[nodiscard]] panel policy_track(const log_story& story) {
  panel made{.title = "Policy", .height = 20, .left = label_room};
  const auto& policies = story.stats.policies();
  const axis time = time_axis(story.timeline);
  for (std::size_t i = 0; i < policies.size(); ++i) {
    const double x = time.at(policies[i].from);
    const double end = i + 1 < policies.size() ? time.at(policies[i + 1].from) : 100;
    made.marks += mark_box(x, 0, end - x, 8, i % 2 == 0 ? tone::plain : tone::faint, policies[i].policy);
    const std::string kind = policies[i].policy.substr(0, policies[i].policy.find(':'));
    if (end - x > 12) made.marks += mark_text(x, 20, "start", shortened(kind, 12), "tick");
  }
  made.note = std::to_string(policies.size()) + (policies.size() == 1 ? " all the time" : " one after another");
  return made;
}

}  // namespace

figure histogram_figure(const log_story& story, const std::string& id) {
  constexpr double height = 120;
  const auto& counts = story.timeline.staleness();
  std::uint64_t all = 0, most = 1;
  double sum = 0;
  for (std::size_t s = 0; s < counts.size(); ++s) all += counts[s], most = std::max(most, counts[s]);
  sum = story.stats.staleness().sum;
  const auto columns = static_cast<double>(std::max<std::size_t>(counts.size(), 1));
  panel bars{.height = height + 20, .left = label_room};
  figure made{.id = id + "-staleness", .data = {"Gradients by staleness", {"updates missed", "gradients"}, {}}};
  const axis up{0, static_cast<double>(most)};
  for (const double each : up.ticks(3)) {
    const double y = height * (1 - up.at(each) / 100);
    bars.marks += mark_line(0, y, 100, y, "grid") + mark_text(0, y + 4, "end", tick_text(each), "tick", -6);
  }
  const auto every = static_cast<std::size_t>(std::ceil(columns / 12));
  for (std::size_t s = 0; s < counts.size(); ++s) {
    const double width = 100 / columns, x = width * static_cast<double>(s);
    const double tall = height * static_cast<double>(counts[s]) / static_cast<double>(most);
    const std::string label = std::to_string(s) + (s == log_timeline::stalest ? "+" : "");
    bars.marks += mark_box(x + 0.08 * width, height - tall, 0.84 * width, tall, tone::good,
                           label + ": " + std::to_string(counts[s]));
    if (s % every == 0) bars.marks += mark_text(x + width / 2, height + 14, "middle", label, "tick");
    if (counts[s] > 0) made.data.rows.push_back({label, std::to_string(counts[s])});
  }
  const double mean = all > 0 ? sum / static_cast<double>(all) : 0;
  made.title = "How stale: " + sensible(mean) + " updates on average, " +
               std::to_string(story.stats.staleness().largest) + " at most";
  made.caption = "Gradients by the number of updates that they missed, dropped ones too.";
  made.description = made.title + ". " + made.caption;
  made.panels.push_back(std::move(bars));
  return made;
}

figure waiting_figure(const log_story& story, const std::string& id) {
  figure made = heat_map(story, {id + "-waiting", [](const stay& s) { return s.waiting; },
                                 [](const stay& s) { return s.there(); }, 1, percent});
  double waiting = 0, there = 0;
  for (const auto& worker : story.timeline.workers())
    for (const stay& each : worker) waiting += each.waiting, there += each.there();
  made.title = "Who waits, and when: " + (there > 0 ? percent(waiting / there) : "nothing") + " of the workers' time";
  made.caption = "Share of the time between a commit and the next release. " + made.caption;
  made.description = made.title + ". " + made.caption;
  made.data.caption = "Share of the time that each worker waits";
  return made;
}

figure stale_figure(const log_story& story, const std::string& id) {
  double most = 1;
  for (const auto& worker : story.timeline.workers())
    for (const stay& each : worker)
      if (each.gradients > 0) most = std::max(most, each.staleness / each.gradients);
  figure made = heat_map(story, {id + "-stale", [](const stay& s) { return s.staleness; },
                                 [](const stay& s) { return static_cast<double>(s.gradients); }, most, sensible});
  made.title = "Whose gradients are stale, and when";
  made.caption = "Mean staleness of a worker's gradients, in updates. " + made.caption;
  made.description = made.title + ". " + made.caption;
  made.data.caption = "Mean staleness of each worker's gradients";
  return made;
}

figure strip_figure(const log_story& story, const std::string& id) {
  const log_timeline& line = story.timeline;
  const auto& moments = line.moments();
  const auto seen = static_cast<double>(std::max(story.stats.seen(), 1U));
  double busy = 0;
  for (const moment& each : moments) busy += each.busy;
  const double lasted = line.end() - line.begin();
  const double running = lasted > 0 ? busy / lasted : 0;
  const auto running_at = [&](std::size_t part) {
    const double length = length_of(line, part);
    return length > 0 ? moments[part].busy / length : 0;
  };
  const auto mean_at = [](double sum, std::uint64_t count) {
    return count > 0 ? sum / static_cast<double>(count) : std::nan("");
  };
  const auto range_of = [&](const std::function<double(std::size_t)>& value) {
    double least = HUGE_VAL, most = -HUGE_VAL;
    for (std::size_t part = 0; part < line.parts(); ++part)
      if (const double of = value(part); std::isfinite(of)) least = std::min(least, of), most = std::max(most, of);
    return std::pair{least, most};
  };
  const auto batch_at = [&](std::size_t part) { return mean_at(moments[part].batch, moments[part].releases); };
  const auto rate_at = [&](std::size_t part) { return mean_at(moments[part].rate, moments[part].releases); };
  const auto loss_at = [&](std::size_t part) { return mean_at(moments[part].loss, moments[part].losses); };

  figure made{.id = id + "-policy", .data = {"What the policy did", {"from", "running", "applied", "in rounds", "dropped"}, {}}};
  made.panels = {policy_track(story),
                 track(line, "Workers that run", sensible(running) + " on average", 0, seen, running_at),
                 verdict_track(line)};
  if (line.asked_for_batch())
    made.panels.push_back(track(line, "Batch that is asked for", "0: the host's", 0, range_of(batch_at).second, batch_at));
  if (line.changed_rate())
    made.panels.push_back(track(line, "Factor on the learning rate", "", 0, range_of(rate_at).second, rate_at));
  if (const auto [least, most] = range_of(loss_at); least <= most)
    made.panels.push_back(track(line, "Loss", "as pushed with the gradients", std::min(least, 0.0), most, loss_at));
  panel ticks{.height = 16, .left = label_room};
  ticks.marks = mark_ticks(time_axis(line), 0, 0, 5);
  made.panels.push_back(std::move(ticks));

  const std::size_t wide = std::max<std::size_t>((line.parts() + 11) / 12, 1);
  for (std::size_t part = 0; part < line.parts(); part += wide) {
    moment sum;
    double length = 0;
    for (std::size_t i = part; i < std::min(part + wide, line.parts()); ++i) {
      sum.busy += moments[i].busy, length += length_of(line, i);
      sum.apply += moments[i].apply, sum.accumulate += moments[i].accumulate, sum.drop += moments[i].drop;
    }
    made.data.rows.push_back({sensible(line.begin() + static_cast<double>(part) * line.length()),
                              length > 0 ? sensible(sum.busy / length) : "-", std::to_string(sum.apply),
                              std::to_string(sum.accumulate), std::to_string(sum.drop)});
  }
  made.title = "What the policy did: " + sensible(running) + " of " + std::to_string(story.stats.seen()) +
               " workers ran on average";
  made.caption = "Means over equal parts of the time. A worker runs from its release to the commit of its gradient.";
  made.description = made.title + ". " + made.caption;
  return made;
}

}  // namespace rubato::lab::page
