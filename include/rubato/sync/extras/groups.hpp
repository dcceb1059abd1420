#ifndef RUBATO_SYNC_EXTRAS_GROUPS_HPP
#define RUBATO_SYNC_EXTRAS_GROUPS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../../core/index_list.hpp"
#include "../../dynarray.hpp"
#include "../../pinned.hpp"
#include "../controller.hpp"

namespace rubato::inline RUBATO_ABI {

/// Several groups of parameters under rules of their own, say embeddings under ssp and dense layers under bsp, with the
/// same workers.
///
/// A step of a worker is one push to each group, in any order (an empty one, of 0 samples, where it has nothing for a
/// group). Each group decides for itself; the worker starts its next step when all of them have released it and it has
/// asked for it by pull(). Each group's guard sees its own group only: of two workers, one may be held by the first
/// group until the other has pushed, and that one by the second group until the first has. So, after every call: if
/// nobody is in a step in any group, no gradient is admitted and not committed, no deadline is set and no pull is
/// awaited of a worker that is free to go, then the worker that has been idle longest is released by every group that
/// holds it, whatever rule and bound say, with the terms of its policy's latest answer. It is one that no group
/// excludes, if there is one.
///
/// Hosts have to poll() at next_deadline(), also those whose single controllers do without: while groups wait for a
/// deadline, as knee and aap set them, nobody may be in a step, and no other call come. They wait, and free nobody,
/// because whom a rule releases then is its own choice.
///
/// A sink is an object with
///
///     release(Ticket&&, worker_id, std::span<const grant>)   it may start; one grant for each group, in their order
///     flush(group, round, scale, n), discard(group, round, n)   as for a controller; needed where policies may admit
///     cancel(group, worker_id)                               optional
///     abandon(Ticket&&, worker_id, reason)                   optional, but see sink.hpp
///
/// Invariant  while a worker is a member, somebody is in a step, or free to start one, or a gradient is out, or a
///            deadline is set.
/// Ticket  the means to answer one waiting worker, given to pull(); each is released once or abandoned once.
/// Cost    those of the controllers, and O(groups) a call and a release; O(idle workers x groups) while nobody is in a
///         step. No allocation after construction. Not thread-safe: as a controller.
/// Errors  by value, as a controller's. A refusal has changed nothing in any group.
/// Tests   tests/extras/groups_test.cpp: WithoutThemTwoRulesHang, FreesTheLongestIdleWhenRulesWaitForEachOther,
///         ReleasedByAllBeforeItStarts, FreesBeyondTheBound, PrefersAWorkerThatNoGroupExcludes, ADeadlineIsWaitedFor,
///         GroupsThatWaitForEachOtherWaitForADeadlineAsWell, StepsBeginWhenTheLastGroupLetsGo,
///         SomebodyAlwaysRunsUnderAnyPairOfPolicies, RefusesBadOptions;
///         tests/properties/no_allocation_test.cpp: ScoresAndGroupsAfterConstruction
template <SyncPolicy Policy, class Ticket, Observer Watcher = no_observer>
class groups {
  struct pass {};  // ticket of the controllers: those who wait, wait here

 public:
  using member = controller<Policy, pass, Watcher>;  ///< one group

  /// What is wrong with these options and policies, as a sentence; empty if nothing is.
  [[nodiscard]] static std::string problem(const controller_options& o, std::span<const Policy> policies) {
    if (policies.empty()) return "there is no group: expected at least one policy";
    for (const Policy& policy : policies)
      if (std::string wrong = rubato::problem(o, policy); !wrong.empty()) return wrong;
    return {};
  }

  /// Groups, where options come from outside and may be wrong.
  /// Errors  invalid_option, with what problem(options, policies) says
  [[nodiscard]] static result<groups> make(const controller_options& o, std::vector<Policy> policies,
                                           const Watcher& watcher = {}) {
    if (std::string wrong = problem(o, policies); !wrong.empty()) return error{errc::invalid_option, std::move(wrong)};
    return groups{o, std::move(policies), watcher};
  }
  /// One group for each policy. The options are those of every group; `park` makes no difference. Each group has a copy
  /// of the observer.
  /// Precondition: problem(options, policies) is empty.
  groups(controller_options o, std::vector<Policy> policies, const Watcher& watcher = {})
      : places_(o.capacity), terms_(o.capacity * policies.size()), counters_{o.capacity}, idle_links_(o.capacity),
        free_links_(o.capacity) {
    RUBATO_ASSERT(problem(o, policies).empty(), "groups or their options out of range");
    o.park = park_on::pull;
    groups_.reserve(policies.size());
    for (Policy& policy : policies) groups_.emplace_back(o, std::move(policy), watcher);
  }

  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(groups_.size()); }  ///< groups
  /// A group, to read from. Precondition: group < size().
  [[nodiscard]] const member& operator[](std::uint32_t group) const noexcept { return groups_[group]; }
  [[nodiscard]] Watcher& watcher(std::uint32_t group) noexcept { return groups_[group].watcher(); }  ///< of a group
  /// What happened to pulls, and as `liveness` how often a worker was freed because groups waited for each other. The
  /// rest is in the counters of the groups.
  [[nodiscard]] const counters& counts() const noexcept { return counters_; }

  /// A worker comes, or comes back with a higher incarnation, in every group. It pulls to be told when it may start.
  template <class Host>
  errc join(worker_id who, double now, Host&& host) {
    const worker_id before = who.index < capacity() ? roster_of(0).id(who.index) : worker_id{};
    const errc code = forward(host, [&](member& g, auto&& sink) { return g.join(who, now, std::nullopt, sink); });
    if (code == errc::ok) {
      give_back(before, reason::departed_worker, host);
      stay_idle(who.index);
    }
    settle(now, host);
    return code;
  }

  /// A worker goes, from every group: `why` is leave, death or done.
  template <class Host>
  errc depart(worker_id who, double now, cause why, Host&& host) {
    const errc code = forward(host, [&](member& g, auto&& sink) { return g.depart(who, now, why, sink); });
    if (code == errc::ok) {
      give_back(who, reason::departed_worker, host);
      set_idle(who.index, false);
    }
    settle(now, host);
    return code;
  }

  /// A gradient for this group has arrived. Every answer is to be committed once, to the same group.
  [[nodiscard]] admitted admit(std::uint32_t group, const push_event& push) { return groups_[group].admit(push); }

  /// The host has done what a verdict of this group said.
  template <class Host>
  errc commit(std::uint32_t group, const token& work, double now, outcome how, Host&& host) {
    const errc code = groups_[group].commit(work, now, how, std::nullopt, sink_of(group, host));
    const std::uint32_t w = work.worker.index;
    if (w < capacity() && roster_of(0).id(w) == work.worker && is_member(w) && !places_[w].idle && !in_a_step(w))
      stay_idle(w);
    settle(now, host);
    return code;
  }

  /// admit() and commit() in one.
  template <class Host>
  errc push(std::uint32_t group, const push_event& event, Host&& host) {
    return commit(group, admit(group, event).work, event.now, outcome::done, host);
  }

  /// A worker asks for its next step, and is answered when every group has released it: at once, or later.
  template <class Host>
  errc pull(worker_id who, double now, Ticket ticket, Host&& host) {
    const reason bad = pinned::is_finite(now) ? stranger(who) : reason::invalid_time;
    if (bad != reason::none) {
      counters_.add(bad, who.index);
      abandon(std::move(ticket), who, bad, host);
      return error_of(bad);
    }
    place& p = places_[who.index];
    if (everywhere(who.index, worker_state::running)) {  // asked before: told its terms again
      counters_.add(reason::repeated, who.index);
      host.release(std::move(ticket), who, terms_of(who.index));
      return errc::repeated;
    }
    const bool waits = p.ticket.has_value();
    if (waits) counters_.add(reason::replaced, who.index);
    give_back(who, reason::replaced, host);
    p.ticket = std::move(ticket);
    note_free(who.index);
    settle(now, host);
    return waits ? errc::repeated : errc::ok;
  }

  /// When poll() is needed: the earliest of the groups' wishes; it may be past.
  [[nodiscard]] double next_deadline() const noexcept {
    double earliest = std::numeric_limits<double>::infinity();
    for (const member& g : groups_) earliest = (std::min)(earliest, g.next_deadline());
    return earliest;
  }

  /// Does what is due by now, in every group.
  template <class Host>
  void poll(double now, Host&& host) {
    for (std::uint32_t g = 0; g < size(); ++g) groups_[g].poll(now, sink_of(g, host));
    settle(now, host);
  }

  /// How many must have joined before anybody runs, in every group.
  template <class Host>
  errc set_quorum(std::uint32_t quorum, double now, Host&& host) {
    const errc code = forward(host, [&](member& g, auto&& sink) { return g.set_quorum(quorum, now, sink); });
    settle(now, host);
    return code;
  }

  /// Puts another policy in charge of one group.
  template <class Host>
  errc switch_to(std::uint32_t group, Policy policy, double now, pending_gradients waiting, Host&& host) {
    const errc code = groups_[group].switch_to(std::move(policy), now, waiting, sink_of(group, host));
    settle(now, host);
    return code;
  }

 private:
  struct place {
    std::optional<Ticket> ticket{};
    bool idle = false;  // joined and in no step
    bool free = false;  // in the queue of those who may start now
  };

  template <class Host>
  struct effects {
    groups& self;
    Host& host;
    std::uint32_t group;

    void release(pass, worker_id worker, const grant& terms) const {
      self.terms_[std::size_t{worker.index} * self.size() + group] = terms;
    }
    void ready(worker_id worker) const { self.note_free(worker.index); }
    void flush(std::uint64_t round, float scale, std::uint32_t n) const
      requires requires { host.flush(group, round, scale, n); }
    {
      host.flush(group, round, scale, n);
    }
    void discard(std::uint64_t round, std::uint32_t n) const
      requires requires { host.discard(group, round, n); }
    {
      host.discard(group, round, n);
    }
    void cancel(worker_id worker) const {
      if constexpr (requires { host.cancel(group, worker); }) host.cancel(group, worker);
    }
  };

  template <class Host>
  [[nodiscard]] effects<Host> sink_of(std::uint32_t group, Host& host) noexcept {
    return {*this, host, group};
  }

  // A call for every group. Memberships are equal, so the first one's refusal is that of all.
  template <class Host, class Call>
  errc forward(Host& host, Call&& call) {
    const errc code = call(groups_[0], sink_of(0, host));
    for (std::uint32_t g = 1; g < size() && (code == errc::ok || code == errc::repeated); ++g)
      static_cast<void>(call(groups_[g], sink_of(g, host)));
    return code;
  }

  [[nodiscard]] std::uint32_t capacity() const noexcept { return static_cast<std::uint32_t>(places_.size()); }
  [[nodiscard]] const roster& roster_of(std::uint32_t group) const noexcept { return groups_[group].workers(); }
  [[nodiscard]] std::span<const grant> terms_of(std::uint32_t worker) const noexcept {
    return std::span{terms_}.subspan(std::size_t{worker} * size(), size());
  }

  [[nodiscard]] reason stranger(worker_id who) const noexcept {
    if (who.index >= capacity() || roster_of(0)[who.index].state == worker_state::absent) return reason::unknown_worker;
    if (who.incarnation != roster_of(0)[who.index].incarnation) return reason::old_incarnation;
    return roster::is_gone(roster_of(0)[who.index].state) ? reason::departed_worker : reason::none;
  }

  template <class Condition>
  [[nodiscard]] bool every(Condition&& holds) const noexcept {
    return std::all_of(groups_.begin(), groups_.end(), [&](const member& g) { return holds(g.workers()); });
  }
  [[nodiscard]] bool everywhere(std::uint32_t worker, worker_state state) const noexcept {
    return every([&](const roster& all) { return all[worker].state == state; });
  }
  [[nodiscard]] bool is_member(std::uint32_t worker) const noexcept {
    return every([&](const roster& all) { return roster::is_member(all[worker].state); });
  }
  [[nodiscard]] bool in_a_step(std::uint32_t worker) const noexcept {
    return !every([&](const roster& all) {
      return all[worker].state != worker_state::running && all[worker].state != worker_state::admitted;
    });
  }

  template <class Host>
  void abandon(Ticket&& ticket, worker_id who, reason why, Host& host) {
    if constexpr (requires { host.abandon(std::move(ticket), who, why); }) host.abandon(std::move(ticket), who, why);
  }
  template <class Host>
  void give_back(worker_id who, reason why, Host& host) {
    if (who.index >= capacity()) return;
    if (auto ticket = std::exchange(places_[who.index].ticket, std::nullopt))
      abandon(std::move(*ticket), who, why, host);
  }

  // The back of the idle list is who has been idle for the shortest time.
  void stay_idle(std::uint32_t worker) noexcept {
    set_idle(worker, false);
    set_idle(worker, true);
  }
  void set_idle(std::uint32_t worker, bool idle) noexcept {
    if (std::exchange(places_[worker].idle, idle) == idle) return;
    if (idle)
      idle_.push_back(worker, idle_links_);
    else
      idle_.erase(worker, idle_links_);
  }
  void set_free(std::uint32_t worker, bool free) noexcept {
    if (std::exchange(places_[worker].free, free) == free) return;
    if (free)
      free_.push_back(worker, free_links_);
    else
      free_.erase(worker, free_links_);
  }
  void note_free(std::uint32_t worker) noexcept {
    if (everywhere(worker, worker_state::released)) set_free(worker, true);
  }

  // Starts those who are free to go and have asked for it, and sees to it that somebody runs.
  template <class Host>
  void settle(double now, Host& host) {
    if (!pinned::is_finite(now)) return;  // that call was refused
    start_the_free(now, host);
    const std::uint32_t worker = stuck();
    if (worker == no_worker) return;
    counters_.add(reason::liveness, worker);
    const worker_id who = roster_of(0).id(worker);
    for (std::uint32_t g = 0; g < size(); ++g) static_cast<void>(groups_[g].force_release(who, now, sink_of(g, host)));
    start_the_free(now, host);
  }

  template <class Host>
  void start_the_free(double now, Host& host) {
    while (free_.size > 0) {
      const std::uint32_t w = free_.front;
      set_free(w, false);
      if (!places_[w].ticket.has_value() || !everywhere(w, worker_state::released)) continue;
      const worker_id who = roster_of(0).id(w);
      // Answered at once, since it is released.
      for (std::uint32_t g = 0; g < size(); ++g) static_cast<void>(groups_[g].pull(who, now, pass{}, sink_of(g, host)));
      set_idle(w, false);
      Ticket ticket = std::move(*places_[w].ticket);
      places_[w].ticket.reset();
      host.release(std::move(ticket), who, terms_of(w));
    }
  }

  // Whom to free because nothing will happen otherwise; no_worker if something will.
  [[nodiscard]] std::uint32_t stuck() const noexcept {
    if (idle_.size == 0) return no_worker;
    for (const member& g : groups_) {
      const roster& all = g.workers();
      if (all.in(worker_state::running) + all.in(worker_state::admitted) > 0) return no_worker;
      if (g.next_deadline() < std::numeric_limits<double>::infinity()) return no_worker;
    }
    std::uint32_t longest = no_worker;
    std::uint32_t longest_counted = no_worker;
    for (std::uint32_t w = idle_.front; w != no_worker; w = idle_links_[w].after) {
      if (!is_member(w)) continue;
      if (everywhere(w, worker_state::released)) return no_worker;  // its pull is awaited
      if (longest == no_worker) longest = w;
      if (longest_counted == no_worker && every([&](const roster& all) { return all.counted(w); })) longest_counted = w;
    }
    return longest_counted != no_worker ? longest_counted : longest;
  }

  std::vector<member> groups_;
  std::vector<place> places_;
  std::vector<grant> terms_;  // of the step that a worker is in: one for each group
  counters counters_;
  detail::dynarray<index_link> idle_links_, free_links_;
  index_list idle_;
  index_list free_;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
