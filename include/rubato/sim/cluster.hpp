#ifndef RUBATO_SIM_CLUSTER_HPP
#define RUBATO_SIM_CLUSTER_HPP

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "../pinned.hpp"
#include "../sync/controller.hpp"
#include "at_leisure.hpp"
#include "event_queue.hpp"
#include "fifo.hpp"
#include "finish_line.hpp"
#include "learning_rate.hpp"
#include "loss_feature.hpp"
#include "normal_draws.hpp"
#include "objective.hpp"
#include "open_rounds.hpp"
#include "options.hpp"
#include "result.hpp"
#include "shared_link.hpp"
#include "shared_resource.hpp"
#include "straggler.hpp"
#include "worker_step.hpp"

namespace rubato::inline RUBATO_ABI::sim {

/// A parameter server and its workers in virtual time: a host of `controller` that trains an objective.
///
/// A released worker computes its gradient on the parameters of the moment when it hears of that, decision_latency
/// after it; then time passes: wait until the latest round is an update, round_time for each of its gradients after its
/// flush; pull over the link, compute on the cores, sleep if it straggles, push over the link. The server handles one
/// push at a time, in the order of arrival, each taking decision_time + apply_time: it asks for a verdict at the
/// beginning, and at the end carries it out and commits. Where it probes the loss, each update takes it probe_time
/// more, for which the next push waits. A step of another batch size computes in proportion, but for its fixed share. A
/// cancelled worker reports back at once, without a transfer. With a worker that dies or leaves goes its step; what of
/// it has reached the server is refused there, at no cost.
///
///     rubato::sim::quadratic goal;
///     const run_result r = simulate({.workers = 10, .cores = 4}, {.seed = 1}, rubato::ssp{.staleness = 3}, goal);
///
/// Pre      problem(machines) and problem(run) are empty; `goal`, `watcher` and `jitter` outlive the cluster, and
///          serve no other one meanwhile
/// Random   keyed by (seed, worker, step): a seed gives all policies the same steps, a run the same bits in any thread
/// Metrics  a policy with measured(), and a watcher with measured(worker_id, const step_metrics&), get those of each
///          step before its push: times, throughput, and what an objective with gradient_statistics tells
/// Cost     O(log workers) per event, plus the controller, plus the objective. No allocation once buffers have grown.
/// Thread   one object, with its objective, per thread
/// Tests    tests/sim/cluster_test.cpp, cluster_faults_test.cpp, cluster_timing_test.cpp, cluster_metrics_test.cpp
template <SyncPolicy Policy, Objective Goal, Observer Watcher = no_observer>
class cluster {
  struct watcher_reference {
    Watcher* to;
    void operator()(const record& r) const noexcept { (*to)(r); }
    void answered(const event& asked, const decision& answer, const insight& by) const noexcept
      requires AnswerObserver<Watcher>
    {
      to->answered(asked, answer, by);
    }
  };
  static constexpr bool watched = !std::same_as<Watcher, no_observer>;
  static constexpr bool watches_metrics =
      requires(Watcher & w, worker_id who, const step_metrics& m) { w.measured(who, m); };
  static constexpr bool measures = watches_metrics || MeasuringPolicy<Policy>;
  using policy_type = detail::at_leisure<Policy>;

 public:
  /// What decides: of a policy that does not work ahead, with the worker's index as the ticket.
  using controller_type =
      controller<policy_type, std::uint32_t, std::conditional_t<watched, watcher_reference, no_observer>>;

  /// Resets the objective; who is present at time 0 joins. What jitter is drawn stays in `jitter` for later runs.
  cluster(const cluster_options& machines, const run_options& run, Policy policy, Goal& goal, Watcher& watcher,
          normal_draws* jitter = nullptr)
      : watcher_{watcher},
        machines_{machines},
        run_{run},
        goal_{goal},
        workers_(machines.workers),
        queue_{machines.workers, services},
        cores_{machines.cores == 0 ? 1.0 : machines.cores, machines.workers},
        link_{machines.link, machines.workers, run.seed},
        jitter_{jitter == nullptr ? own_jitter_ : *jitter},
        stragglers_{machines.stragglers, machines.workers, run.seed},
        rate_{run.learning_rate},
        line_{run},
        loss_{run.loss},
        failures_{machines.failures},
        parked_{detail::seat_workers(workers_, failures_)},
        live_{parked_},
        sync_{{.capacity = machines.workers, .quorum = (std::max)(parked_, 1U), .guard = run.guard, .seed = run.seed},
              policy_type{std::move(policy)},
              watch(watcher)} {
    RUBATO_ASSERT(problem(machines).empty() && problem(run).empty(), "cluster or run options out of range");
    shared_cores_ = machines.cores > 0 && machines.cores < machines.workers;
    if (machines.jitter > 0) jitter_.restart(run.seed, stream_of(random_purpose::jitter, 0), machines.workers);
    service_ = machines.decision_time + machines.apply_time;
    result_.steps.resize(machines.workers);
    goal_.reset(run.seed);
    if (loss_.probes()) loss_.probed(goal_.probe());
    for (std::uint32_t w = 0; w < machines.workers; ++w)
      if (workers_[w].at == stage::parked) static_cast<void>(sync_.join(id(w), now_, w, effects{*this}));
    schedule_failure();
    settle();
  }

  cluster(const cluster&) = delete;

  /// Lets the next event happen. False if the run has ended. Precondition: !awaits().
  bool advance() {
    if (result_.end != run_end::unfinished) return false;
    RUBATO_ASSERT(!awaits(), "cluster: resume() comes first");
    const double next = queue_.next_time();
    if (!(next <= run_.max_time)) {
      const bool stalls = next == std::numeric_limits<double>::infinity();
      if (!stalls) pass_time(run_.max_time);
      finish(stalls ? run_end::stalled : run_end::out_of_time);
      return false;
    }
    pass_time(next);
    happen(queue_.pop().source);
    settle();
    return result_.end == run_end::unfinished;
  }

  /// Whether nothing may happen before resume(): the policy has put off its decision on a push, by a member
  /// awaits() noexcept -> bool, so that somebody outside can take it. Policies without that member never do.
  [[nodiscard]] bool awaits() const noexcept {
    if constexpr (requires(const Policy& p) { { p.awaits() } noexcept -> std::same_as<bool>; })
      return sync_.policy().awaits() && result_.end == run_end::unfinished;
    return false;
  }
  /// Polls the policy that awaits(), which must have asked to be woken now; it is as if it had decided at the push.
  void resume() {
    polled_at_ = now_;
    sync_.poll(now_, effects{*this});
    settle();
  }

  [[nodiscard]] double now() const noexcept { return now_; }                    ///< in units of virtual time, from 0
  [[nodiscard]] const controller_type& sync() const noexcept { return sync_; }  ///< to look at
  [[nodiscard]] const run_result& result() const noexcept { return result_; }   ///< complete once advance() says false

 private:
  using stage = detail::stage;
  using worker = detail::simulated_worker;
  using arrival = detail::arrival;

  // Of the event queue.
  enum service : std::uint32_t {
    cores_service,
    link_service,
    congestion_service,
    server_service,
    failure_service,
    deadline,
    services
  };

  // What the controller decides, carried out. Nothing here calls the controller: arrivals wait for settle().
  struct effects {
    cluster& host;
    void release(std::uint32_t&&, worker_id who, const grant& terms) const { host.start(who.index, terms); }
    void flush(std::uint64_t round, float scale, std::uint32_t) const { host.flush(round, scale); }
    void discard(std::uint64_t round, std::uint32_t) const { host.discard(round); }
    void cancel(worker_id who) const { host.cancel(who.index); }
  };

  [[nodiscard]] static auto watch(Watcher& watcher) noexcept {
    if constexpr (watched)
      return watcher_reference{&watcher};
    else
      return no_observer{watcher};
  }

  [[nodiscard]] worker_id id(std::uint32_t w) const noexcept { return {w, workers_[w].incarnation}; }

  void pass_time(double to) noexcept {
    const double passed = to - now_;
    idle_time_ += passed * parked_;
    live_time_ += passed * live_;
    now_ = to;
  }

  void happen(std::uint32_t what) {
    if (what < machines_.workers) return proceed(what);
    switch (static_cast<service>(what - machines_.workers)) {
      case cores_service: return proceed(cores_.finish(now_));
      case link_service: return proceed(link_.finish(now_));
      case congestion_service:
        return link_.feel_congestion(now_);
      case server_service: return end_service(verdict_);
      case failure_service: return fail();
      default:
        polled_at_ = now_;
        return sync_.poll(now_, effects{*this});
    }
  }

  // Brings everything that an event has caused to rest.
  void settle() {
    while (!serving_ && (probing_ > 0 || !arrivals_.empty()) && result_.end == run_end::unfinished && !awaits())
      probing_ > 0 ? begin_probe() : begin_service();
    if (result_.end != run_end::unfinished || awaits()) return;
    if (shared_cores_) retime(cores_service, cores_);
    if (link_.transfer_time() > 0) retime(link_service, link_.transfers());
    if (link_.is_congested_at_times()) queue_.schedule_service(congestion_service, link_.next_change(), no_worker);
    // A deadline that a poll leaves in the past is polled again once time has moved.
    const double due = sync_.next_deadline();
    const bool again = pinned::is_finite(due) && due <= polled_at_ && now_ <= polled_at_;
    queue_.schedule_service(deadline, again ? std::numeric_limits<double>::infinity() : (std::max)(due, now_),
                            no_worker);
  }
  void retime(service s, const shared_resource& of) noexcept {
    queue_.schedule_service(s, of.next_completion(), of.active() > 0 ? of.next_job() : 0);
  }
  void wait(std::uint32_t w, double duration) noexcept { queue_.schedule(w, now_ + duration); }

  // ---- a worker's step

  void start(std::uint32_t w, const grant& terms) {
    worker& me = workers_[w];
    RUBATO_ASSERT(me.at == stage::parked, "cluster: a release of a worker that does not wait");
    me.lr_scale = terms.lr_scale;
    me.batch = terms.batch == 0 ? run_.batch : (std::min)(terms.batch, largest_batch);
    if (machines_.decision_latency > 0) return me.at = stage::awaiting_word, wait(w, machines_.decision_latency);
    compute(w);
    proceed(w);
  }
  void compute(std::uint32_t w) {
    worker& me = workers_[w];
    --parked_;
    me.work = goal_.compute(w, ++me.step, me.batch);
    ++result_.gradients.computed;
  }

  // The worker enters the next stage that takes time, or arrives.
  void proceed(std::uint32_t w) {
    worker& me = workers_[w];
    switch (me.at) {
      case stage::awaiting_word:
        compute(w);
        [[fallthrough]];
      case stage::parked:
        if (now_ < round_over_) return me.at = stage::awaiting_update, wait(w, round_over_ - now_);
        [[fallthrough]];
      case stage::awaiting_update:
        if constexpr (measures) me.began = now_;
        if (link_.transfer_time() > 0) return me.at = stage::pulling, link_.start(w, now_);
        [[fallthrough]];
      case stage::pulling:
        if (machines_.link.latency > 0) return me.at = stage::pull_latency, wait(w, machines_.link.latency);
        [[fallthrough]];
      case stage::pull_latency:
        me.at = stage::computing;
        if constexpr (measures) me.pulled = now_;
        return shared_cores_ ? cores_.start(w, computing_time(w), now_) : wait(w, computing_time(w));
      case stage::computing:
        if (const double sleep = stragglers_.sleep(w, me.step, now_); sleep > 0)
          return me.at = stage::sleeping, wait(w, sleep);
        [[fallthrough]];
      case stage::sleeping:
        if constexpr (measures) me.computed = now_;
        if (link_.transfer_time() > 0) return me.at = stage::pushing, link_.start(w, now_);
        [[fallthrough]];
      case stage::pushing:
        if (machines_.link.latency > 0) return me.at = stage::push_latency, wait(w, machines_.link.latency);
        [[fallthrough]];
      default: return arrive(w, false);
    }
  }

  [[nodiscard]] double computing_time(std::uint32_t w) noexcept {
    const worker& me = workers_[w];
    const double deviate = machines_.jitter > 0 ? jitter_(w, me.step) : 0.0;
    return stragglers_.slowdown(w, me.step, now_) *
           sim::computing_time(machines_, w, me.work.samples, run_.batch, deviate);
  }

  void arrive(std::uint32_t w, bool cancelled) {
    worker& me = workers_[w];
    me.at = stage::at_server;
    arrival& push = arrivals_.push();  // member by member: a copy would wait for what was written just before
    push.from = id(w);
    push.step = me.step;
    push.work = me.work;
    push.lr_scale = me.lr_scale;
    push.cancelled = cancelled;
    if constexpr (measures) {
      if (cancelled) return;
      const step_metrics of_step = detail::metrics_of(me, now_, link_.transfer_time());
      if constexpr (watches_metrics) watcher_.measured(push.from, of_step);
      static_cast<void>(sync_.measured(push.from, of_step));
    }
  }

  void interrupt(std::uint32_t w) noexcept {
    queue_.cancel(w);
    cores_.remove(w, now_);
    link_.remove(w, now_);
  }

  void cancel(std::uint32_t w) {
    worker& me = workers_[w];
    if (me.at == stage::awaiting_word) compute(w), me.at = stage::awaiting_update;
    if (!me.in_step()) return;  // it is at the server already, where its gradient meets the same end
    interrupt(w);
    arrive(w, true);
  }

  // ---- the server

  void begin_service() {
    const arrival& push = arrivals_.front();
    const gradient& work = push.work;
    const admitted answer = sync_.admit({.worker = push.from,
                                         .now = now_,
                                         .step = push.step,
                                         .samples = work.samples,
                                         .loss = loss_.with(work, push.cancelled),
                                         .grad_norm = work.norm});
    serving_ = true;
    served_ = false;
    if (!(service_ > 0) || answer.what.what == verdict::refused) return end_service(answer);
    verdict_ = answer;
    queue_.schedule_service(server_service, now_ + service_, push.from.index);
  }

  // After an update, whatever brought it about: the next push waits.
  void begin_probe() {
    serving_ = served_ = true;
    queue_.schedule_service(server_service, now_ + std::exchange(probing_, 0.0), no_worker);
  }

  void end_service(const admitted& answer) {
    serving_ = false;
    if (std::exchange(served_, true)) return;  // it has probed, and is free again
    const worker_id from = arrivals_.front().from;
    const bool known = answer.what.what != verdict::refused;
    carry_out(answer);
    arrivals_.pop();
    if (known) {
      ++result_.pushes;
      ++result_.steps[from.index];
    }
    worker& me = workers_[from.index];
    if (me.incarnation == from.incarnation && me.at == stage::at_server) {
      me.at = stage::parked;
      ++parked_;
    }
    static_cast<void>(sync_.commit(answer.work, now_, outcome::done, from.index, effects{*this}));
    if (known) judge();
  }

  void carry_out(const admitted& answer) {
    const arrival& push = arrivals_.front();
    const admission& what = answer.what;
    if (what.what == verdict::apply || what.what == verdict::accumulate) {
      staleness_.add(answer.staleness);
      result_.samples += push.work.samples;
      const contribution part{push.work.handle, applied_weight({.lr_scale = push.lr_scale}, what.weight,
                                                               push.work.samples, run_.batch)};
      if (what.what == verdict::accumulate) return rounds_.add(answer.round, part);
      update({&part, 1});
      ++result_.gradients.applied;
    } else {
      ++(what.what == verdict::refused ? result_.gradients.lost : result_.gradients.dropped);
    }
    goal_.release(push.work.handle);
  }

  void update(std::span<const contribution> parts) {
    goal_.update(parts, rate_.at(result_.pushes));
    ++result_.updates;
    if (loss_.probes()) loss_.probed(goal_.probe()), probing_ += run_.probe_time;
  }

  void flush(std::uint64_t round, float scale) {
    std::vector<contribution>& parts = rounds_.take(round);
    for (contribution& part : parts) part.weight *= scale;
    update(parts);
    for (const contribution& part : parts) goal_.release(part.handle);
    result_.gradients.flushed += parts.size();
    round_over_ = now_ + machines_.round_time * static_cast<double>(parts.size());
  }

  void discard(std::uint64_t round) {
    const std::vector<contribution>& parts = rounds_.take(round);
    for (const contribution& part : parts) goal_.release(part.handle);
    result_.gradients.discarded += parts.size();
  }

  void judge() {
    if (line_.due(result_.pushes))
      if (const run_end end = line_.judge(evaluate(), result_.pushes); end != run_end::unfinished) return finish(end);
    if (line_.passed(result_.samples)) finish(run_end::reached);
  }

  evaluation evaluate() {
    const evaluation now = goal_.evaluate();
    evaluated_at_ = result_.pushes;
    result_.final_loss = now.loss;
    result_.final_accuracy = now.accuracy;
    if (run_.keep_curve) result_.curve.push_back({now_, result_.pushes, now.loss, now.accuracy});
    return now;
  }

  // ---- membership

  void schedule_failure() noexcept {
    if (next_failure_ < failures_.size())
      queue_.schedule_service(failure_service, failures_[next_failure_].time, failures_[next_failure_].worker);
  }

  void fail() {
    const failure what = failures_[next_failure_++];
    schedule_failure();
    worker& me = workers_[what.worker];
    if (what.kind == failure_kind::join) {
      me.at = stage::parked;
      ++parked_;
      ++live_;
      static_cast<void>(sync_.join(id(what.worker), now_, what.worker, effects{*this}));
      return;
    }
    interrupt(what.worker);
    if (me.in_step()) {
      goal_.release(me.work.handle);
      ++result_.gradients.lost;
    }
    if (me.waits()) --parked_;
    --live_;
    me.at = stage::absent;
    const worker_id gone = id(what.worker);
    ++me.incarnation;
    const cause why = what.kind == failure_kind::death ? cause::death : cause::leave;
    static_cast<void>(sync_.depart(gone, now_, why, effects{*this}));
  }

  // ---- the end

  void finish(run_end end) {
    result_.end = end, result_.ended = now_;
    result_.reached = end == run_end::reached;
    result_.time = result_.reached ? now_ : run_.max_time;
    if (evaluated_at_ != result_.pushes) static_cast<void>(evaluate());
    return_unfinished();
    result_.staleness_mean = staleness_.mean();
    result_.staleness_p95 = staleness_.quantile(0.95);
    result_.idle_share = live_time_ > 0 ? idle_time_ / live_time_ : 0;
    result_.decision_share = now_ > 0 ? machines_.decision_time * static_cast<double>(result_.pushes) / now_ : 0;
    result_.overrides = sync_.counts().overrides();
    for (std::size_t why = 0; why < result_.counted.size(); ++why)
      result_.counted[why] = sync_.counts().total(static_cast<reason>(why));
  }

  // Gives every gradient that is still out back to the objective.
  void return_unfinished() {
    std::uint64_t& count = result_.gradients.unfinished;
    const auto give_back = [&](std::uint32_t handle) { goal_.release(handle), ++count; };
    for (const worker& each : workers_)
      if (each.in_step()) give_back(each.work.handle);
    for (; !arrivals_.empty(); arrivals_.pop()) give_back(arrivals_.front().work.handle);
    while (rounds_.waiting() > 0)
      for (const contribution& part : rounds_.take(rounds_.any())) give_back(part.handle);
  }

  Watcher& watcher_;
  cluster_options machines_;
  run_options run_;
  Goal& goal_;
  std::vector<worker> workers_;
  event_queue queue_;
  shared_resource cores_;
  shared_link link_;
  normal_draws own_jitter_;
  normal_draws& jitter_;
  straggler_model stragglers_;
  learning_rate rate_;
  finish_line line_;
  loss_feature loss_;
  std::vector<failure> failures_;  // in order of time
  std::uint32_t parked_;
  std::uint32_t live_;
  controller_type sync_;

  bool shared_cores_ = false;
  double service_ = 0;   // time of one push at the server
  double round_over_ = 0;  // when the latest round is an update
  double now_ = 0;
  double idle_time_ = 0;
  double live_time_ = 0;
  double polled_at_ = -std::numeric_limits<double>::infinity();
  std::size_t next_failure_ = 0;

  fifo<arrival> arrivals_;  // the first one stays until it has been served
  bool serving_ = false;
  bool served_ = false;   // the push in service has been committed: the server probes
  double probing_ = 0;    // time of probes that are to be made
  admitted verdict_{};      // on the push in service, where that takes time
  open_rounds rounds_;

  std::uint64_t evaluated_at_ = (std::numeric_limits<std::uint64_t>::max)();
  staleness_histogram staleness_;
  run_result result_;
};

/// Neither problem(machines) nor problem(run) nor the policy's own objects.
template <SyncPolicy Policy>
[[nodiscard]] bool can_run(const cluster_options& machines, const run_options& run, const Policy& policy) {
  return problem(machines).empty() && problem(run).empty() && problem_of(policy, machines.workers).empty();
}

/// A whole run; one that ends at once as `invalid` where can_run() says no. Costs as for `cluster`.
template <SyncPolicy Policy, Objective Goal, Observer Watcher>
[[nodiscard]] run_result simulate(const cluster_options& machines, const run_options& run, Policy policy, Goal& goal,
                                  Watcher& watcher) {
  if (!can_run(machines, run, policy)) return {.end = run_end::invalid, .time = run.max_time};
  cluster<Policy, Goal, Watcher> all{machines, run, std::move(policy), goal, watcher};
  while (all.advance()) continue;
  return all.result();
}

/// The same, unwatched.
template <SyncPolicy Policy, Objective Goal>
[[nodiscard]] run_result simulate(const cluster_options& machines, const run_options& run, Policy policy, Goal& goal) {
  no_observer nobody;
  return simulate(machines, run, std::move(policy), goal, nobody);
}

}  // namespace rubato::inline RUBATO_ABI::sim

#endif
