#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <rubato/core/rng.hpp>
#include <rubato/sync/controller.hpp>
#include <rubato/sync/extras/groups.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../support/all_policies.hpp"
#include "../support/scaled.hpp"

namespace rubato {
namespace {

constexpr double forever = std::numeric_limits<double>::infinity();

// One worker at a time; this one first, then in park order.
struct one_at_a_time {
  std::uint32_t first = 0;
  [[nodiscard]] decision release(const cluster_view& view, const event& what) const noexcept {
    if (view.busy() > 0) return decision::hold();
    return what.why == cause::push ? decision::up_to(1) : decision::only(first);
  }
};

struct lines {
  std::vector<std::string> said;
  void release(int ticket, worker_id who, std::span<const grant> terms) {
    std::string line = "release " + std::to_string(who.index) + " t" + std::to_string(ticket);
    for (const grant& g : terms) line += " @" + std::to_string(g.version);
    said.push_back(std::move(line));
  }
  void flush(std::uint32_t group, std::uint64_t round, float, std::uint32_t n) {
    said.push_back("flush " + std::to_string(group) + ":" + std::to_string(round) + " n" + std::to_string(n));
  }
  void discard(std::uint32_t group, std::uint64_t round, std::uint32_t) {
    said.push_back("discard " + std::to_string(group) + ":" + std::to_string(round));
  }
  void cancel(std::uint32_t group, worker_id who) {
    said.push_back("cancel " + std::to_string(group) + ":" + std::to_string(who.index));
  }
  void abandon(int ticket, worker_id who, reason why) {
    said.push_back("abandon " + std::to_string(who.index) + " t" + std::to_string(ticket) + " " + name(why).data());
  }
  std::vector<std::string> take() { return std::exchange(said, {}); }
};
using said = std::vector<std::string>;

// Groups whose workers 0, 1, ... have joined; tickets are 10 x the worker's index and more.
template <class Policy = any_policy>
struct pair_of_groups {
  groups<Policy, int> sync;
  lines sink{};
  double now = 0.0;

  pair_of_groups(std::vector<Policy> policies, std::uint32_t workers, controller_options o = {})
      : sync{sized(o, workers), std::move(policies)} {
    for (std::uint32_t w = 0; w < workers; ++w) EXPECT_EQ(sync.join({w, 0}, now, sink), errc::ok);
  }
  static controller_options sized(controller_options o, std::uint32_t workers) {
    o.capacity = workers;
    return o;
  }
  worker_id id(std::uint32_t w) const { return sync[0].workers().id(w); }
  said pull(std::uint32_t w, int ticket) {
    EXPECT_EQ(sync.pull(id(w), now += 1.0, ticket, sink), errc::ok);
    return sink.take();
  }
  said push(std::uint32_t group, std::uint32_t w) {
    EXPECT_EQ(sync.push(group, {.worker = id(w), .now = now += 1.0}, sink), errc::ok);
    return sink.take();
  }
  said depart(std::uint32_t w) {
    EXPECT_EQ(sync.depart(id(w), now += 1.0, cause::death, sink), errc::ok);
    return sink.take();
  }
};

// Each controller has released somebody, so its guard has nothing to do; but each has released another one.
TEST(Groups, WithoutThemTwoRulesHang) {
  std::array<controller<one_at_a_time, int>, 2> both{controller<one_at_a_time, int>{{.capacity = 2}, {.first = 0}},
                                                     controller<one_at_a_time, int>{{.capacity = 2}, {.first = 1}}};
  std::array<std::array<bool, 2>, 2> released{};  // by controller and worker
  for (std::size_t c = 0; c < 2; ++c) {
    const auto sink = [&](int, worker_id who, const grant&) { released[c][who.index] = true; };
    for (std::uint32_t w = 0; w < 2; ++w) ASSERT_EQ(both[c].join({w, 0}, 0.0, 1, sink), errc::ok);
    both[c].poll(100.0, sink);
    EXPECT_EQ(both[c].workers().busy(), 1u);
    EXPECT_EQ(both[c].next_deadline(), forever) << "nothing more will come from it";
  }
  for (std::size_t w = 0; w < 2; ++w) EXPECT_FALSE(released[0][w] && released[1][w]) << "nobody may start";
}

TEST(Groups, FreesTheLongestIdleWhenRulesWaitForEachOther) {
  pair_of_groups<one_at_a_time> b{{{.first = 0}, {.first = 1}}, 2};
  EXPECT_EQ(b.sync.counts().total(reason::liveness), 1u) << "at the last join";
  EXPECT_EQ(b.sync[0].counts().total(reason::liveness), 0u) << "worker 0 has been idle longest; group 0 had let it go";
  EXPECT_EQ(b.sync[1].counts().of(0, reason::liveness), 1u) << "and group 1 held it";
  EXPECT_EQ(b.pull(0, 0), said{"release 0 t0 @0 @0"});
  EXPECT_EQ(b.pull(1, 10), said{}) << "it is held by group 0";
  EXPECT_EQ(b.push(0, 0), said{"release 1 t10 @1 @0"}) << "group 1 had released it from the start";
}

TEST(Groups, ReleasedByAllBeforeItStarts) {
  pair_of_groups<> b{{asp{}, bsp{bsp::sum}}, 2};
  EXPECT_EQ(b.pull(0, 1), said{"release 0 t1 @0 @0"});
  EXPECT_EQ(b.pull(1, 11), said{"release 1 t11 @0 @0"});
  EXPECT_EQ(b.push(0, 0), said{});
  EXPECT_EQ(b.pull(0, 2), said{}) << "it has not pushed to group 1";
  EXPECT_EQ(b.push(1, 0), said{}) << "bsp holds it";
  EXPECT_EQ(b.push(1, 1), said{"release 0 t2 @1 @2"}) << "the barrier; worker 1 has not pushed to group 0";
  EXPECT_EQ(b.push(0, 1), said{});
  EXPECT_EQ(b.pull(1, 12), said{"release 1 t12 @2 @2"});
  EXPECT_EQ(b.sync.counts().total(reason::liveness), 0u);
}

// The terms are those of the start of the step, not of the group that let the worker go first.
TEST(Groups, StepsBeginWhenTheLastGroupLetsGo) {
  pair_of_groups<> b{{asp{}, bsp{bsp::sum}}, 2};
  b.pull(0, 1), b.pull(1, 11);
  b.push(0, 0), b.push(1, 0), b.pull(0, 2);
  EXPECT_EQ(b.sync[0].workers()[0].state, worker_state::released);
  b.push(0, 1);
  b.push(1, 1);
  EXPECT_EQ(b.sync[0].workers()[0].granted_at, b.now);
  const admitted first = b.sync.admit(0, {.worker = {0, 0}, .now = b.now});
  EXPECT_EQ(first.staleness, 0u) << "worker 1's update was in when it started";
}

TEST(Groups, RoundsAndCancellationsNameTheirGroup) {
  pair_of_groups<> b{{asp{}, k_sync{.k = 1}}, 2};
  b.pull(0, 1), b.pull(1, 11);
  EXPECT_EQ(b.push(1, 0), (said{"flush 1:0 n1", "cancel 1:1"}));
  EXPECT_EQ(b.sync.switch_to(1, bsp{}, b.now, pending_gradients::discard, b.sink), errc::ok);
  b.push(1, 1);  // cancelled: dropped
  b.push(0, 0), b.push(0, 1);
  b.pull(0, 2), b.pull(1, 12);
  EXPECT_EQ(b.push(1, 0), (said{"flush 1:1 n1", "release 1 t12 @2 @2"}));
  b.push(1, 1);
  EXPECT_EQ(b.sync.switch_to(1, asp{}, b.now, pending_gradients::discard, b.sink), errc::ok);
  EXPECT_EQ(b.sink.take(), said{"discard 1:2"});
}

// Group 0 holds worker 0, which leads, for worker 2, which group 1 does not let in; worker 1 dies.
TEST(Groups, FreesBeyondTheBound) {
  struct not_the_last {
    [[nodiscard]] decision release(const cluster_view&, const event& what) const noexcept {
      if (what.why == cause::push) return decision::submitter();
      return what.why == cause::join && what.worker != 2 ? decision::all() : decision::hold();
    }
  };
  groups<any_policy, int> sync{{.capacity = 3, .quorum = 2}, {ssp{.staleness = 0}, not_the_last{}}};
  lines sink;
  for (std::uint32_t w = 0; w < 2; ++w) {
    ASSERT_EQ(sync.join({w, 0}, 0.0, sink), errc::ok);
    ASSERT_EQ(sync.pull({w, 0}, 0.0, 0, sink), errc::ok);
  }
  for (std::uint32_t g = 0; g < 2; ++g) ASSERT_EQ(sync.push(g, {.worker = {0, 0}, .now = 1.0}, sink), errc::ok);
  ASSERT_EQ(sync.pull({0, 0}, 1.0, 1, sink), errc::ok);
  ASSERT_EQ(sync.join({2, 0}, 2.0, sink), errc::ok);
  sink.take();
  ASSERT_EQ(sync.depart({1, 0}, 3.0, cause::death, sink), errc::ok);
  EXPECT_EQ(sink.take(), said{"release 0 t1 @1 @1"});
  EXPECT_EQ(sync[0].workers().clock().clock(0) - sync[0].workers().clock().minimum(), 1u);
  EXPECT_EQ(sync[0].counts().of(0, reason::liveness), 1u);
}

TEST(Groups, PrefersAWorkerThatNoGroupExcludes) {
  struct without_the_first {  // and then nobody
    bool done = false;
    [[nodiscard]] decision release(const cluster_view& view, const event&) noexcept {
      return view.is_excluded(0) ? decision::hold() : decision::hold().with_exclude(0);
    }
  };
  controller_options o{};
  o.guard.enabled = false;
  pair_of_groups<> b{{asp{}, without_the_first{}}, 3, o};
  EXPECT_EQ(b.sync.counts().of(1, reason::liveness), 1u) << "worker 0 has been idle longer";
  EXPECT_TRUE(b.sync[1].workers()[0].excluded);
  b.depart(1), b.depart(2);  // only it is left
  EXPECT_EQ(b.sync.counts().of(0, reason::liveness), 1u);
  EXPECT_FALSE(b.sync[1].workers()[0].excluded) << "who is freed is readmitted";
  EXPECT_EQ(b.pull(0, 1), said{"release 0 t1 @0 @0"});
}

TEST(Groups, ADeadlineIsWaitedFor) {
  struct later {
    [[nodiscard]] decision release(const cluster_view&, const event& what) const noexcept {
      return what.why == cause::deadline ? decision::all() : decision::hold().with_wake_at(what.now + 5.0);
    }
  };
  controller_options o{};
  o.guard.enabled = false;
  pair_of_groups<> b{{asp{}, later{}}, 1, o};
  EXPECT_EQ(b.sync.counts().total(reason::liveness), 0u);
  EXPECT_EQ(b.sync.next_deadline(), 5.0);
  EXPECT_EQ(b.pull(0, 1), said{});
  b.sync.poll(5.0, b.sink);
  EXPECT_EQ(b.sink.take(), said{"release 0 t1 @0 @0"});
}

// The guards have done their part: each group has let somebody go.
TEST(Groups, GroupsThatWaitForEachOtherWaitForADeadlineAsWell) {
  struct everybody_later {
    [[nodiscard]] decision release(const cluster_view& view, const event& what) const noexcept {
      if (what.why == cause::deadline) return decision::all();
      return view.busy() > 0 ? decision::hold() : decision::only(0).with_wake_at(what.now + 5.0);
    }
  };
  pair_of_groups<> b{{everybody_later{}, one_at_a_time{.first = 1}}, 2};
  EXPECT_EQ(b.pull(0, 0), said{});
  EXPECT_EQ(b.pull(1, 10), said{});
  EXPECT_EQ(b.sync.next_deadline(), 5.0) << "only a poll can help";
  b.sync.poll(5.0, b.sink);
  EXPECT_EQ(b.sink.take(), said{"release 1 t10 @0 @0"});
  EXPECT_EQ(b.sync.counts().total(reason::liveness), 0u);
}

TEST(Groups, WhomASwitchReleasesStarts) {
  pair_of_groups<> b{{bsp{}, asp{}}, 2};
  for (const std::uint32_t w : {0u, 1u})
    EXPECT_EQ(b.sync.pull({w, 0}, 1.0, static_cast<int>(10 * w), b.sink), errc::ok);
  ASSERT_EQ(b.sink.take().size(), 2u);
  for (const std::uint32_t group : {0u, 1u})
    EXPECT_EQ(b.sync.push(group, {.worker = {0, 0}, .now = 2.0}, b.sink), errc::ok);
  EXPECT_EQ(b.sync.pull({0, 0}, 3.0, 1, b.sink), errc::ok);
  ASSERT_EQ(b.sink.take(), said{}) << "the barrier of the first group";
  EXPECT_EQ(b.sync.switch_to(0, asp{}, 4.0, pending_gradients::flush, b.sink), errc::ok);
  EXPECT_EQ(b.sink.take(), (said{"flush 0:0 n1", "release 0 t1 @1 @1"}));
}

TEST(Groups, RefusalsAndRepeatsAreAnsweredAndCounted) {
  pair_of_groups<> b{{bsp{bsp::sum}, asp{}}, 2};
  EXPECT_EQ(b.sync.pull({7, 0}, 1.0, 1, b.sink), errc::unknown_worker);
  EXPECT_EQ(b.sync.pull({0, 3}, 1.0, 2, b.sink), errc::old_incarnation);
  EXPECT_EQ(b.sync.pull({0, 0}, forever, 3, b.sink), errc::invalid_time);
  EXPECT_EQ(b.sink.take(),
            (said{"abandon 7 t1 unknown_worker", "abandon 0 t2 old_incarnation", "abandon 0 t3 invalid_time"}));
  EXPECT_EQ(b.pull(0, 4), said{"release 0 t4 @0 @0"});
  EXPECT_EQ(b.sync.pull({0, 0}, b.now, 5, b.sink), errc::repeated);
  EXPECT_EQ(b.sink.take(), said{"release 0 t5 @0 @0"}) << "told its terms again";
  b.push(0, 0), b.push(1, 0);
  EXPECT_EQ(b.pull(0, 6), said{});
  EXPECT_EQ(b.sync.pull({0, 0}, b.now, 7, b.sink), errc::repeated);
  EXPECT_EQ(b.sink.take(), said{"abandon 0 t6 replaced"});
  EXPECT_EQ(b.sync.counts().total(reason::replaced), 1u);
  EXPECT_EQ(b.sync.counts().total(reason::repeated), 1u);
  EXPECT_EQ(b.sync.counts().total(reason::unknown_worker), 1u);
  EXPECT_EQ(b.depart(0), said{"abandon 0 t7 departed_worker"});
  EXPECT_EQ(b.sync.pull({0, 0}, b.now, 8, b.sink), errc::departed_worker);
  EXPECT_EQ(b.sync.join({0, 0}, b.now, b.sink), errc::old_incarnation);
  EXPECT_EQ(b.sync.depart({0, 0}, b.now, cause::leave, b.sink), errc::departed_worker);
}

TEST(Groups, AReturningWorkerTakesThePlaceOfItsFormerLife) {
  pair_of_groups<> b{{bsp{bsp::sum}, asp{}}, 2};
  b.pull(0, 1), b.pull(1, 11);
  b.push(0, 0), b.push(1, 0), b.pull(0, 2);
  ASSERT_EQ(b.sync.join({0, 1}, b.now, b.sink), errc::ok);
  EXPECT_EQ(b.sink.take(), said{"abandon 0 t2 departed_worker"});
  EXPECT_EQ(b.pull(0, 3), said{}) << "the barrier";
  EXPECT_EQ(b.push(0, 1), said{"release 0 t3 @2 @1"});
}

TEST(Groups, NobodyIsFreedBeforeTheQuorum) {
  groups<any_policy, int> sync{{.capacity = 3}, {asp{}, bsp{}}};
  lines sink;
  for (std::uint32_t w = 0; w < 2; ++w) {
    ASSERT_EQ(sync.join({w, 0}, 0.0, sink), errc::ok);
    ASSERT_EQ(sync.pull({w, 0}, 0.0, static_cast<int>(w), sink), errc::ok);
  }
  EXPECT_EQ(sink.take(), said{});
  EXPECT_EQ(sync.set_quorum(2, 1.0, sink), errc::ok);
  EXPECT_EQ(sink.take(), (said{"release 0 t0 @0 @0", "release 1 t1 @0 @0"}));
  EXPECT_EQ(sync.counts().total(reason::liveness), 0u);
}

TEST(Groups, RefusesBadOptions) {
  using two = groups<any_policy, int>;
  const auto wrong = two::make({.capacity = 2}, {});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, errc::invalid_option);
  EXPECT_EQ(wrong.error().message, two::problem({.capacity = 2}, {}));
  EXPECT_EQ(two::make({}, {asp{}}).error().code, errc::invalid_option);
  auto right = two::make({.capacity = 1}, {asp{}, bsp{}});
  ASSERT_TRUE(right);
  lines sink;
  EXPECT_EQ(right->join({0, 0}, 0.0, sink), errc::ok);
  EXPECT_EQ(right->size(), 2u);
}

TEST(Groups, ProblemNamesWhatIsWrong) {
  using two = groups<any_policy, int>;
  EXPECT_EQ(two::problem({.capacity = 2}, std::vector<any_policy>{asp{}}), "");
  EXPECT_NE(two::problem({.capacity = 2}, {}).find("no group"), std::string::npos);
  EXPECT_NE(two::problem({}, std::vector<any_policy>{asp{}}).find("capacity"), std::string::npos);
}

// --- random schedules

// Plays workers at random against groups, and checks after every call that somebody can move.
class grouped_host {
 public:
  grouped_host(std::uint64_t seed, std::vector<any_policy> policies, bool guarded)
      : random_{seed},
        workers_{fitting(2 + static_cast<std::uint32_t>(random_.below(5)), policies)},
        sync_{{.capacity = workers_,
               .quorum = 1 + static_cast<std::uint32_t>(random_.below(workers_)),
               .guard = {.enabled = guarded},
               .max_release_per_call =
                   random_.uniform() < 0.3 ? 1 + static_cast<std::uint32_t>(random_.below(3)) : no_worker,
               .seed = seed},
              std::move(policies)},
        hosts_(workers_) {}

  std::uint64_t steps = 0;
  std::string problem{};
  [[nodiscard]] const auto& sync() const { return sync_; }

  void run(int events, double faults) {
    for (std::uint32_t w = 0; w < workers_; ++w) join(w);
    for (int n = 0; n < events && problem.empty(); ++n) act(faults);
    // Without faults everybody still goes on as far as the rules let it.
    const std::uint64_t before = steps;
    for (std::uint32_t w = 0; w < workers_; ++w)
      if (hosts_[w].here == false) join(w);
    for (int n = 0; n < 4000 && problem.empty() && steps < before + 20; ++n) act(0.0);
    if (problem.empty() && steps < before + 20) problem = "no progress without faults";
  }

  // The sink.
  void release(std::uint64_t ticket, worker_id who, std::span<const grant> terms) {
    end(ticket);
    host_worker& h = hosts_[who.index];
    if (!h.here || who.incarnation != h.life || h.ticket != ticket) return fail("a release for nobody");
    if (terms.size() != sync_.size()) return fail("a grant for each group");
    for (std::uint32_t g = 0; g < sync_.size(); ++g)
      if (terms[g] != sync_[g].workers()[who.index].granted) return fail("not the group's grant");
    h.ticket.reset();
    h.to_push.assign(sync_.size(), true);
    h.running = true;
    ++steps;
  }
  void flush(std::uint32_t, std::uint64_t, float, std::uint32_t) {}
  void discard(std::uint32_t, std::uint64_t, std::uint32_t) {}
  void abandon(std::uint64_t ticket, worker_id who, reason) {
    end(ticket);
    if (hosts_[who.index].ticket == ticket) hosts_[who.index].ticket.reset();
  }

 private:
  struct host_worker {
    bool here = false;
    bool running = false;
    std::uint32_t life = 0;
    std::optional<std::uint64_t> ticket{};
    std::vector<bool> to_push{};
  };
  struct out {
    std::uint32_t group;
    admitted what;
  };

  [[nodiscard]] static std::uint32_t fitting(std::uint32_t workers, const std::vector<any_policy>& policies) {
    const auto misfit = [&](const any_policy& p) { return !p.problem(workers).empty(); };
    while (std::any_of(policies.begin(), policies.end(), misfit)) ++workers;
    return workers;
  }
  void fail(const std::string& what) {
    if (problem.empty()) problem = what;
  }
  void end(std::uint64_t ticket) {
    if (ticket >= ended_.size() || ended_[ticket]) return fail("a ticket ended twice");
    ended_[ticket] = true;
  }
  std::uint64_t new_ticket() {
    ended_.push_back(false);
    return ended_.size() - 1;
  }
  [[nodiscard]] std::uint32_t pick(std::size_t n) { return static_cast<std::uint32_t>(random_.below(n)); }
  [[nodiscard]] bool chance(double p) { return random_.uniform() < p; }

  void act(double faults) {
    now_ += 0.1 * random_.uniform();
    const std::uint32_t w = pick(workers_);
    host_worker& h = hosts_[w];
    if (chance(faults)) {
      if (h.here && chance(0.5))
        depart(w);
      else
        join(w);
    } else if (sync_.next_deadline() <= now_ && chance(0.5)) {
      sync_.poll(now_, *this);
    } else if (!out_.empty() && chance(0.5)) {
      commit(pick(out_.size()));
    } else if (h.here && !h.ticket && (!h.running || chance(0.1))) {
      pull(w);
    } else if (h.here && h.running) {
      push(w);
    } else if (out_.empty() && sync_.next_deadline() < forever && nobody_runs()) {
      now_ = std::max(now_, sync_.next_deadline());
      sync_.poll(now_, *this);
    }
    check();
  }
  [[nodiscard]] bool nobody_runs() const {
    return std::none_of(hosts_.begin(), hosts_.end(), [](const host_worker& h) { return h.running; });
  }

  void join(std::uint32_t w) {
    host_worker& h = hosts_[w];
    if (h.here || sync_[0].workers()[w].state != worker_state::absent) ++h.life;
    h.here = true;
    h.running = false;
    h.to_push.clear();
    if (sync_.join({w, h.life}, now_, *this) != errc::ok) fail("join");
    if (h.ticket) fail("the former life's ticket is still out");
  }
  void depart(std::uint32_t w) {
    host_worker& h = hosts_[w];
    h.here = h.running = false;
    if (sync_.depart({w, h.life}, now_, chance(0.5) ? cause::death : cause::done, *this) != errc::ok) fail("depart");
    if (h.ticket) fail("the ticket of who has gone is still out");
  }
  void pull(std::uint32_t w) {
    host_worker& h = hosts_[w];
    const bool whole_step = h.running && std::all_of(h.to_push.begin(), h.to_push.end(), [](bool b) { return b; });
    if (whole_step) return;
    h.ticket = new_ticket();
    if (sync_.pull({w, h.life}, now_, *h.ticket, *this) != errc::ok) fail("pull");
  }
  void push(std::uint32_t w) {
    host_worker& h = hosts_[w];
    const std::uint32_t g = pick(sync_.size());
    if (!h.to_push[g]) return;
    h.to_push[g] = false;
    h.running = std::any_of(h.to_push.begin(), h.to_push.end(), [](bool b) { return b; });
    const admitted a = sync_.admit(g, {.worker = {w, h.life}, .now = now_, .samples = 1, .loss = 1.0F});
    if (a.work.serial == 0) fail("a push of a running worker was not admitted");
    out_.push_back({g, a});
  }
  void commit(std::uint32_t at) {
    std::swap(out_[at], out_.back());
    const out o = out_.back();
    out_.pop_back();
    if (sync_.commit(o.group, o.what.work, now_, chance(0.05) ? outcome::failed : outcome::done, *this) != errc::ok)
      fail("commit");
  }

  // Somebody is in a step, or may start one, or something is out, or a deadline is set: or there is nobody.
  void check() {
    if (!out_.empty() || sync_.next_deadline() < forever) return;
    bool somebody = false;
    for (std::uint32_t w = 0; w < workers_; ++w) {
      bool member = true;
      bool released = true;
      for (std::uint32_t g = 0; g < sync_.size(); ++g) {
        const worker_state s = sync_[g].workers()[w].state;
        member = member && roster::is_member(s);
        released = released && s == worker_state::released;
        if (s == worker_state::running) return;
      }
      if (released && hosts_[w].ticket) return fail("a worker is free to go, has asked, and was not answered");
      if (released) return;
      somebody = somebody || member;
    }
    if (somebody) fail("nobody moves");
  }

  random_sequence random_;
  std::uint32_t workers_;
  groups<any_policy, std::uint64_t> sync_;
  std::vector<host_worker> hosts_;
  std::vector<out> out_;
  std::vector<bool> ended_;
  double now_ = 0.0;
};

TEST(Groups, SomebodyAlwaysRunsUnderAnyPairOfPolicies) {
  const auto policies = test::all_policies();
  std::uint64_t freed = 0;
  std::uint64_t seed = 0;
  for (const auto& a : policies)
    for (const auto& b : policies)
      for (std::uint32_t n = 0; n < test::scaled(1); ++n) {
        grouped_host host{++seed, {a.policy, b.policy}, false};
        host.run(150, 0.05);
        ASSERT_EQ(host.problem, "") << a.name << " and " << b.name << ", seed " << seed;
        freed += host.sync().counts().total(reason::liveness);
        std::uint64_t forced = 0;
        for (std::uint32_t g = 0; g < 2; ++g) {
          forced += host.sync()[g].counts().total(reason::liveness);
          ASSERT_EQ(host.sync()[g].counts().overrides(), host.sync()[g].counts().total(reason::liveness));
        }
        ASSERT_GE(forced, host.sync().counts().total(reason::liveness)) << "counted where it was held";
      }
  EXPECT_GT(freed, 100u) << "the schedules must come to where groups wait for each other";
}

TEST(Groups, ThreeGroupsAndTheirGuards) {
  const auto policies = test::all_policies();
  for (std::uint64_t seed = 0; seed < test::scaled(200); ++seed) {
    random_sequence random{seed, 7};
    const auto any = [&] { return policies[random.below(policies.size())].policy; };
    std::vector<any_policy> three;
    for (int n = 0; n < 3; ++n) three.push_back(any());
    three.back() = test::chaos{.seed = seed, .bound = 2};  // needs a guard
    grouped_host host{seed, std::move(three), true};
    host.run(150, 0.05);
    ASSERT_EQ(host.problem, "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace rubato
