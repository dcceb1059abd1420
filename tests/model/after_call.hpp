#ifndef RUBATO_TESTS_MODEL_AFTER_CALL_HPP
#define RUBATO_TESTS_MODEL_AFTER_CALL_HPP

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "../support/promises.hpp"
#include "world.hpp"

namespace rubato::test::model {

/// Numbers from before a call.
struct picture {
  std::uint64_t updates = 0, version = 0, open_round = 0;
  clock_type minimum = 0;
  std::uint32_t counted = 0;
};
[[nodiscard]] inline picture picture_of(const world& w) {
  const vector_clock& clock = w.workers().clock();
  return {.updates = w.control.updates(),
          .version = w.control.version(),
          .open_round = inside::rounds(w.control).open_round(),
          .minimum = clock.minimum(),
          .counted = clock.size()};
}

/// What holds after every call, whichever it was.
class after_call {
 public:
  /// A call that was made, what was before it, and how many workers it cancelled.
  after_call(const plan& p, world& w, const picture& before, const action& done, std::uint32_t cancelled)
      : plan_{p}, w_{w}, all_{w.workers()}, before_{before}, done_{done}, cancelled_{cancelled} {}

  /// The first that does not hold; empty if all do.
  [[nodiscard]] std::string broken_promise() {
    const double deadline = w_.control.next_deadline();
    if (std::string broken = test::broken_promise(all_, deadline, plan_.in.guarded); !broken.empty()) return broken;
    const bool waiting = all_.busy() == 0 && all_.in(worker_state::parked) > 0;
    if (done_.what == act::poll && deadline > w_.now && waiting) fail("a poll at the deadline lets nobody go");
    if (!plan_.of.is.arbitrary && w_.control.counts().overrides() > 0) fail("the guard had to step in");
    look_at_seats();
    look_at_updates();
    if (cancelled_ > 0 && plan_.in.guarded) look_at_cancellations();
    follow_waits();
    return problem_ == nullptr ? std::string{} : std::string{problem_};
  }

 private:
  void fail(const char* what) {
    if (problem_ == nullptr) problem_ = what;
  }
  [[nodiscard]] clock_type lead(std::uint32_t w) const { return all_.clock().clock(w) - all_.clock().minimum(); }

  void look_at_seats() {
    const bool settled = w_.control.next_deadline() > w_.now;
    const clock_type floor = inside::residue(w_.control).has_value() ? 0 : inside::progress(w_.control).parked_floor;
    for (std::uint32_t w = 0; w < plan_.in.workers; ++w) {
      seat& s = w_.seats[w];
      const worker_record& r = all_[w];
      if (r.excluded && r.state == worker_state::parked) s.free = false;  // an exclusion takes that back
      const std::optional<std::uint32_t>& ticket = inside::tickets(w_.control)[w];
      if (ticket.value_or(0) != s.ticket) fail("a ticket was lost, or is not the latest");
      if (s.here != (roster::is_member(r.state) || r.state == worker_state::joining)) fail("membership");
      if (s.here && r.incarnation != s.life) fail("incarnation");
      if (s.computes != (r.state == worker_state::running)) fail("who runs");
      if (s.free != (r.state == worker_state::released)) fail("who is free to go");
      if (s.free && s.ticket != 0) fail("who is free to go has a ticket, and does not run");
      if (s.out != (inside::out(w_.control)[w].serial != 0)) fail("an admission is out that is not known");
      if (r.linked && all_.clock().clock(w) < floor) fail("a parked worker is below the lowest clock of the parked");
      if (r.withheld && all_.counted(w) && settled && lead(w) <= plan_.bound(w_.control.policy()))
        fail("who was withheld for the bound does not go when the bound allows it");
    }
  }

  void look_at_updates() {
    const std::uint64_t open = inside::rounds(w_.control).open_round();
    std::uint64_t waiting = 0;
    for (std::uint32_t w = 0; w < plan_.in.workers; ++w)
      if (w_.seats[w].out && w_.seats[w].work.what.what == verdict::apply) ++waiting;
    for (const round_account& a : w_.rounds) {
      if (a.number == worker_record::no_round || a.number >= open) continue;
      if (a.out == 0) fail("a round is complete and was neither flushed nor discarded");
      if (!a.to_discard) ++waiting;
    }
    if (w_.control.updates() - w_.control.version() != waiting)
      fail("updates that were decided and are not in: others than are out");
    const round_account& now = w_.account(open);
    if (w_.control.pending() != (now.number == open ? now.added : 0)) fail("pending() against what was added");
    std::uint64_t decided = open - before_.open_round;
    if (done_.what == act::switch_discard && decided > 0) --decided;
    const bool admits = done_.what == act::admit || done_.what == act::admit_nan || done_.what == act::push;
    if (admits && w_.seats[done_.worker].work.what.what == verdict::apply) ++decided;
    if (w_.control.updates() - before_.updates != decided) fail("the number of updates decided");
    if (w_.control.version() < before_.version) fail("the version fell");
  }

  void look_at_cancellations() {
    if (!std::exchange(w_.useful, false)) fail("cancelled twice without a push in between");
    bool somebody = all_.in(worker_state::admitted) + all_.in(worker_state::released) > 0;
    for (std::uint32_t w = 0; w < plan_.in.workers; ++w)
      somebody |= all_.counted(w) && all_[w].state == worker_state::running && !w_.seats[w].cancelled;
    if (!somebody) fail("everybody who is busy was cancelled");
  }

  // How long the parked have waited, in steps of the slowest, since the last time that something else than steps was.
  void follow_waits() {
    const bool steps = done_.what == act::push || done_.what == act::commit;
    const bool quiet = steps || done_.what == act::admit || done_.what == act::poll || done_.what == act::pull ||
                       done_.what == act::repeat || done_.what == act::pass;
    for (std::uint32_t w = 0; w < plan_.in.workers; ++w) {
      seat& s = w_.seats[w];
      const double legal = w_.control.policy().max_legal_wait(w);
      const bool waits = all_[w].state == worker_state::parked && all_.counted(w);
      if (!waits || !quiet || plan_.of.is.arbitrary || std::isinf(legal)) {
        s.waited = 0;
        continue;
      }
      if (steps && all_.clock().minimum() > before_.minimum) ++s.waited;
      if (s.waited > legal) fail("a longer wait than the policy states");
    }
  }

  const plan& plan_;
  world& w_;
  const roster& all_;
  const picture& before_;
  const action& done_;
  std::uint32_t cancelled_;
  const char* problem_ = nullptr;
};

}  // namespace rubato::test::model

#endif
