#include <rubato/sync/bsp.hpp>

#include "recorder.hpp"

namespace {

using namespace rubato;
using test::bench;
using test::words;

TEST(Bsp, MeanOfTheRound) {
  bench<bsp> b{{}, 3};
  const admitted a = b.admit(1);
  EXPECT_EQ(a.what.what, verdict::accumulate);
  b.finish(a);
  b.push(0);
  EXPECT_EQ(b.sync.pending(), 2u);
  EXPECT_EQ(b.push(2), (words{"flush 0 x0.333333 n3", "release 1@1", "release 0@1", "release 2@1"}));
  EXPECT_EQ(b.sync.pending(), 0u);
  EXPECT_EQ(b.sync.version(), 1u);
}

TEST(Bsp, SumAppliesAtOnce) {
  bench<bsp> b{{.aggregate = bsp::sum}, 3};
  const admitted a = b.admit(1);
  EXPECT_EQ(a.what.what, verdict::apply);
  b.finish(a);
  b.push(0);
  EXPECT_EQ(b.push(2), (words{"release 1@3", "release 0@3", "release 2@3"}));
}

TEST(Bsp, DeadWorkerDoesNotHangTheRest) {
  bench<bsp> b{{}, 3};
  b.push(0), b.push(2);
  EXPECT_EQ(b.depart(1), (words{"flush 0 x0.5 n2", "release 0@1", "release 2@1"}));
  EXPECT_EQ(b.sync.counts().overrides(), 0u);
  b.push(0);
  EXPECT_EQ(b.push(2).size(), 3u) << "the next barrier needs two";
}

TEST(Bsp, JoinerWaitsForTheBarrier) {
  bench<bsp> b{{}, 2, {.capacity = 3, .quorum = 2}};
  b.push(0), b.push(1);
  b.push(0);
  EXPECT_EQ(b.join(2, 0), words{});
  EXPECT_EQ(b.push(1), (words{"flush 1 x0.5 n2", "release 0@2", "release 2@2", "release 1@2"}));
}

TEST(Bsp, EarlyFinishersDoNotHangTheRest) {
  bench<bsp> b{{}, 2};
  b.push(0);
  EXPECT_EQ(b.depart(1, cause::done), (words{"flush 0 x1 n1", "release 0@1"}));
  EXPECT_EQ(b.push(0).size(), 2u);
}

TEST(Bsp, StepsAheadAtASwitchStayAheadAndEveryoneTakesOneStepARound) {
  bench<> b{asp{}, 2};
  for (int i = 0; i < 5; ++i) b.push(0);
  EXPECT_EQ(b.sync.switch_to(bsp{}, b.now, pending_gradients::flush, b.sink), errc::ok);
  b.push(0);
  EXPECT_EQ(b.push(1).size(), 3u);
  EXPECT_EQ(b.sync.counts().overrides(), 0u);
}

}  // namespace
