#include <rubato/sync/rivals/ringmaster.hpp>

#include "../recorder.hpp"

namespace {

using namespace rubato;
using test::bench;
using test::words;

TEST(Ringmaster, GradientsAtTheDelayAreDropped) {
  bench<ringmaster> b{{.delay = 2}, 3};
  EXPECT_EQ(b.push(0), words{"release 0@1"});
  EXPECT_EQ(b.push(1), words{"release 1@2"}) << "one update old: applied";
  EXPECT_EQ(b.push(2), words{"release 2@2"}) << "two updates old: dropped";
  EXPECT_EQ(b.count(reason::stale), 1u);
  EXPECT_EQ(b.sync.version(), 2u);
}

TEST(Ringmaster, WithoutStopsNobodyIsCancelled) {
  bench<ringmaster> b{{.delay = 2}, 2};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(b.push(0).size(), 1u);
  EXPECT_EQ(b.count(reason::cancelled), 0u);
}

TEST(Ringmaster, StopsWhatHasBecomeTooOld) {
  bench<ringmaster> b{{.delay = 2, .stops = true}, 3};
  EXPECT_EQ(b.push(0), words{"release 0@1"}) << "the others could still be used";
  EXPECT_EQ(b.push(0), (words{"cancel 1", "cancel 2", "release 0@2"}));
  EXPECT_EQ(b.push(1), words{"release 1@2"});
  EXPECT_EQ(b.count(reason::cancelled), 1u);
  EXPECT_EQ(b.push(0), words{"release 0@3"});
  EXPECT_EQ(b.push(0), (words{"cancel 1", "release 0@4"})) << "2 is cancelled already";
  EXPECT_EQ(b.sync.counts().overrides(), 0u);
}

// Updates that are admitted and not yet in count too: their number is what the gradient will be late by.
TEST(Ringmaster, CountsUpdatesThatAreUnderWay) {
  bench<ringmaster> b{{.delay = 2, .stops = true}, 3};
  const admitted first = b.admit(0);
  EXPECT_EQ(b.push(1), (words{"cancel 2", "release 1@1"}));
  b.finish(first);
  EXPECT_EQ(b.sink.take(), words{"release 0@2"});
}

}  // namespace
