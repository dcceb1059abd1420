#ifndef RUBATO_TESTS_SUPPORT_RANDOM_SCHEDULE_HPP
#define RUBATO_TESTS_SUPPORT_RANDOM_SCHEDULE_HPP

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>

#include "random_host.hpp"

namespace rubato::test {

/// How many times more schedules than usual, from the environment.
[[nodiscard]] inline std::uint32_t test_scale() {
  const char* scale = std::getenv("RUBATO_TEST_SCALE");
  return scale == nullptr ? 1U : std::max(1U, static_cast<std::uint32_t>(std::strtoul(scale, nullptr, 10)));
}

/// Runs many schedules under one policy, and stops at the first problem. on_start sees every step that starts.
inline schedule_report for_random_schedules(schedule_options o, const any_policy& policy,
                                            const std::function<void(const start&)>& on_start = {}) {
  schedule_report total;
  const std::uint64_t first = o.seed;
  for (std::uint32_t n = 0; n < o.schedules * test_scale(); ++n) {
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
