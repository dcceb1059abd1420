// What sync_switch does about stragglers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <rubato/sync/rivals/sync_switch.hpp>
#include <string>
#include <vector>

#include "../../support/cluster.hpp"
#include "../../support/metronome.hpp"
#include "../../support/shared_machine.hpp"
#include "switching.hpp"

namespace rubato::sync_switch_stragglers_test {
namespace {

using test::each_round;
using test::policy_of;
using test::published_each_round;
using test::rounds;
using test::scribe;
using test::watching;
constexpr auto first = switch_phase::first;
constexpr auto second = switch_phase::second;
constexpr auto greedy = straggler_reaction::greedy;
constexpr auto elastic = straggler_reaction::elastic;

TEST(SyncSwitchStragglers, GreedyGoesThereAndBack) {
  test::metronome m{watching(greedy), {1.0, 1.0, 1.0, 3.0}};
  m.run(11);
  EXPECT_EQ(policy_of(m).phase(), first);
  m.run(1);
  EXPECT_TRUE(policy_of(m).stragglers().straggles(3));
  EXPECT_EQ(policy_of(m).phase(), second) << "slow in three rounds";
  EXPECT_EQ(m.flushes(), 3u);
  m.run(30);
  EXPECT_EQ(policy_of(m).phase(), second);
  EXPECT_EQ(m.flushes(), 3u);
  m.set_step_time(3, 1.0);
  std::uint32_t steps = 0;
  while (policy_of(m).phase() == second && steps < 20) m.run(1), ++steps;
  EXPECT_LT(steps, 20u) << "it has recovered";
  EXPECT_EQ(policy_of(m).stragglers().count(), 0u);
  m.run(40);
  EXPECT_EQ(policy_of(m).phase(), first);
  const auto& trace = m.trace();
  EXPECT_EQ(trace.back().time, trace[trace.size() - 4].time) << "all start at once again";
  EXPECT_GT(m.flushes(), 8u);
  EXPECT_TRUE(m.ok());
  EXPECT_EQ(m.control().counts().overrides(), 0u);
}

TEST(SyncSwitchStragglers, StepsOfADetourAreNoneOfTheShare) {
  test::metronome m{watching(greedy, 0.5, 32), {1.0, 1.0, 1.0, 3.0}};
  m.run(112);
  EXPECT_EQ(policy_of(m).phase(), second);
  EXPECT_EQ(policy_of(m).steps_of_share(), 12u);
  EXPECT_FALSE(policy_of(m).share_is_done());
  m.set_step_time(3, 1.0);
  m.run(40);
  EXPECT_GE(policy_of(m).steps_of_share(), 16u);
  EXPECT_TRUE(policy_of(m).share_is_done());
  EXPECT_EQ(policy_of(m).phase(), second) << "for good";
}

TEST(SyncSwitchStragglers, ElasticEvictsAndReadmitsAtTheSwitch) {
  test::metronome m{watching(elastic, 0.5, 70), {1.0, 1.0, 1.0, 1.0, 3.0}};
  m.run(15);
  EXPECT_TRUE(m.control().workers()[4].excluded) << "slow in three rounds";
  EXPECT_EQ(m.flushes(), 3u);
  m.run(16);
  EXPECT_EQ(policy_of(m).phase(), first);
  EXPECT_EQ(m.flushes(), 7u) << "rounds of four";
  EXPECT_EQ(m.trace().back().time, 9.0 + 4.0) << "which take 1 each";
  EXPECT_EQ(policy_of(m).steps_of_share(), 31u);
  m.run(4);
  EXPECT_EQ(policy_of(m).phase(), second);
  EXPECT_EQ(m.control().workers().excluded(), 0u);
  EXPECT_EQ(m.control().workers().busy(), 5u) << "it has started with the others";
  EXPECT_TRUE(m.ok());
  EXPECT_EQ(m.control().counts().overrides(), 0u);
}

TEST(SyncSwitchStragglers, ElasticDropsWhatTheEvictedComputes) {
  const straggler_options one_window{.window = 0, .steps = 1, .windows = 1};
  test::cluster c{sync_switch{asp{}, bsp{}, {.reaction = elastic, .stragglers = one_window}}, 4};
  c.at(1).push(0).at(1).push(1).at(2.9).push(3).at(2.95).push(0);  // the fourth step ends the window
  ASSERT_TRUE(c.control().workers()[3].excluded);
  EXPECT_EQ(c.state(3), worker_state::running);
  EXPECT_EQ(policy_of(c).steps_of_share(), 4u);
  c.at(5).push(3);
  EXPECT_EQ(c.count(reason::excluded), 1u);
  EXPECT_EQ(policy_of(c).steps_of_share(), 4u);
  EXPECT_EQ(c.state(3), worker_state::parked) << "until the switch";
  EXPECT_EQ(c.running(), (std::vector{0u, 1u, 2u}));
  EXPECT_EQ(policy_of(c).stragglers().members(), 3u) << "it is no measure for the others";
}

TEST(SyncSwitchStragglers, ToTheFirstTheEvictedHasGone) {
  const straggler_options one_window{.window = 0, .steps = 1, .windows = 1};
  std::vector<std::string> heard;
  test::cluster c{sync_switch{scribe{&heard}, bsp{}, {.reaction = elastic, .stragglers = one_window}}, 4};
  c.at(1).push(0).at(1).push(1).at(2.9).push(3);
  heard.clear();
  c.at(2.95).push(0);
  ASSERT_TRUE(c.control().workers()[3].excluded);
  EXPECT_EQ(heard, (std::vector<std::string>{"step0", "forget3", "push0"}));
  c.at(3.9).push(0);
  heard.clear();
  c.at(5).push(3);
  EXPECT_EQ(heard, std::vector<std::string>{"death3"}) << "as of the commit of one that has died";
  c.at(5).push(1);
  EXPECT_EQ(policy_of(c).stragglers().windows(), 1u) << "its step is none of three";
}

TEST(SyncSwitchStragglers, WhatTheEvictedHadAdmittedIsNoMeasure) {
  const straggler_options one_window{.window = 0, .steps = 1, .windows = 1};
  std::vector<std::string> heard;
  test::cluster c{sync_switch{scribe{&heard}, bsp{}, {.reaction = elastic, .stragglers = one_window}}, 4};
  c.at(1).push(0).at(1).push(1).at(2.9).push(3);
  const admitted out = c.at(2.94).admit(3);
  c.at(2.95).push(0);
  ASSERT_TRUE(c.control().workers()[3].excluded);
  const std::uint64_t steps = policy_of(c).steps_of_share();
  heard.clear();
  c.at(3).commit(out);
  EXPECT_EQ(heard, std::vector<std::string>{"death3"});
  EXPECT_FALSE(policy_of(c).stragglers().is_member(3));
  EXPECT_EQ(policy_of(c).steps_of_share(), steps + 1) << "it was taken all the same";
}

TEST(SyncSwitchStragglers, ElasticKeepsTwo) {
  test::metronome m{watching(elastic), {1.0, 1.0, 3.0}};
  m.run(9);
  EXPECT_EQ(m.control().workers().excluded(), 1u);
  m.set_step_time(1, 5.0);
  m.run(40);
  EXPECT_EQ(m.control().workers().excluded(), 1u);
  EXPECT_EQ(m.control().workers().busy() + m.control().workers().in(worker_state::parked), 2u);
  EXPECT_TRUE(m.ok());
}

TEST(SyncSwitchStragglers, ElasticTakesBackWhereFewerThanTwoAreLeft) {
  test::cluster c{watching(elastic), 3};
  double now = 0;
  rounds(c, now, {1.0, 1.0, 3.0}, 3);
  ASSERT_TRUE(c.control().workers()[2].excluded);
  c.at(now + 0.5).push(0);
  c.die(1);
  EXPECT_EQ(c.control().workers().excluded(), 0u);
  EXPECT_EQ(c.running(), (std::vector{0u, 2u})) << "the round was complete";
  c.die(0);
  c.push(2);
  EXPECT_EQ(c.running(), std::vector{2u});
  EXPECT_EQ(c.overrides(), 0u);
}

// To the first policy a worker that is taken back is as new as one that has joined.
TEST(SyncSwitchStragglers, AReturnIsAJoin) {
  const straggler_options one_window{.window = 0, .steps = 1, .windows = 1};
  std::vector<std::string> heard;
  test::cluster c{sync_switch{scribe{&heard}, bsp{}, {.reaction = elastic, .stragglers = one_window}}, 3};
  c.at(1).push(0).at(1).push(1).at(2.9).push(2);
  ASSERT_TRUE(c.control().workers()[2].excluded);
  c.at(3).die(0);
  ASSERT_EQ(c.control().workers().excluded(), 0u);
  ASSERT_GE(heard.size(), 2u);
  EXPECT_EQ(heard[heard.size() - 2], "forget2");
  EXPECT_EQ(heard.back(), "join2");
}

// Those without a ticket are dead from then on, and no event says so of each.
TEST(SyncSwitchStragglers, ElasticTakesBackAfterALoad) {
  const sync_switch<> policy = watching(elastic);
  test::cluster c{policy, 3};
  double now = 0;
  rounds(c, now, {1.0, 1.0, 3.0}, 3);
  ASSERT_TRUE(c.control().workers()[2].excluded);
  c.at(now + 0.5).push(0);
  archive saved;
  ASSERT_EQ(c.control().save(saved), errc::ok);
  controller<sync_switch<>, std::uint32_t> loaded{{.capacity = 3}, policy};
  archive bytes{saved.bytes()};
  const auto reattach = [](worker_id who) { return who.index == 0 ? std::nullopt : std::optional{who.index}; };
  ASSERT_EQ(loaded.load(bytes, reattach), errc::ok);
  test::effects sink;
  sink.ended.assign(c.heard().ended.size(), false);
  loaded.poll(now + 1, sink);
  EXPECT_EQ(loaded.workers().excluded(), 0u);
  EXPECT_EQ(loaded.workers().clock().size(), 2u);
  EXPECT_EQ(loaded.counts().overrides(), 0u);
}

TEST(SyncSwitchStragglers, AnEvictedWorkerMayDie) {
  test::cluster c{watching(elastic, 0.5, 56), 5};
  double now = 0;
  rounds(c, now, {1.0, 1.0, 1.0, 1.0, 3.0}, 3);
  ASSERT_TRUE(c.control().workers()[4].excluded);
  c.at(now + 0.5).die(4);
  EXPECT_EQ(c.control().workers().excluded(), 0u);
  rounds(c, now, {1.0, 1.0, 1.0, 1.0}, 4);
  EXPECT_EQ(policy_of(c).phase(), second);
  EXPECT_EQ(c.running(), (std::vector{0u, 1u, 2u, 3u}));
}

TEST(SyncSwitchStragglers, AnEvictedOneMayRejoin) {
  test::cluster c{watching(elastic), 5};
  double now = 0;
  rounds(c, now, {1.0, 1.0, 1.0, 1.0, 3.0}, 3);
  ASSERT_TRUE(c.control().workers()[4].excluded);
  c.at(now + 0.5).join(4);
  EXPECT_EQ(c.control().workers().excluded(), 0u);
  EXPECT_EQ(c.parked(), std::vector{4u}) << "until the next barrier";
  rounds(c, now, {1.0, 1.0, 1.0, 1.0});
  rounds(c, now, {1.0, 1.0, 1.0, 1.0, 1.0}, 6);
  EXPECT_EQ(c.heard().flushes.back().gradients, 5u) << "it begins anew";
  EXPECT_EQ(c.control().workers().excluded(), 0u);
}

TEST(SyncSwitchStragglers, StragglersAreIgnoredAfterwards) {
  for (const straggler_reaction reaction : {greedy, elastic}) {
    test::metronome m{watching(reaction, 0.5, 16), {1.0, 1.0, 1.0, 1.0}};
    m.run(8);
    ASSERT_EQ(policy_of(m).phase(), second);
    m.set_step_time(3, 9.0);
    m.run(200);
    EXPECT_EQ(policy_of(m).phase(), second);
    EXPECT_EQ(m.control().workers().excluded(), 0u);
    EXPECT_EQ(policy_of(m).stragglers().windows(), 1u) << "nobody looks";
  }
}

TEST(SyncSwitchStragglers, NeitherFormFindsHalf) {
  for (const straggler_options& who : {each_round, published_each_round})
    for (const std::uint32_t slow : {1u, 3u, 4u, 6u}) {
      std::vector<double> times(8, 1.0);
      std::fill_n(times.begin(), slow, 4.0);
      test::metronome evicts{watching(elastic, 0.5, 1000, who), times};
      test::metronome switches{watching(greedy, 0.5, 1000, who), times};
      evicts.run(80), switches.run(80);
      EXPECT_EQ(evicts.control().workers().excluded(), slow < 4 ? slow : 0) << slow << ", test " << who.test;
      EXPECT_EQ(policy_of(switches).phase(), slow < 4 ? second : first) << slow << ", test " << who.test;
    }
}

// Equal workers, whose steps scatter by a few per cent.
TEST(SyncSwitchStragglers, ThePublishedFormFiresOnNoise) {
  const auto evicted = [](const straggler_options& who) {
    test::shared_machine m{watching(elastic, 1.0, 1000, who), 8, [](double n) { return n; }};
    m.jitter = 10;
    m.run(8 * 100);
    EXPECT_TRUE(m.ok());
    return m.control().workers().excluded();
  };
  EXPECT_GT(evicted(published_each_round), 0u);
  EXPECT_EQ(evicted(each_round), 0u);
  const auto left_the_barrier = [](const straggler_options& who) {
    test::shared_machine m{watching(greedy, 1.0, 1000, who), 8, [](double n) { return n; }};
    m.jitter = 10;
    bool ever = false;
    for (int n = 0; n < 8 * 100; ++n) ever |= policy_of(m.run(1)).phase() == second;
    return ever;
  };
  EXPECT_TRUE(left_the_barrier(published_each_round));
  EXPECT_FALSE(left_the_barrier(each_round));
}

TEST(SyncSwitchStragglers, DeathsInEachPhase) {
  test::cluster c{watching(greedy, 0.5, 60), 4};
  double now = 0;
  c.at(1).push(0).at(1).push(1).at(1).push(2).die(3);
  EXPECT_EQ(c.running(), (std::vector{0u, 1u, 2u})) << "nobody waits for the dead";
  EXPECT_EQ(c.heard().flushes.back().gradients, 3u);
  c.join(3);
  now = 10;
  c.at(now).push(0).at(now).push(1).at(now).push(2);
  rounds(c, now, {1.0, 1.0, 1.0, 3.0}, 4);
  ASSERT_EQ(policy_of(c).phase(), second) << "because of a straggler";
  c.at(now + 0.5).die(3);
  c.at(now + 1).push(0);
  EXPECT_EQ(policy_of(c).phase(), first) << "which is no more";
  EXPECT_EQ(c.running(), (std::vector{1u, 2u}));
  c.at(now + 1).push(1).at(now + 1).push(2);
  while (!policy_of(c).share_is_done()) rounds(c, now += 1.0, {1.0, 1.0, 1.0});
  ASSERT_EQ(policy_of(c).phase(), second);
  c.die(0).push(1).push(2).push(1);
  EXPECT_EQ(c.running(), (std::vector{1u, 2u}));
  EXPECT_EQ(c.overrides(), 0u);
}

}  // namespace
}  // namespace rubato::sync_switch_stragglers_test
