#include "decision_history.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <rubato/sim/options.hpp>
#include <utility>

#include "log_lines.hpp"
#include "number_text.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

using support::user_error;

// Builds a history from one line after another.
class historian {
 public:
  explicit historian(decision_history& history) : history_{history} {}

  // What is wrong with it, as "found ..., expected ..."; then the history is of no use.
  [[nodiscard]] std::string operator()(const log_line& line) {
    if (line.is == log_line::kind::header) return describe(line), "";
    const bool is_policy = line.is == log_line::kind::policy;
    if (std::string wrong = pass_time(is_policy ? line.now : line.event.now); !wrong.empty()) return wrong;
    if (is_policy) return ++history_.policies, describe(line), "";
    return take_in(line.event);
  }

  void finish() {
    for (std::uint32_t w = 0; w < workers_.size(); ++w) stop(w);
    history_.workers = static_cast<std::uint32_t>(workers_.size());
    history_.last = now_;
    if (history_.steps.empty())
      throw user_error{history_.source + ": found no step, expected at least one release and the admission after it"};
    find_overlaps();
  }

 private:
  struct worker_record {
    std::optional<logged_step> step;       // under way
    std::optional<std::size_t> at_server;  // index of a step that is admitted and not committed
    logged_effect admitted;                // of that step, unless it is added to a round:
    std::size_t added = 0;                 // then its index among the effects
  };

  void describe(const log_line& line) {
    history_.policy = line.policy;
    history_.description = line.description;
  }

  [[nodiscard]] std::string pass_time(double to) {
    if (!std::isfinite(to)) return started_ ? "found now = null, expected a time" : "";  // the clock was not read yet
    if (started_ && to < now_)
      return "found now = " + short_text(to) + " after " + short_text(now_) + ", expected times that do not run back";
    now_ = to;
    started_ = true;
    return "";
  }

  [[nodiscard]] std::string take_in(const record& r) {
    using kind = record::kind;
    switch (r.what) {
      case kind::flush:
        return round_ends(r, logged_effect::kind::flush, r.value), "";
      case kind::discard:
        return round_ends(r, logged_effect::kind::discard, 1), "";
      case kind::join:
      case kind::depart:
      case kind::admit:
      case kind::commit:
      case kind::release:
      case kind::cancel:
      case kind::exclude:
        break;
      default:
        return "";  // says nothing of steps
    }
    if (r.worker.index > largest_worker)
      return "found worker " + std::to_string(r.worker.index) + ", expected 0 to " + std::to_string(largest_worker);
    if (r.worker.index >= workers_.size()) workers_.resize(std::size_t{r.worker.index} + 1);
    worker_record& me = workers_[r.worker.index];
    switch (r.what) {
      case kind::join:
        if (released_) ++history_.late_joins;
        return "";
      case kind::depart:
        if (r.why != cause::done) ++gone_;
        return stop(r.worker.index), "";
      case kind::admit:
        return admit(me, r), "";
      case kind::commit:
        return commit(me, r), "";
      case kind::release:
        return release(me, r);
      default:
        if (me.step) me.step->whole = false;
        return "";
    }
  }

  void find_overlaps() {
    constexpr double share = 0.01;
    double busy_until = -std::numeric_limits<double>::infinity();
    for (const logged_step& each : history_.steps) {
      if (each.end < busy_until) ++history_.overlaps;
      busy_until = std::max(busy_until, each.served);
    }
    history_.serves_at_once =
        static_cast<double>(history_.overlaps) > share * static_cast<double>(history_.steps.size());
    if (!history_.serves_at_once) return;
    for (logged_step& each : history_.steps) each.end = each.served;
    std::ranges::stable_sort(history_.steps, {}, &logged_step::end);
  }

  // A step that will not be admitted.
  void stop(std::uint32_t w) {
    worker_record& me = workers_[w];
    if (!me.step) return;
    history_.unfinished.push_back({w, me.step->start, now_});
    history_.effects.push_back({.what = logged_effect::kind::lose, .worker = w});
    me.step.reset();
  }

  [[nodiscard]] std::string release(worker_record& me, const record& r) {
    if (me.step) return "found a release of a worker that is in a step, expected its admission first";
    history_.departures += std::exchange(gone_, 0);  // work goes on, so it was not the end
    if (!std::exchange(released_, true)) history_.first = now_;
    if (r.count > sim::largest_batch) ++history_.too_large;
    const std::uint32_t batch = std::min<std::uint32_t>(r.count, sim::largest_batch);
    me.step = logged_step{.worker = r.worker.index, .start = now_, .batch = batch};
    history_.effects.push_back(
        {.what = logged_effect::kind::release, .worker = r.worker.index, .batch = batch, .factor = r.value});
    return "";
  }

  void admit(worker_record& me, const record& r) {
    me.admitted = {.worker = r.worker.index, .loss = r.loss};
    switch (r.decided) {
      case verdict::apply:
        me.admitted.what = logged_effect::kind::apply;
        me.admitted.factor = r.value;
        break;
      case verdict::accumulate:
        me.admitted.what = logged_effect::kind::accumulate;
        me.admitted.factor = r.value;
        me.admitted.round = r.round;
        break;
      default:
        me.admitted.what = logged_effect::kind::drop;
    }
    if (!me.step) return;  // pushed without a release, say twice
    logged_step& step = *me.step;
    step.end = step.served = now_;
    if (!step.whole) ++history_.not_whole;
    me.at_server = history_.steps.size();
    if (me.admitted.what == logged_effect::kind::accumulate) {  // a flush that includes it may come before its commit
      me.added = history_.effects.size();
      history_.effects.push_back(me.admitted);
    }
    history_.steps.push_back(step);
    me.step.reset();
  }

  void commit(worker_record& me, const record& r) {
    if (!me.at_server) return;
    history_.steps[*me.at_server].served = now_;
    me.at_server.reset();
    const bool added = me.admitted.what == logged_effect::kind::accumulate;
    logged_effect& done = added ? history_.effects[me.added] : history_.effects.emplace_back(me.admitted);
    if (r.decided == verdict::drop || r.because != reason::none) done.what = logged_effect::kind::drop;
  }

  void round_ends(const record& r, logged_effect::kind how, float scale) {
    history_.effects.push_back({.what = how, .factor = scale, .round = r.round});
  }

  decision_history& history_;
  std::vector<worker_record> workers_;
  double now_ = 0;
  bool started_ = false;
  bool released_ = false;
  std::uint64_t gone_ = 0;  // since the last release
};

}  // namespace

decision_history read_decision_history(const std::filesystem::path& file) {
  decision_history history;
  history.source = file.string();
  historian reader{history};
  const log_reading reading = read_log(file, [&](const log_line& line) { return reader(line); });
  if (!reading.problem.empty() && !reading.cut_off) throw user_error{reading.problem};
  if (reading.cut_off)  // whoever wrote it was killed
    history.cut_off = reading.counted ? "line " + std::to_string(reading.lines + 1) + " is cut off and left out"
                                      : "the gzip file ends early: what comes after line " +
                                            std::to_string(reading.lines) + " is left out";
  reader.finish();
  return history;
}

}  // namespace rubato::lab
