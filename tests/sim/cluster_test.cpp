#include <rubato/sim/cluster.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <thread>
#include <vector>

#include <rubato/sim/quadratic.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/rivals/k_sync.hpp>
#include <rubato/sync/rivals/scaled.hpp>
#include <rubato/sync/ssp.hpp>

#include "../support/draws_anew.hpp"
#include "test_objective.hpp"

namespace rubato::sim {
namespace {

using rubato::test::draws_anew;
using test::no_objective;
using test::test_objective;

[[nodiscard]] run_options so_many_pushes(std::uint64_t count) {
  return {.stop = stop_rule::workload, .workload = count * 16, .learning_rate = {.base = 0.5, .boundaries = {}}};
}

// Every record that the controller makes.
struct recorder {
  std::vector<record> all{};
  void operator()(const record& r) noexcept { all.push_back(r); }
};

TEST(Cluster, GradientsAreComputedWhenTheirWorkersAreReleased) {
  test_objective goal;
  static_cast<void>(simulate({.workers = 2, .step_time = {1, 3}, .jitter = 0}, so_many_pushes(5), asp{}, goal));
  // Worker 0 ends steps at 1, 2, 3, 4; worker 1 at 3, after worker 0, which has the lower index.
  const std::vector<std::array<std::uint64_t, 3>> expected{{0, 1, 0}, {1, 1, 0}, {0, 2, 1}, {0, 3, 2},
                                                           {0, 4, 3}, {1, 2, 4}, {0, 5, 5}};
  ASSERT_EQ(goal.gradients.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(goal.gradients[i].worker, expected[i][0]) << i;
    EXPECT_EQ(goal.gradients[i].step, expected[i][1]) << i;
    EXPECT_EQ(goal.gradients[i].updates, expected[i][2]) << i;
  }
}

struct hasty : asp {
  int* worked_ahead;
  void prepare() noexcept { ++*worked_ahead; }
};
struct last_one final {
  int* worked_ahead;
  [[nodiscard]] decision release(const cluster_view&, const event&) noexcept { return decision::all(); }
  void prepare() noexcept { ++*worked_ahead; }
};

TEST(Cluster, PoliciesDoNotWorkAhead) {
  test_objective goal;
  int times = 0;
  EXPECT_EQ(simulate({.workers = 2}, so_many_pushes(5), hasty{{}, &times}, goal),
            simulate({.workers = 2}, so_many_pushes(5), asp{}, goal));
  EXPECT_EQ(times, 0);
  EXPECT_EQ(simulate({.workers = 2}, so_many_pushes(5), last_one{&times}, goal).pushes, 5U);
  EXPECT_EQ(times, 5) << "of a final class there is no other";
}

TEST(Cluster, MeanOfTheRoundIsOneUpdate) {
  test_objective goal;
  const run_result run = simulate({.workers = 4}, so_many_pushes(12), bsp{}, goal);
  EXPECT_EQ(run.updates, 3U);
  EXPECT_EQ(run.gradients.flushed, 12U);
  ASSERT_EQ(goal.updates.size(), 3U);
  EXPECT_EQ(goal.updates[0].parts.size(), 4U);
  EXPECT_NEAR(goal.parameter, -3 * 0.5, 1e-6);
}

TEST(Cluster, SumOfTheRoundIsOneUpdateEach) {
  test_objective goal;
  const run_result run = simulate({.workers = 4}, so_many_pushes(12), bsp{bsp::sum}, goal);
  EXPECT_EQ(run.updates, 12U);
  EXPECT_EQ(run.gradients.applied, 12U);
  EXPECT_NEAR(goal.parameter, -12 * 0.5, 1e-6);
}

TEST(Cluster, GradientsHaveTheWeightsOfTheirVerdicts) {
  test_objective goal;
  const scaled quarters{asp{}, staleness_weight::constant(0.25F)};
  static_cast<void>(simulate({.workers = 4}, so_many_pushes(12), quarters, goal));
  EXPECT_NEAR(goal.parameter, -12 * 0.5 * 0.25, 1e-6);
}

TEST(Cluster, LearningRateFollowsThePushes) {
  test_objective goal;
  run_options run = so_many_pushes(6);
  run.learning_rate = {.base = 0.5, .boundaries = {{2, 0.5}, {4, 0.25}}};
  static_cast<void>(simulate({.workers = 2}, run, asp{}, goal));
  std::vector<double> rates;
  for (const auto& update : goal.updates) rates.push_back(update.rate);
  EXPECT_EQ(rates, (std::vector<double>{0.5, 0.5, 0.25, 0.25, 0.125, 0.125}));
}

// Asks for steps of half the batch at three times the rate.
struct shaped : asp {
  [[nodiscard]] decision release(const cluster_view&, const event&) const noexcept {
    return decision::all().with_batch(8).with_lr_scale(3);
  }
};

TEST(Cluster, BatchAndRateAreThoseOfTheGrant) {
  test_objective goal;
  run_options run = so_many_pushes(4);
  run.workload = 4 * 8;
  const run_result result = simulate({.workers = 1, .jitter = 0}, run, shaped{}, goal);
  EXPECT_NEAR(result.time, 4 * 0.5, 1e-12);
  ASSERT_EQ(goal.updates.size(), 4U);
  EXPECT_FLOAT_EQ(goal.updates[0].parts[0].weight, 3 * 0.5F);
}

TEST(Cluster, StopsAtTheTarget) {
  test_objective goal;
  goal.judge = [](std::uint64_t updates) { return evaluation{1, static_cast<double>(updates) / 1'000}; };
  const run_result run = simulate({.workers = 5, .jitter = 0},
                                  {.target_accuracy = 0.5, .evaluate_every = 10, .keep_curve = true}, asp{}, goal);
  EXPECT_TRUE(run.reached);
  EXPECT_EQ(run.end, run_end::reached);
  EXPECT_EQ(run.pushes, 500U);
  EXPECT_EQ(run.time, 100);
  EXPECT_EQ(run.final_accuracy, 0.5);
  ASSERT_EQ(run.curve.size(), goal.evaluations);
  EXPECT_EQ(run.curve.front(), (curve_point{10, 50, 1, 0.05}));
  EXPECT_EQ(run.curve.back(), (curve_point{100, 500, 1, 0.5}));
}

TEST(Cluster, StopsWhenConverged) {
  test_objective goal;
  goal.judge = [](std::uint64_t updates) {
    return evaluation{1, 1 - std::pow(0.5, static_cast<double>(updates) / 50)};
  };
  const run_result run = simulate({}, {.stop = stop_rule::converged, .evaluate_every = 50}, asp{}, goal);
  EXPECT_TRUE(run.reached);
  EXPECT_EQ(run.pushes, 50U * 14);  // 2^-10 - 2^-14 is below 0.001, 2^-9 - 2^-13 is not
}

TEST(Cluster, WhatDoesNotArriveCountsAsMaxTime) {
  test_objective goal;
  const run_result run = simulate({.jitter = 0}, {.max_time = 7.5}, asp{}, goal);
  EXPECT_FALSE(run.reached);
  EXPECT_EQ(run.end, run_end::out_of_time);
  EXPECT_EQ(run.time, 7.5);
  EXPECT_EQ(run.pushes, 70U);
  EXPECT_EQ(goal.evaluations, 1U) << "the final accuracy is that of the final parameters";
}

TEST(Cluster, NonFiniteGradientsAreDroppedAndCounted) {
  test_objective goal;
  goal.loss_of = [](std::uint32_t worker, std::uint64_t) { return worker == 3 ? std::nanf("") : 1.0F; };
  const run_result run = simulate({.jitter = 0}, {.max_time = 5.5}, bsp{}, goal);
  EXPECT_EQ(run.pushes, 50U);
  EXPECT_EQ(run.updates, 5U);
  EXPECT_EQ(run.gradients.dropped, 5U);
  EXPECT_EQ(run.count(reason::non_finite), 5U);
  EXPECT_EQ(run.gradients.flushed, 45U);
  EXPECT_TRUE(run.gradients.balanced());
}

TEST(Cluster, DivergedRunsAreNeverFast) {
  quadratic goal;
  run_options run{.target_accuracy = 0.99, .max_time = 777};
  run.learning_rate.base = 1e30;
  const run_result result = simulate({}, run, asp{}, goal);
  EXPECT_FALSE(result.reached);
  EXPECT_EQ(result.end, run_end::diverged);
  EXPECT_EQ(result.time, 777);
}

TEST(Cluster, SaysWhenItWasOver) {
  quadratic goal;
  run_options run{.target_accuracy = 0.99, .max_time = 777};
  run.learning_rate.base = 1e30;
  const run_result diverged = simulate({}, run, asp{}, goal);
  EXPECT_GT(diverged.ended, 0);
  EXPECT_LT(diverged.ended, 777);
  const run_result reached = simulate({}, {.stop = stop_rule::workload, .workload = 1'000}, asp{}, goal);
  EXPECT_EQ(reached.ended, reached.time);
  EXPECT_EQ(simulate({}, {.stop = stop_rule::workload, .workload = 1'000'000, .max_time = 5}, asp{}, goal).ended, 5);
}

TEST(Cluster, PolicySeesTheAverageOfTheWorkersLosses) {
  test_objective goal;
  goal.loss_of = [](std::uint32_t, std::uint64_t step) { return step == 1 ? 2.0F : 1.0F; };
  recorder log;
  static_cast<void>(simulate({.workers = 1}, so_many_pushes(3), asp{}, goal, log));
  std::vector<float> losses;
  for (const record& r : log.all)
    if (r.what == record::kind::admit) losses.push_back(r.loss);
  ASSERT_EQ(losses.size(), 3U);
  EXPECT_FLOAT_EQ(losses[0], 2);
  EXPECT_FLOAT_EQ(losses[1], 1.9F);
  EXPECT_FLOAT_EQ(losses[2], 1.81F);
}

TEST(Cluster, ProbingShowsTheServersLossAndCostsTime) {
  run_options run = so_many_pushes(8);
  run.loss = loss_source::probe;
  run.probe_time = 0.25;
  const auto losses = [&](auto policy, double time, std::uint32_t probes) {
    test_objective goal;
    recorder log;
    EXPECT_NEAR(simulate({.workers = 2, .jitter = 0}, run, policy, goal, log).time, time, 1e-12);
    EXPECT_EQ(goal.probes, probes) << "once at first and once after each update";
    std::vector<float> seen;
    for (const record& r : log.all)
      if (r.what == record::kind::admit) seen.push_back(r.loss);
    return seen;
  };
  // Both push at 1, 2, ...; under asp the second waits for the probe that follows the update of the first.
  EXPECT_EQ(losses(asp{}, 4.25, 1 + 8), (std::vector<float>{10, 11, 12, 13, 14, 15, 16, 17}));
  EXPECT_EQ(losses(bsp{}, 4, 1 + 4), (std::vector<float>{10, 10, 11, 11, 12, 12, 13, 13}));
}

TEST(Cluster, AProbeAfterADepartureKeepsTheServerBusyToo) {
  test_objective goal;
  recorder log;
  run_options run = so_many_pushes(4);
  run.loss = loss_source::probe;
  run.probe_time = 5;
  static_cast<void>(simulate({.workers = 3,
                              .step_time = {1, 1, 3},
                              .jitter = 0,
                              .failures = {{.time = 1.5, .worker = 2, .kind = failure_kind::death}}},
                             run, bsp{}, goal, log));
  std::vector<double> admitted;
  for (const record& r : log.all)
    if (r.what == record::kind::admit) admitted.push_back(r.now);
  EXPECT_EQ(admitted, (std::vector{1.0, 1.0, 6.5, 6.5})) << "the flush at 1.5 is probed until 6.5";
}

TEST(Cluster, OptionsOutOfRangeRunNothing) {
  test_objective goal;
  const run_result result = simulate({.workers = 10, .step_time = {1, 2}}, so_many_pushes(5), asp{}, goal);
  EXPECT_EQ(result.end, run_end::invalid);
  EXPECT_FALSE(result.reached);
  EXPECT_EQ(result.pushes, 0U);
}

TEST(Cluster, APolicyWhoseOptionsDoNotFitRunsNothing) {
  test_objective goal;
  EXPECT_EQ(simulate({.workers = 3}, so_many_pushes(5), k_sync{.k = 4}, goal).end, run_end::invalid);
  EXPECT_EQ(simulate({.workers = 4}, so_many_pushes(5), k_sync{.k = 4}, goal).pushes, 5U);
}

// Holds everybody and lets one go whenever its alarm rings.
struct alarm {
  [[nodiscard]] decision release(const cluster_view&, const event& what) const noexcept {
    if (what.why == cause::push) return decision::hold();
    const decision one = what.why == cause::deadline ? decision::up_to(1) : decision::hold();
    return one.with_wake_at(what.now + 2.5);
  }
};

TEST(Cluster, DeadlinesAreKeptInVirtualTime) {
  test_objective goal;
  recorder log;
  static_cast<void>(
      simulate({.workers = 3, .jitter = 0}, {.max_time = 9, .guard = {.enabled = false}}, alarm{}, goal, log));
  std::vector<double> releases;
  for (const record& r : log.all)
    if (r.what == record::kind::release) releases.push_back(r.now);
  EXPECT_EQ(releases, (std::vector<double>{2.5, 5, 7.5}));
}

// Wants to be woken at once, for ever.
struct restless {
  [[nodiscard]] decision release(const cluster_view&, const event& what) const noexcept {
    return decision::all().with_wake_at(what.now);
  }
};

TEST(Cluster, DeadlinesInThePastDoNotStopTheClock) {
  test_objective goal;
  EXPECT_EQ(simulate({.workers = 2, .jitter = 0}, {.max_time = 5}, restless{}, goal).pushes, 10U);
}

TEST(Cluster, TrainsAQuadratic) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    quadratic goal;
    run_options run{.seed = seed, .target_accuracy = 0.95, .max_time = 1'000};
    const run_result result = simulate({.cores = 4}, run, ssp{.staleness = 3}, goal);
    EXPECT_TRUE(result.reached) << seed;
    EXPECT_GE(result.final_accuracy, 0.95);
    EXPECT_TRUE(result.gradients.balanced());
  }
}

// ---- determinism

struct outcome_of_a_run {
  run_result result{};
  std::vector<record> log{};
};

template <class Policy>
[[nodiscard]] outcome_of_a_run busy_run(Policy policy, std::uint64_t seed) {
  using enum failure_kind;
  quadratic goal;
  recorder log;
  const cluster_options machines{.cores = 3,
                                 .link = {.bandwidth = 4, .latency = 0.01, .model_size = 1},
                                 .decision_time = 0.01,
                                 .stragglers = {.kind = straggler_kind::transient},
                                 .failures = {{9, 2, death}, {15, 2, join}, {20, 5, leave}}};
  run_result result = simulate(machines, {.seed = seed, .max_time = 60, .keep_curve = true}, policy, goal, log);
  return {std::move(result), std::move(log.all)};
}

[[nodiscard]] bool same(const record& a, const record& b) {
  return a.what == b.what && a.why == b.why && a.decided == b.decided && a.because == b.because &&
         a.worker == b.worker && a.now == b.now && a.clock == b.clock && a.version == b.version &&
         a.staleness == b.staleness && a.round == b.round && a.step == b.step && a.count == b.count &&
         a.value == b.value && a.loss == b.loss && a.parked == b.parked;
}

TEST(Cluster, SameSeedSameBitsInAnyThread) {
  constexpr std::uint64_t seeds = 8;
  const auto runs = [](unsigned threads) {
    std::vector<outcome_of_a_run> all(2 * seeds);
    std::atomic<std::uint64_t> next{0};
    std::vector<std::thread> pool;
    for (unsigned t = 0; t < threads; ++t)
      pool.emplace_back([&] {
        for (std::uint64_t i = next++; i < all.size(); i = next++)
          all[i] = i % 2 == 0 ? busy_run(bsp{}, i / 2) : busy_run(ssp{.staleness = 2}, i / 2);
      });
    for (std::thread& each : pool) each.join();
    return all;
  };
  const std::vector<outcome_of_a_run> one = runs(1);
  const std::vector<outcome_of_a_run> four = runs(4);
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_GT(one[i].result.pushes, 50U);
    EXPECT_TRUE(one[i].result == four[i].result) << i;
    ASSERT_EQ(one[i].log.size(), four[i].log.size());
    for (std::size_t r = 0; r < one[i].log.size(); ++r)
      ASSERT_TRUE(same(one[i].log[r], four[i].log[r])) << i << ' ' << r;
  }
  EXPECT_FALSE(one[0].result == one[2].result) << "another seed is another run";
}

TEST(Cluster, RunsThatShareTheirDrawsAreTheSameRuns) {
  normal_draws jitter{100};
  const auto alike = [&](const cluster_options& machines, auto policy, std::uint64_t seed) {
    quadratic goal;
    no_observer nobody;
    run_options run = so_many_pushes(2'000);
    run.seed = seed;
    run.learning_rate.base = 0.01;
    cluster sharing{machines, run, policy, goal, nobody, &jitter};
    while (sharing.advance()) continue;
    EXPECT_EQ(sharing.result().end, run_end::reached);
    return sharing.result() == simulate(machines, run, policy, goal);
  };
  for (const std::uint64_t seed : {1U, 2U, 1U}) {
    EXPECT_TRUE(alike({.workers = 5}, bsp{}, seed));
    EXPECT_TRUE(alike({.workers = 5}, asp{}, seed));
    EXPECT_TRUE(alike({.workers = 7, .cores = 5}, asp{}, seed));
    EXPECT_TRUE(alike({.workers = 7, .jitter = 0}, asp{}, seed));
    EXPECT_TRUE(alike({.workers = 5}, ssp{}, seed));
  }
}

TEST(Cluster, FindsWhatRunsBeforeItDrew) {
  normal_draws jitter{1'000};
  quadratic goal;
  no_observer nobody;
  run_options run = so_many_pushes(2'000);
  run.learning_rate.base = 0.01;
  cluster first{{.workers = 5}, run, asp{}, goal, nobody, &jitter};
  while (first.advance()) continue;
  cluster without{{.workers = 7, .jitter = 0}, run, asp{}, goal, nobody, &jitter};
  while (without.advance()) continue;
  const cluster second{{.workers = 5}, run, bsp{}, goal, nobody, &jitter};
  for (std::uint32_t worker = 0; worker < 5; ++worker) {
    ASSERT_GT(first.result().steps[worker], 200U);
    for (std::uint64_t step = 1; step <= 200; ++step) ASSERT_FALSE(draws_anew(jitter, worker, step)) << step;
  }
}

TEST(Cluster, WatchingChangesNothing) {
  quadratic goal;
  recorder log;
  const run_options run{.seed = 4, .max_time = 50};
  const run_result watched = simulate({.cores = 2}, run, ssp{}, goal, log);
  EXPECT_TRUE(watched == simulate({.cores = 2}, run, ssp{}, goal));
}

}  // namespace
}  // namespace rubato::sim
