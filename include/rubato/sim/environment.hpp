#ifndef RUBATO_SIM_ENVIRONMENT_HPP
#define RUBATO_SIM_ENVIRONMENT_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "../encode/action_set.hpp"
#include "../encode/encoder.hpp"
#include "../sync/concepts.hpp"
#include "cluster.hpp"

namespace rubato::inline RUBATO_ABI::sim {

namespace detail {

/// A push at which somebody outside is to decide.
template <std::size_t Dim>
struct open_choice {
  std::array<float, Dim> observation{};
  std::uint32_t legal = 0;
  std::uint32_t submitter = no_worker;
  group_action action = group_action::submitter;
  bool awaits = false;
};

/// Puts each decision on a push off: holds, asks to be woken at once, and carries out then what `choice` says.
template <StateEncoder Encoder>
class deferring_policy {
 public:
  deferring_policy(Encoder encoder, open_choice<Encoder::dim>& choice)
      : encoder_{std::move(encoder)}, choice_{&choice} {}

  void observe(const feedback& step) noexcept { encoder_.observe(step); }
  void shape(const cluster_view& view, std::uint32_t worker, grant&) noexcept {
    rubato::detail::tell_started(encoder_, view, worker);
  }
  void reset(std::uint32_t worker) noexcept { rubato::detail::tell_gone(encoder_, worker); }
  void resize(std::uint32_t capacity) { encoder_.resize(capacity); }
  [[nodiscard]] bool awaits() const noexcept { return choice_->awaits; }

  [[nodiscard]] decision release(const cluster_view& view, const event& what) noexcept {
    const bool first = !std::exchange(started_, true);
    if (std::exchange(choice_->awaits, false)) {
      if (choice_->action == group_action::submitter) return decision::only(choice_->submitter);
      return to_decision(choice_->action);
    }
    if (!is_choice(view, what)) {
      rubato::detail::tell_event(encoder_, what);
      return between_pushes(view, what, first);
    }
    encoder_.encode(view, what, choice_->observation);
    choice_->legal = legal_actions(view);
    choice_->submitter = what.worker;
    choice_->awaits = true;
    return decision::hold().with_wake_at(what.now);
  }

 private:
  Encoder encoder_;
  open_choice<Encoder::dim>* choice_;
  bool started_ = false;
};

}  // namespace detail

/// What a step of `environment` led to: the members that reinforcement learning asks of it, and why the run ended.
struct environment_outcome {
  std::span<const float> observation{};  ///< valid until the next step() or reset()
  float reward = 0;                      ///< -elapsed
  double elapsed = 0;                    ///< time until the next decision or the end
  std::uint32_t executed = 0;            ///< the group_action that was carried out
  bool terminated = false;               ///< the run has ended: nothing follows that the reward has not counted
  bool truncated = false;                ///< never
  run_end end = run_end::unfinished;     ///< why it has
};

/// A cluster as a task for reinforcement learning: at each push the agent chooses a group_action.
///
///     rubato::sim::environment<quadratic, rlp_state> task{machines, run, goal};
///     for (auto seen = task.reset(seed); !task.done();) {
///       const auto next = task.step(choose(seen, task.legal()));
///       seen = next.observation;
///     }
///
/// An episode is a run: with the actions of a q_policy it is simulate() with that policy, bit for bit, up to the
/// gradients that are under way when the run ends (nobody is asked at the last push). An illegal action is replaced,
/// see canonical(). The rewards, and the time before the first decision, add up to minus the time of the run; one that
/// diverges, stalls or runs out of time counts as max_time, so the last reward is that of the whole rest, and such an
/// end is one like any other. A run that ends before its first push still takes one step, whatever the action, which is
/// rewarded with all of its time. There is no guard, since there is nothing for it to do: run.guard is not used.
///
/// Pre      problem(machines) and problem(run) are empty; `goal` outlives the environment; step() after reset(), and
///          not after the step that ended the run
/// Random   an episode depends on nothing but the seed and the actions
/// Cost     reset: a new cluster, which allocates. step: that of the cluster's events until the next push.
/// Thread   one object, with its objective, per thread
/// Tests    tests/sim/environment_test.cpp: EqualsSimulateOnTheQuadratic, EqualsSimulateOnSgd,
///          EqualsSimulateWithFaults, RewardsAddUpToTheTime, TiesAndBusyServers, ObservationIsThatOfThePush,
///          EpisodesDoNotDependOnEachOther, IllegalActionsAreReplaced, EndsAtMaxTime, DivergenceCountsAsMaxTime,
///          MayEndBeforeAnyDecision
/// Source   Zhu et al. (ICLR 2020), section 3.2: reward = -(time between two arrivals)
template <Objective Goal, StateEncoder Encoder>
class environment {
 public:
  using outcome = environment_outcome;  ///< what step() returns

  /// No run starts before reset(), which takes the place of run.seed. Each begins with a copy of `encoder`.
  environment(const cluster_options& machines, const run_options& run, Goal& goal, Encoder encoder = {})
      : machines_{machines},
        run_{run},
        goal_{&goal},
        encoder_{std::move(encoder)},
        choice_{std::make_unique<detail::open_choice<Encoder::dim>>()} {
    RUBATO_ASSERT(problem(machines).empty() && problem(run).empty(), "cluster or run options out of range");
    run_.guard = {.enabled = false};
  }

  [[nodiscard]] static constexpr std::size_t observation_size() noexcept { return Encoder::dim; }  ///< numbers
  [[nodiscard]] static constexpr std::size_t actions() noexcept { return group_actions; }  ///< those of group_action
  /// Bit a: action a is legal at the present observation.
  [[nodiscard]] std::uint32_t legal() const noexcept { return choice_->legal; }

  /// Starts a run with this seed, up to the first push.
  std::span<const float> reset(std::uint64_t seed) {
    run_.seed = seed;
    *choice_ = {};
    choice_->legal = bit_of(group_action::submitter);
    cluster_.reset();  // the objective is reset by the new one's constructor
    cluster_ = std::make_unique<cluster_type>(machines_, run_, policy_type{encoder_, *choice_}, *goal_, watcher_);
    run_to_choice();
    ended_ = false;
    since_ = done() ? 0.0 : cluster_->now();
    return choice_->observation;
  }

  /// Carries out an action, and goes on to the next push.
  outcome step(std::uint32_t action) {
    RUBATO_ASSERT(cluster_ != nullptr && !ended_, "environment: reset() comes first");
    const double before = since_;
    const auto wanted = action < group_actions ? static_cast<group_action>(action) : group_action::submitter;
    choice_->action = canonical(wanted, choice_->legal);
    if (!done()) {
      cluster_->resume();
      run_to_choice();
    }
    ended_ = done();
    since_ = ended_ ? cluster_->result().time : cluster_->now();
    outcome next{.observation = choice_->observation,
                 .elapsed = since_ - before,
                 .executed = static_cast<std::uint32_t>(choice_->action),
                 .terminated = ended_,
                 .end = cluster_->result().end};
    next.reward = static_cast<float>(-next.elapsed);
    return next;
  }
  outcome step(group_action action) { return step(static_cast<std::uint32_t>(action)); }  ///< the same

  /// The run has ended; also one that never came to a push.
  [[nodiscard]] bool done() const noexcept {
    return cluster_ != nullptr && cluster_->result().end != run_end::unfinished;
  }
  /// Virtual time of the run; 0 before the first reset().
  [[nodiscard]] double now() const noexcept { return cluster_ == nullptr ? 0.0 : cluster_->now(); }
  /// Complete once done(). Precondition: after reset().
  [[nodiscard]] const run_result& result() const noexcept { return cluster_->result(); }

 private:
  using policy_type = detail::deferring_policy<Encoder>;
  using cluster_type = cluster<policy_type, Goal>;

  void run_to_choice() {
    while (!cluster_->awaits() && cluster_->advance()) continue;
  }

  cluster_options machines_;
  run_options run_;
  Goal* goal_;
  Encoder encoder_;
  no_observer watcher_;
  std::unique_ptr<detail::open_choice<Encoder::dim>> choice_;  // its address stays when the environment moves
  std::unique_ptr<cluster_type> cluster_;
  double since_ = 0;    // when the time began that the next step is rewarded with
  bool ended_ = false;  // by a step
};

}  // namespace rubato::inline RUBATO_ABI::sim

#endif
