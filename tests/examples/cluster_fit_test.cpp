#include "../../examples/lab/cluster_fit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <rubato/core/rng.hpp>
#include <string>
#include <vector>

#include "../../examples/lab/fit_report.hpp"
#include "../../examples/lab/step_lengths.hpp"
#include "../../examples/support/scenario_files.hpp"
#include "logged_run.hpp"
#include "source_directory.hpp"

namespace {

using namespace rubato::lab;
using rubato::sim::cluster_options;
using rubato::sim::straggler_kind;
using rubato::sim::straggler_options;
using rubato::test::log_of;

cluster_options shipped(const std::string& name) {
  return rubato::support::find_scenario(name, rubato::test::source_directory / "examples/lab/scenarios").cluster;
}

// The shipped scenarios without a link, their stragglers as many on every seed.
std::map<std::string, cluster_options> clusters() {
  std::map<std::string, cluster_options> all;
  for (const char* name : {"paper", "shared4", "ideal", "table1"}) {
    all[name] = shipped(name);
    if (all[name].stragglers.kind == straggler_kind::fixed) all[name].stragglers.count = 3;
  }
  return all;
}

double throughput(const cluster_options& machines, const std::string& policy) {
  double pushes = 0, time = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const timed_run run = time_steps(machines, parse_policy(policy).policy, 600, seed);
    pushes += static_cast<double>(run.pushes);
    time += run.time;
  }
  return pushes / time;
}

TEST(ClusterFit, ParametersSurviveTheFit) {
  for (const auto& [name, machines] : clusters()) {
    SCOPED_TRACE(name);
    const cluster_fit fit = fit_cluster(log_of(machines, "ssp:3", 1'200));
    const double mean = name == "table1" ? 8.5609 : 1;
    EXPECT_NEAR(fit.best.jitter, machines.jitter, 0.2 * machines.jitter);
    EXPECT_EQ(fit.best.cores, machines.cores);
    EXPECT_NEAR(fit.unit, mean, 0.03 * mean);
    EXPECT_EQ(fit.best.stragglers.kind, machines.stragglers.kind);
    EXPECT_EQ(fit.best.stragglers.count, machines.stragglers.count);
    if (machines.stragglers.kind == straggler_kind::none) continue;
    EXPECT_NEAR(fit.best.stragglers.mean * fit.unit, machines.stragglers.mean, 0.15);
    EXPECT_NEAR(fit.best.stragglers.sd * fit.unit, machines.stragglers.sd, 0.15);
  }
}

TEST(ClusterFit, ThroughputSurvivesTheFit) {
  for (const auto& [name, machines] : clusters()) {
    const cluster_fit fit = fit_cluster(log_of(machines, "ssp:3", 1'200));
    for (const char* policy : {"asp", "bsp:sum", "cap:2"}) {
      const double was = throughput(machines, policy), is = throughput(fit.best, policy) / fit.unit;
      EXPECT_NEAR(is / was, 1, 0.1) << name << ' ' << policy;
    }
  }
}

TEST(ClusterFit, StepsOfTheFitAreThoseOfTheLog) {
  for (const auto& [name, machines] : clusters()) {
    const auto history = log_of(machines, "ssp:3", 1'200);
    const cluster_fit fit = fit_cluster(history);
    const rubato::any_policy policy = parse_policy("ssp:3").policy;
    EXPECT_LT(distance_of_steps(fit, history, policy), 0.08) << name;
    cluster_fit other = fit;
    other.unit *= 1.3;
    EXPECT_GT(distance_of_steps(other, history, policy), 0.2) << name << ": the distance sees what is wrong";
  }
}

TEST(ClusterFit, FindsEachKindOfStragglers) {
  const std::map<straggler_kind, straggler_options> kinds{
      {straggler_kind::none, {.kind = straggler_kind::none}},
      {straggler_kind::fixed, {.kind = straggler_kind::fixed, .count = 3, .mean = 2, .sd = 0.6}},
      {straggler_kind::transient, {.kind = straggler_kind::transient, .probability = 0.2, .mean = 2, .sd = 0.6}},
      {straggler_kind::burst, {.kind = straggler_kind::burst, .count = 5, .mean = 2, .sd = 0.6}},
      {straggler_kind::heavy_tailed, {.kind = straggler_kind::heavy_tailed, .probability = 0.2, .mean = 2}}};
  for (const auto& [kind, stragglers] : kinds) {
    const cluster_fit fit = fit_cluster(log_of({.workers = 10, .cores = 0, .stragglers = stragglers}, "asp", 3'000));
    SCOPED_TRACE(static_cast<int>(kind));
    const straggler_options& found = fit.best.stragglers;
    EXPECT_EQ(found.kind, kind);
    if (kind == straggler_kind::none || found.kind != kind) continue;
    EXPECT_NEAR(found.mean * fit.unit, stragglers.mean, 0.35 * stragglers.mean);
    const bool of_steps = kind == straggler_kind::transient || kind == straggler_kind::heavy_tailed;
    if (of_steps) {
      EXPECT_NEAR(found.probability, stragglers.probability, 0.04);
    }
    if (kind == straggler_kind::heavy_tailed) {
      EXPECT_NEAR(found.tail_index, stragglers.tail_index, 0.4);
    }
    if (kind == straggler_kind::burst) {
      EXPECT_NEAR(found.burst_length / found.burst_gap, 1.0 / 3, 0.2);
    }
  }
}

// Twelve steps a worker: whoever sleeps for a while may do so always, or now and then.
TEST(ClusterFit, AShortLogLeavesTheKindOfStragglersOpen) {
  const cluster_options machines{.workers = 10, .stragglers = {.kind = straggler_kind::burst, .count = 5, .mean = 2}};
  const auto share_of_bursts = [&](std::uint64_t steps, std::uint64_t seed) {
    const cluster_fit fit = fit_cluster(log_of(machines, "ssp:3", steps, seed));
    const auto bursts = std::ranges::count_if(
        fit.draws, [](const auto& each) { return each.stragglers.kind == straggler_kind::burst; });
    return static_cast<double>(bursts) / static_cast<double>(fit.draws.size());
  };
  constexpr std::uint64_t logs = 12;
  std::uint64_t open = 0, seen = 0;
  for (std::uint64_t seed = 1; seed <= logs; ++seed) {
    const double share = share_of_bursts(120, seed);
    open += share > 0.05 && share < 0.95 ? 1 : 0;
    seen += share > 0.05 ? 1 : 0;
  }
  EXPECT_GE(open, logs / 3) << "the percentage says that it is not certain";
  EXPECT_GE(seen, logs / 2) << "and the draws have the right kind too";
  EXPECT_GT(share_of_bursts(600, 1), 0.9) << "a long log tells";
}

// Ten workers that never wait: slow workers on cores of their own, and quick ones on few, look alike.
TEST(ClusterFit, SaysWhatItCannotTell) {
  const auto history = log_of(shipped("table1"), "asp", 1'000);
  const cluster_fit fit = fit_cluster(history);
  EXPECT_FALSE(fit.cores_known);
  EXPECT_EQ(fit.best.cores, 0u) << "then a core each";
  std::size_t shared = 0;
  for (const auto& each : fit.draws) shared += each.cores > 0 && each.cores <= 5 ? 1 : 0;
  EXPECT_GT(shared, fit.draws.size() / 8) << "but the draws have the others too";
  const auto doubts = doubts_about(fit, history);
  EXPECT_TRUE(
      std::ranges::any_of(doubts, [](const auto& each) { return each.starts_with("cores: not identifiable"); }));
  const cluster_fit told = fit_cluster(history, {.steps = {.cores = 4}});
  EXPECT_TRUE(told.cores_known);
  EXPECT_NEAR(told.unit, 8.56, 0.2);
}

// The log of a host under asp that works on each gradient for so long without keeping others waiting.
decision_history log_of_concurrent_host(std::uint32_t workers, int steps, double service) {
  rubato::random_sequence noise{1, 2};
  std::multimap<double, std::string> lines;
  for (std::uint32_t w = 0; w < workers; ++w) {
    const std::string who = R"(,"clock":0,"version":0,"parked":0,"incarnation":0,"worker":)" + std::to_string(w);
    double now = 0;
    for (int s = 0; s < steps; ++s) {
      lines.emplace(now, R"("what":"release","batch":0,"lr_scale":1)" + who);
      now += 1 + 0.05 * noise.normal();
      lines.emplace(now, R"("what":"admit","step":1,"verdict":"apply","weight":1,"staleness":0,"loss":1)" + who);
      now += service;
      lines.emplace(now, R"("what":"commit","step":1,"verdict":"apply")" + who);
    }
  }
  std::string text = R"({"format":"rubato.decisions","version":1,"policy":"asp","describe":{}})";
  for (const auto& [now, line] : lines) text += "\n{\"now\":" + nlohmann::json(now).dump() + "," + line + "}";
  const rubato::test::temporary_directory folder;
  folder.write("log", text + "\n");
  return read_decision_history(folder.path() / "log");
}

bool doubted_for(const std::vector<std::string>& doubts, const std::string& beginning) {
  return std::ranges::any_of(doubts, [&](const std::string& each) { return each.starts_with(beginning); });
}

TEST(ClusterFit, AHostThatServesSeveralAtATimeIsNoQueue) {
  const auto history = log_of_concurrent_host(10, 60, 0.2);
  const cluster_fit fit = fit_cluster(history);
  EXPECT_EQ(fit.best.apply_time, 0);
  EXPECT_NEAR(throughput(fit.best, "asp") / fit.unit, 10 / 1.2, 0.05 * 10 / 1.2);
  EXPECT_LT(distance_of_steps(fit, history, parse_policy("asp").policy), too_far(history));
  EXPECT_TRUE(doubted_for(doubts_about(fit, history), "server: works on several pushes at a time"));
  const auto queue = log_of({.workers = 10, .apply_time = 0.05}, "asp", 600);
  EXPECT_FALSE(queue.serves_at_once);
  EXPECT_NEAR(fit_cluster(queue).best.apply_time, 0.05, 0.01);
}

TEST(ClusterFit, DoubtsAFitWhoseStepsAreOthers) {
  const auto history = log_of({.workers = 6}, "asp", 300);
  cluster_fit fit = fit_cluster(history);
  const auto doubts = [&] {
    return doubts_about(fit, history, distance_of_steps(fit, history, parse_policy("asp").policy));
  };
  EXPECT_FALSE(doubted_for(doubts(), "steps: the fit's are not those of the log"));
  fit.best.apply_time = 0.3;
  EXPECT_TRUE(doubted_for(doubts(), "steps: the fit's are not those of the log"));
}

TEST(ClusterFit, SaysThatIntervalsOfAShortLogAreTooNarrow) {
  for (const std::uint64_t steps : {120u, 400u}) {
    const auto history = log_of({.workers = 10}, "ssp:3", steps);
    EXPECT_EQ(doubted_for(doubts_about(fit_cluster(history), history), "intervals: only "), steps == 120) << steps;
  }
}

TEST(ClusterFit, WhatIsNoIntervalIsNotPrintedAsOne) {
  const auto lines = values_of(fit_cluster(log_of({.workers = 6, .apply_time = 0.05}, "asp", 300)));
  const auto server = std::ranges::find(lines, "server time", &fitted_value::name);
  ASSERT_NE(server, lines.end());
  EXPECT_EQ(server->interval, "-");
}

TEST(ClusterFit, TheSameSeedTheSameDraws) {
  const auto history = log_of({.workers = 6, .cores = 2}, "ssp:1", 400);
  const auto text = [&](std::uint64_t seed) {
    const cluster_fit fit = fit_cluster(history, {.seed = seed});
    std::string all;
    for (const auto& each : fit.draws) all += to_json(fitted_scenario(each, {}, "x")).dump();
    return all;
  };
  EXPECT_EQ(text(1), text(1));
  EXPECT_NE(text(1), text(2));
}

TEST(ClusterFit, TheScenarioCanBeReadAndKeepsWhatIsTrained) {
  const cluster_fit fit = fit_cluster(log_of(shipped("shared4"), "ssp:3", 600));
  rubato::support::scenario base;
  base.name = "base";
  base.run.learning_rate.base = 0.07;
  const auto made = fitted_scenario(fit.best, base, "fitted");
  EXPECT_EQ(rubato::support::read_scenario(to_json(made).dump(), "made"), made);
  EXPECT_EQ(made.run.learning_rate.base, 0.07);
}

TEST(ClusterFit, DistanceOfSamples) {
  EXPECT_EQ(kolmogorov_smirnov({1, 2, 3}, {3, 1, 2}), 0);
  EXPECT_EQ(kolmogorov_smirnov({1, 2}, {3, 4}), 1);
  EXPECT_DOUBLE_EQ(kolmogorov_smirnov({1, 2, 3, 4}, {3, 4, 5, 6}), 0.5);
}

}  // namespace
