// Semantics of docs/design.md: 8. Membership.
#include "../recorder.hpp"

#include <gtest/gtest.h>

namespace {

using namespace rubato;
using namespace rubato::test;

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
  EXPECT_EQ(b.count(reason::clock_clamped), 1u);
}

// The bound holds for those who run, too: whoever waits for the slowest waits for no more steps than it says.
void readmits_within_the_bound(bool guarded) {
  script s;
  s.bound = 2;
  s.always(decision::submitter());
  bench<scripted> b{s, 3, {.quorum = 3, .guard = {.enabled = guarded}}};
  for (std::uint32_t w = 0; w < 3; ++w) ASSERT_EQ(b.sync.force_release({w, 0}, b.now, b.sink), errc::ok);
  b.sink.take();
  const auto once = [&s](decision d) {
    s.answer = [&s, d](const cluster_view&, const event&) {
      const decision now = d;  // as this function ends with the next line
      s.always(decision::submitter());
      return now;
    };
  };
  once(decision::hold().with_exclude(0));  // at 0
  b.push(1);
  for (int i = 0; i < 5; ++i) b.push(2), b.push(1);
  b.push(2), b.push(1);
  ASSERT_EQ(b.clock(1), 7u);
  once(decision::hold().with_exclude(1));  // running, at 7
  b.push(2);
  ASSERT_EQ(b.state(1), worker_state::running);
  s.answer = [](const cluster_view& v, const event& what) {
    return what.why == cause::death ? decision::hold().with_readmit(0)
           : v.excluded() > 0       ? decision::hold().with_readmit(1)
                                    : decision::hold();
  };
  b.depart(2);  // nobody counts, until worker 0 does, at 0
  EXPECT_EQ(b.sync.workers().excluded(), 0u);
  EXPECT_EQ(b.clock(0), 0u);
  EXPECT_EQ(b.clock(1), 2u) << "and not 7 ahead";
  EXPECT_EQ(b.count(reason::clock_clamped), 1u);
}

TEST(Semantics08Membership, AReadmittedWorkersClockIsMovedIntoTheBound) {
  readmits_within_the_bound(true);
  readmits_within_the_bound(false);
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

TEST(Semantics08Membership, WhoHasGoneComesBackAsALaterIncarnationOnly) {
  bench<asp> b{{}, 2};
  b.depart(0);
  EXPECT_EQ(b.sync.join({0, 0}, b.now, 77, b.sink), errc::old_incarnation);
  EXPECT_EQ(b.state(0), worker_state::dead);
  EXPECT_EQ(b.sink.take(), words{"abandon 77 old_incarnation"});
  EXPECT_EQ(b.join(0, 1), words{"release 0@0"});
}

TEST(Semantics08Membership, AnEarlierIncarnationIsReplacedByALaterOne) {
  bench<asp> b{{}, 2};
  EXPECT_EQ(b.join(0, 1), words{"release 0@0"});
  EXPECT_EQ(b.sync.join({0, 0}, b.now, 77, b.sink), errc::old_incarnation);
  EXPECT_EQ(b.sync.push({.worker = {0, 0}, .now = b.now}, 78, b.sink), errc::old_incarnation);
}

}  // namespace
