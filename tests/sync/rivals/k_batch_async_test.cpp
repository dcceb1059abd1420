#include <rubato/sync/rivals/k_batch_async.hpp>

#include "../recorder.hpp"

namespace {

using namespace rubato;
using test::bench;
using test::words;

TEST(KBatchAsync, EveryKthGradientIsAnUpdate) {
  bench<k_batch_async> b{{.k = 2}, 3};
  EXPECT_EQ(b.push(0), words{"release 0@0"});
  EXPECT_EQ(b.push(0), (words{"flush 0 x0.5 n2", "release 0@1"}));
  EXPECT_EQ(b.push(1), words{"release 1@1"});
  b.depart(1);
  EXPECT_EQ(b.push(2), (words{"flush 1 x0.5 n2", "release 2@2"})) << "the gradient of who went stays in the round";
}

TEST(KBatchAsync, TheNextRoundFillsWhileTheLastIsAdded) {
  bench<k_batch_async> b{{.k = 2}, 3};
  const admitted first = b.admit(0);
  const admitted second = b.admit(1);
  const admitted third = b.admit(2);
  EXPECT_EQ(second.round, 0u);
  EXPECT_EQ(third.round, 1u);
  b.finish(third), b.finish(second);
  EXPECT_EQ(b.sink.take(), (words{"release 2@0", "release 1@0"})) << "nobody waits";
  b.finish(first);
  EXPECT_EQ(b.sink.take(), (words{"flush 0 x0.5 n2", "release 0@1"}));
  EXPECT_EQ(b.sync.pending(), 1u);
}

}  // namespace
