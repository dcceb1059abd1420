#include <rubato/rl/rollout.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "agents.hpp"

namespace rubato::rl {
namespace {

using test::saved;

// Values 1, 2, 4; lambda 0.5. The last is cut where the value is 8, with a discount of 0.25 after a long step:
// 3 + 0.25 * 8 - 4 = 1. Before it, 2 + 0.5 * 4 - 2 = 2, and 0.5 * 0.5 of the later 1: 2.25. First: 1 + 0.5 * 2 - 1 = 1,
// and 0.5 * 0.5 of 2.25: 1.5625. If the second ends the task, it is 2 - 2 = 0, and the first 1.
TEST(Rollout, AdvantagesByHand) {
  constexpr std::array<float, 1> here{0};
  for (const bool ends : {false, true}) {
    rollout_buffer rollout{3, 1, 2};
    rollout.add(here, {.reward = 1, .discount = 0.5F}, here);
    rollout.add(here, {.reward = 2, .discount = ends ? 0 : 0.5F, .last = ends}, here);
    rollout.add(here, {.reward = 3, .discount = 0.25F}, here);
    rollout.cut(8);
    std::array<float, 3> out{};
    rollout.advantages(std::array{1.0F, 2.0F, 4.0F}, 0.5, out);
    EXPECT_EQ(out, (ends ? std::array{1.0F, 0.0F, 1.0F} : std::array{1.5625F, 2.25F, 1.0F}));
  }
}

// An episode that is cut short after its second step, where the value is 6: 2 + 0.5 * 6 - 2 = 3, before it 1 + 0.25
// * 3.
TEST(Rollout, AdvantagesOfATruncatedEpisodeByHand) {
  constexpr std::array<float, 1> here{0};
  rollout_buffer rollout{3, 1, 2};
  rollout.add(here, {.reward = 1, .discount = 0.5F}, here);
  rollout.add(here, {.reward = 2, .discount = 0.5F}, here);
  rollout.cut(6);
  rollout.add(here, {.reward = 9, .discount = 0, .last = true}, here);
  std::array<float, 3> out{};
  rollout.advantages(std::array{1.0F, 2.0F, 4.0F}, 0.5, out);
  EXPECT_EQ(out, (std::array{1.75F, 3.0F, 5.0F}));
}

TEST(Rollout, LambdaOneIsTheReturn) {
  constexpr std::array<float, 1> here{0};
  rollout_buffer rollout{3, 1, 2};
  for (const float reward : {1.0F, 2.0F, 4.0F})
    rollout.add(here, {.reward = reward, .discount = reward == 4 ? 0 : 0.5F, .last = reward == 4}, here);
  std::array<float, 3> out{};
  rollout.advantages(std::array{0.5F, -3.0F, 7.0F}, 1, out);
  EXPECT_EQ(out, (std::array{1 + 1 + 1 - 0.5F, 2 + 2 + 3.0F, 4 - 7.0F}));
}

TEST(Rollout, LambdaZeroIsTheError) {
  constexpr std::array<float, 1> here{0};
  rollout_buffer rollout{2, 1, 2};
  rollout.add(here, {.reward = 1, .discount = 0.5F}, here);
  rollout.add(here, {.reward = 2, .discount = 0, .last = true}, here);
  std::array<float, 2> out{};
  rollout.advantages(std::array{0.5F, -3.0F}, 0, out);
  EXPECT_EQ(out, (std::array{1 - 1.5F - 0.5F, 5.0F}));
}

TEST(Rollout, KeepsStepsInOrder) {
  rollout_buffer rollout{2, 2, 3};
  EXPECT_FALSE(rollout.open());
  rollout.add(std::array{1.0F, 2.0F}, {.action = 2, .reward = 5}, std::array{3.0F, 4.0F});
  EXPECT_TRUE(rollout.open());
  rollout.add(std::array{3.0F, 4.0F}, {.action = 1, .reward = 6, .last = true}, std::array{7.0F, 8.0F});
  EXPECT_FALSE(rollout.open());
  EXPECT_TRUE(rollout.full());
  EXPECT_EQ(rollout.steps()[0].action, 2u);
  EXPECT_EQ(rollout.steps()[1].reward, 6);
  EXPECT_TRUE(std::ranges::equal(rollout.observations(), std::array{1.0F, 2.0F, 3.0F, 4.0F}));
  EXPECT_TRUE(std::ranges::equal(rollout.observation(1), std::array{3.0F, 4.0F}));
  EXPECT_TRUE(std::ranges::equal(rollout.next(), std::array{7.0F, 8.0F}));
  rollout.clear();
  EXPECT_EQ(rollout.size(), 0u);
}

rollout_buffer half_full(std::size_t horizon, std::size_t actions) {
  rollout_buffer rollout{horizon, 1, actions};
  rollout.add(std::array{1.0F}, {.action = 1, .legal = 0b10, .reward = 5, .discount = 0.5F}, std::array{3.0F});
  rollout.cut(4);
  return rollout;
}

TEST(Rollout, StateRoundTrip) {
  const auto bytes = saved(half_full(2, 3));
  rollout_buffer copy{2, 1, 3};
  archive reader{bytes};
  copy.state(reader);
  EXPECT_TRUE(reader.finished());
  EXPECT_EQ(copy.size(), 1u);
  EXPECT_EQ(copy.steps()[0].after, 4);
  EXPECT_EQ(saved(copy), bytes);
}

TEST(Rollout, StateOfAnotherShapeIsRefused) {
  const auto bytes = saved(half_full(2, 3));
  for (rollout_buffer other : {rollout_buffer{3, 1, 3}, rollout_buffer{2, 2, 3}, rollout_buffer{2, 1, 1}}) {
    archive reader{bytes};
    other.state(reader);
    EXPECT_FALSE(reader.ok());
    EXPECT_EQ(other.size(), 0u);
  }
}

}  // namespace
}  // namespace rubato::rl
