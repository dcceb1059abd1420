#include <rubato/sync/rivals/zipline.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <rubato/core/rng.hpp>
#include <vector>

#include "../../support/cluster.hpp"
#include "../../support/metronome.hpp"

namespace {

using namespace rubato;

std::vector<std::uint32_t> steps_planned(std::uint32_t lookahead, const std::vector<double>& step_times) {
  zipline policy{.lookahead = lookahead};
  policy.resize(static_cast<std::uint32_t>(step_times.size()));
  policy.plan([&](std::uint32_t w) { return step_times[w]; });
  return {policy.left.begin(), policy.left.end()};
}

using step_counts = std::vector<std::uint32_t>;

TEST(Zipline, PlanByHand) {
  // Ends 2 4 6 8, 3 6 9 12 and 7 14 21 28: of 6, 6, 7 the first and the last are 1 apart, and of no others less.
  EXPECT_EQ(steps_planned(4, {2, 3, 7}), (step_counts{3, 2, 1}));
  // Ends 2 4, 3 6, 7 14: 4, 6, 7.
  EXPECT_EQ(steps_planned(2, {2, 3, 7}), (step_counts{2, 2, 1}));
  EXPECT_EQ(steps_planned(1, {2, 3, 7}), (step_counts{1, 1, 1}));
  EXPECT_EQ(steps_planned(10, {4, 10}), (step_counts{5, 2})) << "both at 20";
}

TEST(Zipline, EarliestOfEqualPlans) {
  EXPECT_EQ(steps_planned(100, {1, 1, 1}), (step_counts{1, 1, 1}));
  EXPECT_EQ(steps_planned(100, {1, 2, 4}), (step_counts{4, 2, 1}));
  EXPECT_EQ(steps_planned(8, {3}), (step_counts{1}));
}

TEST(Zipline, UnknownWorkersRunOneStep) {
  EXPECT_EQ(steps_planned(4, {2, 0, 3, 7}), (step_counts{3, 1, 2, 1}));
  EXPECT_EQ(steps_planned(4, {0, 0}), (step_counts{1, 1}));
}

TEST(Zipline, PlanAgreesWithASearch) {
  random_sequence random{2};
  for (int n = 0; n < 400; ++n) {
    const auto workers = static_cast<std::uint32_t>(1 + random.below(4));
    const auto lookahead = static_cast<std::uint32_t>(1 + random.below(7));
    std::vector<double> one(workers);
    for (double& t : one) t = n % 2 == 0 ? 0.5 + random.uniform() * 6 : 1.0 + static_cast<double>(random.below(9));

    // Every choice; the least range, and of equals the earliest barrier.
    step_counts choice(workers, 1);
    double least = std::numeric_limits<double>::infinity();
    double barrier = 0.0;
    for (;;) {
      double first = std::numeric_limits<double>::infinity();
      double last = 0.0;
      for (std::uint32_t w = 0; w < workers; ++w) {
        first = std::min(first, choice[w] * one[w]);
        last = std::max(last, choice[w] * one[w]);
      }
      if (last - first < least || (last - first == least && last < barrier)) least = last - first, barrier = last;
      std::uint32_t w = 0;
      while (w < workers && choice[w] == lookahead) choice[w++] = 1;
      if (w == workers) break;
      ++choice[w];
    }

    const step_counts planned = steps_planned(lookahead, one);
    double first = std::numeric_limits<double>::infinity();
    double last = 0.0;
    for (std::uint32_t w = 0; w < workers; ++w) {
      ASSERT_GE(planned[w], 1u);
      ASSERT_LE(planned[w], lookahead);
      first = std::min(first, planned[w] * one[w]);
      last = std::max(last, planned[w] * one[w]);
    }
    ASSERT_EQ(last - first, least) << n;
    if (n % 2 == 1) {
      ASSERT_EQ(last, barrier) << n;
    }
  }
}

TEST(Zipline, RunsThePlannedSteps) {
  // One step each to begin with; from 7 on 3, 2 and 1 steps end at 13, 13 and 14.
  test::metronome run{zipline{.lookahead = 4}, {2.0, 3.0, 7.0}};
  ASSERT_TRUE(run.run(3 + 6).ok());
  const std::vector<test::beat> expected{{0, 0}, {0, 1},  {0, 2},  {7, 0},  {7, 1},  {7, 2},
                                         {9, 0}, {10, 1}, {11, 0}, {14, 0}, {14, 1}, {14, 2}};
  EXPECT_EQ(run.trace(), expected);
  EXPECT_EQ(run.control().counts().overrides(), 0u);
}

TEST(Zipline, JoinerWaitsForTheBarrier) {
  test::cluster c{zipline{.lookahead = 3}, 2, {.capacity = 3}};
  c.at(2).push(0).at(6).push(1);
  c.at(7).join(2);
  EXPECT_EQ(c.parked(), std::vector{2u});
  c.at(8).push(0);
  ASSERT_EQ(c.state(0), worker_state::running) << "its second step of three";
  c.at(10).push(0).at(11).push(0).at(12).push(1);
  EXPECT_EQ(c.running(), (std::vector{0u, 1u, 2u}));
  EXPECT_EQ(c.control().policy().left[2], 1u);
}

TEST(Zipline, DeadWorkerDoesNotHangTheRest) {
  test::cluster c{zipline{.lookahead = 3}, 2};
  c.at(2).push(0).at(6).push(1).at(7).push(0).at(8).push(0).at(9).push(0);
  ASSERT_EQ(c.parked(), std::vector{0u});
  c.die(1);
  EXPECT_EQ(c.running(), std::vector{0u});
  EXPECT_EQ(c.overrides(), 0u);
}

TEST(Zipline, RefusesBadOptions) {
  EXPECT_EQ(zipline{}.problem(4), "");
  EXPECT_EQ(zipline{.lookahead = 0}.problem(4), "lookahead is 0, expected 1 to 65535, for its cost");
  EXPECT_EQ(zipline{.lookahead = zipline::furthest}.problem(4), "");
  EXPECT_EQ(zipline{.lookahead = 4'000'000'000}.problem(4),
            "lookahead is 4000000000, expected 1 to 65535, for its cost");
}

TEST(Zipline, DescribesItself) {
  EXPECT_EQ(zipline{.lookahead = 7}.describe().json, R"({"kind":"zipline","lookahead":7})");
}

}  // namespace
