#include "../../examples/lab/latency_model.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace {

using namespace rubato::lab;

TEST(LatencyModel, FitsTheLogs) {
  const latency_model model = fit_latency();
  for (const logged_latency& each : logged_latencies)
    EXPECT_NEAR(model.excess(each.delay, each.workers) / logged_excess(each), 1, 0.085) << each.delay << each.workers;
  EXPECT_EQ(model.excess(10, 0), 0);
}

TEST(LatencyModel, ComesThroughWhatFollowsTheLaw) {
  auto exact = logged_latencies;
  for (logged_latency& each : exact)
    each.synchronous = logged_without_latency.synchronous * (1 + 0.1 * std::pow(each.delay / 10 * each.workers, 1.5));
  const latency_model model = fit_latency(exact);
  EXPECT_NEAR(model.scale, 0.1, 1e-12);
  EXPECT_NEAR(model.exponent, 1.5, 1e-12);
}

}  // namespace
