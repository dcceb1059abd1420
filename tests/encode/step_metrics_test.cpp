#include <rubato/encode/step_metrics.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace {

using namespace rubato;

constexpr float infinity = std::numeric_limits<float>::infinity();

TEST(StepMetrics, LatestIsKept) {
  metrics_board board{2};
  EXPECT_TRUE(std::isnan(board[1].compute_time));
  board.measured({1, 0}, {.compute_time = 3, .processor = 0.5F});
  board.measured({1, 4}, {.compute_time = 2, .accuracy = 1});
  EXPECT_EQ(board[1].compute_time, 2);
  EXPECT_EQ(board[1].accuracy, 1);
  EXPECT_TRUE(std::isnan(board[1].processor)) << "of an earlier step";
  EXPECT_TRUE(std::isnan(board[0].compute_time)) << "another worker's";
}

TEST(StepMetrics, AbsurdIsNotMeasured) {
  metrics_board board{1};
  board.measured({0, 0}, {.compute_time = -1,
                          .communication_time = infinity,
                          .throughput = 1.5F,
                          .retransmissions = -infinity,
                          .processor = -0.1F,
                          .memory = 2,
                          .accuracy = 1.01F,
                          .gradient_variance = -1,
                          .gradient_square = infinity});
  const step_metrics& kept = board[0];
  for (const float metric : {kept.compute_time, kept.communication_time, kept.throughput, kept.retransmissions,
                             kept.processor, kept.memory, kept.accuracy, kept.gradient_variance, kept.gradient_square})
    EXPECT_TRUE(std::isnan(metric));
  EXPECT_EQ(board.absurd(), 9u);
  board.measured({0, 0}, {.compute_time = 1, .memory = 7, .gradient_square = -2});
  EXPECT_EQ(board[0].compute_time, 1) << "the others are kept";
  EXPECT_EQ(board[0].gradient_square, -2) << "an estimate without bias may be negative";
  EXPECT_EQ(board.absurd(), 10u);
}

TEST(StepMetrics, MissingIsNotAbsurd) {
  metrics_board board{1};
  board.measured({0, 0}, {});
  EXPECT_TRUE(std::isnan(board[0].compute_time));
  EXPECT_EQ(board.absurd(), 0u);
}

TEST(StepMetrics, StrangersAreIgnored) {
  metrics_board board{1};
  board.measured({1, 0}, {.compute_time = -1});
  board.measured({no_worker, 0}, {.compute_time = 1});
  EXPECT_EQ(board.absurd(), 0u);
  metrics_board{}.measured({0, 0}, {.compute_time = 1});
}

TEST(StepMetrics, ForgetsAWorker) {
  metrics_board board{2};
  board.measured({0, 0}, {.compute_time = 1});
  board.measured({1, 0}, {.compute_time = 2});
  board.forget(0);
  EXPECT_TRUE(std::isnan(board[0].compute_time));
  EXPECT_EQ(board[1].compute_time, 2);
}

}  // namespace
