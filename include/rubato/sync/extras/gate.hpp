#ifndef RUBATO_SYNC_EXTRAS_GATE_HPP
#define RUBATO_SYNC_EXTRAS_GATE_HPP

#include <algorithm>
#include <chrono>
#include <concepts>
#include <coroutine>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "../controller.hpp"
#include "waiters.hpp"

namespace rubato::inline RUBATO_ABI {

/// The host of a gate that has nothing to do with gradients, or whose policy never accumulates.
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
/// life has taken its place, `repeated` if a later call for this worker has, or what the controller refused. A worker
/// that has been released in the meantime gets its grant, however late it waits; of several calls, the last.
///
/// Times are those of Clock, in seconds since construction; the gate fills in push_event::now. Deadlines of a policy
/// are served by whoever waits in a thread; where nobody does, say because all workers are coroutines, call poll() at
/// next_deadline().
///
/// Host, of which all members are optional: `flush`, `discard` (sink.hpp) and `cancel` are called under the gate's
/// mutex, in the order in which they must take effect; `resume(std::coroutine_handle<>)`, needed by co_await, is called
/// without it and runs the coroutine, or has it run, then or later. None may throw; the first three must not call the
/// gate. A host that resumes at once runs coroutines inside of calls of the gate: each such call ends when none may go
/// on, and what a coroutine lets go on inside of it starts when that one suspends or ends. The stack does not grow.
///
/// Where the policy may accumulate (it has `admit`), the host's type says who has the gradients. With `flush` and
/// `discard` it is the host: every gradient needs its verdict, by admit(). Without, the gate is a mere barrier, and
/// gradients, if any, are the workers' own affair: arrive_and_wait() is the call, a verdict is counted and otherwise
/// without effect, and there is nothing to flush, add or lose. The calls that do not fit do not compile.
///
/// Invariant  nobody sleeps who may go on: whoever is released, departs, is shut out or replaced is woken, and nobody
///            else.
/// Thread  safe. One mutex; one condition variable for each thread that waits. No thread of its own.
/// Cost    those of the controller, and O(1) for each thread or coroutine that is woken. No allocation after
///         construction, besides the controller's and that of frames of coroutines.
/// Errors  by value.
/// Tests   tests/extras/gate_test.cpp: NobodyPassesTheBound, OnlyTheReleasedAreWoken, ADeadThreadHoldsNobodyBack,
///         WhoWaitsForAnAdmittedWorkerIsToldOfItsDeath, ATimedOutWaiterMayWaitAgain, ShutdownFreesEverybody,
///         DeadlinesAreServedByWhoeverWaits, ABarrierNeedsNoHost, GradientsThatAreOutAreCommittedAfterShutdown,
///         LimitsMayBeBeyondTheClock, RefusesBadOptions, SixtyFourThreadsWithDeathsAndSwitches;
///         tests/extras/gate_awaitable_test.cpp: WaitsAndGoesOnThroughTheExecutor, AMillionStepsAtOnceNeedNoStack,
///         CoroutinesThatResumeAtOnceTakeTurns, TheReplacedIsToldHoweverLateItRuns, OfSeveralCallsTheLastIsAnswered,
///         ManyThreadsRunManyCoroutines, ThreadsRunCoroutinesInTheirCalls; all of them under ThreadSanitizer too
template <SyncPolicy Policy, class Host = no_effects, Observer Watcher = no_observer,
          class Clock = std::chrono::steady_clock>
class gate {
  struct pass {};  // ticket: who waits is found by its index

  static_assert(RoundSink<Host> || !(requires { &Host::flush; } || requires { &Host::discard; }),
                "a host that flushes or discards needs both: flush(round, scale, n) and discard(round, n)");

 public:
  /// Whether arrive_and_wait() may be called, which ignores the verdict.
  static constexpr bool verdicts_may_be_ignored = !AdmittingPolicy<Policy> || !RoundSink<Host>;
  /// Whether admit() may be called, which gives it.
  static constexpr bool verdicts_can_be_obeyed = !may_accumulate<Policy> || RoundSink<Host>;

  using controller_type = controller<Policy, pass, Watcher>;  ///< what inspect() shows
  using time_point = typename Clock::time_point;              ///< of limits and deadlines

  /// A gate, where options come from outside and may be wrong. It stays where it is, hence the pointer.
  /// Errors  invalid_option, with what problem(options, policy) says
  [[nodiscard]] static result<std::unique_ptr<gate>> make(const controller_options& o, Policy policy, Host host = {},
                                                          Watcher watcher = {}) {
    if (std::string wrong = problem(o, policy); !wrong.empty()) return error{errc::invalid_option, std::move(wrong)};
    return std::make_unique<gate>(o, std::move(policy), std::move(host), std::move(watcher));
  }
  /// Precondition: problem(options, policy) is empty. `park` makes no difference.
  gate(const controller_options& o, Policy policy, Host host = {}, Watcher watcher = {})
      : start_{Clock::now()}, waiting_{o.capacity}, host_{std::move(host)},
        sync_{parked_on_push(o), std::move(policy), std::move(watcher)} {}
  /// Precondition: nobody waits, and nobody will come.
  ~gate() { RUBATO_ASSERT(waiting_.first() == nullptr, "a gate is destroyed while threads wait at it"); }
  gate(const gate&) = delete;
  gate& operator=(const gate&) = delete;

  // --- Workers that are threads

  /// A worker comes, or comes back with a higher incarnation, and waits for its first step.
  [[nodiscard]] result<grant> join_and_wait(worker_id who) {
    return enter_and_wait(who, {}, [&](double now) { return join_now(who, now); });
  }
  /// A step is over, and its gradient needs no verdict: it has been applied, or there is none. Waits for the next one.
  [[nodiscard]] result<grant> arrive_and_wait(const push_event& push)
    requires verdicts_may_be_ignored
  {
    return arrive(push, {});
  }
  template <class Duration>
    requires verdicts_may_be_ignored
  [[nodiscard]] result<grant> arrive_and_wait_until(const push_event& push,
                                                    const std::chrono::time_point<Clock, Duration>& limit) {
    return arrive(push, limit_at(limit));
  }  ///< the same, with `busy` at that time if it has not been released by then
  template <class Rep, class Period>
    requires verdicts_may_be_ignored
  [[nodiscard]] result<grant> arrive_and_wait_for(const push_event& push,
                                                  const std::chrono::duration<Rep, Period>& limit) {
    return arrive(push, limit_after(limit));
  }  ///< the same, with a time that counts from the call
  /// The same in two calls, for policies that accumulate, weigh or drop: what is to be done with the gradient; and once
  /// that is done, outside of any lock, the wait. Every answer is to be committed once, also after shutdown().
  [[nodiscard]] admitted admit(push_event push)
    requires verdicts_can_be_obeyed
  {
    const std::lock_guard lock{mutex_};
    push.now = now();
    return sync_.admit(push);
  }
  [[nodiscard]] result<grant> commit_and_wait(const token& work, outcome how = outcome::done) {
    return enter_and_wait(work.worker, {}, [&](double now) { return commit_now(work, how, now); });
  }  ///< follows admit(); `how` it went with the gradient

  /// Waits for a grant, or fetches it: after a wait that timed out, or after join() or commit().
  [[nodiscard]] result<grant> wait(worker_id who) { return enter_and_wait(who, {}, nothing); }
  template <class Duration>
  [[nodiscard]] result<grant> wait_until(worker_id who, const std::chrono::time_point<Clock, Duration>& limit) {
    return enter_and_wait(who, limit_at(limit), nothing);
  }  ///< the same, with `busy` at that time
  template <class Rep, class Period>
  [[nodiscard]] result<grant> wait_for(worker_id who, const std::chrono::duration<Rep, Period>& limit) {
    return enter_and_wait(who, limit_after(limit), nothing);
  }  ///< the same, with a time that counts from the call
  /// Without waiting: wait() fetches the grant. commit() is `ok` after shutdown() too, join() is `departed_worker`.
  errc join(worker_id who) {
    return call([&](double now) { return join_now(who, now); });
  }
  errc commit(const token& work, outcome how = outcome::done) {
    return call([&](double now) { return commit_now(work, how, now); });
  }  ///< as commit_and_wait()

  // --- Workers that are coroutines

  class [[nodiscard]] arrival;
  /// co_await gives what the calls above return; nobody is blocked.
  arrival async_join(worker_id who) { return {*this, who}; }
  arrival async_arrive(const push_event& push)
    requires verdicts_may_be_ignored
  {
    return {*this, push};
  }  ///< as arrive_and_wait()
  /// As commit_and_wait().
  arrival async_commit(const token& work, outcome how = outcome::done) { return {*this, work, how}; }

  // --- Everybody

  /// A worker goes: by its own wish, because it has died (its supervisor says so), or because it has no more to do. If
  /// it waits, it is told. A gradient that it has admitted is still to be committed, `failed` if it is lost: until then
  /// its next life is not let in.
  errc leave(worker_id who) { return depart(who, cause::leave); }
  errc die(worker_id who) { return depart(who, cause::death); }    ///< because it has died
  errc finish(worker_id who) { return depart(who, cause::done); }  ///< because it has no more to do

  /// The end: everybody departs as done; whoever waits, now or later, is told `departed_worker`, and nobody enters.
  /// Gradients that are admitted are still to be committed, and are flushed then as the policy says.
  void shutdown() {
    static_cast<void>(call([&](double now) {
      shut_ = true;
      for (std::uint32_t w = 0; w < sync_.workers().capacity(); ++w) {
        const worker_state is = sync_.workers()[w].state;
        if (is != worker_state::absent && !roster::is_gone(is))
          static_cast<void>(depart_now(sync_.workers().id(w), now, cause::done));
      }
      return errc::ok;
    }));
  }

  errc switch_to(Policy policy, pending_gradients waiting) {
    return call([&](double now) { return sync_.switch_to(std::move(policy), now, waiting, effects{*this}); });
  }  ///< as controller::switch_to(); whoever it releases is woken
  errc set_quorum(std::uint32_t quorum) {
    return call([&](double now) { return sync_.set_quorum(quorum, now, effects{*this}); });
  }  ///< as controller::set_quorum()
  /// Does what is due. Needed only where no thread waits.
  void poll() {
    static_cast<void>(call([](double) { return errc::ok; }));
  }
  /// When poll() is wanted, if it is.
  [[nodiscard]] std::optional<time_point> next_deadline() {
    const std::lock_guard lock{mutex_};
    return deadline();
  }

  /// Calls f(controller), or f(controller, observer), under the mutex: to read counters and workers, and to do with the
  /// observer what it is for. f must not call the gate.
  template <class F>
  decltype(auto) inspect(F&& f) {
    const std::lock_guard lock{mutex_};
    if constexpr (std::invocable<F, const controller_type&, Watcher&>)
      return std::forward<F>(f)(std::as_const(sync_), sync_.watcher());
    else
      return std::forward<F>(f)(std::as_const(sync_));
  }
  [[nodiscard]] Host& host() noexcept { return host_; }  ///< not under the mutex: it must guard itself
  /// The gate's time, as its observer sees it.
  [[nodiscard]] double now() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using lock_type = std::unique_lock<std::mutex>;
  using limit_type = std::optional<time_point>;
  using sleeper = detail::waiting_thread;

  struct effects {
    gate& self;
    void release(pass, worker_id who, const grant&) const { self.waiting_.wake(who); }
    void abandon(pass, worker_id who, reason why) const {
      if (why == reason::replaced) static_cast<void>(self.waiting_.take_turn(who));
      if (why == reason::departed_worker) self.waiting_.wake(who);
      // For other reasons a call was refused, by which nobody waits.
    }
    void flush(std::uint64_t round, float scale, std::uint32_t n) const {
      if constexpr (RoundSink<Host>) self.host_.flush(round, scale, n);
    }
    void discard(std::uint64_t round, std::uint32_t n) const {
      if constexpr (RoundSink<Host>) self.host_.discard(round, n);
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

  using seconds = std::chrono::duration<double>;

  // A limit may be coarser than Clock, and beyond what it can count: one far in the future is none.
  template <class Duration>
  [[nodiscard]] static limit_type limit_at(const std::chrono::time_point<Clock, Duration>& limit) {
    const seconds at = limit.time_since_epoch();
    if (!(at < 0.5 * seconds{(time_point::max)().time_since_epoch()})) return {};
    if (at < 0.5 * seconds{(time_point::min)().time_since_epoch()}) return (time_point::min)();
    return std::chrono::ceil<typename Clock::duration>(limit);
  }
  template <class Rep, class Period>
  [[nodiscard]] static limit_type limit_after(const std::chrono::duration<Rep, Period>& limit) {
    const time_point from = Clock::now();
    const seconds most = seconds{(time_point::max)().time_since_epoch()} - seconds{from.time_since_epoch()};
    if (!(seconds{limit} < 0.5 * most)) return {};
    if (seconds{limit} <= seconds::zero()) return from;
    return from + std::chrono::ceil<typename Clock::duration>(limit);
  }
  // When the policy wants to be asked; a time that is far off comes as an earlier one, at which nothing is due.
  [[nodiscard]] limit_type deadline() const {
    const double due = sync_.next_deadline();
    if (due == std::numeric_limits<double>::infinity()) return {};
    const double delay = std::clamp(due - now(), 0.0, 3600.0);
    return Clock::now() + std::chrono::ceil<typename Clock::duration>(seconds{delay});
  }

  // --- Calls of the controller; all under the mutex

  errc join_now(worker_id who, double now) {
    if (shut_) return errc::departed_worker;
    const roster& all = sync_.workers();
    const worker_id before = who.index < all.capacity() ? all.id(who.index) : who;
    const errc code = sync_.join(who, now, pass{}, effects{*this});
    if (code == errc::ok) waiting_.wake(before);
    return code;
  }
  errc depart_now(worker_id who, double now, cause why) {
    const errc code = sync_.depart(who, now, why, effects{*this});
    if (code == errc::ok) waiting_.wake(who);  // also if it waits without a ticket, its gradient being out
    return code;
  }
  errc commit_now(const token& work, outcome how, double now) {
    return sync_.commit(work, now, how, pass{}, effects{*this});
  }
  errc push_now(push_event push, double now) {
    if (shut_) return errc::departed_worker;
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
    return call([&](double now) { return depart_now(who, now, why); });
  }

  void serve_deadlines() {
    while (sync_.next_deadline() == -std::numeric_limits<double>::infinity()) sync_.poll(now(), effects{*this});
    if (const double t = now(); sync_.next_deadline() <= t) sync_.poll(t, effects{*this});
    remind_watch();
  }
  // The thread that has been waiting longest watches the policy's deadline.
  void remind_watch() {
    if (waiting_.first() != nullptr && sync_.next_deadline() < watched_) waiting_.first()->alarm.notify_one();
  }

  // What a worker is to be told now; nothing if it is to wait.
  [[nodiscard]] std::optional<result<grant>> answer(worker_id who) const {
    const roster& all = sync_.workers();
    if (shut_) return told(errc::departed_worker);
    if (who.index >= all.capacity() || all[who.index].state == worker_state::absent) return told(errc::unknown_worker);
    if (all[who.index].incarnation != who.incarnation) return told(errc::old_incarnation);
    if (roster::is_gone(all[who.index].state)) return told(errc::departed_worker);
    if (all[who.index].state == worker_state::running) return all[who.index].granted;
    return std::nullopt;
  }
  // The same for one of its calls.
  [[nodiscard]] std::optional<result<grant>> answer(worker_id who, std::uint64_t turn) const {
    auto now_told = answer(who);
    const bool for_all = now_told && !*now_told;
    if (!for_all && !waiting_.is_latest(who, turn)) return told(errc::repeated);
    return now_told;
  }
  // What a call, to which the controller has said `code`, is told at once. If that is not an error, it has its turn.
  [[nodiscard]] std::optional<result<grant>> first_answer(errc code, worker_id who, std::uint64_t& turn) {
    if (code != errc::ok && code != errc::repeated) return told(code);
    auto at_once = answer(who);
    if (!at_once || *at_once) turn = waiting_.take_turn(who);
    return at_once;
  }
  [[nodiscard]] error told(errc code) const {
    if (shut_ && code == errc::departed_worker) return {code, "gate is shut"};
    return {code, std::string{name(code)}};
  }

  // --- Waiting

  [[nodiscard]] result<grant> arrive(const push_event& push, const limit_type& limit) {
    return enter_and_wait(push.worker, limit, [&](double now) { return push_now(push, now); });
  }

  template <class Call>
  [[nodiscard]] result<grant> enter_and_wait(worker_id who, const limit_type& limit, Call&& decide) {
    lock_type lock{mutex_};
    const errc code = decide(now());
    serve_deadlines();
    sleeper me{.who = who};
    std::optional<result<grant>> end = first_answer(code, who, me.turn);
    if (!end) {
      waiting_.add(me);
      while (!(end = awakened(me, limit))) sleep(me, limit, lock);
      const bool watched = waiting_.first() == &me;
      waiting_.remove(me);
      if (watched) watched_ = std::numeric_limits<double>::infinity(), remind_watch();
    }
    resume_ready(lock);
    return *std::move(end);
  }
  [[nodiscard]] std::optional<result<grant>> awakened(const sleeper& me, const limit_type& limit) const {
    if (auto end = answer(me.who, me.turn)) return end;
    if (limit && Clock::now() >= *limit) return error{errc::busy, "timed out"};
    return std::nullopt;
  }
  // Until there may be news.
  void sleep(sleeper& me, const limit_type& limit, lock_type& lock) {
    if (!waiting_.ready.empty()) return run_ready(lock);  // a loop that it is in would not go on while it sleeps
    const bool watches = waiting_.first() == &me;
    const limit_type due = watches ? deadline() : limit_type{};
    if (watches) watched_ = sync_.next_deadline();
    if (!due && !limit)
      me.alarm.wait(lock);
    else
      me.alarm.wait_until(lock, due && (!limit || *due < *limit) ? *due : *limit);
    serve_deadlines();
  }

  // Hands coroutines that may go on to the host, in their order, without the mutex.
  void resume_ready(lock_type& lock) {
    if (!waiting_.ready.empty() && !waiting_.ready.runs_here()) run_ready(lock);
  }
  void run_ready(lock_type& lock) {
    if constexpr (requires(Host& host, std::coroutine_handle<> who) { host.resume(who); })
      waiting_.ready.run(lock, host_);
  }

  const time_point start_;
  std::mutex mutex_;  // guards all that follows
  detail::waiters waiting_;
  Host host_;
  controller_type sync_;
  double watched_ = std::numeric_limits<double>::infinity();  // the deadline until which the watch sleeps
  bool shut_ = false;
};

/// What async_join, async_arrive and async_commit return: co_await it once, at once. If it has to wait, the coroutine
/// goes on through host().resume(); until then it must not be destroyed.
template <SyncPolicy Policy, class Host, Observer Watcher, class Clock>
class gate<Policy, Host, Watcher, Clock>::arrival {
 public:
  arrival(gate& at, worker_id who) : at_{at}, who_{who}, what_{kind::join} {}  ///< of async_join()
  /// Of async_arrive().
  arrival(gate& at, const push_event& push) : at_{at}, who_{push.worker}, what_{kind::push}, push_{push} {}
  arrival(gate& at, const token& work, outcome how)
      : at_{at}, who_{work.worker}, what_{kind::commit}, work_{work}, how_{how} {}  ///< of async_commit()

  [[nodiscard]] bool await_ready() const noexcept { return false; }  ///< only a call can tell

  /// Makes the call. True: the coroutine has to wait, or takes its turn after those that are ready.
  bool await_suspend(std::coroutine_handle<> coroutine) {
    static_assert(requires(Host& host) { host.resume(coroutine); },
                  "co_await needs a host with resume(std::coroutine_handle<>), which runs a coroutine that may go on");
    gate& at = at_;  // once the mutex is open this object may be gone: another thread has resumed its coroutine
    lock_type lock{at.mutex_};
    const errc code = decide(at.now());
    at.serve_deadlines();
    const auto at_once = at.first_answer(code, who_, turn_);
    if (at_once && !*at_once) code_ = at_once->error().code;
    me_.coroutine = coroutine;
    if (!at_once) {
      at.waiting_.add(me_, who_);
      at.resume_ready(lock);
      return true;
    }
    // It need not wait, but lets those go first who became ready before it. Where they run at once, that may be for
    // ever: then it takes its turns among them.
    detail::resume_queue& ready = at.waiting_.ready;
    if (!ready.runs_here()) ready.run(lock, at.host_, ready.size());
    if (ready.empty()) return false;
    ready.push(me_);
    at.resume_ready(lock);
    return true;
  }

  /// The grant of the next step, or why there is none: see gate.
  [[nodiscard]] result<grant> await_resume() {
    const std::lock_guard lock{at_.mutex_};
    if (code_ != errc::ok) return at_.told(code_);
    if (auto now_told = at_.answer(who_, turn_)) return *std::move(now_told);
    return at_.told(errc::repeated);  // somebody has admitted its next step meanwhile
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
  std::uint64_t turn_ = 0;
  detail::waiting_coroutine me_{};
};

}  // namespace rubato::inline RUBATO_ABI

#endif
