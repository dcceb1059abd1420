#include "../../examples/lab/clairvoyant.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "../../examples/lab/report.hpp"
#include "../../examples/lab/summary.hpp"
#include "lab_bench.hpp"
#include "support/user_error.hpp"

namespace {

using namespace rubato::lab;
using rubato::test::lab_bench;
using rubato::test::quick;

[[nodiscard]] compare_options with_clairvoyant(const std::string& policies, std::uint32_t seeds,
                                               std::vector<std::string> settings = {}) {
  compare_options asked = quick(policies, seeds, std::move(settings));
  asked.clairvoyant = true;
  return asked;
}

// The first run of a scenario that has no hidden layers to draw.
[[nodiscard]] setting first_run_of(const compare_options& asked) {
  comparison made;
  made.asked = asked;
  made.targets[0] = asked.scenario.run.target_accuracy;
  made.hidden_layers = {0};
  return setting_of(made, 1, asked.scenario.run.learning_rate.base);
}

[[nodiscard]] double time_of(const comparison& made, std::size_t row) { return summarise(made).rows[row].time.value; }

TEST(Clairvoyant, IsNoSlowerThanTheRules) {
  lab_bench bench;
  const auto made = bench.compare(with_clairvoyant("bsp:sum,asp,ssp:3", 8));
  ASSERT_EQ(made.rows.size(), 4u);
  EXPECT_EQ(made.rows[3].name, clairvoyant_name);
  for (std::size_t row = 0; row < 3; ++row) EXPECT_LE(time_of(made, 3), time_of(made, row)) << made.rows[row].name;
  ASSERT_EQ(made.plans.size(), 1u);
  EXPECT_EQ(made.plans.at(0).size(), 5u);
  const auto sum = summarise(made);
  ASSERT_EQ(sum.clairvoyant, 3u);
  EXPECT_EQ(sum.rows[3].regret->value, 0);
  EXPECT_GT(sum.rows[0].regret->value, 0.1);
  EXPECT_NE(table(made, false).find("regret"), std::string::npos);
  const auto document = to_json(made);
  EXPECT_EQ(document["rows"][0]["regret"], sum.rows[0].regret->value);
  EXPECT_EQ(document["setting"]["plans"][0]["stages"].size(), 5u);
}

// Where every second push is looked at, a learning rate that changes is quicker than any that does not.
TEST(Clairvoyant, StagesBeatTheBestConstantPlan) {
  lab_bench bench;
  const auto made = bench.compare(with_clairvoyant(
      "asp", 8, {"objective.evaluate_every=2", "objective.target_accuracy=0.99", "objective.max_time=3000"}));
  const plan& found = made.plans.at(0);
  EXPECT_TRUE(std::ranges::any_of(found, [&](const plan_stage& stage) {
    return stage.running != found.front().running || stage.lr_scale != found.front().lr_scale;
  }));
}

TEST(Clairvoyant, ThreadsDoNotChangeIt) {
  lab_bench bench;
  const auto asked = with_clairvoyant("asp", 4);
  EXPECT_EQ(to_json(bench.compare(asked, 1)).dump(), to_json(bench.compare(asked, 3)).dump());
}

// Three of four workers straggle: with one worker running it is always the one that does not.
TEST(Planned, StartsWhoeverIsOverFirst) {
  lab_bench bench;
  const auto asked = quick("asp", 1, {"workers=4", "stragglers.count=3", "stragglers.mean=5", "cluster.jitter=0"});
  const setting at = first_run_of(asked);
  workbench here{bench.data};
  const auto run = here.run(at, planned{{{}}, asked.scenario.cluster, 1}, 1, bench.stop);
  ASSERT_TRUE(run);
  EXPECT_NEAR(run->time, static_cast<double>(run->pushes), 1e-6);
  EXPECT_EQ(run->overrides, 0u);
}

TEST(Planned, FollowsItsStages) {
  lab_bench bench;
  const auto asked = quick("asp", 1, {"workers=8", "cluster.cores=0", "stragglers.kind=none", "cluster.jitter=0"});
  const setting at = first_run_of(asked);
  workbench here{bench.data};
  std::vector<std::pair<double, float>> starts;
  any_observer watcher{[&](const rubato::record& r) {
    if (r.what == rubato::record::kind::release) starts.emplace_back(r.now, r.value);
  }};
  const plan stages{{.from = 0, .running = 3, .lr_scale = 2}, {.from = 4.5, .running = 5, .lr_scale = 1}};
  const auto run = here.watch(at, planned{stages, asked.scenario.cluster, 1}, 1, watcher);
  EXPECT_EQ(run.overrides, 0u);
  const auto between = [&](double low, double high, float scale) {
    return std::ranges::count_if(starts,
                                 [&](const auto& s) { return s.first >= low && s.first < high && s.second == scale; });
  };
  EXPECT_EQ(between(0, 0.5, 2), 3);
  EXPECT_EQ(between(0, 4.5, 2), 15);
  EXPECT_EQ(between(4.5, 5.5, 1), 5);
  EXPECT_EQ(between(5.5, 6.5, 1), 5);
}

TEST(Clairvoyant, RefusesWorkersThatComeAndGo) {
  lab_bench bench;
  auto asked = with_clairvoyant("asp", 2);
  asked.scenario.cluster.failures = {{.time = 1, .worker = 0}};
  EXPECT_THROW(static_cast<void>(bench.compare(asked)), rubato::support::user_error);
}

TEST(Clairvoyant, RefusesWorkersThatComputeSlowly) {
  lab_bench bench;
  auto asked = with_clairvoyant("asp", 2);
  asked.scenario.cluster.stragglers.slowdown = 2;
  EXPECT_THROW(static_cast<void>(bench.compare(asked)), rubato::support::user_error);
}

}  // namespace
