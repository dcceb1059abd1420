#include <rubato/sync/rivals/batched.hpp>

#include <gtest/gtest.h>

#include <rubato/sync/asp.hpp>
#include <rubato/sync/knee.hpp>

#include "../../support/cluster.hpp"
#include "../../support/test_policies.hpp"

namespace {

using namespace rubato;

TEST(Batched, GrantsTheBatch) {
  test::cluster c{batched{knee{}, 6}, 3};
  for (int n = 0; n < 50; ++n) c.push(c.running().front());
  ASSERT_GT(c.heard().releases.size(), 30U);
  for (const auto& each : c.heard().releases) EXPECT_EQ(each.terms.batch, 6U);
}

TEST(Batched, LeavesTheRestAlone) {
  test::cluster plain{test::weighing{}, 2};
  test::cluster treated{batched{test::weighing{}, 6}, 2};
  plain.push(0, 4.0F), treated.push(0, 4.0F);
  const grant& terms = treated.heard().releases.back().terms;
  EXPECT_EQ(terms.lr_scale, plain.heard().releases.back().terms.lr_scale);
  EXPECT_EQ(terms.version, plain.heard().releases.back().terms.version);
}

TEST(Batched, RefusesBadOptions) {
  EXPECT_EQ((batched{asp{}, 1}.problem(4)), "");
  EXPECT_EQ((batched{asp{}, 0}.problem(4)), "batched.samples is 0, expected at least 1");
}

}  // namespace
