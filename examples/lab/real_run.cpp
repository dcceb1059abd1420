#include "real_run.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace rubato::lab {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::chrono::seconds time_to_come{60};  // for all workers

[[nodiscard]] bool counts(verdict decided) { return decided == verdict::apply || decided == verdict::accumulate; }

}  // namespace

void push_counter::note(const record& r) noexcept {
  const std::lock_guard lock{mutex_};
  const std::uint32_t w = r.worker.index;
  if (!now_.begin) note_before_begin(r);
  if (r.what == record::kind::release) since_[w] = r.now;
  if (r.what == record::kind::admit && counts(r.decided)) staleness_.add(r.staleness);
  if (r.what != record::kind::commit) return;
  in_steps_ += r.now - since_[w];
  spent_ += step_[w];
  ++now_.pushes;
  if (counts(r.decided)) now_.samples += samples_[w];
  now_.last = r.now;
  changed_.notify_one();
}

void push_counter::note_before_begin(const record& r) noexcept {
  double& here_since = since_[r.worker.index];
  if (r.what == record::kind::join) here_since = r.now;
  if (r.what == record::kind::depart && here_since >= 0)
    waited_before_begin_ += r.now - std::exchange(here_since, absent);
  if (r.what != record::kind::release) return;
  now_.begin = r.now;
  for (const double since : since_)
    if (since >= 0) waited_before_begin_ += r.now - since;
}

push_counter::state push_counter::after(std::uint64_t pushes, clock::time_point limit) {
  std::unique_lock lock{mutex_};
  changed_.wait_until(lock, limit, [&] { return now_.pushes > pushes; });
  return now_;
}

real_run::real_run(const setting& at, const training_data& data, std::uint64_t seed)
    : machines_{at.scenario.cluster},
      run_{run_options_of(at, seed)},
      unit_{at.unit_seconds},
      judge_{sgd_options_of(at), *data.prepared},
      pushes_{machines_.workers},
      failures_{machines_.failures},
      incarnations_(machines_.workers) {
  judge_.reset(seed);
  std::ranges::stable_sort(failures_, {}, &sim::failure::time);
  for (std::uint32_t w = 0; w < machines_.workers; ++w) present_ += comes_later(w) ? 0 : 1;
}

bool real_run::comes_later(std::uint32_t worker) const {
  const auto first = std::ranges::find(failures_, worker, &sim::failure::worker);
  return first != failures_.end() && first->kind == sim::failure_kind::join;
}

std::optional<measurement> real_run::operator()(real_host& host, const std::atomic<bool>& stop) {
  for (std::uint32_t w = 0; w < machines_.workers; ++w)
    if (!comes_later(w)) host.begin_life({w, 0});
  supervise(host, stop);
  host.close();
  if (end_ == sim::run_end::unfinished) return std::nullopt;
  return summary(host);
}

void real_run::supervise(real_host& host, const std::atomic<bool>& stop) {
  constexpr std::chrono::milliseconds glance{5};
  sim::finish_line line{run_};
  const clock::time_point latest_begin = clock::now() + time_to_come;
  while (!stop.load(std::memory_order_relaxed)) {
    seen_ = pushes_.after(seen_.pushes, std::min(host.attend(), clock::now() + glance));
    const double now = units_since_begin(host, seen_);
    if (!seen_.begin && present_ > 0 && clock::now() >= latest_begin)
      throw std::runtime_error{"no step within " + std::to_string(time_to_come.count()) +
                               " s: some worker does not come"};
    carry_out_failures(host, now);
    if (line.due(seen_.pushes)) {
      time_ = (seen_.last - *seen_.begin) / unit_;
      host.snapshot(judge_.parameters());
      judged_ = judge_.evaluate();
      end_ = line.judge(judged_, seen_.pushes);
      measured_.climb_to(time_, judged_.accuracy);
    }
    if (end_ == sim::run_end::unfinished && line.passed(seen_.samples))
      end_ = sim::run_end::reached, time_ = (seen_.last - *seen_.begin) / unit_;
    if (end_ == sim::run_end::unfinished && now >= run_.max_time) end_ = sim::run_end::out_of_time;
    if (end_ != sim::run_end::unfinished) return;
  }
}

// Where nobody is there from the start, time goes on without a step.
double real_run::units_since_begin(real_host& host, const push_counter::state& seen) const {
  if (seen.begin) return (host.now() - *seen.begin) / unit_;
  return present_ == 0 ? host.now() / unit_ : 0;
}

void real_run::carry_out_failures(real_host& host, double now) {
  for (; next_failure_ < failures_.size() && failures_[next_failure_].time <= now; ++next_failure_) {
    const sim::failure& what = failures_[next_failure_];
    if (what.kind == sim::failure_kind::join)
      host.begin_life({what.worker, incarnations_[what.worker]});
    else
      host.end_life({what.worker, incarnations_[what.worker]++}, what.kind);
  }
}

measurement real_run::summary(real_host& host) const {
  measurement m = measured_;
  m.reached = end_ == sim::run_end::reached;
  m.end = std::string{name(end_)};
  m.time = m.reached ? time_ : run_.max_time;
  m.final_accuracy = judged_.accuracy;
  m.pushes = seen_.pushes;
  m.staleness_mean = pushes_.staleness().mean();
  m.staleness_p95 = pushes_.staleness().quantile(0.95);
  if (m.pushes > 0) {
    m.overhead = (pushes_.in_steps() - pushes_.spent().took) / static_cast<double>(m.pushes) / unit_;
    m.overrun = (pushes_.spent().took - pushes_.spent().without_core) / pushes_.spent().asked - 1;
  }
  const real_host::counts all = host.counted(seen_.last);
  m.updates = all.updates;
  m.overrides = all.overrides;
  m.dropped = all.dropped;
  const double lasted = seen_.begin ? seen_.last - *seen_.begin : 0;
  const double waited = std::max(all.waited - pushes_.waited_before_begin(), 0.0);
  m.idle_share = lasted > 0 ? waited / (lasted * machines_.workers) : 0;
  return m;
}

std::string not_in_real_time(const support::scenario& s) {
  if (s.objective != support::objective_kind::sgd) return "objective.kind is quadratic, expected sgd: it trains images";
  if (s.cluster.decision_latency > 0) return "cluster.decision_latency is above 0, expected 0: word travels as it does";
  if (s.cluster.decision_time > 0) return "cluster.decision_time is above 0, expected 0: decisions take what they take";
  if (s.cluster.apply_time > 0) return "cluster.apply_time is above 0, expected 0: updates take what they take";
  if (s.cluster.round_time > 0) return "cluster.round_time is above 0, expected 0: updates take what they take";
  if (s.run.loss == sim::loss_source::probe)
    return "run.loss is probe, expected worker_ema: its server measures no loss";
  if (!s.run.learning_rate.boundaries.empty())
    return "objective.learning_rate has boundaries, expected one number: its rate is constant";
  return {};
}

}  // namespace rubato::lab
