#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <rubato/core/types.hpp>

namespace rubato {
namespace {

TEST(SaturatingAdd, StopsAtUnbounded) {
  static_assert(saturating_add(2, 3) == 5);
  static_assert(saturating_add(unbounded, 0) == unbounded);
  static_assert(saturating_add(1, unbounded) == unbounded);
  static_assert(saturating_add(unbounded - 1, 1) == unbounded);
  static_assert(saturating_add(unbounded - 1, 2) == unbounded);
  EXPECT_EQ(saturating_add(unbounded, unbounded), unbounded);
}

TEST(VersionRange, WidensOverShards) {
  version_range read;
  EXPECT_GT(read.lowest, read.highest) << "empty";
  for (const std::uint64_t v : {7u, 3u, 5u}) read.include(v);
  EXPECT_EQ(read.lowest, 3u);
  EXPECT_EQ(read.highest, 7u);
}

// Semantics 3: scale of the grant x weight of the admission x samples / nominal samples.
TEST(AppliedWeight, IsTheProductOfItsFactors) {
  const grant terms{.version = 9, .batch = 8, .lr_scale = 0.5F};
  EXPECT_EQ(applied_weight(terms, 0.25F, 16, 16), 0.125F);
  EXPECT_EQ(applied_weight(terms, 0.25F, 8, 16), 0.0625F) << "half the samples count half";
  EXPECT_EQ(applied_weight({}, 1.0F, 48, 16), 3.0F);
  EXPECT_EQ(applied_weight({}, 1.0F, 0, 16), 0.0F);
}

TEST(WorkerId, IsOneLifeOfOneIndex) {
  EXPECT_EQ((worker_id{3, 1}), (worker_id{3, 1}));
  EXPECT_NE((worker_id{3, 1}), (worker_id{3, 2}));
  const auto nobody = [](worker_id id) { return id.index == no_worker && id.incarnation == 0; };
  EXPECT_TRUE(nobody({}));
}

}  // namespace
}  // namespace rubato
