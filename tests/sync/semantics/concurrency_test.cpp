// Semantics of docs/design.md: 4. Concurrency.
#include "../recorder.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace {

using namespace rubato;
using namespace rubato::test;

TEST(Semantics04Concurrency, StalenessCountsUpdatesAdmittedSinceTheGrant) {
  bench<asp> b{{}, 3};
  const admitted first = b.admit(0);
  const admitted second = b.admit(1);
  EXPECT_EQ(first.staleness, 0u);
  EXPECT_EQ(second.staleness, 1u) << "the first is decided, though its commit is out";
  b.finish(second);
  EXPECT_EQ(b.sink.take(), words{"release 1@1"}) << "a grant names committed updates only";
  EXPECT_EQ(b.admit(1).staleness, 1u);
}

TEST(Semantics04Concurrency, AVersionReadBelowTheGrantCountsAsStaleness) {
  bench<asp> b{{}, 2};
  b.push(0), b.push(0), b.push(0);
  EXPECT_EQ(b.admit(0, {.read = {.lowest = 1, .highest = 3}}).staleness, 2u);
}

TEST(Semantics04Concurrency, ClockAndMinimumTickInCommit) {
  bench<ssp> b{{.staleness = 0}, 2};
  const admitted a = b.admit(0);
  EXPECT_EQ(b.clock(0), 0u);
  b.finish(a);
  EXPECT_EQ(b.clock(0), 1u);
}

TEST(Semantics04Concurrency, EveryTokenIsCommittedOnce) {
  bench<asp> b{{}, 2};
  const admitted a = b.admit(0);
  EXPECT_EQ(b.commit(a), errc::ok);
  EXPECT_EQ(b.commit(a, 55), errc::invalid_token);
  EXPECT_EQ(b.sink.take().back(), "abandon 55 invalid_token");
  EXPECT_EQ(b.sync.version(), 1u);
}

TEST(Semantics04Concurrency, ATokenOfNobodyIsRefusedAndCounted) {
  bench<asp> b{{}, 2};
  b.sink.take();
  EXPECT_EQ(b.commit({}, 55), errc::invalid_token);
  EXPECT_EQ(b.sink.take(), words{"abandon 55 invalid_token"});
  EXPECT_EQ(b.sync.counts().total(reason::invalid_token), 1u);
}

TEST(Semantics04Concurrency, AnOutcomeThatIsNoneIsAFailure) {
  bench<asp> b{{}, 2};
  EXPECT_EQ(b.commit(b.admit(0), 7, static_cast<outcome>(77)), errc::ok);
  EXPECT_EQ(b.sync.counts().total(reason::failed), 1u);
}

TEST(Semantics04Concurrency, ADeadWorkersTokenIsCommittedAndThePolicyAskedAllTheSame) {
  script s;
  bench<scripted> b{s, 2};
  const admitted a = b.admit(0);
  b.depart(0);
  s.seen.clear();
  EXPECT_EQ(b.commit(a, 7), errc::ok);
  EXPECT_EQ(b.sink.take(), words{"abandon 7 departed_worker"});
  EXPECT_EQ(b.sync.version(), 1u);
  ASSERT_EQ(s.seen.size(), 1u);
}

TEST(Semantics04Concurrency, AJoinWhileTheOldIncarnationHasAnAdmissionOutWaitsForItsCommit) {
  bench<asp> b{{}, 2};
  const admitted a = b.admit(0);
  b.depart(0);
  EXPECT_EQ(b.join(0, 1, 9), words{});
  b.finish(a, 7);
  EXPECT_EQ(b.sink.take(), (words{"abandon 7 departed_worker", "release 0@1"}));
}

TEST(Semantics04Concurrency, PendingIsTrueOnlyForAGradientThatWaitsInTheOpenRound) {
  const auto pending_after = [](outcome how, float loss, bool switched) {
    script s;
    s.verdict_on = [](const cluster_view&, const event&) { return admission::accumulate(); };
    bench<scripted> b{s, 2};
    const admitted a = b.admit(0, {.loss = loss});
    if (switched) {
      EXPECT_EQ(b.sync.switch_to(s, b.now, pending_gradients::flush, b.sink), errc::ok);
    }
    s.seen.clear();
    b.finish(a, 1, how);
    return s.seen.at(0).pending;
  };
  EXPECT_TRUE(pending_after(outcome::done, 1.0F, false));
  EXPECT_FALSE(pending_after(outcome::failed, 1.0F, false));
  EXPECT_FALSE(pending_after(outcome::done, std::numeric_limits<float>::quiet_NaN(), false));
  EXPECT_FALSE(pending_after(outcome::done, 1.0F, true));
}

TEST(Semantics04Concurrency, TimeThatRunsBackIsClampedAndCounted) {
  script s;
  bench<scripted> b{s, 2};
  b.push(0);
  const double latest = b.now;
  EXPECT_EQ(b.sync.push({.worker = {1, 0}, .now = latest - 0.5}, 1, b.sink), errc::ok);
  EXPECT_EQ(s.seen.back().now, latest);
  EXPECT_EQ(b.count(reason::time_clamped), 2u) << "once in admit, once in commit";
}

TEST(Semantics04Concurrency, NonFiniteTimeIsRefused) {
  bench<asp> b{{}, 2};
  EXPECT_EQ(b.sync.push({.worker = {0, 0}, .now = nan_time}, 5, b.sink), errc::invalid_time);
  EXPECT_EQ(b.sink.take(), words{"abandon 5 invalid_time"});
  EXPECT_EQ(b.state(0), worker_state::running);
  EXPECT_EQ(b.sync.join({1, 3}, nan_time, 6, b.sink), errc::invalid_time);
  EXPECT_EQ(b.sync.depart({1, 0}, nan_time, cause::death, b.sink), errc::invalid_time);
  b.sync.poll(nan_time, b.sink);
  EXPECT_EQ(b.count(reason::invalid_time), 4u);
}

}  // namespace
