#include <rubato/core/step_metrics.hpp>

#include <gtest/gtest.h>

#include <cmath>

namespace rubato {
namespace {

TEST(StepMetrics, NothingIsMeasuredUnlessItIsSaid) {
  const step_metrics none;
  for (const float each : {none.compute_time, none.communication_time, none.throughput, none.retransmissions,
                           none.processor, none.memory, none.accuracy, none.gradient_variance, none.gradient_square})
    EXPECT_TRUE(std::isnan(each));
  EXPECT_EQ(none.out_of_memory, 0U) << "no batch was too large";
}

}  // namespace
}  // namespace rubato
