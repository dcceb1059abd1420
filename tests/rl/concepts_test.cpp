#include <rubato/rl.hpp>

#include <gtest/gtest.h>

#include <rubato/nn/mlp.hpp>

#include "support/acrobot.hpp"
#include "support/cart_pole.hpp"
#include "support/corridor.hpp"

namespace rubato::rl {
namespace {

// Steps are right, something else is not.
struct without_mask : test::cart_pole {
  static void legal();
};
struct without_seed : test::cart_pole {
  std::span<const float> reset();
};
struct without_elapsed : test::cart_pole {
  struct outcome {
    std::span<const float> observation;
    float reward;
    std::uint32_t executed;
    bool terminated, truncated;
  };
  outcome step(std::uint32_t action);
};

TEST(Concepts, TasksAreEnvironments) {
  EXPECT_TRUE(Environment<test::cart_pole>);
  EXPECT_TRUE(Environment<test::acrobot>);
  EXPECT_TRUE(Environment<test::corridor>);
}

TEST(Concepts, WhatIsNoEnvironment) {
  EXPECT_FALSE(Environment<int>);
  EXPECT_FALSE(Environment<without_mask>);
  EXPECT_FALSE(Environment<without_seed>);
  EXPECT_FALSE(Environment<without_elapsed>);
}

struct may_throw : dqn<> {
  std::uint32_t act(std::span<const float>, std::uint32_t, random_sequence&);
};
struct without_configuration : dqn<> {
  void configuration() const;
};

TEST(Concepts, DqnIsALearner) {
  EXPECT_TRUE(Learner<dqn<>>);
  EXPECT_TRUE((Learner<dqn<nn::mlp<40, 64, 32, 3>>>));
}

TEST(Concepts, PpoIsALearner) {
  EXPECT_TRUE(Learner<ppo<>>);
  EXPECT_TRUE((Learner<ppo<nn::mlp<40, 64, 32, 3>, nn::mlp<40, 64, 1>>>));
  EXPECT_TRUE((Learner<ppo<nn::mlp<40, 64, 32, 3>>>)) << "one of a shape known at compile time, one not";
}

TEST(Concepts, WhatIsNoLearner) {
  EXPECT_FALSE(Learner<may_throw>);
  EXPECT_FALSE(Learner<without_configuration>);
  EXPECT_FALSE(Learner<nn::dynamic_mlp>);
}

}  // namespace
}  // namespace rubato::rl
