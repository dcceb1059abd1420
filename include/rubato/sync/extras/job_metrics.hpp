#ifndef RUBATO_SYNC_EXTRAS_JOB_METRICS_HPP
#define RUBATO_SYNC_EXTRAS_JOB_METRICS_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "../../core/record.hpp"
#include "../../core/roster.hpp"
#include "../observer.hpp"
#include "scores.hpp"

namespace rubato::inline RUBATO_ABI {

/// What a controller has done to gradients and workers, as a row of counters has it.
enum class job_action : std::uint8_t {
  apply, accumulate, drop,               ///< verdicts on gradients that came
  release,                               ///< of a worker
  hold,                                  ///< a release that its worker had to wait for: one of `release`, too
  flush, discard,                        ///< of rounds
  cancel, exclude, readmit, adjust, refuse, abandon, join, depart, change_policy,
  count_                                 ///< number of actions
};

/// The action as it appears in metrics.
[[nodiscard]] constexpr std::string_view name(job_action what) noexcept {
  constexpr std::array<std::string_view, static_cast<std::size_t>(job_action::count_)> names{
      "apply",   "accumulate", "drop",   "release", "hold",    "flush", "discard", "cancel",
      "exclude", "readmit",    "adjust", "refuse",  "abandon", "join",  "depart",  "change_policy"};
  return what < job_action::count_ ? names[static_cast<std::size_t>(what)] : "invalid";
}

/// Observer that keeps what a page of metrics says: who is slow, who is missing, what became of the gradients.
///
///     controller<ssp, reply, job_metrics> sync{{.capacity = 8}, {}, job_metrics{8}};
///     ...
///     const job_metrics seen = sync.watcher();  // under the mutex of the calls: a copy, O(workers)
///     metrics_text page{sink};                  // the rest without it
///     seen.write(page, now);
///
/// The names and types of what write() writes are fixed; docs/operate.md lists them. Scores are those of `scores`.
///
/// Invariant  for each worker pushed = contributed + dropped + in flight; over all of them contributed = applied +
///            flushed + pending, when no record is missing: after a load, the gradients of the open round that had
///            come before count as flushed only.
/// Pre        worker < capacity, that of the controller; `now` is finite
/// Cost    that of `scores` and O(1) per record; write(): O(capacity). 264 bytes a worker, made at construction; no
///         other allocation but for copies. Not thread-safe.
/// Tests   tests/extras/job_metrics_test.cpp: GoldenPage, LateDeadAndSlowWorkersAreTold, GradientsAddUp,
///         EveryFamilyIsDocumented, DashboardAsksForWhatIsWritten
class job_metrics {
 public:
  /// `capacity`: that of the controller. `seconds_per_unit`: of the host's time; the default: it counts seconds.
  explicit job_metrics(std::uint32_t capacity, double seconds_per_unit = 1.0)
      : scores_{capacity}, rows_(capacity), unit_{seconds_per_unit} {}

  /// Called by the controller.
  void operator()(const record& r) noexcept {
    scores_(r);
    if (r.what != record::kind::release) version_ = r.version;  // a release has that of its grant
    if (r.worker.index < rows_.size()) follow(rows_[r.worker.index], r);
    switch (r.what) {
      case record::kind::admit: return count_gradient(r);
      case record::kind::commit: return commit(r);
      case record::kind::release: begun_ = true; return count(job_action::release);
      case record::kind::flush:
        flushed_ += r.count;
        pending_ -= r.count;
        return count(job_action::flush);
      case record::kind::discard: pending_ -= r.count; return count(job_action::discard);
      case record::kind::cancel: return count(job_action::cancel);
      case record::kind::exclude: return count(job_action::exclude);
      case record::kind::readmit: return count(job_action::readmit);
      case record::kind::adjust:
        ++adjusted_[static_cast<std::size_t>(r.because)];
        return count(job_action::adjust);
      case record::kind::refuse: return count(job_action::refuse);
      case record::kind::abandon: return count(job_action::abandon);
      case record::kind::join: return count(job_action::join);
      case record::kind::depart: return count(job_action::depart);
      case record::kind::change_policy: return count(job_action::change_policy);
    }
  }

  [[nodiscard]] const rubato::scores& scores() const noexcept { return scores_; }  ///< of the same records
  [[nodiscard]] rubato::scores& scores() noexcept { return scores_; }              ///< likewise, for missing()
  /// How often this was done.
  [[nodiscard]] std::uint64_t times(job_action what) const noexcept { return done_[static_cast<std::size_t>(what)]; }
  /// Where this worker is in its life; `joining` until its first release, never `released`.
  [[nodiscard]] worker_state state(std::uint32_t worker) const noexcept { return rows_[worker].is; }
  /// Whether it joined for the first time after somebody had begun to work.
  [[nodiscard]] bool late(std::uint32_t worker) const noexcept { return rows_[worker].late; }

  /// What a page has.
  struct page_options {
    bool workers = true;        ///< samples for each worker, about 15; false: sums only
    std::string_view policy{};  ///< describe().line of the policy in force
  };
  /// Writes everything: `page` is a metrics_text, or something with its family(), part() and sample(). `now` is in the
  /// host's unit.
  template <class Page>
  void write(Page& page, double now, const page_options& o = {true, {}}) const {
    page.family("rubato_policy_info", "gauge", "1: the policy in force.");
    if (!o.policy.empty()) page.sample(1, {{"policy", o.policy}});
    write_job(page, now);
    write_gradients(page, o.workers);
    if (!o.workers) return;
    write_lives(page, now);
    write_times(page, now);
  }

 private:
  static constexpr std::size_t reasons = static_cast<std::size_t>(reason::count_);
  struct row {
    worker_state is = worker_state::absent;
    bool excluded = false;
    bool late = false;
    std::uint32_t incarnation = 0;
    std::uint32_t joins = 0;
    std::uint32_t batch = 0;
    double joined = 0.0;
    double since = 0.0;  // when it came to wait
    double pushed = 0.0;
    bool has_pushed = false;
  };
  static_assert(sizeof(row) <= 48, "what it takes for a worker is said above, and in docs/operate.md");

  void count(job_action what) noexcept { ++done_[static_cast<std::size_t>(what)]; }

  void follow(row& w, const record& r) noexcept {
    switch (r.what) {
      case record::kind::join:
        w.late = w.joins == 0 ? begun_ : w.late;
        ++w.joins;
        w.joined = w.since = r.now;
        w.excluded = false;
        w.incarnation = r.worker.incarnation;
        w.is = worker_state::joining;
        break;
      case record::kind::release:
        if (waits(w) && r.now > w.since) count(job_action::hold);
        w.incarnation = r.worker.incarnation;
        w.batch = r.count;
        w.is = worker_state::running;
        break;
      case record::kind::admit:
        w.incarnation = r.worker.incarnation;
        w.pushed = r.now;
        w.has_pushed = true;
        w.is = worker_state::admitted;
        break;
      case record::kind::commit:
        if (w.is != worker_state::admitted || w.incarnation != r.worker.incarnation) break;
        w.since = r.now;
        w.is = worker_state::parked;
        break;
      case record::kind::depart:
        w.excluded = false;
        w.is = r.why == cause::done ? worker_state::done
               : r.why == cause::death ? worker_state::dead : worker_state::left;
        break;
      case record::kind::exclude: w.excluded = true; break;
      case record::kind::readmit: w.excluded = false; break;
      default: break;
    }
  }
  [[nodiscard]] static bool waits(const row& w) noexcept {
    return w.is == worker_state::parked || w.is == worker_state::joining;
  }

  void count_gradient(const record& r) noexcept {
    staleness_ += r.staleness;
    count(r.decided == verdict::apply ? job_action::apply
          : r.decided == verdict::accumulate ? job_action::accumulate : job_action::drop);
  }
  void commit(const record& r) noexcept {
    if (r.because == reason::failed) return;
    applied_ += r.decided == verdict::apply;
    pending_ += r.decided == verdict::accumulate;
  }

  template <class Page>
  void write_job(Page& page, double now) const {
    page.family("rubato_seconds", "gauge", "Time of the job.").sample(now * unit_);
    page.family("rubato_updates_total", "counter", "Updates of the parameters.").sample(version_);
    page.family("rubato_workers", "gauge", "Workers, by state.");
    for (std::size_t s = 0; s < static_cast<std::size_t>(worker_state::count_); ++s) {
      const auto state = static_cast<worker_state>(s);
      if (state == worker_state::released) continue;  // no record tells it from parked
      page.sample(std::count_if(rows_.begin(), rows_.end(), [=](const row& w) { return w.is == state; }),
                  {{"state", name(state)}});
    }
    page.family("rubato_decisions_total", "counter", "What the policy and its guard did, by action.");
    for (std::size_t a = 0; a < done_.size(); ++a)
      page.sample(done_[a], {{"action", name(static_cast<job_action>(a))}});
    page.family("rubato_adjustments_total", "counter", "What was corrected, or overridden by the guard, by reason.");
    for (std::size_t r = static_cast<std::size_t>(reason::time_clamped); r < reasons; ++r)
      page.sample(adjusted_[r], {{"reason", name(static_cast<reason>(r))}});
  }

  template <class Page>
  void write_gradients(Page& page, bool workers) const {
    std::array<std::uint64_t, staleness_histogram::buckets> histogram{};
    gradient_fates all;
    std::array<std::uint64_t, gradient_fates::reasons> lost{};
    for (std::uint32_t w = 0; w < rows_.size(); ++w) {
      const worker_score of = scores_.of(w, 0.0);
      for (std::size_t b = 0; b < histogram.size(); ++b) histogram[b] += of.staleness.counts[b];
      for (std::size_t r = 0; r < lost.size(); ++r) lost[r] += of.gradients.lost_for[r];
      all.pushed += of.gradients.pushed;
      all.in_flight += of.gradients.in_flight;
    }
    page.family("rubato_staleness", "histogram", "Updates between a gradient's parameters and its arrival.");
    page.part("_bucket");
    std::uint64_t below = 0;
    for (std::size_t b = 0; b + 1 < histogram.size(); ++b) {
      below += histogram[b];
      const auto edge = static_cast<std::uint32_t>(staleness_histogram::lower_edge(b + 1) - 1);
      page.sample(below, {{"le", edge}});
    }
    page.sample(all.pushed, {{"le", "+Inf"}}).part("_sum").sample(staleness_).part("_count").sample(all.pushed);
    page.family("rubato_gradients_applied_total", "counter", "Gradients that were an update each.").sample(applied_);
    page.family("rubato_gradients_flushed_total", "counter", "Gradients in rounds that became an update.");
    page.sample(flushed_);
    page.family("rubato_gradients_pending", "gauge", "Gradients in rounds that are still open.");
    page.sample((std::max)(static_cast<std::int64_t>(pending_), std::int64_t{0}));
    page.family("rubato_gradients_lost_total", "counter", "Gradients in no update, by reason.");
    for (std::size_t r = 0; r < lost.size(); ++r) page.sample(lost[r], {{"reason", name(lost_for(r))}});
    if (!workers) return;
    each(page, "rubato_gradients_pushed_total", "counter", "Gradients that came, by worker.", &gradient_fates::pushed);
    each(page, "rubato_gradients_contributed", "gauge",
         "Of these, in an update or in an open round; falls when a change of the policy discards a round.",
         &gradient_fates::contributed);
    each(page, "rubato_gradients_in_flight", "gauge", "Of these, not in the parameters yet.",
         &gradient_fates::in_flight);
    page.family("rubato_gradients_dropped_total", "counter", "Of these, in no update, by worker and reason.");
    for (std::uint32_t w = 0; w < rows_.size(); ++w) {
      const gradient_fates of = scores_.of(w, 0.0).gradients;
      for (std::size_t r = 0; r < of.lost_for.size(); ++r)
        if (of.lost_for[r] > 0) page.sample(of.lost_for[r], {{"worker", w}, {"reason", name(lost_for(r))}});
    }
  }

  template <class Page>
  void write_lives(Page& page, double now) const {
    page.family("rubato_worker_state", "gauge", "1: where a worker is in its life.");
    for (std::uint32_t w = 0; w < rows_.size(); ++w) page.sample(1, {{"worker", w}, {"state", name(rows_[w].is)}});
    each(page, "rubato_worker_excluded", "gauge", "1: the policy counts it out.",
         [](const row& w) { return int{w.excluded}; });
    each(page, "rubato_worker_late", "gauge", "1: it joined after the job had begun.",
         [](const row& w) { return int{w.late}; });
    each(page, "rubato_worker_joins_total", "counter", "Times that it joined.", [](const row& w) { return w.joins; });
    each(page, "rubato_worker_joined_seconds", "gauge", "When it last joined, in time of the job.",
         [this](const row& w) { return w.joined * unit_; });
    each(page, "rubato_worker_batch", "gauge", "Samples of its step as the policy wants them; 0: the host's number.",
         [](const row& w) { return w.batch; });
    page.family("rubato_worker_last_push_seconds", "gauge", "When its last gradient came, in time of the job.");
    for (std::uint32_t w = 0; w < rows_.size(); ++w)
      if (rows_[w].has_pushed) page.sample(rows_[w].pushed * unit_, {{"worker", w}});
    page.family("rubato_worker_push_age_seconds", "gauge",
                "Time since its last gradient; before the first one, since it joined.");
    for (std::uint32_t w = 0; w < rows_.size(); ++w)
      if (rows_[w].joins > 0)
        page.sample((std::max)(now - (rows_[w].has_pushed ? rows_[w].pushed : rows_[w].joined), 0.0) * unit_,
                    {{"worker", w}});
  }

  template <class Page>
  void write_times(Page& page, double now) const {
    const auto of_scores = [&](std::string_view name, std::string_view type, std::string_view help, auto&& value) {
      page.family(name, type, help);
      for (std::uint32_t w = 0; w < rows_.size(); ++w)
        if (rows_[w].joins > 0) page.sample(value(scores_.of(w, now)), {{"worker", w}});
    };
    of_scores("rubato_worker_step_seconds", "gauge", "Recent step time, smoothed; 0: none yet.",
              [this](const worker_score& w) { return static_cast<double>(w.step_time) * unit_; });
    of_scores("rubato_worker_lateness_seconds", "gauge", "Time that it is overdue in its step.",
              [this](const worker_score& w) { return w.lateness * unit_; });
    of_scores("rubato_worker_waiting_seconds", "gauge", "Time that it has been waiting for its release.",
              [this](const worker_score& w) { return w.waiting * unit_; });
    of_scores("rubato_worker_waited_seconds_total", "counter", "Time that it waited, in all.",
              [this](const worker_score& w) { return w.waited * unit_; });
    of_scores("rubato_worker_relative_score", "gauge", "Best step time of all workers / its own; 0: none yet.",
              [](const worker_score& w) { return w.relative; });
    of_scores("rubato_worker_individual_score", "gauge", "Its own best step time / its recent one; 0: none yet.",
              [](const worker_score& w) { return w.individual; });
  }

  // A family with a sample of each worker that has ever joined: a member of its fates, or something of its row.
  template <class Page, class Number>
  void each(Page& page, std::string_view name, std::string_view type, std::string_view help,
            Number gradient_fates::*member) const {
    page.family(name, type, help);
    for (std::uint32_t w = 0; w < rows_.size(); ++w)
      if (rows_[w].joins > 0) page.sample(scores_.of(w, 0.0).gradients.*member, {{"worker", w}});
  }
  template <class Page, class Value>
  void each(Page& page, std::string_view name, std::string_view type, std::string_view help, Value&& value) const {
    page.family(name, type, help);
    for (std::uint32_t w = 0; w < rows_.size(); ++w)
      if (rows_[w].joins > 0) page.sample(value(rows_[w]), {{"worker", w}});
  }
  [[nodiscard]] static reason lost_for(std::size_t place) noexcept {
    return static_cast<reason>(static_cast<std::size_t>(gradient_fates::first) + place);
  }

  rubato::scores scores_;
  std::vector<row> rows_;
  std::array<std::uint64_t, static_cast<std::size_t>(job_action::count_)> done_{};
  std::array<std::uint64_t, reasons> adjusted_{};
  std::uint64_t version_ = 0, applied_ = 0, flushed_ = 0, staleness_ = 0;
  std::uint64_t pending_ = 0;  // wraps below 0 where gradients came before this object watched
  double unit_;
  bool begun_ = false;  // somebody has been released
};

static_assert(Observer<job_metrics>);

}  // namespace rubato::inline RUBATO_ABI

#endif
