#include <rubato/encode/mean_metrics.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace {

using namespace rubato;

constexpr float infinity = std::numeric_limits<float>::infinity();

TEST(MeanMetrics, OverTheStepsThatHaveIt) {
  mean_metrics of;
  EXPECT_TRUE(std::isnan(of.mean().compute_time));
  of.add({.compute_time = 3, .processor = 0.5F});
  of.add({.compute_time = 2, .accuracy = 1, .out_of_memory = 900});
  of.add({.compute_time = 4, .gradient_square = -1e20F});
  const step_metrics all = of.mean();
  EXPECT_EQ(all.compute_time, 3);
  EXPECT_EQ(all.processor, 0.5F) << "of one step";
  EXPECT_EQ(all.accuracy, 1);
  EXPECT_EQ(all.gradient_square, -1e20F);
  EXPECT_EQ(all.out_of_memory, 900U) << "whenever that was";
  EXPECT_TRUE(std::isnan(all.memory));
}

TEST(MeanMetrics, AbsurdIsNotMeasured) {
  mean_metrics of;
  of.add({.compute_time = -1,
          .communication_time = infinity,
          .throughput = 1.5F,
          .retransmissions = -infinity,
          .processor = -0.5F,
          .memory = 2,
          .accuracy = 1.01F,
          .gradient_variance = -1,
          .gradient_square = 1e31F});
  const step_metrics all = of.mean();
  for (const float each : {all.compute_time, all.communication_time, all.throughput, all.retransmissions, all.processor,
                           all.memory, all.accuracy, all.gradient_variance, all.gradient_square})
    EXPECT_TRUE(std::isnan(each));
  EXPECT_EQ(of.absurd(), 9U);
}

TEST(MeanMetrics, MissingIsNotAbsurd) {
  mean_metrics of;
  of.add({});
  of.add({.throughput = 0, .processor = 1, .gradient_square = -1});
  EXPECT_EQ(of.absurd(), 0U);
}

TEST(MeanMetrics, DeviationOfTheAccuracy) {
  mean_metrics of;
  EXPECT_TRUE(std::isnan(of.accuracy_deviation()));
  of.add({.accuracy = 0.5F});
  EXPECT_EQ(of.accuracy_deviation(), 0);
  of.add({.accuracy = 1});
  EXPECT_FLOAT_EQ(of.accuracy_deviation(), 0.25F);
}

TEST(MeanMetrics, ClearingKeepsTheCountOfTheAbsurd) {
  mean_metrics of;
  of.add({.compute_time = 3, .memory = 7, .out_of_memory = 5});
  of.clear();
  EXPECT_TRUE(std::isnan(of.mean().compute_time));
  EXPECT_EQ(of.mean().out_of_memory, 0U);
  EXPECT_EQ(of.absurd(), 1U);
}

TEST(MeanMetrics, SavesWhatItKnows) {
  mean_metrics of;
  of.add({.compute_time = 3, .memory = 7, .accuracy = 0.5F, .out_of_memory = 5});
  of.add({.compute_time = 4, .accuracy = 1});
  archive saved;
  of.state(saved);
  mean_metrics other;
  archive bytes{saved.bytes()};
  other.state(bytes);
  EXPECT_TRUE(bytes.finished());
  EXPECT_EQ(other.mean().compute_time, 3.5F);
  EXPECT_EQ(other.mean().out_of_memory, 5U);
  EXPECT_EQ(other.accuracy_deviation(), of.accuracy_deviation());
  EXPECT_EQ(other.absurd(), 1U);
}

}  // namespace
