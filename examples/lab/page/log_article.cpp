// What a page says about a decision log: the three answers.
#include "log_article.hpp"

#include <algorithm>
#include <cmath>

#include "../number_text.hpp"
#include "../read_stats.hpp"
#include "../stats_report.hpp"
#include "support/user_error.hpp"

namespace rubato::lab::page {
namespace {

constexpr std::size_t most_listed = 24;
constexpr double two_sided = 1.96;

[[nodiscard]] std::string worker_name(std::uint32_t worker) { return "worker " + std::to_string(worker); }
[[nodiscard]] std::string count_text(std::uint64_t count) { return tick_text(static_cast<double>(count)); }

[[nodiscard]] std::string slow_title(const log_story& story) {
  std::vector<std::string> names;
  for (const slow_worker& each : story.stats.slow())
    names.push_back(worker_name(each.worker) + " (" + two_decimals(each.times) + "\xC3\x97)");
  if (names.empty()) return "Who is slow? Nobody stands out";
  return "Who is slow? " + enumeration(names);
}

[[nodiscard]] std::string missing_text(const missing_worker& of) {
  const std::string who = worker_name(of.worker);
  switch (of.because) {
    case missing_worker::why::died: return who + " died at " + sensible(of.since);
    case missing_worker::why::left: return who + " left at " + sensible(of.since) + " while others went on";
    case missing_worker::why::silent:
      return who + " is silent since " + sensible(of.since) + ": " + sensible(of.times) + " times as long as a step";
    case missing_worker::why::never_came: break;
  }
  return who + " never came";
}

[[nodiscard]] std::string list_of(const std::vector<std::string>& texts) {
  if (texts.empty()) return {};
  std::string items;
  for (std::size_t i = 0; i < std::min(texts.size(), most_listed); ++i)
    items += element("li", escaped(texts[i])) + "\n";
  if (texts.size() > most_listed) items += element("li", std::to_string(texts.size() - most_listed) + " more") + "\n";
  return element("ul", "\n" + items) + "\n";
}

// Those who are missing, and those who were.
[[nodiscard]] std::string missing_part(const log_story& story) {
  std::vector<std::string> missing, came;
  for (const missing_worker& each : story.stats.missing()) missing.push_back(missing_text(each));
  const auto& workers = story.stats.workers();
  for (std::uint32_t w = 0; w < workers.size(); ++w) {
    const worker_stats& one = workers[w];
    if (one.returned)
      came.push_back(worker_name(w) + " came back at " + sensible(*one.returned) +
                     (one.departed && *one.departed <= *one.returned ? ", gone since " + sensible(*one.departed) : ""));
    else if (one.late)
      came.push_back(worker_name(w) + " came late, at " + sensible(one.joined));
  }
  const std::string title = missing.empty() ? "Nobody, at the end of this log"
                                            : std::to_string(missing.size()) +
                                                  (missing.size() == 1 ? " worker" : " workers");
  return element("h3", "Who is missing? " + title) + "\n" + list_of(missing) + list_of(came);
}

[[nodiscard]] table worker_table(const log_story& story) {
  table all{"Workers; times are the log's, a step goes from its release to the arrival of its gradient",
            {"worker", "is", "step", "\xC2\xB1 95 %", "\xC3\x97 others", "steps", "waited", "pushed", "applied", "dropped", "staleness"},
            {}};
  const std::vector<double> relative = story.stats.relative();
  const auto& workers = story.stats.workers();
  for (std::size_t w = 0; w < workers.size() && all.rows.size() < 1'000; ++w) {
    const worker_stats& one = workers[w];
    if (one.is == whereabouts::unseen) continue;
    const double pushed = static_cast<double>(one.gradients.pushed);
    const bool steps = one.compute.count > 0;
    const double times = w < relative.size() ? relative[w] : 0;
    all.rows.push_back({std::to_string(w), std::string{name(one.is)}, steps ? sensible(one.compute.mean) : "-",
                        one.compute.count > 1 ? sensible(two_sided * one.compute.standard_error()) : "-",
                        times > 0 ? two_decimals(times) : "-", count_text(one.compute.count),
                        sensible(one.wait.total()), count_text(one.gradients.pushed),
                        count_text(one.gradients.applied + one.gradients.flushed),
                        count_text(one.gradients.dropped()), pushed > 0 ? sensible(one.staleness.sum / pushed) : "-"});
  }
  return all;
}

[[nodiscard]] std::string log_setting(const log_story& story) {
  const log_stats& stats = story.stats;
  std::string policies;
  for (const policy_actions& each : stats.policies())
    policies += (policies.empty() ? "" : "; then, from " + sensible(each.from) + ", ") + shortened(each.policy, 160);
  return element("dl", term("Policy", policies) + term("Workers seen", std::to_string(stats.seen())) +
                           term("Time", sensible(stats.begin()) + " to " + sensible(stats.now()) +
                                            ", in the unit of the host's clock") +
                           term("Pushes", count_text(stats.gradients().pushed) + ", " + sensible(stats.push_rate()) +
                                              " per unit of time") +
                           term("Updates", count_text(stats.updates())) + term("File", story.name)) +
         "\n";
}

}  // namespace

log_story read_story(const std::string& file) {
  log_story story{.name = file};
  story.reading = read_stats(file, story.stats, [&](const log_line& line) {
    if (line.is == log_line::kind::record) story.timeline.add(line.event);
    return std::string{};
  });
  story.timeline.finish();
  if (story.stats.gradients().pushed == 0)
    throw support::user_error{file + ": found no push, expected at least one" +
                              (story.reading.problem.empty() ? "" : "; " + story.reading.problem)};
  return story;
}

figure slow_figure(const log_story& story, const std::string& id) {
  const auto& workers = story.stats.workers();
  const auto slow = story.stats.slow();
  std::vector<std::uint32_t> order;
  for (std::uint32_t w = 0; w < workers.size(); ++w)
    if (workers[w].compute.count > 0) order.push_back(w);
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
    return workers[a].compute.mean > workers[b].compute.mean;
  });
  const std::size_t left_out = order.size() > most_listed ? order.size() - most_listed : 0;
  order.resize(order.size() - left_out);
  figure made{.id = id + "-slow", .title = slow_title(story)};
  std::vector<interval_row> bars;
  std::vector<double> values, highs;
  for (const std::uint32_t w : order) {
    const duration_stats& steps = workers[w].compute;
    const double half = steps.count > 1 ? two_sided * steps.standard_error() : std::nan("");
    const bool is_slow = std::ranges::find(slow, w, &slow_worker::worker) != slow.end();
    const estimate of{steps.mean, steps.mean - half, steps.mean + half};
    bars.push_back({worker_name(w) + (is_slow ? ", slow" : ""),
                    sensible(of.value) + (steps.count > 1 ? " " + interval(of, sensible) : "") + ", " +
                        count_text(steps.count) + (steps.count == 1 ? " step" : " steps"),
                    of.value, of.low, of.high, is_slow ? tone::bad : tone::plain});
    values.push_back(of.value), highs.push_back(of.high);
  }
  made.caption = "Mean time of a step, from its release to the arrival of its gradient, with its 95 % interval; the "
                 "slowest first" +
                 (left_out > 0 ? "; " + std::to_string(left_out) + " quicker workers are left out" : std::string{}) + ".";
  made.description = made.title + ". " + made.caption;
  made.panels.push_back(rows_panel(bars, axis_for(values, highs), true));
  made.data = worker_table(story);
  return made;
}

figure fate_figure(const log_story& story, const std::string& id) {
  const gradient_counts& all = story.stats.gradients();
  struct fate {
    std::string name;
    std::uint64_t count;
    tone is;
  };
  std::vector<fate> fates{{"applied one by one", all.applied, tone::good},
                          {"applied in a round", all.flushed, tone::good},
                          {"in a round that is open", all.in_round, tone::plain},
                          {"at the server", all.in_hand, tone::plain}};
  for (std::size_t why = 0; why < all.dropped_for.size(); ++why)
    fates.push_back({"dropped: " + std::string{name(static_cast<reason>(why))}, all.dropped_for[why], tone::bad});
  std::erase_if(fates, [](const fate& each) { return each.count == 0; });
  figure made{.id = id + "-fates", .data = {"Gradients", {"what became of them", "gradients", "share"}, {}}};
  std::vector<interval_row> bars;
  for (const fate& each : fates) {
    const std::string share = percent(each.count, all.pushed);
    bars.push_back({each.name, count_text(each.count) + ", " + share,
                    100 * static_cast<double>(each.count) / static_cast<double>(all.pushed), std::nan(""), std::nan(""),
                    each.is});
    made.data.rows.push_back({each.name, count_text(each.count), share});
  }
  const std::uint64_t dropped = all.dropped();
  made.title = "What happened to the gradients? " +
               (dropped == 0 ? "None of " + count_text(all.pushed) + " was dropped"
                             : count_text(dropped) + " of " + count_text(all.pushed) + " were dropped, " +
                                   percent(dropped, all.pushed));
  made.caption = "Share of all gradients that arrived; each of them is counted once. Admitted with another weight than 1: " +
                 count_text(all.scaled) + ".";
  made.description = made.title + ".";
  made.panels.push_back(rows_panel(bars, {0, 100}, true, "%"));
  return made;
}

article article_about(const log_story& story, const std::string& id) {
  article made{.id = id, .heading = "Log of a run: " + slow_title(story).substr(std::string_view{"Who is slow? "}.size())};
  if (story.stats.slow().empty()) made.heading = "Log of a run: nobody stands out as slow";
  else made.heading += story.stats.slow().size() == 1 ? " is slow" : " are slow";
  if (const std::uint64_t dropped = story.stats.gradients().dropped(); dropped > 0)
    made.heading += ", " + count_text(dropped) + " gradients dropped";
  if (!story.reading.problem.empty())
    made.add(element("p", "class=\"missing\"",
                     escaped("Not read to its end: " + story.reading.problem +
                             ". Left out: " + unread_text(story.reading) + ".")) +
             "\n");
  if (story.stats.midway()) made.add(element("p", "class=\"missing\"", midway_text(story.stats)) + "\n");
  made.add(log_setting(story));
  made.add(slow_figure(story, id));
  made.add(missing_part(story));
  made.add(fate_figure(story, id));
  made.add(histogram_figure(story, id));
  made.add(waiting_figure(story, id));
  made.add(stale_figure(story, id));
  made.add(strip_figure(story, id));
  return made;
}

}  // namespace rubato::lab::page
