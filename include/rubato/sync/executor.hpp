#ifndef RUBATO_SYNC_EXECUTOR_HPP
#define RUBATO_SYNC_EXECUTOR_HPP

#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "../core/rng.hpp"
#include "../pinned.hpp"
#include "counters.hpp"
#include "guard.hpp"
#include "ledger.hpp"
#include "observer.hpp"
#include "sink.hpp"

namespace rubato::inline RUBATO_ABI::detail {

/// Asks the policy and carries its decisions out: the half of a controller that faces the policy. The other half,
/// controller, faces the host and keeps the protocol; it owns nothing else.
template <SyncPolicy Policy, class Ticket, Observer Watcher>
class executor {
 protected:
  template <class Sink>
  using full = full_sink<Policy, Ticket, std::remove_reference_t<Sink>>;

  executor(std::uint32_t capacity, const guard_options& guarding, std::uint32_t max_release, std::uint64_t seed,
           Policy policy, Watcher watcher)
      : policy_{std::move(policy)}, watcher_{std::move(watcher)}, workers_{capacity}, ledger_{capacity},
        counters_{capacity}, tickets_(capacity), guard_{guarding}, max_release_{max_release}, seed_{seed} {
    if constexpr (ResizablePolicy<Policy>) policy_.resize(capacity);
  }

  /// What changes from call to call, besides workers and gradients.
  struct progress {
    double now = -std::numeric_limits<double>::infinity();
    double wake_at = std::numeric_limits<double>::infinity();
    clock_type asked_minimum = 0;  // when the policy was last asked
    clock_type asked_bound = 0;
    clock_type parked_floor = 0;   // no parked worker's clock is lower
    std::uint64_t serial = 0;      // of the latest admission; where loaded, too small to get to 0 again
    std::uint64_t draws = 0;
    bool started = false;          // the quorum has been reached
    bool may_cancel = true;        // a useful push came in since the last cancellation
    bool withholds = false;        // somebody is parked whom only the bound keeps from going
    bool retries = false;          // the bound may have let go of somebody
    bool ask_on_poll = false;
    std::uint32_t batch = 0;       // of the policy's latest answer, as is lr_scale: for those released against it
    float lr_scale = 1.0F;

    void state(archive& bytes) {
      bytes(now, wake_at, asked_minimum, asked_bound, parked_floor, serial, draws, started, may_cancel, withholds,
            retries, ask_on_poll, batch, lr_scale);
      const bool is_time = pinned::is_finite(now) || (!pinned::is_nan(now) && now < 0);  // -infinity: no call yet
      if (!is_time || pinned::is_nan(wake_at) || serial >> 63U != 0) bytes.fail();
    }
  };

  [[nodiscard]] clock_type bound() const noexcept { return clock_bound_of(policy_); }

  [[nodiscard]] view_totals totals() const noexcept {
    return {.version = ledger_.version(),
            .updates = ledger_.updates(),
            .pending = ledger_.adds(),
            .round_admissions = ledger_.admissions(),
            .now = at_.now,
            .minimum_moved = workers_.clock().minimum() != at_.asked_minimum};
  }

  /// The policy's answer to an event, carried out, and then the guard.
  template <class Sink>
  void ask(const event& what, const Sink& sink) {
    if (!at_.started) [[unlikely]]
      return;
    drain(sink);
    released_ = 0;
    decision answer = answer_to(what);
    if (answer.exclude != no_worker || answer.readmit != no_worker) [[unlikely]]
      answer = consult(answer, what);
    at_.batch = answer.batch, at_.lr_scale = answer.lr_scale;
    if (answer.is_degraded) adjust(reason::degraded, what.worker);
    if (answer.wakes) set_deadline(answer.wake_at);
    const std::uint64_t round = ledger_.open_round();
    if (answer.flushes) end_round(ledger_.complete(finite_or_one(answer.flush_scale)), sink);
    if (answer.verb == release_verb::submitter && !answer.cancels && !answer.rebases) {
      // A submitter that goes on at once is spared the parking lists.
      if (what.worker < workers_.capacity()) release_one(what.worker, answer.batch, answer.lr_scale, sink);
      park(what.worker);
    } else {
      park(what.worker);
      if (answer.verb == release_verb::submitter) answer.worker = what.worker;
      if (answer.verb != release_verb::hold || answer.cancels || answer.rebases) carry_out(answer, round, sink);
    }
    protect(sink);
    at_.asked_minimum = workers_.clock().minimum();
    at_.asked_bound = bound();
  }

  /// Finishes releases that an earlier call left over; a policy is never asked before that.
  template <class Sink>
  void drain(const Sink& sink) {
    if (residue_.has_value()) [[unlikely]]
      resume(no_worker, sink);
  }
  template <class Sink>
  [[gnu::cold, gnu::noinline]] void resume(std::uint32_t at_most, const Sink& sink) {
    const leftover rest = *std::exchange(residue_, std::nullopt);
    release(rest.what, rest.round, at_most, sink);
  }

  /// Releases, in park order, those whom the bound kept back and keeps no longer.
  template <class Sink>
  [[gnu::noinline]] void retry_withheld(std::uint32_t budget, const Sink& sink) {
    at_.withholds = at_.retries = false;
    std::uint32_t next = no_worker;
    for (std::uint32_t w = workers_.parked().front(); w != no_worker && !at_.retries; w = next) {
      next = workers_.parked().after(w);
      if (!workers_[w].withheld) continue;
      const bool may_go = guard_.allows(workers_, w, bound());
      at_.retries = may_go && budget == 0;
      at_.withholds = at_.withholds || !may_go || at_.retries;
      if (may_go && !at_.retries) --budget, let_go(w, sink);
    }
  }

  template <class Sink>
  void force_release(std::uint32_t worker, const Sink& sink) {
    drain(sink);
    if (workers_[worker].state != worker_state::parked) return;
    if (workers_[worker].excluded) readmit(worker);
    force(worker, sink);
  }

  /// Lets a released worker with a ticket start its step.
  template <class Sink>
  [[gnu::always_inline]] void start(std::uint32_t worker, const Sink& sink) {
    worker_record& r = workers_[worker];
    r.granted.version = ledger_.version();
    if constexpr (ShapingPolicy<Policy>) {
      if (shapes_of(policy_)) {
        const view_totals totals = this->totals();
        policy_.shape({workers_, totals, worker}, worker, r.granted);
        r.granted.version = ledger_.version();
        r.granted.lr_scale = finite_or_one(r.granted.lr_scale);
      }
    }
    if (const float rate = guard_.clipped(r.granted.lr_scale); rate != r.granted.lr_scale) {
      adjust(reason::rate_limit, worker);
      r.granted.lr_scale = rate;
    }
    r.granted_at = at_.now;
    r.doomed = reason::none;
    workers_.move_to(worker, worker_state::running);
    sink.release(*std::exchange(tickets_[worker], std::nullopt), workers_.id(worker), r.granted);
    note({.what = record::kind::release,
          .worker = workers_.id(worker),
          .version = r.granted.version,
          .count = r.granted.batch,
          .value = r.granted.lr_scale});
  }

  template <class Sink>
  void end_round(const ledger::finished_round& done, const Sink& sink) {
    if (!done.ready) return;
    if (done.flushed) {
      sink.flush(done.round, done.scale, done.adds);
    } else {
      sink.discard(done.round, done.adds);
      for (std::uint32_t i = 0; i < done.adds; ++i) counters_.add(reason::switched, no_worker);
    }
    note({.what = done.flushed ? record::kind::flush : record::kind::discard,
          .because = done.flushed ? reason::none : done.adds > 0 ? reason::switched : reason::failed,
          .round = done.round,
          .count = done.adds,
          .value = done.scale});
  }

  void rebase(clock_type to_bound) noexcept {
    workers_.rebase(to_bound, [this](std::uint32_t w) { adjust(reason::clock_clamped, w); });
    at_.parked_floor = 0;
    at_.retries = at_.withholds;
  }

  /// Counts and logs an intervention.
  [[gnu::cold, gnu::noinline]] void adjust(reason why, std::uint32_t worker) noexcept {
    counters_.add(why, worker);
    note({.what = record::kind::adjust,
          .because = why,
          .worker = worker < workers_.capacity() ? workers_.id(worker) : worker_id{}});
  }

  void note(record r) noexcept {
    if constexpr (watched) {
      r.now = at_.now;
      if (r.worker.index < workers_.capacity()) r.clock = workers_.clock().clock(r.worker.index);
      if (r.what != record::kind::release) r.version = ledger_.version();
      r.parked = workers_.in(worker_state::parked);
      watcher_(r);
    }
  }

  /// Puts a counted parked worker that is not yet linked into the parking orders.
  void park(std::uint32_t worker) noexcept {
    if (worker >= workers_.capacity()) return;
    const worker_record& r = workers_[worker];
    if (r.state == worker_state::parked && !r.linked && workers_.counted(worker)) link(worker);
  }
  [[gnu::noinline]] void link(std::uint32_t worker) noexcept {
    workers_.park(worker, at_.now);
    at_.parked_floor = (std::min)(at_.parked_floor, workers_.clock().clock(worker));
  }

  void readmit(std::uint32_t worker) noexcept {
    const clock_type highest = saturating_add(workers_.clock().minimum(), (std::min)(guard_.limit(), bound()));
    if (workers_.readmit(worker, highest, at_.now)) adjust(reason::clock_clamped, worker);
    at_.parked_floor = (std::min)(at_.parked_floor, workers_.clock().clock(worker));
    note({.what = record::kind::readmit, .worker = workers_.id(worker)});
  }

  static constexpr bool watched = !std::same_as<Watcher, no_observer>;
  Policy policy_;
  Watcher watcher_;
  roster workers_;
  ledger ledger_;
  counters counters_;
  std::vector<std::optional<Ticket>> tickets_;
  progress at_;

  struct leftover {
    decision what;
    std::uint64_t round;
  };
  std::optional<leftover> residue_;
  guard guard_;
  std::uint32_t max_release_;

 private:
  [[nodiscard]] float finite_or_one(float scale) noexcept {
    if (pinned::is_finite(scale)) return scale;
    adjust(reason::invalid_decision, no_worker);
    return 1.0F;
  }

  void set_deadline(double time) noexcept {
    const bool is_time = pinned::is_finite(time) || (!pinned::is_nan(time) && time > 0);  // infinity: never
    if (!is_time) return adjust(reason::invalid_decision, no_worker);
    at_.wake_at = time;
  }

  [[nodiscard]] decision answer_to(const event& what) {
    const view_totals seen = totals();
    const decision answer = policy_.release({workers_, seen, what.worker}, what);
    if constexpr (AnswerObserver<Watcher>) watcher_.answered(what, answer, insight_of(policy_));
    return answer;
  }
  // Asks again until the answer changes no membership. A policy that keeps changing its mind is cut off.
  [[nodiscard, gnu::cold, gnu::noinline]] decision consult(decision answer, event what) {
    for (std::uint64_t left = 2 * std::uint64_t{workers_.capacity()} + 2; change_membership(answer, what.worker);) {
      what.why = answer.exclude != no_worker ? cause::exclude : cause::readmit;
      answer = answer_to(what);
      if (--left == 0) {
        adjust(reason::invalid_decision, what.worker);
        break;
      }
    }
    return answer;
  }

  [[nodiscard]] bool change_membership(const decision& answer, std::uint32_t submitter) {
    const std::uint32_t out = answer.exclude;
    const std::uint32_t in = answer.readmit;
    if (out == no_worker && in == no_worker) return false;
    park(submitter);  // before anybody who is readmitted
    bool changed = false;
    if (out != no_worker) {
      if (out >= workers_.capacity()) {
        adjust(reason::invalid_decision, no_worker);
      } else if (workers_.counted(out) && workers_.clock().size() > 1) {
        workers_.exclude(out);
        note({.what = record::kind::exclude, .worker = workers_.id(out)});
        changed = true;
      } else if (workers_.counted(out)) {
        adjust(reason::nobody_left, out);
        for (std::uint32_t w = 0; w < workers_.capacity() && workers_.excluded() > 0; ++w)
          if (workers_[w].excluded) readmit(w), changed = true;
      }
    }
    if (in != no_worker) {
      if (in >= workers_.capacity())
        adjust(reason::invalid_decision, no_worker);
      else if (workers_[in].excluded)
        readmit(in), changed = true;
    }
    return changed;
  }

  // Whether a parked worker is one that this decision may release.
  [[nodiscard]] bool covers(const decision& d, std::uint32_t worker, std::uint64_t round) const noexcept {
    switch (d.verb) {
      case release_verb::all: return true;
      case release_verb::up_to: return d.count > 0;
      case release_verb::up_to_clock: return workers_.clock().clock(worker) <= d.clock;
      case release_verb::contributors: return workers_[worker].round == round;
      case release_verb::submitter:
      case release_verb::only: return worker == d.worker;
      default: return false;
    }
  }

  // Releases the longest parked, all at once and under the same terms, until somebody needs a second look; returns how
  // many. So they wait for nothing but their stores. Those who look at every release see one after another.
  template <class Sink>
  std::uint32_t release_front(const decision& d, clock_type most, std::uint32_t budget, const Sink& sink) {
    if (watched || shapes_of(policy_) || !pinned::is_finite(d.lr_scale) || guard_.clipped(d.lr_scale) != d.lr_scale)
      return 0;
    const clock_type highest = (std::min)(most, guard_.highest(workers_, bound()));
    const grant terms{.version = ledger_.version(), .batch = d.batch, .lr_scale = d.lr_scale};
    const auto release_it = [&](std::uint32_t worker, worker_record& r) __attribute__((always_inline)) {
      if (workers_.clock().clock(worker) > highest || !tickets_[worker].has_value()) return false;
      r.granted = terms;
      r.granted_at = at_.now;
      sink.release(*std::exchange(tickets_[worker], std::nullopt), workers_.id(worker), terms);
      return true;
    };
    const std::uint32_t count = workers_.run_front(budget, release_it);
    released_ += count;
    return count;
  }

  // Walks the parked in park order and releases those that the decision covers. False if it had to stop early.
  template <class Sink>
  bool sweep(const decision& d, std::uint64_t round, std::uint32_t budget, const Sink& sink) {
    const bool by_round = d.verb == release_verb::contributors;
    const clock_type most = d.verb == release_verb::up_to_clock ? d.clock : unbounded;
    if (!by_round) budget -= release_front(d, most, budget, sink);
    std::uint32_t next = no_worker;
    for (std::uint32_t w = workers_.parked().front(); w != no_worker; w = next) {
      next = workers_.parked().after(w);
      const bool covered = by_round ? workers_[w].round == round : workers_.clock().clock(w) <= most;
      if (covered && budget > 0 && let_go(w, d.batch, d.lr_scale, sink)) {
        --budget;
        continue;
      }
      at_.parked_floor = (std::min)(at_.parked_floor, workers_.clock().clock(w));
      if (covered && budget == 0) return false;
    }
    return true;
  }

  template <class Sink>
  [[gnu::noinline]] void carry_out(const decision& d, std::uint64_t round, const Sink& sink) {
    if (d.cancels) cancel_below(d, round, sink);
    if (d.rebases) rebase(d.rebase_bound);
    release(d, round, max_release_, sink);
  }

  template <class Sink>
  void release(const decision& d, std::uint64_t round, std::uint32_t budget, const Sink& sink) {
    switch (d.verb) {
      case release_verb::hold: return;
      case release_verb::submitter:
      case release_verb::only:
        if (d.worker < workers_.capacity()) return release_one(d.worker, d.batch, d.lr_scale, sink);
        if (d.verb == release_verb::only) adjust(reason::invalid_decision, no_worker);
        return;
      case release_verb::up_to: return release_up_to(d, round, budget, sink);
      case release_verb::up_to_clock:
        // Under a bounded policy that sweeps whenever the minimum moves, all who are parked go together, so looking at
        // each costs O(released); the floor spares the look when nobody can be meant.
        if (d.clock < at_.parked_floor) return;
        at_.parked_floor = saturating_add(d.clock, 1);  // sweep() lowers it again to whomever it leaves behind
        [[fallthrough]];
      case release_verb::all:
      case release_verb::contributors:
        if (!sweep(d, round, budget, sink)) residue_ = {d, round};
    }
  }

  template <class Sink>
  [[gnu::always_inline]] void release_one(std::uint32_t worker, std::uint32_t batch, float lr_scale, const Sink& sink) {
    if (workers_[worker].state == worker_state::parked && workers_.counted(worker))
      let_go(overdue_or(worker), batch, lr_scale, sink);
  }

  // The worker that the guard's age puts before this one, or this one.
  [[nodiscard]] std::uint32_t overdue_or(std::uint32_t worker) noexcept {
    if (workers_.parked().size() == 0) return worker;
    const std::uint32_t waiting = guard_.overdue(workers_, at_.now, bound());
    if (waiting == no_worker || waiting == worker) return worker;
    adjust(reason::overdue, waiting);
    return waiting;
  }

  template <class Sink>
  void release_up_to(const decision& d, std::uint64_t round, std::uint32_t budget, const Sink& sink) {
    for (std::uint32_t left = d.count; left > 0; --left) {
      if (workers_.parked().size() == 0) return;
      if (budget-- == 0) {
        residue_ = {decision::up_to(left, d.order).with_batch(d.batch).with_lr_scale(d.lr_scale), round};
        return;
      }
      std::uint32_t worker = overdue_or(workers_.parked().next(d.order, d.order == release_order::random ? draw() : 0));
      if (!guard_.allows(workers_, worker, bound())) {  // the longest parked that may start goes in its place
        adjust(reason::bound, worker);
        worker = workers_.parked().front();
        while (worker != no_worker && !guard_.allows(workers_, worker, bound()))
          worker = workers_.parked().after(worker);
      }
      if (worker == no_worker) return;  // a count promises nothing to anybody: the policy counts anew
      let_go(worker, d.batch, d.lr_scale, sink);
    }
  }

  // Releases a counted parked worker, unless the bound withholds it.
  template <class Sink>
  [[gnu::always_inline]] bool let_go(std::uint32_t worker, std::uint32_t batch, float lr_scale, const Sink& sink) {
    const bool allowed = guard_.allows(workers_, worker, bound());
    if (!allowed) adjust(reason::bound, worker);
    workers_[worker].granted.batch = batch;
    workers_[worker].granted.lr_scale = finite_or_one(lr_scale);
    if (allowed)
      let_go(worker, sink);
    else
      at_.withholds = workers_[worker].withheld = true;
    return allowed;
  }
  template <class Sink>
  [[gnu::always_inline]] void let_go(std::uint32_t worker, const Sink& sink) {
    ++released_;
    workers_.unpark(worker);
    if (tickets_[worker].has_value()) return start(worker, sink);
    workers_.move_to(worker, worker_state::released);
    sink.ready(workers_.id(worker));
  }

  // With the guard, at most one cancellation per useful push, and somebody who is busy afterwards is not cancelled.
  template <class Sink>
  [[gnu::noinline]] void cancel_below(const decision& d, std::uint64_t round, const Sink& sink) {
    bool somebody_stays = !guard_.options.enabled || workers_.in(worker_state::admitted) > 0 ||
                          workers_.in(worker_state::released) > 0;
    for (std::uint32_t w = workers_.parked().front(); w != no_worker && !somebody_stays; w = workers_.parked().after(w))
      somebody_stays = covers(d, w, round) && guard_.allows(workers_, w, bound());
    std::uint32_t candidate = no_worker;
    bool cancelled = false;
    for (std::uint32_t w = workers_.first_running();; w = workers_.next_running(w)) {
      const bool old = w != no_worker && workers_[w].granted.version < d.cancel_below;
      // A candidate is cancelled once another one is known to stay busy.
      if (candidate != no_worker) {
        if ((guard_.options.enabled && !at_.may_cancel) || !(somebody_stays || w != no_worker))
          adjust(reason::cancel_limit, candidate);
        else
          stop(candidate, sink), cancelled = true;
      }
      if (!old) break;
      candidate = w;
    }
    if (cancelled) at_.may_cancel = false;
  }

  template <class Sink>
  void stop(std::uint32_t worker, const Sink& sink) {
    workers_.doom(worker, reason::cancelled);
    sink.cancel(workers_.id(worker));
    note({.what = record::kind::cancel, .worker = workers_.id(worker)});
  }

  template <class Sink>
  [[gnu::cold, gnu::noinline]] void force(std::uint32_t worker, const Sink& sink) {
    adjust(reason::liveness, worker);
    workers_[worker].granted.batch = at_.batch;
    workers_[worker].granted.lr_scale = finite_or_one(at_.lr_scale);
    let_go(worker, sink);
  }

  // After every call somebody counted is busy, or nobody counted is parked (semantics 11).
  template <class Sink>
  void protect(const Sink& sink) {
    if (const std::uint32_t w = guard_.must_readmit(workers_); w != no_worker) {
      adjust(reason::nobody_left, w);
      readmit(w);
    }
    if (at_.withholds && (at_.retries || workers_.clock().minimum() != at_.asked_minimum || bound() > at_.asked_bound))
      retry_withheld(max_release_ - (std::min)(released_, max_release_), sink);
    if (const std::uint32_t w = guard_.must_release(workers_); w != no_worker) force(w, sink);
  }

  [[nodiscard]] std::uint64_t draw() noexcept {
    const auto word = philox(seed_, release_stream, at_.draws++);
    return (std::uint64_t{word[1]} << 32) | word[0];
  }
  static constexpr std::uint64_t release_stream = ~std::uint64_t{0};  // apart from those of hosts, who count from 0
  std::uint64_t seed_;
  std::uint32_t released_ = 0;  // since the policy was asked
};

}  // namespace rubato::inline RUBATO_ABI::detail

#endif
