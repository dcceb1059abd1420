#include <rubato/sync/rivals/rennala.hpp>

#include "../recorder.hpp"

namespace {

using namespace rubato;
using test::bench;
using test::words;

TEST(Rennala, StaleGradientsAreDroppedAndNobodyIsCancelled) {
  bench<rennala> b{{.batch = 2}, 3};
  EXPECT_EQ(b.push(0), words{"release 0@0"});
  EXPECT_EQ(b.push(1), (words{"flush 0 x0.5 n2", "release 1@1"}));
  EXPECT_EQ(b.push(0), words{"release 0@1"}) << "its second step was on version 0";
  EXPECT_EQ(b.push(2), words{"release 2@1"});
  EXPECT_EQ(b.count(reason::stale), 2u);
  EXPECT_EQ(b.push(2), words{"release 2@1"});
  EXPECT_EQ(b.push(0), (words{"flush 1 x0.5 n2", "release 0@2"}));
}

TEST(Rennala, OneWorkerMayGiveSeveralGradients) {
  bench<rennala> b{{.batch = 3}, 1};
  b.push(0);
  EXPECT_EQ(b.push(0), words{"release 0@0"});
  EXPECT_EQ(b.push(0), (words{"flush 0 x0.333333 n3", "release 0@1"}));
}

}  // namespace
