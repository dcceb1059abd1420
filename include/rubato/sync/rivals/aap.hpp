#ifndef RUBATO_SYNC_RIVALS_AAP_HPP
#define RUBATO_SYNC_RIVALS_AAP_HPP

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "../../core/number_text.hpp"
#include "../../dynarray.hpp"
#include "../concepts.hpp"
#include "wording.hpp"
#include "worker_heap.hpp"

namespace rubato::inline RUBATO_ABI {

/// Adaptive asynchronous parallel: each worker waits after its step until enough has come from the others, but no
/// longer than that is expected to take (its delay stretch).
///
/// What comes from the others are their updates since it last read the parameters: waiting makes its next step fresher.
/// With eta of them there when a step ends, arriving at the rate s = eta / duration of the step, the worker waits for
/// L = max(eta, floor) + s x fraction x its usual step time of them, and at most (L - eta) / s. Where nothing has come
/// (eta = 0) no time is estimated, and it waits for L. Who is more than `staleness` steps ahead of the slowest waits
/// for that too; and when nobody computes any more, nothing will come: all who are within the bound go on.
///
/// floor = 0 and fraction = 0 wait for nothing: this is asp, or ssp with a staleness; floor = unbounded waits for
/// everybody: this is bsp (sum). Where several may go on while others may not, one goes at the event and the rest by
/// deadlines of at once, so hosts have to poll(). Whose place guard.max_wait gives to another goes at the next event. A
/// load or a switch lets all go who are within the bound; nothing is saved. The stretch is fixed at the end of a step;
/// GRAPE+ takes it anew at each message, and holds whoever has got none, whatever the floor. Every gradient is applied
/// as it arrives.
/// Options  floor: updates; fraction: of the usual step time; staleness: steps
/// Cost     O(1) for a push while nobody else waits; else O(log workers) for each worker that begins or ceases to wait,
///          and O(waiting) where all who are within the bound go. O(workers) for a switch. Allocates in resize only, 72
///          bytes per worker. Not thread-safe.
/// Tests    tests/sync/rivals/aap_test.cpp: StretchByHand, WaitsForTheUpdatesOfOthers, OrForTheDeadline,
///          NothingWillComeSoAllGo, WhoMayGoOnGoesByPolls, KeepsTheBound, WhoWasBeyondTheBoundGoesOnceItMay,
///          SwitchingToItFreesWhoeverWaits, ALoadFreesWhoeverWaits, WhosePlaceIsGivenAwayIsNotForgotten,
///          AgreesWithALookAtEverybody, CostsNoMoreWithManyWorkers;
///          tests/properties/identities_test.cpp: AapIsAspSspOrBspAtItsEnds
/// Source   Fan et al., "Adaptive Asynchronous Parallelization of Graph Algorithms", SIGMOD 2018
struct aap {
  std::uint64_t floor = 1;           ///< updates of others to wait for, at least; `unbounded`: all
  double fraction = 0.0;             ///< of the usual step time, for which more of them are waited for
  clock_type staleness = unbounded;  ///< steps

  /// What a worker waits for.
  struct stretch {
    std::uint64_t updates = 0;                              ///< of others, from now on
    double time = std::numeric_limits<double>::infinity();  ///< at most
  };

  /// For a worker of which a step of this duration, usually of that one, has ended with so many updates by others.
  [[nodiscard]] stretch stretch_of(std::uint64_t eta, double duration, double usual) const noexcept {
    const std::uint64_t missing = floor > eta ? floor - eta : 0;
    if (eta == 0 || !(duration > 0.0)) return {.updates = missing};
    const double rate = static_cast<double>(eta) / duration;
    const double more = std::ceil(static_cast<double>(missing) + rate * fraction * usual);
    const double time = static_cast<double>(missing) / rate + fraction * usual;
    constexpr double many = 9e18;  // the largest that fits
    return {.updates = floor == unbounded || !(more < many) ? unbounded : static_cast<std::uint64_t>(more),
            .time = floor == unbounded ? std::numeric_limits<double>::infinity() : time};
  }

  void resize(std::uint32_t capacity) {
    wishes = detail::dynarray<wish>(capacity);
    for (detail::worker_heap* each : {&ahead, &by_updates, &by_deadline, &due, &named}) each->resize(capacity);
  }
  void reset(std::uint32_t worker) noexcept { forget(worker); }

  [[nodiscard]] decision release(const cluster_view& view, const event& what) noexcept {
    const bool alone = view.parked() == 1;
    switch (what.why) {
      case cause::push: {
        const stretch s = stretch_of(what.staleness, static_cast<double>(view.step_time_of_submitter()),
                                     static_cast<double>(view.step_time_of(what.worker)));
        forget(what.worker);
        const bool may_go = s.updates == 0 || !(s.time > 0.0);
        if (alone && may_go && view.clock_of_submitter() <= furthest(view))
          return decision::submitter().with_wake_at(never);
        wait(view, what.worker,
             {.updates = saturating_add(view.updates(), s.updates), .deadline = view.now() + s.time});
        break;
      }
      case cause::join:
        forget(what.worker);
        wait(view, what.worker, {.updates = view.updates(), .deadline = view.now()});
        break;
      case cause::leave:
      case cause::done:
      case cause::death:
        if (what.worker < wishes.size()) forget(what.worker);
        break;
      case cause::enter: return enter(view);
      default: break;
    }
    go_on(view);
    return view.busy() == 0 ? all_within_the_bound(view) : next_of_those_due(view);
  }

  /// Who starts waits no longer. If the rule had not named it, it may have taken the place of one whom it had.
  void shape(const cluster_view&, std::uint32_t worker, grant&) noexcept {
    const bool unexpected = waits(worker);
    forget(worker);
    while (unexpected && named.size() > 0) {
      const std::uint32_t again = named.front();
      named.remove(again, by_index);
      due.add(again, by_index);
    }
  }

  /// Does the rule know that this worker waits, or may wait?
  [[nodiscard]] bool waits(std::uint32_t worker) const noexcept {
    return by_deadline.has(worker) || ahead.has(worker) || due.has(worker);
  }

  [[nodiscard]] constexpr clock_type clock_bound() const noexcept { return staleness; }
  /// A wait for updates has a limit in time, not in steps.
  [[nodiscard]] constexpr double max_legal_wait(std::uint32_t) const noexcept {
    if (floor != 0 || fraction != 0.0) return never;
    return staleness == unbounded ? 0.0 : 1.0;
  }
  [[nodiscard]] std::string problem(std::uint32_t) const {
    return detail::unless_from_0("fraction", fraction);
  }
  [[nodiscard]] description describe() const {
    const auto number = [](std::uint64_t n, const char* none) { return n == unbounded ? none : std::to_string(n); };
    return {detail::sentence_of("aap: each worker waits for ", number(floor, "all"), " updates of others, plus ",
                                detail::text_of(fraction), " step times of them, within a staleness of ",
                                number(staleness, "any")),
            detail::sentence_of(R"({"kind":"aap","floor":)", number(floor, "null"), R"(,"fraction":)",
                                detail::text_of(fraction), R"(,"staleness":)", number(staleness, "null"), "}")};
  }

  static constexpr std::string_view kind = "aap";

 private:
  struct wish {
    std::uint64_t updates = 0;  // go on when there are so many
    double deadline = 0.0;      // or when it is that late
    clock_type clock = 0;
    std::uint64_t farewell = 0;  // how often all had gone when it began to wait
  };

 public:
  // State. Whoever waits is in one of ahead, by_deadline (and by_updates) and due.
  detail::dynarray<wish> wishes{};    ///< state, as all below: what each worker waits for
  detail::worker_heap ahead{};        ///< those beyond the bound, by clock
  detail::worker_heap by_updates{};   ///< those who wait for updates or a deadline
  detail::worker_heap by_deadline{};  ///< the same
  detail::worker_heap due{};          ///< those who may go on
  detail::worker_heap named{};        ///< those whom the rule has let go, until they start
  std::uint64_t farewells = 0;        ///< how often all within the bound were let go

 private:
  static constexpr auto by_index = [](std::uint32_t a, std::uint32_t b) noexcept { return a < b; };
  [[nodiscard]] auto by_clock() const noexcept {
    return [this](std::uint32_t a, std::uint32_t b) noexcept { return wishes[a].clock < wishes[b].clock; };
  }
  [[nodiscard]] auto by_wanted_updates() const noexcept {
    return [this](std::uint32_t a, std::uint32_t b) noexcept { return wishes[a].updates < wishes[b].updates; };
  }
  [[nodiscard]] auto by_time() const noexcept {
    return [this](std::uint32_t a, std::uint32_t b) noexcept { return wishes[a].deadline < wishes[b].deadline; };
  }

  [[nodiscard]] clock_type furthest(const cluster_view& view) const noexcept {
    return saturating_add(view.minimum_clock(), staleness);
  }

  void forget(std::uint32_t w) noexcept {
    if (ahead.has(w)) ahead.remove(w, by_clock());
    if (due.has(w)) due.remove(w, by_index);
    if (named.has(w)) named.remove(w, by_index);
    if (by_deadline.has(w)) leave_wait(w);
  }
  void leave_wait(std::uint32_t w) noexcept {
    by_deadline.remove(w, by_time());
    by_updates.remove(w, by_wanted_updates());
  }

  // From now on the worker waits; go_on() finds out for what.
  void wait(const cluster_view& view, std::uint32_t w, const wish& what) noexcept {
    wishes[w] = what;
    wishes[w].clock = view.clock_of(w);
    wishes[w].farewell = farewells;
    ahead.add(w, by_clock());
  }

  // Whoever has come within the bound waits for its wish, and whoever's wish is fulfilled may go. Who was further ahead
  // when all others were let go may go as soon as the bound lets it.
  void go_on(const cluster_view& view) noexcept {
    while (ahead.size() > 0 && wishes[ahead.front()].clock <= furthest(view)) {
      const std::uint32_t w = ahead.front();
      ahead.remove(w, by_clock());
      if (wishes[w].farewell != farewells) {
        due.add(w, by_index);
      } else {
        by_deadline.add(w, by_time());
        by_updates.add(w, by_wanted_updates());
      }
    }
    while (by_updates.size() > 0 && wishes[by_updates.front()].updates <= view.updates()) fulfil(by_updates.front());
    while (by_deadline.size() > 0 && wishes[by_deadline.front()].deadline <= view.now()) fulfil(by_deadline.front());
  }
  void fulfil(std::uint32_t w) noexcept {
    leave_wait(w);
    due.add(w, by_index);
  }

  // Nobody knows who waits: all but those whom the bound keeps are let go. (Who does not wait is not released by being
  // named.)
  [[nodiscard]] decision enter(const cluster_view& view) noexcept {
    for (std::uint32_t w = 0; w < wishes.size(); ++w) {
      forget(w);
      if (view.clock_of(w) > furthest(view)) wait(view, w, {});
    }
    return all_within_the_bound(view);
  }

  [[nodiscard]] decision all_within_the_bound(const cluster_view& view) noexcept {
    by_deadline.clear();
    by_updates.clear();
    due.clear();
    ++farewells;
    return decision::up_to_clock(furthest(view)).with_wake_at(never);
  }

  [[nodiscard]] decision next_of_those_due(const cluster_view& view) noexcept {
    if (view.parked() == 0) return decision::hold().with_wake_at(never);
    const bool others_wait = by_deadline.size() > 0;
    const double deadline = others_wait ? wishes[by_deadline.front()].deadline : never;
    if (due.size() == 0) return decision::hold().with_wake_at(deadline);
    if (!others_wait && due.size() > 1) return all_within_the_bound(view);
    if (!others_wait) ++farewells;
    const std::uint32_t first = due.front();
    due.remove(first, by_index);
    named.add(first, by_index);
    return decision::only(first).with_wake_at(due.size() > 0 ? view.now() : deadline);
  }

  static constexpr double never = std::numeric_limits<double>::infinity();
};

}  // namespace rubato::inline RUBATO_ABI

#endif
