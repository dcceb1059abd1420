// Semantics of docs/design.md: 1. Decisions.
#include "../recorder.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>

namespace {

using namespace rubato;
using namespace rubato::test;

TEST(Semantics01Decision, EveryVerbReleasesWhomItNames) {
  const auto released = [](decision d) {
    script s;
    bench<scripted> b{s, 4};
    s.always(decision::hold());
    b.push(2), b.push(0), b.push(1);
    s.always(d);
    return b.push(3);
  };
  EXPECT_EQ(released(decision::submitter()), words{"release 3@4"});
  EXPECT_EQ(released(decision::only(0)), words{"release 0@4"});
  EXPECT_EQ(released(decision::all()), (words{"release 2@4", "release 0@4", "release 1@4", "release 3@4"}));
  EXPECT_EQ(released(decision::up_to(2)), (words{"release 2@4", "release 0@4"}));
  EXPECT_EQ(released(decision::up_to_clock(1)), (words{"release 2@4", "release 0@4", "release 1@4", "release 3@4"}));
  EXPECT_EQ(released(decision::hold()), (words{"release 3@4"})) << "the guard frees one at the minimum clock";
}

TEST(Semantics01Decision, TheSubmitterIsParkedBeforeThePolicyIsAskedAndCounts) {
  std::uint32_t parked = 0;
  script s;
  bench<scripted> b{s, 2};
  s.answer = [&](const cluster_view& v, const event&) {
    parked = v.parked();
    return decision::submitter();
  };
  b.push(0);
  EXPECT_EQ(parked, 1u);
}

TEST(Semantics01Decision, EffectsComeInTheOrderFlushCancelRelease) {
  script s;
  s.verdict_on = [](const cluster_view&, const event&) { return admission::accumulate(); };
  bench<scripted> b{s, 3};
  s.always(decision::hold());
  b.push(0);
  s.answer = [](const cluster_view& v, const event&) {
    return decision::all().with_cancel_below(v.version() + 1).with_flush();
  };
  EXPECT_EQ(b.push(1), (words{"flush 0 x0.5 n2", "cancel 2", "release 0@1", "release 1@1"}));
}

TEST(Semantics01Decision, ExcludeTakesEffectFirstAndThePolicyIsAskedAgain) {
  script s;
  bench<scripted> b{s, 3};
  s.answer = [](const cluster_view& v, const event& what) {
    if (what.why == cause::push) return decision::submitter().with_exclude(2);
    EXPECT_EQ(v.alive(), 2u);
    return decision::all();
  };
  s.seen.clear();
  EXPECT_EQ(b.push(0), words{"release 0@1"});
  ASSERT_EQ(s.seen.size(), 2u);
  EXPECT_EQ(s.seen[1].why, cause::exclude);
  EXPECT_EQ(s.seen[1].worker, 0u) << "the rest of the event still describes the push";
}

TEST(Semantics01Decision, AnExcludedWorkersGradientInFlightIsDroppedAndItsStepCounts) {
  script s;
  bench<scripted> b{s, 3};
  s.on_push(decision::all().with_exclude(2));
  b.push(0);
  const admitted a = b.admit(2);
  EXPECT_EQ(a.what.what, verdict::drop);
  EXPECT_EQ(a.what.why, reason::excluded);
  b.finish(a);
  EXPECT_EQ(b.sink.take(), words{}) << "an excluded worker waits for its readmission";
  EXPECT_EQ(b.clock(2), 1u);
  s.on_push(decision::all().with_readmit(2));
  EXPECT_EQ(b.push(0), (words{"release 0@2", "release 2@2"}));
}

TEST(Semantics01Decision, ExcludingTheLastCountedWorkerReadmitsAll) {
  script s;
  bench<scripted> b{s, 2};
  s.answer = [](const cluster_view&, const event& what) {
    return what.why == cause::push ? decision::all().with_exclude(what.worker) : decision::all();
  };
  b.push(0);
  EXPECT_EQ(b.sync.workers().excluded(), 1u);
  b.push(1);
  EXPECT_EQ(b.sync.workers().excluded(), 0u);
  EXPECT_EQ(b.count(reason::nobody_left), 1u);
}

TEST(Semantics01Decision, TheExcludedReturnWhenTheLastCountedWorkerGoes) {
  script s;
  bench<scripted> b{s, 2};
  s.on_push(decision::all().with_exclude(0));
  b.push(0);
  EXPECT_EQ(b.sync.workers().excluded(), 1u);
  b.depart(1);
  EXPECT_EQ(b.sync.workers().excluded(), 0u);
  EXPECT_EQ(b.count(reason::nobody_left), 1u);
}

TEST(Semantics01Decision, ACancelledWorkerReportsBackAndItsGradientIsDropped) {
  script s;
  bench<scripted> b{s, 2};
  s.answer = [](const cluster_view& v, const event& what) {
    return what.why == cause::push && !what.dropped ? decision::all().with_cancel_below(v.version()) : decision::all();
  };
  EXPECT_EQ(b.push(0), (words{"cancel 1", "release 0@1"}));
  const admitted a = b.admit(1);
  EXPECT_EQ(a.what.why, reason::cancelled);
  EXPECT_EQ(b.commit(a), errc::ok);
  EXPECT_EQ(b.sink.take(), words{"release 1@1"});
  EXPECT_EQ(b.clock(1), 1u);
}

TEST(Semantics01Decision, WakeAtStaysUntilItFiresOrIsReplaced) {
  script s;
  bench<scripted> b{s, 2};
  s.always(decision::submitter().with_wake_at(10.0));
  b.push(0);
  s.always(decision::submitter());
  b.push(0);
  EXPECT_EQ(b.sync.next_deadline(), 10.0);
  s.seen.clear();
  b.sync.poll(9.0, b.sink);
  EXPECT_TRUE(s.seen.empty());
  b.sync.poll(10.0, b.sink);
  ASSERT_EQ(s.seen.size(), 1u);
  EXPECT_EQ(s.seen[0].why, cause::deadline);
  EXPECT_EQ(b.sync.next_deadline(), std::numeric_limits<double>::infinity());
}

TEST(Semantics01Decision, BatchAndLrScaleReachTheGrant) {
  script s;
  bench<scripted> b{s, 1};
  s.always(decision::submitter().with_batch(64).with_lr_scale(0.5F));
  b.sink.grants.clear();
  b.push(0);
  EXPECT_EQ(b.sink.grants, (std::vector<grant>{{.version = 1, .batch = 64, .lr_scale = 0.5F}}));
}

TEST(Semantics01Decision, NonsenseIsLeftOutAndCounted) {
  script s;
  bench<scripted> b{s, 2};
  s.always(
      decision::only(77).with_wake_at(nan_time).with_exclude(99).with_lr_scale(std::numeric_limits<float>::infinity()));
  b.push(0);
  EXPECT_GE(b.count(reason::invalid_decision), 3u);
  EXPECT_EQ(b.sync.next_deadline(), std::numeric_limits<double>::infinity());
}

TEST(Semantics01Decision, RandomOrderReachesEverybody) {
  std::set<std::string> released;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    script s;
    bench<scripted> b{s, 5, {.seed = seed}};
    s.always(decision::hold());
    for (const std::uint32_t w : {0u, 1u, 2u, 3u}) b.push(w);
    s.always(decision::up_to(1, release_order::random));
    for (const std::string& effect : b.push(4)) released.insert(effect);
  }
  EXPECT_EQ(released.size(), 5u);
}

}  // namespace
