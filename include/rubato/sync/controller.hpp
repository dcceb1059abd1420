#ifndef RUBATO_SYNC_CONTROLLER_HPP
#define RUBATO_SYNC_CONTROLLER_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../core/result.hpp"
#include "../pinned.hpp"
#include "admissions.hpp"

namespace rubato::inline RUBATO_ABI {

/// Decides, for a parameter server, who may run next, with how much of the gradient, and when to flush.
///
/// Per push the host calls admit() when the gradient arrives, does with it what the verdict says, and then commit(),
/// which answers through the sink every worker that may go on (sink.hpp). push() is both for hosts that need no
/// verdict. The controller has no clock, thread, lock or I/O: times are arguments, effects are callbacks.
///
///     rubato::controller<rubato::ssp, reply> sync{{.capacity = 8}, {.staleness = 3}};
///     sync.push({.worker = {3, 0}, .now = now}, reply, [](reply r, worker_id, const grant&) { r.send(); });
///
/// Ticket   the host's means to answer one waiting worker; movable. Each is released once or abandoned once.
/// Thread   not thread-safe: the host serialises the calls, but not its work on gradients between admit and commit.
/// Cost     O(1) per call plus O(1) per released worker, independent of the capacity, unless a member states otherwise.
///          No allocation after construction, except in save, load and the policy's own resize.
/// Errors   by value; a call that returns a refusal has changed nothing, and its ticket went to `abandon`.
/// Tests    tests/sync/semantics, one file each; tests/sync/controller_test.cpp; tests/properties
template <SyncPolicy Policy, class Ticket, Observer Watcher = no_observer>
class controller : private detail::admissions<Policy, Ticket, Watcher> {
  using base = detail::admissions<Policy, Ticket, Watcher>;
  using typename base::outstanding;
  template <class Sink>
  using full = typename base::template full<Sink>;

 public:
  using options = controller_options;  ///< the same for every policy

  /// A controller, where options come from outside and may be wrong.
  /// Errors  invalid_option, with what problem(options, policy) says
  [[nodiscard]] static result<controller> make(const options& o, Policy policy, Watcher watcher = {}) {
    if (std::string wrong = problem(o, policy); !wrong.empty()) return error{errc::invalid_option, std::move(wrong)};
    return controller{o, std::move(policy), std::move(watcher)};
  }
  /// Precondition: problem(options, policy) is empty.
  controller(const options& o, Policy policy, Watcher watcher = {})
      : base{o.capacity, o.guard, (std::max)(o.max_release_per_call, 1U), o.seed, std::move(policy),
             std::move(watcher)},
        quorum_{o.quorum == 0 ? o.capacity : (std::min)(o.quorum, o.capacity)}, park_on_{o.park} {
    RUBATO_ASSERT(problem(o, policy_).empty(), "options out of range: problem() says which, make() refuses them");
  }

  /// A worker comes, or comes back with a higher incarnation. It is released or parked as the policy says; push hosts
  /// give the ticket by which it is answered, pull hosts none. Its clock is moved into [minimum, minimum + bound].
  template <class Sink>
  errc join(worker_id who, double now, std::optional<Ticket> ticket, Sink&& host) {
    const full<Sink> sink{host};
    const std::uint32_t w = who.index;
    if (!pinned::is_finite(now)) return refuse(who, reason::invalid_time, ticket, sink);
    if (w >= workers_.capacity()) return refuse(who, reason::unknown_worker, ticket, sink);
    worker_record& r = workers_[w];
    const bool gone = roster::is_gone(r.state);
    const bool here = !gone && r.state != worker_state::absent;
    if ((here && who.incarnation < r.incarnation) || (gone && who.incarnation <= r.incarnation))
      return refuse(who, reason::old_incarnation, ticket, sink);
    advance(now, w);
    this->drain(sink);
    if (here && who.incarnation == r.incarnation) return repeat(w, std::move(ticket), sink);
    if (here) remove(w, cause::death, sink);
    this->drain(sink);  // what its death released was decided before it came back

    r.incarnation = who.incarnation;
    r.step = r.highest_step = 0;
    r.doomed = reason::none;
    r.granted = {};
    tickets_[w] = std::move(ticket);
    workers_.move_to(w, worker_state::joining);
    if constexpr (ResettablePolicy<Policy>) policy_.reset(w);
    this->note({.what = record::kind::join, .worker = who});
    if (out_[w].serial == 0) enter(w, sink);  // else its former incarnation's commit lets it in
    return errc::ok;
  }

  /// A worker goes: `why` is leave, death or done. Gradients of it that were admitted are still to be committed.
  template <class Sink>
  errc depart(worker_id who, double now, cause why, Sink&& host) {
    const full<Sink> sink{host};
    std::optional<Ticket> none;
    if (why != cause::leave && why != cause::death && why != cause::done)
      return refuse(who, reason::invalid_cause, none, sink);
    if (!pinned::is_finite(now)) return refuse(who, reason::invalid_time, none, sink);
    if (const reason bad = stranger(who); bad != reason::none) return refuse(who, bad, none, sink);
    advance(now, who.index);
    this->drain(sink);
    remove(who.index, why, sink);
    return errc::ok;
  }

  /// Tells a policy that asks for it (measures_of) what was measured of a step, before the push whose step it is.
  /// Errors: those of pull, for strangers.
  errc measured(worker_id who, const step_metrics& step) noexcept {
    if (const reason bad = stranger(who); bad != reason::none) return count_refusal(bad, who), error_of(bad);
    if constexpr (MeasuringPolicy<Policy>) policy_.measured(who.index, step);
    return errc::ok;
  }

  /// A gradient has arrived: what is to be done with it. Every answer, refusals included, is to be committed once.
  [[nodiscard, gnu::always_inline]] admitted admit(const push_event& push) {
    const std::uint32_t w = push.worker.index;
    const reason bad = pinned::is_finite(push.now) ? stranger(push.worker) : reason::invalid_time;
    if (bad != reason::none) [[unlikely]]
      return count_refusal(bad, push.worker), this->answer(push.worker, {.what = verdict::refused, .why = bad});
    advance(push.now, w);
    worker_record& r = workers_[w];
    if (r.state != worker_state::running || (push.step != 0 && push.step <= r.highest_step)) [[unlikely]]
      return this->answer(push.worker, {.what = verdict::repeated, .why = reason::repeated});
    r.step = push.step != 0 ? push.step : r.step + 1;
    if (push.step != 0) r.highest_step = push.step;
    const double step_time = at_.now - r.granted_at;
    if (r.doomed != reason::cancelled) workers_.note_step_time(w, step_time);
    const std::uint64_t staleness = ledger_.updates() - (std::min)(push.read.lowest, r.granted.version);
    if (r.doomed != reason::none) [[unlikely]]
      return this->drop(push, staleness, step_time, r.doomed);
    if (!pinned::is_finite(push.loss) || !pinned::is_finite(push.grad_norm)) [[unlikely]]
      return this->drop(push, staleness, step_time, reason::non_finite);
    admission verdict_on = admission::apply();
    if constexpr (AdmittingPolicy<Policy>) {
      const view_totals totals = this->totals();
      const event what{.worker = w, .staleness = staleness, .now = at_.now, .loss = push.loss, .samples = push.samples};
      verdict_on = this->checked(policy_.admit({workers_, totals, w}, what), w);
    }
    return this->take_in(push, staleness, step_time, verdict_on);
  }

  /// The host has done what a verdict said. Answers, through the sink, the workers that may go on. A ticket is given
  /// here by hosts that park pushes. Valid once per token, in any order, also when the worker has gone meanwhile.
  template <class Sink>
  errc commit(const token& work, double now, outcome how, std::optional<Ticket> ticket, Sink&& host) {
    const full<Sink> sink{host};
    const std::uint32_t w = work.worker.index;
    if (work.what >= verdict::repeated || !pinned::is_finite(now) || w >= workers_.capacity() || work.serial == 0 ||
        work.serial != out_[w].serial) [[unlikely]]
      return commit_nothing(work, now, std::move(ticket), sink);
    advance(now, w);
    this->drain(sink);
    outstanding& done = out_[w];
    event& what = done.step.what;
    what.why = cause::push;
    what.now = at_.now;
    this->settle(done, how, sink);

    const bool here = workers_[w].state == worker_state::admitted;
    if (!here || workers_[w].incarnation != work.worker.incarnation) [[unlikely]] {
      give_back(work.worker, reason::departed_worker, ticket, sink);
      this->note_commit(work.worker, done, how);
      what.why = cause::death;  // the submitter is not there to be released; whoever waited for its gradient may be
      this->ask(what, sink);
      if (workers_[w].state == worker_state::joining) {
        this->drain(sink);
        enter(w, sink);
      }
      return errc::ok;
    }
    if (tickets_[w].has_value()) {  // a repeat of this push brought a newer one
      if (ticket.has_value()) counters_.add(reason::replaced, w);
      give_back(work.worker, reason::replaced, ticket, sink);
    } else {
      tickets_[w] = std::move(ticket);
    }
    workers_.clock().tick(w);
    workers_.move_to(w, worker_state::parked);
    workers_[w].round = what.pending ? ledger_.open_round() : worker_record::no_round;
    if (!what.dropped) at_.may_cancel = true;
    this->note_commit(work.worker, done, how);
    if constexpr (ObservingPolicy<Policy>) policy_.observe(done.step);
    this->ask(what, sink);
    if constexpr (PreparingPolicy<Policy>) policy_.prepare();
    return errc::ok;
  }

  /// admit() and commit() in one, for hosts that treat every gradient alike: the verdict, weights included, is lost.
  template <class Sink>
  errc push(const push_event& event, std::optional<Ticket> ticket, Sink&& host) {
    const admitted answer = admit(event);
    return commit(answer.work, event.now, outcome::done, std::move(ticket), host);
  }

  /// A worker asks for parameters, at a controller that parks on pull. It is answered at once if it is free to go.
  template <class Sink>
  errc pull(worker_id who, double now, Ticket ticket, Sink&& host) {
    const full<Sink> sink{host};
    std::optional<Ticket> held{std::move(ticket)};
    if (!pinned::is_finite(now)) return refuse(who, reason::invalid_time, held, sink);
    if (park_on_ != park_on::pull) return refuse(who, reason::no_pulls, held, sink);
    if (const reason bad = stranger(who); bad != reason::none) return refuse(who, bad, held, sink);
    advance(now, who.index);
    this->drain(sink);
    const std::uint32_t w = who.index;
    if (workers_[w].state == worker_state::running || tickets_[w].has_value()) return repeat(w, std::move(held), sink);
    hand_over(w, std::move(held), sink);
    return errc::ok;
  }

  /// When the controller wants to be polled: -infinity for at once, +infinity for never.
  [[nodiscard]] double next_deadline() const noexcept {
    const bool at_once = residue_.has_value() || at_.retries || at_.ask_on_poll;
    return at_once ? -std::numeric_limits<double>::infinity() : at_.wake_at - clock_offset_;
  }

  /// Does what is due by now: releases that an earlier call left over, and the policy's own deadline.
  template <class Sink>
  void poll(double now, Sink&& host) {
    const full<Sink> sink{host};
    if (!pinned::is_finite(now)) return count_refusal(reason::invalid_time, {});
    advance(now);
    if (now >= at_.wake_at - clock_offset_) at_.now = (std::max)(at_.now, at_.wake_at);  // next_deadline(), rounded
    if (residue_.has_value()) return this->resume(max_release_, sink);
    if (at_.retries) return this->retry_withheld(max_release_, sink);
    if (!at_.started && at_.ask_on_poll) static_cast<void>(seat_quorum());
    if (std::exchange(at_.ask_on_poll, false)) this->ask({.why = cause::enter, .now = at_.now}, sink);
    if (at_.wake_at > at_.now) return;
    at_.wake_at = std::numeric_limits<double>::infinity();
    this->ask({.why = cause::deadline, .now = at_.now}, sink);
  }

  /// Puts another policy in charge, a fresh one, without waiting for anything. Running steps and admissions keep the
  /// terms they have; the excluded are readmitted; clocks are re-based to the new bound; it is asked with cause enter.
  /// O(capacity). Errors: invalid_time; invalid_option, not counted, if its options do not suit this capacity.
  template <class Sink>
  errc switch_to(Policy policy, double now, pending_gradients waiting, Sink&& host) {
    const full<Sink> sink{host};
    if (!pinned::is_finite(now)) return count_refusal(reason::invalid_time, {}), errc::invalid_time;
    if (!problem_of(policy, workers_.capacity()).empty()) return errc::invalid_option;
    advance(now);
    this->drain(sink);
    this->end_round(waiting == pending_gradients::flush ? ledger_.complete(1.0F) : ledger_.abandon(), sink);
    policy_ = std::move(policy);
    if constexpr (ResizablePolicy<Policy>) policy_.resize(workers_.capacity());
    at_.wake_at = std::numeric_limits<double>::infinity();
    at_.withholds = at_.retries = false;
    for (std::uint32_t w = 0; w < workers_.capacity(); ++w) {
      if (workers_[w].excluded) this->readmit(w);  // an exclusion ends with the policy that ordered it
      workers_[w].withheld = false;
    }
    this->rebase(this->bound());
    this->note({.what = record::kind::change_policy});
    this->ask({.why = cause::enter, .now = at_.now}, sink);
    return errc::ok;
  }

  /// How many must have joined before anybody runs: for hosts that learn that fewer will come. Later it has no effect.
  template <class Sink>
  errc set_quorum(std::uint32_t quorum, double now, Sink&& host) {
    const full<Sink> sink{host};
    if (quorum == 0 || quorum > workers_.capacity()) return errc::invalid_option;
    if (!pinned::is_finite(now)) return count_refusal(reason::invalid_time, {}), errc::invalid_time;
    advance(now);
    quorum_ = quorum;
    if (!at_.started && seat_quorum()) this->ask({.why = cause::enter, .now = at_.now}, sink);
    return errc::ok;
  }

  /// Releases a parked worker whatever policy and bound say, with the terms of the policy's latest answer, readmits it
  /// if it is excluded, and counts reason::liveness: for hosts that know what this controller cannot, that nobody will
  /// push before. Others stay as they are. Errors: invalid_time; for strangers those of pull.
  template <class Sink>
  errc force_release(worker_id who, double now, Sink&& host) {
    const full<Sink> sink{host};
    const reason bad = pinned::is_finite(now) ? stranger(who) : reason::invalid_time;
    if (bad != reason::none) return count_refusal(bad, who), error_of(bad);
    advance(now);
    base::force_release(who.index, sink);
    return errc::ok;
  }

  [[nodiscard]] const Policy& policy() const noexcept { return policy_; }             ///< the one in charge
  [[nodiscard]] const roster& workers() const noexcept { return workers_; }           ///< who is where
  [[nodiscard]] const counters& counts() const noexcept { return counters_; }         ///< of refusals, overrides ...
  [[nodiscard]] Watcher& watcher() noexcept { return watcher_; }                      ///< the host's, between calls
  [[nodiscard]] std::uint64_t version() const noexcept { return ledger_.version(); }  ///< updates that are in
  [[nodiscard]] std::uint64_t updates() const noexcept { return ledger_.updates(); }  ///< updates decided
  [[nodiscard]] std::uint32_t pending() const noexcept { return ledger_.adds(); }     ///< gradients in the open round

  /// Saves all but tickets. `busy`: admissions or releases are out; `corrupt`: no load() takes it. O(capacity) bytes.
  errc save(archive& bytes) const {
    if (in_flight_ > 0 || residue_.has_value() || at_.retries) return errc::busy;
    const std::size_t from = bytes.bytes().size();
    controller& self = const_cast<controller&>(*this);  // state() serves both directions; saving only reads
    std::string kind{kind_of(policy_)};
    bytes.text(kind);
    static_cast<void>(self.save_or_load(bytes, self.quorum_, self.workers_, self.ledger_, self.counters_, self.at_,
                                        self.policy_));
    for (const auto& ticket : tickets_) {
      bool waits = ticket.has_value();
      bytes(waits);
    }
    bytes.seal(from);
    return bytes.ok() ? errc::ok : errc::corrupt;
  }

  /// Restores what save() wrote, into a controller at which nobody waits. reattach(worker_id) -> std::optional<Ticket>
  /// is asked for each worker that had a ticket; one without is dead, and may come back. Then poll() until
  /// next_deadline() is no longer -infinity. If the host's clock has started anew, times that policies and watchers see
  /// go on from the saved ones. Allocates; O(capacity).
  /// `busy`: somebody waits or an admission is out. `wrong_kind`: the bytes are of another policy or format.
  /// `invalid_option`: they are of another capacity. `corrupt`: they are not what was saved. Then nothing has changed.
  template <class Reattach>
  errc load(archive& bytes, Reattach&& reattach) {
    const auto waits_here = [](const std::optional<Ticket>& ticket) { return ticket.has_value(); };
    if (in_flight_ > 0 || residue_.has_value() || std::any_of(tickets_.begin(), tickets_.end(), waits_here))
      return errc::busy;
    std::string kind;
    if (!bytes.unseal()) return errc::corrupt;
    bytes.text(kind);
    if (!bytes.ok()) return errc::corrupt;
    if (kind != kind_of(policy_)) return errc::wrong_kind;
    roster workers{workers_.capacity()};
    ledger rounds{workers_.capacity()};
    counters counted{workers_.capacity()};
    typename base::progress at;
    Policy policy = policy_;
    std::uint32_t quorum = 0;
    const errc code = save_or_load(bytes, quorum, workers, rounds, counted, at, policy);
    if (code != errc::ok) return code;
    std::vector<char> waits(workers_.capacity());
    for (char& waiting : waits) {
      bool had_ticket = false;
      bytes(had_ticket), waiting = had_ticket ? 1 : 0;
    }
    if (!bytes.finished()) return errc::corrupt;
    quorum_ = quorum;
    workers_ = std::move(workers);
    ledger_ = std::move(rounds);
    counters_ = std::move(counted);
    at_ = at, at_.ask_on_poll = true;
    at_.parked_floor = 0;  // as the bytes may say what they like of it
    just_loaded_ = true, clock_offset_ = 0.0;
    policy_ = std::move(policy);
    for (std::uint32_t w = 0; w < workers_.capacity(); ++w) {
      worker_record& r = workers_[w];  // who runs may be told its terms again
      if (r.state == worker_state::running) r.granted.lr_scale = this->guard_.clipped(r.granted.lr_scale);
      if (waits[w] == 0) continue;
      tickets_[w] = reattach(workers_.id(w));
      if (tickets_[w].has_value()) continue;
      workers_.depart(w, worker_state::dead);
      counters_.add(reason::departed_worker, w);
      this->note({.what = record::kind::depart, .why = cause::death, .worker = workers_.id(w)});
    }
    return errc::ok;
  }

 private:
  void advance(double now, std::uint32_t worker = no_worker) noexcept {
    if (just_loaded_ || now + clock_offset_ < at_.now) [[unlikely]]
      return turn_back(now, worker);
    at_.now = now + clock_offset_;
  }
  [[gnu::cold, gnu::noinline]] void turn_back(double now, std::uint32_t worker) noexcept {
    if (std::exchange(just_loaded_, false) && now < at_.now)  // it has started anew
      clock_offset_ = std::nextafter(at_.now - now, (std::numeric_limits<double>::max)());
    if (now + clock_offset_ < at_.now) this->adjust(reason::time_clamped, worker);
    at_.now = (std::max)(at_.now, now + clock_offset_);
  }

  // Why this worker may not speak; none if it may.
  [[nodiscard]] reason stranger(worker_id who) const noexcept {
    if (who.index >= workers_.capacity()) return reason::unknown_worker;
    const worker_record& r = workers_[who.index];
    if (r.incarnation == who.incarnation && r.state > worker_state::absent && r.state < worker_state::left) [[likely]]
      return reason::none;
    if (r.state == worker_state::absent) return reason::unknown_worker;
    return r.incarnation != who.incarnation ? reason::old_incarnation : reason::departed_worker;
  }

  // The commit of a token without an admission.
  template <class Sink>
  [[gnu::cold, gnu::noinline]] errc commit_nothing(const token& work, double now, std::optional<Ticket> ticket,
                                                   const Sink& sink) {
    if (work.what == verdict::refused && work.why != reason::none) {  // counted when it was refused
      give_back(work.worker, work.why, ticket, sink);
      return error_of(work.why);
    }
    const reason bad = !pinned::is_finite(now)                    ? reason::invalid_time
                       : work.what == verdict::refused            ? reason::invalid_token  // nobody's: token{}
                       : work.worker.index >= workers_.capacity() ? reason::unknown_worker
                       : work.what == verdict::repeated           ? stranger(work.worker)
                                                                  : reason::invalid_token;
    if (bad != reason::none) return refuse(work.worker, bad, ticket, sink);
    advance(now, work.worker.index);
    this->drain(sink);
    return repeat(work.worker.index, std::move(ticket), sink);
  }

  template <class Sink>
  errc refuse(worker_id who, reason why, std::optional<Ticket>& ticket, const Sink& sink) {
    count_refusal(why, who);
    give_back(who, why, ticket, sink);
    return error_of(why);
  }

  // A message seen before: a running worker is told its terms again, a waiting one exchanges its ticket.
  template <class Sink>
  errc repeat(std::uint32_t worker, std::optional<Ticket> ticket, const Sink& sink) {
    counters_.add(reason::repeated, worker);
    if (ticket.has_value()) {
      if (workers_[worker].state == worker_state::running)
        sink.release(std::move(*ticket), workers_.id(worker), workers_[worker].granted);
      else
        hand_over(worker, std::move(ticket), sink);
    }
    return errc::repeated;
  }

  // The worker waits with this ticket from now on, or starts if it is free to.
  template <class Sink>
  void hand_over(std::uint32_t worker, std::optional<Ticket> ticket, const Sink& sink) {
    if (tickets_[worker].has_value()) {
      counters_.add(reason::replaced, worker);
      give_back(workers_.id(worker), reason::replaced, tickets_[worker], sink);
    }
    tickets_[worker] = std::move(ticket);
    if (workers_[worker].state == worker_state::released) this->start(worker, sink);
  }

  template <class Sink>
  void enter(std::uint32_t worker, const Sink& sink) {
    if (at_.started)
      seat(worker);
    else if (!seat_quorum())
      return;
    this->ask({.why = cause::join, .worker = worker, .now = at_.now}, sink);
  }

  // Seats all who have joined, if they are enough to start.
  [[nodiscard]] bool seat_quorum() noexcept {
    if (workers_.in(worker_state::joining) < quorum_) return false;
    at_.started = true;
    for (std::uint32_t w = 0; w < workers_.capacity(); ++w)
      if (workers_[w].state == worker_state::joining) seat(w);
    return true;
  }

  void seat(std::uint32_t worker) noexcept {
    const vector_clock& clock = workers_.clock();
    const clock_type own = clock.clock(worker);
    const clock_type lowest = clock.size() == 0 ? own : clock.minimum();
    const clock_type fitting = std::clamp(own, lowest, saturating_add(lowest, this->bound()));
    workers_.enter(worker, fitting, at_.now);
    at_.parked_floor = (std::min)(at_.parked_floor, fitting);
    if (fitting != own) this->adjust(reason::clock_clamped, worker);
  }

  template <class Sink>
  void remove(std::uint32_t worker, cause why, const Sink& sink) {
    give_back(workers_.id(worker), reason::departed_worker, tickets_[worker], sink);
    workers_.depart(worker, why == cause::leave  ? worker_state::left
                            : why == cause::done ? worker_state::done
                                                 : worker_state::dead);
    this->note({.what = record::kind::depart, .why = why, .worker = workers_.id(worker)});
    this->ask({.why = why, .worker = worker, .now = at_.now}, sink);
  }

  [[nodiscard]] errc save_or_load(archive& bytes, std::uint32_t& quorum, roster& workers, ledger& rounds,
                                  counters& counted, typename base::progress& at, Policy& policy) {
    std::uint32_t format = 2, capacity = workers.capacity();
    bytes(format, capacity, quorum);
    if (!bytes.ok()) return errc::corrupt;
    if (format != 2) return errc::wrong_kind;
    if (capacity != workers.capacity()) return errc::invalid_option;
    if (quorum == 0 || quorum > capacity) return errc::corrupt;
    at.state(bytes);
    rounds.state(bytes);
    counted.state(bytes);
    workers.state(bytes);
    if constexpr (StatefulPolicy<Policy>) policy.state(bytes);
    const bool waits_for_quorum = workers.clock().size() + workers.excluded() == 0;  // else it has started
    return bytes.ok() && (at.started || waits_for_quorum) ? errc::ok : errc::corrupt;
  }

  using base::at_;
  using base::count_refusal;
  using base::counters_;
  using base::give_back;
  using base::ledger_;
  using base::in_flight_;
  using base::max_release_;
  using base::out_;
  using base::policy_;
  using base::residue_;
  using base::tickets_;
  using base::watcher_;
  using base::workers_;

  std::uint32_t quorum_;
  park_on park_on_;
  bool just_loaded_ = false;
  double clock_offset_ = 0.0;  // from the host's clock to the times that go on from the saved ones
};

}  // namespace rubato::inline RUBATO_ABI

#endif
