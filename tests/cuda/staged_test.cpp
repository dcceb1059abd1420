#include <rubato/cuda/staged.cuh>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "thread_lanes.hpp"

namespace rubato::cuda {
namespace staged_tests {
namespace {

struct numbers {  // more than eight words a lane, and not a multiple of any number of lanes
  std::uint64_t each[211] = {};
};
numbers some() {
  numbers all;
  for (std::uint64_t i = 0; i < 211; ++i) all.each[i] = 0x0123'4567'89ab'cdefULL * (i + 1);
  return all;
}
bool same(const numbers& a, const numbers& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

TEST(CudaStaged, CopiesOverAnyNumberOfLanes) {
  const numbers from = some();
  numbers to;
  copy_over_lanes(one_lane{}, from, to);
  EXPECT_TRUE(same(from, to));
  for (const unsigned count : {2u, 7u, 32u, 75u}) {
    numbers copies[2];
    test::on_lanes(count, [&](const auto& lanes) {
      copy_over_lanes(lanes, from, copies[0]);
      copy_over_lanes(lanes, copies[0], copies[1]);  // of what other lanes have written
    });
    EXPECT_TRUE(same(from, copies[1])) << count;
  }
}

TEST(CudaStaged, CopiesTheFirstBytes) {
  const numbers from = some();
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{4}, std::size_t{8}, std::size_t{700}, sizeof from}) {
    numbers to;
    test::on_lanes(3, [&](const auto& lanes) { copy_over_lanes(lanes, from, to, bytes); });
    for (std::size_t i = 0; i < 211; ++i) EXPECT_EQ(to.each[i], 8 * i < bytes ? from.each[i] : 0) << bytes << ' ' << i;
  }
}

TEST(CudaStaged, FetchesAndGivesBack) {
  numbers far = some();
  staged<numbers> room;
  test::on_lanes(4, [&](const auto& lanes) {
    numbers& near = room.fetch(lanes, far);
    for (std::size_t i = lanes.index(); i < 211; i += lanes.count()) near.each[i] += i;
    lanes.sync();
    copy_over_lanes(lanes, near, far);
  });
  const numbers before = some();
  for (std::size_t i = 0; i < 211; ++i) EXPECT_EQ(far.each[i], before.each[i] + i) << i;
}

}  // namespace
}  // namespace staged_tests
}  // namespace rubato::cuda
