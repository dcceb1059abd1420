#include "../../examples/lab/switch_cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "../../examples/support/scenario_files.hpp"
#include "../../examples/support/user_error.hpp"
#include "source_directory.hpp"
#include "temporary_directory.hpp"

namespace {

using namespace rubato::lab;
using rubato::support::user_error;

rubato::support::scenario shipped_job() {
  return rubato::support::find_scenario("sync-switch", rubato::test::source_directory / "examples/lab/scenarios");
}

TEST(SwitchCases, EachPartHasCases) {
  const std::vector<std::size_t> sizes{10, 11, 6, 8, 11, 4, 3};
  ASSERT_EQ(switch_parts().size(), sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto all = cases_of(switch_parts()[i].name, shipped_job());
    EXPECT_EQ(all.size(), sizes[i]) << switch_parts()[i].name;
    for (const switch_case& each : all) {
      ASSERT_LT(each.baseline, all.size());
      EXPECT_EQ(all[each.baseline].baseline, each.baseline) << each.name;
      EXPECT_EQ(problem(each.at.scenario.cluster), "") << each.name;
      EXPECT_EQ(problem_of(each.policy, each.at.scenario.cluster.workers), "") << each.name;
    }
  }
}

TEST(SwitchCases, SharesAreWhatThePolicyDoes) {
  const auto all = cases_of("share", shipped_job());
  EXPECT_EQ(all.front().policy.kind(), "bsp");
  EXPECT_EQ(all.back().policy.kind(), "asp");
  const auto small = std::ranges::find(all, "6.25 %", &switch_case::name);
  ASSERT_NE(small, all.end());
  EXPECT_NE(small->policy.describe().json.find(R"("share":0.0625,"workload":16000)"), std::string::npos)
      << small->policy.describe().json;
}

// Without stragglers 125 rounds of 5.266 s.
TEST(SwitchCases, AnOccurrenceIsWithinTheShare) {
  const double lasts = 125 * 5.266;
  for (const switch_case& each : cases_of("stragglers", shipped_job())) {
    const auto& episodes = each.at.scenario.cluster.stragglers.episodes;
    const bool mild = each.name.starts_with("mild"), moderate = each.name.starts_with("moderate");
    EXPECT_EQ(episodes.size(), mild ? 1u : moderate ? 8u : 0u) << each.name;
    for (const auto& one : episodes) {
      EXPECT_GT(one.from, 0);
      EXPECT_LT(one.until, lasts);
      EXPECT_NEAR(one.until - one.from, 100, 2);
      EXPECT_NEAR(one.sleep / 5.266, mild ? 0.06 : 1.71, mild ? 0.01 : 0.2);
    }
  }
}

TEST(SwitchCases, TwiceAsManyWorkersHaveTheirStepTimes) {
  rubato::support::scenario uneven = shipped_job();
  uneven.cluster.workers = 4;
  uneven.cluster.step_time = {1, 2, 3, 4};
  for (const switch_case& each : cases_of("cluster", uneven)) {
    EXPECT_EQ(each.at.scenario.cluster.step_time, (std::vector<double>{1, 2, 3, 4, 1, 2, 3, 4}));
    EXPECT_EQ(problem(each.at.scenario.cluster), "") << each.name;
  }
}

TEST(SwitchCases, RefusesOtherScenarios) {
  rubato::support::scenario other = shipped_job();
  other.run.stop = rubato::sim::stop_rule::target;
  EXPECT_EQ(rubato::test::message_of<user_error>([&] { return cases_of("share", other); }),
            "--scenario: found another stop rule, expected stop = workload");
  other = shipped_job();
  other.cluster.workers = 3;
  EXPECT_EQ(rubato::test::message_of<user_error>([&] { return cases_of("share", other); }),
            "--scenario: found 3 workers, expected at least 4");
  other = shipped_job();
  other.run.workload = 127;
  EXPECT_EQ(rubato::test::message_of<user_error>([&] { return cases_of("share", other); }),
            "--scenario: found objective.workload = 127, expected at least 128: a batch of each worker");
}

}  // namespace
