#include <rubato/sync/rivals/k_batch_sync.hpp>

#include "../recorder.hpp"

namespace {

using namespace rubato;
using test::bench;
using test::words;

TEST(KBatchSync, FinishersGoOnAtTheSameVersion) {
  bench<k_batch_sync> b{{.k = 4}, 2};
  EXPECT_EQ(b.push(0), words{"release 0@0"});
  EXPECT_EQ(b.push(0), words{"release 0@0"});
  EXPECT_EQ(b.push(1), words{"release 1@0"});
  EXPECT_EQ(b.push(0), (words{"flush 0 x0.25 n4", "cancel 1", "release 0@1"})) << "four of two workers";
}

TEST(KBatchSync, TheRestIsCancelledAtTheUpdate) {
  bench<k_batch_sync> b{{.k = 2}, 4};
  b.push(0);
  EXPECT_EQ(b.push(1), (words{"flush 0 x0.5 n2", "cancel 0", "cancel 2", "cancel 3", "release 1@1"}));
  EXPECT_EQ(b.push(2), words{"release 2@1"});
  EXPECT_EQ(b.count(reason::cancelled), 1u);
  EXPECT_EQ(b.push(1), words{"release 1@1"});
  EXPECT_EQ(b.push(2), (words{"flush 1 x0.5 n2", "cancel 1", "release 2@2"}));
  EXPECT_EQ(b.sync.counts().overrides(), 0u);
}

TEST(KBatchSync, WaitsForGradientsThatAreBeingAdded) {
  bench<k_batch_sync> b{{.k = 2}, 4};
  const admitted first = b.admit(0);
  const admitted second = b.admit(1);
  const admitted third = b.admit(2);
  EXPECT_EQ(third.what.why, reason::stale);
  b.finish(second), b.finish(third);
  EXPECT_EQ(b.sink.take(), words{});
  b.finish(first);
  EXPECT_EQ(b.sink.take(), (words{"flush 0 x0.5 n2", "cancel 3", "release 1@1", "release 2@1", "release 0@1"}));
}

}  // namespace
