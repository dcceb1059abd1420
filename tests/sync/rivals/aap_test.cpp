#include <rubato/sync/rivals/aap.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <rubato/core/rng.hpp>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/ssp.hpp>
#include <vector>

#include "../../support/cluster.hpp"

namespace {

using namespace rubato;

constexpr double forever = std::numeric_limits<double>::infinity();

TEST(Aap, StretchByHand) {
  // 2 updates in a step of 4: one every 2. Three more make 5, in 6; half a usual step of 4 more brings one more.
  const aap::stretch s = aap{.floor = 5, .fraction = 0.5}.stretch_of(2, 4.0, 4.0);
  EXPECT_EQ(s.updates, 4u);
  EXPECT_EQ(s.time, 8.0);
  // More than the floor has come: only the fraction is waited for.
  const aap::stretch enough = aap{.floor = 5, .fraction = 0.5}.stretch_of(8, 4.0, 3.0);
  EXPECT_EQ(enough.updates, 3u);
  EXPECT_EQ(enough.time, 1.5);
  // Nothing has come: no rate, so no time.
  const aap::stretch empty = aap{.floor = 5, .fraction = 0.5}.stretch_of(0, 4.0, 4.0);
  EXPECT_EQ(empty.updates, 5u);
  EXPECT_EQ(empty.time, forever);
  // Nothing is wanted.
  EXPECT_EQ(aap{.floor = 0}.stretch_of(0, 4.0, 4.0).updates, 0u);
  EXPECT_EQ(aap{.floor = 0}.stretch_of(9, 4.0, 4.0).time, 0.0);
  // Everything is wanted.
  EXPECT_EQ(aap{.floor = unbounded}.stretch_of(9, 4.0, 4.0).updates, unbounded);
  EXPECT_EQ(aap{.floor = unbounded}.stretch_of(9, 4.0, 4.0).time, forever);
  // A step that took no time at all.
  EXPECT_EQ((aap{.floor = 1, .fraction = 1e300}.stretch_of(9, 1e-30, 4.0).updates), unbounded);
}

TEST(Aap, WaitsForTheUpdatesOfOthers) {
  test::cluster c{aap{.floor = 2}, 3};
  c.at(1).push(0);
  EXPECT_EQ(c.parked(), std::vector{0u}) << "nothing has come from the others";
  c.at(2).push(1);
  EXPECT_EQ(c.parked(), (std::vector{0u, 1u})) << "one update each";
  c.at(2.5).push(2);
  EXPECT_EQ(c.running(), (std::vector{0u, 1u, 2u})) << "everybody has what it wants, or nothing to wait for";

  // Worker 3 has read a later version when it pushes again, so it lacks one when worker 0 has two.
  test::cluster more{aap{.floor = 2}, 4};
  more.at(1).push(0).at(2).push(1).at(2.25).push(2).at(3).push(3).at(3.25).push(0);
  ASSERT_EQ(more.running(), (std::vector{1u, 2u, 3u}));
  more.at(3.5).push(3);
  EXPECT_EQ(more.running(), (std::vector{0u, 1u, 2u}));
  EXPECT_EQ(more.overrides(), 0u);
}

TEST(Aap, OrForTheDeadline) {
  test::cluster c{aap{.floor = 3}, 3};
  c.at(1).push(0);
  ASSERT_EQ(c.control().next_deadline(), forever);
  c.at(2).push(1);
  EXPECT_EQ(c.control().next_deadline(), 6.0) << "one update in 2; the two that are missing take 4";
  c.at(5).poll();
  EXPECT_EQ(c.parked(), (std::vector{0u, 1u}));
  c.at(6).poll();
  EXPECT_EQ(c.parked(), std::vector{0u});
  EXPECT_EQ(c.control().next_deadline(), forever) << "worker 0 knows no rate";
  EXPECT_EQ(c.overrides(), 0u);
}

// Several may go on, others may not: they go one by one, at once.
TEST(Aap, WhoMayGoOnGoesByPolls) {
  test::cluster c{aap{.floor = 3}, 5};
  c.at(1).push(0).at(2).push(1).at(3).push(2);
  ASSERT_EQ(c.control().next_deadline(), 4.5) << "worker 2: two updates in 3, so one more in 1.5";
  c.at(4.5).poll();
  ASSERT_EQ(c.running(), (std::vector{2u, 3u, 4u}));
  c.at(4.75).push(2);
  EXPECT_EQ(c.parked(), (std::vector{1u, 2u})) << "0 and 1 have three; 2 has read the first three already";
  ASSERT_EQ(c.control().next_deadline(), 4.75);
  c.at(4.75).poll();
  EXPECT_EQ(c.parked(), std::vector{2u});
  EXPECT_EQ(c.control().next_deadline(), forever);
  EXPECT_EQ(c.overrides(), 0u);
}

TEST(Aap, NothingWillComeSoAllGo) {
  test::cluster c{aap{.floor = 100}, 3};
  c.push(0).push(1);
  ASSERT_EQ(c.parked(), (std::vector{0u, 1u}));
  c.die(2);
  EXPECT_EQ(c.running(), (std::vector{0u, 1u}));
  EXPECT_EQ(c.overrides(), 0u);
}

TEST(Aap, KeepsTheBound) {
  test::cluster c{aap{.floor = 0, .staleness = 1}, 3, {.guard = {.enabled = false}}};
  c.push(0).push(0).push(1);
  EXPECT_EQ(c.parked(), std::vector{0u}) << "two ahead of worker 2";
  c.push(1);
  EXPECT_EQ(c.parked(), (std::vector{0u, 1u}));
  c.push(2);
  EXPECT_EQ(c.running(), (std::vector{0u, 1u, 2u}));

  // The bound holds also when all who are within it wait for updates.
  test::cluster waits{aap{.floor = 100, .staleness = 0}, 2, {.guard = {.enabled = false}}};
  waits.push(0).push(1).push(0);
  EXPECT_EQ(waits.running(), std::vector{1u});
  waits.push(1);
  EXPECT_EQ(waits.running(), (std::vector{0u, 1u}));
}

// Whoever was beyond the bound when the others were let go, as after a switch, is not forgotten.
TEST(Aap, WhoWasBeyondTheBoundGoesOnceItMay) {
  test::cluster<any_policy> c{ssp{.staleness = 2}, 4, {.guard = {.enabled = false}}};
  c.push(0).push(0).push(0);
  ASSERT_EQ(c.parked(), std::vector{0u});
  c.switch_to(aap{.floor = 2, .staleness = 2});
  c.push(2).push(3).push(3);
  EXPECT_EQ(c.parked(), (std::vector{0u, 3u})) << "0 is 3 ahead of worker 1; 3 has read all there is, and wants 2 more";
  c.push(1);
  EXPECT_EQ(c.state(0), worker_state::running) << "2 ahead";
  EXPECT_EQ(c.state(3), worker_state::parked) << "one of two";
}

TEST(Aap, AJoinerGoesAtOnce) {
  test::cluster c{aap{.floor = 5}, 2, {.capacity = 3}};
  c.push(0);
  c.join(2);
  EXPECT_EQ(c.running(), (std::vector{1u, 2u}));
}

// A switch or a load: whoever waits goes on, if the bound allows it.
TEST(Aap, SwitchingToItFreesWhoeverWaits) {
  test::cluster<aap> c{aap{.floor = 5}, 3};
  c.push(0).push(1);
  ASSERT_EQ(c.parked(), (std::vector{0u, 1u}));
  c.switch_to(aap{.floor = 7});
  EXPECT_EQ(c.running(), (std::vector{0u, 1u, 2u}));
}

TEST(Aap, ALoadFreesWhoeverWaits) {
  test::cluster<aap> c{aap{.floor = 3}, 3};
  c.at(1001).push(0).at(1002).push(1);
  ASSERT_EQ(c.parked(), (std::vector{0u, 1u}));
  archive out;
  ASSERT_EQ(c.control().save(out), errc::ok);

  controller<aap, std::uint32_t> other{{.capacity = 3}, aap{.floor = 3}};
  archive in{out.bytes()};
  ASSERT_EQ(other.load(in, [](worker_id who) { return std::optional{who.index}; }), errc::ok);
  int released = 0;
  other.poll(1.0, [&](std::uint32_t, worker_id, const grant&) { ++released; });  // the host's clock has started anew
  EXPECT_EQ(released, 2);
  EXPECT_EQ(other.next_deadline(), forever);
}

// guard.max_wait gives the place of whoever is named to one that has waited longer.
TEST(Aap, WhosePlaceIsGivenAwayIsNotForgotten) {
  test::cluster c{aap{.floor = 3}, 4, {.guard = {.max_wait = 4.0}}};
  c.at(1).push(0).at(2).push(1).at(6).poll();
  ASSERT_EQ(c.parked(), std::vector{1u}) << "worker 1 may go, but 0 has waited too long";
  ASSERT_EQ(c.count(reason::overdue), 1u);
  c.at(6.5).push(2);
  EXPECT_EQ(c.state(1), worker_state::running) << "it goes at the next event";
}

// The rule as it is written down: at each event everybody is looked at.
struct looking_at_everybody {
  aap rule;

  void resize(std::uint32_t capacity) { each.assign(capacity, {}); }
  void reset(std::uint32_t worker) noexcept { each[worker] = {}; }
  [[nodiscard]] decision release(const cluster_view& view, const event& what) noexcept {
    if (what.why == cause::push) {
      const aap::stretch s = rule.stretch_of(what.staleness, static_cast<double>(view.step_time_of_submitter()),
                                             static_cast<double>(view.step_time_of(what.worker)));
      each[what.worker] = {saturating_add(view.updates(), s.updates), view.now() + s.time, true};
    } else if (what.why == cause::join) {
      each[what.worker] = {view.updates(), view.now(), true};
    } else if (what.why != cause::enter && what.why != cause::deadline) {
      each[what.worker] = {};
    }
    if (what.why == cause::enter || view.busy() == 0) return everybody(view);
    std::uint32_t due = 0;
    std::uint32_t first = no_worker;
    double deadline = forever;
    bool others_wait = false;
    for (std::uint32_t w = 0; view.parked() > 0 && w < each.size(); ++w) {
      if (!each[w].waits || beyond(view, w)) continue;
      if (view.updates() < each[w].updates && view.now() < each[w].deadline) {
        others_wait = true;
        deadline = (std::min)(deadline, each[w].deadline);
      } else if (++due == 1) {
        first = w;
      }
    }
    if (due == 0) return decision::hold().with_wake_at(deadline);
    if (!others_wait) return everybody(view);
    each[first].waits = false;
    return decision::only(first).with_wake_at(due > 1 ? view.now() : deadline);
  }
  [[nodiscard]] clock_type clock_bound() const noexcept { return rule.staleness; }

  struct note {
    std::uint64_t updates = 0;
    double deadline = 0.0;
    bool waits = false;
  };
  [[nodiscard]] bool beyond(const cluster_view& view, std::uint32_t w) const noexcept {
    return view.clock_of(w) > saturating_add(view.minimum_clock(), rule.staleness);
  }
  [[nodiscard]] decision everybody(const cluster_view& view) noexcept {
    for (std::uint32_t w = 0; w < each.size(); ++w) each[w] = {0, view.now(), each[w].waits && beyond(view, w)};
    return decision::up_to_clock(saturating_add(view.minimum_clock(), rule.staleness)).with_wake_at(forever);
  }
  std::vector<note> each{};
};

TEST(Aap, AgreesWithALookAtEverybody) {
  random_sequence random{11};
  const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random.below(n)); };
  for (int schedule = 0; schedule < 200; ++schedule) {
    const std::uint32_t k = 2 + below(9);
    const aap options{.floor = below(8) == 0 ? unbounded : below(5),
                      .fraction = 0.4 * below(3),
                      .staleness = below(3) == 0 ? unbounded : below(4)};
    test::cluster rule{options, k};
    test::cluster naive{looking_at_everybody{options}, k};
    double now = 0.0;
    for (int n = 0; n < 300; ++n) {
      now += 0.02 * (1 + below(10));
      while (rule.control().next_deadline() <= now) rule.at(now).poll();
      while (naive.control().next_deadline() <= now) naive.at(now).poll();
      ASSERT_EQ(rule.running(), naive.running()) << schedule << ", " << n;
      const std::uint32_t w = below(k);
      const bool dies = below(20) == 0;
      const auto tell = [&](auto& c) {
        c.at(now);
        if (c.state(w) == worker_state::dead)
          c.join(w);
        else if (dies)
          c.die(w);
        else if (c.state(w) == worker_state::running)
          c.push(w);
      };
      tell(rule), tell(naive);
      ASSERT_EQ(rule.parked(), naive.parked()) << schedule << ", " << n;
    }
  }
}

// The work of a push must not grow with the number of workers: with a look at everybody this takes many minutes.
TEST(Aap, CostsNoMoreWithManyWorkers) {
  constexpr std::uint32_t many = 200'000;
  for (const aap& options : {aap{}, aap{.floor = 0, .staleness = 3}, aap{.floor = 1000, .fraction = 0.5}}) {
    controller<aap, std::uint32_t> sync{{.capacity = many}, options};
    std::vector<std::uint32_t> running;
    const auto sink = [&](std::uint32_t, worker_id who, const grant&) { running.push_back(who.index); };
    for (std::uint32_t w = 0; w < many; ++w) ASSERT_EQ(sync.join({w, 0}, 0.0, w, sink), errc::ok);
    double now = 1.0;
    for (std::size_t next = 0; next < 100'000; ++next) {
      const std::uint32_t w = running[next];
      ASSERT_EQ(sync.push({.worker = {w, 0}, .now = now += 1e-6}, w, sink), errc::ok);
      for (int n = 0; n < 2 && sync.next_deadline() <= now; ++n) sync.poll(now, sink);
    }
    EXPECT_EQ(sync.counts().overrides(), 0u);
  }
}

TEST(Aap, RefusesBadOptions) {
  EXPECT_EQ(aap{}.problem(4), "");
  EXPECT_EQ(aap{.fraction = -0.5}.problem(4), "fraction is -0.5, expected a number of at least 0");
  EXPECT_EQ(aap{.fraction = std::nan("")}.problem(4), "fraction is nan, expected a number of at least 0");
}

TEST(Aap, DescribesItself) {
  EXPECT_EQ((aap{.floor = 3, .fraction = 0.5, .staleness = 4}.describe().json),
            R"({"kind":"aap","floor":3,"fraction":0.5,"staleness":4})");
  EXPECT_EQ(aap{.floor = unbounded}.describe().json, R"({"kind":"aap","floor":null,"fraction":0,"staleness":null})");
}

}  // namespace
