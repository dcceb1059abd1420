// Virtual time against what was computed by hand, and against the measured tables of earlier simulators.
#include <gtest/gtest.h>

#include <cstdint>
#include <rubato/sim/cluster.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/ssp.hpp>
#include <utility>
#include <vector>

#include "test_objective.hpp"

namespace rubato::sim {
namespace {

using test::no_objective;

// A run of so many pushes.
template <class Policy>
[[nodiscard]] run_result pushes(const cluster_options& machines, Policy policy, std::uint64_t count,
                                std::uint64_t seed = 0) {
  no_objective goal;
  return simulate(machines, {.seed = seed, .stop = stop_rule::workload, .workload = count * 16, .max_time = 1e6},
                  std::move(policy), goal);
}

template <class Policy>
[[nodiscard]] run_result until(double time, const cluster_options& machines, Policy policy, std::uint64_t seed = 0) {
  no_objective goal;
  return simulate(machines, {.seed = seed, .max_time = time}, std::move(policy), goal);
}

const std::vector<double> rlp_table_1{9.17, 10.103, 4.37, 4.47, 4.57, 15.39, 22.189, 5.31, 4.97, 5.07};

TEST(ClusterTiming, BspRoundIsTheSlowestStep) {
  const cluster_options machines{.step_time = rlp_table_1, .jitter = 0};
  EXPECT_NEAR(pushes(machines, bsp{}, 10).time, 22.189, 1e-9);
  const run_result run = pushes(machines, bsp{bsp::sum}, 280);
  EXPECT_NEAR(run.time, 621.292, 1e-9);
  EXPECT_EQ(run.steps, std::vector<std::uint64_t>(10, 28));
}

TEST(ClusterTiming, BatchTakesAFixedPartAndOneForEachSample) {
  const auto time_of = [](double fixed_share, std::uint32_t samples) {
    const cluster_options machines{.workers = 1, .step_time = {2}, .fixed_share = fixed_share, .jitter = 0};
    return computing_time(machines, 0, samples, 16, 0);
  };
  EXPECT_DOUBLE_EQ(time_of(0, 16), 2);
  EXPECT_DOUBLE_EQ(time_of(0, 64), 8);
  EXPECT_DOUBLE_EQ(time_of(0.25, 16), 2);
  EXPECT_DOUBLE_EQ(time_of(0.25, 64), 0.5 + 6);
  EXPECT_DOUBLE_EQ(time_of(1, 64), 2);
}

TEST(ClusterTiming, SlowWorkersComputeLonger) {
  const straggler_options all{.kind = straggler_kind::fixed, .probability = 1, .mean = 0, .sd = 0, .slowdown = 3};
  EXPECT_NEAR(pushes({.workers = 2, .step_time = {1, 2}, .jitter = 0, .stragglers = all}, bsp{}, 2).time, 6, 1e-12);
}

TEST(ClusterTiming, CongestionSlowsTransfersDown) {
  // One worker that pulls and pushes all the time: its steps take 2 transfers, of which some meet other traffic.
  const auto rate = [](const congestion_options& congestion) {
    const cluster_options machines{.workers = 1,
                                   .step_time = {1e-6},
                                   .jitter = 0,
                                   .link = {.bandwidth = 1, .model_size = 0.5, .congestion = congestion}};
    return static_cast<double>(until(100'000, machines, asp{}).pushes) / 100'000;
  };
  EXPECT_NEAR(rate({}), 1, 1e-4);
  EXPECT_NEAR(rate({.share = 0.2, .length = 10, .gap = 30}), 0.75 + 0.2 * 0.25, 0.01);
  EXPECT_NEAR(rate({.share = 0.001, .length = 1e6, .gap = 1e-6}), 0.001, 1e-4);
}

// A link that nobody uses is no event: a run in which nothing is under way has stalled.
TEST(ClusterTiming, CongestionKeepsNoStalledRunGoing) {
  const cluster_options machines{.workers = 2,
                                 .link = {.bandwidth = 1, .model_size = 0.1, .congestion = {.share = 0.5}},
                                 .failures = {{5, 0, failure_kind::death}, {6, 1, failure_kind::death}}};
  no_objective goal;
  EXPECT_EQ(simulate(machines, {.max_time = 1e6}, asp{}, goal).end, run_end::stalled);
}

TEST(ClusterTiming, AspStepsAreTimeOverStepTime) {
  const run_result run = until(480, {.step_time = rlp_table_1, .jitter = 0}, asp{});
  EXPECT_EQ(run.steps, (std::vector<std::uint64_t>{52, 47, 109, 107, 105, 31, 21, 90, 96, 94}));
}

TEST(ClusterTiming, MeanStalenessOfAspIsWorkersMinusOne) {
  for (const std::uint32_t workers : {2U, 5U, 10U, 40U}) {
    const run_result run = pushes({.workers = workers}, asp{}, 500 * workers);
    EXPECT_NEAR(run.staleness_mean, workers - 1, 0.02 * (workers - 1)) << workers;
  }
}

TEST(ClusterTiming, MeanStalenessOfTheBspSumIsHalfTheOthers) {
  const run_result run = pushes({}, bsp{bsp::sum}, 1'000);
  EXPECT_DOUBLE_EQ(run.staleness_mean, 4.5);
  EXPECT_EQ(run.staleness_p95, 9U);
}

TEST(ClusterTiming, IdleShareIsTheTimeSpentParked) {
  const cluster_options two{.workers = 2, .step_time = {1, 3}, .jitter = 0};
  EXPECT_NEAR(pushes(two, bsp{}, 20).idle_share, 2.0 / 6, 1e-12);
  EXPECT_EQ(pushes(two, asp{}, 20).idle_share, 0);
}

TEST(ClusterTiming, CoresAreShared) {
  EXPECT_NEAR(pushes({.workers = 2, .cores = 1, .step_time = {1, 3}, .jitter = 0}, bsp{}, 2).time, 4, 1e-12);
  EXPECT_NEAR(pushes({.workers = 6, .cores = 4, .jitter = 0}, bsp{}, 6).time, 1.5, 1e-12);
  EXPECT_NEAR(pushes({.workers = 4, .cores = 6, .jitter = 0}, bsp{}, 4).time, 1, 1e-12);
  EXPECT_NEAR(pushes({.workers = 10, .cores = 1, .jitter = 0}, asp{}, 500).time, 500, 1e-9);
}

TEST(ClusterTiming, SleepUsesNoCore) {
  const cluster_options asleep{.workers = 3,
                               .cores = 1,
                               .jitter = 0,
                               .stragglers = {.kind = straggler_kind::fixed, .probability = 1, .mean = 5, .sd = 0}};
  EXPECT_NEAR(pushes(asleep, bsp{}, 3).time, 8, 1e-12);
}

TEST(ClusterTiming, TransfersShareTheLink) {
  cluster_options two{.workers = 2, .jitter = 0, .link = {.bandwidth = 4, .latency = 0, .model_size = 1}};
  EXPECT_NEAR(pushes(two, bsp{}, 2).time, 2, 1e-12);  // two at a time: pull 0.5, compute 1, push 0.5
  two.link.latency = 0.125;
  EXPECT_NEAR(pushes(two, bsp{}, 2).time, 2.25, 1e-12);
  two.workers = 1;
  EXPECT_NEAR(pushes(two, bsp{}, 1).time, 1.75, 1e-12);
}

TEST(ClusterTiming, LinkSaturatesAtTwoToThreeWorkers) {
  const auto rate = [](std::uint32_t workers) {
    const cluster_options machines{.workers = workers, .link = {.bandwidth = 1, .latency = 0, .model_size = 0.25}};
    return 4'000 / pushes(machines, asp{}, 4'000).time;
  };
  EXPECT_NEAR(rate(1), 1 / 1.5, 0.01);
  EXPECT_GT(rate(2), 1.7 * rate(1));
  EXPECT_LT(rate(4), 1.25 * rate(3));
  EXPECT_NEAR(rate(10), 2, 0.02);
}

TEST(ClusterTiming, ServerHandlesOnePushAtATime) {
  const run_result run = pushes({.jitter = 0, .decision_time = 0.0625, .apply_time = 0.0375}, bsp{}, 100);
  EXPECT_NEAR(run.time, 10 * (1 + 10 * 0.1), 1e-9);
  EXPECT_NEAR(run.decision_share, 100 * 0.0625 / 20, 1e-9);
  EXPECT_NEAR(pushes({.apply_time = 0.5}, asp{}, 1'000).time, 500, 2);  // ten workers wait for one server
}

TEST(ClusterTiming, WordOfADecisionTravels) {
  const cluster_options far{.workers = 4, .jitter = 0, .decision_latency = 0.25};
  const run_result run = pushes(far, bsp{}, 4 * 10);
  EXPECT_NEAR(run.time, 10 * 1.25, 1e-9) << "also of the first";
  EXPECT_NEAR(run.idle_share, 0.2, 1e-9) << "a worker that has not heard of it idles";
  EXPECT_NEAR(pushes(far, asp{}, 40).time, 10 * 1.25, 1e-9);
  cluster_options shared = far;
  shared.cores = 1;
  EXPECT_NEAR(pushes(shared, asp{}, 400).time, 100 * 4.25, 1e-9) << "and takes nothing of what is shared";
}

TEST(ClusterTiming, ARoundTakesItsTime) {
  const cluster_options slow{.workers = 4, .jitter = 0, .round_time = 0.125};
  EXPECT_NEAR(pushes(slow, bsp{}, 4 * 10).time, 1 + 9 * 1.5, 1e-9) << "the last one is over with its gradients";
  EXPECT_EQ(pushes(slow, bsp{}, 40).idle_share, 0) << "a step begins with the wait for the update";
  EXPECT_NEAR(pushes(slow, bsp{bsp::sum}, 40).time, 10, 1e-9) << "its gradients are applied one by one";
  EXPECT_NEAR(pushes(slow, asp{}, 40).time, 10, 1e-9);
  cluster_options linked = slow;
  linked.link = {.bandwidth = 8, .model_size = 1};
  EXPECT_NEAR(pushes(linked, bsp{}, 8).time, 2 * 2 + 0.5, 1e-9) << "nobody pulls meanwhile";
}

// Any two gradients make a round. The first is made at 1; the third worker pushes at 1.25, and pulls when that one is
// an update, at 3.
TEST(ClusterTiming, WhoStartsDuringARoundsUpdateWaitsForIt) {
  struct first_two {
    [[nodiscard]] admission admit(const cluster_view& view, const event&) const noexcept {
      return view.round_admissions() == 1 ? admission::accumulate_and_flush() : admission::accumulate();
    }
    [[nodiscard]] decision release(const cluster_view&, const event&) const noexcept { return decision::all(); }
  };
  const cluster_options machines{.workers = 3, .step_time = {1, 1, 1.25}, .jitter = 0, .round_time = 1};
  std::vector<double> pushed;
  const auto watcher = [&](const record& r) noexcept {
    if (r.what == record::kind::admit && r.worker.index == 2) pushed.push_back(r.now);
  };
  no_objective goal;
  static_cast<void>(simulate(machines, {.max_time = 5}, first_two{}, goal, watcher));
  ASSERT_EQ(pushed.size(), 2U);
  EXPECT_EQ(pushed[0], 1.25);
  EXPECT_EQ(pushed[1], 1 + 2 + 1.25);
}

// Ten workers, static stragglers (p = 0.3, sleep N(1, 1/3)): the reference figures are pushes / time to 88 % accuracy
// of an independent simulator; what is compared is their quotient, which is a matter of timing alone.
class ReferenceThroughput : public testing::Test {
 protected:
  template <class Policy>
  static double rate(const cluster_options& machines, Policy policy) {
    double time = 0;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) time += pushes(machines, policy, 800, seed).time;
    return static_cast<double>(seeds * 800) / time;
  }
  static void expect(const cluster_options& machines, double bsp_round, double asp_rate, double ssp_2, double ssp_8) {
    EXPECT_NEAR(10 / rate(machines, bsp{bsp::sum}) / bsp_round, 1, 0.04);
    EXPECT_NEAR(10 / rate(machines, bsp{}) / bsp_round, 1, 0.04);
    EXPECT_NEAR(rate(machines, asp{}) / asp_rate, 1, 0.04);
    EXPECT_NEAR(rate(machines, ssp_rlp(2)) / ssp_2, 1, 0.04);
    EXPECT_NEAR(rate(machines, ssp_rlp(8)) / ssp_8, 1, 0.04);
  }
  static constexpr std::uint64_t seeds = 100;
  static inline const straggler_options sleepy{.kind = straggler_kind::fixed};
};

TEST_F(ReferenceThroughput, IndependentCompute) {
  expect({.stragglers = sleepy}, 2.196, 8.40, 750 / 146.5, 735 / 134.9);
}
TEST_F(ReferenceThroughput, FourSharedCores) {
  expect({.cores = 4, .stragglers = sleepy}, 3.64, 3.98, 840 / 277.7, 789 / 240.5);
}
TEST_F(ReferenceThroughput, OneSharedCore) {
  expect({.cores = 1, .stragglers = sleepy}, 11.0, 0.995, 820 / 873.5, 834 / 843.5);
}
TEST_F(ReferenceThroughput, SharedLink) {
  expect({.link = {.bandwidth = 1, .latency = 0, .model_size = 0.25}, .stragglers = sleepy}, 5.93, 1.984, 833 / 478.6,
         806 / 431.8);
}
TEST_F(ReferenceThroughput, WiderSharedLink) {
  expect({.link = {.bandwidth = 2, .latency = 0, .model_size = 0.25}, .stragglers = sleepy}, 3.683, 3.887, 834 / 278.4,
         736 / 223.4);
}
TEST_F(ReferenceThroughput, UnequalWorkers) {
  expect({.step_time = rlp_table_1}, 22.18, 1.567, 776 / 1703.7, 728 / 1469.5);
}
TEST_F(ReferenceThroughput, UnequalWorkersOnFourCores) {
  expect({.cores = 4, .step_time = rlp_table_1}, 29.37, 0.6267, 776 / 2267.8, 728 / 2000.4);
}

}  // namespace
}  // namespace rubato::sim
