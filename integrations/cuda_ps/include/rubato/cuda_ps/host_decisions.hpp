#ifndef RUBATO_CUDA_PS_HOST_DECISIONS_HPP
#define RUBATO_CUDA_PS_HOST_DECISIONS_HPP

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <rubato/core/result.hpp>
#include <rubato/sync/controller.hpp>
#include <rubato/sync/extras/scores.hpp>
#include <string>
#include <utility>

#include "round_book.cuh"

namespace rubato::inline RUBATO_ABI::cuda_ps {

/// What a server is to be like; problem() says what is wrong with it.
struct server_options {
  controller_options sync{};           ///< capacity (1 to max_workers), quorum, guard
  std::uint32_t shards = 1;            ///< of the parameters, with a stream each; at least 1
  std::uint32_t nominal_samples = 16;  ///< behind a gradient of weight 1: of a step whose grant has no batch
  std::size_t log_capacity = 0;        ///< entries of the apply log that are kept; 0: no log
};

/// What is wrong with the options for so many parameters, as a sentence; empty if nothing is.
template <SyncPolicy Policy>
[[nodiscard]] std::string problem(const server_options& o, std::size_t parameters, const Policy& policy,
                                  const rule_options& rule) {
  if (parameters == 0) return "there are no parameters, expected at least 1";
  if (o.sync.capacity > max_workers)
    return "sync.capacity is " + std::to_string(o.sync.capacity) + ", expected at most " + std::to_string(max_workers);
  if (const std::size_t quads = (parameters + 3) / 4; o.shards == 0 || o.shards > quads)
    return "shards is " + std::to_string(o.shards) + ", expected 1 to a quarter of the parameters, " +
           std::to_string(quads);
  if (o.nominal_samples == 0) return "nominal_samples is 0, expected at least 1";
  if (std::string wrong = problem(rule); !wrong.empty()) return wrong;
  return rubato::problem(o.sync, policy);
}

/// Where orders are carried out: one after the other, and all of an order at all shards. Called under the mutex of the
/// decisions, in their order. It need not be over when the call is: what a worker does with its copy comes after it.
template <class P>
concept Plane = requires(P& plane, const order& what, const waiting_gradients& waiting) {
  { plane.carry_out(what, waiting) } -> std::same_as<error>;
};

/// The terms of a worker's next step.
struct next_step_terms {
  grant terms{};                   ///< as the controller grants them: batch, factor of the learning rate
  std::uint64_t version_read = 0;  ///< updates in the parameters that it has got, exactly
  std::uint32_t slot = 0;          ///< where its gradient is to go
};

/// Decisions on the host: the library's controller under one mutex, whose verdicts become orders for a plane.
///
/// A decision is one critical section: the controller is asked, the orders are handed to the plane, and whoever is
/// released is told. So all shards see the same orders in the same sequence, an update and the copies that it frees are
/// one pass over the parameters, and the version that a worker computes with is known to the unit.
///
/// A worker that is not released at once looks at a word for `spin`, and then sleeps. Deadlines of a policy are served
/// by whoever sleeps; where nobody does, call poll() at next_deadline().
///
/// Thread  safe. One mutex.
/// Cost    that of the controller and of handing over the orders. No allocation after construction.
/// Errors  by value: those of the controller; once a plane has failed, what it said, for everybody.
/// Tests   tests/integrations/cuda_ps/host_decisions_test.cpp: SumsAreExact, BspHasTheSameBitsWhoeverComesFirst,
///         NobodyPassesTheBound, AFlushTakesTheFirstK, TheVersionThatWasReadIsExact, WeightsAreThoseOfSemantics3,
///         ADeadWorkerHoldsNobodyBack, AWorkerComesBack, SwitchesLoseNothing, ShutdownFreesEverybody,
///         AFailingPlaneEndsEverything, CancelledStepsAreTold, RefusesBadOptions, KillsAndSwitchesAtRandom
template <SyncPolicy Policy, Plane Where, Observer Watcher = no_observer>
class host_decisions {
  struct pass {};  // ticket: who waits is found by its index

 public:
  using controller_type = controller<Policy, pass, Watcher>;  ///< what inspect() shows
  using clock = std::chrono::steady_clock;                    ///< of all deadlines, and of `spin`

  /// Precondition: problem(options, parameters, policy, rule) is empty. The plane outlives it.
  host_decisions(const server_options& o, Policy policy, const rule_options& rule, Where& plane, Watcher watcher = {},
                 clock::duration spin = std::chrono::microseconds{50})
      : start_{clock::now()},
        spin_{spin},
        nominal_samples_{o.nominal_samples},
        plane_{plane},
        book_{rule},
        sync_{parked_on_push(o.sync), std::move(policy), std::move(watcher)} {
    RUBATO_ASSERT(o.sync.capacity <= max_workers, "more workers than a word has bits");
  }
  host_decisions(const host_decisions&) = delete;
  host_decisions& operator=(const host_decisions&) = delete;

  /// A worker comes, or comes back with a higher incarnation, and waits for its first step.
  [[nodiscard]] result<next_step_terms> join_and_wait(worker_id who) {
    lock_type lock{mutex_};
    if (shut_) return told(errc::departed_worker);
    const errc code = decide([&](double now) { return sync_.join(who, now, pass{}, effects{*this}); });
    if (code != errc::ok) return told(code);
    tell(who.index), alarm_.notify_all();  // its former life, should it wait
    seats_[who.index].slot = book_.free_slot(who.index);
    return wait(who, lock);
  }
  /// The gradient of a step lies in its slot, complete as far as the plane is concerned. Waits for the next step.
  /// `now` and `read` of the push are filled in; `samples` 0 stands for nominal_samples.
  [[nodiscard]] result<next_step_terms> push_and_wait(push_event push) {
    lock_type lock{mutex_};
    if (shut_) return told(errc::departed_worker);
    const errc code = decide([&](double now) { return push_now(push, now); });
    if (code != errc::ok) return told(code);
    return wait(push.worker, lock);
  }

  /// This worker has no more to do: nobody waits for it any more. Errors: those of controller::depart, which count and
  /// change nothing; departed_worker after shutdown().
  errc finish(worker_id who) { return depart(who, cause::done); }
  /// It goes by its own wish, and may come back. Errors as of finish().
  errc leave(worker_id who) { return depart(who, cause::leave); }
  /// It is dead, says whoever supervises the workers; if it is not, and pushes, it is told. Errors as of finish().
  errc die(worker_id who) { return depart(who, cause::death); }
  /// Another rule, now: the open round is flushed or discarded, nobody's step is interrupted. Errors: invalid_option.
  errc switch_to(Policy policy, pending_gradients waiting) {
    const std::lock_guard lock{mutex_};
    return decide([&](double now) { return sync_.switch_to(std::move(policy), now, waiting, effects{*this}); });
  }
  /// How many must have joined before anybody runs; later without effect. Errors: invalid_option: 0, or above capacity.
  errc set_quorum(std::uint32_t quorum) {
    const std::lock_guard lock{mutex_};
    return decide([&](double now) { return sync_.set_quorum(quorum, now, effects{*this}); });
  }
  /// Does what a policy wants done by now. Needed only while nobody waits.
  void poll() {
    const std::lock_guard lock{mutex_};
    static_cast<void>(decide([](double) { return errc::ok; }));
  }
  /// When the policy wants a poll(), in seconds as now(); infinity: never.
  [[nodiscard]] double next_deadline() {
    const std::lock_guard lock{mutex_};
    return sync_.next_deadline();
  }
  /// Whoever waits or pushes is told `departed_worker`; with a failure, that.
  void shutdown(error why = {}) {
    const std::lock_guard lock{mutex_};
    shut(std::move(why));
  }

  /// Whether the gradient of this worker's present step will be dropped.
  [[nodiscard]] bool cancelled(worker_id who) const noexcept {
    return who.index < max_workers && seats_[who.index].cancelled.load(std::memory_order_relaxed) == life_of(who);
  }
  /// Of all gradients that were applied or joined a round: updates since the parameters were copied.
  [[nodiscard]] staleness_histogram staleness() {
    const std::lock_guard lock{mutex_};
    return stale_;
  }
  /// Calls f(controller, observer) under the mutex.
  template <class F>
  decltype(auto) inspect(F&& f) {
    const std::lock_guard lock{mutex_};
    return std::forward<F>(f)(std::as_const(sync_), sync_.watcher());
  }
  /// Calls f(book) under the mutex: no order comes meanwhile.
  template <class F>
  decltype(auto) between_orders(F&& f) {
    const std::lock_guard lock{mutex_};
    return std::forward<F>(f)(std::as_const(book_));
  }
  /// Seconds since construction, as controller and observer see them.
  [[nodiscard]] double now() const { return std::chrono::duration<double>(clock::now() - start_).count(); }

 private:
  using lock_type = std::unique_lock<std::mutex>;

  struct seat {
    std::atomic<std::uint32_t> news{0};  // counts what may concern who waits here
    std::atomic<std::uint64_t> cancelled{0};
    std::uint64_t version_read = 0;
    std::uint32_t slot = 0;
  };
  struct effects {
    host_decisions& self;
    void release(pass, worker_id who, const grant&) const noexcept { self.released_ |= std::uint64_t{1} << who.index; }
    void abandon(pass, worker_id, reason) const noexcept {}
    void flush(std::uint64_t, float scale, std::uint32_t) const noexcept { self.book_.flush(scale); }
    void discard(std::uint64_t, std::uint32_t) const noexcept { self.book_.discard(); }
    void cancel(worker_id who) const noexcept {
      self.seats_[who.index].cancelled.store(life_of(who), std::memory_order_relaxed);
    }
  };

  [[nodiscard]] static std::uint64_t life_of(worker_id who) noexcept { return std::uint64_t{who.incarnation} + 1; }
  [[nodiscard]] static controller_options parked_on_push(controller_options o) noexcept {
    o.park = park_on::push;
    return o;
  }
  [[nodiscard]] error told(errc code) const {
    if (shut_ && failure_.code != errc::ok) return failure_;
    if (shut_ && code == errc::departed_worker) return {code, "the server is shut down"};
    return {code, std::string{name(code)}};
  }

  // --- All that follows is called under the mutex

  template <class Call>
  errc decide(Call&& call) {
    if (shut_) return errc::departed_worker;
    const errc code = after(std::forward<Call>(call));
    while (!shut_ && sync_.next_deadline() <= now()) {
      const double due = sync_.next_deadline();
      static_cast<void>(after([&](double now) { return sync_.poll(now, effects{*this}), errc::ok; }));
      if (due != -std::numeric_limits<double>::infinity()) break;
    }
    if (sync_.next_deadline() < watched_) alarm_.notify_all();
    return code;
  }
  // One call of the controller, and its effects.
  template <class Call>
  errc after(Call&& call) {
    book_.begin();
    released_ = 0;
    const errc code = call(now());
    book_.finish(released_);
    for (unsigned i = 0; i < book_.count(); ++i)
      if (error wrong = plane_.carry_out(book_[i], book_.waiting()); wrong.code != errc::ok) {
        shut(std::move(wrong));
        return errc::departed_worker;
      }
    for (std::uint32_t w = 0; w < max_workers; ++w)
      if ((released_ >> w & 1) != 0) seats_[w].version_read = book_.version(), tell(w);
    if (released_ != 0 && sleepers_ > 0) alarm_.notify_all();
    return code;
  }
  errc push_now(push_event& push, double now) {
    const std::uint32_t w = push.worker.index;
    if (w >= sync_.workers().capacity()) return errc::unknown_worker;
    seat& own = seats_[w];
    const grant terms = sync_.workers()[w].granted;
    push.now = now;
    push.samples = push.samples == 0 ? nominal_samples_ : push.samples;
    push.read = {own.version_read, own.version_read};
    const admitted answer = sync_.admit(push);
    const verdict what = answer.what.what;
    if (what == verdict::apply || what == verdict::accumulate)
      ++stale_.counts[staleness_histogram::bucket_of(book_.version() - own.version_read)];
    if (what < verdict::repeated) {
      const float weight = applied_weight(terms, answer.what.weight, push.samples, nominal_samples_);
      const gradient_note note{
          .version_read = own.version_read, .step = static_cast<std::uint32_t>(push.step), .weight = weight};
      book_.admit(what, w, own.slot, note);
      own.slot = 1 - own.slot;
      own.cancelled.store(0, std::memory_order_relaxed);
    }
    return sync_.commit(answer.work, now, outcome::done, pass{}, effects{*this});
  }
  errc depart(worker_id who, cause why) {
    const std::lock_guard lock{mutex_};
    if (shut_) return errc::departed_worker;
    const errc code = decide([&](double now) { return sync_.depart(who, now, why, effects{*this}); });
    if (code == errc::ok) tell(who.index), alarm_.notify_all();
    return code;
  }
  void shut(error why) {
    if (!shut_) failure_ = std::move(why);
    shut_ = true;
    for (std::uint32_t w = 0; w < max_workers; ++w) tell(w);
    alarm_.notify_all();
  }
  void tell(std::uint32_t w) noexcept { seats_[w].news.fetch_add(1, std::memory_order_release); }

  // What a worker is to be told now; `busy` if it is to wait.
  [[nodiscard]] errc answer(worker_id who) const noexcept {
    const worker_record& known = sync_.workers()[who.index];
    if (shut_) return errc::departed_worker;
    if (known.incarnation != who.incarnation) return errc::old_incarnation;
    if (roster::is_gone(known.state)) return errc::departed_worker;
    return known.state == worker_state::running ? errc::ok : errc::busy;
  }
  [[nodiscard]] result<next_step_terms> wait(worker_id who, lock_type& lock) {
    const seat& own = seats_[who.index];
    errc now_told = answer(who);
    if (now_told == errc::busy && spin_ > clock::duration::zero()) {
      const std::uint32_t before = own.news.load(std::memory_order_relaxed);
      lock.unlock();
      const auto until = clock::now() + spin_;
      while (own.news.load(std::memory_order_acquire) == before && clock::now() < until) {
      }
      lock.lock();
      now_told = answer(who);
    }
    for (; now_told == errc::busy; now_told = answer(who)) {
      ++sleepers_;
      watched_ = sync_.next_deadline();
      const double due = std::clamp(watched_ - now(), 0.0, 3600.0);
      if (watched_ == std::numeric_limits<double>::infinity())
        alarm_.wait(lock);
      else
        alarm_.wait_for(lock, std::chrono::duration<double>{due});
      --sleepers_;
      if (!shut_ && sync_.next_deadline() <= now()) static_cast<void>(decide([](double) { return errc::ok; }));
    }
    if (now_told != errc::ok) return told(now_told);
    return next_step_terms{sync_.workers()[who.index].granted, own.version_read, own.slot};
  }

  const clock::time_point start_;
  const clock::duration spin_;
  const std::uint32_t nominal_samples_;
  Where& plane_;
  std::array<seat, max_workers> seats_{};
  std::mutex mutex_;  // guards what follows, and the seats but for their atomics
  std::condition_variable alarm_;
  round_book book_;
  controller_type sync_;
  std::uint64_t released_ = 0;  // by the present call
  std::uint32_t sleepers_ = 0;
  double watched_ = std::numeric_limits<double>::infinity();  // until when who sleeps would sleep
  staleness_histogram stale_{};
  bool shut_ = false;
  error failure_{};
};

}  // namespace rubato::inline RUBATO_ABI::cuda_ps

#endif
