#ifndef RUBATO_CUDA_SIMULATED_CLUSTER_CUH
#define RUBATO_CUDA_SIMULATED_CLUSTER_CUH

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "draws.cuh"
#include "lanes.cuh"
#include "simulated_goals.cuh"
#include "simulated_machines.cuh"
#include "simulated_policies.cuh"

namespace rubato::inline RUBATO_ABI::cuda {

/// Why an episode ended: a sim::run_end, or that there were as many pushes as it may have.
enum class episode_end : std::uint8_t {
  unfinished,     ///< it has not
  reached,        ///< its stop rule was met
  out_of_time,    ///< max_time came first
  out_of_pushes,  ///< max_pushes came first
  diverged,       ///< an evaluation was not finite
  stalled         ///< nobody runs, and nobody will
};

/// What an episode came to.
struct episode_result {
  double time = 0;                            ///< when the stop rule was met; max_time if it was not
  double loss = 0;                            ///< at the end
  double accuracy = 0;                        ///< at the end; share in [0, 1]
  std::uint32_t pushes = 0;                   ///< dropped ones among them
  std::uint32_t updates = 0;                  ///< of the parameters
  episode_end end = episode_end::unfinished;  ///< why it ended
};

/// What the lanes of a cluster share: shared memory, or a local object for one lane. Nothing needs to be set before.
///
/// 28 bytes a worker, 8 a parameter, 8 a parameter of each worker's gradient, and what goal and policy want: 1.0 KB for
/// 10 workers and the quadratic in 8 dimensions, and 0.85 KB more for the paper's network. So 64 such clusters, 16
/// warps of four, take 125 KB of an SM's shared memory, and 66 KB without the network.
template <std::uint32_t MaxWorkers, class Goal, class Policy>
struct simulated_memory {
  double ends[MaxWorkers];                       ///< of a step: the time, or while it shares cores the service
  double parameters[Goal::dimension];            ///< that are trained
  double gradient[MaxWorkers][Goal::dimension];  ///< of each worker's step, or waiting for the flush
  double scratch[Goal::scratch_size == 0 ? 1 : Goal::scratch_size];  ///< of the goal
  /// Of the parked by their push; of the running by the push that released them first.
  std::uint64_t order[MaxWorkers];
  float loss[MaxWorkers];             ///< with the gradient
  std::uint32_t clock[MaxWorkers];    ///< pushes of each worker
  std::uint32_t version[MaxWorkers];  ///< updates at its grant
  typename Policy::memory policy;     ///< what its decide() shares among the lanes
};

/// Hears of pushes and releases, in their order, from lane 0; this one is deaf.
struct unwatched {
  /// Whether pushed(const simulated_push&) and released(worker, time) are called, which only then need to exist.
  static constexpr bool watches = false;
};

namespace detail {

[[nodiscard]] RUBATO_DETAIL_SHARED inline std::uint32_t bits_of(std::uint64_t set) noexcept {
#if RUBATO_DETAIL_DEVICE
  return static_cast<std::uint32_t>(__popcll(set));
#else
  return static_cast<std::uint32_t>(__builtin_popcountll(set));
#endif
}
// The lowest member. Precondition: there is one.
[[nodiscard]] RUBATO_DETAIL_SHARED inline std::uint32_t first_of(std::uint64_t set) noexcept {
#if RUBATO_DETAIL_DEVICE
  return static_cast<std::uint32_t>(__ffsll(static_cast<long long>(set)) - 1);
#else
  return static_cast<std::uint32_t>(__builtin_ctzll(set));
#endif
}
[[nodiscard]] RUBATO_DETAIL_SHARED inline std::uint64_t bit(std::uint32_t worker) noexcept {
  return std::uint64_t{1} << worker;
}

// One run of one cluster. Each lane has all scalars, and takes every step of the control flow by itself: what is read
// is the same for all. Only arrays are shared; a push is, between syncs,
//   1 who is next, and the update (each lane its parameters)
//   2 what the policy says
//   3 the starts (each lane its workers' draws, and its part of each gradient)
template <std::uint32_t MaxWorkers, class Goal, class Policy, Lanes L, class Watcher>
class simulated_episode {
 public:
  using memory = simulated_memory<MaxWorkers, Goal, Policy>;

  RUBATO_DETAIL_SHARED simulated_episode(const simulated_machines<MaxWorkers>& machines, const simulated_run& run,
                                         const Goal& goal, const Policy& policy, std::uint64_t seed, const L& lanes,
                                         memory& shared, Watcher& watcher) noexcept
      : machines_{machines},
        run_{run},
        goal_{goal},
        policy_{policy},
        seed_{seed},
        lanes_{lanes},
        shared_{shared},
        watcher_{watcher} {}

  RUBATO_DETAIL_SHARED episode_result operator()() noexcept {
    begin();
    while (result_.end == episode_end::unfinished) {
      std::uint32_t worker = nobody;
      const bool cancelled = cancelled_ != 0;
      if (cancelled) {
        worker = earliest(cancelled_);
        cancelled_ &= ~bit(worker);
      } else if (!next_event(worker)) {
        continue;
      }
      take(worker, cancelled);
      judge();
    }
    if (evaluated_at_ != result_.pushes) static_cast<void>(evaluate());
    result_.time = result_.end == episode_end::reached ? now_ : run_.max_time;
    return result_;
  }

 private:
  static constexpr std::uint32_t nobody = ~std::uint32_t{0};
  static constexpr double never = std::numeric_limits<double>::infinity();

  RUBATO_DETAIL_SHARED void begin() noexcept {
    goal_.begin(lanes_, seed_, shared_.parameters);
    for (std::uint32_t w = lanes_.index(); w < machines_.workers; w += lanes_.count()) {
      shared_.clock[w] = 0;
      shared_.order[w] = w;
    }
    drawn_ = drawn_workers(machines_, seed_);
    next_evaluation_ = run_.evaluate_every * (run_.towards_target ? 5 : 1);
    at_minimum_ = machines_.workers;
    parked_ = ~std::uint64_t{0} >> (64 - machines_.workers);
    lanes_.sync();
    start(parked_, nobody, 0);
  }

  // ---- what is next

  // The earliest of these, and whose it is: of equal ones the lowest.
  RUBATO_DETAIL_SHARED double earliest_end(std::uint64_t of, std::uint32_t& whose) const noexcept {
    double first = never;
    for (; of != 0; of &= of - 1) {
      const std::uint32_t w = first_of(of);
      if (const double end = shared_.ends[w]; end < first) first = end, whose = w;
    }
    return first;
  }
  // Who is first in order.
  RUBATO_DETAIL_SHARED std::uint32_t earliest(std::uint64_t of) const noexcept {
    std::uint32_t first = nobody;
    std::uint64_t least = ~std::uint64_t{0};
    for (; of != 0; of &= of - 1) {
      const std::uint32_t w = first_of(of);
      if (shared_.order[w] < least) least = shared_.order[w], first = w;
    }
    return first;
  }

  // Lets the next event happen; false if it is not a push.
  RUBATO_DETAIL_SHARED bool next_event(std::uint32_t& worker) noexcept {
    double time = earliest_end(running_ & ~computing_, worker);
    bool computed = false;
    if (computing_ != 0) {
      std::uint32_t job = nobody;
      const double end = earliest_end(computing_, job);
      const double left = end - served_;
      const double then = since_ + (left > 0 ? left : 0.0) / share();
      computed = then < time || (then == time && job < worker);
      if (computed && then <= run_.max_time) {
        served_ = end;
        since_ = then;
        computing_ &= ~bit(job);
      }
      if (computed) time = then, worker = job;
    }
    if (!(time <= run_.max_time)) {
      result_.end = time == never ? episode_end::stalled : episode_end::out_of_time;
      return false;
    }
    now_ = time;
    if (computed) {
      const double sleep = sleep_of(machines_, seed_, drawn_, worker, std::uint64_t{shared_.clock[worker]} + 1);
      if (sleep > 0) {
        lanes_.sync();
        if (lanes_.index() == 0) shared_.ends[worker] = now_ + sleep;
        lanes_.sync();
        return false;
      }
    }
    running_ &= ~bit(worker);
    return true;
  }

  // ---- cores that are shared: sim::shared_resource

  [[nodiscard]] RUBATO_DETAIL_SHARED double share() const noexcept {
    const double each = static_cast<double>(machines_.cores) / static_cast<double>(bits_of(computing_));
    return each < 1.0 ? each : 1.0;
  }
  RUBATO_DETAIL_SHARED void serve() noexcept {
    if (computing_ == 0) {
      served_ = 0;
    } else if (now_ != since_) {
      std::uint32_t whose = nobody;
      const double most = earliest_end(computing_, whose),
                   then = exact_double::plus_product(served_, now_ - since_, share());
      served_ = then < most ? then : most;
    }
    since_ = now_;
  }

  // ---- a push

  RUBATO_DETAIL_SHARED void take(std::uint32_t worker, bool cancelled) noexcept {
    const float measured = shared_.loss[worker];
    simulated_push push{.worker = worker, .workers = machines_.workers};
    push.clock = shared_.clock[worker] + 1;
    push.staleness = result_.updates - shared_.version[worker];
    push.dropped = cancelled || !is_finite(measured);
    push.loss = seen(measured, cancelled);
    if (!push.dropped) {
      const simulated_use use = policy_.use(machines_.workers, added_);
      samples_ += run_.batch;
      if (use == simulated_use::apply) {
        update(worker, -run_.rate_at(result_.pushes));
        ++result_.updates;
        lanes_.sync();
      } else {
        round_ |= bit(worker);
        ++added_;
        push.pending = use == simulated_use::add;
      }
      ++result_.pushes;
      if (use == simulated_use::complete) flush(worker);
    } else {
      ++result_.pushes;
    }
    parked_ |= bit(worker);
    tick(worker, push.clock);
    push.running = bits_of(running_ | cancelled_);
    push.parked = bits_of(parked_);
    push.minimum = minimum_;
    push.added = added_;
    push.pushes = result_.pushes;
    push.now = now_;
    if constexpr (Watcher::watches)
      if (lanes_.index() == 0) watcher_.pushed(push);

    const simulated_decision next = policy_.decide(lanes_, push, state_, shared_.policy);
    if (next.flushes && added_ > 0) flush(worker);
    if (next.cancels) cancel();
    start(released(next, push), worker, push.clock);
  }

  // The loss that policies see: sim::loss_feature.
  RUBATO_DETAIL_SHARED float seen(float measured, bool cancelled) noexcept {
    if (!is_finite(measured)) return measured;
    const auto loss = static_cast<double>(measured);
    if (!cancelled) {
      average_ = measured_ ? exact_double::plus_product(average_, 0.1, loss - average_) : loss;
      measured_ = true;
    }
    return static_cast<float>(average_);
  }

  RUBATO_DETAIL_SHARED void update(std::uint32_t worker, double scale) noexcept {
    double* const x = shared_.parameters;
    for (std::uint32_t i = lanes_.index(); i < Goal::dimension; i += lanes_.count())
      x[i] = exact_double::plus_product(x[i], scale, shared_.gradient[worker][i]);
  }

  // Gradients in the order in which they came, `last` at the end.
  RUBATO_DETAIL_SHARED void flush(std::uint32_t last) noexcept {
    const double scale = -run_.rate_at(result_.pushes) *
                         static_cast<double>(detail::rounded_once::quotient(1.0F, static_cast<float>(added_)));
    for (std::uint64_t rest = round_ & ~bit(last); rest != 0;) {
      const std::uint32_t next = earliest(rest);
      update(next, scale);
      rest &= ~bit(next);
    }
    if ((round_ & bit(last)) != 0) update(last, scale);
    round_ = 0;
    added_ = 0;
    ++result_.updates;
    lanes_.sync();
  }

  // Clocks go up by one: so does the minimum, once nobody is there any more. The array follows in start().
  RUBATO_DETAIL_SHARED void tick(std::uint32_t worker, std::uint32_t clock) noexcept {
    if (clock != minimum_ + 1 || --at_minimum_ > 0) return;
    minimum_ = clock;
    for (std::uint32_t w = 0; w < machines_.workers; ++w)
      at_minimum_ += w == worker || shared_.clock[w] == minimum_ ? 1 : 0;
  }

  RUBATO_DETAIL_SHARED void cancel() noexcept {
    if (computing_ != 0) serve();
    computing_ = 0;
    cancelled_ |= running_;
    running_ = 0;
  }

  [[nodiscard]] RUBATO_DETAIL_SHARED std::uint64_t released(const simulated_decision& next,
                                                            const simulated_push& push) const noexcept {
    if (next.verb == simulated_verb::hold) return 0;
    if (next.verb == simulated_verb::submitter) return bit(push.worker);
    if (next.verb == simulated_verb::all) return parked_;
    std::uint64_t covered = push.clock <= next.clock ? bit(push.worker) : 0;
    for (std::uint64_t rest = parked_ & ~bit(push.worker); rest != 0; rest &= rest - 1)
      if (const std::uint32_t w = first_of(rest); shared_.clock[w] <= next.clock) covered |= bit(w);
    return covered;
  }

  // ---- steps

  // All of these start; the submitter, whose clock this is, has parked.
  RUBATO_DETAIL_SHARED void start(std::uint64_t who, std::uint32_t submitter, std::uint32_t clock) noexcept {
    if constexpr (Watcher::watches)
      if (lanes_.index() == 0) tell_releases(who, submitter);
    if (who != 0 && machines_.cores > 0) serve();
    const double common = who != 0 ? goal_.look(shared_.parameters) : 0.0;
    lanes_.sync();
    if (lanes_.index() == 0 && submitter != nobody) {
      shared_.clock[submitter] = clock;
      if ((who & bit(submitter)) == 0) shared_.order[submitter] = result_.pushes;
    }
    const auto step_of = [&](std::uint32_t w) { return std::uint64_t{w == submitter ? clock : shared_.clock[w]} + 1; };
    std::uint64_t rest = who;
    for (std::uint32_t i = 0; i < lanes_.index(); ++i) rest &= rest - 1;
    while (rest != 0) {  // whoever has nothing to do waits at the end, so that all draw at once
      const std::uint32_t w = first_of(rest);
      const std::uint64_t waited = w == submitter ? result_.pushes : shared_.order[w];
      shared_.order[w] = std::uint64_t{result_.pushes} << 32 | (waited & 0xffff'ffff);
      shared_.version[w] = result_.updates;
      shared_.ends[w] = end_of(w, step_of(w));
      for (std::uint32_t i = 0; i < lanes_.count(); ++i) rest &= rest - 1;
    }
    for (std::uint64_t left = who; left != 0; left &= left - 1) {
      const std::uint32_t w = first_of(left);
      const float loss =
          goal_.compute(lanes_, seed_, w, step_of(w), common, shared_.parameters, shared_.gradient[w], shared_.scratch);
      if (lanes_.index() == 0) shared_.loss[w] = loss;
    }
    running_ |= who;
    parked_ &= ~who;
    if (machines_.cores > 0) computing_ |= who;
    lanes_.sync();
  }

  [[nodiscard]] RUBATO_DETAIL_SHARED double end_of(std::uint32_t worker, std::uint64_t step) const noexcept {
    const double computing = computing_time(machines_, seed_, worker, step);
    if (machines_.cores > 0) return served_ + computing;
    const double then = now_ + computing, sleep = sleep_of(machines_, seed_, drawn_, worker, step);
    return sleep > 0 ? then + sleep : then;
  }

  RUBATO_DETAIL_SHARED void tell_releases(std::uint64_t who, std::uint32_t submitter) noexcept {
    const bool goes = submitter != nobody && (who & bit(submitter)) != 0;
    if (goes) who &= ~bit(submitter);
    while (who != 0) {
      const std::uint32_t w = earliest(who);
      watcher_.released(w, now_);
      who &= ~bit(w);
    }
    if (goes) watcher_.released(submitter, now_);
  }

  // ---- the end: sim::finish_line

  RUBATO_DETAIL_SHARED simulated_evaluation evaluate() noexcept {
    const simulated_evaluation at = goal_.evaluate(lanes_, shared_.parameters, shared_.scratch);
    lanes_.sync();  // before anybody updates
    evaluated_at_ = result_.pushes;
    result_.loss = at.loss;
    result_.accuracy = at.accuracy;
    return at;
  }

  RUBATO_DETAIL_SHARED void judge() noexcept {
    if (result_.pushes >= next_evaluation_) {
      constexpr double most = 3.4028234663852886e38;  // of a float
      const simulated_evaluation at = evaluate();
      if (!(at.loss <= most && at.loss >= -most) || !is_finite(at.accuracy)) {
        result_.end = episode_end::diverged;
        return;
      }
      const double distance = run_.target_accuracy - at.accuracy;
      const std::uint32_t spacing = !run_.towards_target ? 1 : distance > 0.1 ? 5 : distance > 0.03 ? 2 : 1;
      next_evaluation_ = result_.pushes + run_.evaluate_every * spacing;
      if (run_.towards_target && at.accuracy >= run_.target_accuracy) {
        result_.end = episode_end::reached;
        return;
      }
    }
    if (!run_.towards_target && samples_ >= run_.workload)
      result_.end = episode_end::reached;
    else if (result_.pushes >= run_.max_pushes)
      result_.end = episode_end::out_of_pushes;
  }

  const simulated_machines<MaxWorkers>& machines_;
  const simulated_run& run_;
  const Goal& goal_;
  const Policy& policy_;
  std::uint64_t seed_;
  const L& lanes_;
  memory& shared_;
  Watcher& watcher_;

  typename Policy::state state_{};
  episode_result result_{};
  std::uint64_t drawn_ = 0;      // sets of workers, a bit each: who straggles all the time,
  std::uint64_t running_ = 0;    // who is in a step,
  std::uint64_t computing_ = 0;  // of these on cores that are shared,
  std::uint64_t cancelled_ = 0;  // who has been cancelled and is to push,
  std::uint64_t parked_ = 0;     // who waits,
  std::uint64_t round_ = 0;      // whose gradient is in the open round
  std::uint32_t added_ = 0;      // so many
  std::uint32_t minimum_ = 0;    // of the clocks
  std::uint32_t at_minimum_ = 0;
  std::uint32_t evaluated_at_ = nobody;
  std::uint64_t next_evaluation_ = 0;
  std::uint64_t samples_ = 0;
  double now_ = 0;
  double served_ = 0;  // service that who shared the cores all the time has had, at time since_
  double since_ = 0;
  double average_ = 0;
  bool measured_ = false;
};

}  // namespace detail

/// One run of one simulated cluster, by all lanes: sim::simulate with the same options, seed and policy, push for push.
///
///     simulated_memory<10, quadratic_goal<8>, simulated_ssp> memory;
///     const episode_result r = simulate_episode(machines, run, goal, simulated_ssp{3}, seed, one_lane{}, memory);
///
/// On the host all numbers are sim::simulate's, bit for bit. The device takes logarithms, cosines and powers of its
/// own: there times may differ in the last digits, with jitter, normal or Pareto sleeps, and with them the order of
/// events that lie as close together as that. Any number of lanes gives the same bits. All lanes get the result.
///
/// Precondition: machines, run, goal and policy are the same for all lanes, and made by their make(); `memory` is
/// theirs alone.
///
/// Random  keyed by (seed, worker, step), as on the host
/// Cost    O(workers) a push for who is next, plus goal and policy; three syncs. No allocation. Ends after max_pushes
/// Tests   tests/cuda/simulated_cluster_test.cpp: AgreesWithTheHost, LearnedAgreesWithTheHost, EndsAtEachLimit,
///         AnyNumberOfLanesGivesTheSameBits
template <std::uint32_t MaxWorkers, class Goal, class Policy, Lanes L, class Watcher>
RUBATO_DETAIL_SHARED episode_result simulate_episode(const simulated_machines<MaxWorkers>& machines,
                                                     const simulated_run& run, const Goal& goal, const Policy& policy,
                                                     std::uint64_t seed, const L& lanes,
                                                     simulated_memory<MaxWorkers, Goal, Policy>& memory,
                                                     Watcher& watcher) noexcept {
  return detail::simulated_episode<MaxWorkers, Goal, Policy, L, Watcher>{machines, run,   goal,   policy,
                                                                         seed,     lanes, memory, watcher}();
}

/// The same, unwatched.
template <std::uint32_t MaxWorkers, class Goal, class Policy, Lanes L>
RUBATO_DETAIL_SHARED episode_result simulate_episode(const simulated_machines<MaxWorkers>& machines,
                                                     const simulated_run& run, const Goal& goal, const Policy& policy,
                                                     std::uint64_t seed, const L& lanes,
                                                     simulated_memory<MaxWorkers, Goal, Policy>& memory) noexcept {
  unwatched nobody;
  return simulate_episode(machines, run, goal, policy, seed, lanes, memory, nobody);
}

}  // namespace rubato::inline RUBATO_ABI::cuda

#endif
