#include "threads_host.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <rubato/sim/finish_line.hpp>
#include <rubato/sim/loss_feature.hpp>
#include <rubato/sim/normal_draws.hpp>
#include <rubato/sim/sgd.hpp>
#include <rubato/sim/straggler.hpp>
#include <rubato/sync/extras/observers.hpp>
#include <rubato/sync/extras/scores.hpp>
#include <rubato/threads_ps/server.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "support/core_permits.hpp"

namespace rubato::lab {
namespace {

using support::core_permits;
using clock = std::chrono::steady_clock;
using seconds = std::chrono::duration<double>;

// What steps spent on computing and sleeping; seconds.
struct step_times {
  double took = 0;
  double without_core = 0;
  double asked = 0;  ///< what they would have taken on cores of their own, on a machine that does nothing else
  std::uint64_t samples = 0;

  step_times& operator+=(const step_times& more) {
    took += more.took, without_core += more.without_core, asked += more.asked;
    return *this;
  }
};

// What the evaluating thread has to know of the pushes, and the statistics of a run. Called under the server's mutex.
class push_counter {
 public:
  explicit push_counter(std::uint32_t workers) : since_(workers), step_(workers) {}

  struct state {
    std::uint64_t pushes = 0;
    std::uint64_t samples = 0;  // that were applied or accumulated
    double begin = 0;           // of the first step; seconds of the server
    double last = 0;            // when the last push was in
  };

  void note(const record& r) noexcept {
    const std::lock_guard lock{mutex_};
    if (r.what == record::kind::release && !started_) now_.begin = r.now, started_ = true;
    if (r.what == record::kind::release) since_[r.worker.index] = r.now;
    if (r.what == record::kind::admit && (r.decided == verdict::apply || r.decided == verdict::accumulate))
      staleness_.add(r.staleness);
    if (r.what != record::kind::commit) return;
    in_steps_ += r.now - since_[r.worker.index];
    spent_ += step_[r.worker.index];
    ++now_.pushes;
    if (r.decided == verdict::apply || r.decided == verdict::accumulate) now_.samples += step_[r.worker.index].samples;
    now_.last = r.now;
    changed_.notify_one();
  }
  // The state once there are more pushes than these, or at the limit.
  state after(std::uint64_t pushes, clock::time_point limit) {
    std::unique_lock lock{mutex_};
    changed_.wait_until(lock, limit, [&] { return now_.pushes > pushes; });
    return now_;
  }
  // By the worker's own thread, before it pushes.
  void will_push(std::uint32_t worker, const step_times& spent) { step_[worker] = spent; }
  [[nodiscard]] const step_times& spent() const noexcept { return spent_; }  // of all pushes, once all have ended
  [[nodiscard]] double in_steps() const noexcept { return in_steps_; }       // from releases to commits, likewise
  [[nodiscard]] const sim::staleness_histogram& staleness() const noexcept {
    return staleness_;
  }  // once all have ended

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  state now_;
  bool started_ = false;
  std::vector<double> since_;     // when each worker was released
  std::vector<step_times> step_;  // of the step that each of them pushes
  step_times spent_;
  double in_steps_ = 0;
  sim::staleness_histogram staleness_;
};

struct watcher {
  push_counter* pushes;
  any_observer* also;
  void operator()(const record& r) noexcept {
    pushes->note(r);
    if (also != nullptr) (*also)(r);
  }
};
using server = threads_ps::server<any_policy, threads_ps::sgd, observers<scores, watcher>>;

class real_run {
 public:
  real_run(const setting& at, const training_data& data, const any_policy& policy, std::uint64_t seed,
           any_observer* also)
      : machines_{at.scenario.cluster},
        run_{run_options_of(at, seed)},
        unit_{at.unit_seconds},
        data_{*data.prepared},
        sgd_{sgd_options_of(at)},
        judge_{sgd_, data_},
        cores_{machines_.cores, seconds{unit_ * *std::ranges::min_element(machines_.step_time) / turns_a_step}},
        pushes_{machines_.workers},
        loss_{run_.loss},
        steps_(machines_.workers),
        failures_{machines_.failures},
        lives_(machines_.workers) {
    judge_.reset(seed);
    std::ranges::stable_sort(failures_, {}, &sim::failure::time);
    std::uint32_t present = 0;
    for (std::uint32_t w = 0; w < machines_.workers; ++w) present += comes_later(w) ? 0 : 1;
    ps_ = std::make_unique<server>(
        threads_ps::server_options{
            .sync = {.capacity = machines_.workers, .quorum = std::max(present, 1U), .guard = run_.guard, .seed = seed},
            .shards = shards,
            .batch = run_.batch},
        judge_.parameters(), policy,
        threads_ps::sgd{{.learning_rate = static_cast<float>(run_.learning_rate.base),
                         .momentum = static_cast<float>(sgd_.momentum)}},
        observers<scores, watcher>{scores{machines_.workers}, watcher{&pushes_, also}});
  }

  std::optional<measurement> operator()(const std::atomic<bool>& stop) {
    for (std::uint32_t w = 0; w < machines_.workers; ++w)
      if (!comes_later(w)) begin_life(w);
    supervise(stop);
    over_.store(true);
    ps_->shutdown();
    for (std::thread& each : threads_) each.join();
    if (end_ == sim::run_end::unfinished) return std::nullopt;
    return summary_of_run();
  }

 private:
  static constexpr int turns_a_step = 10;  // of those who share a core
  static constexpr std::uint32_t shards = 4;

  // One life of a worker. `ends` is how a step learns that it is in vain.
  struct life {
    std::uint32_t incarnation = 0;
    std::shared_ptr<std::atomic<bool>> ends;
  };

  [[nodiscard]] bool comes_later(std::uint32_t w) const {
    const auto first = std::ranges::find(failures_, w, &sim::failure::worker);
    return first != failures_.end() && first->kind == sim::failure_kind::join;
  }

  void begin_life(std::uint32_t w) {
    lives_[w].ends = std::make_shared<std::atomic<bool>>(false);
    threads_.emplace_back(
        [this, who = worker_id{w, lives_[w].incarnation}, ends = lives_[w].ends] { work(who, *ends); });
  }

  // ---- a worker's thread

  void work(worker_id who, const std::atomic<bool>& ends) {
    sim::sgd_objective model{sgd_, data_};
    model.reset(run_.seed);
    sim::normal_draws jitter{run_.seed, stream_of(sim::random_purpose::jitter, 0), machines_.workers};
    sim::straggler_model stragglers{machines_.stragglers, machines_.workers, run_.seed};
    std::vector<float> dense(model.parameters().size());
    auto me = ps_->join(who);
    if (!me) return;
    server::session& session = **me;
    const double begin = pushes_.after(0, {}).begin;
    const auto in_vain = [&] { return over_.load(std::memory_order_relaxed) || ends.load() || session.cancelled(); };
    while (session.here()) {
      session.pull(model.parameters());
      const std::uint64_t step = ++steps_[who.index];
      const std::uint32_t asked = session.terms().batch;
      const std::uint32_t batch = asked == 0 ? run_.batch : std::min(asked, sim::largest_batch);
      const double deviate = machines_.jitter > 0 ? jitter(who.index, step) : 0.0;
      sim::gradient work;
      const clock::time_point begun = clock::now();
      const seconds length{unit_ * computing_time(machines_, who.index, batch, run_.batch, deviate)};
      const seconds without_core = cores_.compute(
          length,
          [&] {
            work = model.compute(who.index, step, batch);
            model.write_gradient(work.handle, dense);
            model.release(work.handle);
          },
          in_vain);
      const double asleep = unit_ * stragglers.sleep(who.index, step, (ps_->now() - begin) / unit_);
      sleep(asleep, in_vain);
      if (ends.load()) return;  // dead or gone: the server has been told
      const bool cancelled = session.cancelled();
      pushes_.will_push(who.index, {seconds{clock::now() - begun}.count(), without_core.count(),
                                    length.count() + asleep, work.samples});
      const float loss = seen_loss(work, cancelled);
      static_cast<void>(session.push(dense, {.samples = work.samples, .loss = loss, .grad_norm = work.norm}));
    }
  }
  template <class Ends>
  static void sleep(double length, Ends&& ends) {
    constexpr seconds glance{0.001};
    const clock::time_point until = clock::now() + std::chrono::duration_cast<clock::duration>(seconds{length});
    for (clock::time_point now; (now = clock::now()) < until && !ends();)
      std::this_thread::sleep_for(std::min<seconds>(until - now, glance));
  }
  [[nodiscard]] float seen_loss(const sim::gradient& work, bool cancelled) {
    const std::lock_guard lock{loss_mutex_};
    return loss_.with(work, cancelled);
  }

  // ---- the supervisor's thread: evaluates, lets workers die and come, serves deadlines

  void supervise(const std::atomic<bool>& stop) {
    sim::finish_line line{run_};
    std::vector<float> copy(ps_->size());
    push_counter::state seen;
    while (!stop.load(std::memory_order_relaxed)) {
      seen = pushes_.after(seen.pushes, next_look());
      const double now = (ps_->now() - seen.begin) / unit_;
      if (const auto due = ps_->next_deadline(); due && *due <= clock::now()) ps_->poll();
      carry_out_failures(now);
      if (line.due(seen.pushes)) {
        time_ = (seen.last - seen.begin) / unit_;
        ps_->snapshot(judge_.parameters());
        judged_ = judge_.evaluate();
        end_ = line.judge(judged_, seen.pushes);
      }
      if (end_ == sim::run_end::unfinished && line.passed(seen.samples))
        end_ = sim::run_end::reached, time_ = (seen.last - seen.begin) / unit_;
      if (end_ == sim::run_end::unfinished && now >= run_.max_time) end_ = sim::run_end::out_of_time;
      if (end_ != sim::run_end::unfinished) break;
    }
    counted_ = seen;
  }
  [[nodiscard]] clock::time_point next_look() {
    constexpr std::chrono::milliseconds glance{5};
    const clock::time_point latest = clock::now() + glance;
    const auto due = ps_->next_deadline();
    return due ? std::min(*due, latest) : latest;
  }
  void carry_out_failures(double now) {
    for (; next_failure_ < failures_.size() && failures_[next_failure_].time <= now; ++next_failure_) {
      const sim::failure& what = failures_[next_failure_];
      life& of = lives_[what.worker];
      if (what.kind == sim::failure_kind::join) {
        begin_life(what.worker);
        continue;
      }
      of.ends->store(true);
      const worker_id who{what.worker, of.incarnation++};
      static_cast<void>(what.kind == sim::failure_kind::death ? ps_->die(who) : ps_->leave(who));
    }
  }

  [[nodiscard]] measurement summary_of_run() {
    measurement m;
    m.reached = end_ == sim::run_end::reached;
    m.end = std::string{name(end_)};
    m.time = m.reached ? time_ : run_.max_time;
    m.final_accuracy = judged_.accuracy;
    m.pushes = counted_.pushes;
    m.staleness_mean = pushes_.staleness().mean();
    m.staleness_p95 = pushes_.staleness().quantile(0.95);
    if (m.pushes > 0) {
      m.overhead = (pushes_.in_steps() - pushes_.spent().took) / static_cast<double>(m.pushes) / unit_;
      m.overrun = (pushes_.spent().took - pushes_.spent().without_core) / pushes_.spent().asked - 1;
    }
    ps_->inspect([&](auto& sync, auto& seen) {
      const double lasted = counted_.last - counted_.begin;
      double waited = 0;
      for (std::uint32_t w = 0; w < machines_.workers; ++w) {
        const worker_score of = seen.template get<scores>().of(w, counted_.last);
        waited += of.waited;
        m.dropped += of.gradients.lost();
      }
      m.updates = sync.updates();
      m.overrides = sync.counts().overrides();
      m.idle_share = lasted > 0 ? waited / (lasted * machines_.workers) : 0;
    });
    return m;
  }

  const sim::cluster_options machines_;
  const sim::run_options run_;
  const double unit_;  // seconds of one unit of time
  const sim::image_data& data_;
  const sim::sgd_options sgd_;
  sim::sgd_objective judge_;
  core_permits cores_;
  push_counter pushes_;
  std::unique_ptr<server> ps_;
  std::mutex loss_mutex_;
  sim::loss_feature loss_;
  std::vector<std::atomic<std::uint64_t>> steps_;  // of all lives of a worker: the simulator counts on, too
  std::atomic<bool> over_ = false;

  // Of the supervisor.
  std::vector<sim::failure> failures_;
  std::size_t next_failure_ = 0;
  std::vector<life> lives_;
  std::deque<std::thread> threads_;
  sim::run_end end_ = sim::run_end::unfinished;
  sim::evaluation judged_{};
  double time_ = 0;
  push_counter::state counted_;
};

}  // namespace

std::string not_on_threads(const support::scenario& s) {
  if (s.objective != support::objective_kind::sgd) return "objective.kind is quadratic, expected sgd: it trains images";
  if (s.cluster.link.bandwidth > 0) return "cluster.link.bandwidth is above 0, expected 0: threads have no link";
  if (s.cluster.decision_time > 0) return "cluster.decision_time is above 0, expected 0: decisions take what they take";
  if (s.cluster.apply_time > 0) return "cluster.apply_time is above 0, expected 0: updates take what they take";
  if (s.run.loss == sim::loss_source::probe)
    return "run.loss is probe, expected worker_ema: its server measures no loss";
  if (!s.run.learning_rate.boundaries.empty())
    return "objective.learning_rate has boundaries, expected one number: its rate is constant";
  return {};
}

std::optional<measurement> run_on_threads(const setting& at, const training_data& data, const any_policy& policy,
                                          std::uint64_t seed, const std::atomic<bool>& stop, any_observer* watcher) {
  return real_run{at, data, policy, seed, watcher}(stop);
}

}  // namespace rubato::lab
