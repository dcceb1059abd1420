#ifndef RUBATO_TESTS_SUPPORT_REFERENCE_HPP
#define RUBATO_TESTS_SUPPORT_REFERENCE_HPP

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <rubato/sync/controller.hpp>
#include <string>
#include <vector>

#include "journal.hpp"
#include "reference_state.hpp"

namespace rubato::test {

/// The semantics of a controller written down naively: plain scans, no lists, no cached counts.
///
/// The policy's answers are taken from the journal of the controller under test; everything else, down to the order of
/// the effects, is predicted and compared. After a first difference `problem` says what it was, and all later calls are
/// void.
class reference : public reference_state, public journal_reader {
 public:
  using kind = entry::kind;

  reference(const controller_options& o, clock_type bound)
      : reference_state{o, bound}, quorum_{o.quorum == 0 ? o.capacity : o.quorum} {}

  errc join(worker_id who, double now, ticket t) {
    if (!std::isfinite(now)) return refuse(who, reason::invalid_time, t);
    if (who.index >= workers_.size()) return refuse(who, reason::unknown_worker, t);
    worker& w = workers_[who.index];
    const bool here = w.is != state::absent && !gone(w);
    if ((here && who.incarnation < w.incarnation) || (gone(w) && who.incarnation <= w.incarnation))
      return refuse(who, reason::old_incarnation, t);
    advance(now);
    departs_ = here && who.incarnation > w.incarnation ? who.index : no_worker;
    drain();
    if (here && who.incarnation == w.incarnation) return repeat(who.index, t);
    if (here) remove(who.index, cause::death);
    drain();
    w.incarnation = who.incarnation;
    w.step = w.highest_step = 0;
    w.doomed = reason::none;
    w.terms = {};
    w.waits_with = t;
    w.is = state::joining;
    if (w.serial == 0) enter(who.index);
    return errc::ok;
  }

  errc depart(worker_id who, double now, cause why) {
    ticket none;
    if (!std::isfinite(now)) return refuse(who, reason::invalid_time, none);
    if (const reason bad = stranger(who); bad != reason::none) return refuse(who, bad, none);
    advance(now);
    departs_ = who.index;
    drain();
    remove(who.index, why);
    return errc::ok;
  }

  admitted admit(const push_event& push) {
    const reason bad = std::isfinite(push.now) ? stranger(push.worker) : reason::invalid_time;
    if (bad != reason::none) {
      ++counts[index(bad)];
      return {.work = {.worker = push.worker, .what = verdict::refused, .why = bad},
              .what = {.what = verdict::refused, .why = bad}};
    }
    advance(push.now);
    worker& w = workers_[push.worker.index];
    if (w.is != state::running || (push.step != 0 && push.step <= w.highest_step))
      return {.work = {.worker = push.worker, .what = verdict::repeated, .why = reason::repeated},
              .what = {.what = verdict::repeated, .why = reason::repeated}};
    w.step = push.step != 0 ? push.step : w.step + 1;
    w.highest_step = std::max(w.highest_step, push.step);
    event what{.worker = push.worker.index,
               .staleness = updates - std::min(push.read.lowest, w.terms.version),
               .now = now_,
               .loss = push.loss,
               .samples = push.samples};
    admission a;
    if (w.doomed != reason::none) {
      a = admission::drop(w.doomed);
    } else if (!std::isfinite(push.loss) || !std::isfinite(push.grad_norm)) {
      a = admission::drop(reason::non_finite);
    } else {
      const entry& asked = take(kind::admit);
      require(same(asked.about, what) && asked.view == view(push.worker.index), "the event or the view shown to admit");
      a = sane(asked.verdict);
    }
    what.dropped = a.what == verdict::drop;
    what.why_dropped = what.dropped ? a.why : reason::none;
    if (what.dropped) ++counts[index(a.why)];
    if (!what.dropped && a.weight != 1.0F) ++counts[index(reason::scaled)];
    admitted answer{.work = {.worker = push.worker, .serial = ++serial_, .what = a.what, .why = a.why},
                    .what = a,
                    .staleness = what.staleness};
    w.serial = serial_;
    w.verdict_out = a.what;
    w.event_out = what;
    w.round_out = open_round;
    w.is = state::admitted;
    if (a.what == verdict::apply) ++updates;
    if (a.what == verdict::accumulate) {
      answer.round = open_round;
      ++rounds[open_round].out;
      if (a.completes) close(true, a.scale);
    }
    return answer;
  }

  errc commit(const token& work, double now, outcome how, ticket t) {
    const std::uint32_t i = work.worker.index;
    if (work.what == verdict::refused) return abandon(work.worker, work.why, t), code_of(work.why);
    if (!std::isfinite(now)) return refuse(work.worker, reason::invalid_time, t);
    if (i >= workers_.size()) return refuse(work.worker, reason::unknown_worker, t);
    worker& w = workers_[i];
    if (work.what == verdict::repeated) {
      if (const reason bad = stranger(work.worker); bad != reason::none) return refuse(work.worker, bad, t);
      advance(now);
      drain();
      return repeat(i, t);
    }
    if (w.serial != work.serial || work.serial == 0) return refuse(work.worker, reason::invalid_token, t);
    advance(now);
    drain();
    event what = w.event_out;
    what.now = now_;
    w.serial = 0;
    if (how == outcome::failed && !what.dropped) ++counts[index(reason::failed)];
    if (w.verdict_out == verdict::apply) ++version;
    if (w.verdict_out == verdict::accumulate) {
      round& r = rounds[w.round_out];
      --r.out;
      ++(how == outcome::done ? r.adds : r.failures);
      what.pending = how == outcome::done && !r.closed;
      what.flushed = r.closed && r.out == 0 && r.flush && r.adds > 0;
      if (r.closed && r.out == 0) finish(w.round_out);
    }
    if (w.is != state::admitted || w.incarnation != work.worker.incarnation) {
      abandon(work.worker, reason::departed_worker, t);
      what.why = cause::death;
      ask(what);
      if (w.is == state::joining) drain(), enter(i);
      return errc::ok;
    }
    if (w.waits_with) {
      counts[index(reason::replaced)] += t.has_value();
      abandon(work.worker, reason::replaced, t);
    } else {
      w.waits_with = t;
    }
    ++w.clock;
    if (!what.dropped) may_cancel_ = true;
    w.is = state::parked;
    w.contributed_to = what.pending ? w.round_out : worker_record::no_round;
    require(same(take(kind::observe).about, what), "the feedback to the policy");
    ask(what);
    return errc::ok;
  }

  errc pull(worker_id who, double now, ticket t) {
    if (!std::isfinite(now)) return refuse(who, reason::invalid_time, t);
    if (options_.park != park_on::pull) return refuse(who, reason::no_pulls, t);
    if (const reason bad = stranger(who); bad != reason::none) return refuse(who, bad, t);
    advance(now);
    drain();
    if (workers_[who.index].is == state::running || workers_[who.index].waits_with) return repeat(who.index, t);
    hand_over(who.index, t);
    return errc::ok;
  }

  void poll(double now) {
    if (!std::isfinite(now)) return void(++counts[index(reason::invalid_time)]);
    advance(now);
    if (residue_) return resume(options_.max_release_per_call);
    if (retries_) return retry_withheld(options_.max_release_per_call);
    if (std::exchange(ask_on_poll_, false)) ask({.why = cause::enter, .now = now_});
    if (wake_at_ > now_) return;
    wake_at_ = never;
    ask({.why = cause::deadline, .now = now_});
  }

  errc switch_to(clock_type bound, double now, pending_gradients pending) {
    if (!std::isfinite(now)) return ++counts[index(reason::invalid_time)], errc::invalid_time;
    advance(now);
    drain();
    close(pending == pending_gradients::flush, 1.0F);
    bound_ = bound;
    wake_at_ = never;
    for (std::uint32_t i = 0; i < workers_.size(); ++i) {
      if (workers_[i].excluded) readmit(i);
      workers_[i].withheld = false;
    }
    retries_ = false;
    rebase(bound);
    ask({.why = cause::enter, .now = now_});
    return errc::ok;
  }

  /// Saved, and loaded elsewhere; these tickets were lost.
  void reload(const std::vector<std::uint32_t>& lost) {
    ask_on_poll_ = true;
    for (const std::uint32_t i : lost) {
      workers_[i].waits_with.reset();
      take_out(i, state::dead);
      ++counts[index(reason::departed_worker)];
    }
  }
  [[nodiscard]] bool may_save() const {
    return !residue_ && !retries_ && std::ranges::none_of(workers_, [](const worker& w) { return w.serial != 0; });
  }

  [[nodiscard]] double next_deadline() const { return residue_ || retries_ || ask_on_poll_ ? -never : wake_at_; }

  bool started = false;
  bool by_chance = false;  // a release in random order: which worker the bound withheld first is not known

 private:
  [[nodiscard]] view_numbers view(std::uint32_t submitter) const {
    const round r = open();
    return {alive(),
            in(state::running) + in(state::released),
            in(state::admitted),
            in(state::parked),
            excluded(),
            r.adds,
            r.adds + r.out,
            submitter,
            version,
            updates,
            minimum(),
            maximum(),
            submitter == no_worker ? 0 : workers_[submitter].clock,
            minimum() != asked_minimum_,
            now_};
  }

  errc refuse(worker_id who, reason why, ticket& t) {
    ++counts[index(why)];
    abandon(who, why, t);
    return code_of(why);
  }
  void abandon(worker_id who, reason why, ticket& t) {
    if (!t) return;
    const entry& e = take(kind::abandon);
    require(e.ticket == *t && e.worker == who && e.why == why, "an abandoned ticket");
    t.reset();
  }
  errc repeat(std::uint32_t i, ticket t) {
    ++counts[index(reason::repeated)];
    if (!t) return errc::repeated;
    if (workers_[i].is != state::running) return hand_over(i, t), errc::repeated;
    const entry& e = take(kind::release);
    require(e.ticket == *t && e.worker.index == i && e.terms == workers_[i].terms, "the answer to a repeated message");
    return errc::repeated;
  }
  void hand_over(std::uint32_t i, ticket t) {
    if (workers_[i].waits_with) {
      ++counts[index(reason::replaced)];
      abandon({i, workers_[i].incarnation}, reason::replaced, workers_[i].waits_with);
    }
    workers_[i].waits_with = t;
    if (workers_[i].is == state::released) start(i);
  }
  void enter(std::uint32_t i) {
    if (started) {
      seat(i);
    } else {
      if (in(state::joining) < quorum_) return;
      started = true;
      for (std::uint32_t j = 0; j < workers_.size(); ++j)
        if (workers_[j].is == state::joining) seat(j);
    }
    ask({.why = cause::join, .worker = i, .now = now_});
  }
  void remove(std::uint32_t i, cause why) {
    departs_ = no_worker;
    abandon({i, workers_[i].incarnation}, reason::departed_worker, workers_[i].waits_with);
    take_out(i, why == cause::leave ? state::left : why == cause::done ? state::done : state::dead);
    ask({.why = why, .worker = i, .now = now_});
  }

  void close(bool flush, float scale) {
    round& r = rounds[open_round];
    if (r.out + r.adds + r.failures == 0) return;
    r.closed = true;
    r.flush = flush;
    r.scale = std::isfinite(scale) ? scale : 1.0F;
    if (flush) ++updates;
    if (r.out == 0) finish(open_round);
    ++open_round;
  }
  void finish(std::uint64_t number) {
    const round r = rounds[number];
    rounds.erase(number);
    if (r.flush) ++version;
    if (r.flush && r.adds > 0) {
      const entry& e = take(kind::flush);
      require(e.round == number && e.gradients == r.adds && e.scale == r.scale / static_cast<float>(r.adds), "a flush");
    } else {
      const entry& e = take(kind::discard);
      require(e.round == number && e.gradients == r.adds, "a discard");
      counts[index(reason::switched)] += r.adds;
    }
  }

  void drain() {
    if (residue_) resume(no_worker);
  }
  void resume(std::uint32_t budget) {
    const auto [d, number] = *std::exchange(residue_, std::nullopt);
    release(d, number, budget);
  }

  void ask(event what) {
    if (!started || !problem.empty()) return;
    drain();
    released_ = 0;
    park(what.worker);
    decision d;
    for (std::size_t asked = 1;; ++asked) {
      const entry& e = take(kind::ask);
      require(same(e.about, what), "the event shown to the policy");
      require(e.view == view(what.worker), "the view shown to the policy");
      if (!problem.empty()) return;
      d = e.answer;
      bound_ = e.bound;
      step_times_ = e.step_times;
      if (asked == 2 * workers_.size() + 3 || !change_membership(d)) break;
      what.why = d.exclude != no_worker ? cause::exclude : cause::readmit;
    }
    if (d.verb == release_verb::submitter) d.worker = what.worker;
    const std::uint64_t contributed = open_round;
    if (d.is_degraded) ++counts[index(reason::degraded)];
    if (d.wakes && d.wake_at > -never) wake_at_ = d.wake_at;
    if (d.flushes) close(true, d.flush_scale);
    if (d.cancels) cancel_below(d, contributed);
    if (d.rebases) {
      rebase(d.rebase_bound);
      retries_ = std::ranges::any_of(workers_, [](const worker& w) { return w.withheld; });
    }
    release(d, contributed, options_.max_release_per_call);
    protect(d);
    asked_minimum_ = minimum();
    asked_bound_ = bound_;
  }

  void cancel_below(const decision& d, std::uint64_t contributed) {
    std::vector<bool> due(workers_.size());
    std::size_t wanted = 0;
    bool somebody_stays = in(state::admitted) + in(state::released) > 0;
    for (std::uint32_t i = 0; i < workers_.size(); ++i) {
      const bool works = counted(i) && workers_[i].is == state::running && workers_[i].doomed == reason::none;
      due[i] = works && workers_[i].terms.version < d.cancel_below;
      wanted += due[i];
      somebody_stays |= works && !due[i];
      somebody_stays |= counted(i) && workers_[i].is == state::parked && allowed(i) && covers(d, i, contributed);
    }
    std::size_t cancelled = 0;
    for (; comes(kind::cancel); ++cancelled) {
      const std::uint32_t i = take(kind::cancel).worker.index;
      require(i < due.size() && due[i], "a cancellation");
      if (!problem.empty()) return;
      due[i] = false;
      workers_[i].doomed = reason::cancelled;
    }
    const std::size_t most = !options_.guard.enabled ? wanted
                             : !may_cancel_          ? 0
                                                     : wanted - (somebody_stays || wanted == 0 ? 0 : 1);
    require(cancelled == most, "the number of cancellations");
    counts[index(reason::cancel_limit)] += wanted - cancelled;
    if (cancelled > 0) may_cancel_ = false;
  }

  // The longest parked of those who waited beyond the guard's age and may start; or else this one.
  [[nodiscard]] std::uint32_t overdue_or(std::uint32_t i) {
    if (!options_.guard.enabled) return i;
    for (const std::uint32_t j : parked()) {
      if (now_ - workers_[j].parked_at <= options_.guard.max_wait || !allowed(j)) continue;
      if (j != i) ++counts[index(reason::overdue)];
      return j;
    }
    return i;
  }

  // Whether the one who departs in this call was among the `going` who were let go before: one less is running then.
  [[nodiscard]] bool departed_running(std::size_t going) const {
    const auto ask = std::find_if(log_->begin() + static_cast<std::ptrdiff_t>(next_), log_->end(),
                                  [](const entry& e) { return e.what == kind::ask; });
    return ask != log_->end() && ask->view.running < in(state::running) + in(state::released) + going;
  }

  // Which of these, in park order, the controller let go first, going by what it did afterwards. Of several it is the
  // last one: what else the same call let go went in park order, so that the last one could not have gone otherwise.
  [[nodiscard]] std::uint32_t chosen_among(const std::vector<std::uint32_t>& some) const {
    if (comes(kind::shape))
      if (const std::uint32_t i = (*log_)[next_].worker.index;
          std::ranges::count(some, i) > 0 && workers_[i].waits_with)
        return i;
    if (std::ranges::count(some, departs_) > 0) return departs_;
    for (const state s : {state::released, state::running}) {  // running: it may have gone on since
      const auto freed = [this, s](std::uint32_t i) { return !workers_[i].waits_with && (*after_)[i].state == s; };
      if (const auto i = std::find_if(some.rbegin(), some.rend(), freed); i != some.rend()) return *i;
    }
    return no_worker;
  }

  void release(const decision& d, std::uint64_t contributed, std::uint32_t budget) {
    if (d.verb == release_verb::hold) return;
    if (d.verb == release_verb::up_to) return release_up_to(d, contributed, budget);
    if (d.verb == release_verb::only || d.verb == release_verb::submitter) {
      if (d.worker < workers_.size() && counted(d.worker) && workers_[d.worker].is == state::parked)
        let_go(overdue_or(d.worker), d);
      return;
    }
    for (const std::uint32_t i : parked()) {
      if (!covers(d, i, contributed)) continue;
      if (budget == 0) {
        residue_ = {d, contributed};
        return;
      }
      if (let_go(i, d)) --budget;
    }
  }

  void release_up_to(const decision& d, std::uint64_t contributed, std::uint32_t budget) {
    for (std::uint32_t left = d.count; left > 0; --left) {
      std::vector<std::uint32_t> all = parked();
      if (all.empty()) return;
      if (budget-- == 0) {
        residue_ = {decision::up_to(left, d.order).with_batch(d.batch).with_lr_scale(d.lr_scale), contributed};
        return;
      }
      if (d.order == release_order::fastest)
        std::ranges::stable_sort(all, {}, [this](std::uint32_t i) { return speed_classes::class_of(step_times_[i]); });
      std::uint32_t first = all.front();
      if (d.order == release_order::random) {
        by_chance = true;
        std::erase_if(all, [this](std::uint32_t i) { return !allowed(i); });
        if (all.empty()) return;
        first = overdue_or(no_worker);
        if (first == no_worker) {
          if (!departed_running(std::min<std::size_t>(left, all.size()))) std::erase(all, departs_);
          // Whom the bound had kept back may have gone for that reason: first look at the others.
          std::vector<std::uint32_t> others = all;
          std::erase_if(others, [this](std::uint32_t i) { return workers_[i].withheld; });
          first = chosen_among(others);
          if (first == no_worker) first = chosen_among(all);
        }
        require(first != no_worker, "nobody released in random order");
        if (!problem.empty()) return;
      } else {
        first = overdue_or(first);
      }
      if (!allowed(first)) {
        ++counts[index(reason::bound)];
        all = parked();
        const auto may = std::ranges::find_if(all, [this](std::uint32_t i) { return allowed(i); });
        if (may == all.end()) return;
        first = *may;
      }
      let_go(first, d);
    }
  }
  void withhold_one(std::uint32_t i, const decision& d) {
    set_terms(i, d);
    workers_[i].withheld = true;
  }
  void set_terms(std::uint32_t i, const decision& d) {
    workers_[i].terms.batch = d.batch;
    workers_[i].terms.lr_scale = std::isfinite(d.lr_scale) ? d.lr_scale : 1.0F;
  }

  bool let_go(std::uint32_t i, const decision& d) {
    if (!allowed(i)) return ++counts[index(reason::bound)], withhold_one(i, d), false;
    set_terms(i, d);
    let_go(i);
    return true;
  }
  void let_go(std::uint32_t i) {
    ++released_;
    worker& w = workers_[i];
    w.parked = 0;
    w.withheld = false;
    if (w.waits_with)
      start(i);
    else
      w.is = state::released;
  }
  // Those whom the bound kept back go as soon as it keeps them no longer.
  void retry_withheld(std::uint32_t budget) {
    retries_ = false;
    for (const std::uint32_t i : parked()) {
      if (!workers_[i].withheld || !allowed(i)) continue;
      if (budget-- == 0) return void(retries_ = true);
      let_go(i);
    }
  }

  void start(std::uint32_t i) {
    worker& w = workers_[i];
    w.terms.version = version;
    const entry& shaping = take(kind::shape);
    require(shaping.worker.index == i && shaping.terms == w.terms && shaping.view.version == version,
            "the grant to shape");
    w.terms = shaping.shaped;
    w.terms.version = version;
    float& rate = w.terms.lr_scale;
    if (!std::isfinite(rate)) rate = 1.0F;
    const bool is_in_range = rate >= 0.0F && rate <= options_.guard.max_lr_scale;
    if (options_.guard.enabled && !is_in_range) {
      rate = rate < 0.0F ? 0.0F : options_.guard.max_lr_scale;
      ++counts[index(reason::rate_limit)];
    }
    w.doomed = reason::none;
    w.is = state::running;
    const entry& e = take(kind::release);
    require(w.waits_with && e.ticket == *w.waits_with && e.worker == worker_id{i, w.incarnation} && e.terms == w.terms,
            "a release");
    w.waits_with.reset();
  }

  void protect(const decision& answer) {
    if (!options_.guard.enabled || !problem.empty()) return;
    if (alive() == 0 && excluded() > 0) {
      ++counts[index(reason::nobody_left)];
      for (std::uint32_t i = 0; i < workers_.size(); ++i)
        if (workers_[i].excluded) {
          readmit(i);
          break;
        }
    }
    const std::uint32_t most = options_.max_release_per_call;
    if (retries_ || minimum() != asked_minimum_ || bound_ > asked_bound_)
      retry_withheld(most - std::min(released_, most));
    if (busy() > 0 || alive() == 0) return;
    // One at the minimum clock; which of them is the guard's affair.
    std::uint32_t freed = 0;
    while (freed < workers_.size() && !(counted(freed) && workers_[freed].clock == minimum() &&
                                        counted_->of(freed, reason::liveness) > workers_[freed].freed_by_guard))
      ++freed;
    require(freed < workers_.size(), "nobody is busy and no slowest worker was released");
    if (!problem.empty()) return;
    ++workers_[freed].freed_by_guard;
    ++counts[index(reason::liveness)];
    let_go(freed, answer);  // with its terms
  }

  std::uint32_t quorum_;
  double wake_at_ = never;
  clock_type asked_minimum_ = 0;
  clock_type asked_bound_ = 0;
  std::uint32_t released_ = 0;
  std::uint32_t departs_ = no_worker;  // in this call, after what an earlier one left over
  std::uint64_t serial_ = 0;
  bool may_cancel_ = true;
  bool ask_on_poll_ = false;
  bool retries_ = false;
  std::vector<float> step_times_;
  std::optional<std::pair<decision, std::uint64_t>> residue_;
};

}  // namespace rubato::test

#endif
