#include "watch.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <rubato/io/utf8.hpp>

#include "aligned_text.hpp"
#include "metrics_page.hpp"
#include "number_text.hpp"
#include "stats_report.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

constexpr std::uint32_t most_workers = 65'536;

std::uint32_t worker_index(const std::string& text, const std::string& source) {
  std::uint32_t index = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, wrong] = std::from_chars(text.data(), end, index);
  if (wrong != std::errc{} || rest != end || index >= most_workers)
    throw support::user_error{source + ": found worker " + in_quotes(text) + ", expected an index below " +
                              std::to_string(most_workers)};
  return index;
}

std::string label_of(const metric_sample& of, const char* name) {
  const auto found = of.labels.find(name);
  return found == of.labels.end() ? std::string{} : found->second;
}

// Fit for a terminal.
std::string for_terminal(const std::string& text) { return terminal_text(text, 160); }

// Whoever has gone, or never came.
bool is_here(const std::string& state) {
  for (const char* gone : {"absent", "left", "done", "dead"})
    if (state == gone) return false;
  return true;
}

void add_to_worker(watched_worker& w, std::string_view what, double value) {
  if (what == "late") w.late = value != 0;
  if (what == "lateness_seconds") w.lateness = value;
  if (what == "push_age_seconds") w.push_age = value;
  if (what == "step_seconds") w.step = value;
  if (what == "relative_score") w.relative = value;
  if (what == "individual_score") w.individual = value;
  if (what == "waited_seconds_total") w.waited = value;
}

std::string per_second(double now, double before, double seconds) {
  return seconds > 0 ? decimals((now - before) / seconds, 1) : "-";
}

std::string shares_text(const std::vector<std::pair<std::string, double>>& of, double whole) {
  std::string text;
  for (const auto& [name, count] : of)
    if (count > 0)
      text += (text.empty() ? "" : ", ") + name + " " + short_text(count) +
              (whole > 0 ? " (" + percent(count / whole) + ")" : "");
  return text.empty() ? "none" : text;
}

double all_counts(const std::vector<std::pair<std::string, double>>& of) {
  double all = 0;
  for (const auto& [name, count] : of) all += count;
  return all;
}

// The most overdue first, then who has been silent for longest; those who have gone at the end.
std::vector<watched_worker> by_lateness(std::vector<watched_worker> all) {
  std::stable_sort(all.begin(), all.end(), [](const watched_worker& a, const watched_worker& b) {
    if (a.here != b.here) return a.here;
    return a.lateness != b.lateness ? a.lateness > b.lateness : a.push_age > b.push_age;
  });
  return all;
}

std::string states_text(const watched_job& of) {
  std::map<std::string, double> all;
  for (const watched_worker& w : of.workers) ++all[w.state];
  return shares_text({all.begin(), all.end()}, 0);
}

std::string gradients_text(const watched_job& now, const watched_job* before) {
  return short_text(now.pushed) + " pushed (" +
         per_second(now.pushed, before == nullptr ? 0 : before->pushed,
                    now.now - (before == nullptr ? 0 : before->now)) +
         "/s) = " + short_text(now.applied) + " applied + " + short_text(now.flushed) + " flushed + " +
         short_text(now.dropped) + " dropped + " + short_text(now.parked) + " parked";
}

}  // namespace

watched_job job_of_page(std::string_view page, const std::string& source) {
  watched_job job;
  bool is_ours = false;
  double below = 0, least = 0;
  read_metrics(page, source, [&](const metric_sample& s) {
    if (s.name == "rubato_seconds") job.now = s.value, is_ours = true;
    if (s.name == "rubato_policy_info") job.policy = for_terminal(label_of(s, "policy"));
    if (s.name == "rubato_updates_total") job.updates = s.value;
    if (s.name == "rubato_gradients_applied_total") job.applied = s.value;
    if (s.name == "rubato_gradients_flushed_total") job.flushed = s.value;
    if (s.name == "rubato_gradients_pending" || s.name == "rubato_gradients_in_flight") job.parked += s.value;
    if (s.name == "rubato_gradients_lost_total") {
      job.dropped += s.value;
      job.dropped_for.emplace_back(for_terminal(label_of(s, "reason")), s.value);
    }
    if (s.name == "rubato_decisions_total") job.actions.emplace_back(for_terminal(label_of(s, "action")), s.value);
    if (s.name == "rubato_staleness_bucket") {
      const std::string edge = label_of(s, "le");
      const double most = std::strtod(edge.c_str(), nullptr);
      const std::string range = !std::isfinite(most) ? short_text(least) + "+"
                                : most <= least      ? short_text(most)
                                                     : short_text(least) + "-" + short_text(most);
      job.staleness.emplace_back(range, s.value - below);
      below = s.value;
      least = most + 1;
    }
    const auto worker = s.labels.find("worker");
    if (worker == s.labels.end()) return;
    const std::uint32_t index = worker_index(worker->second, source);
    while (job.workers.size() <= index)
      job.workers.push_back({.index = static_cast<std::uint32_t>(job.workers.size()), .state = "absent"});
    watched_worker& w = job.workers[index];
    if (s.name == "rubato_worker_state") {
      w.state = for_terminal(label_of(s, "state"));
      w.here = is_here(w.state);
    }
    if (s.name == "rubato_gradients_pushed_total") w.pushed = s.value, job.pushed += s.value;
    if (s.name == "rubato_gradients_dropped_total") w.dropped += s.value;
    if (constexpr std::string_view prefix = "rubato_worker_"; s.name.starts_with(prefix))
      add_to_worker(w, std::string_view{s.name}.substr(prefix.size()), s.value);
  });
  if (!is_ours)
    throw support::user_error{source + ": no rubato_seconds in it, expected the metrics of a rubato server"};
  return job;
}

std::string view_of(const watched_job& now, const watched_job* before) {
  const double seconds = now.now - (before == nullptr ? 0 : before->now);
  std::string text = decimals(now.now, 1) + " s  " + now.policy + "\n";
  text += "gradients  " + gradients_text(now, before) + "\n";
  text += "updates    " + short_text(now.updates) + " (" +
          per_second(now.updates, before == nullptr ? 0 : before->updates, seconds) + "/s)\n";
  if (now.dropped > 0) text += "dropped    " + shares_text(now.dropped_for, now.dropped) + "\n";
  text += "actions    " + shares_text(now.actions, now.pushed) + "\n";
  text += "staleness  " + shares_text(now.staleness, all_counts(now.staleness)) + "\n";
  text += "workers    " + states_text(now) + "\n\n";
  const auto time = [](double value) { return decimals(value, 3); };
  std::vector<std::vector<std::string>> rows{
      {"worker", "state", "late by", "last push", "step", "waited", "relative", "individual", "pushed", "dropped", ""}};
  for (const watched_worker& w : by_lateness(now.workers)) {
    if (w.state == "absent") {
      rows.push_back({std::to_string(w.index), "absent"});
      continue;
    }
    rows.push_back({std::to_string(w.index), w.state, w.here ? time(w.lateness) : "-", time(w.push_age), time(w.step),
                    time(w.waited), w.relative > 0 ? decimals(w.relative, 2) : "-",
                    w.individual > 0 ? decimals(w.individual, 2) : "-", short_text(w.pushed),
                    short_text(w.dropped), w.late ? "joined late" : ""});
  }
  return text + aligned_text(rows);
}

std::string line_of(const watched_job& now, const watched_job* before) {
  std::string text =
      decimals(now.now, 1) + " s: " + gradients_text(now, before) + "; workers: " + states_text(now);
  const auto sorted = by_lateness(now.workers);
  if (!sorted.empty() && sorted.front().here && sorted.front().lateness > 0)
    text += "; worker " + std::to_string(sorted.front().index) + " is late by " +
            decimals(sorted.front().lateness, 3) + " s";
  return text;
}

std::string redrawn(std::string_view text, std::size_t rows, std::size_t columns) {
  std::string drawn = "\x1b[H";
  for (std::size_t row = 0; row < rows && !text.empty(); ++row) {
    const std::string_view line = text.substr(0, text.find('\n'));
    drawn += terminal_text(line, columns);
    drawn += "\x1b[K\n";
    text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
  }
  return drawn + "\x1b[J";
}

}  // namespace rubato::lab
