#include <rubato/sim/options.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace rubato::sim {
namespace {

TEST(ClusterOptions, DefaultsAreFine) {
  EXPECT_EQ(problem(cluster_options{}), "");
  EXPECT_EQ(problem(run_options{}), "");
}

TEST(ClusterOptions, ProblemNamesFieldValueAndExpectation) {
  EXPECT_EQ(problem(cluster_options{.workers = 0}), "workers is 0, expected 1 to 1000000");
  EXPECT_EQ(problem(cluster_options{.workers = 3, .step_time = {1, 2}}),
            "step_time has 2 values, expected 1 or one for each of the 3 workers");
  EXPECT_EQ(problem(cluster_options{.workers = 2, .step_time = {1, 0}}),
            "step_time[1] is 0, expected a finite number of at least 1e-6");
  EXPECT_EQ(problem(cluster_options{.fixed_share = 1.5}), "fixed_share is 1.5, expected 0 to 1");
  EXPECT_EQ(problem(cluster_options{.jitter = -0.5}), "jitter is -0.5, expected 0 to 1");
  EXPECT_EQ(problem(cluster_options{.link = {.congestion = {.share = 0}}}),
            "link.congestion.share is 0, expected 0.001 to 1");
  EXPECT_EQ(problem(cluster_options{.link = {.congestion = {.length = 0}}}),
            "link.congestion.length is 0, expected a finite number of at least 1e-6");
  EXPECT_EQ(problem(cluster_options{.link = {.congestion = {.gap = -1}}}),
            "link.congestion.gap is -1, expected a finite number of at least 1e-6");
  EXPECT_EQ(problem(cluster_options{.stragglers = {.slowdown = 0.5}}),
            "stragglers.slowdown is 0.5, expected 1 to 1000");
  EXPECT_EQ(problem(cluster_options{.link = {.bandwidth = -1}}),
            "link.bandwidth is -1, expected a finite number of 0 or more");
  EXPECT_EQ(problem(cluster_options{.link = {.latency = 2}}),
            "link.latency is 2, expected 0 where link.bandwidth is 0");
  EXPECT_EQ(problem(cluster_options{.link = {.model_size = -2}}),
            "link.model_size is -2, expected a finite number of 0 or more");
  EXPECT_EQ(problem(cluster_options{.decision_time = -1e-9}),
            "decision_time is -1e-09, expected a finite number of 0 or more");
  EXPECT_EQ(problem(cluster_options{.apply_time = std::numeric_limits<double>::infinity()}),
            "apply_time is inf, expected a finite number of 0 or more");
  EXPECT_EQ(problem(cluster_options{.round_time = -1}), "round_time is -1, expected a finite number of 0 or more");
  EXPECT_EQ(problem(cluster_options{.stragglers = {.probability = -1}}),
            "stragglers.probability is -1, expected 0 to 1");
}

TEST(ClusterOptions, EpisodesAreOfWorkersAndEnd) {
  const auto with = [](const straggler_episode& each) {
    return problem(cluster_options{.stragglers = {.episodes = {{0, 1, 2, 3}, each}}});
  };
  EXPECT_EQ(with({9, 0, 1e-9, 0}), "");
  EXPECT_EQ(with({10, 0, 1, 1}), "stragglers.episodes[1].worker is 10, expected less than the number of workers");
  EXPECT_EQ(with({1, -1, 1, 1}), "stragglers.episodes[1].from is -1, expected a finite number of 0 or more");
  EXPECT_EQ(with({1, 2, 2, 1}), "stragglers.episodes[1].until is 2, expected a finite number above its `from`");
  EXPECT_EQ(with({1, 1, 2, -1}), "stragglers.episodes[1].sleep is -1, expected a finite number of 0 or more");
}

TEST(ClusterOptions, WorkersGoAndComeInTurn) {
  using enum failure_kind;
  EXPECT_EQ(problem(cluster_options{.failures = {{3, 1, join}, {1, 1, death}, {2, 0, join}}}), "");
  EXPECT_EQ(problem(cluster_options{.failures = {{1, 10, death}}}),
            "failures[0].worker is 10, expected less than the number of workers");
  EXPECT_EQ(problem(cluster_options{.failures = {{-1, 1, death}}}),
            "failures[0].time is -1, expected a finite number of 0 or more");
  EXPECT_EQ(problem(cluster_options{.failures = {{2, 1, leave}, {1, 1, death}}}),
            "failures[0] has worker 1 go while absent, expected it to go and to join in turn");
  EXPECT_EQ(problem(cluster_options{.failures = {{1, 1, join}, {2, 1, join}}}),
            "failures[1] has worker 1 join while present, expected it to go and to join in turn");
}

TEST(RunOptions, ProblemNamesFieldValueAndExpectation) {
  EXPECT_EQ(problem(run_options{.target_accuracy = 88}),
            "target_accuracy is 88, expected a share above 0 and at most 1");
  EXPECT_EQ(problem(run_options{.stop = stop_rule::workload}), "workload is 0, expected a number of samples above 0");
  EXPECT_EQ(problem(run_options{.max_time = 0}), "max_time is 0, expected a finite number of at least 1e-6");
  EXPECT_EQ(problem(run_options{.evaluate_every = 0}), "evaluate_every is 0, expected a number of pushes above 0");
  EXPECT_EQ(problem(run_options{.batch = 65'536}), "batch is 65536, expected 1 to 65535 samples");
  EXPECT_EQ(problem(run_options{.guard = {.max_wait = -1}}), "guard.max_wait is -1, expected a time of 0 or more");
  EXPECT_EQ(problem(run_options{.guard = {.max_lr_scale = 0}}), "guard.max_lr_scale is 0, expected a factor above 0");
  EXPECT_EQ(problem(run_options{.batch = 0}), "batch is 0, expected 1 to 65535 samples");
  EXPECT_EQ(problem(run_options{.probe_time = -1}), "probe_time is -1, expected a finite number of 0 or more");
  EXPECT_EQ(problem(run_options{.learning_rate = {.base = 0, .boundaries = {}}}),
            "learning_rate.base: expected a positive number");
}

}  // namespace
}  // namespace rubato::sim
