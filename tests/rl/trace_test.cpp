#include <rubato/rl/trace.hpp>

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace rubato::rl {
namespace {

trace two_episodes() {
  trace log{1};
  const std::array<float, 1> here{7};
  for (const float reward : {1.0F, 2.0F, 4.0F}) log.add(here, 0, reward, 1);
  log.end_episode();
  for (const float reward : {8.0F, 16.0F}) log.add(here, 1, reward, 2);
  log.end_episode();
  return log;
}

TEST(Trace, ReturnsByHand) {
  trace log = two_episodes();
  log.compute_returns({.gamma = 0.5});
  EXPECT_EQ(log.returns, (std::vector<float>{1 + 1 + 1, 2 + 2, 4, 8 + 8, 16}));
}

TEST(Trace, UndiscountedReturnIsMinusTheTimeLeft) {
  trace log{1};
  const std::array<float, 1> here{0};
  for (const double time : {0.5, 2.0, 1.25}) log.add(here, 2, -static_cast<float>(time), time);
  log.end_episode();
  log.compute_returns({});
  EXPECT_EQ(log.returns, (std::vector<float>{-3.75F, -3.25F, -1.25F}));
}

TEST(Trace, EpisodesDoNotMix) {
  trace log = two_episodes();
  log.compute_returns({});
  EXPECT_EQ(log.returns, (std::vector<float>{7, 6, 4, 24, 16}));
  EXPECT_EQ(log.ends, (std::vector<std::size_t>{3, 5}));
}

TEST(Trace, ElapsedTimeDiscounts) {
  trace log = two_episodes();
  log.compute_returns({.gamma = 0.25, .by_elapsed = true, .time_unit = 2});
  EXPECT_EQ(log.returns, (std::vector<float>{1 + 1 + 1, 2 + 2, 4, 8 + 4, 16}));
}

TEST(Trace, UnfinishedEpisodesHaveNoReturns) {
  trace log = two_episodes();
  log.add(std::array<float, 1>{1}, 0, 100, 1);
  log.compute_returns({});
  EXPECT_EQ(log.returns.size(), 5u);
  EXPECT_EQ(log.returns[4], 16);
  log.drop_episode();
  EXPECT_EQ(log.size(), 5u);
  EXPECT_EQ(log.observations.size(), 5u);
}

}  // namespace
}  // namespace rubato::rl
