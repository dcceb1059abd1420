// Tasks whose difficulty is known. The whole experiment, ten seeds of each, is bench/experiments/classic_control.cpp.
#include <gtest/gtest.h>

#include <cstdint>
#include <rubato/rl/training.hpp>

#include "agents.hpp"
#include "support/acrobot.hpp"
#include "support/cart_pole.hpp"

namespace rubato::rl {
namespace {

struct fixed {
  std::uint32_t action;
  [[nodiscard]] std::uint32_t greedy(std::span<const float>, std::uint32_t) const { return action; }
};
// Pushes to the side where the pole falls.
struct follower {
  [[nodiscard]] std::uint32_t greedy(std::span<const float> s, std::uint32_t) const {
    return s[2] + s[3] > 0 ? 1U : 0U;
  }
};

TEST(KnownTasks, CartPoleHasTheRightDynamics) {
  test::cart_pole task;
  EXPECT_NEAR(evaluate(task, fixed{1}, 1, 200).mean, 9.4, 0.3) << "pushed to one side, the pole falls after 8 to 10";
  EXPECT_GT(evaluate(task, follower{}, 1, 50).mean, 150);
  EXPECT_LE(evaluate(task, follower{}, 1, 50).most, 500);
}

// Pushes against the motion of the joint's lower link: pumps energy, and swings up within some hundred steps.
struct pumper {
  [[nodiscard]] std::uint32_t greedy(std::span<const float> s, std::uint32_t) const { return s[4] > 0 ? 0U : 2U; }
};

TEST(KnownTasks, AcrobotHasTheRightDynamics) {
  test::acrobot task;
  EXPECT_EQ(evaluate(task, fixed{1}, 1, 20).mean, -500) << "without torque it never gets up";
  EXPECT_GT(evaluate(task, pumper{}, 1, 50).mean, -150);
}

TEST(KnownTasks, RobustDqnLearnsCartPole) {
  test::cart_pole task;
  dqn_options options = dqn_options::robust();
  options.epsilon.steps = 3000;
  options.batch = 32;
  trainer<test::cart_pole, dqn<>> training{task,
                                           *dqn<>::make(test::drawn({4, 32, 32, 2}, 1), options),
                                           {.seed = 1, .evaluate_every = 1000, .evaluation_episodes = 10}};
  ASSERT_TRUE(training.run({.steps = 15'000}, {.evaluated = [](const evaluation& e) { return e.mean < 195; }}));
  EXPECT_GE(training.best_mean(), 195) << "195 of 200 is where CartPole-v0 counts as solved";
}

}  // namespace
}  // namespace rubato::rl
