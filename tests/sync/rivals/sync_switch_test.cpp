#include <rubato/sync/rivals/sync_switch.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/rivals/aap.hpp>
#include <rubato/sync/rivals/batched.hpp>
#include <rubato/sync/rivals/k_async.hpp>
#include <rubato/sync/rivals/k_batch_async.hpp>
#include <rubato/sync/rivals/zipline.hpp>
#include <rubato/sync/ssp.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../../support/cluster.hpp"
#include "../../support/metronome.hpp"
#include "switching.hpp"

namespace rubato::sync_switch_test {
namespace {

using test::policy_of;
using test::published_each_round;
using test::scribe;
using test::watching;
constexpr auto first = switch_phase::first;
constexpr auto second = switch_phase::second;
constexpr auto greedy = straggler_reaction::greedy;
constexpr auto elastic = straggler_reaction::elastic;

TEST(SyncSwitch, BeginsWithTheFirstUnlessThatHasNoShare) {
  EXPECT_EQ((sync_switch<>{{.share = 0.25, .workload = 24}}.phase()), first);
  EXPECT_EQ((sync_switch<>{{.share = 0.0, .workload = 24}}.phase()), second);
}

// A barrier whose updates go half as far as their mean.
struct halving : bsp {
  [[nodiscard]] decision release(const cluster_view& view, const event&) const noexcept {
    return view.busy() > 0 ? decision::hold() : decision::all().with_flush(0.5F);
  }
};

TEST(SyncSwitch, TheRoundBeforeTheSwitchIsFlushedAtTheScaleOfTheFirst) {
  test::cluster c{sync_switch{halving{}, asp{}, {.share = 0.5, .workload = 4}}, 2};
  c.push(0).push(1);
  EXPECT_EQ(policy_of(c).phase(), second);
  EXPECT_EQ(c.heard().flushes, (std::vector{test::effects::flushed{0, 0.25F, 2}}));
}

TEST(SyncSwitch, SavesBothOfItsPolicies) {
  using planned = detail::dynarray<std::uint32_t>;
  const auto of = [](std::uint32_t one, std::uint32_t other) {
    zipline a, b;
    a.left = planned(1, one), b.left = planned(1, other);
    return sync_switch{std::move(a), std::move(b), {.share = 0.5, .workload = 4}};
  };
  const auto saved = [](auto policy) {
    archive bytes;
    policy.state(bytes);
    return std::string(reinterpret_cast<const char*>(bytes.bytes().data()), bytes.bytes().size());
  };
  const std::string bytes = saved(of(2, 3));
  EXPECT_NE(bytes, saved(of(1, 3)));
  EXPECT_NE(bytes, saved(of(2, 1)));
  auto again = of(0, 0);
  archive from{std::as_bytes(std::span{bytes})};
  again.state(from);
  EXPECT_TRUE(from.finished());
  EXPECT_EQ(saved(again), bytes);
}

TEST(SyncSwitch, SwitchesAtTheBarrierOnceTheShareIsDone) {
  test::cluster c{sync_switch<>{{.share = 0.25, .workload = 24}}, 4};
  c.push(0).push(1).push(2).push(3);
  EXPECT_EQ(policy_of(c).steps_of_share(), 4u);
  c.push(0).push(1);
  EXPECT_TRUE(policy_of(c).share_is_done()) << "six of six, in the middle of a round";
  EXPECT_EQ(policy_of(c).phase(), first);
  EXPECT_EQ(c.parked(), (std::vector{0u, 1u}));
  c.push(2).push(3);
  EXPECT_EQ(policy_of(c).phase(), second);
  EXPECT_EQ(policy_of(c).steps_of_share(), 8u);
  ASSERT_EQ(c.heard().flushes.size(), 2u);
  EXPECT_EQ(c.heard().flushes.back(), (test::effects::flushed{1, 0.25F, 4})) << "the round is whole";
  EXPECT_EQ(c.running().size(), 4u);
  c.push(2);
  EXPECT_EQ(c.running().size(), 4u) << "nobody waits";
  EXPECT_EQ(policy_of(c).steps_in_phase(), 1u);
  EXPECT_EQ(policy_of(c).steps_of_share(), 8u);
  EXPECT_EQ(c.heard().flushes.size(), 2u);
  EXPECT_EQ(c.control().version(), 3u) << "each gradient is an update";
}

// Nothing is kept for a round there, and yet the barrier is waited for.
TEST(SyncSwitch, WaitsForABarrierWithoutARound) {
  test::cluster c{sync_switch{bsp{bsp::sum}, asp{}, {.share = 0.25, .workload = 24}}, 4};
  for (const std::uint32_t w : {0u, 1u, 2u, 3u, 0u, 1u}) c.push(w);
  EXPECT_TRUE(policy_of(c).share_is_done());
  EXPECT_EQ(c.parked(), (std::vector{0u, 1u}));
  c.push(2).push(3);
  EXPECT_EQ(policy_of(c).phase(), second);
  EXPECT_EQ(c.running().size(), 4u);
}

TEST(SyncSwitch, DroppedAndFailedAreNoSteps) {
  test::cluster c{sync_switch<>{{.share = 0.5, .workload = 4}}, 2};
  c.push(0, std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(policy_of(c).steps_of_share(), 0u);
  c.commit(c.admit(1), outcome::failed);
  EXPECT_EQ(policy_of(c).steps_of_share(), 0u);
  c.push(0).push(1);
  EXPECT_EQ(policy_of(c).steps_of_share(), 2u);
  EXPECT_EQ(policy_of(c).phase(), second);
}

TEST(SyncSwitch, WhatTheDeadHadAdmittedIsNoStep) {
  test::cluster c{sync_switch<>{{.share = 0.5, .workload = 100}}, 3};
  const admitted out = c.admit(2);
  c.die(2).commit(out).push(0).push(1);
  EXPECT_EQ(c.heard().flushes.back().gradients, 3u);
  EXPECT_EQ(policy_of(c).steps_of_share(), 2u);
}

TEST(SyncSwitch, CutsNoRoundShort) {
  test::cluster c{sync_switch{k_batch_async{.k = 4}, asp{}, {.share = 0.5, .workload = 12}}, 2};
  for (const std::uint32_t w : {0u, 1u, 0u, 1u, 0u, 1u, 0u}) c.push(w);
  EXPECT_TRUE(policy_of(c).share_is_done());
  EXPECT_EQ(policy_of(c).phase(), first) << "three gradients of a round are in";
  c.push(1);
  EXPECT_EQ(policy_of(c).phase(), second);
  ASSERT_EQ(c.heard().flushes.size(), 2u);
  for (const auto& flush : c.heard().flushes) EXPECT_EQ(flush.gradients, 4u);
}

TEST(SyncSwitch, WhatIsInTheNextRoundIsFlushed) {
  test::cluster c{sync_switch{k_batch_async{.k = 2}, asp{}, {.share = 0.5, .workload = 4}}, 3};
  const admitted a = c.admit(0), b = c.admit(1), early = c.admit(2);
  EXPECT_EQ(early.round, 1u);
  c.commit(a).commit(b);
  EXPECT_EQ(policy_of(c).phase(), second);
  EXPECT_EQ(c.heard().flushes, (std::vector<test::effects::flushed>{{0, 0.5F, 2}}));
  c.commit(early);
  EXPECT_EQ(c.heard().flushes.back(), (test::effects::flushed{1, 1.0F, 1}));
  EXPECT_EQ(c.control().pending(), 0u);
  EXPECT_EQ(c.running().size(), 3u);
}

TEST(SyncSwitch, AsksTheSecondAfresh) {
  std::vector<std::string> one, other;
  test::cluster c{sync_switch{scribe{&one, 10.0}, scribe{&other}, {.share = 0.5, .workload = 4}}, 2};
  c.push(0);
  EXPECT_EQ(c.control().next_deadline(), 11.0);
  one.clear(), other.clear();
  c.push(1);
  EXPECT_EQ(one, (std::vector<std::string>{"step1", "push1"}));
  EXPECT_EQ(other, (std::vector<std::string>{"forget0", "forget1", "enter"}));
  EXPECT_EQ(c.control().next_deadline(), std::numeric_limits<double>::infinity()) << "the first one's wish is void";
  c.push(0);
  EXPECT_EQ(one.size(), 2u);
  EXPECT_EQ(other.back(), "push0");
}

// Two rules with rounds: the one that waits at the end of the last round of the first is in none of the second.
TEST(SyncSwitch, AllStartWhereARoundIsFlushed) {
  std::vector<std::string> other;
  test::cluster c{sync_switch{bsp{}, scribe{&other}, {.share = 0.5, .workload = 4}}, 2};
  c.push(0);
  other.clear();
  c.push(1);
  EXPECT_EQ(policy_of(c).phase(), second);
  EXPECT_EQ(c.running(), (std::vector{0u, 1u}));
  EXPECT_EQ(c.heard().flushes.size(), 1u);
  EXPECT_EQ(other, (std::vector<std::string>{"forget0", "forget1"}));
  EXPECT_EQ(c.control().next_deadline(), 2.0) << "at once";
  c.poll();
  EXPECT_EQ(other.back(), "enter");
  c.push(0);
  EXPECT_EQ(other.back(), "push0");

  test::cluster rounds_of_four{sync_switch{k_async{.k = 2}, k_async{.k = 4}, {.share = 0.5, .workload = 4}}, 4};
  rounds_of_four.push(0).push(1);
  EXPECT_EQ(rounds_of_four.running().size(), 4u);
  rounds_of_four.push(0).push(1).push(2);
  EXPECT_EQ(rounds_of_four.parked(), (std::vector{0u, 1u, 2u}));
  rounds_of_four.push(3);
  EXPECT_EQ(rounds_of_four.running().size(), 4u);
  EXPECT_EQ(rounds_of_four.overrides(), 0u);
}

// Whatever it answers to what comes between, the second policy enters at once, and not when it wants to be woken.
TEST(SyncSwitch, EntersBeforeItIsWoken) {
  std::vector<std::string> other;
  test::cluster c{sync_switch{bsp{}, scribe{&other, 10.0}, {.share = 0.5, .workload = 4}}, 2};
  c.push(0).at(2).push(1);
  ASSERT_EQ(c.control().next_deadline(), 2.0);
  c.at(2).push(0);
  EXPECT_EQ(other.back(), "push0");
  EXPECT_EQ(c.control().next_deadline(), 2.0);
  c.at(2).poll();
  EXPECT_EQ(other.back(), "enter");
  EXPECT_EQ(c.control().next_deadline(), 12.0);
}

TEST(SyncSwitch, StartsOnlyWhomTheSecondBoundLetsGo) {
  test::cluster c{sync_switch{k_async{.k = 2}, ssp{.staleness = 0}, {.share = 0.5, .workload = 12}}, 3};
  c.push(0).push(1).push(0).push(1).push(0).push(1);
  ASSERT_EQ(policy_of(c).phase(), second);
  EXPECT_EQ(c.running(), std::vector{2u}) << "the others are ahead of it";
  c.poll();
  c.push(2);
  EXPECT_EQ(c.running().size(), 3u);
  EXPECT_EQ(c.overrides(), 0u);
}

TEST(SyncSwitch, RebasesToATighterBound) {
  const auto run_ahead = [](auto next) {
    test::cluster c{sync_switch{asp{}, std::move(next), {.share = 0.5, .workload = 24}}, 3};
    for (const std::uint32_t w : {0u, 1u, 2u, 0u, 1u, 2u, 0u, 0u, 0u, 0u, 0u}) c.push(w);
    EXPECT_EQ(policy_of(c).clock_bound(), unbounded);
    c.push(0);
    EXPECT_EQ(policy_of(c).phase(), second);
    EXPECT_EQ(policy_of(c).clock_bound(), 1u);
    EXPECT_EQ(c.count(reason::clock_clamped), 1u);
    EXPECT_EQ(c.clock(0), 2u) << "it was six steps ahead, and has not started one";
    EXPECT_EQ(c.parked(), std::vector{0u});
    c.poll();
    c.push(1);
    EXPECT_EQ(c.parked(), std::vector{0u});
    c.push(2);
    EXPECT_EQ(c.running().size(), 3u) << "it is one step ahead";
    EXPECT_EQ(c.overrides(), 0u);
  };
  run_ahead(ssp{.staleness = 1});
  run_ahead(aap{.floor = 0, .staleness = 1});  // which remembers clocks
}

TEST(SyncSwitch, JoinsInEachPhase) {
  test::cluster c{sync_switch<>{{.share = 0.5, .workload = 10}}, 2, {.capacity = 4}};
  c.push(0).join(2);
  EXPECT_EQ(c.parked(), (std::vector{0u, 2u}));
  c.push(1);
  EXPECT_EQ(c.running(), (std::vector{0u, 1u, 2u})) << "from the barrier on";
  c.push(0).push(1).push(2);
  ASSERT_EQ(policy_of(c).phase(), second);
  c.join(3);
  EXPECT_EQ(c.running(), (std::vector{0u, 1u, 2u, 3u})) << "at once";
}

// Loads what a controller saved into another one, which goes on under the same options.
template <class Policy>
[[nodiscard]] controller<Policy, std::uint32_t> reloaded(const controller<Policy, std::uint32_t>& from,
                                                         const Policy& with) {
  archive saved;
  EXPECT_EQ(from.save(saved), errc::ok);
  controller<Policy, std::uint32_t> to{{.capacity = from.workers().capacity()}, with};
  archive bytes{saved.bytes()};
  EXPECT_EQ(to.load(bytes, [](worker_id who) { return std::optional{who.index}; }), errc::ok);
  return to;
}

TEST(SyncSwitch, SavesInEachPhase) {
  const auto expect_goes_on = [](const sync_switch<>& policy, std::uint32_t steps, double slow) {
    test::metronome m{policy, {1.0, 1.0, 1.0, 1.0, slow}};
    m.run(steps);
    test::metronome twin = m;
    const auto loaded = reloaded(m.control(), policy);
    EXPECT_EQ(loaded.policy().phase(), policy_of(m).phase());
    EXPECT_EQ(loaded.policy().steps_of_share(), policy_of(m).steps_of_share());
    EXPECT_EQ(loaded.policy().steps_in_phase(), policy_of(m).steps_in_phase());
    EXPECT_EQ(loaded.policy().stragglers().count(), policy_of(m).stragglers().count());
    EXPECT_EQ(loaded.workers().excluded(), m.control().workers().excluded());
    m.control() = loaded;
    m.run(200), twin.run(200);
    EXPECT_TRUE(m.ok() && twin.ok());
    EXPECT_EQ(m.trace(), twin.trace()) << "after " << steps << " steps";
    EXPECT_EQ(policy_of(m).phase(), second);
  };
  for (const straggler_reaction reaction : {straggler_reaction::none, greedy, elastic})
    for (const std::uint32_t steps : {0u, 3u, 14u, 15u, 17u, 23u, 70u})
      expect_goes_on(watching(reaction, 0.25, 160), steps, 3.0);
}

TEST(SyncSwitch, RefusesWhatAnotherPairSaved) {
  using any_pair = sync_switch<any_policy, any_policy>;
  const sync_switch_options o{.share = 0.5, .workload = 10};
  const auto loads = [&](const any_pair& into) {
    const controller<any_pair, std::uint32_t> from{{.capacity = 2}, any_pair{bsp{}, asp{}, o}};
    archive saved;
    EXPECT_EQ(from.save(saved), errc::ok);
    controller<any_pair, std::uint32_t> to{{.capacity = 2}, into};
    archive bytes{saved.bytes()};
    return to.load(bytes, [](worker_id who) { return std::optional{who.index}; });
  };
  EXPECT_EQ(loads(any_pair{bsp{}, asp{}, o}), errc::ok);
  EXPECT_EQ(loads(any_pair{ssp{}, asp{}, o}), errc::corrupt);
  EXPECT_EQ(loads(any_pair{bsp{}, k_batch_async{}, o}), errc::corrupt);
  EXPECT_EQ(loads(any_pair{bsp{}, asp{}, {.share = 0.25, .workload = 10}}), errc::corrupt);
  EXPECT_EQ(loads(any_pair{bsp{}, asp{}, {.share = 0.5, .workload = 11}}), errc::corrupt);
  EXPECT_EQ(loads(any_pair{bsp{}, asp{}, {.share = 0.5, .workload = 10, .reaction = greedy}}), errc::corrupt);
}

// With scales_rate a host that multiplies by what it is told needs no more than the momentum.
TEST(SyncSwitch, FlushesAreWhatTheConfigurationSays) {
  const switch_configuration told{.batch = 1, .learning_rate = 0.1};
  test::cluster c{sync_switch<>{{.share = 0.5, .workload = 14, .scales_rate = true}}, 4};
  const auto rate_of_the_mean = [&] {
    const auto& last = c.heard().flushes.back();
    return 0.1 * static_cast<double>(last.scale) * last.gradients;
  };
  c.push(0).push(1).push(2).push(3);
  EXPECT_DOUBLE_EQ(rate_of_the_mean(), told.at(first, 0, 4).learning_rate);
  EXPECT_EQ(c.heard().flushes.back().gradients, told.at(first, 0, 4).global_batch);
  c.die(3).push(0).push(1).push(2);
  EXPECT_NEAR(rate_of_the_mean(), told.at(first, 0, 3).learning_rate, 1e-7) << "the last one before the switch";
  ASSERT_EQ(policy_of(c).phase(), second);
  const admitted alone = c.admit(0);
  EXPECT_EQ(alone.what.weight, 1.0F);
  EXPECT_EQ(c.heard().releases.back().terms.lr_scale, 1.0F);
  EXPECT_DOUBLE_EQ(told.at(second, 0, 3).learning_rate, 0.1);

  test::cluster completing{sync_switch{k_batch_async{.k = 3}, asp{}, {.scales_rate = true}}, 2};
  completing.push(0).push(1).push(0);
  EXPECT_FLOAT_EQ(completing.heard().flushes.back().scale, 1.0F) << "the sum of three";
}

TEST(SyncSwitch, AnyPair) {
  static_assert(SyncPolicy<sync_switch<>> && SyncPolicy<sync_switch<ssp, aap>>);
  static_assert(SyncPolicy<sync_switch<any_policy, any_policy>> && may_accumulate<sync_switch<>>);
  static_assert(!may_accumulate<sync_switch<asp, ssp>>);
  const auto goes = [](auto one, auto other) {
    test::metronome m{sync_switch{one, other, {.share = 0.5, .workload = 40}}, {1.0, 1.5, 1.75, 4.0}};
    m.run(19);
    EXPECT_EQ(policy_of(m).phase(), first);
    m.run(21);
    EXPECT_EQ(policy_of(m).phase(), second);
    m.run(40);
    EXPECT_TRUE(m.ok());
    EXPECT_EQ(m.control().counts().overrides(), 0u);
  };
  goes(asp{}, bsp{});
  goes(ssp{.staleness = 2}, k_async{.k = 2});
  goes(any_policy{k_async{.k = 3}}, any_policy{ssp{.staleness = 1}});
  goes(batched{bsp{}, 4}, batched{asp{}, 2});
  EXPECT_FALSE(shapes_of(sync_switch<>{}));

  test::cluster c{sync_switch{batched{bsp{}, 4}, asp{}, {.share = 0.5, .workload = 4}}, 2};
  EXPECT_EQ(c.heard().releases.back().terms.batch, 4u);
  c.push(0).push(1);
  EXPECT_EQ(c.heard().releases.back().terms.batch, 0u) << "the host's default";
}

// Worker 0 waits under ssp for the step of worker 1, and then, since the switch comes before it may go, under bsp for
// that of worker 2: five units of time where the longest step takes four.
TEST(SyncSwitch, WaitsNoLongerThanBoth) {
  test::cluster c{sync_switch{ssp{.staleness = 1}, bsp{}, {.share = 0.5, .workload = 8}}, 3};
  c.at(1).push(0).at(2).push(0).at(3).push(2);
  EXPECT_EQ(c.parked(), (std::vector{0u})) << "from 2 on";
  c.at(4).push(1);
  EXPECT_EQ(policy_of(c).phase(), second);
  EXPECT_EQ(c.parked(), (std::vector{0u, 1u}));
  c.at(7).push(2);
  EXPECT_EQ(c.running().size(), 3u);
  const double waited = 7 - 2, longest_step = 4;
  EXPECT_GT(waited, longest_step * ssp{}.max_legal_wait(0));
  EXPECT_GT(waited, longest_step * bsp{}.max_legal_wait(0));
  EXPECT_LE(waited, longest_step * policy_of(c).max_legal_wait(0));
}

TEST(SyncSwitch, OnlyAPolicyThatMayBeInChargeMakesOthersWait) {
  const auto wait = [](const auto& policy) { return policy.max_legal_wait(0); };
  const zipline three{.lookahead = 3};
  EXPECT_EQ(wait(sync_switch{three, bsp{}}), 4.0);
  EXPECT_EQ(wait(sync_switch{three, bsp{}, {.share = 1.0}}), 3.0);
  EXPECT_EQ(wait(sync_switch{three, bsp{}, {.share = 0.0}}), 1.0);
  EXPECT_EQ(wait(sync_switch{three, bsp{}, {.share = 1.0, .reaction = greedy}}), 4.0) << "it may go there";
  EXPECT_EQ(wait(sync_switch{three, bsp{}, {.share = 0.0, .reaction = greedy}}), 1.0) << "and from there nowhere";
  EXPECT_EQ(wait(sync_switch{k_async{}, asp{}}), std::numeric_limits<double>::infinity());
  EXPECT_EQ(wait(sync_switch<>{{.reaction = elastic}}), std::numeric_limits<double>::infinity()) << "the excluded";
}

TEST(SyncSwitch, RefusesBadOptions) {
  const auto problem = [](const sync_switch_options& o) { return sync_switch<>{o}.problem(4); };
  EXPECT_EQ(problem({}), "");
  EXPECT_EQ(problem({.share = 0.0}), "");
  EXPECT_EQ(problem({.share = -0.1}), "share is -0.1, expected a number from 0 to 1");
  EXPECT_EQ(problem({.share = 12.5}), "share is 12.5, expected a number from 0 to 1");
  EXPECT_EQ(problem({.share = std::numeric_limits<double>::quiet_NaN()}),
            "share is nan, expected a number from 0 to 1");
  EXPECT_EQ(problem({.workload = 0}), "workload is 0, expected at least 1");
  EXPECT_EQ(problem({.reaction = static_cast<straggler_reaction>(3)}),
            "reaction is 3, expected none, greedy or elastic");
  const straggler_options bad{.slow = 2.0};
  EXPECT_EQ(problem({.stragglers = bad}), "") << "nobody looks";
  EXPECT_EQ(problem({.reaction = elastic, .stragglers = bad}),
            "stragglers.slow is 2, expected a share between 0 and 1");
  EXPECT_EQ((sync_switch{k_async{.k = 5}, asp{}}.problem(4)), "k is 5, expected 1 to 4, the number of workers");
  EXPECT_EQ((sync_switch{bsp{}, k_async{.k = 0}}.problem(4)), "k is 0, expected 1 to 4, the number of workers");
  EXPECT_FALSE((controller<sync_switch<>, int>::make({.capacity = 2}, sync_switch<>{{.share = 2.0}})));
}

TEST(SyncSwitch, DescribesItself) {
  const sync_switch<> plain{{.share = 0.125, .workload = 2000}};
  EXPECT_EQ(plain.describe().line, "syncswitch: bsp for 0.125 of 2000 steps, then asp");
  EXPECT_EQ(plain.describe().json,
            R"({"kind":"syncswitch","share":0.125,"workload":2000,"reaction":"none","scales_rate":false,)"
            R"("first":{"kind":"bsp","aggregate":"mean"},"second":{"kind":"asp"}})");
  const sync_switch<> full{{.reaction = elastic, .stragglers = published_each_round, .scales_rate = true}};
  EXPECT_EQ(
      full.describe().line,
      "syncswitch: bsp for 0.0625 of 64000 steps, then asp; elastic about stragglers; the rate of an update grows "
      "with its gradients");
  EXPECT_NE(full.describe().json.find(R"("reaction":"elastic","stragglers":{"test":"published","window":0,"steps":1,)"
                                      R"("windows":3,"slow":0.8,"recovered":0.9},"scales_rate":true,)"),
            std::string::npos)
      << full.describe().json;
}

}  // namespace
}  // namespace rubato::sync_switch_test
