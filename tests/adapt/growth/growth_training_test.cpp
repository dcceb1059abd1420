#include <rubato/adapt/train/growth_training.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "small_tables.hpp"

using namespace rubato;
using namespace rubato::adapt;

namespace growth_training_test {
namespace {

using actions = std::vector<std::uint32_t>;

using test::path_to;

growth_network network(std::uint64_t seed) { return test::small_network(seed); }

TEST(GrowthTraining, LearnsASmallTable) {
  for (const growth_baseline how : {growth_baseline::none, growth_baseline::average}) {
    int found = 0;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      growth_trainer training{network(seed), {path_to(3)}, {.learning_rate = 3e-3, .baseline = how, .seed = seed}};
      training.run(1'500);
      found += training.greedy(path_to(3)) == 3 ? 1 : 0;
    }
    EXPECT_GE(found, 4) << static_cast<int>(how);
  }
}

// It tells them apart by the time.
TEST(GrowthTraining, LearnsTwoTablesAtOnce) {
  const growth_path early = path_to(3), late = path_to(8, 20);
  growth_trainer training{
      network(1), {early, late}, {.learning_rate = 3e-3, .baseline = growth_baseline::average, .entropy = 5}};
  training.run(4'000);
  EXPECT_EQ(training.greedy(early), 3U);
  EXPECT_EQ(training.greedy(late), 8U);
}

TEST(GrowthTraining, ABlockNetworkLearnsTablesOfOneAndTwoBlocks) {
  const growth_path one = test::path_of_blocks(1, 2), two = test::path_of_blocks(2, 1);
  basic_growth_trainer training{test::small_block_network(1),
                                {one, two},
                                {.learning_rate = 3e-3, .baseline = growth_baseline::average, .entropy = 5}};
  training.run(4'000);
  EXPECT_EQ(training.counters().rejected_episodes, 0U);
  EXPECT_EQ(training.greedy(one), 2U) << "nothing, then block 0";
  EXPECT_EQ(training.greedy(two), 1U) << "block 0, then block 1";
}

TEST(GrowthTraining, LearnsAtATemperature) {
  for (const temperature_form form : {temperature_form::second_softmax, temperature_form::preferences}) {
    growth_trainer training{network(2),
                            {path_to(3)},
                            {.learning_rate = 3e-3,
                             .temperature = 5,
                             .temperature_decay = 1,
                             .form = form,
                             .baseline = growth_baseline::average}};
    training.run(4'000);
    EXPECT_EQ(training.temperature(), 5);
    EXPECT_EQ(training.greedy(path_to(3)), 3U) << static_cast<int>(form);
  }
}

TEST(GrowthTraining, SameSeedSameBits) {
  const auto trained = [](std::uint64_t seed) {
    growth_trainer training{network(1), {path_to(3)}, {.temperature = 10, .seed = seed}};
    training.run(50);
    std::vector<float> all;
    for (const auto part : training.network().parameters()) all.insert(all.end(), part.begin(), part.end());
    return all;
  };
  EXPECT_EQ(trained(3), trained(3));
  EXPECT_NE(trained(3), trained(4));
}

TEST(GrowthTraining, RateAndTemperatureGoDown) {
  growth_trainer training{network(1),
                          {path_to(3)},
                          {.rate_decay = 0.5,
                           .rate_decay_every = 10,
                           .temperature = 4,
                           .temperature_decay = 0.5,
                           .temperature_decay_every = 5}};
  training.run(9);
  EXPECT_EQ(training.temperature(), 2);
  EXPECT_EQ(training.learning_rate(), 1e-4);
  training.run(11);
  EXPECT_EQ(training.temperature(), 1) << "and not below";
  EXPECT_EQ(training.learning_rate(), 0.25e-4);
  EXPECT_EQ(training.counters().episodes, 20U);
}

TEST(GrowthTraining, WhatIsNotFiniteIsNotLearned) {
  growth_network broken = network(1);
  broken.head().bias(2)[0] = std::numeric_limits<float>::quiet_NaN();
  growth_trainer training{broken, {path_to(3)}, {}};
  training.run(3);
  EXPECT_EQ(training.counters().rejected_episodes, 3U);
  const auto parameters = training.network().parameters();
  for (const float x : parameters[0]) ASSERT_TRUE(std::isfinite(x));
}

TEST(GrowthTraining, RefusesBadOptions) {
  EXPECT_EQ(problem(growth_training_options{}), "");
  EXPECT_EQ(problem({.learning_rate = 0}), "learning_rate is 0, expected above 0, at most 1");
  EXPECT_EQ(problem({.rate_decay = 2}), "rate_decay is 2, expected above 0, at most 1");
  EXPECT_EQ(problem({.rate_decay_every = 0}), "rate_decay_every is 0, expected at least 1");
  EXPECT_EQ(problem({.temperature = 0.5}), "temperature is 0.5, expected 1 to 1e6");
  EXPECT_EQ(problem({.temperature_decay = 0}), "temperature_decay is 0, expected above 0, at most 1");
  EXPECT_EQ(problem({.temperature_decay_every = 0}), "temperature_decay_every is 0, expected at least 1");
  EXPECT_EQ(problem({.entropy = -1}), "entropy is -1, expected 0 to 1e6");
}

}  // namespace
}  // namespace growth_training_test
