#include <rubato/cuda/lanes.cuh>

#include <gtest/gtest.h>

#include <vector>

#include "thread_lanes.hpp"

namespace rubato::cuda {
namespace {

TEST(Lanes, OneLane) {
  EXPECT_EQ(one_lane::index(), 0u);
  EXPECT_EQ(one_lane::count(), 1u);
  one_lane::sync();
}

TEST(Lanes, ThreadLanesMeet) {
  std::vector<unsigned> seen(8), sum(8);
  test::on_lanes(8, [&](const test::thread_lanes& lanes) {
    seen[lanes.index()] = lanes.index();
    lanes.sync();
    for (unsigned i = 0; i < lanes.count(); ++i) sum[lanes.index()] += seen[i];
  });
  EXPECT_EQ(sum, std::vector<unsigned>(8, 28));
}

}  // namespace
}  // namespace rubato::cuda
