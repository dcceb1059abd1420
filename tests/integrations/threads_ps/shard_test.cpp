#include <gtest/gtest.h>

#include <cstdint>
#include <rubato/threads_ps/shard.hpp>
#include <stdexcept>
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
      void update(std::span<float> values, const update_step& by) {
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = values[i] * values[i] + by.scale * by.direction[i];
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

TEST(Shard, AFlushThatThrowsIsOverAndTheNextComes) {
  struct rule {
    void resize(std::size_t) {}
    void update(std::span<float> values, const update_step& by) {
      if (by.direction[0] > 100) throw std::runtime_error{"too far"};
      values[0] -= by.direction[0];
    }
  };
  shard<rule> slice{numbers{0}, rule{}};
  for (const float x : {1.0F, 999.0F, 2.0F, 4.0F}) {
    const auto round = static_cast<std::uint64_t>(x);
    slice.add(round, numbers{x}, 1);
    slice.post_flush(round, 1);
    if (x > 100) {
      numbers now(1);
      EXPECT_THROW(slice.read(now), std::runtime_error) << "out of the call that carries it out";
    }
  }
  numbers now(1);
  EXPECT_EQ(slice.read(now), 4u) << "it counts";
  EXPECT_EQ(now[0], -7.0F);

  slice.add(5, numbers{999}, 1), slice.add(6, numbers{8}, 1);
  slice.post_flush(5, 1), slice.post_flush(6, 1);
  EXPECT_THROW(slice.add(7, numbers{16}, 1), std::runtime_error);
  slice.post_flush(7, 1);
  EXPECT_EQ(slice.read(now), 7u) << "those behind it were not lost, nor carried out twice";
  EXPECT_EQ(now[0], -15.0F) << "and what met the throw was not added";
}

}  // namespace
}  // namespace rubato::threads_ps
