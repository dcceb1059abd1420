#ifndef RUBATO_CUDA_DECIDER_CUH
#define RUBATO_CUDA_DECIDER_CUH

#include <cstdint>

#include "bookkeeping.cuh"
#include "controller_state.cuh"
#include "learned_decision.cuh"
#include "rules.cuh"

namespace rubato::inline RUBATO_ABI::cuda::detail {

/// One request, decided by one lane: begin(), which says whether the network is to be asked, and finish() with what it
/// has answered. What controller, admissions and executor do on the host, in the same order.
template <std::uint32_t Capacity, class Shape>
class decider : bookkeeping<Capacity, Shape> {
  using base = bookkeeping<Capacity, Shape>;
  using typename base::state_type;
  using typename base::view_type;

 public:
  RUBATO_DETAIL_SHARED decider(state_type& state, decision_record<Capacity>& record) noexcept : base{state, record} {}

  [[nodiscard]] RUBATO_DETAIL_SHARED bool begin(const request& r) noexcept {
    out_.worker = r.worker;
    out_.what = verdict::drop;
    out_.why = reason::none;
    out_.action = release_action::hold;
    out_.flushes = out_.discards = out_.is_degraded = false;
    out_.weight = 1.0F;
    out_.flush_scale = 0.0F;
    out_.adds = 0;
    out_.staleness = 0;
    out_.released = out_.cancelled = 0;
    if (const reason bad = refusal(r); bad != reason::none) {
      count(bad);
      out_.what = verdict::refused;
      out_.why = bad;
      return false;
    }
    advance(r.now);
    switch (r.what) {
      case request::kind::start:
        start_all(r);
        break;
      case request::kind::push:
        push(r);
        break;
      case request::kind::join:
        join(r);
        break;
      case request::kind::depart:
        depart(r);
        break;
      case request::kind::poll:
        poll(r);
        break;
      case request::kind::change:
        change(r);
        break;
    }
    return asks_ && s_.policy.kind == rule::learned && begin_learned(s_.learned, what_, s_.alive - s_.running, first_);
  }

  RUBATO_DETAIL_SHARED void finish(const float* values) noexcept {
    if (asks_) ask(values);
    out_.version = s_.version;
    out_.wake_at = s_.wake_at;
    if (out_.released == 0 && out_.cancelled == 0)
      out_.action = release_action::hold;
    else if (out_.cancelled == 0 && out_.released == 1 && out_.release[0] == out_.worker)
      out_.action = release_action::submitter;
    else
      out_.action = out_.cancelled == 0 && s_.parked == 0 ? release_action::all : release_action::some;
  }

 private:
  // --- controller: who may speak, and what it means

  [[nodiscard]] RUBATO_DETAIL_SHARED reason refusal(const request& r) const noexcept {
    using kind = request::kind;
    if (r.what == kind::depart && r.why != cause::leave && r.why != cause::death && r.why != cause::done)
      return reason::invalid_cause;
    if (!is_finite(r.now)) return reason::invalid_time;
    if (r.what == kind::poll || r.what == kind::change) return reason::none;
    if (r.what == kind::start)
      return s_.started || s_.workers == 0 || s_.workers > Capacity || (r.worker >= s_.workers && r.worker != no_worker)
                 ? reason::invalid_decision
                 : reason::none;
    if (r.worker >= s_.workers) return reason::unknown_worker;
    if (r.what == kind::join) return reason::none;
    const worker_state where = s_.where[r.worker];
    if (where == worker_state::absent) return reason::unknown_worker;
    return view_type::is_member(where) ? reason::none : reason::departed_worker;
  }

  RUBATO_DETAIL_SHARED void advance(double now) noexcept {
    if (now < s_.now)
      count(reason::time_clamped);
    else
      s_.now = now;
  }

  RUBATO_DETAIL_SHARED void will_ask(cause why, std::uint32_t worker) noexcept {
    what_.why = why;
    what_.worker = worker;
    what_.now = s_.now;
    asks_ = s_.started;
  }

  RUBATO_DETAIL_SHARED void start_all(const request& r) noexcept {
    const std::uint32_t last = smaller(r.worker, s_.workers - 1);
    s_.started = true;
    for (std::uint32_t w = 0; w <= last; ++w) seat(w);
    will_ask(cause::join, last);
  }

  RUBATO_DETAIL_SHARED void join(const request& r) noexcept {
    const std::uint32_t w = r.worker;
    if (view_type::is_member(s_.where[w])) return repeat();
    s_.highest_step[w] = 0;
    s_.doomed[w] = reason::none;
    s_.granted_version[w] = 0;
    s_.lr_scale[w] = 1.0F;
    if (s_.policy.kind == rule::knee) s_.knee.reset(w);
    seat(w);
    s_.started = true;
    will_ask(cause::join, w);
  }

  RUBATO_DETAIL_SHARED void repeat() noexcept {
    count(reason::repeated);
    out_.what = verdict::repeated;
    out_.why = reason::repeated;
  }

  // A member from now on, parked, at a clock that the bound allows.
  RUBATO_DETAIL_SHARED void seat(std::uint32_t w) noexcept {
    const clock_type own = s_.clock[w];
    const clock_type lowest = s_.alive == 0 ? own : s_.minimum;
    const clock_type fitting = smaller(larger(own, lowest), saturating_add(lowest, bound_of(s_.policy)));
    ++s_.alive;
    s_.where[w] = worker_state::parked;
    come_to(w, fitting);
    park(w);
    if (fitting != own) count(reason::clock_clamped);
  }

  RUBATO_DETAIL_SHARED void depart(const request& r) noexcept {
    const std::uint32_t w = r.worker;
    unpark(w);
    if (s_.where[w] == worker_state::running) --s_.running;
    --s_.alive;
    s_.where[w] = r.why == cause::leave  ? worker_state::left
                  : r.why == cause::done ? worker_state::done
                                         : worker_state::dead;
    s_.step_time[w] = s_.smoothed_step_time[w] = 0.0F;
    s_.speed[w] = 0;
    leave_clock(s_.clock[w]);
    will_ask(r.why, w);
  }

  RUBATO_DETAIL_SHARED void poll(const request& r) noexcept {
    if (r.now >= s_.wake_at) s_.now = larger(s_.now, s_.wake_at);
    if (s_.wake_at > s_.now) return;
    s_.wake_at = never;
    will_ask(cause::deadline, no_worker);
  }

  RUBATO_DETAIL_SHARED void change(const request& r) noexcept {
    if (s_.adds > 0) end_round(r.pending == pending_gradients::flush, 1.0F);
    s_.policy = *static_cast<const device_policy<Shape>*>(r.policy);
    s_.learned = learned_memory{};
    s_.knee = {};
    s_.wake_at = never;
    s_.withholds = false;
    for (std::uint32_t w = 0; w < s_.workers; ++w) s_.withheld[w] = false;
    rebase(bound_of(s_.policy));
    will_ask(cause::enter, no_worker);
  }

  RUBATO_DETAIL_SHARED void push(const request& r) noexcept {
    const std::uint32_t w = r.worker;
    if (s_.where[w] != worker_state::running || (r.step != 0 && r.step <= s_.highest_step[w])) return repeat();
    if (r.step != 0) s_.highest_step[w] = r.step;
    if (s_.doomed[w] != reason::cancelled) note_step_time(w, s_.now - s_.granted_at[w]);
    out_.staleness = s_.updates - smaller(r.read, s_.granted_version[w]);
    out_.weight = s_.lr_scale[w];
    admission a;
    a.what = verdict::drop;
    if (s_.doomed[w] != reason::none)
      a.why = s_.doomed[w];
    else if (!is_finite(static_cast<double>(r.loss)) || !is_finite(static_cast<double>(r.grad_norm)))
      a.why = reason::non_finite;
    else
      a = admit(s_.policy, view(w), out_.staleness);
    out_.what = a.what;
    out_.why = a.why;
    what_.staleness = out_.staleness;
    what_.dropped = a.what == verdict::drop;
    what_.why_dropped = a.why;
    if (what_.dropped) count(a.why);
    commit(w, a, r.loss);
  }

  RUBATO_DETAIL_SHARED void commit(std::uint32_t w, const admission& a, float loss) noexcept {
    if (a.what == verdict::apply) ++s_.updates, ++s_.version;
    if (a.what == verdict::accumulate) {
      ++s_.adds;
      what_.pending = !a.completes;
      what_.flushed = a.completes;
      if (a.completes) end_round(true, a.scale);
    }
    tick(w);
    s_.where[w] = worker_state::parked;
    --s_.running;
    if (!what_.dropped) s_.may_cancel = true;
    if (s_.policy.kind == rule::learned) observe(s_.learned, s_.policy.inputs, loss, what_.staleness);
    will_ask(cause::push, w);
  }

  // --- executor

  [[nodiscard]] RUBATO_DETAIL_SHARED decision answer_to(const float* values) noexcept {
    const view_type seen = view(what_.worker);
    if (s_.policy.kind == rule::knee) return s_.knee.release(seen, what_, s_.policy.threshold, s_.policy.most_scatter);
    if (s_.policy.kind != rule::learned) return release_simple(s_.policy, seen, what_);
    if (what_.why != cause::push) return between_pushes(seen, what_, first_);
    return choose(s_.learned, s_.policy, seen, values);
  }

  RUBATO_DETAIL_SHARED void ask(const float* values) noexcept {
    const decision d = answer_to(values);
    out_.is_degraded = d.is_degraded;
    if (d.is_degraded) count(reason::degraded);
    if (d.wakes) s_.wake_at = d.wake_at;
    if (d.flushes && s_.adds > 0) end_round(true, d.flush_scale);
    if (d.verb == release_verb::submitter) {
      release_one(what_.worker);  // who goes on at once is spared the order
      park(what_.worker);
    } else {
      park(what_.worker);
      if (d.cancels) cancel_below(d.cancel_below);
      release(d);
    }
    protect();
    s_.asked_minimum = s_.minimum;
    s_.asked_bound = bound_of(s_.policy);
  }

  RUBATO_DETAIL_SHARED void release(const decision& d) noexcept {
    switch (d.verb) {
      case release_verb::only:
        return release_one(d.worker);
      case release_verb::up_to:
        return release_up_to(d);
      case release_verb::all:
        return release_to_clock(unbounded);
      case release_verb::up_to_clock:
        return release_to_clock(d.clock);
      default:
        return;
    }
  }

  RUBATO_DETAIL_SHARED void release_one(std::uint32_t w) noexcept {
    if (w != no_worker && s_.where[w] == worker_state::parked) let_go(overdue_or(w));
  }

  // In park order; who stays closes up.
  RUBATO_DETAIL_SHARED void release_to_clock(clock_type most) noexcept {
    const clock_type allowed = highest();
    const std::uint32_t parked = s_.parked;
    std::uint32_t stay = 0;
    for (std::uint32_t i = 0; i < parked; ++i) {
      const std::uint32_t w = s_.order[i];
      const clock_type clock = s_.clock[w];
      if (clock <= most && clock <= allowed) {
        s_.linked[w] = s_.withheld[w] = false;
        start(w);
        continue;
      }
      if (clock <= most) withhold(w);
      s_.order[stay++] = w;
    }
    s_.parked = stay;
  }

  RUBATO_DETAIL_SHARED void release_up_to(const decision& d) noexcept {
    for (std::uint32_t left = d.count; left > 0 && s_.parked > 0; --left) {
      std::uint32_t w = s_.order[0];
      for (std::uint32_t i = 1; i < s_.parked && d.order == release_order::fastest; ++i)
        if (s_.speed[s_.order[i]] < s_.speed[w]) w = s_.order[i];
      w = overdue_or(w);
      if (!allows(w)) {  // the longest parked that may start goes in its place
        count(reason::bound);
        std::uint32_t i = 0;
        while (i < s_.parked && !allows(s_.order[i])) ++i;
        if (i == s_.parked) return;
        w = s_.order[i];
      }
      let_go(w);
    }
  }

  RUBATO_DETAIL_SHARED void withhold(std::uint32_t w) noexcept {
    count(reason::bound);
    s_.lr_scale[w] = 1.0F;
    s_.withholds = s_.withheld[w] = true;
  }

  RUBATO_DETAIL_SHARED void let_go(std::uint32_t w) noexcept {
    if (!allows(w)) return withhold(w);
    unpark(w);
    start(w);
  }

  RUBATO_DETAIL_SHARED void start(std::uint32_t w) noexcept { start(s_, out_, w); }

  // Called from many places, and not short: one body of it, and not a member, which would keep `this` in memory.
  __attribute__((noinline)) RUBATO_DETAIL_SHARED static void start(state_type& s, decision_record<Capacity>& out,
                                                                   std::uint32_t w) noexcept {
    float rate = 1.0F;
    if (s.policy.kind == rule::knee) {
      s.knee.start(view_type{s, w}, w);
      if (s.policy.scales_rate) rate = rubato::detail::clamped(rounded_once::square_root(s.knee.room()), 1.0F, 2.0F);
    }
    if (s.guard.enabled && s.guard.max_lr_scale < rate) {
      ++s.counted[static_cast<std::uint32_t>(reason::rate_limit)];
      rate = s.guard.max_lr_scale;
    }
    s.granted_version[w] = s.version;
    s.lr_scale[w] = rate;
    s.granted_at[w] = s.now;
    s.doomed[w] = reason::none;
    s.where[w] = worker_state::running;
    s.start_order[w] = ++s.starts;
    ++s.releases[w];
    ++s.running;
    out.release[out.released++] = w;
  }

  // With the guard, a cancellation comes at most once per useful push, and never to all who are busy.
  RUBATO_DETAIL_SHARED void cancel_below(std::uint64_t version) noexcept {
    if (!s_.orders_starts) {  // as the host orders those who started before its first cancellation
      s_.orders_starts = true;
      for (std::uint32_t w = 0; w < s_.workers; ++w) s_.start_order[w] = w;
      s_.starts += Capacity;
    }
    bool somebody_stays = !s_.guard.enabled;
    for (std::uint32_t i = 0; i < s_.parked && !somebody_stays; ++i) somebody_stays = allows(s_.order[i]);
    std::uint32_t last = no_worker;  // of those who run, the one that started last
    for (std::uint32_t w = 0; w < s_.workers; ++w)
      if (computes(w) && (last == no_worker || started_before(last, w))) last = w;
    bool cancelled = false;
    for (std::uint32_t w = 0; w < s_.workers; ++w) {
      if (!computes(w) || s_.granted_version[w] >= version) continue;
      if ((s_.guard.enabled && !s_.may_cancel) || !(somebody_stays || w != last)) {
        count(reason::cancel_limit);
        continue;
      }
      cancelled = true;
      s_.doomed[w] = reason::cancelled;
      out_.cancel[out_.cancelled++] = w;
    }
    if (cancelled) s_.may_cancel = false;
  }
  [[nodiscard]] RUBATO_DETAIL_SHARED bool computes(std::uint32_t w) const noexcept {
    return s_.where[w] == worker_state::running && s_.doomed[w] == reason::none;
  }
  [[nodiscard]] RUBATO_DETAIL_SHARED bool started_before(std::uint32_t a, std::uint32_t b) const noexcept {
    const std::uint64_t at = s_.granted_version[a], other = s_.granted_version[b];
    return at != other ? at < other : s_.start_order[a] < s_.start_order[b];
  }

  // After every call somebody is busy, or nobody is parked (semantics 11).
  RUBATO_DETAIL_SHARED void protect() noexcept {
    if (s_.withholds && (s_.minimum != s_.asked_minimum || bound_of(s_.policy) > s_.asked_bound)) retry_withheld();
    if (!s_.guard.enabled || s_.running > 0) return;
    const std::uint32_t w = view(no_worker).slowest();
    if (w == no_worker) return;
    count(reason::liveness);
    unpark(w);
    start(w);
  }

  // Those whom the bound kept back and keeps no longer.
  RUBATO_DETAIL_SHARED void retry_withheld() noexcept {
    s_.withholds = false;
    for (std::uint32_t i = 0; i < s_.parked;) {
      const std::uint32_t w = s_.order[i];
      if (s_.withheld[w] && allows(w)) {
        unpark(w);
        start(w);
        continue;
      }
      s_.withholds = s_.withholds || s_.withheld[w];
      ++i;
    }
  }

  using base::allows;
  using base::come_to;
  using base::count;
  using base::end_round;
  using base::highest;
  using base::leave_clock;
  using base::note_step_time;
  using base::out_;
  using base::overdue_or;
  using base::park;
  using base::rebase;
  using base::s_;
  using base::tick;
  using base::unpark;
  using base::view;

  event what_{};
  bool asks_ = false;
  bool first_ = false;
};

}  // namespace rubato::inline RUBATO_ABI::cuda::detail

#endif
