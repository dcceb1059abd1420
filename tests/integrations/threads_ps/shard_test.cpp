#include <gtest/gtest.h>

#include <cstdint>
#include <rubato/threads_ps/shard.hpp>
#include <vector>

namespace rubato::threads_ps {
namespace {

using numbers = std::vector<float>;

numbers values_of(shard<sgd>& slice) {
  numbers all(slice.size());
  slice.read(all);
  return all;
}
std::uint64_t version_of(shard<sgd>& slice) {
  numbers all(slice.size());
  return slice.read(all);
}

const numbers start{1, 2, 3};
const numbers ones{1, 1, 1};

TEST(UpdateRule, SgdMovesAgainstTheDirection) {
  numbers values = start;
  sgd rule{{.learning_rate = 0.5F}};
  rule.resize(3);
  rule.update(values, numbers{2, 0, -2}, 2);
  EXPECT_EQ(values, (numbers{-1, 2, 5}));
}

TEST(UpdateRule, MomentumRemembers) {
  numbers values{0};
  sgd rule{{.learning_rate = 1, .momentum = 0.5F}};
  rule.resize(1);
  rule.update(values, numbers{4}, 1);  // v = 4
  rule.update(values, numbers{2}, 1);  // v = 2 + 2
  rule.update(values, numbers{0}, 1);  // v = 2
  EXPECT_EQ(values, (numbers{-10}));
}

TEST(Shard, AppliesAtOnce) {
  shard<sgd> slice{start, sgd{{.learning_rate = 1}}};
  EXPECT_EQ(slice.apply(ones, 1), 0u) << "the version that it met";
  EXPECT_EQ(slice.apply(ones, 2), 1u);
  EXPECT_EQ(values_of(slice), (numbers{-2, -1, 0}));
  EXPECT_EQ(version_of(slice), 2u);
}

TEST(Shard, FlushesWhatWasAdded) {
  shard<sgd> slice{start, sgd{{.learning_rate = 1}}};
  slice.add(7, ones, 1);
  slice.add(7, ones, 3);
  EXPECT_EQ(values_of(slice), start) << "not yet";
  slice.post_flush(7, 0.5F);
  EXPECT_EQ(values_of(slice), (numbers{-1, 0, 1}));
  EXPECT_EQ(version_of(slice), 1u);
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

TEST(Shard, LaterRoundsAreApart) {
  shard<sgd> slice{numbers{0}, sgd{{.learning_rate = 1}}};
  slice.add(0, numbers{1}, 1);
  slice.add(1, numbers{10}, 1);  // admitted while the last commit of round 0 is out
  slice.post_flush(0, 1);
  EXPECT_EQ(values_of(slice), numbers{-1});
  slice.add(1, numbers{10}, 1);
  slice.post_flush(1, 1);
  slice.add(2, numbers{100}, 1);  // takes the place of a former sum, which was cleared
  slice.post_flush(2, 1);
  EXPECT_EQ(values_of(slice), numbers{-121});
  EXPECT_EQ(version_of(slice), 3u);
}

TEST(Shard, DiscardsLeaveTheVersion) {
  shard<sgd> slice{start, sgd{{.learning_rate = 1}}};
  slice.add(0, ones, 1);
  slice.post_discard(0);
  slice.add(1, ones, 1);
  EXPECT_EQ(version_of(slice), 0u);
  slice.post_flush(1, 1);
  EXPECT_EQ(values_of(slice), (numbers{0, 1, 2}));
  EXPECT_EQ(version_of(slice), 1u);
}

TEST(Shard, EmptyRoundsCountAsUpdates) {
  shard<sgd> slice{start, sgd{}};
  slice.post_flush(3, 1);
  EXPECT_EQ(version_of(slice), 1u);
  EXPECT_EQ(values_of(slice), start);
}

}  // namespace
}  // namespace rubato::threads_ps
