#ifndef RUBATO_THREADS_PS_SERVER_HPP
#define RUBATO_THREADS_PS_SERVER_HPP

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/extras/gate.hpp>
#include <rubato/sync/extras/scores.hpp>

#include "shard.hpp"

namespace rubato::inline RUBATO_ABI::threads_ps {

/// What a server is told at construction.
struct server_options {
  controller_options sync{};           ///< capacity, quorum, guard
  std::uint32_t shards = 1;            ///< slices of the parameters with a mutex each; at least 1
  std::uint32_t nominal_samples = 16;  ///< behind a gradient of weight 1: of a step whose grant has no batch
};

/// What is wrong with the options for so many parameters, as a sentence; empty if nothing is.
template <SyncPolicy Policy>
[[nodiscard]] std::string problem(const server_options& o, std::size_t parameters, const Policy& policy) {
  if (parameters == 0) return "there are no parameters, expected at least 1";
  if (o.shards == 0 || o.shards > parameters)
    return "shards is " + std::to_string(o.shards) + ", expected 1 to the number of parameters, " +
           std::to_string(parameters);
  if (o.nominal_samples == 0) return "nominal_samples is 0, expected at least 1";
  return rubato::problem(o.sync, policy);
}

/// What a worker knows of the gradient that it pushes.
struct step_report {
  std::uint32_t samples = 0;  ///< examples behind it; 0: nominal_samples
  float loss = 0.0F;          ///< as in push_event
  float grad_norm = 0.0F;     ///< as in push_event
};

/// A parameter server in one process: the workers are threads, each of which pulls parameters, computes a gradient, and
/// pushes it, and then waits until the policy lets it go on.
///
///     auto ps = threads_ps::server<any_policy>::make({.sync = {.capacity = 8}, .shards = 4}, initial, ssp{3});
///     // each thread, with its own `w`:
///     auto me = (*ps)->join({w});
///     while (me && (*me)->here()) {
///       (*me)->pull(parameters);
///       ... gradient of a batch of (*me)->terms().batch samples, or of nominal_samples where that is 0
///       static_cast<void>((*me)->push(gradient, {.samples = n, .loss = loss}));
///     }
///
/// A gradient is applied or added shard by shard outside of the lock that decisions are made under; each worker begins
/// with another shard. It is dense: size() numbers, the mean over its samples.
///
/// Staleness is measured where it happens: when a gradient reaches a shard, the updates since that shard was pulled.
/// staleness() has the largest of each push over the shards. What the policy is told counts from grant to admission.
///
/// A rule may throw, and so does memory that is short. Out of push() the exception ends this life as a death does, and
/// counts the gradient as `failed`: nobody waits for it. An update counts at all shards then, and has moved those that
/// came before the throw; from a round the gradient is taken back, to within rounding. The flush of a round, however,
/// happens in whatever call touches the shard next, push(), pull() or snapshot(), and throws out of that one. It
/// counts, and the round is over.
///
/// Thread  safe, but a session belongs to one thread at a time. The server outlives its sessions.
/// Cost    pull, push: O(size()), in slices; decisions: those of the controller under one mutex (gate.hpp). No
///         allocation in pull and push once as many rounds were open as ever will be.
/// Errors  by value: those of gate; invalid_option for spans of the wrong size, which change nothing.
/// Tests   tests/integrations/threads_ps/server_test.cpp: SumsAreExact, ABarrierIsOne, NobodyPassesTheBound,
///         WhatIsPulledHoldsEveryUpdateOfTheGrant, StalenessIsMeasuredAtTheShard, AThreadThatThrowsHoldsNobodyBack,
///         ARuleThatThrowsEndsThatLifeAndHoldsNobodyBack, AThrowTakesItsGradientOutOfTheRound, TheSameLifeIsLetInOnce,
///         OfThreadsThatJoinAsOneWorkerOneIsLetIn, AWorkerComesBack, SwitchesLoseNothing, ShutdownFreesEverybody,
///         CancelledStepsAreTold, AFreshLifeIsNotCancelled, GradientsOfAnotherSize, RefusesBadOptions,
///         KillsAndSwitchesAtRandom
template <SyncPolicy Policy, UpdateRule Rule = sgd, Observer Watcher = no_observer>
class server {
  using slice = shard<Rule>;

  // What concerns the shards, and whom to tell that its step is in vain.
  struct host {
    server* self;
    void flush(std::uint64_t round, float scale, std::uint32_t) {
      for (slice& each : self->shards_) each.post_flush(round, scale);
    }
    void discard(std::uint64_t round, std::uint32_t) {
      for (slice& each : self->shards_) each.post_discard(round);
    }
    void cancel(worker_id who) { self->cancelled_[who.index].store(life_of(who), std::memory_order_relaxed); }
  };

 public:
  using gate_type = gate<Policy, host, Watcher>;  ///< what decides, and keeps those who wait
  class session;

  /// Errors  invalid_option, with what problem(options, parameters, policy) says
  [[nodiscard]] static result<std::unique_ptr<server>> make(const server_options& o, std::span<const float> initial,
                                                            Policy policy, Rule rule = Rule{}, Watcher watcher = {}) {
    if (std::string wrong = problem(o, initial.size(), policy); !wrong.empty())
      return error{errc::invalid_option, std::move(wrong)};
    return std::make_unique<server>(o, initial, std::move(policy), std::move(rule), std::move(watcher));
  }
  /// Precondition: problem(options, initial.size(), policy) is empty.
  server(const server_options& o, std::span<const float> initial, Policy policy, Rule rule = Rule{},
         Watcher watcher = {})
      : size_{initial.size()},
        nominal_samples_{o.nominal_samples},
        next_lives_(o.sync.capacity),
        cancelled_{std::make_unique<std::atomic<std::uint64_t>[]>(o.sync.capacity)},
        gate_{o.sync, std::move(policy), host{this}, std::move(watcher)} {
    RUBATO_ASSERT(o.shards > 0 && o.shards <= size_ && o.nominal_samples > 0, "server options out of range");
    for (std::uint32_t s = 0; s < o.shards; ++s) {
      begins_.push_back(size_ * s / o.shards);
      shards_.emplace_back(initial.subspan(begins_[s], size_ * (s + 1) / o.shards - begins_[s]), rule,
                           o.sync.capacity);
    }
  }
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }  ///< parameters
  /// As in the options.
  [[nodiscard]] std::uint32_t shards() const noexcept { return static_cast<std::uint32_t>(shards_.size()); }

  /// The calling thread becomes this worker, and waits for its first step. Errors: those of gate::join_and_wait;
  /// `repeated` where this worker with this incarnation is here already, or about to be: one life has one session.
  [[nodiscard]] result<std::unique_ptr<session>> join(worker_id who) {
    if (!begins_life(who))
      return error{errc::repeated, "worker " + std::to_string(who.index) + " with incarnation " +
                                       std::to_string(who.incarnation) +
                                       " is here already, expected a higher incarnation"};
    const result<grant> terms = gate_.join_and_wait(who);
    if (!terms) return terms.error();
    return std::unique_ptr<session>{new session{*this, who, *terms}};
  }
  /// For whoever supervises the workers: this one is dead. If it is not, and pushes, it is told.
  errc die(worker_id who) { return gate_.die(who); }
  errc leave(worker_id who) { return gate_.leave(who); }  ///< the same, of one that has left
  /// Another rule, now. Gradients of the open round are flushed or discarded; nobody's step is interrupted.
  errc switch_to(Policy policy, pending_gradients waiting) { return gate_.switch_to(std::move(policy), waiting); }
  /// Another quorum, say because fewer workers come: as controller::set_quorum().
  errc set_quorum(std::uint32_t quorum) { return gate_.set_quorum(quorum); }
  /// Does what a policy wants done at a certain time, next_deadline(). Needed only while nobody waits.
  void poll() { gate_.poll(); }
  [[nodiscard]] auto next_deadline() { return gate_.next_deadline(); }  ///< when poll() is wanted; nothing: never
  /// Everybody departs; whoever waits or pushes is told `departed_worker`.
  void shutdown() { gate_.shutdown(); }

  /// Copies the parameters, each shard as it is when its turn comes. Returns the lowest and highest version of them.
  /// Precondition: to.size() == size().
  version_range snapshot(std::span<float> to) { return read(to, 0, {}); }

  /// Of all gradients that were applied or added.
  [[nodiscard]] staleness_histogram staleness() const noexcept {
    staleness_histogram all;
    for (std::size_t b = 0; b < all.counts.size(); ++b) all.counts[b] = stale_[b].load(std::memory_order_relaxed);
    return all;
  }

  /// Who is where, what was counted, what the observer has: see gate::inspect.
  template <class F>
  decltype(auto) inspect(F&& f) {
    return gate_.inspect(std::forward<F>(f));
  }
  [[nodiscard]] double now() const { return gate_.now(); }  ///< seconds since construction, as the observer sees them

 private:
  friend class session;

  static constexpr std::uint64_t life_of(worker_id who) noexcept { return std::uint64_t{who.incarnation} + 1; }

  // False where this life, or a later one, has begun, unless the gate knows that: it refuses and counts it then.
  [[nodiscard]] bool begins_life(worker_id who) {
    return gate_.inspect([&](const auto& sync) {
      if (who.index >= sync.workers().capacity()) return true;
      std::uint64_t& next = next_lives_[who.index];
      if (who.incarnation >= next) return next = life_of(who), true;
      const worker_record& known = sync.workers()[who.index];
      return known.incarnation > who.incarnation ||
             (known.incarnation == who.incarnation && roster::is_gone(known.state));
    });
  }
  // Calls f(shard, its number, where it begins), beginning with the shard `first`: threads that come at the same time
  // meet at few of them.
  template <class F>
  void each_shard(std::size_t first, F&& f) {
    const std::size_t count = shards_.size();
    for (std::size_t i = 0, s = first % count; i < count; ++i, s = s + 1 == count ? 0 : s + 1)
      f(shards_[s], s, begins_[s]);
  }
  // `versions`, of each shard, are left out where it is empty.
  version_range read(std::span<float> to, std::size_t first, std::span<std::uint64_t> versions) {
    RUBATO_ASSERT(to.size() == size_, "a span of another size than the parameters");
    version_range all;
    each_shard(first, [&](slice& part, std::size_t s, std::size_t begin) {
      const std::uint64_t version = part.read(to.subspan(begin, part.size()));
      all.include(version);
      if (!versions.empty()) versions[s] = version;
    });
    return all;
  }
  void count_staleness(std::uint64_t updates) noexcept {
    stale_[staleness_histogram::bucket_of(updates)].fetch_add(1, std::memory_order_relaxed);
  }

  const std::size_t size_;
  const std::uint32_t nominal_samples_;
  std::vector<std::size_t> begins_;  // of each shard
  std::deque<slice> shards_;
  std::vector<std::uint64_t> next_lives_;  // of each worker: the lowest incarnation to come. Under the gate's mutex
  std::unique_ptr<std::atomic<std::uint64_t>[]> cancelled_;  // of each worker: the life whose step is in vain, or 0
  std::array<std::atomic<std::uint32_t>, staleness_histogram::buckets> stale_{};
  gate_type gate_;
};

/// One life of one worker, from join() to its end. Destroyed before that, as by an exception, it departs as dead.
template <SyncPolicy Policy, UpdateRule Rule, Observer Watcher>
class server<Policy, Rule, Watcher>::session {
 public:
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  ~session() {
    if (here_) static_cast<void>(ps_.gate_.die(who_));
  }

  [[nodiscard]] worker_id id() const noexcept { return who_; }  ///< as given to join()
  /// False once it has finished or left, or was told that it has departed: nothing more will come of it.
  [[nodiscard]] bool here() const noexcept { return here_; }
  /// Of the present step.
  [[nodiscard]] const grant& terms() const noexcept { return terms_; }
  /// Whether the gradient of the present step will be dropped: a long step had better end. Push all the same.
  [[nodiscard]] bool cancelled() const noexcept {
    return ps_.cancelled_[who_.index].load(std::memory_order_relaxed) == life_of(who_);
  }

  /// Copies the parameters: all updates that the grant names are in. Returns the versions of the shards.
  /// Precondition: to.size() == size().
  version_range pull(std::span<float> to) { return pulled_ = ps_.read(to, who_.index, versions_); }

  /// The gradient of the present step: it is applied, added to its round, or dropped, as the policy says. Then waits
  /// for the next step, whose terms it returns. Errors: those of gate::commit_and_wait; invalid_option where the size
  /// is wrong, and the step goes on. Throws what the rule throws: then it has departed as dead.
  [[nodiscard]] result<grant> push(std::span<const float> gradient, const step_report& what = {}) {
    if (gradient.size() != ps_.size_)
      return error{errc::invalid_option, "the gradient has " + std::to_string(gradient.size()) + " numbers, expected " +
                                             std::to_string(ps_.size_) + ", as many as there are parameters"};
    const std::uint32_t samples = what.samples == 0 ? ps_.nominal_samples_ : what.samples;
    const admitted answer = ps_.gate_.admit({.worker = who_,
                                             .step = ++step_,
                                             .samples = samples,
                                             .loss = what.loss,
                                             .grad_norm = what.grad_norm,
                                             .read = pulled_});
    if (answer.what.what != verdict::refused)  // it can be cancelled again once released
      ps_.cancelled_[who_.index].store(0, std::memory_order_relaxed);
    carry_out(answer, gradient, applied_weight(terms_, answer.what.weight, samples, ps_.nominal_samples_));
    const result<grant> next = ps_.gate_.commit_and_wait(answer.work);
    if (next)
      terms_ = *next;
    else
      here_ = false;
    return next;
  }

  /// It has no more to do: holds nobody back from now on.
  errc finish() { return here_ = false, ps_.gate_.finish(who_); }
  errc leave() { return here_ = false, ps_.gate_.leave(who_); }  ///< the same, of one that goes by its own wish

 private:
  friend class server;
  session(server& ps, worker_id who, const grant& terms)
      : ps_{ps}, who_{who}, terms_{terms}, versions_(ps.shards_.size(), terms.version) {}

  // What is being done with a gradient. Destroyed before it is over, it leaves all shards with the same updates, and
  // nobody waiting for the commit.
  struct work {
    session& self;
    const admitted& answer;
    std::span<const float> gradient;
    float weight;
    bool applies = answer.what.what == verdict::apply;
    std::size_t parts = 0;  // that are done
    bool is_over = false;

    ~work() {
      if (!is_over) fail();
    }
    void fail() noexcept {
      std::size_t nth = 0;
      self.ps_.each_shard(self.who_.index, [&](slice& part, std::size_t, std::size_t begin) {
        const bool is_done = nth++ < parts;
        if (applies && !is_done) part.skip();
        if (!applies && is_done) part.take_back(answer.round, gradient.subspan(begin, part.size()), weight);
      });
      self.here_ = false;
      static_cast<void>(self.ps_.gate_.die(self.who_));
      static_cast<void>(self.ps_.gate_.commit(answer.work, outcome::failed));
    }
  };

  void carry_out(const admitted& answer, std::span<const float> gradient, float weight) {
    work now{*this, answer, gradient, weight};
    if (!now.applies && answer.what.what != verdict::accumulate) return static_cast<void>(now.is_over = true);
    std::uint64_t stalest = 0;
    ps_.each_shard(who_.index, [&](slice& part, std::size_t s, std::size_t begin) {
      const std::span<const float> own = gradient.subspan(begin, part.size());
      const std::uint64_t met = now.applies ? part.apply(own, weight) : part.add(answer.round, own, weight);
      stalest = (std::max)(stalest, met - (std::min)(met, versions_[s]));
      ++now.parts;
    });
    now.is_over = true;
    ps_.count_staleness(stalest);
  }

  server& ps_;
  const worker_id who_;
  grant terms_;
  bool here_ = true;
  std::uint64_t step_ = 0;
  version_range pulled_{};
  std::vector<std::uint64_t> versions_;  // of the shards, as they were pulled
};

}  // namespace rubato::inline RUBATO_ABI::threads_ps

#endif
