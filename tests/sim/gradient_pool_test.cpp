#include <gtest/gtest.h>

#include <rubato/sim/gradient_pool.hpp>

namespace {

using rubato::sim::gradient_pool;

TEST(gradient_pool, RecyclesTheLastReleased) {
  gradient_pool<int> pool;
  const auto first = pool.acquire();
  const auto second = pool.acquire();
  EXPECT_NE(first, second);
  pool[first] = 5;
  pool.release(first);
  EXPECT_FALSE(pool.live(first));
  EXPECT_TRUE(pool.live(second));
  EXPECT_EQ(pool.acquire(), first);
  EXPECT_EQ(pool[first], 5) << "a slot keeps its contents";
  EXPECT_EQ(pool.capacity(), 2U);
}

TEST(gradient_pool, ClearDropsAllHandles) {
  gradient_pool<int> pool;
  for (int i = 0; i < 3; ++i) static_cast<void>(pool.acquire());
  pool.release(1);
  pool.clear();
  for (unsigned handle = 0; handle < 3; ++handle) EXPECT_FALSE(pool.live(handle));
  for (unsigned handle = 0; handle < 3; ++handle) EXPECT_EQ(pool.acquire(), handle);
  EXPECT_EQ(pool.capacity(), 3U);
}

}  // namespace
