#include <rubato/adapt/train/expected_growth_training.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <rubato/adapt/growth/block_network.hpp>
#include <string>
#include <vector>

#include "small_tables.hpp"

using namespace rubato;
using namespace rubato::adapt;

namespace expected_growth_training_test {
namespace {

using test::path_to;
using test::small_network;

growth_path uneven() {
  std::vector<growth_outcome> all;
  for (int n = 0; n < 9; ++n) all.push_back({0.1 + 0.05 * ((5 * n) % 9), {80, 40}});
  return test::path_of(all);
}

// What the policy comes to on average, in the table's units, and the entropies that it meets.
template <class Network>
double worth_of(const Network& network, const growth_path& path, double entropy) {
  typename Network::workspace work{network, path.most_layers(), path.growing_actions()};
  double mean = 0, squares = 0;
  for (std::size_t n = 0; n < 9; ++n) mean += growth_reward(path.table().accuracy(n)) / 9;
  for (std::size_t n = 0; n < 9; ++n) squares += std::pow(growth_reward(path.table().accuracy(n)) - mean, 2) / 9;
  const auto policy_at = [&](std::vector<std::uint32_t> actions) {
    const growth_path::place& at = path.after(actions);
    const auto preferences = network.forward(at.layers, at.actions, at.time, work);
    std::vector<double> p(preferences.begin(), preferences.end());
    double sum = 0;
    for (double& each : p) sum += each = std::exp(each);
    for (double& each : p) each /= sum;
    return p;
  };
  double worth = 0;
  const std::vector<double> first = policy_at({});
  for (std::uint32_t a = 0; a < 3; ++a) {
    worth -= entropy * first[a] * std::log(first[a]);
    const std::vector<double> second = policy_at({a});
    for (std::uint32_t b = 0; b < 3; ++b)
      worth += first[a] * second[b] *
               ((growth_reward(path.table().accuracy(3 * a + b)) - mean) / std::sqrt(squares) -
                entropy * std::log(second[b]));
  }
  return worth;
}

// Adam's first step goes by the sign of each slope; where a finite difference has a clear one, they agree.
template <class Network>
void compare_with_differences(Network before) {
  const growth_path path = uneven();
  for (const auto part : before.parameters())
    for (float& weight : part) weight *= 2;  // or hardly a slope is clear
  expected_growth_trainer training{before, {path}, {.learning_rate = 1e-3, .entropy_first = 0.5, .entropy_last = 0.5}};
  training.run(1);
  int compared = 0;
  for (std::size_t part = 0; part < Network::parts; ++part)
    for (std::size_t i = 0; i < before.parameters()[part].size(); ++i) {
      float& weight = before.parameters()[part][i];
      const float is = weight, stepped = training.network().parameters()[part][i];
      weight = is + 0.002F;
      const double above = worth_of(before, path, 0.5);
      weight = is - 0.002F;
      const double below = worth_of(before, path, 0.5);
      weight = is;
      if (std::abs(above - below) < 5e-5) continue;  // what a ReLU's kink may do
      ++compared;
      EXPECT_EQ(stepped > is, above > below) << part << ", " << i << ": " << above - below;
    }
  EXPECT_GT(compared, 50);
}

TEST(ExpectedGrowthTraining, GradientIsThatOfTheExpectedReward) {
  compare_with_differences(small_network(3));
  compare_with_differences(test::small_block_network(3));
}

TEST(ExpectedGrowthTraining, FindsTheBestOfEach) {
  int found = 0;  // where the second is nearly as good
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const growth_path early = path_to(3), late = path_to(8, 20), middle = uneven();
    expected_growth_trainer training{small_network(seed), {early, late}, {.learning_rate = 3e-3, .updates = 600}};
    training.run();
    EXPECT_EQ(training.greedy(early), 3U) << seed;
    EXPECT_EQ(training.greedy(late), 8U) << seed;
    expected_growth_trainer alone{small_network(seed), {middle}, {.learning_rate = 3e-3, .updates = 600}};
    alone.run();
    found += middle.table().rank(alone.greedy(middle)) == 1 ? 1 : 0;
  }
  EXPECT_GE(found, 4);
}

TEST(ExpectedGrowthTraining, OneBlockNetworkLearnsTablesOfOneTwoAndThreeBlocks) {
  const std::vector<growth_path> paths{test::path_of_blocks(1, 2), test::path_of_blocks(2, 1),
                                       test::path_of_blocks(3, 9)};
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    expected_growth_trainer training{test::small_block_network(seed), paths, {.learning_rate = 3e-3, .updates = 900}};
    training.run();
    EXPECT_EQ(training.rejected_updates(), 0U);
    EXPECT_EQ(training.greedy(paths[0]), 2U) << seed << ": nothing, then block 0";
    EXPECT_EQ(training.greedy(paths[1]), 1U) << seed << ": block 0, then block 1";
    EXPECT_EQ(training.greedy(paths[2]), 9U) << seed << ": block 2, then block 1";
  }
}

// But for the entropy's bonus, which makes all actions alike.
TEST(ExpectedGrowthTraining, TablesOfOneValueTeachNothing) {
  const growth_path flat = test::path_of(std::vector<growth_outcome>(9, {0.5, {80, 40}}));
  expected_growth_trainer training{small_network(1), {flat}, {.learning_rate = 3e-3, .updates = 300}};
  training.run();
  EXPECT_EQ(training.rejected_updates(), 0U);
  growth_network::workspace work{training.network(), flat.most_layers()};
  const auto& start = flat.after({});
  std::vector<float> p(3);
  const auto preferences = training.network().forward(start.layers, start.time, work);
  std::copy(preferences.begin(), preferences.end(), p.begin());
  softmax(p);
  for (const float each : p) EXPECT_NEAR(each, 1.0F / 3, 0.01F);
}

// Two tables of which each sequence is best in one, and one between them in time, which it has not seen.
TEST(ExpectedGrowthTraining, TimeNoiseTeachesOtherTimes) {
  const growth_path early = path_to(3, 80), late = path_to(3, 20), between = path_to(3, 50);
  const auto rank_of = [&](double noise) {
    double ranks = 0;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      expected_growth_trainer training{small_network(seed),
                                       {early, late},
                                       {.learning_rate = 3e-3, .updates = 600, .time_noise = noise, .seed = seed}};
      training.run();
      ranks += between.table().rank(training.greedy(between)) / 5.0;
    }
    return ranks;
  };
  EXPECT_EQ(rank_of(0.3), 1);
  EXPECT_GT(rank_of(0), 1) << "or there is nothing to teach";
}

std::vector<float> weights_of(const growth_network& network) {
  std::vector<float> all;
  for (const auto part : network.parameters()) all.insert(all.end(), part.begin(), part.end());
  return all;
}

TEST(ExpectedGrowthTraining, RunsInParts) {
  expected_growth_trainer whole{small_network(1), {path_to(3)}, {.updates = 20}};
  whole.run();
  expected_growth_trainer parts{small_network(1), {path_to(3)}, {.updates = 20}};
  parts.run(7);
  EXPECT_EQ(parts.updates(), 7U);
  parts.run(100);
  EXPECT_EQ(parts.updates(), 20U) << "no more than there are";
  parts.run();
  EXPECT_EQ(weights_of(parts.network()), weights_of(whole.network()));
}

TEST(ExpectedGrowthTraining, SameBits) {
  const auto trained = [] {
    expected_growth_trainer training{small_network(2), {path_to(3), path_to(8, 20)}, {.updates = 50}};
    training.run();
    return weights_of(training.network());
  };
  EXPECT_EQ(trained(), trained());
}

TEST(ExpectedGrowthTraining, WhatIsNotFiniteIsNotLearned) {
  growth_network broken = small_network(1);
  broken.head().bias(0)[0] = std::numeric_limits<float>::infinity();
  const std::vector<float> before = weights_of(broken);
  expected_growth_trainer training{broken, {path_to(3)}, {.updates = 5}};
  training.run();
  EXPECT_EQ(training.rejected_updates(), 5U);
  EXPECT_EQ(weights_of(training.network()), before);
}

TEST(ExpectedGrowthTraining, RefusesBadOptions) {
  EXPECT_EQ(problem(expected_growth_options{}), "");
  EXPECT_EQ(problem(expected_growth_options{.learning_rate = 0}), "learning_rate is 0, expected above 0, at most 1");
  EXPECT_EQ(problem(expected_growth_options{.entropy_first = 0}), "entropy_first is 0, expected above 0, at most 1e3");
  EXPECT_EQ(problem(expected_growth_options{.entropy_last = 0.5}),
            "entropy_last is 0.5, expected above 0, at most entropy_first");
  EXPECT_EQ(problem(expected_growth_options{.time_noise = -1}), "time_noise is -1, expected 0 to 1");
  EXPECT_EQ(problem(expected_growth_options{.updates = 0}), "updates is 0, expected at least 1");
}

}  // namespace
}  // namespace expected_growth_training_test
