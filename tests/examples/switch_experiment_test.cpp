#include "../../examples/lab/switch_experiment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <nlohmann/json.hpp>
#include <rubato/sync/asp.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "temporary_directory.hpp"

namespace {

using namespace rubato::lab;
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

struct experiment_bench {
  training_data data;
  std::atomic<bool> stop = false;
  std::ostringstream shown;

  switch_experiment make(const switch_experiment_request& asked, result_cache& cache, unsigned threads = 1) {
    const runner run{.data = data,
                     .cache = cache,
                     .threads = threads,
                     .stop = stop,
                     .progress = shown,
                     .display = {.terminal = false, .now = [] { return 0.0; }}};
    return run_switch_experiment(asked, run);
  }
  switch_experiment make(const switch_experiment_request& asked, unsigned threads = 1) {
    result_cache nothing;
    return make(asked, nothing, threads);
  }
};

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
  experiment_bench quiet;
  const auto asked = small_job({"latency", "share", "order", "configuration", "stragglers", "cluster", "policies"});
  const switch_experiment one = quiet.make(asked, 1), three = quiet.make(asked, 3);
  EXPECT_EQ(to_json(one, quiet.data), to_json(three, quiet.data));
  EXPECT_EQ(table(one), table(three));
  EXPECT_FALSE(one.interrupted);
  for (const switch_part_result& part : one.parts)
    for (const switch_trainings& row : part.rows)
      for (const auto& run : row.runs) EXPECT_TRUE(run.has_value()) << part.part << row.of.name;
}

TEST(SwitchExperiment, GoesOnFromTheCache) {
  const temporary_directory folder;
  experiment_bench quiet;
  const switch_experiment whole = quiet.make(small_job({"order", "share"}));
  {
    result_cache cache{folder.path(), "v"};
    static_cast<void>(quiet.make(small_job({"order"}), cache));
  }
  result_cache cache{folder.path(), "v"};
  quiet.stop = true;  // nothing new can be run
  const switch_experiment part = quiet.make(small_job({"order", "share"}), cache);
  EXPECT_TRUE(part.interrupted);
  EXPECT_NE(table(part).find("INTERRUPTED"), std::string::npos);
  EXPECT_TRUE(part.parts[0].rows[1].runs[1].has_value()) << "of `order` all is known";
  EXPECT_FALSE(part.parts[1].rows[0].runs[0].has_value()) << "of BSP throughout nothing";
  quiet.stop = false;
  EXPECT_EQ(to_json(quiet.make(small_job({"order", "share"}), cache), quiet.data), to_json(whole, quiet.data));
}

TEST(SwitchExperiment, SharedCasesAreRunOnce) {
  experiment_bench quiet;
  static_cast<void>(quiet.make(small_job({"share", "policies"})));
  EXPECT_NE(quiet.shown.str().find("share 22/22"), std::string::npos) << quiet.shown.str();
  EXPECT_EQ(quiet.shown.str().find("policies 6/6"), std::string::npos) << "they are among those of `share`";
}

// At four times the rate asynchronous training leaves the bowl; its loss stays finite.
TEST(SwitchExperiment, NoBetterThanGuessingHasFailed) {
  experiment_bench quiet;
  quiet.data.images.classes = 10;
  switch_experiment_request asked = small_job({"configuration"});
  asked.scenario.run.learning_rate.base = 0.15;
  const switch_experiment made = quiet.make(asked);
  const auto& rows = made.parts[0].rows;
  const auto kept = std::ranges::find_if(rows, [](const auto& row) { return row.of.at.switching->keeps_rate; });
  ASSERT_NE(kept, rows.end());
  EXPECT_EQ(compare_with(rows[0], *kept, 0).failed, 2u);
  EXPECT_EQ(compare_with(rows[0], rows[0], 0).failed, 0u);
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

TEST(SwitchExperiment, ClaimFollowsTheRule) {
  const auto claim = [](const std::vector<double>& small, double small_time, const std::vector<double>& asp) {
    return claim_of({"share",
                     {trainings("100 %", {0.91, 0.92, 0.93}, 1'000), trainings("6.25 %", small, small_time),
                      trainings("0 %", asp, 150)}});
  };
  const std::vector<double> good{0.91, 0.92, 0.93}, middle{0.89, 0.90, 0.91}, bad{0.81, 0.82, 0.83};
  EXPECT_EQ(claim(good, 200, bad).find("confirmed: it is better than ASP, by 0.1000 [0.1000, 0.1000]"), 0u)
      << claim(good, 200, bad);
  EXPECT_EQ(claim(good, 200, good).find("refuted: there is nothing to be gained"), 0u);
  EXPECT_EQ(claim(bad, 200, bad).find("refuted: it is not better than ASP"), 0u);
  EXPECT_EQ(claim(good, 300, bad).find("refuted: it is not nearly as quick"), 0u);
  EXPECT_EQ(claim(middle, 200, bad).find("refuted: it is better than ASP, by 0.0800"), 0u);
  EXPECT_EQ(claim({NAN, NAN, 0.9}, 200, bad).find("refuted: 6.25 % of BSP fails"), 0u);
  EXPECT_EQ(claim(good, 200, {NAN, NAN, NAN}).find("confirmed: "), 0u) << claim(good, 200, {NAN, NAN, NAN});
  EXPECT_EQ(claim_of({"share", {}}), "open: a share is missing");
}

}  // namespace
