#include "../../examples/lab/shared_service.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "logged_run.hpp"

namespace {

using namespace rubato::lab;
constexpr double never = std::numeric_limits<double>::infinity();

TEST(SharedService, AloneEverybodyHasACore) {
  const std::vector<computation> two{{0, 2, never}, {1, 4, never}};
  const shared_service own{two, never};
  EXPECT_DOUBLE_EQ(own.until(4) - own.until(1), 3);
  EXPECT_DOUBLE_EQ(own.rate_before(2), 1);
}

TEST(SharedService, CoresAreSharedInEqualParts) {
  const std::vector<computation> three{{0, 6, never}, {0, 3, never}, {2, 6, never}};
  const shared_service one{three, 1};
  EXPECT_DOUBLE_EQ(one.until(2), 1);            // two there
  EXPECT_DOUBLE_EQ(one.until(3), 1 + 1.0 / 3);  // three
  EXPECT_DOUBLE_EQ(one.until(6), 1 + 1.0 / 3 + 1.5);
  EXPECT_DOUBLE_EQ(one.rate_before(2), 0.5);
  EXPECT_DOUBLE_EQ(one.rate_before(3), 1.0 / 3);
  EXPECT_DOUBLE_EQ(one.when(1), 2);
  EXPECT_DOUBLE_EQ(one.when(0.25), 0.5);
}

TEST(SharedService, WorkThatIsDoneFreesItsPart) {
  const std::vector<computation> two{{0, 10, 1}, {0, 10, never}};
  const shared_service one{two, 1};
  EXPECT_DOUBLE_EQ(one.until(2), 1);   // the first is over then
  EXPECT_DOUBLE_EQ(one.until(10), 9);  // and the other has all of it
}

// Without stragglers what each step has had is what it was drawn to be.
TEST(SharedService, IsWhatTheSimulatorDoes) {
  const auto history =
      rubato::test::log_of({.workers = 6, .cores = 2, .step_time = {1, 2, 3, 4, 5, 6}, .jitter = 0}, "ssp:2", 300);
  std::vector<computation> all;
  for (const logged_step& each : history.steps) all.push_back({each.start, each.end, never});
  for (const unfinished_step& each : history.unfinished) all.push_back({each.start, each.end, never});
  const shared_service service{all, 2};
  for (const logged_step& each : history.steps)
    ASSERT_NEAR(service.until(each.end) - service.until(each.start), each.worker + 1, 1e-8);
}

}  // namespace
