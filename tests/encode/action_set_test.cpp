#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <rubato/encode/action_set.hpp>

#include "shown.hpp"

namespace {

using namespace rubato;
using test::shown_cluster;

constexpr std::uint32_t hold = bit_of(group_action::hold);
constexpr std::uint32_t submitter = bit_of(group_action::submitter);
constexpr std::uint32_t everybody = bit_of(group_action::all);
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

TEST(ActionSet, HoldNeedsSomebodyBusy) {
  shown_cluster cluster{3};
  cluster.park(0);
  EXPECT_EQ(legal_actions(cluster.view(1.0, 0)), hold | submitter);
  cluster.park(1);
  EXPECT_EQ(legal_actions(cluster.view(1.0, 1)), hold | submitter | everybody);
  cluster.park(2);
  EXPECT_EQ(legal_actions(cluster.view(1.0, 2)), submitter | everybody);
}

TEST(ActionSet, AllNeedsSomebodyElse) {
  shown_cluster alone{1};
  alone.park(0);
  EXPECT_EQ(legal_actions(alone.view(1.0, 0)), submitter);
}

TEST(ActionSet, IllegalBecomesSubmitter) {
  EXPECT_EQ(canonical(group_action::hold, submitter | everybody), group_action::submitter);
  EXPECT_EQ(canonical(group_action::all, submitter | hold), group_action::submitter);
  EXPECT_EQ(canonical(group_action::all, everybody | submitter), group_action::all);
  EXPECT_EQ(canonical(static_cast<group_action>(9), 0xFFFFFFFF), group_action::submitter);
}

TEST(ActionSet, GreedyTakesTheHighestLegal) {
  const std::array<float, 3> values{3, 2, 2};
  EXPECT_EQ(greedy(values, hold | submitter | everybody), group_action::hold);
  EXPECT_EQ(greedy(values, submitter | everybody), group_action::submitter) << "of equals the first";
  EXPECT_EQ(greedy(std::array<float, 3>{-5, -7, -6}, submitter | everybody), group_action::all);
}

TEST(ActionSet, GreedySurvivesNaN) {
  EXPECT_EQ(greedy(std::array{nan_value, nan_value, nan_value}, 7), group_action::submitter);
  EXPECT_EQ(greedy(std::array{nan_value, -1.0F, -INFINITY}, 7), group_action::submitter);
  EXPECT_EQ(greedy(std::array{nan_value, nan_value, -INFINITY}, 7), group_action::all);
  EXPECT_EQ(greedy(std::array{-INFINITY, nan_value, nan_value}, 7), group_action::hold);
}

TEST(ActionSet, GreedyAgreesWithALoop) {
  const std::array<float, 6> some{-INFINITY, -1, 0, 1, INFINITY, nan_value};
  for (const float first : some)
    for (const float second : some)
      for (const float third : some)
        for (const std::uint32_t legal : {2U, 3U, 6U, 7U}) {
          const std::array<float, 3> values{first, second, third};
          std::size_t best = 3;
          for (std::size_t i = 0; i < 3; ++i)
            if ((legal >> i & 1) != 0 && values[i] == values[i] && (best == 3 || values[i] > values[best])) best = i;
          EXPECT_EQ(static_cast<std::size_t>(greedy(values, legal)), best == 3 ? 1 : best)
              << first << " " << second << " " << third << ", legal " << legal;
        }
}

TEST(ActionSet, BetweenPushesSomebodyRuns) {
  shown_cluster cluster{2};
  const event death{.why = cause::death, .worker = 1};
  const event join{.why = cause::join, .worker = 0};
  EXPECT_EQ(between_pushes(cluster.view(1.0, no_worker), death, false).verb, release_verb::hold);
  EXPECT_EQ(between_pushes(cluster.view(1.0, no_worker), death, true).verb, release_verb::all);
  EXPECT_EQ(between_pushes(cluster.view(1.0, no_worker), join, false).verb, release_verb::only);
  cluster.park(0);
  cluster.leave(1);
  EXPECT_EQ(between_pushes(cluster.view(1.0, no_worker), death, false).verb, release_verb::all);
  EXPECT_EQ(between_pushes(cluster.view(1.0, no_worker), join, false).verb, release_verb::all);
}

TEST(ActionSet, Names) {
  EXPECT_EQ(name(group_action::hold), "hold");
  EXPECT_EQ(name(group_action::all), "all");
  EXPECT_EQ(name(static_cast<group_action>(3)), "invalid");
}

}  // namespace
