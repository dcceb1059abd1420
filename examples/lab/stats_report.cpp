#include "stats_report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <rubato/io/utf8.hpp>
#include <vector>

#include "number_text.hpp"
#include "read_stats.hpp"

namespace rubato::lab {
namespace {

using nlohmann::json;

constexpr std::size_t listed = 4;  // workers of one kind, on the screen

[[nodiscard]] std::string worker_text(std::uint32_t w) { return "worker " + std::to_string(w); }
[[nodiscard]] std::string count_text(std::uint64_t n, const std::string& what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : what.ends_with("sh") ? "es" : "s");
}

// "stale 10, non_finite 2", most first.
template <class Counts>
[[nodiscard]] std::string by_reason(const Counts& counts) {
  std::vector<std::size_t> order;
  for (std::size_t why = 0; why < counts.size(); ++why)
    if (counts[why] > 0) order.push_back(why);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return counts[a] > counts[b]; });
  std::string text;
  for (const std::size_t why : order)
    text +=
        (text.empty() ? "" : ", ") + std::string{name(static_cast<reason>(why))} + " " + std::to_string(counts[why]);
  return text;
}

[[nodiscard]] double mean_staleness(const staleness_stats& s, std::uint64_t pushes) {
  return pushes == 0 ? 0 : s.sum / static_cast<double>(pushes);
}

// Lines of two columns, each cut to the screen.
class page {
 public:
  void head(const std::string& text) { put(text); }
  void line(const std::string& key, const std::string& value) { put(front(key) + value); }
  /// A list on one line, as much as there is room for; ", and N more".
  void list(const std::string& key, const std::vector<std::string>& items) {
    if (items.empty()) return;
    const std::size_t taken = front(key).size();
    std::string text;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const std::string more = ", and " + std::to_string(items.size() - i) + " more";
      const std::string next = (text.empty() ? "" : ", ") + items[i];
      const std::size_t room = i + 1 < items.size() ? more.size() : 0;
      if (taken + text.size() + next.size() + room > stats_columns && i > 0) {
        text += more;
        break;
      }
      text += next;
    }
    line(key, text);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  [[nodiscard]] static std::string front(const std::string& key) {
    return "  " + key + std::string(key.size() < 10 ? 11 - key.size() : 1, ' ');
  }
  void put(const std::string& text) { text_ += terminal_text(text, stats_columns) + '\n'; }
  std::string text_;
};

void put_slow(page& to, const log_stats& stats) {
  to.head("Who is slow? (mean time of a step, in medians of the others)");
  const std::vector<slow_worker> slow = stats.slow();
  for (std::size_t i = 0; i < std::min(slow.size(), listed); ++i) {
    const duration_stats& steps = stats.workers()[slow[i].worker].compute;
    to.line(worker_text(slow[i].worker), decimals(slow[i].times, 2) + " times: " + short_text(steps.mean) + " in " +
                                             count_text(steps.count, "step") + ", longest " +
                                             short_text(steps.longest));
  }
  if (slow.size() > listed)
    to.line("", "and " + std::to_string(slow.size() - listed) + " more, at least " + decimals(slow.back().times, 2) +
                    " times");
  std::vector<double> others = stats.relative();
  for (const slow_worker& each : slow) others[each.worker] = 0;
  std::erase(others, 0.0);
  const std::string who = slow.empty() ? "nobody" : "the others";
  if (others.empty()) return to.line(who, slow.empty() ? "with steps to compare" : "none to compare");
  const auto [low, high] = std::minmax_element(others.begin(), others.end());
  to.line(who, (slow.empty() ? "clearly: " : "") + decimals(*low, 2) + " to " + decimals(*high, 2) + " times");
}

[[nodiscard]] std::string what_is_missing(const missing_worker& gone, const log_stats& stats) {
  const worker_stats& w = stats.workers()[gone.worker];
  using why = missing_worker::why;
  if (gone.because == why::never_came) return "never came";
  const std::string since = short_text(gone.since);
  std::string text = gone.because == why::died ? "died at " + since
                     : gone.because == why::left
                         ? "left at " + since
                         : "silent since " + since + ", " + decimals(gone.times, 1) + " of its steps";
  text += " (" + count_text(w.gradients.pushed, "push");
  if (w.lost_steps > 0) text += ", " + count_text(w.lost_steps, "step") + " lost";
  return text + ")";
}

void put_missing(page& to, const log_stats& stats) {
  const std::vector<missing_worker> missing = stats.missing();
  to.head("Who is missing? (at " + short_text(stats.now()) + ")");
  for (std::size_t i = 0; i < std::min(missing.size(), listed); ++i)
    to.line(worker_text(missing[i].worker), what_is_missing(missing[i], stats));
  if (missing.size() > listed) {
    std::array<std::size_t, 4> counts{};
    for (std::size_t i = listed; i < missing.size(); ++i) ++counts[static_cast<std::size_t>(missing[i].because)];
    std::string text = "and " + std::to_string(missing.size() - listed) + " more:";
    for (std::size_t why = 0; why < counts.size(); ++why)
      if (counts[why] > 0)
        text += " " + std::to_string(counts[why]) + " " + std::string{name(static_cast<missing_worker::why>(why))};
    to.line("", text);
  }
  if (missing.empty()) to.line("nobody", "of " + count_text(stats.seen(), "worker"));
  std::vector<std::string> late, returned, finished, excluded;
  for (std::uint32_t i = 0; i < stats.workers().size(); ++i) {
    const worker_stats& w = stats.workers()[i];
    if (w.late) late.push_back(std::to_string(i) + " at " + short_text(w.joined));
    if (w.returned)
      returned.push_back(std::to_string(i) + " at " + short_text(*w.returned) +
                         (w.lives > 2 ? " (" + std::to_string(w.lives - 1) + " times)" : ""));
    if (w.is == whereabouts::finished) finished.push_back(std::to_string(i));
    if (w.excluded) excluded.push_back(std::to_string(i));
  }
  to.list("came late", late);
  to.list("came back", returned);
  to.list("finished", finished);
  to.list("excluded", excluded);
}

void put_gradients(page& to, const log_stats& stats) {
  const gradient_counts& all = stats.gradients();
  const auto share = [&](std::uint64_t n) { return std::to_string(n) + " (" + percent(n, all.pushed) + ")"; };
  to.head("What happened to my gradients?");
  to.line("pushed", std::to_string(all.pushed) + ", " + short_text(stats.push_rate()) + " in a unit of time; all are " +
                        (all.adds_up() ? "accounted for" : "NOT accounted for"));
  to.line("applied", share(all.applied) + ", and flushed in rounds " + share(all.flushed));
  to.line("dropped", share(all.dropped()) + (all.dropped() > 0 ? ": " + by_reason(all.dropped_for) : ""));
  std::vector<std::uint32_t> losers;
  for (std::uint32_t w = 0; w < stats.workers().size(); ++w)
    if (stats.workers()[w].gradients.dropped() > 0) losers.push_back(w);
  const auto lost = [&](std::uint32_t w) {
    const gradient_counts& of = stats.workers()[w].gradients;
    return static_cast<double>(of.dropped()) / static_cast<double>(of.pushed);
  };
  std::stable_sort(losers.begin(), losers.end(), [&](std::uint32_t a, std::uint32_t b) { return lost(a) > lost(b); });
  std::vector<std::string> worst;
  for (const std::uint32_t w : losers) {
    const gradient_counts& of = stats.workers()[w].gradients;
    worst.push_back(worker_text(w) + ": " + std::to_string(of.dropped()) + " of " + std::to_string(of.pushed));
  }
  to.list("  by worker", worst);
  to.line("parked",
          share(all.parked()) + (all.parked() > 0 ? ": " + std::to_string(all.in_round) + " in an open round, " +
                                                        std::to_string(all.in_hand) + " at the server"
                                                  : ""));
  if (all.scaled > 0) to.line("scaled", share(all.scaled) + " had a weight other than 1");
  if (stats.from_before() > 0)
    to.line("and", count_text(stats.from_before(), "flushed gradient") + " from before the log began");
  if (stats.refused() > 0)
    to.line("refused", count_text(stats.refused(), "call") + ": " + by_reason(stats.refused_for()));
}

void put_staleness(page& to, const log_stats& stats) {
  const staleness_stats& s = stats.staleness();
  const std::uint64_t pushes = stats.gradients().pushed;
  to.head("How stale were they? (mean " + decimals(mean_staleness(s, pushes), 2) + ", largest " +
          std::to_string(s.largest) + ")");
  std::vector<std::string> shares;
  for (std::size_t b = 0; b < s.counts.size(); ++b) {
    if (s.counts[b] == 0) continue;
    shares.push_back(staleness_range(b, " or more") + ": " + percent(s.counts[b], pushes));
  }
  to.list("staleness", shares);
  std::vector<std::uint32_t> order;
  for (std::uint32_t w = 0; w < stats.workers().size(); ++w)
    if (stats.workers()[w].wait.total() > 0) order.push_back(w);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return stats.workers()[a].wait.total() > stats.workers()[b].wait.total();
  });
  std::vector<std::string> waits;
  for (const std::uint32_t w : order)
    waits.push_back(worker_text(w) + ": " + short_text(stats.workers()[w].wait.total()));
  if (!waits.empty()) to.head("Who waited for others? (time in all, between steps)");
  to.list("", waits);
}

void put_policy(page& to, const log_stats& stats) {
  if (stats.policies().empty()) return;
  const policy_actions& p = stats.policies().back();
  to.head("What did the policy do?" +
          (stats.policy_changes() > 0 ? " (the last of " + std::to_string(stats.policy_changes() + 1) + ")" : ""));
  to.line("from " + short_text(p.from), terminal_text(p.policy, stats_columns - 14));
  to.line("", count_text(p.pushes, "push") + ": applied " + percent(p.apply, p.pushes) + ", to a round " +
                  percent(p.accumulate, p.pushes) + ", dropped " + percent(p.drop, p.pushes));
  to.line("", "on at once after " + percent(p.at_once, p.pushes) + ", the others waited; " +
                  count_text(p.flushes, "flush"));
  std::string rest;
  const auto add = [&](std::uint64_t n, const char* what) {
    if (n > 0) rest += (rest.empty() ? "" : ", ") + std::to_string(n) + " " + what;
  };
  add(p.with_batch, "with a batch size");
  add(p.with_rate, "with another rate");
  add(p.discards, "discarded rounds");
  add(p.cancels, "cancelled");
  add(p.excludes, "excluded");
  add(p.readmits, "readmitted");
  if (!rest.empty()) to.line("", rest);
  if (const std::string adjusted = by_reason(p.adjusted_for); !adjusted.empty()) to.line("", "corrected: " + adjusted);
}

template <class Counts>
[[nodiscard]] json reasons_json(const Counts& counts) {
  json all = json::object();
  for (std::size_t why = 0; why < counts.size(); ++why)
    if (counts[why] > 0) all[std::string{name(static_cast<reason>(why))}] = counts[why];
  return all;
}

[[nodiscard]] json gradients_json(const gradient_counts& g) {
  return {{"pushed", g.pushed},     {"applied", g.applied},
          {"flushed", g.flushed},   {"dropped", g.dropped()},
          {"in_round", g.in_round}, {"at_server", g.in_hand},
          {"scaled", g.scaled},     {"dropped_for", reasons_json(g.dropped_for)}};
}

[[nodiscard]] json staleness_json(const staleness_stats& s, std::uint64_t pushes) {
  json histogram = json::array();
  for (std::size_t b = 0; b < s.counts.size(); ++b)
    if (s.counts[b] > 0) histogram.push_back({{"from", staleness_histogram::lower_edge(b)}, {"count", s.counts[b]}});
  return {{"mean", mean_staleness(s, pushes)}, {"largest", s.largest}, {"histogram", histogram}};
}

[[nodiscard]] json durations_json(const duration_stats& d) {
  return {{"count", d.count}, {"mean", d.mean}, {"total", d.total()}, {"longest", d.longest}, {"recent", d.recent}};
}

[[nodiscard]] json worker_json(std::uint32_t index, const worker_stats& w, double relative) {
  json to = {{"worker", index}, {"is", name(w.is)}};
  if (w.is == whereabouts::unseen) return to;
  to.update({{"since", w.since},
             {"joined", w.joined},
             {"late", w.late},
             {"lives", w.lives},
             {"incarnation", w.incarnation},
             {"excluded", w.excluded},
             {"last_event", w.last_event},
             {"releases", w.releases},
             {"lost_steps", w.lost_steps},
             {"refused", w.refused},
             {"relative", relative},
             {"compute", durations_json(w.compute)},
             {"wait", durations_json(w.wait)},
             {"service", durations_json(w.service)},
             {"gradients", gradients_json(w.gradients)},
             {"staleness", staleness_json(w.staleness, w.gradients.pushed)}});
  if (w.gradients.pushed > 0) to["last_push"] = w.last_push;
  if (w.departed) to["departed"] = *w.departed;
  if (w.returned) to["returned"] = *w.returned;
  return to;
}

[[nodiscard]] json policy_json(const policy_actions& p) {
  return {{"policy", p.policy},
          {"from", p.from},
          {"pushes", p.pushes},
          {"apply", p.apply},
          {"accumulate", p.accumulate},
          {"drop", p.drop},
          {"scaled", p.scaled},
          {"at_once", p.at_once},
          {"releases", p.releases},
          {"with_batch", p.with_batch},
          {"with_rate", p.with_rate},
          {"flushes", p.flushes},
          {"discards", p.discards},
          {"cancels", p.cancels},
          {"excludes", p.excludes},
          {"readmits", p.readmits},
          {"adjusted_for", reasons_json(p.adjusted_for)}};
}

}  // namespace

std::string terminal_text(std::string_view text, std::size_t most) {
  constexpr std::string_view hex = "0123456789abcdef";
  std::string out;
  std::size_t columns = 0, end = 0;  // `end` of what stays if more comes than there is room for
  while (!text.empty()) {
    const std::size_t length = plain_length(text);
    const std::size_t width = length == 0 ? 4 : 1;
    if (columns + width > most) return out.substr(0, end) + "...";
    if (length == 0) {
      const auto byte = static_cast<std::uint8_t>(text[0]);
      out += {'\\', 'x', hex[byte / 16U], hex[byte % 16U]};
    } else {
      out += text.substr(0, length);
    }
    columns += width;
    if (columns + 3 <= most) end = out.size();
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::string midway_text(const log_stats& stats) {
  return "Begins in the middle of a run" +
         (stats.earlier() > 0 ? ", after " + count_text(stats.earlier(), "record") + "." : std::string{"."});
}

std::string stats_text(std::string_view log, const log_stats& stats, const log_reading& reading) {
  page to;
  to.head(terminal_text(log, 36) + ": " + count_text(stats.gradients().pushed, "push") + " of " +
          count_text(stats.seen(), "worker") + ", time " + short_text(stats.begin()) + " to " +
          short_text(stats.now()));
  if (!reading.problem.empty())
    to.head("NOT THE WHOLE LOG: " + count_text(reading.lines, "sound line") + ", " + unread_text(reading) +
            " not read");
  if (stats.midway()) to.head(midway_text(stats));
  put_slow(to, stats);
  put_missing(to, stats);
  put_gradients(to, stats);
  put_staleness(to, stats);
  put_policy(to, stats);
  return to.text();
}

json stats_json(std::string_view log, const log_stats& stats, const log_reading& reading) {
  json to = {{"format", "rubato.stats"},
             {"version", 1},
             {"log", log},
             {"lines", reading.lines},
             {"unread", reading.unread},
             {"begin", stats.begin()},
             {"end", stats.now()},
             {"pushes_per_time", stats.push_rate()},
             {"updates", stats.updates()},
             {"refused", stats.refused()},
             {"refused_for", reasons_json(stats.refused_for())},
             {"midway", stats.midway()},
             {"earlier", stats.earlier()},
             {"flushed_from_before", stats.from_before()},
             {"policy_changes", stats.policy_changes()},
             {"gradients", gradients_json(stats.gradients())},
             {"staleness", staleness_json(stats.staleness(), stats.gradients().pushed)},
             {"slow", json::array()},
             {"missing", json::array()},
             {"policies", json::array()},
             {"workers", json::array()}};
  if (!reading.problem.empty()) to["problem"] = reading.problem;
  for (const slow_worker& each : stats.slow()) to["slow"].push_back({{"worker", each.worker}, {"times", each.times}});
  for (const missing_worker& each : stats.missing()) {
    json one = {{"worker", each.worker}, {"because", name(each.because)}};
    if (each.because != missing_worker::why::never_came) one["since"] = each.since;
    if (each.because == missing_worker::why::silent) one["times"] = each.times;
    to["missing"].push_back(std::move(one));
  }
  for (const policy_actions& each : stats.policies()) to["policies"].push_back(policy_json(each));
  const std::vector<double> relative = stats.relative();
  for (std::uint32_t w = 0; w < stats.workers().size(); ++w)
    to["workers"].push_back(worker_json(w, stats.workers()[w], relative[w]));
  return to;
}

}  // namespace rubato::lab
