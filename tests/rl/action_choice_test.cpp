#include <rubato/rl/action_choice.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace rubato::rl {
namespace {

TEST(ActionChoice, BestIsTheFirstOfEquals) {
  EXPECT_EQ(best_action(std::array<float, 4>{1, 3, 3, 2}, all_legal), 1u);
  EXPECT_EQ(best_action(std::array<float, 1>{-1}, all_legal), 0u);
}

TEST(ActionChoice, NanIsNeverPreferred) {
  const float nan = std::nanf("");
  EXPECT_EQ(best_action(std::array<float, 3>{nan, -5, nan}, all_legal), 1u);
  EXPECT_EQ(best_action(std::array<float, 3>{nan, nan, nan}, 0b110), 1u) << "the first that is legal";
}

TEST(ActionChoice, IllegalIsNeverChosen) {
  EXPECT_EQ(best_action(std::array<float, 3>{1, 9, 3}, 0b101), 2u);
  EXPECT_EQ(best_action(std::array<float, 3>{1, 9, 3}, 0b1000), 1u) << "none is legal: all are";
}

TEST(ActionChoice, RandomIsUniformOverTheLegal) {
  std::array<int, 4> counts{};
  random_sequence random{1};
  for (int i = 0; i < 9000; ++i) ++counts.at(random_action(4, 0b1011, random));
  EXPECT_EQ(counts[2], 0);
  for (const std::size_t a : {0U, 1U, 3U}) EXPECT_NEAR(counts[a], 3000, 200);
  EXPECT_LT(random_action(32, all_legal, random), 32u);
}

}  // namespace
}  // namespace rubato::rl
