#include <rubato/sync/rivals/k_sync.hpp>

#include "../recorder.hpp"

namespace {

using namespace rubato;
using test::bench;
using test::words;

TEST(KSync, FirstKMakeTheUpdateAndTheRestIsCancelled) {
  bench<k_sync> b{{.k = 2}, 4};
  EXPECT_EQ(b.push(1), words{});
  EXPECT_EQ(b.push(3), (words{"flush 0 x0.5 n2", "cancel 0", "cancel 2", "release 1@1", "release 3@1"}));
  EXPECT_EQ(b.push(0), words{"release 0@1"}) << "cancelled, it starts anew at once";
  EXPECT_EQ(b.count(reason::cancelled), 1u);
  EXPECT_EQ(b.push(0), words{});
  EXPECT_EQ(b.push(1), (words{"flush 1 x0.5 n2", "cancel 3", "release 0@2", "release 1@2"}))
      << "2 is cancelled already";
  EXPECT_EQ(b.sync.counts().overrides(), 0u);
}

TEST(KSync, LateGradientsAreDropped) {
  bench<k_sync> b{{.k = 2}, 3};
  b.push(0), b.push(1);
  const admitted late = b.admit(0, {.read = {.lowest = 0, .highest = 1}});  // what it read was partly from before
  EXPECT_EQ(late.what.why, reason::stale);
  b.finish(late);
  EXPECT_EQ(b.sink.take(), words{"release 0@1"}) << "who contributed nothing does not wait for the round";
}

TEST(KSync, NeverTakesMoreThanK) {
  bench<k_sync> b{{.k = 2}, 4};
  const admitted first = b.admit(0);
  const admitted second = b.admit(1);
  const admitted third = b.admit(2);
  EXPECT_EQ(first.what.what, verdict::accumulate);
  EXPECT_TRUE(second.what.completes);
  EXPECT_EQ(third.what.why, reason::stale);
  b.finish(third), b.finish(second);
  EXPECT_EQ(b.sink.take(), words{}) << "the update is not in yet: a step that starts now would be in vain";
  b.finish(first);
  EXPECT_EQ(b.sink.take(), (words{"flush 0 x0.5 n2", "cancel 3", "release 2@1", "release 1@1", "release 0@1"}));
}

TEST(KSync, ADepartureCompletesTheRound) {
  bench<k_sync> b{{.k = 3}, 3};
  b.push(0), b.push(1);
  EXPECT_EQ(b.depart(2), (words{"flush 0 x0.5 n2", "release 0@1", "release 1@1"}));

  for (const cause why : {cause::leave, cause::death, cause::done}) {
    bench<k_sync> other{{.k = 3}, 3};
    other.push(0), other.push(1);
    EXPECT_EQ(other.depart(1, why),
              (words{"abandon 100 departed_worker", "flush 0 x0.5 n2", "cancel 2", "release 0@1"}))
        << name(why) << ": its gradient stays";
    EXPECT_EQ(other.sync.counts().overrides(), 0u);
  }
}

TEST(KSync, ADepartureWaitsForWhatIsBeingAdded) {
  bench<k_sync> b{{.k = 3}, 3};
  b.push(0);
  const admitted under_way = b.admit(1);
  EXPECT_EQ(b.depart(2), words{});
  EXPECT_EQ(b.sync.updates(), 1u);
  b.finish(under_way);
  EXPECT_EQ(b.sink.take(), (words{"flush 0 x0.5 n2", "release 0@1", "release 1@1"}));
}

TEST(KSync, ACancelledStepIsNoMeasureOfAWorker) {
  bench<k_sync> b{{.k = 1}, 2};
  b.push(0);  // cancels 1
  b.push(1);
  EXPECT_GT(b.sync.workers()[0].smoothed_step_time, 0.0F);
  EXPECT_EQ(b.sync.workers()[1].smoothed_step_time, 0.0F);
}

TEST(KSync, FewerThanKAreDegraded) {
  bench<k_sync> b{{.k = 3}, 3};
  b.push(0), b.push(1), b.push(2);
  EXPECT_EQ(b.count(reason::degraded), 0u);
  b.depart(2);
  b.push(0);
  EXPECT_EQ(b.push(1), (words{"flush 1 x0.5 n2", "release 0@2", "release 1@2"}));
  EXPECT_EQ(b.count(reason::degraded), 1u);
  EXPECT_EQ(b.join(2, 1), words{"release 2@2"});
  b.push(0), b.push(1);
  EXPECT_EQ(b.push(2).size(), 4u) << "three are needed again";
  EXPECT_EQ(b.count(reason::degraded), 1u);
}

TEST(KSync, DegradedOnceWhereAGradientIsBeingAdded) {
  bench<k_sync> b{{.k = 3}, 3};
  b.push(0);
  const admitted under_way = b.admit(1);
  b.depart(2);
  b.finish(under_way);
  EXPECT_EQ(b.sync.version(), 1u);
  EXPECT_EQ(b.count(reason::degraded), 1u);
}

TEST(KSync, NobodyWaitsForTheDead) {
  bench<k_sync> b{{.k = 2}, 3};
  const admitted of_the_dead = b.admit(0);
  EXPECT_EQ(b.push(1), words{});
  EXPECT_EQ(b.depart(0), words{"release 1@0"}) << "its gradient is out, and nobody says for how long";
  EXPECT_EQ(b.push(1), words{"release 1@0"});
  EXPECT_EQ(b.count(reason::stale), 1u);
  b.finish(of_the_dead);
  EXPECT_EQ(b.sink.take(), (words{"flush 0 x0.5 n2", "abandon 100 departed_worker"}));
  EXPECT_EQ(b.push(2), words{"release 2@1"});
  EXPECT_EQ(b.sync.counts().overrides(), 0u);
}

}  // namespace
