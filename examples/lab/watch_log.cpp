#include "watch_log.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <rubato/core/roster.hpp>
#include <string_view>
#include <system_error>

#include "log_draft.hpp"
#include "read_stats.hpp"
#include "stats_report.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

namespace fs = std::filesystem;

// In the words of the metrics.
worker_state state_of(whereabouts is) {
  switch (is) {
    case whereabouts::unseen:
      return worker_state::absent;
    case whereabouts::waiting:
      return worker_state::parked;
    case whereabouts::computing:
      return worker_state::running;
    case whereabouts::pushing:
      return worker_state::admitted;
    case whereabouts::left:
      return worker_state::left;
    case whereabouts::finished:
      return worker_state::done;
    case whereabouts::died:
      return worker_state::dead;
  }
  return worker_state::absent;
}

}  // namespace

log_watcher::log_watcher(const fs::path& file) : file_{file} {
  std::error_code none;
  const fs::path draft = draft_of(file);
  const bool is_there = fs::exists(file, none);
  // A newer one than the file is of a run that goes on: the file is that of the run before.
  draft_ = !is_there || (!draft.empty() && fs::last_write_time(draft, none) > fs::last_write_time(file, none));
  if (draft_) file_ = draft;
  if (file_.empty()) throw support::user_error{file.string() + ": no such file, and no draft of it"};
  bytes_.emplace(file_);
}

void log_watcher::look() {
  const auto fail = [this](const std::string& what) {
    throw support::user_error{file_.string() + ':' + std::to_string(line_) + ": " + what};
  };
  std::array<char, 1 << 16> piece;
  while (const std::size_t got = bytes_->read(piece)) {
    partial_.append(piece.data(), got);
    std::size_t begin = 0;
    for (std::size_t end; (end = partial_.find('\n', begin)) != partial_.npos; begin = end + 1) {
      ++line_;
      log_line line;
      if (std::string wrong = read_log_line(std::string_view{partial_}.substr(begin, end - begin), line);
          !wrong.empty())
        fail(wrong);
      if ((line_ == 1) != (line.is == log_line::kind::header))
        fail("expected a header in the first line, and only there");
      if (line.is != log_line::kind::record) policy_ = line.policy;
      if (std::string wrong = take_in(stats_, line); !wrong.empty()) fail(wrong);
    }
    partial_.erase(0, begin);
    if (partial_.size() > longest_line) ++line_, fail("a line of more than " + std::to_string(longest_line) + " bytes");
  }
}

bool log_watcher::complete() const noexcept {
  std::error_code none;
  return draft_ && !fs::exists(file_, none);
}

watched_job log_watcher::job() const {
  watched_job job;
  job.policy = terminal_text(policy_, 160);
  job.now = stats_.now();
  job.updates = static_cast<double>(stats_.updates());
  const gradient_counts& all = stats_.gradients();
  job.pushed = static_cast<double>(all.pushed);
  job.applied = static_cast<double>(all.applied);
  job.flushed = static_cast<double>(all.flushed);
  job.dropped = static_cast<double>(all.dropped());
  job.parked = static_cast<double>(all.parked());
  for (std::size_t r = 0; r < all.dropped_for.size(); ++r)
    if (all.dropped_for[r] > 0)
      job.dropped_for.emplace_back(name(static_cast<reason>(r)), static_cast<double>(all.dropped_for[r]));
  for (std::size_t b = 0; b < staleness_histogram::buckets; ++b)
    job.staleness.emplace_back(staleness_range(b, "+"), static_cast<double>(stats_.staleness().counts[b]));
  policy_actions sum;
  for (const policy_actions& each : stats_.policies()) {
    sum.pushes += each.pushes, sum.apply += each.apply, sum.accumulate += each.accumulate, sum.drop += each.drop;
    sum.at_once += each.at_once, sum.releases += each.releases, sum.flushes += each.flushes;
    sum.discards += each.discards, sum.cancels += each.cancels, sum.excludes += each.excludes;
    sum.readmits += each.readmits;
  }
  const auto action = [&job](const char* what, std::uint64_t times) {
    job.actions.emplace_back(what, static_cast<double>(times));
  };
  action("apply", sum.apply), action("accumulate", sum.accumulate), action("drop", sum.drop);
  action("release", sum.releases), action("at once", sum.at_once), action("flush", sum.flushes);
  action("discard", sum.discards), action("cancel", sum.cancels), action("exclude", sum.excludes);
  action("readmit", sum.readmits), action("change_policy", stats_.policy_changes());

  double best = 0;
  for (const worker_stats& w : stats_.workers())
    if (w.compute.count > 0 && w.is != whereabouts::died && w.is != whereabouts::left)
      best = best > 0 ? std::min(best, w.compute.recent) : w.compute.recent;
  for (std::uint32_t i = 0; i < stats_.workers().size(); ++i) {
    const worker_stats& w = stats_.workers()[i];
    watched_worker to{.index = i, .state = std::string{name(state_of(w.is))}};
    if (w.is != whereabouts::unseen) {
      const double since = job.now - w.since;
      to.here = !roster::is_gone(state_of(w.is));
      to.late = w.late;
      if (w.is == whereabouts::computing && w.compute.count > 0) to.lateness = std::max(since - w.compute.recent, 0.0);
      to.push_age = job.now - (w.gradients.pushed > 0 ? w.last_push : w.joined);
      to.step = w.compute.recent;
      if (w.compute.count > 0) to.relative = std::min(best / w.compute.recent, 1.0);
      to.waited = w.wait.total() + (w.is == whereabouts::waiting ? since : 0.0);
      to.pushed = static_cast<double>(w.gradients.pushed);
      to.dropped = static_cast<double>(w.gradients.dropped());
    }
    job.workers.push_back(std::move(to));
  }
  return job;
}

}  // namespace rubato::lab
