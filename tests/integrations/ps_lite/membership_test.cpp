// Workers that come late, finish, die and come back; rules that change; an end.
#include <gtest/gtest.h>

#include <limits>
#include <rubato/rivals.hpp>
#include <string>
#include <vector>

#include "bench.hpp"

namespace rubato::test {
namespace {

using ps_lite::worker_name;

TEST(PsLiteMembership, ALateJoinerWaitsForTheBarrier) {
  for (const park_on park : {park_on::push, park_on::pull}) {
    server_bench b{{.capacity = 3, .quorum = 2, .park = park}, bsp{}};
    b.pull(0), b.pull(1);
    b.push_pull(0, 2.0);
    const auto late = b.pull(2);
    EXPECT_FALSE(b.answered(late));
    b.push_pull(1, 4.0);
    EXPECT_EQ(b.value(late), 3.0) << "its step begins at the barrier, on what came of it";
    b.push_pull(0, 3.0), b.push_pull(1, 3.0);
    EXPECT_EQ(b.store.done.size(), 1u) << "and from then on it is waited for";
    b.push_pull(2, 3.0);
    EXPECT_EQ(b.store.done, (std::vector<std::string>{"flush n2", "flush n3"}));
  }
}

TEST(PsLiteMembership, ALateJoinerOfSspStartsAtTheMinimum) {
  server_bench b{{.capacity = 3, .quorum = 2}, ssp{.staleness = 1}};
  b.pull(0), b.pull(1);
  for (int i = 0; i < 5; ++i) b.push(0, 1.0), b.push(1, 1.0);
  EXPECT_TRUE(b.answered(b.pull(2)));
  EXPECT_EQ(b.sync.inspect([](const auto& c) { return c.workers().clock().clock(2); }), 5u);
  EXPECT_TRUE(b.answered(b.push(0, 1.0)));
  EXPECT_FALSE(b.answered(b.push(0, 1.0))) << "it is waited for now";
}

TEST(PsLiteMembership, ADeathFreesThoseWhoWaitForIt) {
  for (const park_on park : {park_on::push, park_on::pull}) {
    server_bench b{{.capacity = 3, .park = park}, bsp{}};
    b.pull(0), b.pull(1), b.pull(2);
    const auto first = b.push_pull(0, 2.0), second = b.push_pull(1, 4.0);
    EXPECT_FALSE(b.answered(first));
    EXPECT_EQ(b.sync.depart(b.name(2), cause::death), errc::ok);
    EXPECT_EQ(b.value(first), 3.0);
    EXPECT_EQ(b.value(second), 3.0);
    EXPECT_EQ(b.sync.depart(b.name(2), cause::death), errc::departed_worker);
    EXPECT_EQ(b.sync.depart({999, 0}, cause::death), errc::unknown_worker);
    EXPECT_EQ(b.sync.depart(b.name(1), cause::push), errc::invalid_option);
  }
}

TEST(PsLiteMembership, ADeadWorkersRequestIsNotAnsweredToItsSuccessor) {
  server_bench b{{.capacity = 2}, ssp{.staleness = 0}};
  b.pull(0), b.pull(1);
  const auto waits = b.push(0, 1.0);
  EXPECT_EQ(b.sync.depart(b.name(0), cause::death), errc::ok);
  EXPECT_FALSE(b.answered(waits));
  EXPECT_EQ(b.sync.counts().unanswered, 1u);
  b.restart(0);
  EXPECT_TRUE(b.answers.erase({b.node(0), 0, 0}) == 1) << "its numbers begin anew";
  EXPECT_TRUE(b.answered(b.pull(0)));
  EXPECT_FALSE(b.answered(b.push(0, 1.0))) << "one step ahead, as SSP has it";
  b.push(1, 1.0);
  EXPECT_EQ(b.answers[waits], 1) << "of the successor, which has the same number";
  EXPECT_EQ(b.store.values[0], 3.0);
}

TEST(PsLiteMembership, ASuccessorThatIsQuickerThanTheNewsOfTheDeathIsAnsweredOnceTheNewsIsThere) {
  for (const park_on park : {park_on::push, park_on::pull}) {
    for (const int rounds : {1, 100}) {  // its numbers are little below the highest, and far below
      server_bench b{{.capacity = 2, .park = park}, bsp{}};
      b.pull(0), b.pull(1);
      for (int n = 0; n < rounds; ++n) b.push_pull(0, 64.0), b.push_pull(1, 64.0);
      const double before = 64.0 * rounds;
      const auto waits = b.push_pull(1, 2.0);
      b.restart(0);
      b.answers.clear();
      const auto pull = b.pull(0), push = b.push_pull(0, 128.0);  // numbers 0 and 1, as of the dead one
      EXPECT_FALSE(b.answered(pull)) << "it may be the network that repeats";
      EXPECT_FALSE(b.answered(push));
      EXPECT_FALSE(b.answered(waits));
      EXPECT_EQ(b.sync.counts().kept, 2u);
      EXPECT_EQ(b.sync.depart_node(b.node(0), cause::death), errc::ok);
      EXPECT_TRUE(b.answered(waits));
      EXPECT_TRUE(b.answered(push));
      EXPECT_EQ(b.value(pull), before + 2.0);
      EXPECT_EQ(b.sync.counts().late, 1u) << "of a step that belongs to nobody";
      EXPECT_EQ(b.sync.counts().duplicates, 0u);
      EXPECT_EQ(b.sync.counts().kept, 0u);
      const auto joins = b.push_pull(0, 256.0);
      EXPECT_FALSE(b.answered(joins)) << "it is one of them again, at the barrier";
      b.push_pull(1, 4.0);
      EXPECT_EQ(b.value(joins), before + 6.0);
      const auto next = b.push_pull(0, 6.0);
      EXPECT_FALSE(b.answered(next));
      b.push_pull(1, 8.0);
      EXPECT_EQ(b.value(next), before + 13.0);
    }
  }
}

TEST(PsLiteMembership, ASuccessorThatWaitsForTheNewsCanBeSeen) {
  server_bench b{{.capacity = 2}, bsp{}};
  b.pull(0), b.pull(1);
  for (int n = 0; n < 100; ++n) b.push_pull(0, 2.0), b.push_pull(1, 2.0);
  EXPECT_EQ(b.sync.describe().find("kept"), std::string::npos) << "nothing is";
  b.push_pull(1, 2.0);
  b.restart(0);
  b.answers.clear();
  b.time = 8.0;
  const auto first = b.pull(0);
  b.time = 10.0;
  EXPECT_EQ(b.sync.silent_for(10.0), (std::vector<worker_name>{b.name(0)})) << "a repeat is no sign of life";
  const std::string text = b.sync.describe();
  EXPECT_NE(text.find("worker 0: node 9, customer 0, running, clock 100, 0 requests wait, 1 kept\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("worker 1: node 11, customer 0, parked, clock 101, 1 requests wait\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("duplicates 1, kept 1"), std::string::npos) << text;
  for (const worker_name& who : b.sync.silent_for(10.0)) EXPECT_EQ(b.sync.depart(who, cause::death), errc::ok);
  EXPECT_TRUE(b.answered(first));
  EXPECT_EQ(b.sync.describe().find("kept"), std::string::npos);
}

TEST(PsLiteMembership, ASuccessorWhoseDeathWasReportedBeforeItSpeaksIsAnsweredAtOnce) {
  for (const park_on park : {park_on::push, park_on::pull}) {
    server_bench b{{.capacity = 2, .park = park}, ssp{.staleness = 0}};
    b.pull(0), b.pull(1);
    for (int n = 0; n < 100; ++n) b.push_pull(0, 2.0), b.push_pull(1, 2.0);
    EXPECT_EQ(b.sync.depart(b.name(0), cause::death), errc::ok);
    b.restart(0);
    b.answers.clear();
    EXPECT_EQ(b.value(b.pull(0)), 400.0);
    EXPECT_FALSE(b.answered(b.push_pull(0, 4.0))) << "one step ahead, as SSP has it";
    EXPECT_EQ(b.store.values[0], 404.0);
    EXPECT_EQ(b.sync.counts().duplicates, 0u);
  }
}

TEST(PsLiteMembership, AStaleRepeatHarmsNoWorkerThatWaits) {
  for (const park_on park : {park_on::push, park_on::pull}) {
    server_bench b{{.capacity = 2, .park = park}, ssp{.staleness = 0}};
    b.pull(0), b.pull(1);
    for (int n = 0; n < 70; ++n) b.push_pull(0, 2.0), b.push_pull(1, 2.0);
    const auto waits = b.push_pull(0, 2.0);
    const server_bench::request stale{b.node(0), 0, 2};
    b.resend(stale, true, true, b.of(2.0));
    EXPECT_TRUE(b.answered(stale)) << "once, long ago";
    EXPECT_FALSE(b.answered(waits));
    EXPECT_EQ(b.sync.inspect([](const auto& c) { return c.workers().id(0).incarnation; }), 0u);
    EXPECT_EQ(b.sync.counts().duplicates, 1u);
    EXPECT_EQ(b.sync.counts().kept, 1u);
    b.push_pull(1, 2.0);
    EXPECT_EQ(b.value(waits), 284.0);
    const auto next = b.push_pull(0, 2.0);
    EXPECT_FALSE(b.answered(next));
    b.push_pull(1, 2.0);
    EXPECT_EQ(b.value(next), 288.0) << "and what it pushes next is used";
    EXPECT_TRUE(b.answered(stale));
    const ps_lite::handler_counts n = b.sync.counts();
    EXPECT_EQ(n.duplicates, 1u);
    EXPECT_EQ(n.kept, 0u) << "it went on: so that was a repeat";
    EXPECT_EQ(n.unanswered, 0u);
    EXPECT_EQ(n.late, 0u);
  }
}

TEST(PsLiteMembership, AStaleRepeatHarmsNoWorkerThatComputes) {
  for (const park_on park : {park_on::push, park_on::pull}) {
    server_bench b{{.capacity = 2, .park = park}, bsp{}};
    b.pull(0), b.pull(1);
    for (int n = 0; n < 100; ++n) b.push_pull(0, 2.0), b.push_pull(1, 2.0);
    const auto waits = b.push_pull(1, 2.0);
    for (int number = 0; number < 101; ++number)
      b.resend({b.node(0), 0, number}, number > 0, true, number > 0 ? b.of(2.0) : b.key());
    EXPECT_FALSE(b.answered(waits)) << "the barrier waits for it as before";
    b.push_pull(0, 4.0);
    EXPECT_EQ(b.value(waits), 203.0) << "both are in the mean";
    for (int number = 0; number < 101; ++number) EXPECT_TRUE(b.answered({b.node(0), 0, number})) << "once";
    EXPECT_EQ(b.sync.inspect([](const auto& c) { return c.workers().id(0).incarnation; }), 0u);
    EXPECT_EQ(b.sync.counts().duplicates, 101u);
  }
}

TEST(PsLiteMembership, ASuccessorOfOneThatWasDoneIsAnsweredOnceTheNewsIsThere) {
  server_bench b{{.capacity = 1}, asp{}};
  b.pull(0);
  EXPECT_EQ(b.sync.depart(b.name(0), cause::done), errc::ok);
  b.pull(0);
  b.next_timestamp[{0, 0}] = 1;
  b.answers.clear();
  const auto first = b.pull(0);
  EXPECT_FALSE(b.answered(first));
  EXPECT_EQ(b.sync.depart_node(b.node(0), cause::death), errc::departed_worker);
  EXPECT_TRUE(b.answered(first));
}

TEST(PsLiteMembership, WhatTheNetworkRepeatsIsNotAnsweredAgainHoweverItsWorkerGoes) {
  for (const cause why : {cause::leave, cause::done, cause::death}) {
    server_bench b{{.capacity = 2}, asp{}};
    b.pull(0), b.pull(1);
    const auto push = b.push(0, 1.0);
    b.resend(push, true, false, b.of(1.0));
    if (why == cause::death) b.pull(0);  // it goes on: so that was a repeat
    EXPECT_EQ(b.sync.depart(b.name(0), why), errc::ok);
    EXPECT_TRUE(b.answered(push)) << "once";
    EXPECT_EQ(b.sync.counts().duplicates, 1u);
  }
}

TEST(PsLiteMembership, WhoeverWasTakenForDeadIsBackByItsNextPushWhichIsNotUsed) {
  for (const park_on park : {park_on::push, park_on::pull}) {
    server_bench b{{.capacity = 2, .park = park}, asp{}};
    b.pull(0), b.pull(1);
    EXPECT_EQ(b.sync.depart(b.name(0), cause::death), errc::ok);
    EXPECT_TRUE(b.answered(b.push(0, 64.0)));
    EXPECT_EQ(b.store.values[0], 0.0);
    EXPECT_EQ(b.sync.counts().late, 1u);
    EXPECT_TRUE(b.answered(b.pull(0)));
    b.push(0, 1.0);
    EXPECT_EQ(b.store.values[0], 1.0) << "the next one is";
  }
}

TEST(PsLiteMembership, WhoeverIsDoneHoldsNobodyBackAndMayStillRead) {
  for (const park_on park : {park_on::push, park_on::pull}) {
    server_bench b{{.capacity = 2, .park = park}, ssp{.staleness = 1}};
    b.pull(0), b.pull(1);
    b.push_pull(0, 1.0);
    const auto waits = b.push_pull(0, 1.0);
    EXPECT_FALSE(b.answered(waits));
    EXPECT_EQ(b.sync.depart(b.name(1), cause::done), errc::ok);
    EXPECT_TRUE(b.answered(waits));
    EXPECT_EQ(b.value(b.pull(1)), 2.0);
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(b.answered(b.push_pull(0, 1.0))) << "a read is no return";
  }
}

TEST(PsLiteMembership, WhoeverLeavesWhileItWaitsIsAnswered) {
  server_bench b{{.capacity = 2}, bsp{}};
  b.pull(0), b.pull(1);
  const auto waits = b.push(0, 1.0);
  EXPECT_EQ(b.sync.depart(b.name(0), cause::leave), errc::ok);
  EXPECT_TRUE(b.answered(waits));
}

TEST(PsLiteMembership, ANodeGoesWithAllItsCustomers) {
  server_bench b{{.capacity = 3}, bsp{}};
  const auto customer = [&](int c, bool push) { return b.send(0, push, !push, server_bench::of(2.0), c); };
  customer(0, false), customer(1, false), b.pull(1);
  const auto waits = b.push(1, 4.0);
  EXPECT_EQ(b.sync.depart_node(b.node(0), cause::death), errc::ok);
  EXPECT_TRUE(b.answered(waits));
  EXPECT_EQ(b.store.values[0], 4.0);
  EXPECT_EQ(b.sync.depart_node(b.node(0), cause::death), errc::departed_worker);
  EXPECT_EQ(b.sync.depart_node(77, cause::death), errc::unknown_worker);
}

TEST(PsLiteMembership, TheSilentAreThoseWhoAreWaitedForAndWereNotHeardOf) {
  server_bench b{{.capacity = 3}, bsp{}};
  b.pull(0), b.pull(1), b.pull(2);
  b.time = 8.0;
  b.push(0, 1.0);
  b.pull(1);
  b.time = 17.0;
  EXPECT_EQ(b.sync.silent_for(10.0), (std::vector<worker_name>{b.name(2)})) << "0 waits, 1 was heard of";
  EXPECT_EQ(b.sync.silent_for(9.0), (std::vector<worker_name>{b.name(1), b.name(2)}));
}

TEST(PsLiteMembership, WhoeverIsFreeToGoAndDoesNotPullIsSilent) {
  server_bench b{{.capacity = 2, .park = park_on::pull}, asp{}};
  b.pull(0), b.pull(1);
  b.push(0, 1.0);
  b.time = 5.0;
  b.pull(1);
  EXPECT_EQ(b.sync.silent_for(5.0), (std::vector<worker_name>{b.name(0)}));
}

TEST(PsLiteMembership, WorkersBeyondTheCapacityAreAnsweredAndNotUsed) {
  server_bench b{{.capacity = 1}, asp{}};
  b.pull(0);
  EXPECT_TRUE(b.answered(b.pull(1)));
  EXPECT_TRUE(b.answered(b.push(1, 64.0)));
  EXPECT_EQ(b.store.values[0], 0.0);
  EXPECT_EQ(b.sync.counts().strangers, 2u);
}

TEST(PsLiteMembership, ASwitchFreesThoseWhoWait) {
  for (const auto waiting : {pending_gradients::flush, pending_gradients::discard}) {
    server_bench b{{.capacity = 2}, bsp{}};
    b.pull(0), b.pull(1);
    const auto waits = b.push(0, 2.0);
    EXPECT_EQ(b.sync.switch_to(asp{}, waiting), errc::ok);
    EXPECT_TRUE(b.answered(waits));
    EXPECT_EQ(b.store.values[0], waiting == pending_gradients::flush ? 2.0 : 0.0);
    EXPECT_TRUE(b.answered(b.push(0, 2.0)));
    EXPECT_EQ(b.sync.switch_to(bsp{}), errc::ok);
    EXPECT_FALSE(b.answered(b.push(0, 2.0)));
    EXPECT_EQ(b.sync.switch_to(k_sync{.k = 99}), errc::invalid_option);
  }
}

TEST(PsLiteMembership, FewerMayComeThanWereExpected) {
  server_bench b{{.capacity = 4}, asp{}};
  const auto first = b.pull(0), second = b.push(1, 2.0);
  EXPECT_FALSE(b.answered(first));
  EXPECT_EQ(b.sync.set_quorum(2), errc::ok);
  EXPECT_TRUE(b.answered(first));
  EXPECT_TRUE(b.answered(second));
  EXPECT_EQ(b.store.values[0], 2.0);
}

TEST(PsLiteMembership, DeadlinesAreKeptByPoll) {
  struct egg_timer {  // lets everyone go 3 seconds after the first push
    decision release(const cluster_view& view, const event& what) noexcept {
      if (what.why == cause::push && view.parked() == 1) return decision::hold().with_wake_at(what.now + 3.0);
      return what.why == cause::push ? decision::hold() : decision::all();
    }
  };
  server_bench b{{.capacity = 2}, egg_timer{}};
  b.pull(0), b.pull(1);
  b.time = 1.0;
  const auto waits = b.push(0, 1.0);
  EXPECT_DOUBLE_EQ(b.sync.due_in(), 3.0);
  b.time = 3.9;
  b.sync.poll();
  EXPECT_FALSE(b.answered(waits));
  b.time = 4.0;
  EXPECT_EQ(b.sync.due_in(), 0.0);
  b.sync.poll();
  EXPECT_TRUE(b.answered(waits));
  EXPECT_EQ(b.sync.due_in(), std::numeric_limits<double>::infinity());

  const auto again = b.push(0, 1.0);
  b.time = 9.0;
  b.pull(1);
  EXPECT_TRUE(b.answered(again)) << "a request does what is due, too";
}

TEST(PsLiteMembership, AtTheEndAllAreAnswered) {
  for (const park_on park : {park_on::push, park_on::pull}) {
    server_bench b{{.capacity = 3, .quorum = 2, .park = park}, bsp{}};
    b.pull(0), b.pull(1);
    const auto waits = b.push_pull(0, 2.0), enters = b.pull(2);
    b.sync.close();
    EXPECT_TRUE(b.answered(waits));
    EXPECT_TRUE(b.answered(enters));
    EXPECT_TRUE(b.answered(b.push(1, 64.0)));
    EXPECT_TRUE(b.answered(b.pull(1)));
    EXPECT_LT(b.store.values[0], 64.0) << "what comes after the end is not used";
  }
}

}  // namespace
}  // namespace rubato::test
