// What is decided reaches the shards without an allocation, which could throw into the controller.
#include <gtest/gtest.h>

#include <cstdint>
#include <rubato/threads_ps/shard.hpp>
#include <vector>

#include "../../support/counted_allocations.hpp"

namespace rubato::threads_ps {
namespace {

TEST(ShardAllocations, PostingAllocatesNothing) {
  if (!test::allocations_are_counted) GTEST_SKIP() << "the sanitizer has the operators for itself";
  constexpr std::uint64_t rounds = 5;
  const std::vector<float> ones(3, 1.0F);
  shard<sgd> slice{ones, sgd{{.learning_rate = 1}}, rounds};
  for (int again = 0; again < 3; ++again) {
    for (std::uint64_t round = 0; round < rounds; ++round) slice.add(round, ones, 1);
    test::allocations = 0;
    test::counting = true;
    for (std::uint64_t round = 0; round + 1 < rounds; ++round) slice.post_flush(round, 1);
    slice.post_discard(rounds - 1);
    test::counting = false;
    EXPECT_EQ(test::allocations, 0u);
  }
}

}  // namespace
}  // namespace rubato::threads_ps
