#include <rubato/sim/cluster.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <rubato/core/step_metrics.hpp>
#include <rubato/sim/quadratic.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <vector>

namespace rubato::sim {
namespace {

// Keeps the metrics of all steps, in the order of their pushes.
struct listener {
  struct step {
    worker_id who;
    step_metrics metrics;
  };
  std::vector<step> steps{};

  void operator()(const record&) const noexcept {}
  void measured(worker_id who, const step_metrics& metrics) { steps.push_back({who, metrics}); }
};

run_options for_samples(std::uint64_t samples) {
  return {.stop = stop_rule::workload, .workload = samples, .batch = 10};
}

TEST(ClusterMetrics, TimesOfAStepByHand) {
  listener seen;
  quadratic goal;
  const cluster_options machines{
      .workers = 1, .step_time = {3}, .jitter = 0, .link = {.bandwidth = 2, .latency = 0.25, .model_size = 1}};
  static_cast<void>(simulate(machines, for_samples(30), asp{}, goal, seen));
  ASSERT_GE(seen.steps.size(), 3u);
  for (const listener::step& each : seen.steps) {
    EXPECT_FLOAT_EQ(each.metrics.compute_time, 3);
    EXPECT_FLOAT_EQ(each.metrics.communication_time, 1.5F) << "half a unit and a quarter, both ways";
    EXPECT_FLOAT_EQ(each.metrics.throughput, 1 / 1.5F);
    EXPECT_TRUE(std::isnan(each.metrics.processor)) << "nothing simulates that";
    EXPECT_TRUE(std::isnan(each.metrics.accuracy)) << "this objective knows no such thing";
  }
}

// Sums up what it is told.
struct measuring_asp : asp {
  std::shared_ptr<std::vector<float>> times = std::make_shared<std::vector<float>>();
  void measured(std::uint32_t, const step_metrics& step) noexcept { times->push_back(step.compute_time); }
};

TEST(ClusterMetrics, APolicyIsToldBeforeThePush) {
  quadratic goal;
  const measuring_asp policy;
  const cluster_options machines{.workers = 1, .step_time = {3}, .jitter = 0};
  const run_result made = simulate(machines, for_samples(30), policy, goal);
  EXPECT_GE(policy.times->size(), made.pushes);
  EXPECT_FLOAT_EQ(policy.times->front(), 3);
}

TEST(ClusterMetrics, StragglersSleepWhileTheyCompute) {
  listener seen;
  quadratic goal;
  const cluster_options machines{.workers = 2,
                                 .step_time = {1},
                                 .jitter = 0,
                                 .stragglers = {.episodes = {{.worker = 1, .until = 1e9, .sleep = 2}}}};
  static_cast<void>(simulate(machines, for_samples(60), bsp{}, goal, seen));
  ASSERT_GE(seen.steps.size(), 6u);
  for (const listener::step& each : seen.steps) {
    EXPECT_FLOAT_EQ(each.metrics.compute_time, each.who.index == 1 ? 3 : 1);
    EXPECT_FLOAT_EQ(each.metrics.communication_time, 0);
    EXPECT_TRUE(std::isnan(each.metrics.throughput)) << "there is no link";
  }
}

TEST(ClusterMetrics, SharedLinksGiveEachAShare) {
  listener seen;
  quadratic goal;
  const cluster_options machines{
      .workers = 2, .step_time = {1}, .jitter = 0, .link = {.bandwidth = 1, .model_size = 1}};
  static_cast<void>(simulate(machines, for_samples(60), bsp{}, goal, seen));
  ASSERT_GE(seen.steps.size(), 6u);
  for (const listener::step& each : seen.steps) {
    EXPECT_FLOAT_EQ(each.metrics.communication_time, 4);
    EXPECT_FLOAT_EQ(each.metrics.throughput, 0.5F);
  }
}

TEST(ClusterMetrics, AListenerChangesNothing) {
  listener seen;
  quadratic first, second;
  const cluster_options machines{.workers = 4, .jitter = 0.1, .link = {.bandwidth = 4, .model_size = 1}};
  const run_result with = simulate(machines, for_samples(500), bsp{}, first, seen);
  const run_result without = simulate(machines, for_samples(500), bsp{}, second);
  EXPECT_EQ(with.time, without.time);
  EXPECT_EQ(with.final_loss, without.final_loss);
  EXPECT_EQ(seen.steps.size(), with.pushes);
}

}  // namespace
}  // namespace rubato::sim
