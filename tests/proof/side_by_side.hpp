#ifndef RUBATO_TESTS_PROOF_SIDE_BY_SIDE_HPP
#define RUBATO_TESTS_PROOF_SIDE_BY_SIDE_HPP

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <rubato/sync/controller.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shield.hpp"

namespace proof {

using shield::integer;
using shield::place;
using ticket = place;

inline constexpr place nobody = rubato::no_worker;
inline constexpr integer endless = integer{1} << 40;  // a bound that never binds
[[nodiscard]] constexpr rubato::clock_type steps(integer n) noexcept {
  return n >= endless ? rubato::unbounded : static_cast<rubato::clock_type>(n);
}
[[nodiscard]] constexpr integer number(rubato::clock_type n) noexcept {
  return n >= static_cast<rubato::clock_type>(endless) ? endless : static_cast<integer>(n);
}

/// Answers of a policy and a host that may do anything: counted through, or drawn.
class choices {
 public:
  virtual ~choices() = default;
  virtual std::uint32_t pick(std::uint32_t n) = 0;  ///< below n
};

class side_by_side;
inline side_by_side* at_work = nullptr;  // whose controller is being called

/// A policy that answers whatever `at_work` says.
struct adversary {
  rubato::clock_type bound = 0;
  rubato::admission admit(const rubato::cluster_view& view, const rubato::event& what) noexcept;
  rubato::decision release(const rubato::cluster_view& view, const rubato::event& what) noexcept;
  [[nodiscard]] rubato::clock_type clock_bound() const noexcept { return bound; }
};

/// A controller, and the model of the shield that follows it event by event: what a call does in between is seen from
/// the policy and from the sink. Each event must be one that the model allows, and between calls, and whenever the
/// policy is asked, the two must agree on every worker.
class side_by_side {
 public:
  using controller = rubato::controller<adversary, ticket>;

  side_by_side(const rubato::controller_options& o, integer bound)
      : real_{o, adversary{steps(bound)}}, parks_on_pull_{o.park == rubato::park_on::pull}, started_(o.capacity) {
    for (place w = 0; w < o.capacity; ++w) static_cast<void>(model_.add_W());
    free_gradients_.push_back(model_.add_G());
    free_tickets_.push_back(model_.add_T());
    static_cast<void>(model_.add_R());
    round_numbers_.push_back(0);
    model_.policy_bound = bound;
    model_.guard_bound = number(o.guard.bound);
  }

  // --- what the host does

  struct gradient {
    place slot = 0;
    rubato::token work{};
  };
  void join(place w, bool with_ticket) {
    begin("join", with_ticket);
    const rubato::worker_record& r = worker(w);
    const bool here = is(w) != shield::state_kind::absent && is(w) != shield::state_kind::gone;
    const bool first = is(w) == shield::state_kind::absent && r.incarnation == 0;
    if (here) add({.what = main::kind::depart, .w = w});
    add({.what = main::kind::join, .w = w});
    expect(rubato::errc::ok, real_.join({w, r.incarnation + (first ? 0 : 1)}, now, given_, sink()));
    end();
  }
  void depart(place w, rubato::cause why) {
    begin("depart", false);
    add({.what = main::kind::depart, .w = w});
    expect(rubato::errc::ok, real_.depart(real_.workers().id(w), now, why, sink()));
    end();
  }
  /// A running worker pushes; the verdict is the policy's.
  void push(place w, float loss = 1.0F) {
    begin("admit", false);
    completes_ = false;
    const rubato::admitted a = real_.admit({.worker = real_.workers().id(w), .now = now, .loss = loss, .read = {}});
    const auto what = static_cast<shield::verdict_kind>(a.what.what);  // both begin with apply, accumulate, drop
    if (a.what.what > rubato::verdict::drop) return fail("a running worker's push was not admitted");
    if (what == shield::verdict_kind::accumulate && a.round != round_numbers_[model_.current])
      fail("a gradient was told another round than the open one");
    const place g = taken_from(free_gradients_, [&] { return model_.add_G(); });
    check(admit(model_, w, g, what));
    out.push_back({g, a.work});
    if (what == shield::verdict_kind::accumulate && completes_) close_round(true);
    end();
  }
  void commit(std::size_t which, bool ok, bool with_ticket) {
    begin("commit", with_ticket);
    const gradient g = std::exchange(out[which], out.back());
    out.pop_back();
    add({.what = main::kind::commit, .w = g.work.worker.index, .g = g.slot, .flag = ok});
    const auto how = ok ? rubato::outcome::done : rubato::outcome::failed;
    expect(rubato::errc::ok, real_.commit(g.work, now, how, given_, sink()));
    end();
  }
  void pull(place w) {
    begin("pull", true);
    static_cast<void>(real_.pull(real_.workers().id(w), now, *given_, sink()));
    asks_again(w);
  }
  /// Something that was pushed before, or by who may not push.
  void push_again(place w) {
    begin("push again", true);
    const rubato::admitted a = real_.admit({.worker = real_.workers().id(w), .now = now, .read = {}});
    if (a.work.serial != 0) fail("a push that was none was admitted");
    static_cast<void>(real_.commit(a.work, now, rubato::outcome::done, given_, sink()));
    asks_again(w);
  }
  void commit_twice(const gradient& g) {
    begin("commit twice", true);
    add({.what = main::kind::refusal, .w = g.work.worker.index});
    expect(rubato::errc::invalid_token, real_.commit(g.work, now, rubato::outcome::done, given_, sink()));
    end();
  }
  void join_again(place w) {
    begin("join again", true);
    static_cast<void>(real_.join(real_.workers().id(w), now, given_, sink()));
    asks_again(w);
  }
  void switch_to(integer bound, bool flush) {
    begin("switch_to", false);
    add({.what = main::kind::close, .flag = flush});
    add({.what = main::kind::change, .to = bound});
    const auto pending = flush ? rubato::pending_gradients::flush : rubato::pending_gradients::discard;
    expect(rubato::errc::ok, real_.switch_to(adversary{steps(bound)}, now, pending, sink()));
    end();
  }
  void poll() {
    begin("poll", false);
    may_be_asked_ = true;
    real_.poll(now, sink());
    end();
  }
  void set_quorum(std::uint32_t quorum) {
    begin("set_quorum", false);
    expect(rubato::errc::ok, real_.set_quorum(quorum, now, sink()));
    end();
  }
  void force_release(place w) {
    begin("force_release", false);
    forces_ = true;
    static_cast<void>(real_.force_release(real_.workers().id(w), now, sink()));
    end();
  }

  // --- what the controller does meanwhile

  void asked(const rubato::event& what) {
    if (!wrong.empty()) return;
    if (what.why == rubato::cause::exclude || what.why == rubato::cause::readmit) {
      membership();
      answer_.reset();
    } else {
      end_group();
      while (next_ < mains_ && model_.phase == shield::phase_kind::idle) run(main_[next_++]);
      if (what.why == rubato::cause::join || what.why == rubato::cause::enter) seats();
      if (model_.phase == shield::phase_kind::idle)
        may_be_asked_ ? check(shield::poll(model_)) : fail("the policy was asked for no reason");
      asked_ = true;
    }
    compare();
  }
  /// The policy's answer: `d`, and its bound from now on, which falls only where d re-bases.
  void answered(const rubato::decision& d, adversary& policy, integer bound) {
    answer_ = d;
    bound_after_ = bound;
    policy.bound = steps(bound);
    if (!d.rebases && bound != model_.policy_bound) check(shield::widen(model_, bound));
  }
  void verdict_completes() { completes_ = true; }

  void release(ticket t, place w) { freed(w, t); }
  void ready(place w) { freed(w, nobody); }
  void flush(std::uint64_t round, std::uint32_t n) { round_is_over(round, n > 0, n); }
  void discard(std::uint64_t round, std::uint32_t n) { round_is_over(round, false, n); }
  void cancel(place w) {
    if (!wrong.empty()) return;
    apply_close();
    check(shield::cancel(model_, w));
  }
  void abandon(ticket t) {
    abandoned_.push_back(t);
    gone_tickets_.push_back(t);
  }

  /// Those of the statement, which are proved: they would show an error in the translation.
  void check_invariants() {
    if (const char* lost = shield::broken(model_); lost != nullptr) fail(lost);
  }

  // --- to be read

  [[nodiscard]] const shield::model& model() const { return model_; }
  [[nodiscard]] const controller& real() const { return real_; }
  [[nodiscard]] shield::state_kind is(place w) const { return model_.st[w]; }
  [[nodiscard]] bool counts(place w) const {
    return is(w) >= shield::state_kind::running && is(w) <= shield::state_kind::parked && model_.excluded[w] == 0;
  }
  [[nodiscard]] bool parks_on_pull() const { return parks_on_pull_; }
  [[nodiscard]] std::uint32_t waiting_in(place round) const {
    std::uint32_t n = 0;
    for (place g = 0; g < model_.size_G; ++g)
      n += model_.fate[g] == shield::fate_kind::waiting && model_.round[g] == round;
    return n;
  }
  [[nodiscard]] std::uint64_t round_number() const { return round_numbers_[model_.current]; }
  [[nodiscard]] std::uint64_t started_at(place w) const { return started_[w]; }  ///< numbers steps

  double now = 0.0;
  std::vector<gradient> out;  ///< admitted, not committed
  std::string wrong;          ///< what was refused first
  static inline std::uint64_t calls = 0, events = 0;
  static inline choices* dice = nullptr;

 private:
  struct main {  // what a call does before it asks
    enum class kind : std::uint8_t { depart, join, commit, close, change, refusal } what{};
    place w = 0, g = 0;
    bool flag = false;
    integer to = 0;
  };
  struct round_end {
    std::uint64_t number = 0;
    bool flushed = false;
    std::uint32_t n = 0;
  };
  struct spy {
    side_by_side& to;
    void release(ticket t, rubato::worker_id w, const rubato::grant&) const { to.release(t, w.index); }
    void ready(rubato::worker_id w) const { to.ready(w.index); }
    void flush(std::uint64_t round, float, std::uint32_t n) const { to.flush(round, n); }
    void discard(std::uint64_t round, std::uint32_t n) const { to.discard(round, n); }
    void cancel(rubato::worker_id w) const { to.cancel(w.index); }
    void abandon(ticket t, rubato::worker_id, rubato::reason) const { to.abandon(t); }
  };
  [[nodiscard]] spy sink() { return {*this}; }
  [[nodiscard]] const rubato::worker_record& worker(place w) const { return real_.workers()[w]; }

  void fail(const std::string& what) {
    if (wrong.empty()) wrong = std::string{"in "} + call_ + ": " + what;
  }
  void check(const char* refused) {
    ++events;
    judge(refused);
  }
  void judge(const char* refused) {
    if (refused != nullptr) fail(refused);
  }
  void expect(rubato::errc expected, rubato::errc found) {
    if (expected != found) fail("answered " + std::string{name(found)} + ", expected " + std::string{name(expected)});
  }
  template <class Add>
  [[nodiscard]] static place taken_from(std::vector<place>& free, const Add& add) {
    if (free.empty()) free.push_back(add());
    const place x = free.back();
    free.pop_back();
    return x;
  }

  void begin(const char* call, bool with_ticket) {
    ++calls;
    call_ = call;
    at_work = this;
    mains_ = next_ = 0;
    asked_ = may_be_asked_ = forces_ = settled_ = false;
    answer_.reset();
    abandoned_.clear();
    to_abandon_.clear();
    given_.reset();
    if (with_ticket) given_ = taken_from(free_tickets_, [&] { return model_.add_T(); });
    forced_before_ = real_.counts().total(rubato::reason::liveness);
  }
  void add(const main& m) { main_[mains_++] = m; }

  // A request that changes nothing but tickets.
  void asks_again(place w) {
    if (!settled_ && wrong.empty()) {
      const bool stranger = is(w) == shield::state_kind::absent || is(w) == shield::state_kind::gone;
      take_ticket(w, !stranger && (parks_on_pull_ || call_ != std::string_view{"pull"}));
    }
    end();
  }
  void take_ticket(place w, bool accepted) {
    settled_ = true;
    if (!given_.has_value()) return;
    if (!accepted) {
      to_abandon_.push_back(*given_);
      return check(reply(model_, w, *given_, false));
    }
    if (model_.has[w] != 0) to_abandon_.push_back(model_.ticket[w]);
    check(give(model_, w, *given_));
  }

  void run(const main& m) {
    switch (m.what) {
      case main::kind::depart:
        if (model_.has[m.w] != 0) to_abandon_.push_back(model_.ticket[m.w]);
        return check(shield::depart(model_, m.w, number(real_.workers().clock().minimum())));
      case main::kind::join:
        check(shield::join(model_, m.w));
        return take_ticket(m.w, true);
      case main::kind::commit: {
        const place r = model_.round[m.g];
        const std::uint32_t others = model_.round_is[r] == shield::round_kind::opened ? 0 : waiting_in(r);
        const bool here = is(m.w) == shield::state_kind::admitted;
        const bool flushing = model_.round_is[r] == shield::round_kind::flushing;
        const bool kept = model_.verdict[m.g] == shield::verdict_kind::accumulate;
        check(shield::commit(model_, m.g, m.flag));
        if (kept && model_.round_is[r] == shield::round_kind::over) expect_end(r, flushing, others + (m.flag ? 1 : 0));
        return take_ticket(m.w, here && model_.has[m.w] == 0);
      }
      case main::kind::close:
        return close_round(m.flag);
      case main::kind::change:
        return check(shield::switch_to(model_, m.to));
      case main::kind::refusal:
        return take_ticket(m.w, false);
    }
  }
  void close_round(bool flush) {
    if (!model_.filled) return;
    const place r = model_.current;
    const std::uint32_t n = waiting_in(r);
    const place next = taken_from(free_rounds_, [&] {
      round_numbers_.push_back(0);
      return model_.add_R();
    });
    round_numbers_[next] = round_numbers_[r] + 1;
    check(shield::close(model_, flush, next));
    if (model_.round_is[r] == shield::round_kind::over) expect_end(r, flush, n);
  }
  void expect_end(place r, bool flush, std::uint32_t n) {
    if (end_.has_value()) fail("a round ended unnoticed");
    end_ = {round_numbers_[r], flush && n > 0, n};
    gone_rounds_.push_back(r);
  }
  void round_is_over(std::uint64_t round, bool flushed, std::uint32_t n) {
    if (!wrong.empty()) return;
    if (!end_.has_value()) !asked_&& next_ < mains_ ? run(main_[next_++]) : apply_close();
    if (!end_.has_value() || end_->number != round || end_->flushed != flushed || end_->n != n)
      return fail("round " + std::to_string(round) + (flushed ? " was flushed" : " was discarded") + " with " +
                  std::to_string(n) + " gradients");
    end_.reset();
  }

  void seats() {
    for (place w = 0; w < model_.size_W; ++w)
      if (is(w) == shield::state_kind::joining && worker(w).state != rubato::worker_state::joining)
        check(shield::seat(model_, w));
  }
  // What became of the exclusion and the readmission in the latest answer.
  void membership() {
    const place away = answer_.has_value() ? answer_->exclude : nobody;
    if (away < model_.size_W && model_.excluded[away] == 0 && worker(away).excluded)
      check(shield::exclude(model_, away, number(real_.workers().clock().minimum())));
    for (place w = 0; w < model_.size_W; ++w)
      if (model_.excluded[w] != 0 && !worker(w).excluded) check(shield::readmit(model_, w));
  }
  void apply_close() {
    if (answer_.has_value() && std::exchange(answer_->flushes, false)) close_round(true);
  }
  void apply_answer() {
    apply_close();
    if (answer_.has_value() && std::exchange(answer_->rebases, false))
      check(shield::rebase(model_, number(answer_->rebase_bound), bound_after_));
  }
  void rescue() {
    if (model_.phase != shield::phase_kind::asking) return;
    place back = 0;
    for (place w = 0; w < model_.size_W && !counts(w); ++w)
      if (model_.excluded[w] != 0 && !worker(w).excluded) back = w;
    const auto before = model_.excluded[back];
    judge(shield::rescue(model_, back));
    events += model_.excluded[back] != before;
  }
  // As rescue(), an event only where it does something: both stand at the end of every group.
  void finish(place w) {
    const shield::state_kind before = is(w);
    judge(shield::finish(model_, w));
    events += is(w) != before;
  }
  void end_group() {
    if (!asked_) return;
    apply_answer();
    rescue();
    if (model_.phase == shield::phase_kind::guarding) finish(0);
    asked_ = false;
    answer_.reset();
  }

  // A worker was released, with ticket t or, if that is nobody, with none.
  void freed(place w, ticket t) {
    if (t != nobody) gone_tickets_.push_back(t);
    if (!wrong.empty()) return;
    const bool ran = is(w) == shield::state_kind::running;
    follow(w, t);
    if (!ran && is(w) == shield::state_kind::running) started_[w] = ++starts_;
  }
  void follow(place w, ticket t) {
    if (given_ == t && !settled_ && next_ == mains_ && !forces_) {  // the ticket of this call, at once
      settled_ = true;
      return check(is(w) == shield::state_kind::running ? reply(model_, w, t, true) : give(model_, w, t));
    }
    apply_answer();  // none where the call before left this release over
    const bool has = model_.has[w] != 0;
    if (has != (t != nobody) || (has && model_.ticket[w] != t)) return fail("a release with another ticket");
    const std::uint64_t forced = real_.counts().total(rubato::reason::liveness);
    if (std::exchange(forced_before_, forced) == forced) return check(shield::release(model_, w));
    if (!forces_) {
      rescue();
      return finish(w);
    }
    if (model_.excluded[w] != 0) check(shield::readmit(model_, w));
    check(shield::host_release(model_, w));
  }

  void compare() {
    if (!wrong.empty()) return;
    const rubato::roster& all = real_.workers();
    for (place w = 0; w < model_.size_W; ++w) {
      const rubato::worker_record& r = all[w];
      const auto state = static_cast<shield::state_kind>((std::min)(r.state, rubato::worker_state::left));
      if (state != is(w) || r.excluded != (model_.excluded[w] != 0) ||
          number(all.clock().clock(w)) != model_.clock[w] ||
          (r.doomed != rubato::reason::none) != (model_.doomed[w] != 0) || all.counted(w) != counts(w))
        return fail("worker " + std::to_string(w) + " differs: " + std::string{name(r.state)} +
                    (r.excluded ? ", excluded" : "") + ", clock " + std::to_string(all.clock().clock(w)) +
                    ", expected state " + std::to_string(static_cast<int>(is(w))) + ", clock " +
                    std::to_string(model_.clock[w]));
    }
    if (number(all.clock().minimum()) != model_.m)
      fail("the minimum is " + std::to_string(all.clock().minimum()) + ", expected " + std::to_string(model_.m));
    if (real_.pending() != waiting_in(model_.current)) fail("pending() differs");
  }

  void end() {
    end_group();
    while (next_ < mains_) run(main_[next_++]);
    if (model_.phase != shield::phase_kind::idle) fail("the policy was not asked");
    if (end_.has_value()) fail("a round that was over was neither flushed nor discarded");
    if (given_.has_value() && !settled_) fail("a ticket was lost");
    std::sort(abandoned_.begin(), abandoned_.end());
    std::sort(to_abandon_.begin(), to_abandon_.end());
    if (abandoned_ != to_abandon_) fail("other tickets were abandoned than expected");
    compare();
    if (wrong.empty()) recycle();
  }
  // What has ended makes room for something else.
  void recycle() {
    for (const ticket t : gone_tickets_) model_.begin_T(t), free_tickets_.push_back(t);
    gone_tickets_.clear();
    for (place g = 0; g < model_.size_G; ++g)
      if (model_.ends[g] > 0) model_.begin_G(g), free_gradients_.push_back(g);
    for (const place r : gone_rounds_) model_.begin_R(r), free_rounds_.push_back(r);
    gone_rounds_.clear();
  }

  controller real_;
  shield::model model_;
  std::vector<place> free_gradients_, free_tickets_, free_rounds_;
  std::vector<std::uint64_t> round_numbers_;
  bool parks_on_pull_;

  const char* call_ = "";
  std::array<main, 3> main_{};
  std::size_t mains_ = 0, next_ = 0;
  bool asked_ = false, may_be_asked_ = false, forces_ = false, settled_ = false, completes_ = false;
  std::optional<rubato::decision> answer_;
  integer bound_after_ = 0;
  std::optional<round_end> end_;
  std::optional<ticket> given_;
  std::vector<ticket> abandoned_, to_abandon_, gone_tickets_;
  std::vector<place> gone_rounds_;
  std::uint64_t forced_before_ = 0;
  std::vector<std::uint64_t> started_;
  std::uint64_t starts_ = 0;
};

}  // namespace proof

#endif
