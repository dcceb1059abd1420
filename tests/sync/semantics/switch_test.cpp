// Semantics of docs/design.md: 7. switch_to.
#include "../recorder.hpp"

#include <gtest/gtest.h>

namespace {

using namespace rubato;
using namespace rubato::test;

TEST(Semantics07Switch, FlushesOrDiscardsWhatIsPending) {
  for (const auto how : {pending_gradients::flush, pending_gradients::discard}) {
    bench<> b{bsp{}, 3};
    b.push(0), b.push(1);
    EXPECT_EQ(b.sync.switch_to(asp{}, b.now, how, b.sink), errc::ok);
    const bool flushed = how == pending_gradients::flush;
    const std::string version = flushed ? "1" : "0";
    EXPECT_EQ(b.sink.take(),
              (words{flushed ? "flush 0 x0.5 n2" : "discard 0 n2", "release 0@" + version, "release 1@" + version}));
    EXPECT_EQ(b.count(reason::switched), flushed ? 0u : 2u);
    EXPECT_EQ(b.sync.pending(), 0u);
  }
}

TEST(Semantics07Switch, RebasesClocksKeepsDifferencesAndClampsToTheNewBound) {
  bench<> b{asp{}, 3};
  for (int i = 0; i < 2; ++i) b.push(2);
  for (int i = 0; i < 9; ++i) b.push(0);
  for (int i = 0; i < 5; ++i) b.push(1);
  EXPECT_EQ(b.sync.switch_to(ssp{.staleness = 4}, b.now, pending_gradients::flush, b.sink), errc::ok);
  EXPECT_EQ(b.clock(2), 0u);
  EXPECT_EQ(b.clock(1), 3u);
  EXPECT_EQ(b.clock(0), 4u) << "7, clamped to the bound because it is in a step";
  EXPECT_EQ(b.count(reason::clock_clamped), 1u);
}

TEST(Semantics07Switch, ParkedWorkersAreClampedToOneMore) {
  bench<> b{ssp{.staleness = 5}, 2};
  for (int i = 0; i < 6; ++i) b.push(0);
  ASSERT_EQ(b.state(0), worker_state::parked);
  EXPECT_EQ(b.sync.switch_to(ssp{.staleness = 1}, b.now, pending_gradients::flush, b.sink), errc::ok);
  EXPECT_EQ(b.clock(0), 2u);
  EXPECT_EQ(b.state(0), worker_state::parked);
}

TEST(Semantics07Switch, WhatTheFormerPolicyGaveBeyondTheBoundIsGone) {
  script before, after;
  before.bound = after.bound = 1;
  bench<> b{scripted{before}, 3};
  b.push(0), b.push(0);
  ASSERT_EQ(b.state(0), worker_state::parked) << "the guard keeps it back";
  after.answer = [](const cluster_view&, const event& what) {
    return what.why == cause::push ? decision::submitter() : decision::hold();
  };
  EXPECT_EQ(b.sync.switch_to(scripted{after}, b.now, pending_gradients::flush, b.sink), errc::ok);
  b.push(1), b.push(1);
  ASSERT_EQ(b.state(1), worker_state::parked) << "the guard keeps this one back, too";
  b.push(2);
  EXPECT_EQ(b.state(1), worker_state::running);
  EXPECT_EQ(b.state(0), worker_state::parked) << "the new policy has not let it go";
}

TEST(Semantics07Switch, AdmissionsOutKeepTheirVerdict) {
  bench<> b{bsp{}, 2};
  const admitted a = b.admit(0);
  EXPECT_EQ(b.sync.switch_to(asp{}, b.now, pending_gradients::flush, b.sink), errc::ok);
  EXPECT_EQ(b.sink.take(), words{});
  b.finish(a);
  EXPECT_EQ(b.sink.take(), (words{"flush 0 x1 n1", "release 0@1"}));
}

TEST(Semantics07Switch, TheNewPolicyIsAskedWithCauseEnter) {
  script s;
  bench<> b{bsp{}, 2};
  b.push(0);
  EXPECT_EQ(b.sync.switch_to(scripted{s}, b.now, pending_gradients::flush, b.sink), errc::ok);
  ASSERT_EQ(s.seen.size(), 1u);
  EXPECT_EQ(s.seen[0].why, cause::enter);
}

}  // namespace
