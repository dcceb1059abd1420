#ifndef RUBATO_GLOO_PS_DECISION_MAKER_HPP
#define RUBATO_GLOO_PS_DECISION_MAKER_HPP

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/controller.hpp>
#include <rubato/sync/gather.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint.hpp"
#include "limits.hpp"
#include "mailbox.hpp"
#include "messages.hpp"
#include "shard_thread.hpp"

namespace rubato::inline RUBATO_ABI::gloo_ps {

/// What a job is.
struct job_options {
  std::uint64_t job = 1;               ///< tells it from others on the same machines
  shape model{};                       ///< parameters, shards
  std::uint32_t workers = 0;           ///< worker indices go from 0 to workers - 1
  std::uint32_t quorum = 0;            ///< nobody runs before so many have joined; 0: all
  std::uint32_t nominal_samples = 32;  ///< behind a gradient of weight 1: what a worker uses where a grant has no batch
  std::uint64_t max_updates = 0;       ///< then the job ends, with at most one more a worker; 0: no end
  std::uint64_t seed = 0;              ///< of the controller, for releases in random order
  threads_ps::any_rule rule{};         ///< of the updates; each shard has one of its own
  guard_options guard{};               ///< times in seconds
  limit_options limits{};              ///< on steps and waits, beyond which a worker counts as dead
};

/// What is wrong with these options, as a sentence; empty if nothing is.
[[nodiscard]] inline std::string problem(const job_options& o) {
  if (o.model.parameters == 0) return "model.parameters is 0, expected at least 1";
  if (o.model.shards == 0 || o.model.shards > o.model.parameters)
    return "model.shards is " + std::to_string(o.model.shards) + ", expected 1 to the number of parameters, " +
           std::to_string(o.model.parameters);
  if (o.nominal_samples == 0) return "nominal_samples is 0, expected at least 1";
  return problem(o.limits);
}

/// A policy and the name by which the host would make it anew.
struct named_policy {
  std::string name{};  ///< such as "ssp:3"; a checkpoint has it
  any_policy rule;     ///< what decides
};

/// What a change of the policy did to the job.
struct policy_change {
  std::string from{};  ///< its name before
  std::string to{};    ///< and after
  double at = 0;       ///< seconds since the start of the server
  /// Seconds from the last push before it (the change itself, where there was none) to the first release after it; -1:
  /// none came yet. Changes without a release between them have one pause.
  double pause = -1;
};

/// The one clock of a job: a controller, the shards that carry out what it decides, and the lock around the two.
///
/// Verdicts, flushes and reads are put into the queues of the shards under the controller's own lock. So all shards see
/// one order of updates (their versions mean the same everywhere), and a worker that was released after a flush reads
/// parameters with it. The arithmetic is done by the threads of the shards, outside the lock; a push is committed once
/// all of them have acknowledged their part.
///
/// A watcher that has decided(double seconds) is told how long the controller took for each push: admit and commit with
/// all its releases, under the lock, without the wait for it. Of others no time is taken.
///
/// Thread  any number: one for each connection, and one that calls attend()
/// Tests   tests/integrations/gloo_ps/decision_maker_test.cpp: SumsAreExact, ShardsAgree, EveryTicketIsAnswered,
///         NonFiniteGradientsAreDropped, WhatWasMeasuredReachesThePolicyOnce, SwitchIsMeasured,
///         PauseEndsWithTheFirstRelease, CheckpointIsOfOneInstant, RestoredJobGoesOn;
///         tests/integrations/gloo_ps/many_workers_test.cpp: TimesOfDecisionsAreTold
template <Observer Watcher = no_observer>
class decision_maker {
 public:
  /// Pre  problem(options) is empty, problem(controller options, policy) too; `initial` has model.parameters values
  decision_maker(const job_options& options, named_policy policy, std::span<const float> initial, Watcher watcher = {})
      : options_{checked(options, policy.rule, initial)},
        policy_name_{std::move(policy.name)},
        sync_{controller_of(options), std::move(policy.rule), std::move(watcher)},
        parts_{options.workers, options.model.shards},
        seats_(options.workers),
        granted_at_(options.workers, 0.0) {
    shards_.reserve(options.model.shards);
    for (std::uint32_t s = 0; s < options.model.shards; ++s) {
      const auto mine = initial.subspan(static_cast<std::size_t>(options.model.begin_of(s)),
                                        static_cast<std::size_t>(options.model.size_of(s)));
      shards_.push_back(std::make_unique<shard_thread>(s, shard{mine, options.rule}));
    }
  }
  /// The options of the controller that a job has.
  [[nodiscard]] static controller_options controller_of(const job_options& o) {
    return {.capacity = o.workers, .quorum = o.quorum, .guard = o.guard, .seed = o.seed};
  }

  /// A worker comes: it is answered through its mailbox. Refusals are those of controller::join.
  errc join(worker_id who, ticket box) {
    const std::lock_guard lock{mutex_};
    if (closed_) return box->close(reason::none), errc::ok;
    const errc code = sync_.join(who, seconds(), box, effects{*this});
    if (code == errc::ok) seats_[who.index] = std::move(box);
    changed();
    return code;
  }
  /// A worker goes; one that is not here, or has gone before, is passed over.
  void depart(worker_id who, cause why) {
    const std::lock_guard lock{mutex_};
    if (closed_) return;
    static_cast<void>(sync_.depart(who, seconds(), why, effects{*this}));
    changed();
  }

  /// A part of a push has come; the range of all versions that it was computed on, once it is the last one.
  std::optional<version_range> part(worker_id who, std::uint64_t step, std::uint32_t s, std::uint64_t version) {
    const std::lock_guard lock{mutex_};
    return parts_.part(who, step, s, version);
  }

  /// A whole gradient has come: verdict, arithmetic, commit; the next grant goes to the mailbox. `terms` are those
  /// under which it was computed; `now` of the event is not looked at. `measured` is for policies that ask for it.
  admitted push(push_event event, const grant& terms, std::vector<std::vector<float>> gradient, ticket box,
                const step_metrics& measured = {}) {
    const auto work = std::make_shared<split_gradient>(std::move(gradient));
    admitted answer;
    bool applies = false;
    steady::duration taken{};
    {
      std::unique_lock lock{mutex_};
      resumed_.wait(lock, [this] { return savers_ == 0; });
      if (closed_) return box->close(reason::none), answer;
      event.now = seconds();
      newest_push_ = event.now;
      timed(taken, [&] {
        if (runs(event.worker)) static_cast<void>(sync_.measured(event.worker, measured));
        answer = sync_.admit(event);
      });
      ++admitting_;
      applies = answer.what.what == verdict::apply || answer.what.what == verdict::accumulate;
      if (applies)
        put({.what = answer.what.what == verdict::apply ? shard_effect::kind::apply : shard_effect::kind::add,
             .factor = applied_weight(terms, answer.what.weight, event.samples, options_.nominal_samples),
             .round = answer.round,
             .gradient = work});
    }
    if (applies) work->acks.wait();
    const std::lock_guard lock{mutex_};
    --admitting_;
    if (answer.what.what <= verdict::drop)
      longest_step_ = (std::max)(longest_step_, seconds() - granted_at_[event.worker.index]);
    timed(taken, [&] {
      static_cast<void>(sync_.commit(answer.work, seconds(), outcome::done, std::move(box), effects{*this}));
    });
    if constexpr (decisions_are_timed) sync_.watcher().decided(std::chrono::duration<double>(taken).count());
    if (options_.max_updates > 0 && sync_.version() >= options_.max_updates) close_now();
    changed();
    return answer;
  }

  /// Has every shard looked at, in its place among the updates that were decided before; returns when all were.
  void visit(const std::function<void(std::uint32_t, shard&)>& look) {
    countdown done{options_.model.shards};
    {
      const std::lock_guard lock{mutex_};
      put_visits(look, done);
    }
    done.wait();
  }

  /// Puts another policy in charge, at once; the pause is found in changes(). Errors: invalid_option, as a sentence.
  result<policy_change> switch_to(named_policy policy, pending_gradients waiting = pending_gradients::flush) {
    const std::lock_guard lock{mutex_};
    if (std::string wrong = policy.rule.problem(options_.workers); !wrong.empty())
      return error{errc::invalid_option, std::move(wrong)};
    changes_.push_back({.from = policy_name_, .to = policy.name, .at = seconds()});
    const bool waited = std::exchange(awaits_release_, true);
    if (!waited) paused_since_ = newest_push_ >= 0 ? newest_push_ : changes_.back().at;
    const errc code = sync_.switch_to(std::move(policy.rule), changes_.back().at, waiting, effects{*this});
    if (code != errc::ok) {
      changes_.pop_back();
      awaits_release_ = waited;
      return error{code, "the policy " + policy.name + " was refused: " + std::string{rubato::name(code)}};
    }
    policy_name_ = std::move(policy.name);
    changed();
    return changes_.back();
  }

  /// Fewer workers come than the quorum; see controller::set_quorum.
  errc set_quorum(std::uint32_t quorum) {
    const std::lock_guard lock{mutex_};
    const errc code = sync_.set_quorum(quorum, seconds(), effects{*this});
    changed();
    return code;
  }

  /// Ends the job: whoever waits learns it now, whoever computes when it pushes.
  void close() {
    const std::lock_guard lock{mutex_};
    close_now();
  }
  [[nodiscard]] bool closed() const noexcept { return closed_; }  ///< the job has ended

  /// The limits of this worker's next step, and of its wait after it.
  [[nodiscard]] step_limits limits(std::uint32_t worker) {
    const std::lock_guard lock{mutex_};
    return limits_of(options_.limits, longest_step_, max_legal_wait_of(sync_.policy(), worker));
  }

  /// Waits until the controller wants to be polled, or `until`, and polls it. To be called again and again by one
  /// thread, as long as the job lives. Returns at once when the job has ended.
  void attend(steady::time_point until) {
    std::unique_lock lock{mutex_};
    while (!closed_ && steady::now() < until) {
      const double now = seconds(), due = sync_.next_deadline();
      if (due <= now) {
        sync_.poll(now, effects{*this});
        if (sync_.next_deadline() <= now) return;  // not for ever under the lock
        continue;
      }
      duty_.wait_until(lock, due - now < 1e6 ? (std::min)(until, after(due - now)) : until);
    }
  }

  /// The state of one instant at which no gradient is on its way. Pushes wait until it has been taken: for the
  /// gradients under way, and for the copies of the controller's state, not for the file. Nothing if somebody's
  /// releases are still to be carried out: ask again.
  std::optional<checkpoint> take_checkpoint() {
    checkpoint c{.job = options_.job, .model = options_.model, .workers = options_.workers};
    c.shards.resize(options_.model.shards);
    countdown done{options_.model.shards};
    {
      std::unique_lock lock{mutex_};
      ++savers_;
      idle_.wait(lock, [this] { return admitting_ == 0; });
      archive state;
      const bool saved = sync_.save(state) == errc::ok;
      if (saved) {
        c.version = sync_.version();
        c.policy = policy_name_;
        c.longest_step = longest_step_;
        c.controller.assign(state.bytes().begin(), state.bytes().end());
        put_visits([&c](std::uint32_t s, shard& here) { c.shards[s] = image_of(here); }, done);
      }
      if (--savers_ == 0) resumed_.notify_all();
      if (!saved) return std::nullopt;
    }
    done.wait();
    return c;
  }

  /// Goes on from a checkpoint: to be called before anybody joins. Workers that were there when it was taken count as
  /// dead, keep their clocks, and come back with a higher incarnation.
  /// Errors  wrong_kind, invalid_option, corrupt: of another policy, another job, or not usable; nothing has changed
  result<std::uint64_t> restore(checkpoint c) {
    const auto bad = [](errc code, std::string what) { return error{code, "the checkpoint is of " + std::move(what)}; };
    if (c.job != options_.job) return bad(errc::invalid_option, "job " + std::to_string(c.job));
    if (c.workers != options_.workers) return bad(errc::invalid_option, std::to_string(c.workers) + " workers");
    if (c.model != options_.model)
      return bad(errc::invalid_option,
                 std::to_string(c.model.parameters) + " parameters in " + std::to_string(c.model.shards) + " shards");
    for (std::uint32_t s = 0; s < options_.model.shards; ++s) {
      threads_ps::any_rule tried = options_.rule;
      tried.resize(static_cast<std::size_t>(options_.model.size_of(s)));
      if (!tried.restore(c.shards[s].rule)) return bad(errc::invalid_option, "another update rule");
    }
    const std::lock_guard lock{mutex_};
    const auto load = [&c](auto& to) {
      archive state{c.controller};
      return to.load(state, [](worker_id) { return std::optional<ticket>{}; });
    };
    controller<any_policy, ticket> tried{controller_of(options_), sync_.policy()};
    errc code = load(tried);
    if (code == errc::ok) code = tried.version() == c.version ? load(sync_) : errc::corrupt;
    if (code == errc::wrong_kind) return bad(code, "the policy " + c.policy);
    if (code != errc::ok) return error{code, "the controller's state in it was refused: " + std::string{name(code)}};
    auto images = std::make_shared<std::vector<shard_image>>(std::move(c.shards));
    for (std::uint32_t s = 0; s < options_.model.shards; ++s)
      shards_[s]->put({.look = [images, s](shard& here) { gloo_ps::restore(here, std::move((*images)[s])); }});
    longest_step_ = c.longest_step;
    restored_ = sync_.version();
    for (std::uint32_t w = 0; w < options_.workers; ++w)
      if (const worker_state s = sync_.workers()[w].state; s != worker_state::absent && !roster::is_gone(s))
        static_cast<void>(sync_.depart(sync_.workers().id(w), seconds(), cause::death, effects{*this}));
    changed();
    return restored_;
  }

  /// A worker says that it has seen this version of an earlier life of the server: how many updates were lost, as far
  /// as is known by now.
  std::uint64_t note_seen(std::uint64_t version) {
    const std::lock_guard lock{mutex_};
    if (version > restored_) lost_ = (std::max)(lost_, version - restored_);
    return lost_;
  }

  /// What an update rule has thrown last, since this was last asked: updates that a shard lacks, or has by half. Empty
  /// if nothing.
  [[nodiscard]] std::string take_failure() {
    std::string last;
    for (const auto& s : shards_)
      if (std::string failure = s->take_failure(); !failure.empty()) last = std::move(failure);
    return last;
  }

  /// Calls f(controller) under the lock: to read counters and the roster.
  template <class F>
  decltype(auto) inspect(F&& f) {
    const std::lock_guard lock{mutex_};
    return f(sync_);
  }
  /// All so far, the first one first.
  [[nodiscard]] std::vector<policy_change> changes() {
    const std::lock_guard lock{mutex_};
    return changes_;
  }
  /// Updates that a restart is known to have lost: what note_seen() returned last.
  [[nodiscard]] std::uint64_t lost() {
    const std::lock_guard lock{mutex_};
    return lost_;
  }
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }       ///< updates that are in
  [[nodiscard]] const job_options& options() const noexcept { return options_; }  ///< as constructed
  /// Seconds since the construction.
  [[nodiscard]] double seconds() const { return std::chrono::duration<double>(steady::now() - start_).count(); }

 private:
  static const job_options& checked(const job_options& o, [[maybe_unused]] const any_policy& rule,
                                    [[maybe_unused]] std::span<const float> initial) {
    RUBATO_ASSERT(problem(o).empty() && rubato::problem(controller_of(o), rule).empty(),
                  "options out of range: problem() says which");
    RUBATO_ASSERT(initial.size() == o.model.parameters, "as many initial values as the model has parameters");
    return o;
  }
  [[nodiscard]] bool runs(worker_id who) const noexcept {
    if (who.index >= options_.workers) return false;
    const worker_record& seat = sync_.workers()[who.index];
    return seat.incarnation == who.incarnation && seat.state == worker_state::running;
  }

  // What the controller decides, carried out within its call: every callback only puts something into a queue.
  struct effects {
    decision_maker& host;
    void release(ticket&& box, worker_id who, const grant& terms) {
      const double now = host.seconds();
      host.granted_at_[who.index] = now;
      if (host.awaits_release_) host.end_pause(now);
      box->put(terms);
    }
    void flush(std::uint64_t round, float scale, std::uint32_t) {
      host.put({.what = shard_effect::kind::flush, .factor = scale, .round = round});
    }
    void discard(std::uint64_t round, std::uint32_t) {
      host.put({.what = shard_effect::kind::discard, .round = round});
    }
    void cancel(worker_id who) {
      if (const ticket& box = host.seats_[who.index]) box->cancel();
    }
    void abandon(ticket&& box, worker_id, reason why) { box->close(why); }
  };

  void end_pause(double now) {
    awaits_release_ = false;
    for (auto change = changes_.rbegin(); change != changes_.rend() && change->pause < 0; ++change)
      change->pause = now - paused_since_;
  }

  static constexpr bool decisions_are_timed = requires(Watcher & w, double seconds) { w.decided(seconds); };
  template <class Call>
  static void timed([[maybe_unused]] steady::duration& taken, Call&& call) {
    if constexpr (decisions_are_timed) {
      const steady::time_point start = steady::now();
      call();
      taken += steady::now() - start;
    } else {
      call();
    }
  }

  void put(const shard_effect& effect) {
    for (const auto& s : shards_) s->put(effect);
  }
  void put_visits(const std::function<void(std::uint32_t, shard&)>& look, countdown& done) {
    for (std::uint32_t s = 0; s < shards_.size(); ++s)
      shards_[s]->put({.look = [look, &done, s](shard& here) { look(s, here), done.arrive(); }});
  }
  void close_now() {
    if (closed_) return;
    for (std::uint32_t w = 0; w < sync_.workers().capacity(); ++w)
      if (const worker_state s = sync_.workers()[w].state; s != worker_state::absent && !roster::is_gone(s))
        static_cast<void>(sync_.depart(sync_.workers().id(w), seconds(), cause::done, effects{*this}));
    version_ = sync_.version();
    closed_ = true;
    duty_.notify_all();
  }
  void changed() {
    version_ = sync_.version();
    if (savers_ > 0 && admitting_ == 0) idle_.notify_all();
    if (sync_.next_deadline() < std::numeric_limits<double>::infinity()) duty_.notify_one();
  }

  const job_options options_;
  const steady::time_point start_ = steady::now();
  std::mutex mutex_;  // guards what follows, but for the queues of the shards
  std::string policy_name_;
  controller<any_policy, ticket, Watcher> sync_;
  gather parts_;
  std::vector<ticket> seats_;       // of each worker's present session: cancellations go there
  std::vector<double> granted_at_;  // in seconds()
  std::vector<policy_change> changes_;
  double longest_step_ = 0;
  double newest_push_ = -1;  // -1: none came
  double paused_since_ = 0;  // by the change whose first release is awaited
  std::uint64_t restored_ = 0, lost_ = 0;
  std::uint32_t admitting_ = 0;  // gradients between admit and commit
  std::uint32_t savers_ = 0;     // who take a checkpoint
  bool awaits_release_ = false;  // since a change of the policy
  std::atomic<bool> closed_ = false;
  std::atomic<std::uint64_t> version_ = 0;
  std::condition_variable resumed_, idle_, duty_;
  std::vector<std::unique_ptr<shard_thread>> shards_;
};

}  // namespace rubato::inline RUBATO_ABI::gloo_ps

#endif
