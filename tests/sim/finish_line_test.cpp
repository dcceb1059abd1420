#include <rubato/sim/finish_line.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace rubato::sim {
namespace {

// Pushes from an evaluation to the next one.
[[nodiscard]] std::uint64_t pause_after(finish_line& line, double accuracy, std::uint64_t pushes = 1'000) {
  EXPECT_EQ(line.judge({1, accuracy}, pushes), run_end::unfinished);
  std::uint64_t next = pushes;
  while (!line.due(next)) ++next;
  return next - pushes;
}

TEST(FinishLine, EvaluatesMoreOftenNearTheTarget) {
  finish_line line{{.target_accuracy = 0.88, .evaluate_every = 20}};
  EXPECT_FALSE(line.due(99));
  EXPECT_TRUE(line.due(100));
  EXPECT_EQ(pause_after(line, 0.5), 100U);
  EXPECT_EQ(pause_after(line, 0.80), 40U);
  EXPECT_EQ(pause_after(line, 0.86), 20U);
}

TEST(FinishLine, TargetIsReachedByAnEvaluation) {
  finish_line line{{.target_accuracy = 0.88}};
  EXPECT_EQ(line.judge({1, 0.87}, 100), run_end::unfinished);
  EXPECT_EQ(line.judge({1, 0.88}, 120), run_end::reached);
}

TEST(FinishLine, WorkloadIsPassedBySamples) {
  finish_line line{{.stop = stop_rule::workload, .workload = 160}};
  EXPECT_FALSE(line.passed(159));
  EXPECT_TRUE(line.passed(160));
  EXPECT_EQ(line.judge({1, 1.0}, 20), run_end::unfinished);
  EXPECT_FALSE(finish_line{{.workload = 160}}.passed(1'000));
}

TEST(FinishLine, ConvergedAfterFiveLikeEvaluations) {
  finish_line line{{.stop = stop_rule::converged, .evaluate_every = 50}};
  EXPECT_TRUE(line.due(50));
  for (const double accuracy : {0.9, 0.95, 0.9505, 0.951, 0.9501}) EXPECT_EQ(pause_after(line, accuracy), 50U);
  EXPECT_EQ(line.judge({1, 0.9502}, 300), run_end::reached);
}

TEST(FinishLine, WhatIsNotFiniteHasDiverged) {
  for (const stop_rule stop : {stop_rule::target, stop_rule::workload, stop_rule::converged}) {
    finish_line line{{.stop = stop, .workload = 1}};
    EXPECT_EQ(line.judge({std::nan(""), 0.99}, 100), run_end::diverged);
    EXPECT_EQ(line.judge({1e60, 0.99}, 100), run_end::diverged)
        << "no float holds it, so all gradients would be dropped";
    EXPECT_EQ(line.judge({std::numeric_limits<double>::infinity(), 0.99}, 100), run_end::diverged);
  }
}

}  // namespace
}  // namespace rubato::sim
