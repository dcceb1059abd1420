#include <rubato/sim/straggler.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace rubato::sim {
namespace {

constexpr std::uint32_t cluster_size = 10;

[[nodiscard]] double mean_sleep(straggler_model& model, std::uint32_t worker, std::uint64_t steps) {
  double sum = 0;
  for (std::uint64_t step = 1; step <= steps; ++step) sum += model.sleep(worker, step, static_cast<double>(step));
  return sum / static_cast<double>(steps);
}

[[nodiscard]] std::uint32_t sleepers(straggler_model& model) {
  std::uint32_t count = 0;
  for (std::uint32_t w = 0; w < cluster_size; ++w) count += mean_sleep(model, w, 20) > 0 ? 1 : 0;
  return count;
}

TEST(Straggler, NoneNeverSleeps) {
  straggler_model model{{.mean = 5}, cluster_size, 1};
  EXPECT_EQ(sleepers(model), 0U);
}

TEST(Straggler, FixedDrawsWorkersOncePerRun) {
  std::uint32_t drawn = 0;
  for (std::uint64_t seed = 0; seed < 1'000; ++seed) {
    straggler_model model{{.kind = straggler_kind::fixed, .mean = 1, .sd = 0.1}, cluster_size, seed};
    for (std::uint32_t w = 0; w < cluster_size; ++w) {
      const bool first = model.sleep(w, 1, 1) > 0;
      for (std::uint64_t step = 2; step < 5; ++step) ASSERT_EQ(model.sleep(w, step, 1) > 0, first);
      drawn += first ? 1 : 0;
    }
  }
  EXPECT_NEAR(drawn / 10'000.0, 0.3, 0.015);
}

TEST(Straggler, EpisodesAddToWhatIsDrawn) {
  straggler_model alone{{.episodes = {{3, 10, 20, 0.5}, {3, 15, 30, 2}}}, cluster_size, 1};
  const std::vector<std::pair<double, double>> sleeps{{9.9, 0}, {10, 0.5}, {15, 2.5}, {20, 2}, {29.9, 2}, {30, 0}};
  for (const auto& [now, expected] : sleeps) {
    EXPECT_EQ(alone.sleep(3, 1, now), expected) << now;
    EXPECT_EQ(alone.sleep(4, 1, now), 0) << now;
  }
  const straggler_options all{.kind = straggler_kind::fixed, .probability = 1, .mean = 1, .sd = 0};
  straggler_options more = all;
  more.episodes = {{3, 10, 20, 0.5}};
  EXPECT_EQ((straggler_model{more, cluster_size, 1}.sleep(3, 1, 12)), 1.5);
  EXPECT_EQ((straggler_model{more, cluster_size, 1}.sleep(3, 1, 22)), 1);
}

TEST(Straggler, CountIsExact) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    straggler_model fixed{{.kind = straggler_kind::fixed, .count = 3, .sd = 0}, cluster_size, seed};
    EXPECT_EQ(sleepers(fixed), 3U);
    straggler_model transient{{.kind = straggler_kind::transient, .count = 4, .sd = 0}, cluster_size, seed};
    for (std::uint64_t step = 1; step < 20; ++step) {
      std::uint32_t asleep = 0;
      for (std::uint32_t w = 0; w < cluster_size; ++w) asleep += transient.sleep(w, step, 0) > 0 ? 1 : 0;
      EXPECT_EQ(asleep, 4U);
    }
  }
}

TEST(Straggler, TransientDrawsSteps) {
  straggler_model model{{.kind = straggler_kind::transient, .probability = 0.2, .mean = 1, .sd = 0}, cluster_size, 1};
  EXPECT_NEAR(mean_sleep(model, 4, 100'000), 0.2, 0.005);
}

TEST(Straggler, NormalSleepIsCutOffAtZero) {
  straggler_model model{{.kind = straggler_kind::fixed, .probability = 1, .mean = 0, .sd = 1}, cluster_size, 1};
  // The positive part of a standard normal has mean 1 / sqrt(2 pi).
  EXPECT_NEAR(mean_sleep(model, 0, 100'000), 0.3989, 0.01);
}

TEST(Straggler, HeavyTailedSleepsArePareto) {
  straggler_model model{
      {.kind = straggler_kind::heavy_tailed, .probability = 1, .mean = 3, .tail_index = 3}, cluster_size, 1};
  int beyond = 0;
  double least = 1e9;
  for (std::uint64_t step = 0; step < 100'000; ++step) {
    const double sleep = model.sleep(0, step, 0);
    least = std::min(least, sleep);
    beyond += sleep > 4 ? 1 : 0;
  }
  EXPECT_NEAR(least, 2, 0.001);                  // mean x (index - 1) / index
  EXPECT_NEAR(beyond / 100'000.0, 0.125, 0.01);  // (2 / 4)^3
  EXPECT_NEAR(mean_sleep(model, 1, 200'000), 3, 0.05);
}

TEST(Straggler, BurstsTakeTheirShareOfTime) {
  straggler_model model{
      {.kind = straggler_kind::burst, .count = cluster_size, .mean = 1, .sd = 0, .burst_length = 10, .burst_gap = 30},
      cluster_size,
      5};
  EXPECT_NEAR(mean_sleep(model, 3, 400'000), 0.25, 0.01);

  // Sleepy steps come in runs: a step follows its like far more often than chance would have it.
  straggler_model again{{.kind = straggler_kind::burst, .count = cluster_size, .mean = 1, .sd = 0}, cluster_size, 6};
  int changes = 0;
  bool asleep = false;
  for (std::uint64_t step = 1; step < 40'000; ++step) {
    const bool now = again.sleep(0, step, static_cast<double>(step)) > 0;
    changes += now != asleep ? 1 : 0;
    asleep = now;
  }
  EXPECT_NEAR(changes, 2'000, 200);  // twice every 40 units of time, but for those that fall between two steps
}

TEST(Straggler, WhoIsDrawnIsSlowAndSleeps) {
  straggler_model drawn{
      {.kind = straggler_kind::fixed, .count = 3, .mean = 1, .sd = 0, .slowdown = 4}, cluster_size, 2};
  int slow = 0;
  for (std::uint32_t w = 0; w < cluster_size; ++w) {
    const double factor = drawn.slowdown(w, 1, 0);
    EXPECT_EQ(factor > 1, drawn.sleep(w, 1, 0) > 0) << w;
    EXPECT_TRUE(factor == 1 || factor == 4) << factor;
    slow += factor == 4 ? 1 : 0;
  }
  EXPECT_EQ(slow, 3);

  straggler_model bursts{
      {.kind = straggler_kind::burst, .count = cluster_size, .mean = 0, .sd = 0, .slowdown = 2}, cluster_size, 5};
  double sum = 0;
  for (std::uint64_t step = 1; step <= 400'000; ++step) sum += bursts.slowdown(3, step, static_cast<double>(step));
  EXPECT_NEAR(sum / 400'000, 1.25, 0.01) << "a burst has a quarter of the time";

  straggler_model nobody{{.slowdown = 9}, cluster_size, 1};
  EXPECT_EQ(nobody.slowdown(0, 1, 0), 1);
}

TEST(Straggler, DrawsDependOnSeedWorkerAndStepAlone) {
  const straggler_options options{.kind = straggler_kind::transient, .probability = 0.5};
  straggler_model forwards{options, cluster_size, 9};
  straggler_model backwards{options, cluster_size, 9};
  std::vector<double> sleeps;
  for (std::uint64_t step = 0; step < 100; ++step) sleeps.push_back(forwards.sleep(2, step, 0));
  for (std::uint64_t step = 100; step-- > 0;) {
    static_cast<void>(backwards.sleep(7, step, 0));
    EXPECT_EQ(backwards.sleep(2, step, 0), sleeps[step]);
  }
  straggler_model other{options, cluster_size, 10};
  std::vector<double> others;
  for (std::uint64_t step = 0; step < 100; ++step) others.push_back(other.sleep(2, step, 0));
  EXPECT_NE(others, sleeps);
}

TEST(Straggler, ProblemNamesFieldValueAndExpectation) {
  EXPECT_EQ(problem(straggler_options{}, cluster_size), "");
  EXPECT_EQ(problem(straggler_options{.probability = 1.5}, cluster_size),
            "stragglers.probability is 1.5, expected 0 to 1");
  EXPECT_EQ(problem(straggler_options{.count = 11}, cluster_size),
            "stragglers.count is 11, expected at most the number of workers");
  EXPECT_EQ(problem(straggler_options{.mean = std::nan("")}, cluster_size),
            "stragglers.mean is nan, expected a finite number of 0 or more");
  EXPECT_NE(problem(straggler_options{.sd = -1}, cluster_size), "");
  EXPECT_NE(problem(straggler_options{.burst_length = 0}, cluster_size), "");
  EXPECT_NE(problem(straggler_options{.burst_gap = 0}, cluster_size), "");
  EXPECT_NE(problem(straggler_options{.tail_index = 1}, cluster_size), "");
}

}  // namespace
}  // namespace rubato::sim
