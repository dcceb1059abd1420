// Deaths, departures, joins and cancellations: nobody hangs, and no gradient is lost or used twice.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <rubato/core/rng.hpp>
#include <rubato/sim/cluster.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/rivals/k_sync.hpp>
#include <rubato/sync/ssp.hpp>

#include "test_objective.hpp"

namespace rubato::sim {
namespace {

using enum failure_kind;
using test::test_objective;

// What every run keeps, however it went.
void expect_in_order(const run_result& run, const test_objective& goal, const std::string& where) {
  EXPECT_TRUE(run.gradients.balanced()) << where;
  EXPECT_EQ(run.gradients.computed, goal.gradients.size()) << where;
  EXPECT_TRUE(goal.live.empty()) << where;
  EXPECT_EQ(goal.misuses, 0U) << where;
  EXPECT_EQ(run.updates, goal.updates.size()) << where;
  std::size_t used = 0;
  for (const auto& update : goal.updates) used += update.parts.size();
  EXPECT_EQ(run.gradients.applied + run.gradients.flushed, used) << where;
  EXPECT_EQ(run.count(reason::time_clamped), 0U) << where;
  EXPECT_EQ(run.count(reason::repeated), 0U) << where;
  EXPECT_EQ(run.count(reason::invalid_token), 0U) << where;
}

TEST(ClusterFaults, DeadWorkerDoesNotHangBsp) {
  for (const bsp policy : {bsp{}, bsp{bsp::sum}}) {
    test_objective goal;
    // All but worker 2 wait for it when it dies.
    const run_result run =
        simulate({.workers = 4, .step_time = {1, 1, 5, 1}, .jitter = 0, .failures = {{2.5, 2, death}}},
                 {.max_time = 10}, policy, goal);
    EXPECT_EQ(run.steps, (std::vector<std::uint64_t>{8, 8, 0, 8}));
    EXPECT_EQ(run.gradients.lost, 1U);
    EXPECT_EQ(run.overrides, 0U) << "the policy itself must release them, not the guard";
    expect_in_order(run, goal, "bsp");
  }
}

TEST(ClusterFaults, IdleShareLeavesOutTheDead) {
  test_objective goal;
  const run_result run = simulate({.workers = 2, .step_time = {1, 4}, .jitter = 0, .failures = {{2, 1, death}}},
                                  {.max_time = 6}, bsp{}, goal);
  EXPECT_NEAR(run.idle_share, 1.0 / (6 + 2), 1e-12);
}

TEST(ClusterFaults, WorkerThatJoinsIsAbsentAtFirst) {
  test_objective goal;
  const run_result run =
      simulate({.workers = 3, .jitter = 0, .failures = {{4.5, 1, join}}}, {.max_time = 10}, bsp{}, goal);
  EXPECT_EQ(run.steps, (std::vector<std::uint64_t>{10, 5, 10})) << "it starts at the next barrier";
  expect_in_order(run, goal, "join");
}

TEST(ClusterFaults, FirstWorkersMayComeLate) {
  test_objective goal;
  const run_result run =
      simulate({.workers = 2, .jitter = 0, .failures = {{3, 0, join}, {5, 1, join}}}, {.max_time = 8.5}, asp{}, goal);
  EXPECT_EQ(run.steps, (std::vector<std::uint64_t>{5, 3}));
}

TEST(ClusterFaults, NobodyLeftIsAnEnd) {
  test_objective goal;
  const run_result run = simulate({.workers = 2, .jitter = 0, .failures = {{2.5, 0, death}, {3.5, 1, leave}}},
                                  {.max_time = 50}, asp{}, goal);
  EXPECT_EQ(run.end, run_end::stalled);
  EXPECT_EQ(run.time, 50);
  EXPECT_EQ(run.steps, (std::vector<std::uint64_t>{2, 3}));
  expect_in_order(run, goal, "nobody left");
}

TEST(ClusterFaults, WhatADeadWorkerHasSentIsRefused) {
  test_objective goal;
  // Both push at 1; the server takes worker 0 until 3, worker 1 dies meanwhile and comes back.
  const run_result run =
      simulate({.workers = 2, .jitter = 0, .decision_time = 2, .failures = {{1.5, 1, death}, {2, 1, join}}},
               {.max_time = 4}, asp{}, goal);
  EXPECT_EQ(run.gradients.lost, 1U);
  EXPECT_EQ(run.count(reason::old_incarnation), 1U);
  expect_in_order(run, goal, "refused");
}

TEST(ClusterFaults, WhatADeadWorkerHadAdmittedCounts) {
  test_objective goal;
  const run_result run =
      simulate({.workers = 2, .step_time = {1, 3}, .jitter = 0, .decision_time = 1, .failures = {{1.5, 0, death}}},
               {.max_time = 2.5}, asp{}, goal);
  EXPECT_EQ(run.gradients.applied, 1U);
  EXPECT_EQ(run.gradients.lost, 0U);
  expect_in_order(run, goal, "admitted");
}

TEST(ClusterFaults, WhoHasNotHeardYetCanGoOrBeCancelled) {
  test_objective goal;
  // Word comes after one unit, a step takes one. Worker 1 dies before it hears, and comes back.
  const run_result run =
      simulate({.workers = 2, .jitter = 0, .decision_latency = 1, .failures = {{0.5, 1, death}, {2.5, 1, join}}},
               {.max_time = 6.25}, asp{}, goal);
  EXPECT_EQ(run.steps, (std::vector<std::uint64_t>{3, 1}));
  EXPECT_EQ(run.gradients.lost, 0U) << "it had not begun";
  expect_in_order(run, goal, "dead before word came");
  // The slow one's step is cancelled by updates that come while word of its release is on the way.
  test_objective other;
  const run_result cancelled = simulate({.workers = 4, .step_time = {1, 1, 1, 3}, .jitter = 0, .decision_latency = 2},
                                        {.max_time = 30.5}, k_sync{.k = 3}, other);
  EXPECT_EQ(cancelled.updates, 10U);
  expect_in_order(cancelled, other, "cancelled");
}

TEST(ClusterFaults, CancelledStepsEndAtOnce) {
  test_objective goal;
  const run_result run =
      simulate({.workers = 4, .step_time = {1, 1, 1, 3}, .jitter = 0}, {.max_time = 10.5}, k_sync{.k = 3}, goal);
  EXPECT_EQ(run.updates, 10U) << "nobody waits for the slow worker";
  EXPECT_EQ(run.gradients.dropped, 10U);
  EXPECT_EQ(run.count(reason::cancelled), 10U);
  EXPECT_EQ(run.steps, (std::vector<std::uint64_t>(4, 10)));
  EXPECT_EQ(run.samples, 30U * 16) << "cancelled work is not work done";
  expect_in_order(run, goal, "cancelled");
}

TEST(ClusterFaults, CancelledTransfersLeaveTheLink) {
  test_objective goal;
  // One gradient makes a round. Worker 0 pushes alone from 2.5 on (two pulls at a time take 0.5).
  const run_result run = simulate(
      {.workers = 2, .step_time = {1, 1.05}, .jitter = 0, .link = {.bandwidth = 4, .latency = 0, .model_size = 1}},
      {.max_time = 20}, k_sync{.k = 1}, goal);
  EXPECT_GE(run.gradients.dropped, 8U);
  EXPECT_EQ(run.gradients.dropped, run.count(reason::cancelled));
  expect_in_order(run, goal, "transfer");
}

template <class Policy>
void storm(Policy policy, const std::string& name) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    random_sequence random{seed, 99};
    cluster_options machines{.workers = 8,
                             .cores = static_cast<std::uint32_t>(random.below(4)),
                             .stragglers = {.kind = static_cast<straggler_kind>(random.below(5))}};
    if (random.below(2) == 0) machines.link = {.bandwidth = 5, .latency = 0.05, .model_size = 1};
    if (random.below(2) == 0) machines.decision_time = 0.1;
    if (random.below(2) == 0) machines.decision_latency = 0.3;
    for (std::uint32_t w = 0; w < machines.workers; ++w) {
      double time = 0;
      bool here = random.below(4) != 0;
      for (;;) {
        time += 2 + random.uniform() * 15;
        if (time > 60) break;
        machines.failures.push_back({time, w, !here ? join : random.below(2) == 0 ? death : leave});
        here = !here;
      }
    }
    test_objective goal;
    goal.loss_of = [](std::uint32_t worker, std::uint64_t step) {
      return (worker + step) % 17 == 0 ? std::numeric_limits<float>::infinity() : 1.0F;
    };
    const run_result run = simulate(machines, {.seed = seed, .max_time = 100}, policy, goal);
    const std::string where = name + ", seed " + std::to_string(seed);
    ASSERT_EQ(problem(machines), "") << where;
    EXPECT_EQ(run.end, run_end::out_of_time) << where;
    EXPECT_GT(run.pushes, 50U) << where;
    expect_in_order(run, goal, where);
  }
}

TEST(ClusterFaults, FailuresAndJoinsConserveGradients) {
  storm(bsp{}, "bsp");
  storm(bsp{bsp::sum}, "bsp:sum");
  storm(asp{}, "asp");
  storm(ssp{.staleness = 0}, "ssp:0");
  storm(ssp{.staleness = 3}, "ssp:3");
  storm(k_sync{.k = 3}, "k_sync:3");
}

TEST(ClusterFaults, UnfinishedGradientsAreReturned) {
  test_objective goal;
  const run_result run = simulate({.workers = 3, .step_time = {1, 1, 2}, .jitter = 0, .decision_time = 0.25},
                                  {.max_time = 1.4}, bsp{}, goal);
  // One is in the round, one at the server, one in its step.
  EXPECT_EQ(run.gradients.unfinished, 3U);
  expect_in_order(run, goal, "unfinished");
}

}  // namespace
}  // namespace rubato::sim
