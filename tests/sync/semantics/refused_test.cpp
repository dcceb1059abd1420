// Semantics of docs/design.md: 5. Refused, dropped and repeated pushes.
#include "../recorder.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace {

using namespace rubato;
using namespace rubato::test;

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
  constexpr float infinite = std::numeric_limits<float>::infinity();
  for (const push_event& push : {push_event{.loss = infinite}, push_event{.grad_norm = infinite}}) {
    bench<asp> b{{}, 2};
    const admitted a = b.admit(0, push);
    EXPECT_EQ(a.what.what, verdict::drop);
    EXPECT_EQ(a.what.why, reason::non_finite);
    b.finish(a);
    EXPECT_EQ(b.clock(0), 1u);
    EXPECT_EQ(b.sync.updates(), 0u);
    EXPECT_EQ(b.sync.counts().of(0, reason::non_finite), 1u);
  }
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

}  // namespace
