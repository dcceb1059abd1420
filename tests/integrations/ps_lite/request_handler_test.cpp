// What a worker sees: which of its requests is answered when, and what becomes of its gradient.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "bench.hpp"

namespace rubato::test {
namespace {

using ps_lite::handler_options;

TEST(RequestHandler, AFirstPullWaitsForTheQuorumLaterOnesDoNot) {
  server_bench b{{.capacity = 3, .quorum = 2}, ssp{.staleness = 1}};
  const auto first = b.pull(0);
  EXPECT_FALSE(b.answered(first));
  const auto second = b.pull(1);
  EXPECT_TRUE(b.answered(first));
  EXPECT_TRUE(b.answered(second));
  EXPECT_TRUE(b.answered(b.pull(0)));
  EXPECT_TRUE(b.answered(b.pull(2))) << "whoever comes later joins a running job";
}

TEST(RequestHandler, BspRoundsHaveExactMeans) {
  server_bench b{{.capacity = 4}, bsp{}};
  for (int w = 0; w < 4; ++w) b.pull(w);
  double expected = 0.0;
  for (int round = 0; round < 50; ++round) {
    std::vector<server_bench::request> sent;
    for (int w = 0; w < 4; ++w) {
      const int rank = (w + round) % 4;
      for (const auto& r : sent) EXPECT_FALSE(b.answered(r));
      EXPECT_EQ(b.value(b.pull(rank)), expected) << "nothing of an open round is read";
      sent.push_back(b.push(rank, 4.0 * (rank + round)));
      expected += w == 3 ? (0 + 1 + 2 + 3) + 4.0 * round : 0.0;
    }
    for (const auto& r : sent) EXPECT_TRUE(b.answered(r));
    EXPECT_EQ(b.value(b.pull(0)), expected);
  }
  EXPECT_EQ(b.store.done.size(), 50u);
  EXPECT_EQ(b.sync.inspect([](const auto& c) { return c.version(); }), 50u);
}

TEST(RequestHandler, ParkedPullsSeeTheRoundThatFreedThem) {
  server_bench b{{.capacity = 2, .park = park_on::pull}, bsp{}};
  b.pull(0), b.pull(1);
  EXPECT_TRUE(b.answered(b.push(0, 2.0))) << "pushes are answered at once";
  const auto waits = b.pull(0);
  EXPECT_FALSE(b.answered(waits));
  EXPECT_TRUE(b.answered(b.push(1, 4.0)));
  EXPECT_EQ(b.value(waits), 3.0);
  EXPECT_EQ(b.value(b.pull(1)), 3.0);
  EXPECT_EQ(b.value(b.pull(1)), 3.0) << "while it computes it may read as often as it likes";
}

TEST(RequestHandler, APushThatPullsIsAnsweredWithValues) {
  for (const park_on park : {park_on::push, park_on::pull}) {
    server_bench b{{.capacity = 2, .park = park}, bsp{}};
    b.pull(0), b.pull(1);
    const auto first = b.push_pull(0, 2.0);
    EXPECT_FALSE(b.answered(first));
    const auto second = b.push_pull(1, 4.0);
    EXPECT_EQ(b.value(first), 3.0);
    EXPECT_EQ(b.value(second), 3.0);
    const auto third = b.push_pull(0, 8.0);
    EXPECT_EQ(b.value(b.push_pull(1, 0.0)), 7.0);
    EXPECT_EQ(b.value(third), 7.0);
    EXPECT_EQ(b.count(reason::repeated), 0u);
  }
}

TEST(RequestHandler, AWorkerMayBeginWithAPush) {
  for (const park_on park : {park_on::push, park_on::pull}) {
    server_bench b{{.capacity = 2, .park = park}, asp{}};
    const auto first = b.push(0, 2.0);
    EXPECT_EQ(b.answered(first), park == park_on::pull);
    EXPECT_EQ(b.store.values[0], 0.0) << "nobody runs before the quorum";
    b.push(1, 4.0);
    EXPECT_EQ(b.store.values[0], 6.0);
    EXPECT_TRUE(b.answered(first));
    EXPECT_EQ(b.value(b.pull(0)), 6.0);
    EXPECT_EQ(b.value(b.pull(1)), 6.0);
    EXPECT_EQ(b.sync.inspect([](const auto& c) { return c.version(); }), 2u);
  }
}

TEST(RequestHandler, AnOpeningPushJoinsTheFirstRound) {
  for (const park_on park : {park_on::push, park_on::pull}) {
    server_bench b{{.capacity = 2, .park = park}, bsp{}};
    b.push(0, 2.0);
    const auto waits = b.pull(0);  // in the mode of pushes it is served at the quorum
    EXPECT_FALSE(b.answered(waits));
    b.push(1, 4.0);
    EXPECT_EQ(b.store.values[0], 3.0);
    EXPECT_EQ(b.store.done.size(), 1u);
    EXPECT_TRUE(b.answered(waits));
  }
}

TEST(RequestHandler, ASecondPushOfAWaitingWorkerIsAnsweredAndNotUsed) {
  server_bench b{{.capacity = 2}, bsp{}};
  b.pull(0), b.pull(1);
  const auto first = b.push(0, 2.0), again = b.push(0, 100.0);
  EXPECT_FALSE(b.answered(first));
  EXPECT_FALSE(b.answered(again)) << "it waits as the first does";
  b.push(1, 4.0);
  EXPECT_TRUE(b.answered(first));
  EXPECT_TRUE(b.answered(again));
  EXPECT_EQ(b.store.values[0], 3.0);
  EXPECT_EQ(b.count(reason::repeated), 1u);
}

TEST(RequestHandler, TheSameRequestOnceMoreIsNotAnsweredAgain) {
  for (const park_on park : {park_on::push, park_on::pull}) {
    server_bench b{{.capacity = 2, .park = park}, ssp{.staleness = 0}};
    b.pull(0), b.pull(1);
    const auto waits = b.push_pull(0, 2.0);
    b.resend(waits, true, true, server_bench::of(2.0));
    b.push_pull(1, 4.0);
    EXPECT_TRUE(b.answered(waits));
    b.resend(waits, true, true, server_bench::of(2.0));
    EXPECT_TRUE(b.answered(waits)) << "once";
    EXPECT_EQ(b.store.values[0], 6.0);
    EXPECT_EQ(b.sync.counts().duplicates, 2u);
  }
}

// ps-lite's queue is by priority, and has no order among equals: of a push and a pull that a worker sends without
// waiting, the pull may come first.
TEST(RequestHandler, APullThatOvertookItsPushWaitsForIt) {
  server_bench b{{.capacity = 2, .park = park_on::pull}, bsp{}};
  b.pull(0), b.pull(1);
  b.next_timestamp[{0, 0}] = 2;
  const auto pull = b.pull(0);
  EXPECT_FALSE(b.answered(pull)) << "number 1 has not come";
  b.resend({b.node(0), 0, 1}, true, false, b.of(2.0));
  EXPECT_TRUE(b.answered({b.node(0), 0, 1}));
  EXPECT_FALSE(b.answered(pull)) << "now it waits for the barrier";
  b.push(1, 4.0);
  EXPECT_EQ(b.value(pull), 3.0);
  b.push(0, 2.0), b.push(1, 2.0);
  EXPECT_EQ(b.store.values[0], 5.0);
  EXPECT_EQ(b.count(reason::repeated), 0u);
}

TEST(RequestHandler, APullDoesNotWaitForEverForARequestThatIsNotForThisServer) {
  server_bench b{{.capacity = 2, .park = park_on::pull, .patience = 0.5}, bsp{}};
  b.pull(0), b.pull(1);
  b.next_timestamp[{0, 0}] = 2;
  const auto pull = b.pull(0);
  EXPECT_DOUBLE_EQ(b.sync.due_in(), 0.5);
  b.time = 0.4;
  b.sync.poll();
  EXPECT_FALSE(b.answered(pull));
  b.time = 0.5;
  b.sync.poll();
  EXPECT_TRUE(b.answered(pull)) << "it computes, and may read";
  EXPECT_EQ(b.sync.counts().impatient, 1u);
  EXPECT_EQ(b.sync.due_in(), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(b.answered(b.pull(0))) << "the gap is behind it";
}

TEST(RequestHandler, AStepOfSeveralPushesIsTakenInWhole) {
  server_bench b{{.capacity = 2, .pushes_per_step = 3}, bsp{}};
  b.pull(0), b.pull(1);
  const auto part = [&](int w, ps::Key key, double value) {
    return b.send(w, true, false, server_bench::of(value, key));
  };
  EXPECT_TRUE(b.answered(part(0, 0, 2.0)));
  EXPECT_TRUE(b.answered(part(0, 1, 20.0)));
  EXPECT_TRUE(b.answered(part(1, 0, 4.0)));
  EXPECT_TRUE(b.store.rounds.empty()) << "no part is in before the step is whole";
  const auto last = part(0, 2, 200.0);
  EXPECT_FALSE(b.answered(last));
  part(1, 1, 40.0);
  EXPECT_TRUE(b.answered(part(1, 2, 400.0)));
  EXPECT_TRUE(b.answered(last));
  EXPECT_EQ(b.store.values, (std::map<ps::Key, double>{{0, 3.0}, {1, 30.0}, {2, 300.0}}));
}

TEST(RequestHandler, PartsOfADeadWorkerAreForgotten) {
  server_bench b{{.capacity = 2, .pushes_per_step = 2}, asp{}};
  b.pull(0), b.pull(1);
  b.send(0, true, false, server_bench::of(2.0, 0));
  EXPECT_EQ(b.sync.depart(b.name(0), cause::death), errc::ok);
  b.send(1, true, false, server_bench::of(4.0, 0));
  b.send(1, true, false, server_bench::of(8.0, 1));
  EXPECT_EQ(b.store.values, (std::map<ps::Key, double>{{0, 4.0}, {1, 8.0}}));
  b.restart(0);
  b.pull(0);
  b.send(0, true, false, server_bench::of(16.0, 2));
  b.send(0, true, false, server_bench::of(32.0, 3));
  EXPECT_EQ(b.store.values, (std::map<ps::Key, double>{{0, 4.0}, {1, 8.0}, {2, 16.0}, {3, 32.0}}));
}

TEST(RequestHandler, AGradientIsWeighedByTheTermsOfItsOwnStep) {
  struct quartered {
    decision release(const cluster_view& view, const event&) const noexcept {
      return view.version() == 0 ? decision::all() : decision::all().with_lr_scale(0.25F).with_batch(8);
    }
  };
  for (const park_on park : {park_on::push, park_on::pull}) {
    server_bench b{{.capacity = 1, .park = park}, quartered{}};
    b.pull(0);
    b.push_pull(0, 64.0);
    EXPECT_EQ(b.store.values[0], 64.0);
    EXPECT_EQ(b.store.told.back().batch, 8u) << "what the worker may be told";
    b.push_pull(0, 64.0);
    EXPECT_EQ(b.store.values[0], 80.0);
  }
}

TEST(RequestHandler, AGradientThatDoesNotFitIsAFailure) {
  server_bench b{{.capacity = 2}, bsp{}};
  b.pull(0), b.pull(1);
  b.store.refuses[7] = true;
  const auto bad = b.send(0, true, false, server_bench::of(2.0, 7));
  const auto good = b.push(1, 4.0);
  EXPECT_TRUE(b.answered(bad));
  EXPECT_TRUE(b.answered(good));
  EXPECT_EQ(b.store.values[0], 4.0) << "the mean of what succeeded";
  EXPECT_EQ(b.count(reason::failed), 1u);
}

TEST(RequestHandler, FactsReachThePolicyAndTheWeight) {
  server_bench b{{.capacity = 1, .nominal_samples = 32}, asp{}};
  b.pull(0);
  b.store.next.samples = 16;
  b.push(0, 8.0);
  EXPECT_EQ(b.store.values[0], 4.0) << "half of the samples, half of the weight";
  b.store.next = {.loss = std::numeric_limits<float>::quiet_NaN()};
  EXPECT_TRUE(b.answered(b.push(0, 8.0)));
  EXPECT_EQ(b.store.values[0], 4.0);
  EXPECT_EQ(b.count(reason::non_finite), 1u);
}

TEST(RequestHandler, StalenessIsCountedFromWhatTheWorkerRead) {
  server_bench b{{.capacity = 2}, asp{}};
  std::vector<std::uint64_t> seen;
  struct watch {
    std::vector<std::uint64_t>* out;
    void operator()(const record& r) const noexcept {
      if (r.what == record::kind::admit) out->push_back(r.staleness);
    }
  };
  ps_lite::request_handler<ps::KVServer<double>, sums, asp, watch> sync{{.capacity = 2}, {}, b.store, {}, watch{&seen}};
  b.server.set_request_handle(std::ref(sync));
  b.pull(0), b.pull(1);
  b.push(0, 1.0), b.push(0, 1.0);  // without a pull between them: computed on what the first was
  b.push(1, 1.0), b.pull(1), b.push(1, 1.0);
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{0, 1, 2, 0}));
}

TEST(RequestHandler, WhoIsWaitedForAndWhatWasCountedCanBeRead) {
  server_bench b{{.capacity = 2}, bsp{}};
  b.pull(0), b.pull(1), b.push(0, 1.0), b.push(0, 1.0);
  const std::string text = b.sync.describe();
  EXPECT_NE(text.find("worker 0: node 9, customer 0, parked, clock 1, 2 requests wait"), std::string::npos) << text;
  EXPECT_NE(text.find("worker 1: node 11, customer 0, running, clock 0, 0 requests wait"), std::string::npos) << text;
  EXPECT_NE(text.find("repeated 1"), std::string::npos) << text;
  EXPECT_NE(text.find("requests 4, answers 2"), std::string::npos) << text;
}

TEST(RequestHandler, OptionsThatMakeNoSenseHaveASentence) {
  EXPECT_EQ(ps_lite::problem({.capacity = 2}, asp{}), "");
  EXPECT_NE(ps_lite::problem({.capacity = 0}, asp{}).find("capacity"), std::string::npos);
  EXPECT_NE(ps_lite::problem({.capacity = 2, .quorum = 3}, asp{}).find("quorum is 3"), std::string::npos);
  EXPECT_NE(ps_lite::problem({.capacity = 2, .pushes_per_step = 0}, asp{}).find("pushes_per_step"), std::string::npos);
  EXPECT_NE(ps_lite::problem({.capacity = 2, .nominal_samples = 0}, asp{}).find("nominal_samples"), std::string::npos);
  EXPECT_NE(ps_lite::problem({.capacity = 2, .patience = -1}, asp{}).find("patience"), std::string::npos);
}

TEST(RequestHandler, MakeRefusesWithThatSentence) {
  using handler = server_bench::handler_type;
  sums store;
  const auto refused = handler::make({.capacity = 2, .quorum = 3}, asp{}, store);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::invalid_option);
  EXPECT_EQ(refused.error().message, ps_lite::problem({.capacity = 2, .quorum = 3}, asp{}));
  EXPECT_TRUE(handler::make({.capacity = 2}, asp{}, store));
}

}  // namespace
}  // namespace rubato::test
