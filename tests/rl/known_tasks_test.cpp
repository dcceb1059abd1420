// Tasks whose difficulty is known. The whole experiment, ten seeds of each, is bench/experiments/classic_control.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <rubato/rl/training.hpp>
#include <span>
#include <vector>

#include "agents.hpp"
#include "support/acrobot.hpp"
#include "support/cart_pole.hpp"
#include "support/pendulum.hpp"

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

// Takes so many steps from reset(1) and compares the last observation.
template <Environment Task, class Choice>
void expect_after(std::uint64_t steps, Choice choice, const std::vector<float>& expected) {
  Task task;
  static_cast<void>(task.reset(1));
  std::span<const float> seen;
  for (std::uint64_t i = 0; i < steps; ++i) seen = task.step(choice(i)).observation;
  ASSERT_EQ(seen.size(), expected.size());
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_NEAR(seen[i], expected[i], 1e-6) << "number " << i;
}

// Expected numbers: Gymnasium 1.4.0, put into the state that reset(1) draws.
TEST(KnownTasks, CartPoleMovesAsGymnasiumsDoes) {
  const auto to_and_fro = [](std::uint64_t i) { return i % 2 == 0 ? 1U : 0U; };
  expect_after<test::cart_pole>(1, to_and_fro, {0.03989101F, 0.2156928F, 0.0377234F, -0.2650382F});
  expect_after<test::cart_pole>(40, to_and_fro, {0.1285406F, 0.004203666F, 0.06250362F, 0.3895983F});
}
TEST(KnownTasks, AcrobotMovesAsGymnasiumsDoes) {
  const auto swing = [](std::uint64_t i) { return i / 6 % 2 == 0 ? 2U : 0U; };
  expect_after<test::acrobot>(1, swing, {0.9974614F, 0.07120987F, 0.9963095F, 0.08583315F, -0.1482421F, 0.3963289F});
  expect_after<test::acrobot>(40, swing, {0.9831082F, -0.1830255F, 0.996315F, 0.08576971F, -3.736575F, 6.03705F});
}
TEST(KnownTasks, PendulumMovesAsGymnasiumsDoes) {
  const auto swing = [](std::uint64_t i) { return i / 15 % 2 == 0 ? 4U : 1U; };
  expect_after<test::pendulum>(1, swing, {-0.8238954F, 0.5667419F, 1.18339F});
  expect_after<test::pendulum>(200, swing, {-0.8540646F, -0.5201669F, -5.338779F});
  test::pendulum task;
  static_cast<void>(task.reset(1));
  double total = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const step_outcome outcome = task.step(swing(i));
    total += static_cast<double>(outcome.reward);
    EXPECT_FALSE(outcome.terminated);
    EXPECT_EQ(outcome.truncated, i == 199);
  }
  EXPECT_NEAR(total, -1151.4779, 1e-3);
}

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

// Small, so that it takes less than a second, and explores for 3,000 steps.
trainer<test::cart_pole, dqn<>> short_training(test::cart_pole& task, std::uint64_t seed) {
  dqn_options options = dqn_options::robust();
  options.epsilon.steps = 3000;
  options.batch = 32;
  return {task,
          *dqn<>::make(test::drawn({4, 32, 32, 2}, seed), options),
          {.seed = seed, .evaluate_every = 1000, .evaluation_episodes = 10}};
}

TEST(KnownTasks, RobustDqnLearnsCartPole) {
  test::cart_pole task;
  auto training = short_training(task, 1);
  ASSERT_TRUE(training.run({.steps = 8'000}));
  double sum = 0;  // of the last five, so that one lucky network is not enough
  for (const evaluation& e : training.evaluations().last(5)) sum += e.mean;
  EXPECT_GE(sum / 5, 195) << "195 of 200 is where CartPole-v0 counts as solved";
}

// With a reward of 1 and a discount of 0.99 no state is worth more than 100. A target network that follows too quickly
// has values chase each other far beyond that (with a target_rate of 0.005 this training comes to 200).
TEST(KnownTasks, RobustValuesStayPossible) {
  test::cart_pole task;
  auto training = short_training(task, 2);
  ASSERT_TRUE(training.run({.steps = 10'000}));
  const replay_buffer& replay = training.agent().replay();
  float most = 0;
  for (std::size_t i = 0; i < replay.size(); ++i) {
    std::array<float, 2> values{};
    training.agent().online().evaluate(replay[i].observation, values);
    most = (std::max)(most, (std::max)(values[0], values[1]));
  }
  EXPECT_GT(most, 25) << "values of 10,000 steps of learning";
  EXPECT_LT(most, 100);
}

}  // namespace
}  // namespace rubato::rl
