#ifndef RUBATO_SYNC_ADMISSIONS_HPP
#define RUBATO_SYNC_ADMISSIONS_HPP

#include <cstdint>
#include <optional>
#include <utility>

#include "../dynarray.hpp"
#include "../pinned.hpp"
#include "executor.hpp"

namespace rubato::inline RUBATO_ABI::detail {

/// Gradients between their admission and their commit: what was said of each, and what its end means for rounds and
/// versions; and who is refused. A worker has at most one out.
template <SyncPolicy Policy, class Ticket, Observer Watcher>
class admissions : protected executor<Policy, Ticket, Watcher> {
 protected:
  using base = executor<Policy, Ticket, Watcher>;

  template <class... Rest>
  explicit admissions(std::uint32_t capacity, Rest&&... rest)
      : base{capacity, std::forward<Rest>(rest)...}, out_(capacity) {}

  struct alignas(64) outstanding {          // one cache line, hence the attribute
    [[no_unique_address]] feedback step{};  // for the policy, made up in place: a copy waits for what is being written
    verdict what_to_do = verdict::drop;
    std::uint32_t slot = 0;    // of its round in the ledger
    std::uint64_t serial = 0;  // 0: none
  };

  [[nodiscard]] static admitted answer(worker_id who, const admission& a) noexcept {
    return {.work = {.worker = who, .what = a.what, .why = a.why}, .what = a};
  }

  // A policy's verdict with everything that makes no sense taken out.
  [[nodiscard]] admission checked(admission a, std::uint32_t worker) noexcept {
    const bool droppable = a.why >= reason::stale && a.why <= reason::unwanted;
    if (a.what > verdict::drop || !pinned::is_finite(a.weight) || (a.what == verdict::drop && !droppable)) {
      this->adjust(reason::invalid_decision, worker);
      return admission::drop(reason::unwanted);
    }
    if (!pinned::is_finite(a.scale)) {
      this->adjust(reason::invalid_decision, worker);
      a.scale = 1.0F;
    }
    return a;
  }

  [[nodiscard, gnu::cold, gnu::noinline]] admitted drop(const push_event& push, std::uint64_t staleness,
                                                        double step_time, reason why) noexcept {
    return take_in(push, staleness, step_time, admission::drop(why));
  }

  [[nodiscard, gnu::always_inline]] admitted take_in(const push_event& push, std::uint64_t staleness, double step_time,
                                                     const admission& a) noexcept {
    const worker_id who = push.worker;
    admitted result = answer(who, a);
    result.work.serial = ++at_.serial;
    result.staleness = staleness;
    outstanding& out = out_[who.index];
    out.serial = at_.serial;
    out.slot = ledger_.open_slot();
    out.what_to_do = a.what;
    out.step.step_time = step_time;
    event& what = out.step.what;
    what.worker = who.index;
    what.pending = what.flushed = false;
    what.dropped = a.what == verdict::drop;
    what.why_dropped = reason::none;
    what.staleness = staleness;
    what.loss = push.loss;
    what.samples = push.samples;
    if (a.what == verdict::apply) ledger_.decide_apply();
    if (a.what == verdict::accumulate) {
      result.round = ledger_.open_round();
      ledger_.admit();
      if (a.completes) ledger_.complete(a.scale);  // never ready here: this very gradient is still out
    }
    if (a.what == verdict::drop) [[unlikely]]
      counters_.add(what.why_dropped = a.why, who.index);
    else if (a.weight != 1.0F) [[unlikely]]
      counters_.add(reason::scaled, who.index);
    ++in_flight_;
    workers_.move_to(who.index, worker_state::admitted);
    this->note({.what = record::kind::admit, .decided = a.what, .because = what.why_dropped, .worker = who,
                .staleness = staleness, .round = result.round, .step = workers_[who.index].step, .value = a.weight,
                .loss = push.loss});
    return result;
  }

  [[gnu::cold, gnu::noinline]] void count_refusal(reason why, worker_id who) noexcept {
    counters_.add(why, who.index);
    this->note({.what = record::kind::refuse, .because = why, .worker = who});
  }

  template <class Sink>
  [[gnu::noinline]] void give_back(worker_id who, reason why, std::optional<Ticket>& ticket, const Sink& sink) {
    if (!ticket.has_value()) return;
    sink.abandon(std::move(*ticket), who, why);
    ticket.reset();
    this->note({.what = record::kind::abandon, .because = why, .worker = who});
  }

  // Books the end of an admission: versions, rounds, and what that tells the policy.
  template <class Sink>
  void settle(outstanding& done, outcome how, const Sink& sink) {
    done.serial = 0;
    --in_flight_;
    event& what = done.step.what;
    const bool succeeded = done.step.succeeded = how == outcome::done;
    if (!succeeded && !what.dropped) counters_.add(reason::failed, what.worker);
    if (done.what_to_do == verdict::apply) ledger_.commit_apply();
    if (done.what_to_do == verdict::accumulate) {
      const ledger::finished_round finished = ledger_.commit_add(done.slot, succeeded);
      what.pending = succeeded && done.slot == ledger_.open_slot();
      what.flushed = finished.flushed;
      this->end_round(finished, sink);
    }
  }

  void note_commit(worker_id who, const outstanding& done, outcome how) noexcept {
    this->note({.what = record::kind::commit, .decided = done.what_to_do,
                .because = how == outcome::done ? done.step.what.why_dropped : reason::failed, .worker = who,
                .staleness = done.step.what.staleness, .step = workers_[who.index].step,
                .loss = done.step.what.loss});
  }

  using base::at_;
  using base::counters_;
  using base::ledger_;
  using base::workers_;

  dynarray<outstanding> out_;
  std::uint32_t in_flight_ = 0;
};

}  // namespace rubato::inline RUBATO_ABI::detail

#endif
