#ifndef RUBATO_TESTS_SUPPORT_RANDOM_SCHEDULE_HPP
#define RUBATO_TESTS_SUPPORT_RANDOM_SCHEDULE_HPP

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>

#include "random_host.hpp"
#include "scaled.hpp"

namespace rubato::test {

/// Runs many schedules under one policy, and stops at the first problem. on_start sees every step that starts.
inline schedule_report for_random_schedules(schedule_options o, const any_policy& policy,
                                            const std::function<void(const start&)>& on_start = {}) {
  schedule_report total;
  const std::uint64_t first = o.seed;
  const std::uint32_t schedules = scaled(o.schedules);
  for (std::uint32_t n = 0; n < schedules; ++n) {
    o.seed = first * 1'000'003 + n;
    const schedule_report one = random_host{o, policy, on_start}.run();
    total.calls += one.calls;
    total.starts += one.starts;
    total.gradients += one.gradients;
    total.overrides += one.overrides;
    total.log = (total.log ^ one.log) * 1099511628211U;
    EXPECT_EQ(one.problem, "");
    if (!one.problem.empty() || ::testing::Test::HasFatalFailure()) break;
  }
  return total;
}

}  // namespace rubato::test

#endif
