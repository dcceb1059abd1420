#include <rubato/rl/replay.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "agents.hpp"

namespace rubato::rl {
namespace {

replay_buffer filled(std::size_t capacity, int count) {
  replay_buffer replay{capacity, 2};
  for (int i = 0; i < count; ++i) {
    const auto x = static_cast<float>(i);
    const std::array<float, 2> here{x, -x}, there{x + 1, -x - 1};
    replay.add({here, static_cast<std::uint32_t>(i), 10 * x, 0.5F, there, 7});
  }
  return replay;
}

TEST(Replay, OldestIsReplaced) {
  const replay_buffer replay = filled(3, 5);
  EXPECT_EQ(replay.size(), 3u);
  std::set<std::uint32_t> actions;
  for (std::size_t slot = 0; slot < 3; ++slot) {
    const experience what = replay[slot];
    const auto x = static_cast<float>(what.action);
    actions.insert(what.action);
    EXPECT_EQ(what.observation[0], x);
    EXPECT_EQ(what.observation[1], -x);
    EXPECT_EQ(what.next[0], x + 1);
    EXPECT_EQ(what.reward, 10 * x);
    EXPECT_EQ(what.discount, 0.5F);
    EXPECT_EQ(what.next_legal, 7u);
  }
  EXPECT_EQ(actions, (std::set<std::uint32_t>{2, 3, 4}));
}

// Whatever an experience is rounded up to, none reaches into the next.
TEST(Replay, EveryWidthIsKept) {
  for (std::size_t width = 1; width <= 40; ++width) {
    replay_buffer replay{3, width};
    const auto observation = [&](std::size_t slot, float sign) {
      std::vector<float> made(width);
      for (std::size_t i = 0; i < width; ++i) made[i] = sign * static_cast<float>(100 * slot + i + 1);
      return made;
    };
    for (std::uint32_t slot = 0; slot < 3; ++slot)
      EXPECT_EQ(replay.add({observation(slot, 1), slot, -7, 0.5F, observation(slot, -1), 9 + slot}), slot);
    const std::array<std::uint32_t, 3> all{0, 1, 2};
    std::vector<float> gathered(3 * width), gathered_next(3 * width);
    replay.gather(all, gathered);
    replay.gather_next(all, gathered_next);
    for (const std::uint32_t slot : all) {
      replay.prefetch_next(slot);
      replay.prefetch_rest(slot);
      const experience what = replay[slot];
      EXPECT_TRUE(std::ranges::equal(what.observation, observation(slot, 1)));
      EXPECT_TRUE(std::ranges::equal(what.next, observation(slot, -1)));
      EXPECT_TRUE(std::ranges::equal(what.observation, std::span{gathered}.subspan(slot * width, width)));
      EXPECT_TRUE(std::ranges::equal(what.next, std::span{gathered_next}.subspan(slot * width, width)));
      EXPECT_EQ(what.action, slot);
      EXPECT_EQ(what.reward, -7);
      EXPECT_EQ(what.discount, 0.5F);
      EXPECT_EQ(what.next_legal, 9 + slot);
    }
  }
}

// Counts of 40,000 draws from 8 slots: expected 5,000, deviation 66.
TEST(Replay, SamplesUniformly) {
  const replay_buffer replay = filled(20, 8);
  std::array<int, 8> counts{};
  random_sequence random{1};
  std::vector<std::uint32_t> slots(4);
  for (int i = 0; i < 10'000; ++i) {
    replay.sample(random, slots);
    for (const std::uint32_t slot : slots) ++counts.at(slot);
  }
  for (const int count : counts) EXPECT_NEAR(count, 5000, 330);
}

TEST(Replay, DistinctSamplesAreDistinctAndUniform) {
  const replay_buffer replay = filled(5, 5);
  std::map<std::set<std::uint32_t>, int> counts;
  random_sequence random{1};
  std::array<std::uint32_t, 3> slots{};
  for (int i = 0; i < 10'000; ++i) {
    replay.sample_distinct(random, slots);
    ++counts[{slots.begin(), slots.end()}];
  }
  EXPECT_EQ(counts.size(), 10u) << "all sets of 3 out of 5, and nothing smaller";
  for (const auto& [set, count] : counts) EXPECT_NEAR(count, 1000, 150);
}

TEST(Replay, SameSeedSameSample) {
  const replay_buffer replay = filled(50, 50);
  std::vector<std::uint32_t> a(32), b(32);
  random_sequence first{7, 1, 3}, second{7, 1, 3};
  replay.sample(first, a);
  replay.sample(second, b);
  EXPECT_EQ(a, b);
  replay.sample_distinct(first, a);
  replay.sample_distinct(second, b);
  EXPECT_EQ(a, b);
}

TEST(Replay, StateRoundTrip) {
  for (const int count : {0, 2, 3, 5}) {
    replay_buffer replay = filled(3, count), other = filled(3, 1);
    const auto bytes = test::saved(replay);
    archive in{bytes};
    other.state(in);
    ASSERT_TRUE(in.finished());
    const std::array<float, 2> here{1, 2};
    EXPECT_EQ(other.add({here, 1, 2, 3, here, 4}), replay.add({here, 1, 2, 3, here, 4}));
    EXPECT_EQ(test::saved(other), test::saved(replay));
  }
}

TEST(Replay, StateOfAnotherShapeIsRefused) {
  const auto bytes = test::saved(filled(3, 2));
  for (replay_buffer other : {replay_buffer{4, 2}, replay_buffer{3, 1}}) {
    archive in{bytes};
    other.state(in);
    EXPECT_FALSE(in.ok());
  }
}

}  // namespace
}  // namespace rubato::rl
