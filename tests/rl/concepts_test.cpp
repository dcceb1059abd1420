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

struct pair_of_dice {
  static std::size_t agents() { return 2; }
  static std::size_t observation_size() { return 1; }
  static std::size_t actions() { return 6; }
  static std::uint32_t legal(std::size_t) { return all_legal; }
  void reset(std::uint64_t);
  std::span<const float> observation(std::size_t agent) const;
  joint_outcome step(std::span<const std::uint32_t> actions);
};
struct without_others : pair_of_dice {
  joint_outcome step(std::uint32_t action);
};
struct without_shares : pair_of_dice {
  struct outcome {
    float rewards;
    bool terminated, truncated;
  };
  outcome step(std::span<const std::uint32_t> actions);
};

TEST(Concepts, WorldsOfSeveralAgents) { EXPECT_TRUE(MultiAgentEnvironment<pair_of_dice>); }

TEST(Concepts, WhatIsNoWorldOfSeveralAgents) {
  EXPECT_FALSE(MultiAgentEnvironment<test::cart_pole>);
  EXPECT_FALSE(MultiAgentEnvironment<without_others>);
  EXPECT_FALSE(MultiAgentEnvironment<without_shares>);
  EXPECT_FALSE(Environment<pair_of_dice>);
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
