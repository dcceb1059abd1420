#include "../../examples/lab/accuracy_curve.hpp"

#include <gtest/gtest.h>

#include "../../examples/lab/summary.hpp"
#include "lab_bench.hpp"

namespace {

using namespace rubato::lab;
using rubato::test::lab_bench;
using rubato::test::quick;

TEST(AccuracyCurve, EndsAtTheTimeOfTheTable) {
  lab_bench bench;
  const comparison made = bench.compare(quick("bsp:mean,asp", 4));
  const auto table = summarise(made);
  for (std::size_t i = 0; i < made.rows.size(); ++i) {
    const auto curve = accuracy_curve(made, made.rows[i]);
    ASSERT_EQ(curve.size(), 21u);
    EXPECT_DOUBLE_EQ(curve.front().share, 0.5);
    EXPECT_DOUBLE_EQ(curve.back().share, 1);
    EXPECT_EQ(curve.back().time.value, table.rows[i].time.value);
    EXPECT_EQ(curve.back().time.low, table.rows[i].time.low);
    EXPECT_EQ(curve.back().time.high, table.rows[i].time.high);
    for (std::size_t k = 1; k < curve.size(); ++k) EXPECT_GE(curve[k].time.value, curve[k - 1].time.value) << k;
  }
}

TEST(AccuracyCurve, WhoMissesALevelCountsAsMaxTime) {
  comparison made{};
  made.asked.scenario.run.max_time = 100;
  made.targets[0] = 0.8;
  made.hidden_layers = {0, 0, 0};
  comparison_row row{"asp", parse_policy("asp"), 0.1, std::vector<std::optional<measurement>>(3)};
  measurement there;
  there.time = 9, there.reached = true;
  there.climb_to(3, 0.5);
  there.climb_to(5, 0.4);  // worse than before: no climb
  there.climb_to(9, 0.81);
  measurement short_of_it;
  short_of_it.time = 100;
  short_of_it.climb_to(4, 0.7);
  row.runs[0] = there;
  row.runs[1] = short_of_it;  // and the third is missing
  ASSERT_EQ(there.climb.size(), 2u);
  const auto curve = accuracy_curve(made, row);
  EXPECT_DOUBLE_EQ(curve.front().time.value, 3.5);
  EXPECT_EQ(curve.front().reached, 2u);
  EXPECT_DOUBLE_EQ(curve.back().time.value, (9.0 + 100) / 2);
  EXPECT_EQ(curve.back().reached, 1u);
}

TEST(AccuracyCurve, ThereIsNoneWithoutATarget) {
  lab_bench bench;
  const comparison made = bench.compare(quick("asp", 2, {"stop=workload", "objective.workload=3200"}));
  EXPECT_TRUE(accuracy_curve(made, made.rows.front()).empty());
}

}  // namespace
