#include <rubato/rl/action_choice.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

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

// Three values of five kinds, all of them legal, against what the rule says.
TEST(ActionChoice, EveryOrderOfThreeValues) {
  const std::array<float, 5> kinds{std::nanf(""), -std::numeric_limits<float>::infinity(), -1, 0, 2};
  for (const float a : kinds)
    for (const float b : kinds)
      for (const float c : kinds) {
        const std::array<float, 3> values{a, b, c};
        std::uint32_t expected = 3;
        for (std::uint32_t i = 0; i < 3; ++i)
          if (!std::isnan(values[i]) && (expected == 3 || values[i] > values[expected])) expected = i;
        EXPECT_EQ(best_action(values, all_legal, 1), expected == 3 ? 1 : expected) << a << ' ' << b << ' ' << c;
        EXPECT_EQ(best_action(values, 0b111, 2), expected == 3 ? 2 : expected) << a << ' ' << b << ' ' << c;
      }
}

// The same rule as that of greedy() in encode, whose fallback is 1.
TEST(ActionChoice, UndecidedIsTheFallback) {
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  const std::array<float, 3> nothing{nan, nan, nan};
  EXPECT_EQ(best_action(nothing, all_legal, 1), 1u);
  EXPECT_EQ(best_action(nothing, 0b110, 2), 2u);
  EXPECT_EQ(best_action(nothing, 0b101, 1), 0u) << "illegal: the first that is legal";
  EXPECT_EQ(best_action(nothing, all_legal, 3), 0u) << "there is no such action";
  EXPECT_EQ(best_action(nothing, all_legal, 32), 0u);
  EXPECT_EQ(best_action(std::array<float, 3>{nan, nan, -infinity}, all_legal, 1), 2u) << "a number is better";
  EXPECT_EQ(best_action(std::array<float, 3>{-infinity, nan, nan}, all_legal, 1), 0u);
  EXPECT_EQ(best_action(std::array<float, 3>{nan, nan, 5}, 0b011, 1), 1u) << "illegal numbers do not count";
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
