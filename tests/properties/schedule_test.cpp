// The invariants, under random schedules. The random host checks every one of them after every call of every run, and
// compares each call with a naive reference; the tests below differ in what they stress.
#include <gtest/gtest.h>

#include <string>

#include "../support/all_policies.hpp"
#include "../support/random_schedule.hpp"

namespace rubato {
namespace {

using test::all_policies;
using test::for_random_schedules;
using test::named_policy;
using test::schedule_options;
using test::schedule_report;

class EveryPolicy : public ::testing::TestWithParam<named_policy> {};

INSTANTIATE_TEST_SUITE_P(Properties, EveryPolicy, ::testing::ValuesIn(all_policies()),
                         [](const auto& tested) { return tested.param.name; });

// Somebody always runs, or will: through departures, returns, failed updates and nonsense, with no guard to help.
TEST_P(EveryPolicy, Liveness) {
  const schedule_report all = for_random_schedules({.schedules = 40, .fault_rate = 0.3}, GetParam().policy);
  EXPECT_GT(all.starts, test::scaled(500));
}

// Every gradient and every ticket has one end, with admissions out in any order, and rounds cut short by switches.
TEST_P(EveryPolicy, Conservation) {
  for_random_schedules({.schedules = 40, .switches = test::policies_of(all_policies()), .seed = 2}, GetParam().policy);
}

TEST_P(EveryPolicy, ManyWorkers) {
  for_random_schedules({.workers = 70, .events = 600, .schedules = 5, .seed = 3}, GetParam().policy);
}

// The guard has nothing to do.
TEST_P(EveryPolicy, NeedsNoGuard) {
  for_random_schedules(
      {.schedules = 40, .switches = test::policies_of(all_policies()), .guard = {.enabled = true}, .seed = 4},
      GetParam().policy);
}

TEST_P(EveryPolicy, SaveLoad) {
  for_random_schedules({.schedules = 30, .fault_rate = 0.05, .reloads = 0.2, .seed = 5}, GetParam().policy);
}

// The same seed gives the same log, bit by bit; another one does not.
TEST_P(EveryPolicy, Determinism) {
  const schedule_options o{.schedules = 5, .switches = test::policies_of(all_policies()), .seed = 6};
  const schedule_report first = for_random_schedules(o, GetParam().policy);
  EXPECT_EQ(first.log, for_random_schedules(o, GetParam().policy).log);
  schedule_options other = o;
  other.seed = 7;
  EXPECT_NE(first.log, for_random_schedules(other, GetParam().policy).log);
}

// Fairness: whoever waited beyond the guard's age goes first among those that the bound and the policy's count allow.
TEST_P(EveryPolicy, Fairness) {
  for (const double max_wait : {0.0, 0.7, 3.0})
    for_random_schedules(
        {.schedules = 10, .guard = {.enabled = true, .max_wait = max_wait}, .overrides = true, .seed = 8},
        GetParam().policy);
}

// A bound that the operator sets holds whatever the policy says.
TEST_P(EveryPolicy, BoundOfTheGuard) {
  for (const clock_type bound : {0u, 1u, 4u})
    for_random_schedules({.schedules = 10,
                          .switches = test::policies_of(all_policies()),
                          .guard = {.enabled = true, .bound = bound},
                          .overrides = true,
                          .seed = 9},
                         GetParam().policy,
                         [&](const test::start& s) { ASSERT_LE(s.clock - s.minimum_clock, bound) << s.describe(); });
}

// Every ordered pair of policies, with the open round flushed and discarded.
TEST_P(EveryPolicy, AllOrderedSwitches) {
  for (const named_policy& next : all_policies())
    for (const auto pending : {pending_gradients::flush, pending_gradients::discard}) {
      SCOPED_TRACE("to " + next.name);
      for_random_schedules({.events = 100, .schedules = 4, .halfway = next.policy, .pending = pending, .seed = 10},
                           GetParam().policy);
      if (HasFailure()) return;
    }
}

// As the first or the second policy of a sync_switch that switches, evicts and readmits often.
TEST_P(EveryPolicy, AsEitherHalfOfASyncSwitch) {
  using pair = sync_switch<any_policy, any_policy>;
  const any_policy& own = GetParam().policy;
  for (const any_policy& other : {any_policy{k_async{.k = 2}}, any_policy{ssp{.staleness = 1}}, any_policy{bsp{}}})
    for (const auto reaction : {straggler_reaction::none, straggler_reaction::greedy, straggler_reaction::elastic}) {
      const sync_switch_options o = test::switching_options(reaction);
      const schedule_options schedule{.events = 250, .schedules = 3, .fault_rate = 0.15, .seed = 12};
      for_random_schedules(schedule, pair{own, other, o});
      for_random_schedules(schedule, pair{other, own, o});
      if (HasFailure()) return;
    }
}

TEST(Ssp, Bound) {
  for (const clock_type s : {0u, 1u, 3u, 17u})
    for_random_schedules(
        {.workers = 9, .events = 1000, .schedules = 10, .seed = 11}, ssp{.staleness = s},
        [&](const test::start& started) { ASSERT_LE(started.clock - started.minimum_clock, s) << started.describe(); });
}

// Whatever a policy answers, the guard keeps the cluster alive, the bound, and every gradient.
TEST(Chaos, CannotBreakThePromises) {
  for (const clock_type bound : {unbounded, clock_type{0}, clock_type{3}}) {
    schedule_options o{.schedules = 300, .guard = {.enabled = true}, .overrides = true, .seed = 12};
    o.switches = {test::chaos{.seed = 2, .bound = bound}, test::chaos{.seed = 3, .bound = 2}, bsp{}, ssp{},
                  test::excluding{}};
    const schedule_report all = for_random_schedules(o, test::chaos{.seed = 1, .bound = bound});
    EXPECT_GT(all.overrides, 0u);
    o.switches.push_back(test::chaos{.seed = 5, .bound = bound, .shaping = false});  // so that many go at once
    for_random_schedules(o, test::chaos{.seed = 6, .bound = bound, .shaping = false});
    o.guard = {.enabled = true, .bound = 2, .max_wait = 0.5};
    for_random_schedules(o, test::chaos{.seed = 4, .bound = bound});
  }
}

}  // namespace
}  // namespace rubato
