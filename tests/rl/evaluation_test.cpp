#include <rubato/rl/evaluation.hpp>

#include <gtest/gtest.h>

#include <set>

#include "support/corridor.hpp"

namespace rubato::rl {
namespace {

struct walker {
  std::uint32_t action;
  [[nodiscard]] std::uint32_t greedy(std::span<const float>, std::uint32_t) const { return action; }
};

TEST(Evaluation, TotalsByHand) {
  test::corridor task;
  const evaluation on = evaluate(task, walker{1}, 1, 500);
  EXPECT_NEAR(on.mean, -5, 0.1) << "five steps of mean length 1";
  EXPECT_NEAR(on.mean_elapsed, -on.mean, 1e-6);
  EXPECT_LT(on.least, on.mean);
  EXPECT_GT(on.most, on.mean);
  EXPECT_NEAR(evaluate(task, walker{0}, 1, 100).mean, -30, 0.5) << "cut short after 30 steps";
}

TEST(Evaluation, IsRepeatable) {
  test::corridor task;
  EXPECT_EQ(evaluate(task, walker{1}, 1, 5), evaluate(task, walker{1}, 1, 5));
  EXPECT_NE(evaluate(task, walker{1}, 1, 5), evaluate(task, walker{1}, 2, 5));
  EXPECT_NE(evaluate(task, walker{1}, 1, 5), evaluate(task, walker{1}, 1, 5, purpose::selection));
}

TEST(Evaluation, StopsBetweenEpisodes) {
  test::corridor task;
  int asked = 0;
  const auto after = [&](int episodes) {
    asked = 0;
    return evaluate(task, walker{1}, 1, 5, purpose::test, [&asked, episodes] { return asked++ == episodes; });
  };
  EXPECT_EQ(after(5), evaluate(task, walker{1}, 1, 5));
  EXPECT_EQ(asked, 5) << "before each, not after the last";
  EXPECT_FALSE(after(0));
  EXPECT_FALSE(after(4));
}

TEST(Evaluation, SeedsOfPurposesDiffer) {
  std::set<std::uint64_t> seeds;
  for (const purpose what : {purpose::training, purpose::selection, purpose::test})
    for (std::uint64_t e = 0; e < 1000; ++e) seeds.insert(episode_seed(1, what, e));
  EXPECT_EQ(seeds.size(), 3000u);
}

}  // namespace
}  // namespace rubato::rl
