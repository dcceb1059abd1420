// The numbered semantics of docs/design.md, one group of tests each.
#include "recorder.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace {

using namespace rubato;
using test::bench;
using test::recorder;
using test::script;
using test::scripted;
using test::words;

constexpr double nan_time = std::numeric_limits<double>::quiet_NaN();

// 1. Decisions

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

// 2. Aggregation

TEST(Semantics02Aggregation, FlushWaitsForEveryAdmissionOfItsRound) {
  bench<bsp> b{{}, 2};
  const admitted first = b.admit(0);
  const admitted second = b.admit(1);
  EXPECT_EQ(first.round, second.round);
  EXPECT_EQ(b.commit(second), errc::ok);
  EXPECT_EQ(b.sink.take(), words{});
  EXPECT_EQ(b.commit(first), errc::ok);
  EXPECT_EQ(b.sink.take(), (words{"flush 0 x0.5 n2", "release 1@1", "release 0@1"}));
}

TEST(Semantics02Aggregation, ScaleIsDividedByTheAddsThatSucceeded) {
  bench<bsp> b{{}, 3};
  b.push(0);
  EXPECT_EQ(b.commit(b.admit(1), 100, outcome::failed), errc::ok);
  b.sink.take();
  EXPECT_EQ(b.push(2).front(), "flush 0 x0.5 n2");
  EXPECT_EQ(b.count(reason::failed), 1u);
}

TEST(Semantics02Aggregation, ARoundWhoseAddsAllFailedIsDiscardedAndItsVersionIsAGap) {
  bench<bsp> b{{}, 1};
  EXPECT_EQ(b.commit(b.admit(0), 100, outcome::failed), errc::ok);
  EXPECT_EQ(b.sink.take(), (words{"discard 0 n0", "release 0@1"}));
}

TEST(Semantics02Aggregation, ADiscardSaysWhetherItsAddsFailedOrAPolicyWasReplaced) {
  std::vector<reason> because;
  const auto watch = [&](const record& r) noexcept {
    if (r.what == record::kind::discard) because.push_back(r.because);
  };
  controller<bsp, int, decltype(watch)> sync{{.capacity = 1}, {}, watch};
  recorder sink;
  EXPECT_EQ(sync.join({0, 0}, 0.0, 1, sink), errc::ok);
  const admitted first = sync.admit({.worker = {0, 0}, .now = 1.0});
  EXPECT_EQ(sync.commit(first.work, 1.0, outcome::failed, 1, sink), errc::ok);
  const admitted second = sync.admit({.worker = {0, 0}, .now = 2.0});
  EXPECT_EQ(sync.switch_to(bsp{}, 2.0, pending_gradients::discard, sink), errc::ok);
  EXPECT_EQ(sync.commit(second.work, 2.0, outcome::done, 1, sink), errc::ok);
  EXPECT_EQ(because, (std::vector{reason::failed, reason::switched}));
}

TEST(Semantics02Aggregation, AccumulateAndFlushClosesTheRoundAtAdmission) {
  script s;
  s.verdict_on = [](const cluster_view& v, const event&) {
    return v.round_admissions() == 1 ? admission::accumulate_and_flush() : admission::accumulate();
  };
  bench<scripted> b{s, 3};
  s.on_push(decision::submitter());
  const admitted a = b.admit(0);
  const admitted c = b.admit(1);
  const admitted d = b.admit(2);
  EXPECT_EQ(a.round, 0u);
  EXPECT_EQ(c.round, 0u);
  EXPECT_EQ(d.round, 1u) << "the next round is open although the first is not flushed yet";
  b.finish(c), b.finish(d);
  EXPECT_EQ(b.sink.take(), (words{"release 1@0", "release 2@0"}));
  b.finish(a);
  EXPECT_EQ(b.sink.take(), (words{"flush 0 x0.5 n2", "release 0@1"}));
}

TEST(Semantics02Aggregation, DeathFlushesWhatTheSurvivorsGave) {
  bench<bsp> b{{}, 3};
  b.push(0), b.push(1);
  EXPECT_EQ(b.depart(2), (words{"flush 0 x0.5 n2", "release 0@1", "release 1@1"}));
}

// 3. Applied step

TEST(Semantics03AppliedStep, IsGrantTimesAdmissionTimesSamples) {
  EXPECT_FLOAT_EQ(applied_weight({.lr_scale = 0.5F}, 0.25F, 32, 16), 0.25F);
}

// 4. Concurrency

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

// 5. Refused and dropped

TEST(Semantics05Refused, DepartureForAnotherCauseThanLeaveDeathAndDoneIsRefused) {
  bench<asp> b{{}, 2};
  EXPECT_EQ(b.sync.depart({1, 0}, 1.0, cause::push, b.sink), errc::invalid_option);
  EXPECT_EQ(b.state(1), worker_state::running);
  EXPECT_EQ(b.count(reason::invalid_cause), 1u);
}

TEST(Semantics05Refused, ChangesNothingAndAbandonsTheTicket) {
  bench<asp> b{{}, 2, {.capacity = 3, .quorum = 2}};
  const auto push = [&](worker_id who) { return b.sync.push({.worker = who, .now = b.now += 1}, 5, b.sink); };
  EXPECT_EQ(push({9, 0}), errc::unknown_worker);
  EXPECT_EQ(push({2, 0}), errc::unknown_worker) << "never joined";
  EXPECT_EQ(push({0, 4}), errc::old_incarnation);
  EXPECT_EQ(b.sink.take(),
            (words{"abandon 5 unknown_worker", "abandon 5 unknown_worker", "abandon 5 old_incarnation"}));
  b.depart(1);
  EXPECT_EQ(push({1, 0}), errc::departed_worker);
  EXPECT_EQ(b.sink.take(), words{"abandon 5 departed_worker"});
  EXPECT_EQ(b.sync.updates(), 0u);
  EXPECT_EQ(b.clock(0), 0u);
}

TEST(Semantics05Dropped, TheStepCountsAndTheGradientDoesNot) {
  bench<asp> b{{}, 2};
  const admitted a = b.admit(0, {.loss = std::numeric_limits<float>::infinity()});
  EXPECT_EQ(a.what.what, verdict::drop);
  EXPECT_EQ(a.what.why, reason::non_finite);
  b.finish(a);
  EXPECT_EQ(b.clock(0), 1u);
  EXPECT_EQ(b.sync.updates(), 0u);
  EXPECT_EQ(b.sync.counts().of(0, reason::non_finite), 1u);
}

TEST(Semantics05Repeated, StepsMayBeNumberedFromZero) {
  bench<asp> b{{}, 1};
  for (const std::uint64_t step : {0u, 1u, 2u, 3u}) {
    const admitted a = b.admit(0, {.step = step});
    EXPECT_EQ(a.what.what, verdict::apply) << step;
    b.finish(a);
  }
}

TEST(Semantics05Repeated, AWaitingWorkersPushReplacesItsTicket) {
  bench<bsp> b{{}, 2};
  b.push(0, 11);
  EXPECT_EQ(b.sync.push({.worker = {0, 0}, .now = b.now}, 12, b.sink), errc::repeated);
  EXPECT_EQ(b.sink.take(), words{"abandon 11 replaced"});
  b.sink.tickets.clear();
  b.push(1, 13);
  EXPECT_EQ(b.sink.tickets, (std::vector{12, 13}));
  EXPECT_EQ(b.clock(0), 1u);
}

TEST(Semantics05Repeated, ARunningWorkersPushIsAnsweredWithTheGrantInForce) {
  bench<asp> b{{}, 2};
  b.push(0, 1, {.step = 1});
  b.push(1, 1, {.step = 1});
  b.sink.grants.clear();
  EXPECT_EQ(b.sync.push({.worker = {0, 0}, .now = b.now, .step = 1}, 12, b.sink), errc::repeated);
  EXPECT_EQ(b.sink.grants.at(0).version, 1u);
  EXPECT_EQ(b.clock(0), 1u);
  EXPECT_EQ(b.sync.updates(), 2u);
}

TEST(Semantics05Repeated, APushSeenWhileItsFirstCopyIsAdmittedBringsTheNewerTicket) {
  bench<asp> b{{}, 1};
  const admitted a = b.admit(0, {.step = 1});
  const admitted again = b.admit(0, {.step = 1});
  EXPECT_EQ(again.what.what, verdict::repeated);
  EXPECT_EQ(b.commit(again, 21), errc::repeated);
  b.sink.tickets.clear();
  EXPECT_EQ(b.commit(a, 20), errc::ok);
  EXPECT_EQ(b.sink.take(), (words{"abandon 20 replaced", "release 0@1"}));
  EXPECT_EQ(b.sink.tickets, std::vector{21});
}

// 6. SSP convention: tests/sync/ssp_test.cpp
TEST(Semantics06SspConvention, RlpHoldsWhenTheGapEqualsS) {
  bench<ssp> ours{{.staleness = 2}, 2};
  bench<ssp> theirs{ssp_rlp(3), 2};
  for (int i = 0; i < 2; ++i) EXPECT_EQ(ours.push(0), theirs.push(0));
  EXPECT_EQ(theirs.push(0), words{}) << "a lead of 3 waits";
  EXPECT_EQ(ours.push(0), words{});
}

// 7. switch_to

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

// 8. Membership

TEST(Semantics08Membership, TheQuorumCanBeLoweredWhenFewerCome) {
  recorder sink;
  controller<asp, int> sync{{.capacity = 3}, {}};
  EXPECT_EQ(sync.join({0, 0}, 0.0, 1, sink), errc::ok);
  EXPECT_EQ(sync.set_quorum(2, 0.0, sink), errc::ok);
  EXPECT_TRUE(sink.effects.empty());
  EXPECT_EQ(sync.join({2, 0}, 0.0, 1, sink), errc::ok);
  EXPECT_EQ(sink.take(), (words{"release 0@0", "release 2@0"}));
  controller<asp, int> other{{.capacity = 3}, {}};
  EXPECT_EQ(other.join({1, 0}, 0.0, 1, sink), errc::ok);
  EXPECT_EQ(other.set_quorum(1, 0.0, sink), errc::ok);
  EXPECT_EQ(sink.take(), words{"release 1@0"});
  EXPECT_EQ(other.set_quorum(4, 0.0, sink), errc::invalid_option);
}

TEST(Semantics08Membership, NobodyRunsBeforeTheQuorum) {
  recorder sink;
  controller<asp, int> sync{{.capacity = 4, .quorum = 3}, {}};
  EXPECT_EQ(sync.join({0, 0}, 0.0, 1, sink), errc::ok);
  EXPECT_EQ(sync.join({3, 0}, 0.0, 2, sink), errc::ok);
  EXPECT_TRUE(sink.effects.empty());
  EXPECT_EQ(sync.workers()[0].state, worker_state::joining);
  EXPECT_EQ(sync.join({1, 0}, 0.0, 3, sink), errc::ok);
  EXPECT_EQ(sink.take(), (words{"release 0@0", "release 1@0", "release 3@0"}));
}

TEST(Semantics08Membership, JoinersGetInAsThePolicySays) {
  const auto effects = [](any_policy policy) {
    bench<> b{std::move(policy), 2, {.capacity = 3, .quorum = 2}};
    b.push(0);
    return b.join(2, 0);
  };
  EXPECT_EQ(effects(bsp{}), words{}) << "at the next barrier";
  EXPECT_EQ(effects(ssp{.staleness = 1}), words{"release 2@1"});
  EXPECT_EQ(effects(asp{}), words{"release 2@1"});
}

TEST(Semantics08Membership, AJoinersClockIsClampedToTheBound) {
  bench<> b{ssp{.staleness = 2}, 2, {.capacity = 3, .quorum = 2}};
  for (int i = 0; i < 4; ++i) b.push(0), b.push(1);
  b.join(2, 0);
  EXPECT_EQ(b.clock(2), 4u) << "raised to the minimum";
}

TEST(Semantics08Membership, DepartedWorkersDoNotHoldBackTheMinimum) {
  bench<> b{ssp{.staleness = 0}, 3};
  b.push(0), b.push(1);
  EXPECT_EQ(b.depart(2, cause::done), (words{"release 0@2", "release 1@2"}));
}

TEST(Semantics08Membership, ADeadWorkersOutstandingAdmissionIsNoActivity) {
  bench<bsp> b{{}, 2};
  const admitted a = b.admit(1);
  b.push(0);
  EXPECT_EQ(b.depart(1), words{"release 0@0"}) << "the flush waits for the commit, the survivor does not";
  b.finish(a, 4);
  EXPECT_EQ(b.sink.take(), (words{"flush 0 x0.5 n2", "abandon 4 departed_worker"}));
}

TEST(Semantics08Membership, ADepartedWorkersTicketIsAbandoned) {
  bench<bsp> b{{}, 2};
  b.push(0, 31);
  EXPECT_EQ(b.depart(0, cause::leave), words{"abandon 31 departed_worker"});
}

TEST(Semantics08Membership, AnEarlierIncarnationIsReplacedByALaterOne) {
  bench<asp> b{{}, 2};
  EXPECT_EQ(b.join(0, 1), words{"release 0@0"});
  EXPECT_EQ(b.sync.join({0, 0}, b.now, 77, b.sink), errc::old_incarnation);
  EXPECT_EQ(b.sync.push({.worker = {0, 0}, .now = b.now}, 78, b.sink), errc::old_incarnation);
}

TEST(Semantics08Pull, AReleaseBeforeItsPullIsRememberedAndTheStepStartsAtThePull) {
  recorder sink;
  controller<asp, int> sync{{.capacity = 2, .park = park_on::pull}, {}};
  EXPECT_EQ(sync.join({0, 0}, 0.0, std::nullopt, sink), errc::ok);
  EXPECT_EQ(sync.join({1, 0}, 0.0, std::nullopt, sink), errc::ok);
  EXPECT_EQ(sync.workers()[0].state, worker_state::released);
  EXPECT_EQ(sync.pull({1, 0}, 1.0, 5, sink), errc::ok);
  EXPECT_EQ(sync.push({.worker = {1, 0}, .now = 2.0}, std::nullopt, sink), errc::ok);
  EXPECT_EQ(sync.pull({0, 0}, 3.0, 6, sink), errc::ok);
  EXPECT_EQ(sink.take(), (words{"release 1@0", "release 0@1"}));
  EXPECT_EQ(sync.workers()[0].granted_at, 3.0);
}

TEST(Semantics08Pull, APullThatComesFirstWaits) {
  recorder sink;
  controller<bsp, int> sync{{.capacity = 2, .park = park_on::pull}, {}};
  for (std::uint32_t w : {0u, 1u}) EXPECT_EQ(sync.join({w, 0}, 0.0, std::nullopt, sink), errc::ok);
  for (std::uint32_t w : {0u, 1u}) EXPECT_EQ(sync.pull({w, 0}, 0.0, 1, sink), errc::ok);
  sink.take();
  EXPECT_EQ(sync.push({.worker = {0, 0}, .now = 1.0}, std::nullopt, sink), errc::ok);
  EXPECT_EQ(sync.pull({0, 0}, 1.0, 3, sink), errc::ok);
  EXPECT_EQ(sink.take(), words{});
  EXPECT_EQ(sync.push({.worker = {1, 0}, .now = 2.0}, std::nullopt, sink), errc::ok);
  EXPECT_EQ(sink.take(), (words{"flush 0 x0.5 n2", "release 0@1"}));
}

TEST(Semantics08Pull, IsRefusedWhereThePushWaits) {
  bench<asp> b{{}, 1};
  EXPECT_EQ(b.sync.pull({0, 0}, 1.0, 3, b.sink), errc::no_pulls);
  EXPECT_EQ(b.sink.take(), words{"abandon 3 no_pulls"});
}

// 9. Shards: also tests/sync/gather_test.cpp. 10. Groups are not in this version (docs/design.md).

TEST(Semantics09Shards, StalenessCountsFromTheLowestVersionThatWasRead) {
  bench<asp> b{{}, 2};
  for (int i = 0; i < 3; ++i) b.push(0);
  b.push(1);
  const std::uint64_t now = b.sync.version();
  EXPECT_EQ(b.admit(1, {.read = {.lowest = now - 3, .highest = now}}).staleness, 3u);
}

// 11. The guard

// 10. Groups: the seams that a combinator of controllers needs (tests/extras/groups_test.cpp has the rest)

TEST(Semantics10Groups, AForcedReleaseIsExemptFromPolicyAndBound) {
  bench<ssp> b{{.staleness = 0}, 2};
  b.push(0);
  EXPECT_EQ(b.state(0), worker_state::parked);
  b.sync.force_release({0, 1}, b.sink);
  b.sync.force_release({7, 0}, b.sink);
  b.sync.force_release({1, 0}, b.sink);
  EXPECT_EQ(b.sink.take(), words{}) << "another incarnation, nobody, and one that runs";
  EXPECT_EQ(b.count(reason::liveness), 0u);
  b.sync.force_release({0, 0}, b.sink);
  EXPECT_EQ(b.sink.take(), words{"release 0@1"});
  EXPECT_EQ(b.sync.counts().of(0, reason::liveness), 1u);
}

TEST(Semantics10Groups, AForcedReleaseReadmits) {
  script s;
  bench<scripted> b{s, 2};
  s.answer = [](const cluster_view& v, const event&) {
    return v.is_excluded(0) ? decision::hold() : decision::hold().with_exclude(0);
  };
  b.push(0);
  EXPECT_TRUE(b.sync.workers()[0].excluded);
  b.sync.force_release({0, 0}, b.sink);
  EXPECT_EQ(b.sink.take(), words{"release 0@1"});
  EXPECT_FALSE(b.sync.workers()[0].excluded);
}

TEST(Semantics10Groups, AReleaseWithoutATicketIsToldAsReady) {
  struct listener {
    words said;
    void release(int, worker_id who, const grant&) { said.push_back("release " + std::to_string(who.index)); }
    void ready(worker_id who) { said.push_back("ready " + std::to_string(who.index)); }
  } host;
  controller<asp, int> sync{{.capacity = 1, .park = park_on::pull}, asp{}};
  ASSERT_EQ(sync.join({0, 0}, 0.0, {}, host), errc::ok);
  ASSERT_EQ(sync.pull({0, 0}, 1.0, 1, host), errc::ok);
  EXPECT_EQ(host.said, (words{"ready 0", "release 0"}));
}

TEST(Semantics11Guard, SomebodyRunsAfterEveryCall) {
  script s;
  s.always(decision::hold());
  bench<scripted> b{s, 2};
  EXPECT_EQ(b.sync.workers().busy(), 1u) << "even at the start";
  b.push(b.state(0) == worker_state::running ? 0 : 1);
  EXPECT_EQ(b.sync.workers().busy(), 1u);
  EXPECT_EQ(b.count(reason::liveness), 2u);
}

TEST(Semantics11Guard, ReleasesAtTheMinimumClock) {
  script s;
  bench<scripted> b{s, 2};
  b.push(0), b.push(0), b.push(1);
  s.always(decision::hold());
  b.push(0);
  EXPECT_EQ(b.push(1), words{"release 1@5"}) << "clock 2 against 3";
}

TEST(Semantics11Guard, WithholdsReleasesBeyondTheBound) {
  script s;
  s.bound = 1;
  bench<scripted> b{s, 2};
  b.push(0);
  EXPECT_EQ(b.push(0), words{}) << "a lead of 2";
  EXPECT_EQ(b.count(reason::bound), 1u);
  EXPECT_EQ(b.push(1), (words{"release 0@3", "release 1@3"}));
}

TEST(Semantics11Guard, AWithheldReleaseFollowsAsSoonAsTheBoundAllowsIt) {
  bench<asp> b{{}, 2, {.guard = {.bound = 1}}};
  b.push(0);
  EXPECT_EQ(b.push(0), words{}) << "two ahead";
  EXPECT_EQ(b.push(1), (words{"release 1@3", "release 0@3"}));
  EXPECT_EQ(b.count(reason::bound), 1u);
  EXPECT_EQ(b.count(reason::liveness), 0u);
}

TEST(Semantics11Guard, AWithheldReleaseFollowsWhenThePolicysBoundGrows) {
  script s;
  s.bound = 0;
  s.answer = [](const cluster_view&, const event& what) {
    return what.why == cause::push ? decision::submitter() : decision::all();
  };
  bench<scripted> b{s, 3};
  EXPECT_EQ(b.push(0), words{});
  s.bound = 5;
  EXPECT_EQ(b.push(1), (words{"release 1@2", "release 0@2"}));
}

TEST(Semantics11Guard, AgeReordersWithinTheCountOfThePolicy) {
  script s;
  bench<scripted> b{s, 3, {.guard = {.max_wait = 5.0}}};
  s.always(decision::hold());
  b.push(0);
  s.always(decision::submitter());
  EXPECT_EQ(b.push(1), words{"release 1@2"});
  b.now += 10.0;
  EXPECT_EQ(b.push(1), words{"release 0@3"}) << "worker 0 has waited too long";
  EXPECT_EQ(b.count(reason::overdue), 1u);
}

TEST(Semantics11Guard, NeverCancelsEverybodyWhoIsBusy) {
  script s;
  bench<scripted> b{s, 3};
  s.always(decision::hold().with_cancel_below(1000));
  EXPECT_EQ(b.push(0), words{"cancel 1"});
  EXPECT_EQ(b.count(reason::cancel_limit), 1u);
}

TEST(Semantics11Guard, CancelsAtMostOncePerUsefulPush) {
  script s;
  bench<scripted> b{s, 2};
  s.always(decision::all().with_cancel_below(1000));
  EXPECT_EQ(b.push(0), (words{"cancel 1", "release 0@1"}));
  EXPECT_EQ(b.push(1), (words{"release 1@1"})) << "1 was cancelled: its push is no progress, so 0 may go on";
  EXPECT_EQ(b.count(reason::cancel_limit), 1u);
}

TEST(Semantics11Guard, CanBeSwitchedOff) {
  script s;
  s.always(decision::hold());
  bench<scripted> b{s, 2, {.guard = {.enabled = false}}};
  EXPECT_EQ(b.sync.workers().busy(), 0u);
  EXPECT_EQ(b.sync.counts().overrides(), 0u);
}

// 12. State

TEST(Semantics12State, SaveIsBusyWithAdmissionsOut) {
  bench<asp> b{{}, 2};
  const admitted a = b.admit(0);
  archive bytes;
  EXPECT_EQ(b.sync.save(bytes), errc::busy);
  b.finish(a);
  EXPECT_EQ(b.sync.save(bytes), errc::ok);
}

TEST(Semantics12State, ContinuesWhereItWasSaved) {
  bench<ssp> b{{.staleness = 1}, 3};
  b.push(0), b.push(1), b.push(0);
  archive bytes;
  ASSERT_EQ(b.sync.save(bytes), errc::ok);
  bench<ssp> c{{.staleness = 1}, 3};
  archive reader{bytes.bytes()};
  std::vector<std::uint32_t> asked;
  ASSERT_EQ(c.sync.load(reader,
                        [&](worker_id w) {
                          asked.push_back(w.index);
                          return std::optional{40};
                        }),
            errc::ok);
  EXPECT_EQ(asked, std::vector{0u}) << "only the parked one had a ticket";
  c.now = b.now;
  for (const std::uint32_t w : {2u, 1u, 2u, 0u}) EXPECT_EQ(b.push(w), c.push(w));
}

TEST(Semantics12State, AWorkerWithoutTicketIsDeadAndRejoinsKeepingItsClock) {
  bench<ssp> b{{.staleness = 1}, 2};
  b.push(1), b.push(0), b.push(0), b.push(0);
  archive bytes;
  ASSERT_EQ(b.sync.save(bytes), errc::ok);
  bench<ssp> c{{.staleness = 1}, 2};
  archive reader{bytes.bytes()};
  ASSERT_EQ(c.sync.load(reader, [](worker_id) { return std::optional<int>{}; }), errc::ok);
  EXPECT_EQ(c.state(0), worker_state::dead);
  c.now = b.now;
  c.sync.poll(c.now, c.sink);
  c.join(0, 1);
  EXPECT_EQ(c.clock(0), 2u) << "3, clamped into the bound above the minimum of 1";
}

TEST(Semantics12State, TheQuorumIsSaved) {
  recorder sink;
  controller<asp, int> first{{.capacity = 4}, {}};
  EXPECT_EQ(first.join({0, 0}, 0.0, 1, sink), errc::ok);
  EXPECT_EQ(first.set_quorum(2, 0.0, sink), errc::ok);
  archive bytes;
  ASSERT_EQ(first.save(bytes), errc::ok);
  controller<asp, int> second{{.capacity = 4}, {}};
  archive reader{bytes.bytes()};
  ASSERT_EQ(second.load(reader, [](worker_id) { return std::optional{1}; }), errc::ok);
  second.poll(1.0, sink);
  EXPECT_EQ(second.join({1, 0}, 1.0, 2, sink), errc::ok);
  EXPECT_EQ(sink.take(), (words{"release 0@0", "release 1@0"}));
}

TEST(Semantics12State, WhatTheHostSavedBeforeItStaysItsOwn) {
  bench<asp> b{{}, 1};
  archive bytes;
  std::uint64_t epoch = 7;
  bytes(epoch);
  ASSERT_EQ(b.sync.save(bytes), errc::ok);
  archive reader{bytes.bytes()};
  epoch = 0;
  reader(epoch);
  EXPECT_EQ(epoch, 7u);
  bench<asp> c{{}, 1};
  EXPECT_EQ(c.sync.load(reader, [](worker_id) { return std::optional{1}; }), errc::ok);
}

TEST(Semantics12State, AnotherKindIsRefused) {
  bench<ssp> b{{}, 2};
  archive bytes;
  ASSERT_EQ(b.sync.save(bytes), errc::ok);
  EXPECT_EQ(peek_kind(bytes.bytes()), "ssp");
  bench<asp> c{{}, 2};
  archive reader{bytes.bytes()};
  EXPECT_EQ(c.sync.load(reader, [](worker_id) { return std::optional{1}; }), errc::wrong_kind);
}

TEST(Semantics12State, DamagedBytesChangeNothing) {
  bench<ssp> b{{.staleness = 1}, 3};
  b.push(0), b.push(0), b.push(1);
  archive bytes;
  ASSERT_EQ(b.sync.save(bytes), errc::ok);
  bench<ssp> c{{.staleness = 1}, 3};
  const auto attempt = [&](std::span<const std::byte> damaged) {
    archive reader{damaged};
    return c.sync.load(reader, [](worker_id) { return std::optional{1}; });
  };
  std::vector<std::byte> all{bytes.bytes().begin(), bytes.bytes().end()};
  for (std::size_t length = 0; length < all.size(); ++length)
    EXPECT_EQ(attempt(std::span{all}.first(length)), errc::corrupt) << length;
  for (std::byte& b_changed : all) {
    b_changed ^= std::byte{16};
    EXPECT_EQ(attempt(all), errc::corrupt);
    b_changed ^= std::byte{16};
  }
  EXPECT_EQ(c.push(2), words{"release 2@1"}) << "as if nothing had been loaded";
}

TEST(Semantics12State, TimesGoOnWhenTheClockOfTheHostHasStartedAnew) {
  script s;
  s.answer = [](const cluster_view& view, const event& e) {
    return e.why == cause::push ? decision::hold().with_wake_at(view.now() + 5.0) : decision::all();
  };
  bench<scripted> b{s, 2, {.guard = {.enabled = false}}};
  b.now = 1e6;
  b.push(0);
  archive bytes;
  ASSERT_EQ(b.sync.save(bytes), errc::ok);
  controller<scripted, int> sync{{.capacity = 2, .guard = {.enabled = false}}, scripted{s}};
  recorder sink;
  archive reader{bytes.bytes()};
  ASSERT_EQ(sync.load(reader, [](worker_id) { return std::optional{7}; }), errc::ok);
  sync.poll(3.0, sink);
  EXPECT_EQ(sync.counts().total(reason::time_clamped), 0u);
  EXPECT_LE(sync.next_deadline(), 3.0 + 5.0);
}

// Bookkeeping

TEST(Controller, ReleasesBeyondTheLimitFollowByPoll) {
  bench<bsp> b{{}, 5, {.max_release_per_call = 2}};
  while (b.sync.next_deadline() < 0) b.sync.poll(b.now, b.sink);
  b.sink.take();
  for (std::uint32_t w = 0; w < 4; ++w) b.push(w);
  EXPECT_EQ(b.push(4), (words{"flush 0 x0.2 n5", "release 0@1", "release 1@1"}));
  EXPECT_EQ(b.sync.next_deadline(), -std::numeric_limits<double>::infinity());
  b.sync.poll(b.now, b.sink);
  EXPECT_EQ(b.sink.take(), (words{"release 2@1", "release 3@1"}));
  EXPECT_EQ(b.push(0), words{"release 4@1"}) << "the rest goes before the next decision";
}

TEST(Controller, ALimitOnReleasesLosesNoneOfThem) {
  for (const std::uint32_t at_once : {1u, no_worker}) {
    script s;
    s.always(decision::hold());
    bench<scripted> b{s, 6, {.guard = {.enabled = false}, .max_release_per_call = at_once}};
    s.answer = [](const cluster_view&, const event& what) {
      return what.why == cause::death ? decision::up_to(3) : decision::up_to(2);
    };
    b.join(5, 1);  // its former incarnation dies, and it joins: two answers in one call
    while (b.sync.next_deadline() < 0) b.sync.poll(b.now, b.sink);
    EXPECT_EQ(b.sync.workers().in(worker_state::running), 5u) << at_once;
  }
}

TEST(Controller, WhatADeathReleasedIsNotForWhoComesBackInTheSameCall) {
  for (const std::uint32_t at_once : {1u, no_worker}) {
    script s;
    s.always(decision::hold());
    bench<scripted> b{s, 3, {.guard = {.enabled = false}, .max_release_per_call = at_once}};
    s.answer = [](const cluster_view&, const event& what) {
      return what.why == cause::death ? decision::all().with_batch(7) : decision::hold();
    };
    b.join(0, 1);
    EXPECT_EQ(b.state(0), worker_state::parked) << at_once;
    EXPECT_EQ(b.sync.workers().in(worker_state::running), 2u) << at_once;
  }
}

TEST(Controller, NothingIsSilent) {
  script s;
  s.verdict_on = [](const cluster_view&, const event& e) {
    return e.staleness > 0 ? admission::drop(reason::stale) : admission::apply(0.5F);
  };
  bench<scripted> b{s, 2};
  b.push(0), b.push(1);
  EXPECT_EQ(b.sync.counts().of(0, reason::scaled), 1u);
  EXPECT_EQ(b.sync.counts().of(1, reason::stale), 1u);
}

TEST(Controller, ProblemNamesTheOption) {
  EXPECT_EQ(problem(controller_options{.capacity = 4}), "");
  EXPECT_NE(problem(controller_options{}).find("capacity"), std::string::npos);
  EXPECT_EQ(problem(controller_options{.capacity = 2, .quorum = 3}), "quorum is 3, expected at most the capacity, 2");
}

// Runs two workers at a time, no fewer.
struct of_two {
  decision release(const cluster_view& view, const event&) const noexcept {
    return decision::all().with_degraded(view.alive() < 2);
  }
  std::string problem(std::uint32_t capacity) const { return capacity < 2 ? "of_two needs two workers" : ""; }
};

TEST(Controller, AsksThePolicyForItsProblem) {
  EXPECT_EQ(problem({.capacity = 2}, of_two{}), "");
  EXPECT_EQ(problem({.capacity = 1}, of_two{}), "of_two needs two workers");
  EXPECT_EQ(problem(controller_options{}, of_two{}), problem(controller_options{}));
  EXPECT_EQ(problem({.capacity = 1}, any_policy{of_two{}}), "of_two needs two workers");
  const auto refused = controller<of_two, int>::make({.capacity = 1}, {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, errc::invalid_option);
  EXPECT_EQ(refused.error().message, "of_two needs two workers");
  EXPECT_TRUE((controller<of_two, int>::make({.capacity = 2}, {}).has_value()));
}

TEST(Controller, ASwitchToAPolicyThatDoesNotFitIsRefused) {
  bench<any_policy> b{asp{}, 1};
  EXPECT_EQ(b.sync.switch_to(of_two{}, 1.0, pending_gradients::flush, b.sink), errc::invalid_option);
  EXPECT_EQ(b.sync.policy().kind(), "asp");
}

TEST(Controller, CountsDegradedDecisions) {
  bench<of_two> b{{}, 2};
  b.push(0);
  EXPECT_EQ(b.count(reason::degraded), 0u);
  b.depart(1, cause::death);
  EXPECT_EQ(b.count(reason::degraded), 1u);
  b.push(0);
  EXPECT_EQ(b.count(reason::degraded), 2u);
}

TEST(Controller, IsCopyableWherePolicyAndTicketAre) {
  bench<bsp> b{{}, 2};
  b.push(0);
  auto copy = b.sync;
  recorder other;
  EXPECT_EQ(copy.push({.worker = {1, 0}, .now = 9.0}, 1, other), errc::ok);
  EXPECT_EQ(other.take().size(), 3u);
  EXPECT_EQ(b.clock(1), 0u);
}

}  // namespace
