#ifndef RUBATO_TESTS_SOAK_SOAK_HOST_HPP
#define RUBATO_TESTS_SOAK_SOAK_HOST_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <rubato/core/rng.hpp>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/controller.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../support/counted_allocations.hpp"
#include "../support/promises.hpp"
#include "books.hpp"
#include "faults.hpp"
#include "worker_set.hpp"

namespace rubato::test {

/// A host with very many workers, some of which come, go, die, come back, fall silent and repeat themselves, and whose
/// messages are late, doubled, or nonsense. Looks at every answer, at a cost that does not grow with the workers;
/// look_round() looks at everybody.
///
/// The same seed makes the same calls. The first thing that is wrong stays in `problem`, and nothing happens after it.
class soak_host {
 public:
  using controller_type = controller<any_policy, ticket>;

  std::string problem;
  books accounts;
  faults survived;

  soak_host(std::uint32_t workers, park_on park, std::uint64_t seed, std::vector<any_policy> policies)
      : accounts{workers},
        options_{.capacity = workers,
                 .quorum = workers / 2,
                 .park = park,
                 .guard = {.bound = 1'000, .max_wait = 30.0},
                 .max_release_per_call = 700,
                 .seed = seed},
        seed_{seed},
        random_{seed, 1},
        policies_{std::move(policies)},
        peers_(workers),
        working_{workers},
        silent_{workers},
        owes_pull_{workers},
        cancelled_{workers},
        control_{std::make_unique<controller_type>(options_, policies_.front())} {
    out_.reserve(most_out);
    for (std::uint32_t w = 0; w < workers; ++w) join(w, 0);
  }

  /// Does so many things.
  void run(std::uint64_t acts) {
    for (; acts > 0 && problem.empty(); --acts) act();
  }

  [[nodiscard]] std::uint64_t calls() const { return calls_; }
  [[nodiscard]] std::uint64_t hash() const { return hash_; }  ///< of every release
  [[nodiscard]] const counters& counts() const { return control_->counts(); }

  /// Brings in what is out, puts the simplest policy in charge, saves, goes on in a fresh controller, and looks at
  /// everybody. O(workers).
  void look_round() {
    settle();
    switch_to(policies_.front());
    settle();
    reload();
    settle();
    if (!problem.empty()) return;
    survived.withheld = counts().total(reason::bound);
    survived.forced = counts().total(reason::liveness);
    survived.spared = counts().total(reason::cancel_limit);
    if (std::string broken = broken_promise(control_->workers(), control_->next_deadline(), options_.guard.enabled);
        !broken.empty())
      return fail(broken);
    if (std::string wrong = accounts.difference_from(*control_); !wrong.empty()) return fail(wrong);
    const roster& all = control_->workers();
    for (std::uint32_t w = 0; w < all.capacity() && problem.empty(); ++w) {
      const worker_state s = all[w].state;
      const bool waits = s == worker_state::parked || s == worker_state::joining || s == worker_state::released;
      if ((s == worker_state::running) != (working_.contains(w) || silent_.contains(w)))
        fail("worker " + std::to_string(w) + " runs for one side alone");
      if (accounts.open_of(w) != (waits && !owes_pull_.contains(w) ? 1U : 0U))
        fail("worker " + std::to_string(w) + ", which is " + std::string{name(s)} + ", has " +
             std::to_string(accounts.open_of(w)) + " tickets");
    }
  }

 private:
  struct peer {
    std::uint32_t life = 0;
    std::uint64_t step = 0;
    std::uint64_t updates_when_read = 0;
    bool free = false;  // it was told that it may start once it asks; an exclusion may have withdrawn that
  };
  struct sink {
    soak_host& host;
    void release(ticket t, worker_id who, const grant& terms) { host.released(t, who, terms); }
    void flush(std::uint64_t round, float, std::uint32_t n) { host.accounts.flushed(round, n); }
    void discard(std::uint64_t round, std::uint32_t n) { host.accounts.discarded(round, n); }
    void cancel(worker_id who) { host.cancelled(who); }
    void abandon(ticket t, worker_id, reason why) { host.accounts.abandoned(t, why); }
    void ready(worker_id who) { host.freed(who); }
  };
  // Calls between one of these and its end must not allocate.
  struct without_allocation {
    without_allocation() { counting = true; }
    ~without_allocation() { counting = false; }
  };

  static constexpr std::size_t most_out = 64;

  void fail(const std::string& what) {
    if (problem.empty())
      problem = what + " (seed " + std::to_string(seed_) + ", call " + std::to_string(calls_) + ", policy " +
                std::string{control_->policy().kind()} + ", " + (options_.park == park_on::push ? "push" : "pull") +
                ")";
  }
  [[nodiscard]] std::uint32_t pick(std::uint32_t n) { return static_cast<std::uint32_t>(random_.below(n)); }
  [[nodiscard]] bool chance(double p) { return random_.uniform() < p; }
  [[nodiscard]] worker_id id(std::uint32_t w) const { return {w, peers_[w].life}; }
  [[nodiscard]] worker_state state(std::uint32_t w) const { return control_->workers()[w].state; }
  [[nodiscard]] bool is_here(std::uint32_t w) const {
    return state(w) != worker_state::absent && !roster::is_gone(state(w));
  }
  [[nodiscard]] std::optional<ticket> push_ticket(std::uint32_t w) {
    if (options_.park == park_on::pull) return std::nullopt;
    return accounts.new_ticket(w);
  }

  // --- what the sink hears

  void released(ticket t, worker_id who, const grant& terms) {
    accounts.released(t);
    const std::uint32_t w = who.index;
    if (who == leaving_) return;  // what an earlier call left over goes first
    if (!may_be_told(who)) return;
    if (runs(w)) {  // the answer to a repeated message
      if (w != asks_) fail("a running worker was released");
      return;
    }
    // Who was freed earlier starts under the bound of that time.
    if (w != asks_ || !was_free_) look_at_start(w);
    if (!(terms.lr_scale >= 0 && terms.lr_scale <= options_.guard.max_lr_scale)) fail("a grant's lr_scale");
    working_.insert(w);
    owes_pull_.erase(w);
    peers_[w].free = false;
    peers_[w].updates_when_read = accounts.updates();
    hash_ = (hash_ ^ (std::uint64_t{w} << 32 | terms.batch)) * 0x9E3779B97F4A7C15;
  }
  void freed(worker_id who) {
    const std::uint32_t w = who.index;
    if (who == leaving_ || !may_be_told(who)) return;
    if (runs(w)) return fail("a running worker was freed");
    if (accounts.open_of(w) > (w == asks_ ? 1U : 0U)) fail("a worker was freed that has a ticket");
    look_at_start(w);
    peers_[w].free = true;
  }
  void cancelled(worker_id who) {
    const std::uint32_t w = who.index;
    if (!may_be_told(who)) return;
    if (!runs(w)) return fail("a worker was cancelled that does not run");
    if (cancelled_.contains(w)) return fail("a worker was cancelled twice");
    cancelled_.insert(w);
    cancels_ = true;
    ++survived.cancelled;
  }
  [[nodiscard]] bool runs(std::uint32_t w) const { return working_.contains(w) || silent_.contains(w); }
  [[nodiscard]] bool may_be_told(worker_id who) {
    if (who.incarnation != control_->workers()[who.index].incarnation)
      fail("an effect on another incarnation");
    else if (accounts.is_out(who.index))
      fail("an effect on a worker whose gradient is being added");
    else
      return true;
    return false;
  }
  void look_at_start(std::uint32_t w) {
    const vector_clock& clock = control_->workers().clock();
    const clock_type bound = (std::min)(control_->policy().clock_bound(), options_.guard.bound);
    if (clock.clock(w) > saturating_add(clock.minimum(), bound))
      fail("worker " + std::to_string(w) + " starts beyond the bound");
  }

  // After every call: somebody runs or will, and the sums agree.
  void look() {
    ++calls_;
    const roster& all = control_->workers();
    const std::uint32_t parked = all.in(worker_state::parked);
    if (all.busy() + parked != all.clock().size()) fail("counts");
    if (parked > 0 && all.busy() == 0) fail("nobody runs and somebody waits");
    if (all.clock().size() == 0 && all.excluded() > 0) fail("nobody counts and somebody is excluded");
    if (control_->version() > control_->updates()) fail("more updates are in than were decided");
    if (std::exchange(cancels_, false)) look_at_cancellations();
    if (!accounts.problem.empty()) fail(accounts.problem);
    asks_ = no_worker;
    leaving_ = nobody_;
    one_answer_ = false;
  }
  // Once per useful push; and where the policy was asked once, never everybody: its next answer may exclude who was to
  // stay. O(1), unless hardly anybody is busy who is not cancelled.
  void look_at_cancellations() {
    if (!std::exchange(useful_, false)) fail("cancelled twice without a push in between");
    const roster& all = control_->workers();
    if (!one_answer_ || all.busy() > cancelled_.size()) return;
    std::uint32_t counted = 0;
    for (std::uint32_t i = 0; i < cancelled_.size(); ++i) counted += all.counted(cancelled_[i]);
    if (all.busy() <= counted) fail("everybody who is busy was cancelled");
  }

  // --- one call each

  // Hosts that park pulls: whoever does not run, and has not asked for parameters, will ask.
  void will_pull(std::uint32_t w) {
    if (options_.park == park_on::pull && state(w) != worker_state::running && accounts.open_of(w) == 0)
      owes_pull_.insert(w);
  }

  void forget(std::uint32_t w) {
    working_.erase(w);
    silent_.erase(w);
    owes_pull_.erase(w);
    cancelled_.erase(w);
    peers_[w].free = false;
  }
  void answered(errc result, double now) {
    accounts.answered(result, now);
    survived.answered(result);
  }
  void join(std::uint32_t w, std::uint32_t life, double now_or_not) {
    const bool anew = std::isfinite(now_or_not) && is_here(w) && life > control_->workers()[w].incarnation;
    const std::optional<ticket> t = push_ticket(w);
    if (anew) forget(w), leaving_ = id(w);
    asks_ = w;
    const errc result = [&] {
      const without_allocation here;
      return control_->join({w, life}, now_or_not, t, sink{*this});
    }();
    answered(result, now_or_not);
    if (result == errc::ok) {
      survived.returns += life > 0;
      survived.deaths += anew;
      peers_[w].life = life, peers_[w].step = 0, will_pull(w);
    }
    look();
  }
  void join(std::uint32_t w, std::uint32_t life) { join(w, life, now_); }
  void depart(worker_id who, double now, cause why) {
    if (who == id(who.index) && is_here(who.index) && std::isfinite(now)) leaving_ = who;
    const errc result = [&] {
      const without_allocation here;
      return control_->depart(who, now, why, sink{*this});
    }();
    answered(result, now);
    if (result == errc::ok) ++(why == cause::death ? survived.deaths : survived.departures), forget(who.index);
    look();
  }
  [[nodiscard]] admitted admit(const push_event& push) {
    const admitted got = [&] {
      const without_allocation here;
      return control_->admit(push);
    }();
    accounts.admitted_as(got, push.now);
    if (got.work.serial != 0) {
      const std::uint32_t w = push.worker.index;
      if (got.staleness + peers_[w].updates_when_read < accounts.updates()) fail("an under-reported staleness");
      const bool drops = got.what.what == verdict::drop, was_cancelled = cancelled_.contains(w);
      if (was_cancelled && !drops) fail("the gradient of a cancelled step was taken");
      if (!was_cancelled && drops && got.what.why == reason::cancelled && control_->policy().kind() != "chaos")
        fail("dropped as cancelled, and was not");  // chaos itself may answer so
      cancelled_.erase(w);
      working_.erase(w);
      silent_.erase(w);
    }
    look();
    return got;
  }
  void commit(const admitted& what, double now, outcome how) {
    const std::uint32_t w = what.work.worker.index;
    const std::optional<ticket> t = w < options_.capacity ? push_ticket(w) : std::nullopt;
    one_answer_ = std::isfinite(now) && w < options_.capacity && is_here(w) && what.work.worker == id(w) &&
                  accounts.is_out(what.work);
    useful_ = useful_ || (one_answer_ && what.what.what != verdict::drop);
    accounts.about_to_commit(what, now, how);
    asks_ = w;
    const errc result = [&] {
      const without_allocation here;
      return control_->commit(what.work, now, how, t, sink{*this});
    }();
    accounts.committed(what, result, now);
    survived.answered(result);
    if (result == errc::ok && is_here(w)) will_pull(w);
    look();
  }
  void pull(worker_id who, double now) {
    const ticket t = accounts.new_ticket(who.index);
    was_free_ = state(who.index) == worker_state::released;
    if (was_free_ && !peers_[who.index].free) fail("a worker is free, and was not told so");
    asks_ = who.index;
    const errc result = [&] {
      const without_allocation here;
      return control_->pull(who, now, t, sink{*this});
    }();
    answered(result, now);
    if (result == errc::ok) owes_pull_.erase(who.index);
    look();
  }
  void poll(double now) {
    {
      const without_allocation here;
      control_->poll(now, sink{*this});
    }
    accounts.polled(now);
    survived.refused += !std::isfinite(now);
    look();
  }
  void switch_to(const any_policy& next) {
    const errc result = control_->switch_to(
        next, now_, chance(0.5) ? pending_gradients::flush : pending_gradients::discard, sink{*this});
    answered(result, now_);
    if (result != errc::ok) fail("a switch was refused");
    ++survived.switches;
    in_charge_ = &next;
    look();
  }
  // Into a fresh controller; the tickets of some are lost, and the host's clock may begin anew.
  void reload() {
    if (!problem.empty()) return;
    archive saved;
    if (control_->save(saved) != errc::ok) return fail("save");
    auto fresh = std::make_unique<controller_type>(options_, *in_charge_);
    archive bytes{saved.bytes()};
    std::vector<std::uint32_t> lost;
    const errc result = fresh->load(bytes, [&](worker_id who) -> std::optional<ticket> {
      if (!chance(0.01)) return accounts.ticket_of(who.index);
      lost.push_back(who.index);
      return std::nullopt;
    });
    if (result != errc::ok) return fail("load says " + std::string{name(result)});
    control_ = std::move(fresh);
    ++survived.reloads;
    survived.lost_tickets += lost.size();
    for (const std::uint32_t w : lost) accounts.lost(w), forget(w);
    if (chance(0.25)) now_ = 0.0, ++survived.anew;
    accounts.begin_time();
    poll(now_);
  }
  // Nothing is out, and nothing is due at once.
  void settle() {
    while (!out_.empty() && problem.empty()) commit_some();
    for (int n = 0; control_->next_deadline() <= now_ && problem.empty(); ++n) {
      if (n > 1'000) return fail("deadlines without end");
      pass();
      poll(now_);
    }
  }

  // --- what happens

  void pass() { now_ += (0.5 + random_.uniform()) / (working_.size() + 1.0) + 1e-6; }

  void act() {
    pass();
    if (chance(0.03)) return misfortune();
    if (control_->next_deadline() <= now_ && chance(0.5)) return poll(now_);
    if (owes_pull_.size() > 0 && chance(0.5)) return pull_someone();
    if (out_.size() == most_out || (!out_.empty() && chance(0.4))) return commit_some();
    if (working_.size() > 0) return step(working_[pick(working_.size())]);
    wait_for_something();
  }
  void pull_someone() { pull(id(owes_pull_[pick(owes_pull_.size())]), now_); }
  void commit_some() {
    const std::size_t i = pick(static_cast<std::uint32_t>(out_.size()));
    const admitted what = out_[i];
    out_[i] = out_.back();
    out_.pop_back();
    commit(what, now_, chance(0.01) ? outcome::failed : outcome::done);
  }
  void step(std::uint32_t w) {
    push_event push{.worker = id(w), .now = now_, .step = ++peers_[w].step, .samples = 16, .loss = 1.5F};
    if (chance(0.002)) push.loss = std::numeric_limits<float>::quiet_NaN();
    if (chance(0.001)) push.grad_norm = std::numeric_limits<float>::infinity();
    const admitted what = admit(push);
    if (what.work.serial != 0 && chance(0.5))
      out_.push_back(what);
    else
      commit(what, now_, outcome::done);
  }
  void wait_for_something() {
    if (!out_.empty()) return commit_some();
    if (owes_pull_.size() > 0) return pull_someone();
    if (silent_.size() > 0) return step(silent_[pick(silent_.size())]);
    if (control_->next_deadline() < std::numeric_limits<double>::infinity()) {
      now_ = (std::max)(now_, control_->next_deadline()) + 1e-6;
      return poll(now_);
    }
    const std::uint32_t w = pick(options_.capacity);
    join(w, peers_[w].life + 1);
  }

  void misfortune() {
    const double luck = random_.uniform();
    if (luck < 0.3) return change_members();
    if (luck < 0.5) return fall_silent();
    if (luck < 0.995) return misbehave();
    if (luck < 0.998) return void((now_ += 1'000 * random_.uniform(), ++survived.jumps));
    if (luck < 0.9995) return switch_to(policies_[pick(static_cast<std::uint32_t>(policies_.size()))]);
    settle();
    reload();
  }
  void change_members() {
    const std::uint32_t w = pick(options_.capacity);
    constexpr std::array ways{cause::leave, cause::death, cause::done};
    if (!is_here(w)) return join(w, peers_[w].life + 1 + pick(2));
    // Of the silent more are given up than of others.
    if (silent_.size() > 0 && chance(0.5)) return depart(id(silent_[pick(silent_.size())]), now_, cause::death);
    if (chance(0.3)) return join(w, peers_[w].life + 1);  // it has died, and nobody knew
    depart(id(w), now_, ways[pick(3)]);
  }
  // A message is lost; the worker says it again much later, or never.
  void fall_silent() {
    if (silent_.size() > options_.capacity / 50 || chance(0.3)) {
      if (silent_.size() > 0) step(silent_[pick(silent_.size())]);
    } else if (working_.size() > 0) {
      const std::uint32_t w = working_[pick(working_.size())];
      working_.erase(w);
      silent_.insert(w);
      ++survived.silences;
    }
  }
  // Messages that are late, doubled, or nonsense.
  void misbehave() {
    const std::uint32_t w = pick(options_.capacity);
    const double nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
    const worker_id stranger{w, peers_[w].life + 1 + pick(2)}, nobody{options_.capacity + pick(3), 0};
    push_event push{.worker = id(w), .now = now_, .step = peers_[w].step, .samples = 1};
    switch (pick(13)) {
      case 0:
      case 1:
        if (peers_[w].step > 0) commit(admit(push), now_, outcome::done);  // the same step again
        return;
      case 2:
        push.worker = stranger;
        return commit(admit(push), now_, outcome::done);
      case 3:
        push.worker = nobody;
        return commit(admit(push), now_, outcome::done);
      case 4:
        push.now = pick(2) == 0 ? nan : infinite;
        return commit(admit(push), now_, outcome::done);
      case 5:
        return join(w, peers_[w].life);
      case 6:
        return join(w, peers_[w].life + 1, nan);
      case 7:
        return depart(stranger, now_, cause::death);
      case 8:
        return depart(id(w), -infinite, cause::leave);
      case 9:
        if (pick(2) == 0) return poll(nan);
        ++survived.setbacks;
        return poll(now_ - 1.0);
      case 10:
        return pull(pick(2) == 0 ? id(w) : stranger, now_);
      case 11:
        if (out_.empty()) return;
        return commit(out_.front(), infinite, outcome::done);  // refused; the token stays good
      default:
        return commit({.work = {.worker = id(w), .serial = ~std::uint64_t{0}, .what = verdict::apply}}, now_,
                      outcome::done);
    }
  }

  controller_options options_;
  std::uint64_t seed_;
  random_sequence random_;
  std::vector<any_policy> policies_;
  std::vector<peer> peers_;
  worker_set working_, silent_, owes_pull_, cancelled_;
  std::vector<admitted> out_;
  std::unique_ptr<controller_type> control_;
  const any_policy* in_charge_ = &policies_.front();
  // Of the call that is being made:
  static constexpr worker_id nobody_{no_worker, 0};
  std::uint32_t asks_ = no_worker;  // who sent the message
  bool was_free_ = false;           // before it asked
  worker_id leaving_ = nobody_;     // whose life ends in it
  bool one_answer_ = false;         // the policy is asked no more than once
  bool cancels_ = false;
  bool useful_ = true;  // a push came in since the last cancellation
  double now_ = 0.0;
  std::uint64_t calls_ = 0;
  std::uint64_t hash_ = 1;
};

}  // namespace rubato::test

#endif
