#include <rubato/sim/environment.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <rubato/encode/cluster_state.hpp>
#include <rubato/encode/rlp_state.hpp>
#include <rubato/learned/q_policy.hpp>
#include <rubato/sim/quadratic.hpp>
#include <rubato/sim/sgd.hpp>

#include "../support/some_network.hpp"
#include "reference_mlp.hpp"
#include "test_objective.hpp"

namespace rubato::sim {
namespace {

using rubato::test::constant_network;
using rubato::test::random_network;
using rubato_test::synthetic_images;

struct logged_objective_base {
  std::vector<std::pair<std::uint32_t, std::uint64_t>> computed{};
};
// Which steps start, in their order.
template <class Goal>
struct logged : Goal, logged_objective_base {
  using Goal::Goal;
  gradient compute(std::uint32_t worker, std::uint64_t step, std::uint32_t batch) {
    computed.emplace_back(worker, step);
    return Goal::compute(worker, step, batch);
  }
};

// What must agree: all but the gradients under way at the end, which nobody is asked about.
void expect_same(run_result episode, run_result whole) {
  const std::uint64_t late = whole.gradients.computed - episode.gradients.computed;
  EXPECT_EQ(whole.gradients.unfinished - episode.gradients.unfinished, late);
  episode.gradients = whole.gradients = {};
  EXPECT_EQ(episode, whole);
}

struct episode_report {
  double rewards = 0;
  double first = 0;
  std::uint64_t decisions = 0;
  environment_outcome last{};
};

template <class Task>
episode_report drive(Task& task, const nn::dynamic_mlp& network, std::uint64_t seed) {
  episode_report report;
  std::span<const float> seen = task.reset(seed);
  report.first = task.now();
  std::array<float, 3> values{};
  while (!task.done()) {
    network.evaluate(seen, values);
    const group_action action = greedy(values, task.legal());
    report.last = task.step(action);
    EXPECT_EQ(report.last.executed, static_cast<std::uint32_t>(action));
    seen = report.last.observation;
    report.rewards += report.last.elapsed;
    ++report.decisions;
  }
  return report;
}

template <class Encoder = rlp_normalised_state, class Goal>
void expect_equal_runs(const cluster_options& machines, run_options run, logged<Goal>& one, logged<Goal>& other,
                       std::uint64_t networks = 4) {
  run.keep_curve = true;
  environment<logged<Goal>, Encoder> task{machines, run, one};
  std::uint64_t decisions = 0;
  for (std::uint64_t seed = 1; seed <= networks; ++seed) {
    const nn::dynamic_mlp network = random_network(seed, Encoder::dim);
    one.computed.clear();
    other.computed.clear();
    const episode_report report = drive(task, network, seed);
    run.seed = seed;
    const run_result whole = simulate(machines, run, q_policy<Encoder, nn::dynamic_mlp>{network}, other);
    EXPECT_EQ(whole.overrides, 0U);
    expect_same(task.result(), whole);
    ASSERT_LE(one.computed.size(), other.computed.size());
    EXPECT_TRUE(std::equal(one.computed.begin(), one.computed.end(), other.computed.begin())) << "the order of starts";
    EXPECT_NEAR(report.first + report.rewards, whole.time, 1e-9 * whole.time);
    decisions += report.decisions;
  }
  EXPECT_GT(decisions, 100U);
}

const run_options to_the_target{.target_accuracy = 0.9,
                                .max_time = 300,
                                .evaluate_every = 5,
                                .learning_rate = {.base = 0.1, .boundaries = {}}};

TEST(Environment, EqualsSimulateOnTheQuadratic) {
  logged<quadratic> one, other;
  expect_equal_runs({.workers = 6, .cores = 2, .stragglers = {.kind = straggler_kind::fixed, .probability = 0.3}},
                    to_the_target, one, other, 8);
}

TEST(Environment, EqualsSimulateOnSgd) {
  const synthetic_images images{400};
  const data_split parts = split(images.view(), 300, 100);
  const image_data data{parts};
  const sgd_options small{.hidden_layers = 1, .hidden_units = 16, .batch = 8, .validation_samples = 100};
  logged<sgd_objective> one{small, data}, other{small, data};
  expect_equal_runs({.workers = 5}, to_the_target, one, other);
}

TEST(Environment, EqualsSimulateWithFaults) {
  logged<quadratic> one, other;
  cluster_options machines{.workers = 5};
  machines.failures = {{4.5, 1, failure_kind::death},
                       {6.0, 2, failure_kind::leave},
                       {9.25, 1, failure_kind::join},
                       {3.0, 4, failure_kind::join}};
  run_options run = to_the_target;
  run.stop = stop_rule::workload;
  run.workload = 16 * 150;
  expect_equal_runs(machines, run, one, other);
  expect_equal_runs<cluster_state>(machines, run, one, other);  // which follows each worker's steps
}

// Steps that end at the same time, a server for which gradients queue up, and probes that keep it busy.
TEST(Environment, TiesAndBusyServers) {
  run_options run = to_the_target;
  run.stop = stop_rule::workload;
  run.workload = 16 * 150;
  for (const double service : {0.0, 0.25})
    for (const double probe : {0.0, 1.0})
      for (const double bandwidth : {0.0, 2.0}) {
        SCOPED_TRACE(testing::Message() << service << ' ' << probe << ' ' << bandwidth);
        logged<quadratic> one, other;
        run.loss = probe > 0 ? loss_source::probe : loss_source::worker_ema;
        run.probe_time = probe;
        cluster_options machines{.workers = 4, .jitter = 0, .decision_time = service};
        machines.link = {.bandwidth = bandwidth, .latency = 0, .model_size = 1};
        machines.failures = {{5.0, 1, failure_kind::leave}, {7.0, 1, failure_kind::join}};
        expect_equal_runs(machines, run, one, other, 3);
      }
}

TEST(Environment, RewardsAddUpToTheTime) {
  quadratic goal;
  environment<quadratic, rlp_normalised_state> task{{.workers = 4}, to_the_target, goal};
  const episode_report report = drive(task, constant_network({0, 1, 0}), 3);
  EXPECT_TRUE(task.result().reached);
  EXPECT_TRUE(report.last.terminated);
  EXPECT_FALSE(report.last.truncated);
  EXPECT_NEAR(report.first + report.rewards, task.result().time, 1e-9);
  EXPECT_EQ(report.last.reward, static_cast<float>(-report.last.elapsed));
  EXPECT_EQ(report.decisions + 1, task.result().pushes) << "nobody is asked at the last push";
}

TEST(Environment, EpisodesDoNotDependOnEachOther) {
  quadratic goal, fresh_goal;
  environment<quadratic, rlp_normalised_state> task{{.workers = 4}, to_the_target, goal};
  const nn::dynamic_mlp network = random_network(2);
  static_cast<void>(drive(task, random_network(1), 5));
  static_cast<void>(task.reset(6));
  static_cast<void>(task.step(group_action::submitter));  // and left there
  static_cast<void>(drive(task, network, 7));
  environment<quadratic, rlp_normalised_state> fresh{{.workers = 4}, to_the_target, fresh_goal};
  static_cast<void>(drive(fresh, network, 7));
  EXPECT_EQ(task.result(), fresh.result());
  environment<quadratic, rlp_normalised_state> moved{std::move(fresh)};
  static_cast<void>(drive(moved, network, 7));
  EXPECT_EQ(task.result(), moved.result());
}

TEST(Environment, IllegalActionsAreReplaced) {
  quadratic goal;
  environment<quadratic, rlp_state> task{{.workers = 1}, to_the_target, goal};
  static_cast<void>(task.reset(1));
  EXPECT_EQ(task.legal(), bit_of(group_action::submitter));
  for (const std::uint32_t action : {0U, 2U, 77U}) {
    const auto next = task.step(action);
    EXPECT_EQ(next.executed, 1U);
    EXPECT_GT(next.elapsed, 0.0);
  }
  environment<quadratic, rlp_state> two{{.workers = 2}, to_the_target, goal};
  static_cast<void>(two.reset(1));
  EXPECT_EQ(two.step(group_action::hold).executed, 0U);
  EXPECT_EQ(two.legal(), bit_of(group_action::submitter) | bit_of(group_action::all));
  EXPECT_EQ(two.step(group_action::hold).executed, 1U) << "nobody would run";
}

TEST(Environment, ObservationIsThatOfThePush) {
  test::test_objective goal;
  goal.loss_of = [](std::uint32_t worker, std::uint64_t) { return 2.0F + static_cast<float>(worker); };
  run_options run = to_the_target;
  run.loss = loss_source::worker_ema;
  environment<test::test_objective, rlp_state> task{{.workers = 2, .step_time = {1, 1.5}, .jitter = 0}, run, goal};
  const std::span<const float> first = task.reset(1);
  EXPECT_EQ(std::vector<float>(first.begin(), first.begin() + 4), (std::vector<float>{1, 2, 0, 0}));
  EXPECT_EQ(task.now(), 1.0);
  const auto next = task.step(group_action::submitter);
  EXPECT_EQ(next.elapsed, 0.5);
  EXPECT_FLOAT_EQ(next.observation[0], 2.0F);
  EXPECT_FLOAT_EQ(next.observation[1], 2.0F);
  EXPECT_NEAR(next.observation[2], 0.1F, 1e-6F) << "smoothed by the cluster";
  EXPECT_FLOAT_EQ(next.observation[3], 1.0F);
  EXPECT_FLOAT_EQ(next.observation[4], 1.0F) << "the push before";
}

TEST(Environment, EndsAtMaxTime) {
  test::no_objective goal;
  run_options run = to_the_target;
  run.max_time = 20.5;
  environment<test::no_objective, rlp_state> task{{.workers = 3, .jitter = 0}, run, goal};
  static_cast<void>(task.reset(1));
  environment_outcome last{};
  double total = task.now();
  while (!task.done()) total += (last = task.step(group_action::submitter)).elapsed;
  EXPECT_TRUE(last.terminated);
  EXPECT_FALSE(last.truncated);
  EXPECT_EQ(last.end, run_end::out_of_time);
  EXPECT_DOUBLE_EQ(total, 20.5);
}

TEST(Environment, DivergenceCountsAsMaxTime) {
  test::test_objective goal;
  goal.judge = [](std::uint64_t updates) {
    return evaluation{updates < 30 ? 1.0 : std::numeric_limits<double>::quiet_NaN(), 0};
  };
  run_options run = to_the_target;
  run.max_time = 100;
  environment<test::test_objective, rlp_state> task{{.workers = 3}, run, goal};
  static_cast<void>(task.reset(1));
  environment_outcome last{};
  double total = task.now();
  while (!task.done()) total += (last = task.step(group_action::submitter)).elapsed;
  EXPECT_EQ(last.end, run_end::diverged);
  EXPECT_TRUE(last.terminated);
  EXPECT_LT(task.now(), 50.0);
  EXPECT_DOUBLE_EQ(total, 100.0);
  EXPECT_EQ(goal.misuses, 0U);
}

// All workers go before any has pushed.
TEST(Environment, MayEndBeforeAnyDecision) {
  quadratic goal;
  cluster_options machines{.workers = 1};
  machines.failures = {{0.5, 0, failure_kind::death}};
  environment<quadratic, rlp_state> task{machines, to_the_target, goal};
  static_cast<void>(task.reset(1));
  EXPECT_TRUE(task.done());
  EXPECT_EQ(task.result().end, run_end::stalled);
  const auto only = task.step(group_action::submitter);
  EXPECT_TRUE(only.terminated);
  EXPECT_EQ(only.elapsed, to_the_target.max_time);
  EXPECT_EQ(only.end, run_end::stalled);
}

}  // namespace
}  // namespace rubato::sim
