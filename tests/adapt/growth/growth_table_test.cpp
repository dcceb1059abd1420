#include <rubato/adapt/growth/growth_table.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

using namespace rubato::adapt;

namespace growth_table_test {
namespace {

using actions = std::vector<std::uint32_t>;

// Two actions, two steps: sequences 00, 01, 10, 11.
growth_table table(std::array<double, 4> accuracies) {
  std::vector<growth_outcome> all;
  for (std::size_t n = 0; n < 4; ++n)
    all.push_back({accuracies[n], {90 - static_cast<double>(n), 50 - static_cast<double>(n)}});
  return *growth_table::make(2, 100, std::move(all));
}

TEST(GrowthTable, RewardsAsPublished) {
  EXPECT_NEAR(growth_reward(0.6), 137.64, 0.005);
  EXPECT_NEAR(growth_reward(0.7391), 230.2, 0.05);
  EXPECT_NEAR(growth_reward(0.4), 72.65, 0.005);
  EXPECT_EQ(growth_reward(0), 0);
  EXPECT_EQ(growth_reward(1), growth_reward(0.999)) << "and not infinite";
}

TEST(GrowthTable, NumbersSequences) {
  const growth_table t = table({0.1, 0.2, 0.3, 0.4});
  EXPECT_EQ(t.steps(), 2U);
  EXPECT_EQ(t.sequences(), 4U);
  EXPECT_EQ(t.number_of(actions{1, 0}), 2U);
  EXPECT_EQ(t.number_of(actions{0, 1}), 1U);
  EXPECT_EQ(t.number_of(actions{1}), 2U) << "goes on with action 0";
  EXPECT_EQ(t.accuracy(t.number_of(actions{1, 1})), 0.4);
  for (std::size_t n = 0; n < 4; ++n) EXPECT_EQ(t.number_of(t.actions_of(n)), n);
  EXPECT_EQ(t.actions_of(1), (actions{0, 1}));
  EXPECT_EQ(t.outcome(2).accuracy, 0.3);
  EXPECT_EQ(t.best(), 0.4);
  EXPECT_NEAR(t.mean(), 0.25, 1e-12);
}

TEST(GrowthTable, TimeOfAPrefixIsThatOfItsFirstSequence) {
  const growth_table t = table({0.1, 0.2, 0.3, 0.4});
  EXPECT_EQ(t.time_left({}), 90);
  EXPECT_EQ(t.time_left(actions{0}), 50);
  EXPECT_EQ(t.time_left(actions{1}), 48) << "of sequence 10";
}

TEST(GrowthTable, RanksAreByAccuracy) {
  const growth_table t = table({0.3, 0.1, 0.4, 0.2});
  EXPECT_EQ(t.rank(2), 1U);
  EXPECT_EQ(t.rank(0), 2U);
  EXPECT_EQ(t.rank(3), 3U);
  EXPECT_EQ(t.rank(1), 4U);
}

TEST(GrowthTable, EqualsRankInTheirOrder) {
  const growth_table t = table({0.3, 0.3, 0.4, 0.3});
  EXPECT_EQ(t.rank(0), 2U);
  EXPECT_EQ(t.rank(1), 3U);
  EXPECT_EQ(t.rank(3), 4U);
}

TEST(GrowthTable, RefusesWhatCannotBe) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const auto refusal = [](std::uint32_t count, double budget, std::vector<growth_outcome> outcomes) {
    const auto made = growth_table::make(count, budget, std::move(outcomes));
    return made ? "none" : made.error().message;
  };
  const std::vector<growth_outcome> sound{{0.5, {50}}, {0.6, {50}}};
  EXPECT_EQ(refusal(2, 100, sound), "none");
  EXPECT_EQ(refusal(2, 0, sound), "growth_table: budget is 0, expected a number above 0");
  EXPECT_EQ(refusal(1, 100, sound), "growth_table: actions: found 1, expected at least 2");
  EXPECT_EQ(refusal(3, 100, sound),
            "growth_table: found 2 sequences of 1 steps, expected all that there are with 3 actions");
  EXPECT_EQ(refusal(2, 100, {}),
            "growth_table: found 0 sequences of 0 steps, expected all that there are with 2 actions");
  EXPECT_EQ(refusal(2, 100, {{0.5, {50}}, {1.5, {50}}}), "growth_table: sequence 1: accuracy is 1.5, expected 0 to 1");
  EXPECT_EQ(refusal(2, 100, {{nan, {50}}, {0.5, {50}}}), "growth_table: sequence 0: accuracy is nan, expected 0 to 1");
  EXPECT_EQ(refusal(2, 100, {{0.5, {50}}, {0.5, {101}}}),
            "growth_table: sequence 1: time left is 101, expected 0 to 100");
  EXPECT_EQ(refusal(2, 100, {{0.5, {50}}, {0.5, {50, 40}}}), "growth_table: sequence 1: found 2 times, expected 1");
}

}  // namespace
}  // namespace growth_table_test
