#include <gtest/gtest.h>

#include <cstdint>
#include <rubato/threads_ps/shard.hpp>
#include <vector>

namespace rubato::threads_ps {
namespace {

using numbers = std::vector<float>;

const numbers start{1, 2, 3};
const numbers ones{1, 1, 1};

TEST(Shard, TellsTheVersionThatWasMet) {
  shard<sgd> slice{start, sgd{{.learning_rate = 1}}};
  EXPECT_EQ(slice.apply(ones, 1), 0u);
  EXPECT_EQ(slice.apply(ones, 2), 1u);
  EXPECT_EQ(slice.add(0, ones, 1), 2u);
  numbers now(slice.size());
  EXPECT_EQ(slice.read(now), 2u);
  EXPECT_EQ(now, (numbers{-2, -1, 0}));
}

TEST(Shard, PostedEffectsComeFirst) {
  const auto squares = [] {  // an update that depends on the order
    struct rule {
      void resize(std::size_t) {}
      void update(std::span<float> values, std::span<const float> by, float scale) {
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = values[i] * values[i] + scale * by[i];
      }
    };
    return rule{};
  }();
  shard slice{numbers{2}, squares};
  slice.add(0, numbers{1}, 1);
  slice.post_flush(0, 1);
  EXPECT_EQ(slice.apply(numbers{10}, 1), 1u);
  numbers now(1);
  slice.read(now);
  EXPECT_EQ(now[0], (2 * 2 + 1) * (2 * 2 + 1) + 10);
}

TEST(Shard, PostedDiscardsLeaveTheVersion) {
  shard<sgd> slice{start, sgd{{.learning_rate = 1}}};
  slice.add(0, ones, 1);
  slice.post_discard(0);
  slice.add(1, ones, 1);
  slice.post_flush(1, 1);
  numbers now(slice.size());
  EXPECT_EQ(slice.read(now), 1u);
  EXPECT_EQ(now, (numbers{0, 1, 2}));
}

}  // namespace
}  // namespace rubato::threads_ps
