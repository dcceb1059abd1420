#include <rubato/sync/rivals/k_async.hpp>

#include "../recorder.hpp"

namespace {

using namespace rubato;
using test::bench;
using test::words;

TEST(KAsync, ContributorsWaitAndTheOthersGoOn) {
  bench<k_async> b{{.k = 2}, 4};
  EXPECT_EQ(b.push(0), words{});
  EXPECT_EQ(b.push(1), (words{"flush 0 x0.5 n2", "release 0@1", "release 1@1"})) << "nobody is cancelled";
  EXPECT_EQ(b.state(2), worker_state::running);
}

TEST(KAsync, OfOneWaitsForNobody) {
  bench<k_async> b{{.k = 1}, 2};
  EXPECT_EQ(b.push(1), (words{"flush 0 x1 n1", "release 1@1"}));
  EXPECT_EQ(b.sync.counts().overrides(), 0u);
}

TEST(KAsync, StaleGradientsCount) {
  bench<k_async> b{{.k = 2}, 4};
  b.push(0), b.push(1);
  const admitted old = b.admit(2);
  EXPECT_EQ(old.staleness, 1u);
  EXPECT_EQ(old.what.what, verdict::accumulate);
  b.finish(old);
  EXPECT_EQ(b.push(0), (words{"flush 1 x0.5 n2", "release 2@2", "release 0@2"}));
}

TEST(KAsync, WhatIsBeingAddedJoinsTheUpdate) {
  bench<k_async> b{{.k = 2}, 4};
  const admitted under_way = b.admit(2);
  b.push(0);
  EXPECT_EQ(b.push(1), words{}) << "who started now would miss the third gradient";
  b.finish(under_way);
  EXPECT_EQ(b.sink.take(), (words{"flush 0 x0.333333 n3", "release 0@1", "release 1@1", "release 2@1"}));
}

TEST(KAsync, AGradientThatFailsIsNotWaitedWith) {
  bench<k_async> b{{.k = 2}, 3};
  const admitted failing = b.admit(2);
  b.push(0), b.push(1);
  b.finish(failing, 100, outcome::failed);
  EXPECT_EQ(b.sink.take(), (words{"flush 0 x0.5 n2", "release 0@1", "release 1@1", "release 2@1"}));
}

TEST(KAsync, DoesNotWaitForTheDead) {
  bench<k_async> b{{.k = 2}, 3};
  const admitted of_the_dead = b.admit(2);
  b.push(0), b.push(1);
  EXPECT_EQ(b.depart(2), (words{"release 0@0", "release 1@0"}));
  b.finish(of_the_dead);
  EXPECT_EQ(b.sink.take(), (words{"flush 0 x0.333333 n3", "abandon 100 departed_worker"}));
  EXPECT_EQ(b.sync.counts().overrides(), 0u);
}

TEST(KAsync, FewerThanKAreDegraded) {
  bench<k_async> b{{.k = 3}, 3};
  b.push(0), b.push(1);
  EXPECT_EQ(b.depart(2), (words{"flush 0 x0.5 n2", "release 0@1", "release 1@1"}));
  EXPECT_EQ(b.count(reason::degraded), 1u);
  EXPECT_EQ(b.join(2, 1), words{"release 2@1"}) << "who joins a round starts at once";
  b.push(0), b.push(1);
  EXPECT_EQ(b.push(2).front(), "flush 1 x0.333333 n3");
  EXPECT_EQ(b.count(reason::degraded), 1u);
}

}  // namespace
