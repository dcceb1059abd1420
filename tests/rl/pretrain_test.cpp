#include <rubato/rl/pretrain.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "agents.hpp"

namespace rubato::rl {
namespace {

// Q_0(s) = s, Q_1(s) = 0.5 - s; one step: s = 2, a = 0, return -1. Error 3, slope 6.
TEST(Pretrain, OneUpdateByHand) {
  nn::dynamic_mlp net = test::linear(1, 2, {1, -1, 0, 0.5F});
  nn::sgd optimiser{4, {.learning_rate = 0.01}};
  trace log{1};
  log.add(std::array<float, 1>{2}, 0, -1, 1);
  log.end_episode();
  log.compute_returns({});
  const auto stats = pretrain(net, optimiser, log, {}, random_sequence{1});
  ASSERT_TRUE(stats);
  EXPECT_EQ(stats->first_error, 9);
  EXPECT_EQ(stats->updates, 1u);
  EXPECT_NEAR(net.parameters()[0], 1 - 0.12, 1e-6);
  EXPECT_EQ(net.parameters()[1], -1);
  EXPECT_NEAR(net.parameters()[2], -0.06, 1e-6);
}

// Two hundred episodes of ten steps; action 1 costs twice as much.
trace costs() {
  trace log{2};
  random_sequence random{4};
  for (int e = 0; e < 200; ++e) {
    for (int i = 0; i < 10; ++i) {
      const auto action = static_cast<std::uint32_t>(random.below(2));
      const std::array<float, 2> here{static_cast<float>(i) / 10, action == 1 ? 1.0F : -1.0F};
      log.add(here, action, action == 1 ? -0.2F : -0.1F, 1);
    }
    log.end_episode();
  }
  log.compute_returns({});
  return log;
}

TEST(Pretrain, LearnsTheReturns) {
  nn::dynamic_mlp net = test::drawn({2, 16, 2}, 1);
  nn::adam optimiser{net.parameters().size(), {.learning_rate = 0.01}};
  const auto stats = pretrain(net, optimiser, costs(), {.passes = 20}, random_sequence{1});
  ASSERT_TRUE(stats);
  EXPECT_EQ(stats->steps, 20u * 2000u);
  EXPECT_LT(stats->last_error, 0.02) << "what is left is the spread of the costs that follow";
  EXPECT_GT(stats->first_error, stats->last_error);
}

TEST(Pretrain, DuelingNetworksLearnToo) {
  nn::dynamic_mlp net = test::drawn({2, 16, 3}, 1);
  nn::adam optimiser{net.parameters().size(), {.learning_rate = 0.01}};
  const auto stats = pretrain(net, optimiser, costs(), {.passes = 20, .dueling = true}, random_sequence{1});
  ASSERT_TRUE(stats);
  EXPECT_LT(stats->last_error, 0.02);
}

TEST(Pretrain, SkipsWhatIsNotFinite) {
  nn::dynamic_mlp net = test::drawn({2, 4, 2}, 1);
  nn::sgd optimiser{net.parameters().size()};
  trace log = costs();
  log.observations[2] = std::nanf("");
  log.returns[7] = std::nanf("");
  log.actions[9] = 5;
  const auto stats = pretrain(net, optimiser, log, {}, random_sequence{1});
  ASSERT_TRUE(stats);
  EXPECT_EQ(stats->skipped, 3u);
  EXPECT_EQ(stats->steps, 1997u);
  EXPECT_EQ(stats->rejected_updates, 0u);
  for (const float p : net.parameters()) EXPECT_TRUE(std::isfinite(p));
}

TEST(Pretrain, SameSeedSameBits) {
  const auto taught = [](std::uint64_t seed) {
    nn::dynamic_mlp net = test::drawn({2, 4, 2}, 1);
    nn::sgd optimiser{net.parameters().size()};
    EXPECT_TRUE(pretrain(net, optimiser, costs(), {.passes = 2}, random_sequence{seed}));
    return test::parameters(net);
  };
  EXPECT_EQ(taught(1), taught(1));
  EXPECT_NE(taught(1), taught(2));
}

TEST(Pretrain, StopsBetweenBatches) {
  const trace log = costs();  // 2000 steps: 62 batches of 32 and one of 16
  for (const std::uint64_t batches : {0U, 40U, 62U, 63U, 100U, 126U}) {
    nn::dynamic_mlp net = test::drawn({2, 4, 2}, 1);
    nn::sgd optimiser{net.parameters().size()};
    std::uint64_t asked = 0;
    const auto stop = [&] { return asked++ == batches; };
    const auto stats = pretrain(net, optimiser, log, {.passes = 2}, random_sequence{1}, stop);
    ASSERT_TRUE(stats);
    EXPECT_EQ(stats->updates, batches);
    EXPECT_EQ(stats->stopped, batches < 126);
    EXPECT_EQ(asked, (std::min)(batches + 1, std::uint64_t{126}));
  }
}

TEST(Pretrain, WrongTracesAreRefused) {
  nn::dynamic_mlp net = test::drawn({3, 4, 2}, 1), narrow = test::drawn({2, 4, 2}, 1);
  nn::sgd optimiser{net.parameters().size()}, other{narrow.parameters().size()};
  EXPECT_EQ(pretrain(net, optimiser, costs(), {}, random_sequence{1}).error().message,
            "pretrain: observations of 2 numbers, the network expects 3");
  trace log = costs();
  log.returns.clear();
  EXPECT_EQ(pretrain(narrow, other, log, {}, random_sequence{1}).error().code, errc::invalid_option);
  EXPECT_FALSE(pretrain(narrow, other, costs(), {.batch = 0}, random_sequence{1}));
}

}  // namespace
}  // namespace rubato::rl
