// The guard's age: whoever waits longer than `max_wait` goes first among those that the policy's count allows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <rubato/core/rng.hpp>
#include <rubato/sync/rivals/capped.hpp>
#include <vector>

#include "../support/cluster.hpp"
#include "../support/metronome.hpp"

namespace rubato {
namespace {

using test::metronome;

// Two may run, the fastest first: without an age the four slower ones run once or twice and never again.
constexpr double age = 5.0;
const std::vector<double> step_times{1.0, 1.1, 1.9, 2.8, 3.9, 5.5};

std::vector<double> longest_waits(double max_wait) {
  metronome cluster{
      capped{.running = 2, .order = release_order::fastest}, step_times, {.guard = {.max_wait = max_wait}}, 1000};
  EXPECT_TRUE(cluster.run(500).ok());
  std::vector<double> finished(step_times.size(), 0.0);
  std::vector<double> longest(step_times.size(), 0.0);
  for (const test::beat& start : cluster.trace()) {
    longest[start.worker] = std::max(longest[start.worker], start.time - finished[start.worker]);
    finished[start.worker] = start.time + step_times[start.worker];
  }
  for (std::size_t w = 0; w < longest.size(); ++w)
    if (finished[w] < cluster.trace().back().time)
      longest[w] = std::max(longest[w], cluster.trace().back().time - finished[w]);
  return longest;
}

TEST(Fairness, OverdueWorkersGoFirst) {
  // Once overdue, a worker waits at most for the other overdue ones; two slots come free in the longest step.
  for (const double wait : longest_waits(age)) EXPECT_LE(wait, age + 2 * 5.5);
}

TEST(Fairness, WithoutAnAgeTheSlowStarve) {
  const std::vector<double> waits = longest_waits(std::numeric_limits<double>::infinity());
  EXPECT_GT(*std::ranges::max_element(waits), 100.0);
}

TEST(Fairness, AnAgeChangesTheOrderOnly) {
  metronome cluster{
      capped{.running = 2, .order = release_order::fastest}, step_times, {.guard = {.max_wait = age}}, 1000};
  for (int n = 0; n < 500; ++n) {
    ASSERT_TRUE(cluster.run(1).ok());
    ASSERT_EQ(cluster.control().workers().busy(), 2u) << "the policy's count holds";
  }
  EXPECT_GT(cluster.control().counts().total(reason::overdue), 0u);
  EXPECT_EQ(cluster.control().counts().overrides(), cluster.control().counts().total(reason::overdue));
}

// What a bound withholds from a rule that counts must not come on top of its count.
TEST(Fairness, ACapIsNotExceededUnderABoundOfTheGuard) {
  for (const auto order : {release_order::fifo, release_order::fastest, release_order::random})
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      test::cluster<capped> c{capped{.running = 2, .order = order}, 5, {.guard = {.bound = 0}, .seed = seed}};
      random_sequence random{seed};
      for (int i = 0; i < 200; ++i) {
        const std::vector<std::uint32_t> running = c.running();
        ASSERT_LE(running.size(), 2u);
        c.push(running[random.below(running.size())]);
      }
    }
}

}  // namespace
}  // namespace rubato
