#include <rubato/adapt/growth/scheduler.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

using namespace rubato::adapt;

namespace scheduler_test {
namespace {

using test_clock = std::function<double()>;
using scheduler = scripted_scheduler<test_clock>;
static_assert(JobScheduler<scheduler>);

TEST(Scheduler, ChangesAreToldOnce) {
  double now = 0;
  auto cluster = scheduler::make(400, {{70, allocation::up}, {90, allocation::down}}, [&now] { return now; });
  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->change(), allocation::same);
  now = 70;
  EXPECT_EQ(cluster->change(), allocation::up);
  EXPECT_EQ(cluster->change(), allocation::same);
  now = 95;
  EXPECT_EQ(cluster->change(), allocation::down);
  now = 1000;
  EXPECT_EQ(cluster->change(), allocation::same);
}

TEST(Scheduler, ChangesThatWereMissedComeOneByOne) {
  double now = 0;
  auto cluster =
      scheduler::make(400, {{1, allocation::up}, {2, allocation::down}, {2, allocation::up}}, [&now] { return now; });
  ASSERT_TRUE(cluster);
  now = 3;
  EXPECT_EQ(cluster->change(), allocation::up);
  EXPECT_EQ(cluster->change(), allocation::down);
  EXPECT_EQ(cluster->change(), allocation::up);
  EXPECT_EQ(cluster->change(), allocation::same);
}

TEST(Scheduler, TimeLeftEndsAtZero) {
  double now = 70;  // a simulation may begin later
  auto cluster = scheduler::make(400, {}, [&now] { return now; });
  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->time_budget(), 400);
  EXPECT_EQ(cluster->time_left(), 330);
  now = 401;
  EXPECT_EQ(cluster->time_left(), 0);
}

TEST(Scheduler, RefusesImpossibleScripts) {
  const auto refusal = [](double budget, std::vector<scheduled_change> script) {
    const auto made = scheduler::make(budget, std::move(script), [] { return 0.0; });
    return made ? "none" : made.error().message;
  };
  constexpr double never = std::numeric_limits<double>::infinity();
  EXPECT_EQ(refusal(0, {}), "scripted_scheduler: budget is 0, expected a number above 0");
  EXPECT_EQ(refusal(never, {}), "scripted_scheduler: budget is inf, expected a number above 0");
  EXPECT_EQ(refusal(9, {{3, allocation::up}, {2, allocation::up}}),
            "scripted_scheduler: change 1: found time 2, expected 3 or later");
  EXPECT_EQ(refusal(9, {{-1, allocation::up}}), "scripted_scheduler: change 0: found time -1, expected 0 or later");
  EXPECT_EQ(refusal(9, {{never, allocation::up}}), "scripted_scheduler: change 0: found time inf, expected 0 or later");
  EXPECT_EQ(refusal(9, {{1, allocation::same}}),
            "scripted_scheduler: change 0: found \"same\", expected \"up\" or \"down\"");
}

}  // namespace
}  // namespace scheduler_test
