#include <rubato/rl/prioritised_replay.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "agents.hpp"

namespace rubato::rl {
namespace {

TEST(SumTree, FindsByCumulativeSum) {
  sum_tree tree{5};
  const std::array<double, 5> values{1, 0, 2, 0.5, 3};
  for (std::size_t i = 0; i < 5; ++i) tree.set(i, values[i]);
  EXPECT_EQ(tree.total(), 6.5);
  EXPECT_EQ(tree.find(0), 0u);
  EXPECT_EQ(tree.find(0.99), 0u);
  EXPECT_EQ(tree.find(1), 2u) << "never the one of value 0";
  EXPECT_EQ(tree.find(2.99), 2u);
  EXPECT_EQ(tree.find(3), 3u);
  EXPECT_EQ(tree.find(3.5), 4u);
  EXPECT_EQ(tree.find(6.49), 4u);
}

TEST(SumTree, MatchesPlainSums) {
  sum_tree tree{37};
  std::vector<double> plain(37);
  random_sequence random{1};
  for (int i = 0; i < 2000; ++i) {
    const auto at = static_cast<std::size_t>(random.below(37));
    plain[at] = static_cast<double>(random.below(5));
    tree.set(at, plain[at]);
    double total = 0;
    for (const double value : plain) total += value;
    ASSERT_EQ(tree.total(), total);
    if (total == 0) continue;
    const double sum = std::floor(random.uniform() * total);
    std::size_t expected = 0;
    for (double running = plain[0]; running <= sum; running += plain[expected]) ++expected;
    ASSERT_EQ(tree.find(sum), expected);
  }
}

// Errors 1, 2, 4 and 9 with exponent 1/2: shares 1, sqrt 2, 2, 3 of their sum.
priorities four() {
  priorities p{6, {.alpha = 0.5, .beta = 0.5, .final_beta = 1, .beta_updates = 10, .smallest = 1e-9}};
  for (std::size_t slot = 0; slot < 4; ++slot) p.added(slot);
  p.learned(0, 1);
  p.learned(1, -2);
  p.learned(2, 4);
  p.learned(3, -9);
  return p;
}
constexpr double sum_of_four = 1 + 1.4142135623730951 + 2 + 3;

TEST(Priorities, SamplesInProportion) {
  const priorities p = four();
  std::array<double, 4> counts{};
  std::array<std::uint32_t, 4> slots{};
  std::array<float, 4> weights{};
  random_sequence random{2};
  for (int i = 0; i < 10'000; ++i) {
    p.sample(4, random, slots, weights);
    for (const std::uint32_t slot : slots) ++counts.at(slot);
  }
  const std::array<double, 4> shares{1, 1.4142135623730951, 2, 3};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(counts[i] / 40'000, shares[i] / sum_of_four, 0.01) << i;
}

TEST(Priorities, WeightsByHand) {
  const priorities p = four();
  std::array<std::uint32_t, 4> slots{};
  std::array<float, 4> weights{};
  random_sequence random{2};
  p.sample(4, random, slots, weights);
  double most = 0;
  const auto weight = [&](std::size_t i) { return std::pow(4 * p.probability(slots[i]), -0.5); };
  for (std::size_t i = 0; i < 4; ++i) most = (std::max)(most, weight(i));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(weights[i], weight(i) / most, 1e-6);
  EXPECT_NEAR(p.probability(3), 3 / sum_of_four, 1e-8);
}

TEST(Priorities, NewItemsGetTheLargestPriority) {
  priorities p = four();
  p.added(4);
  EXPECT_EQ(p.probability(4), p.probability(3));
  p.learned(3, 0.1);
  p.added(5);
  EXPECT_EQ(p.probability(5), p.probability(4)) << "the largest so far";
  p.learned(5, std::nan(""));
  EXPECT_EQ(p.probability(5), p.probability(4));
}

TEST(Priorities, BetaGrowsToItsEnd) {
  priorities p = four();
  EXPECT_EQ(p.beta(), 0.5);
  for (int i = 0; i < 5; ++i) p.updated();
  EXPECT_EQ(p.beta(), 0.75);
  for (int i = 0; i < 9; ++i) p.updated();
  EXPECT_EQ(p.beta(), 1);
}

TEST(Priorities, StateRoundTrip) {
  priorities p = four(), other{6, {}}, wrong{7, {}};
  p.updated();
  const auto bytes = test::saved(p);
  archive in{bytes};
  other.state(in);
  ASSERT_TRUE(in.finished());
  EXPECT_EQ(test::saved(other), bytes);
  EXPECT_EQ(other.probability(1), p.probability(1));
  archive again{bytes};
  wrong.state(again);
  EXPECT_FALSE(again.ok());
}

TEST(Priorities, WhatCannotBeDrawnByIsNoticed) {
  priorities p{3, {}};
  EXPECT_TRUE(p.fit(0));
  EXPECT_FALSE(p.fit(1)) << "nothing would ever be drawn";
  p.added(1);
  EXPECT_TRUE(p.fit(2));
  EXPECT_FALSE(p.fit(1)) << "what is not there would be drawn";
  for (const double largest : {0.5, HUGE_VAL, std::nan("")}) {
    archive out;
    std::uint64_t words = 3;
    double number = largest;
    out(words, number);
    archive in{out.bytes()};
    p.state(in);
    EXPECT_FALSE(in.ok());
  }
}

}  // namespace
}  // namespace rubato::rl
