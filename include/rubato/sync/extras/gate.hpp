#ifndef RUBATO_SYNC_EXTRAS_GATE_HPP
#define RUBATO_SYNC_EXTRAS_GATE_HPP

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../controller.hpp"

namespace rubato::inline RUBATO_ABI {

/// The host of a gate whose policy never accumulates, and that has nothing to do itself.
struct no_effects {};

/// A controller for workers that are threads or coroutines of one process: each arrives with its step, and goes on when
/// the policy lets it.
///
///     rubato::gate<rubato::ssp> gate{{.capacity = 8}, {.staleness = 3}};
///     auto terms = gate.join_and_wait(me);                        // each thread, its own `me`
///     while (terms) {
///       ...                                                       // a step
///       terms = gate.arrive_and_wait({.worker = me, .loss = loss});
///     }                                                           // terms.error().code says why it ended
///
/// What a wait returns: the grant of the next step, or an error: `busy` after a time limit (the worker is still parked,
/// and may wait again), `departed_worker` after leave(), die(), finish() or shutdown(), `old_incarnation` if another
/// life has taken its place, `repeated` if another thread waits for this worker now, or what the controller refused. A
/// worker that has been released in the meantime gets its grant, however late it waits.
///
/// Times are those of Clock, in seconds since construction; the gate fills in push_event::now. Deadlines of a policy
/// are served by whoever waits in a thread; where nobody does, say because all workers are coroutines, call poll() at
/// next_deadline().
///
/// Host, of which all members are optional unless the policy may accumulate (sink.hpp): `flush`, `discard` and `cancel`
/// are called under the gate's mutex, in the order in which they must take effect; `resume(std::coroutine_handle<>)`,
/// needed by co_await, is called without it and runs the coroutine, or has it run, then or later. None may throw; the
/// first three must not call the gate.
///
/// Invariant  nobody sleeps who may go on: whoever is released, departs or is shut out is woken, and nobody else.
/// Thread  safe. One mutex; one condition variable for each thread that waits. No thread of its own.
/// Cost    those of the controller, and O(1) for each thread that is woken.
/// Errors  by value.
/// Tests   tests/extras/gate_test.cpp: NobodyPassesTheBound, OnlyTheReleasedAreWoken, ADeadThreadHoldsNobodyBack,
///         ATimedOutWaiterMayWaitAgain, ShutdownFreesEverybody, DeadlinesAreServedByWhoeverWaits,
///         SixtyFourThreadsWithDeathsAndSwitches; tests/extras/gate_awaitable_test.cpp:
///         WaitsAndGoesOnThroughTheExecutor, ManyThreadsRunManyCoroutines; all of them under ThreadSanitizer too
template <SyncPolicy Policy, class Host = no_effects, Observer Watcher = no_observer,
          class Clock = std::chrono::steady_clock>
class gate {
  struct pass {};  // ticket: who waits is found by its index

 public:
  using controller_type = controller<Policy, pass, Watcher>;
  using time_point = typename Clock::time_point;

  /// Precondition: problem(options, policy) is empty. `park` makes no difference.
  gate(const controller_options& o, Policy policy, Host host = {}, Watcher watcher = {})
      : start_{Clock::now()}, places_(o.capacity), host_{std::move(host)},
        sync_{parked_on_push(o), std::move(policy), std::move(watcher)} {
    ready_.reserve(o.capacity);
  }
  /// Precondition: nobody waits, and nobody will come.
  ~gate() { RUBATO_ASSERT(first_ == nullptr, "a gate is destroyed while threads wait at it"); }
  gate(const gate&) = delete;
  gate& operator=(const gate&) = delete;

  // --- Workers that are threads

  /// A worker comes, or comes back with a higher incarnation, and waits for its first step.
  [[nodiscard]] result<grant> join_and_wait(worker_id who) {
    return enter_and_wait(who, {}, [&](double now) { return join_now(who, now); });
  }
  /// A step is over, and its gradient needs no verdict. Waits for the next one.
  [[nodiscard]] result<grant> arrive_and_wait(const push_event& push) { return arrive(push, {}); }
  template <class Duration>
  [[nodiscard]] result<grant> arrive_and_wait_until(const push_event& push,
                                                    const std::chrono::time_point<Clock, Duration>& limit) {
    return arrive(push, limit_at(limit));
  }
  template <class Rep, class Period>
  [[nodiscard]] result<grant> arrive_and_wait_for(const push_event& push,
                                                  const std::chrono::duration<Rep, Period>& limit) {
    return arrive(push, limit_after(limit));
  }
  /// The same in two calls, for policies that accumulate, weigh or drop: what is to be done with the gradient; and once
  /// that is done, outside of any lock, the wait. Every answer is to be committed once.
  [[nodiscard]] admitted admit(push_event push) {
    const std::lock_guard lock{mutex_};
    push.now = now();
    return sync_.admit(push);
  }
  [[nodiscard]] result<grant> commit_and_wait(const token& work, outcome how = outcome::done) {
    return enter_and_wait(work.worker, {}, [&](double now) { return commit_now(work, how, now); });
  }

  /// Waits for a grant, or fetches it: after a wait that timed out, or after join() or commit().
  [[nodiscard]] result<grant> wait(worker_id who) { return enter_and_wait(who, {}, nothing); }
  template <class Duration>
  [[nodiscard]] result<grant> wait_until(worker_id who, const std::chrono::time_point<Clock, Duration>& limit) {
    return enter_and_wait(who, limit_at(limit), nothing);
  }
  template <class Rep, class Period>
  [[nodiscard]] result<grant> wait_for(worker_id who, const std::chrono::duration<Rep, Period>& limit) {
    return enter_and_wait(who, limit_after(limit), nothing);
  }
  /// Without waiting: wait() fetches the grant.
  errc join(worker_id who) {
    return call([&](double now) { return join_now(who, now); });
  }
  errc commit(const token& work, outcome how = outcome::done) {
    return call([&](double now) { return commit_now(work, how, now); });
  }

  // --- Workers that are coroutines

  class [[nodiscard]] arrival;
  /// co_await gives what the calls above return; nobody is blocked.
  arrival async_join(worker_id who) { return {*this, who}; }
  arrival async_arrive(const push_event& push) { return {*this, push}; }
  arrival async_commit(const token& work, outcome how = outcome::done) { return {*this, work, how}; }

  // --- Everybody

  /// A worker goes: by its own wish, because it has died (its supervisor says so), or because it has no more to do. If
  /// it waits, it is told.
  errc leave(worker_id who) { return depart(who, cause::leave); }
  errc die(worker_id who) { return depart(who, cause::death); }
  errc finish(worker_id who) { return depart(who, cause::done); }

  /// The end: everybody departs as done, whoever waits or comes later is told `departed_worker`.
  void shutdown() {
    static_cast<void>(call([&](double now) {
      shut_ = true;
      for (std::uint32_t w = 0; w < sync_.workers().capacity(); ++w) {
        const worker_state is = sync_.workers()[w].state;
        if (is != worker_state::absent && !roster::is_gone(is))
          static_cast<void>(sync_.depart(sync_.workers().id(w), now, cause::done, effects{*this}));
      }
      for (sleeper* s = first_; s != nullptr; s = s->after) s->alarm.notify_one();
      return errc::ok;
    }));
  }

  errc switch_to(Policy policy, pending_gradients waiting) {
    return call([&](double now) { return sync_.switch_to(std::move(policy), now, waiting, effects{*this}); });
  }
  errc set_quorum(std::uint32_t quorum) {
    return call([&](double now) { return sync_.set_quorum(quorum, now, effects{*this}); });
  }
  /// Does what is due. Needed only where no thread waits.
  void poll() {
    static_cast<void>(call([](double) { return errc::ok; }));
  }
  /// When poll() is wanted, if it is.
  [[nodiscard]] std::optional<time_point> next_deadline() {
    const std::lock_guard lock{mutex_};
    return deadline();
  }

  /// Calls f(controller) under the mutex, to read counters, workers or the observer. It must change nothing.
  template <class F>
  decltype(auto) inspect(F&& f) {
    const std::lock_guard lock{mutex_};
    return std::forward<F>(f)(sync_);
  }
  [[nodiscard]] Host& host() noexcept { return host_; }
  /// The gate's time, as its observer sees it.
  [[nodiscard]] double now() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using lock_type = std::unique_lock<std::mutex>;
  using limit_type = std::optional<time_point>;

  // A thread that waits; lives on its stack.
  struct sleeper {
    worker_id who;
    std::condition_variable alarm{};
    sleeper* before = nullptr;
    sleeper* after = nullptr;
    bool replaced = false;
  };
  struct place {
    sleeper* thread = nullptr;
    std::coroutine_handle<> coroutine{};
    std::uint32_t life = 0;  // the incarnation of the coroutine
  };

  struct effects {
    gate& self;
    void release(pass, worker_id who, const grant&) const { self.wake(who); }
    void abandon(pass, worker_id who, reason why) const {
      if (why == reason::replaced) self.replace(who);
      // For other reasons a call was refused, by which nobody waits.
      if (why == reason::replaced || why == reason::departed_worker) self.wake(who);
    }
    void flush(std::uint64_t round, float scale, std::uint32_t n) const
      requires RoundSink<Host>
    {
      self.host_.flush(round, scale, n);
    }
    void discard(std::uint64_t round, std::uint32_t n) const
      requires RoundSink<Host>
    {
      self.host_.discard(round, n);
    }
    void cancel(worker_id who) const {
      if constexpr (requires(Host& host) { host.cancel(who); }) self.host_.cancel(who);
    }
  };

  static constexpr auto nothing = [](double) { return errc::ok; };

  [[nodiscard]] static controller_options parked_on_push(controller_options o) noexcept {
    o.park = park_on::push;
    return o;
  }

  // --- Times

  template <class Duration>
  [[nodiscard]] static limit_type limit_at(const std::chrono::time_point<Clock, Duration>& limit) {
    return std::chrono::ceil<typename Clock::duration>(limit);
  }
  template <class Rep, class Period>
  [[nodiscard]] static limit_type limit_after(const std::chrono::duration<Rep, Period>& limit) {
    const time_point from = Clock::now();
    const std::chrono::duration<double> most = (time_point::max)() - from;
    if (!(std::chrono::duration<double>(limit) < 0.5 * most)) return {};
    return from + std::chrono::ceil<typename Clock::duration>(limit);
  }
  // When the policy wants to be asked; a time that is far off comes as an earlier one, at which nothing is due.
  [[nodiscard]] limit_type deadline() const {
    const double due = sync_.next_deadline();
    if (due == std::numeric_limits<double>::infinity()) return {};
    const double delay = std::clamp(due - now(), 0.0, 3600.0);
    return Clock::now() + std::chrono::ceil<typename Clock::duration>(std::chrono::duration<double>(delay));
  }

  // --- Calls of the controller; all under the mutex

  errc join_now(worker_id who, double now) { return sync_.join(who, now, pass{}, effects{*this}); }
  errc commit_now(const token& work, outcome how, double now) {
    return sync_.commit(work, now, how, pass{}, effects{*this});
  }
  errc push_now(push_event push, double now) {
    push.now = now;
    return sync_.push(push, pass{}, effects{*this});
  }

  template <class Call>
  errc call(Call&& decide) {
    lock_type lock{mutex_};
    const errc code = decide(now());
    serve_deadlines();
    resume_ready(lock);
    return code;
  }
  errc depart(worker_id who, cause why) {
    return call([&](double now) { return sync_.depart(who, now, why, effects{*this}); });
  }

  void serve_deadlines() {
    while (sync_.next_deadline() == -std::numeric_limits<double>::infinity()) sync_.poll(now(), effects{*this});
    if (const double t = now(); sync_.next_deadline() <= t) sync_.poll(t, effects{*this});
    if (first_ != nullptr && sync_.next_deadline() < watched_) first_->alarm.notify_one();
  }

  // What a worker is to be told now; nothing if it is to wait.
  [[nodiscard]] std::optional<result<grant>> answer(worker_id who) const {
    const roster& all = sync_.workers();
    if (shut_) return error{errc::departed_worker, "gate is shut"};
    if (who.index >= all.capacity() || all[who.index].state == worker_state::absent) return told(errc::unknown_worker);
    if (all[who.index].incarnation != who.incarnation) return told(errc::old_incarnation);
    if (roster::is_gone(all[who.index].state)) return told(errc::departed_worker);
    if (all[who.index].state == worker_state::running) return all[who.index].granted;
    return std::nullopt;
  }
  [[nodiscard]] static error told(errc code) { return {code, std::string{name(code)}}; }

  // --- Waiting

  [[nodiscard]] result<grant> arrive(const push_event& push, const limit_type& limit) {
    return enter_and_wait(push.worker, limit, [&](double now) { return push_now(push, now); });
  }

  template <class Call>
  [[nodiscard]] result<grant> enter_and_wait(worker_id who, const limit_type& limit, Call&& decide) {
    lock_type lock{mutex_};
    const errc code = shut_ ? errc::ok : decide(now());
    serve_deadlines();
    resume_ready(lock);
    if (code != errc::ok && code != errc::repeated) return told(code);
    if (auto now_told = answer(who)) return *std::move(now_told);
    sleeper me{.who = who};
    lie_down(me);
    std::optional<result<grant>> end;
    while (!(end = awakened(me, limit))) {
      const limit_type due = first_ == &me ? deadline() : limit_type{};
      if (first_ == &me) watched_ = sync_.next_deadline();
      if (!due && !limit)
        me.alarm.wait(lock);
      else
        me.alarm.wait_until(lock, due && (!limit || *due < *limit) ? *due : *limit);
      serve_deadlines();
      resume_ready(lock);
    }
    get_up(me);
    return *std::move(end);
  }
  [[nodiscard]] std::optional<result<grant>> awakened(const sleeper& me, const limit_type& limit) const {
    if (me.replaced) return told(errc::repeated);
    if (auto end = answer(me.who)) return end;
    if (limit && Clock::now() >= *limit) return error{errc::busy, "timed out"};
    return std::nullopt;
  }

  void wake(worker_id who) {
    place& p = places_[who.index];
    if (p.thread != nullptr && p.thread->who == who) p.thread->alarm.notify_one();
    if (p.coroutine && p.life == who.incarnation) ready_.push_back(std::exchange(p.coroutine, {}));
  }
  void replace(worker_id who) noexcept {
    if (sleeper* s = places_[who.index].thread; s != nullptr && s->who == who) s->replaced = true;
  }

  // The thread that has been waiting longest watches the policy's deadline.
  void lie_down(sleeper& me) {
    replace(me.who);
    sleeper*& thread = places_[me.who.index].thread;
    if (thread != nullptr) thread->alarm.notify_one();
    thread = &me;
    me.before = last_;
    (last_ == nullptr ? first_ : last_->after) = &me;
    last_ = &me;
  }
  void get_up(sleeper& me) {
    sleeper*& thread = places_[me.who.index].thread;
    if (thread == &me) thread = nullptr;
    const bool watched = first_ == &me;
    (me.before == nullptr ? first_ : me.before->after) = me.after;
    (me.after == nullptr ? last_ : me.after->before) = me.before;
    if (!watched) return;
    watched_ = std::numeric_limits<double>::infinity();
    if (first_ != nullptr && sync_.next_deadline() < watched_) first_->alarm.notify_one();
  }

  // Hands coroutines that may go on to the host, in their order, without the mutex.
  void resume_ready(lock_type& lock) {
    if constexpr (requires(Host& host, std::coroutine_handle<> who) { host.resume(who); })
      while (next_ready_ < ready_.size()) {
        const std::coroutine_handle<> who = ready_[next_ready_++];
        if (next_ready_ == ready_.size()) ready_.clear(), next_ready_ = 0;
        lock.unlock();
        host_.resume(who);
        lock.lock();
      }
  }

  const time_point start_;
  std::mutex mutex_;  // guards all that follows
  std::vector<place> places_;
  Host host_;
  controller_type sync_;
  std::vector<std::coroutine_handle<>> ready_;
  std::size_t next_ready_ = 0;
  sleeper* first_ = nullptr;
  sleeper* last_ = nullptr;
  double watched_ = std::numeric_limits<double>::infinity();  // the deadline until which the first one sleeps
  bool shut_ = false;
};

/// What async_join, async_arrive and async_commit return: co_await it once, at once. The coroutine goes on through
/// host().resume().
template <SyncPolicy Policy, class Host, Observer Watcher, class Clock>
class gate<Policy, Host, Watcher, Clock>::arrival {
 public:
  arrival(gate& at, worker_id who) : at_{at}, who_{who}, what_{kind::join} {}
  arrival(gate& at, const push_event& push) : at_{at}, who_{push.worker}, what_{kind::push}, push_{push} {}
  arrival(gate& at, const token& work, outcome how)
      : at_{at}, who_{work.worker}, what_{kind::commit}, work_{work}, how_{how} {}

  [[nodiscard]] bool await_ready() const noexcept { return false; }

  bool await_suspend(std::coroutine_handle<> coroutine) {
    static_assert(requires(Host& host) { host.resume(coroutine); },
                  "co_await needs a host with resume(std::coroutine_handle<>), which runs a coroutine that may go on");
    gate& at = at_;  // once the mutex is open this object may be gone: another thread has resumed its coroutine
    lock_type lock{at.mutex_};
    const errc code = at.shut_ ? errc::ok : decide(at.now());
    at.serve_deadlines();
    const bool refused = code != errc::ok && code != errc::repeated;
    if (refused) code_ = code;
    const bool waits = !refused && !at.answer(who_);
    if (waits) {
      place& p = at.places_[who_.index];
      if (p.coroutine) at.ready_.push_back(p.coroutine);
      p.coroutine = coroutine;
      p.life = who_.incarnation;
    }
    at.resume_ready(lock);
    return waits;
  }

  [[nodiscard]] result<grant> await_resume() {
    if (code_ != errc::ok) return told(code_);
    const std::lock_guard lock{at_.mutex_};
    if (auto now_told = at_.answer(who_)) return *std::move(now_told);
    return told(errc::repeated);
  }

 private:
  enum class kind : std::uint8_t { join, push, commit };

  errc decide(double now) {
    switch (what_) {
      case kind::join: return at_.join_now(who_, now);
      case kind::push: return at_.push_now(push_, now);
      default: return at_.commit_now(work_, how_, now);
    }
  }

  gate& at_;
  worker_id who_;
  kind what_;
  errc code_ = errc::ok;
  push_event push_{};
  token work_{};
  outcome how_ = outcome::done;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
