#ifndef RUBATO_TESTS_MODEL_HOST_HPP
#define RUBATO_TESTS_MODEL_HOST_HPP

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "after_call.hpp"
#include "any_answer.hpp"

namespace rubato::test::model {

/// Does one action of a host in a world, and checks on the host's own account what is promised of it: each ticket ends
/// once, each gradient has one fate, versions count updates, nobody starts beyond the bound, before the quorum, or
/// before its round has ended, no wait is longer than the policy states, refused calls change nothing, and somebody
/// runs or will.
class host {
 public:
  /// Words for what happens are added to `story`, if there is one.
  host(const plan& p, world& w, std::vector<std::string>* story = nullptr) : plan_{p}, w_{w}, story_{story} {}

  std::string problem;  ///< empty while every promise is kept

  void perform(const action& a) {
    doing_ = a;
    before_ = picture_of(w_);
    any_answer::choose(a.decision, a.verdict);
    if (a.what != act::pass) w_.passes = 0;
    call(a);
    if (problem.empty()) problem = after_call{plan_, w_, before_, doing_, cancelled_}.broken_promise();
  }

  /// What is refused must leave everything as it is; the fingerprint is the caller's to compare.
  void stray_calls() {
    before_ = picture_of(w_);
    doing_ = {.what = act::repeat};
    const std::uint32_t k = plan_.in.workers;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (std::uint32_t w = 0; w <= k && problem.empty(); ++w) {
      const std::uint32_t life = w < k ? w_.seats[w].life : 0;
      for (const worker_id who : {worker_id{w, life + 1}, worker_id{w, w < k && here(w) ? life - 1 : life + 2}}) {
        if (w < k && who.incarnation == life) continue;
        admitted answer = w_.control.admit({.worker = who, .now = w_.now});
        refused(answer.work.what == verdict::refused, "a push of a worker that is not known");
        commit_stray(answer.work, w_.now);
        refused(w_.control.depart(who, w_.now, cause::death, *this) != errc::ok, "a departure");
        if (plan_.in.park == park_on::pull) refused(w_.control.pull(who, w_.now, hand(w), *this) != errc::ok, "a pull");
        none_in_hand();
      }
      commit_stray({.worker = {w, life}, .serial = inside::progress(w_.control).serial + 1, .what = verdict::apply},
                   w_.now);
      if (w < k && w_.seats[w].out) commit_stray(w_.seats[w].work.work, nan);
      if (w < k && !here(w)) {
        refused(w_.control.depart({w, life}, w_.now, cause::done, *this) != errc::ok,
                "a departure of one that is gone");
        if (life > 0 || w_.workers()[w].state != worker_state::absent) {
          refused(w_.control.join({w, life}, w_.now, hand(w), *this) != errc::ok, "a return without a new life");
          none_in_hand();
        }
      }
    }
    if (problem.empty()) problem = after_call{plan_, w_, before_, doing_, 0}.broken_promise();
  }

  // The sink.
  void release(std::uint32_t ticket, worker_id worker, const grant& terms) {
    say("release ", worker.index, " at version ", terms.version);
    seat& s = w_.seats[worker.index];
    end_ticket(worker.index, ticket);
    if (is_going(worker)) return;
    if (!s.here || worker.incarnation != s.life) return fail("a worker was released that is not there");
    if (s.computes) {
      const bool asked = (doing_.what == act::repeat || doing_.what == act::pull) && doing_.worker == worker.index;
      if (!asked) fail("a running worker was released");
      return;
    }
    if (s.out) return fail("a worker was released whose gradient is being added");
    if (!w_.started) return fail("a worker was released before the quorum");
    if (terms.version != w_.control.version()) fail("a grant names another version than that of the parameters");
    if (!s.free) may_start(worker.index);
    s.computes = true;
    s.free = s.cancelled = false;
    s.waited = 0;
  }
  void ready(worker_id worker) {
    say("free ", worker.index);
    seat& s = w_.seats[worker.index];
    if (is_going(worker)) return;
    if (!s.here || s.computes || s.free || s.ticket != 0) return fail("a worker was freed that does not wait");
    if (!w_.started) return fail("a worker was freed before the quorum");
    may_start(worker.index);
    s.free = true;
    s.waited = 0;
  }
  void flush(std::uint64_t round, float scale, std::uint32_t n) {
    say("flush round ", round, " of ", n);
    if (n == 0) fail("a flush of nothing");
    if (!std::isfinite(scale)) fail("a flush by a number that is none");
    if (w_.account(round).to_discard) fail("a flush of a round that was to be discarded");
    end_round(round, n);
  }
  void discard(std::uint64_t round, std::uint32_t n) {
    say("discard round ", round, " of ", n);
    if (n > 0 && !w_.account(round).to_discard) fail("a round was discarded that was to be flushed");
    end_round(round, n);
  }
  void cancel(worker_id worker) {
    say("cancel ", worker.index);
    seat& s = w_.seats[worker.index];
    if (!s.computes || s.cancelled || s.life != worker.incarnation) fail("a worker was cancelled that does not run");
    s.cancelled = true;
    ++cancelled_;
  }
  void abandon(std::uint32_t ticket, worker_id worker, reason why) {
    say("abandon the ticket of ", worker.index, ", ", rubato::name(why));
    end_ticket(worker.index, ticket);
  }

 private:
  void fail(const char* what) {
    if (problem.empty()) problem = what;
  }
  void refused(bool is, const char* what) {
    if (!is && problem.empty()) problem = std::string{"was not refused: "} + what;
  }
  template <class... Parts>
  void say(const Parts&... parts) {
    if (story_ == nullptr) return;
    std::ostringstream text;
    (text << ... << parts);
    story_->push_back(text.str());
  }
  // What an earlier call left to be released goes first, also if this call is about its departure.
  [[nodiscard]] bool is_going(worker_id who) const {
    if (doing_.worker != who.index) return false;
    const bool goes = doing_.what == act::leave || doing_.what == act::die || doing_.what == act::finish;
    return goes || (doing_.what == act::replace && who.incarnation + 1 == w_.seats[who.index].life);
  }
  [[nodiscard]] bool here(std::uint32_t w) const { return w_.seats[w].here; }
  [[nodiscard]] worker_id id(std::uint32_t w) const { return {w, w_.seats[w].life}; }
  [[nodiscard]] clock_type bound() const { return plan_.bound(w_.control.policy()); }

  // --- tickets: one may wait at each seat, another is handed over in the present call

  [[nodiscard]] std::uint32_t hand(std::uint32_t worker) {
    in_hand_ = ++w_.last_ticket;
    in_hand_of_ = worker;
    return in_hand_;
  }
  [[nodiscard]] std::optional<std::uint32_t> hand_at_push(std::uint32_t worker) {
    return plan_.in.park == park_on::push ? std::optional{hand(worker)} : std::nullopt;
  }
  void end_ticket(std::uint32_t worker, std::uint32_t ticket) {
    if (in_hand_ != 0 && ticket == in_hand_ && worker == in_hand_of_)
      in_hand_ = 0;
    else if (worker < plan_.in.workers && ticket != 0 && w_.seats[worker].ticket == ticket)
      w_.seats[worker].ticket = 0;
    else
      fail("a ticket ended that does not wait");
  }
  // What was handed over and has not ended waits now.
  void put_down() {
    const std::uint32_t ticket = std::exchange(in_hand_, 0);
    if (ticket == 0 || !problem.empty()) return;
    if (w_.seats[in_hand_of_].ticket != 0) return fail("a ticket was replaced and never ended");
    w_.seats[in_hand_of_].ticket = ticket;
  }
  void none_in_hand() {
    if (std::exchange(in_hand_, 0) != 0) fail("the ticket of a refused call never ended");
  }
  void commit_stray(const token& work, double now) {
    const std::uint32_t w = work.worker.index;
    refused(w_.control.commit(work, now, outcome::done, hand_at_push(w), *this) != errc::ok, "a commit");
    none_in_hand();
  }

  // --- rounds and starts

  void end_round(std::uint64_t round, std::uint32_t n) {
    round_account& a = w_.account(round);
    if (a.number != round) return fail("a round ended that was never begun, or has ended before");
    if (a.out > 0 || a.added != n) fail("a round ended with other gradients than were added to it");
    a = {};
  }
  void may_start(std::uint32_t w) {
    const vector_clock& clock = w_.workers().clock();
    if (clock.clock(w) - clock.minimum() > bound()) fail("a start beyond the bound");
    const seat& s = w_.seats[w];
    if (plan_.of.is.rounds && w_.policy == (plan_.in.entered ? 1 : 0) && w_.owes(s))
      fail("a start before the worker's own round has ended");
  }

  // --- calls

  void call(const action& a) {
    const std::uint32_t w = a.worker;
    switch (a.what) {
      case act::join:
        return join(w, w_.seats[w].life);
      case act::come_back:
        return join(w, w_.seats[w].life + 1);
      case act::replace:
        return --w_.faults, join(w, w_.seats[w].life + 1);
      case act::leave:
        return depart(w, cause::leave);
      case act::die:
        return depart(w, cause::death);
      case act::finish:
        return depart(w, cause::done);
      case act::push:
        admit(w, a.decision);
        if (problem.empty() && w_.seats[w].out) commit(w, outcome::done);
        return;
      case act::admit:
        return admit(w, a.decision);
      case act::admit_nan:
        return --w_.faults, admit(w, 2);
      case act::commit:
        return commit(w, outcome::done);
      case act::commit_failed:
        return --w_.faults, commit(w, outcome::failed);
      case act::repeat:
        return repeat(w);
      case act::pull:
        return static_cast<void>(w_.control.pull(id(w), w_.now, hand(w), *this)), put_down();
      case act::switch_flush:
        return switch_to(w, pending_gradients::flush);
      case act::switch_discard:
        return switch_to(w, pending_gradients::discard);
      case act::poll:
        return w_.control.poll(w_.now, *this);
      case act::pass:
        return pass();
      case act::reload:
        return reload(no_worker);
      case act::reload_lossy:
        return --w_.faults, reload(w);
    }
  }

  void join(std::uint32_t w, std::uint32_t life) {
    seat& s = w_.seats[w];
    const std::uint32_t old_ticket = s.ticket;
    const std::uint32_t ticket = plan_.in.park == park_on::push ? hand(w) : 0;
    // The controller may end the former life's ticket and answer the new one in the same call.
    s = {.life = life, .ticket = old_ticket, .here = true, .out = s.out, .work = s.work};
    const auto members = static_cast<std::uint32_t>(
        std::count_if(w_.seats.begin(), w_.seats.end(), [](const seat& each) { return each.here; }));
    w_.started = w_.started || members >= (plan_.in.quorum == 0 ? plan_.in.workers : plan_.in.quorum);
    if (w_.control.join(id(w), w_.now, ticket == 0 ? std::nullopt : std::optional{ticket}, *this) != errc::ok)
      fail("a join was refused");
    put_down();
    if (plan_.of.is.rebases || plan_.of.is.arbitrary) return;
    const vector_clock& clock = w_.workers().clock();
    if (before_.counted > 0 && clock.size() > 0 && clock.minimum() < before_.minimum)
      fail("who joined is behind the slowest");
    if (clock.counts(w) && clock.clock(w) - clock.minimum() > bound()) fail("who joined is beyond the bound");
  }
  void depart(std::uint32_t w, cause why) {
    --w_.faults;
    seat& s = w_.seats[w];
    s.here = s.computes = s.free = s.cancelled = false;
    if (w_.control.depart(id(w), w_.now, why, *this) != errc::ok) fail("a departure was refused");
    if (s.ticket != 0) fail("the ticket of a worker that went never ended");
  }

  void admit(std::uint32_t w, std::uint32_t loss) {
    seat& s = w_.seats[w];
    const worker_record& r = w_.workers()[w];
    const bool excluded = r.excluded;
    const std::uint64_t stale = w_.control.updates() - r.granted.version;
    const std::uint64_t open = inside::rounds(w_.control).open_round();
    constexpr std::array losses{1.0F, 0.25F, std::numeric_limits<float>::quiet_NaN()};
    const float reported = plan_.of.is.arbitrary && loss != 2 ? 1.0F : losses[loss];
    const admitted got = w_.control.admit({.worker = id(w),
                                           .now = w_.now,
                                           .step = r.highest_step + 1,
                                           .samples = 1,
                                           .loss = reported,
                                           .grad_norm = 1.0F});
    if (got.what.what == verdict::drop)
      say("drop, ", rubato::name(got.what.why));
    else
      say(rubato::name(got.what.what), got.what.completes ? " and flush" : "");
    if (got.work.serial == 0 || got.what.what > verdict::drop) return fail("a push was not taken");
    const reason why = got.what.what == verdict::drop ? got.what.why : reason::none;
    if (got.staleness != stale) fail("a staleness other than the updates admitted since the worker's version");
    if (s.cancelled && why == reason::none) fail("the gradient of a cancelled step was taken");
    if (!s.cancelled && why == reason::cancelled) fail("a gradient was dropped as cancelled that was not");
    if (excluded && why == reason::none) fail("the gradient of an excluded worker was taken");
    if (loss == 2 && why == reason::none) fail("a non-finite loss was taken");
    s.computes = s.cancelled = false;
    s.out = true;
    s.work = got;
    s.round = worker_record::no_round;
    if (got.what.what != verdict::accumulate) return;
    if (got.round != open) return fail("a gradient joins a round that is not open");
    round_account& a = w_.account(open);
    a.number = open;
    ++a.out;
  }

  void commit(std::uint32_t w, outcome how) {
    seat& s = w_.seats[w];
    const admitted work = s.work;
    const bool alive = s.here && s.life == work.work.worker.incarnation;
    s.out = false;
    if (work.what.what == verdict::accumulate) {
      round_account& a = w_.account(work.round);
      --a.out;
      if (how == outcome::done) ++a.added;
      if (alive && how == outcome::done) s.round = work.round;
    }
    if (alive && work.what.what != verdict::drop) w_.useful = true;
    const clock_type clock = w_.workers().clock().clock(w);
    const std::optional<std::uint32_t> ticket = hand_at_push(w);
    if (w_.control.commit(work.work, w_.now, how, ticket, *this) != errc::ok) fail("a commit was refused");
    if (alive)
      put_down();
    else
      none_in_hand();
    const clock_type moved = w_.workers().clock().clock(w) - clock;
    if (!plan_.of.is.rebases && !plan_.of.is.arbitrary && moved != clock_type{alive}) {
      const bool joined = !alive && s.here;  // it waited for this commit
      if (!joined) fail("a commit is one step of its worker");
    }
  }

  // The message that the worker sent last, once more.
  void repeat(std::uint32_t w) {
    errc answer = errc::ok;
    if (const std::uint64_t step = w_.workers()[w].highest_step; step == 0) {
      answer = w_.control.join(id(w), w_.now, hand_at_push(w), *this);
    } else {
      const admitted got = w_.control.admit({.worker = id(w), .now = w_.now, .step = step});
      if (got.what.what != verdict::repeated) return fail("a repeated push was taken for a new one");
      answer = w_.control.commit(got.work, w_.now, outcome::done, hand_at_push(w), *this);
    }
    if (answer != errc::repeated) fail("who repeats a message was not told so");
    put_down();
  }

  void switch_to(std::uint32_t next, pending_gradients waiting) {
    --w_.switches;
    round_account& open = w_.account(before_.open_round);
    if (open.number == before_.open_round) open.cut = true, open.to_discard = waiting == pending_gradients::discard;
    w_.policy = static_cast<std::uint8_t>(next);
    for (seat& s : w_.seats) s.waited = 0;
    if (w_.control.switch_to(plan_.policies[next], w_.now, waiting, *this) != errc::ok) fail("a switch was refused");
    const roster& all = w_.workers();
    if (all.clock().size() > 0 && all.clock().minimum() != 0) fail("after a switch the slowest is not at 0");
    const clock_type most = plan_.policies[next].clock_bound();
    for (std::uint32_t w = 0; w < plan_.in.workers; ++w) {
      const clock_type limit = saturating_add(most, all[w].state == worker_state::parked ? 1 : 0);
      if (all.counted(w) && all.clock().clock(w) - all.clock().minimum() > limit) fail("the spread after a switch");
    }
    if (all.excluded() > 0 && next != 0 && !plan_.of.is.arbitrary && !plan_.in.entered)
      fail("an exclusion outlived the policy that ordered it");
  }

  // Up to the deadline, if that comes before.
  void pass() {
    ++w_.passes;
    w_.now = std::min(w_.now + 1.0, std::max(w_.control.next_deadline(), w_.now));
  }

  void reload(std::uint32_t lost) {
    --w_.reloads;
    archive saved;
    if (w_.control.save(saved) != errc::ok) return fail("a save was refused");
    controller_type other = plan_.fresh(w_.policy);
    archive bytes{saved.bytes()};
    const errc code = other.load(bytes, [&](worker_id who) -> std::optional<std::uint32_t> {
      seat& s = w_.seats[who.index];
      if (s.ticket == 0 || s.life != who.incarnation) fail("a ticket is asked for that does not wait");
      if (who.index != lost) return s.ticket;
      s.ticket = 0;
      s.here = s.free = false;
      return std::nullopt;
    });
    if (code != errc::ok) return fail("a load was refused");
    w_.control = std::move(other);
    plan_.keep_orders(w_.control);
    if (w_.control.next_deadline() > w_.now) return fail("a loaded controller does not ask to be polled");
    w_.control.poll(w_.now, *this);
  }

  const plan& plan_;
  world& w_;
  std::vector<std::string>* story_;
  action doing_{};
  picture before_{};
  std::uint32_t in_hand_ = 0, in_hand_of_ = 0;
  std::uint32_t cancelled_ = 0;
};

}  // namespace rubato::test::model

#endif
