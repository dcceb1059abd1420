#include "../../examples/lab/switch_experiment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <rubato/sync/asp.hpp>
#include <string>
#include <vector>

#include "lab_bench.hpp"
#include "temporary_directory.hpp"

namespace {

using namespace rubato::lab;
using rubato::test::lab_bench;
using rubato::test::temporary_directory;

// A noisy quadratic of four workers, 320 pushes a training.
switch_experiment_request small_job(std::vector<std::string> parts) {
  switch_experiment_request asked{.parts = std::move(parts), .seeds = 2};
  asked.scenario.name = "small";
  const std::vector<std::string> settings{"workers=4",
                                          "stop=workload",
                                          "cluster.round_time=2",
                                          "objective.kind=quadratic",
                                          "objective.momentum=0.5",
                                          "objective.workload=5120"};
  rubato::support::apply_settings(asked.scenario, settings);
  return asked;
}

// A case that came to these accuracies, each after the same time.
switch_trainings trainings(const std::string& name, const std::vector<double>& accuracies, double time,
                           const logged_case& logged = {}) {
  switch_trainings made{{name, {}, rubato::asp{}, 0, logged}, {}};
  for (const double accuracy : accuracies) {
    const bool ends = !std::isnan(accuracy);
    made.runs.push_back(measurement{
        .time = time, .reached = ends, .end = ends ? "reached" : "diverged", .final_accuracy = ends ? accuracy : 0});
  }
  return made;
}

TEST(SwitchExperiment, SameForAnyThreads) {
  lab_bench quiet;
  const auto asked = small_job({"latency", "share", "order", "configuration", "stragglers", "cluster", "policies"});
  const switch_experiment one = run_switch_experiment(asked, quiet.runner()),
                          three = run_switch_experiment(asked, quiet.runner(3));
  EXPECT_EQ(to_json(one, quiet.data), to_json(three, quiet.data));
  EXPECT_EQ(table(one), table(three));
  EXPECT_FALSE(one.interrupted);
  for (const switch_part_result& part : one.parts)
    for (const switch_trainings& row : part.rows)
      for (const auto& run : row.runs) EXPECT_TRUE(run.has_value()) << part.part << row.of.name;
}

TEST(SwitchExperiment, GoesOnFromTheCache) {
  const temporary_directory folder;
  lab_bench quiet;
  const switch_experiment whole = run_switch_experiment(small_job({"order", "share"}), quiet.runner());
  {
    result_cache cache{folder.path(), "v"};
    static_cast<void>(run_switch_experiment(small_job({"order"}), quiet.runner(cache)));
  }
  result_cache cache{folder.path(), "v"};
  quiet.stop = true;  // nothing new can be run
  const switch_experiment part = run_switch_experiment(small_job({"order", "share"}), quiet.runner(cache));
  EXPECT_TRUE(part.interrupted);
  EXPECT_NE(table(part).find("INTERRUPTED"), std::string::npos);
  EXPECT_TRUE(part.parts[0].rows[1].runs[1].has_value()) << "of `order` all is known";
  EXPECT_FALSE(part.parts[1].rows[0].runs[0].has_value()) << "of BSP throughout nothing";
  quiet.stop = false;
  EXPECT_EQ(to_json(run_switch_experiment(small_job({"order", "share"}), quiet.runner(cache)), quiet.data),
            to_json(whole, quiet.data));
}

TEST(SwitchExperiment, SharedCasesAreRunOnce) {
  lab_bench quiet;
  static_cast<void>(run_switch_experiment(small_job({"share", "policies"}), quiet.runner()));
  EXPECT_NE(quiet.shown.str().find("share 22/22"), std::string::npos) << quiet.shown.str();
  EXPECT_NE(quiet.shown.str().find("policies 0/0"), std::string::npos) << "they are among those of `share`";
}

// At four times the rate asynchronous training leaves the bowl; its loss stays finite.
TEST(SwitchExperiment, NoBetterThanGuessingHasFailed) {
  lab_bench quiet;
  quiet.data.images.classes = 10;
  switch_experiment_request asked = small_job({"configuration"});
  asked.scenario.run.learning_rate.base = 0.15;
  const switch_experiment made = run_switch_experiment(asked, quiet.runner());
  const auto& rows = made.parts[0].rows;
  const auto kept = std::ranges::find_if(rows, [](const auto& row) { return row.of.at.switching->keeps_rate; });
  ASSERT_NE(kept, rows.end());
  EXPECT_EQ(compare_with(rows[0], *kept, 0).failed, 2u);
  EXPECT_EQ(compare_with(rows[0], rows[0], 0).failed, 0u);
}

// An eighth of a training need not have learned anything.
TEST(SwitchExperiment, LatencyIsAboutTimeAlone) {
  lab_bench quiet;
  quiet.data.images.classes = 1;  // nothing is better than guessing
  const switch_experiment made = run_switch_experiment(small_job({"latency", "order"}), quiet.runner());
  for (const switch_part_result& part : made.parts)
    for (const switch_trainings& row : part.rows)
      EXPECT_EQ(compare_with(row, row, 0).failed, part.part == "latency" ? 0u : 2u) << part.part << row.of.name;
}

TEST(SwitchExperiment, WhatIsMissingIsADash) {
  lab_bench quiet;
  quiet.stop = true;
  const std::string text = table(run_switch_experiment(small_job({"latency"}), quiet.runner()));
  EXPECT_NE(text.find("  1.060  -\n"), std::string::npos) << "simulated, logs, off by: " << text;
  EXPECT_EQ(text.find("nan"), std::string::npos) << text;
}

TEST(SwitchExperiment, ComparesWithTheBaselineBySeed) {
  const switch_trainings baseline = trainings("b", {0.5, 0.9, 0.7}, 200);
  switch_trainings row = trainings("r", {0.4, 0.8, 0.6}, 50);
  for (auto& run : row.runs) run->switches = 1;
  const switch_comparison found = compare_with(baseline, row, 10);
  EXPECT_NEAR(found.difference.value, -0.1, 1e-12);
  EXPECT_NEAR(found.difference.high, -0.1, 1e-12) << "seeds scatter, their differences do not";
  EXPECT_GT(found.accuracy.high, 0.7);
  EXPECT_DOUBLE_EQ(found.times.value, 0.25);
  EXPECT_DOUBLE_EQ(found.with_switches.value, 0.3);
  EXPECT_EQ(compare_with(baseline, trainings("d", {0.4, NAN, 0.6}, 50), 0).failed, 1u);
}

TEST(SwitchExperiment, VerdictsFollowTheRule) {
  const switch_trainings baseline = trainings("b", {0.5, 0.9, 0.7}, 200, {0.92, 1'000});
  const auto said = [&](const std::vector<double>& accuracies, double time, const logged_case& logged) {
    const switch_trainings row = trainings("r", accuracies, time, logged);
    const switch_verdict verdict = verdict_on(compare_with(baseline, row, 0), baseline, row);
    return verdict.accuracy + ' ' + verdict.time;
  };
  EXPECT_EQ(said({0.4, 0.8, 0.6}, 50, {0.90, 250}), "agrees agrees") << "both lower";
  EXPECT_EQ(said({0.4, 0.8, 0.6}, 50, {0.915, 300}), "differs differs") << "the logs' loss is below their threshold";
  EXPECT_EQ(said({0.4, 1.0, 0.7}, 50, {0.915, 240}), "agrees agrees") << "neither tells them apart";
  EXPECT_EQ(said({0.6, 1.0, 0.8}, 50, {0.90, {}}), "differs -");
  EXPECT_EQ(said({0.6, 1.0, 0.8}, 50, {}), "- -");
  EXPECT_EQ(said({NAN, NAN, 0.8}, 50, {.diverged = true}), "agrees -");
  EXPECT_EQ(said({0.6, NAN, 0.8}, 50, {.diverged = true}), "differs -");
  EXPECT_EQ(said({NAN, NAN, 0.8}, 50, {0.90, 250}), "differs -");
}

// Of part `share`, where BSP comes to 0.91, 0.92 and 0.93.
std::string claim(const std::vector<double>& small, double small_time, const std::vector<double>& asp) {
  return claim_of({"share",
                   {trainings("100 %", {0.91, 0.92, 0.93}, 1'000), trainings("6.25 %", small, small_time),
                    trainings("0 %", asp, 150)}});
}

TEST(SwitchExperiment, ClaimFollowsTheRule) {
  const std::vector<double> good{0.91, 0.92, 0.93}, middle{0.89, 0.90, 0.91}, bad{0.81, 0.82, 0.83};
  EXPECT_EQ(claim(good, 200, bad).find("confirmed: it is better than ASP, by 0.1000 [0.1000, 0.1000]"), 0u)
      << claim(good, 200, bad);
  EXPECT_EQ(claim(good, 200, good).find("refuted: there is nothing to be gained"), 0u);
  EXPECT_EQ(claim(bad, 200, bad).find("refuted: it is not better than ASP"), 0u);
  EXPECT_EQ(claim(good, 300, bad).find("refuted: it is not nearly as quick"), 0u);
  EXPECT_EQ(claim(middle, 200, bad).find("refuted: it is better than ASP, by 0.0800"), 0u);
  EXPECT_EQ(claim({NAN, NAN, 0.9}, 200, bad).find("refuted: 6.25 % of BSP fails"), 0u);
  EXPECT_EQ(claim(good, 200, {NAN, NAN, NAN}).find("confirmed: "), 0u) << claim(good, 200, {NAN, NAN, NAN});
  EXPECT_EQ(claim({0.908, 0.918, 0.927}, 200, bad).find("confirmed: "), 0u) << "lower, but by less than 0.01";
  EXPECT_EQ(claim_of({"share", {}}), "open: a share is missing");
}

TEST(SwitchExperiment, ScatterLeavesTheClaimOpen) {
  const std::vector<double> good{0.91, 0.92, 0.93}, bad{0.81, 0.82, 0.83};
  EXPECT_EQ(claim({0.93, 0.88, 0.93}, 200, bad).find("open: these trainings do not tell it apart from BSP\n"), 0u);
  EXPECT_EQ(claim(good, 200, {0.80, 0.95, 0.93}).find("open: these trainings do not tell ASP apart\n"), 0u);
  const std::string few = "open: too few trainings came to their end";
  EXPECT_EQ(claim({0.92, 0.93, NAN}, 200, {0.81, NAN, 0.83}), few) << "both of one seed alone";
  EXPECT_EQ(claim(good, 200, {NAN, 0.82, 0.83}).find("confirmed: "), 0u) << "two are enough";
}

}  // namespace
