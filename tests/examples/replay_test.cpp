#include "../../examples/lab/replay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <rubato/encode/loss_average.hpp>
#include <rubato/sim/quadratic.hpp>

#include "logged_run.hpp"

namespace {

using namespace rubato::lab;
using rubato::test::log_text;
using rubato::test::temporary_directory;

setting quadratic_run() {
  setting at;
  at.scenario.cluster = {.workers = 5, .cores = 2};
  at.scenario.cluster.stragglers.kind = rubato::sim::straggler_kind::transient;
  at.scenario.objective = rubato::support::objective_kind::quadratic;
  at.scenario.run.stop = rubato::sim::stop_rule::workload;
  at.scenario.run.workload = 300 * at.scenario.run.batch;
  at.scenario.run.learning_rate.base = 0.05;
  return at;
}

decision_history log_of(const setting& at, const std::string& policy, std::uint64_t seed) {
  const temporary_directory folder;
  folder.write("log", log_text(at, policy, {}, seed));
  return read_decision_history(folder.path() / "log");
}

// The log has the running mean of what the workers measured, and the replay what they measured.
TEST(Replay, TheSameModelMeetsTheSameLosses) {
  for (const char* policy :
       {"asp", "ssp:1", "bsp:mean", "kbatchasync:3", "cap:2", "ssp:2+scale:1/tau", "asp+batch:32"}) {
    const setting at = quadratic_run();
    const decision_history history = log_of(at, policy, 7);
    objective_of<rubato::sim::quadratic> goal{rubato::sim::quadratic_options{}};
    const auto losses = replay(history, goal, run_options_of(at, 7), 250);
    const auto logged = losses_of(history, 250);
    ASSERT_EQ(losses.size(), logged.size()) << policy;
    rubato::loss_average average;
    for (std::size_t i = 0; i < losses.size(); ++i)
      ASSERT_EQ(static_cast<float>(average(losses[i])), logged[i]) << policy << ", push " << i;
  }
}

struct watched_quadratic : rubato::sim::quadratic {
  std::uint32_t* largest;
  explicit watched_quadratic(std::uint32_t* into) : quadratic{rubato::sim::quadratic_options{}}, largest{into} {}
  rubato::sim::gradient compute(std::uint32_t worker, std::uint64_t step, std::uint32_t batch) {
    *largest = std::max(*largest, batch);
    return quadratic::compute(worker, step, batch);
  }
};

// The policy asks for what it likes, and the log has that; the host takes the largest batch instead.
TEST(Replay, AsksForNoLargerBatchThanHostsDo) {
  const setting at = quadratic_run();
  std::string text = log_text(at, "asp", {}, 7);
  const std::string usual = "\"batch\":0";
  text.replace(text.find(usual), usual.size(), "\"batch\":4000000000");
  const temporary_directory folder;
  folder.write("log", text);
  const decision_history history = read_decision_history(folder.path() / "log");
  EXPECT_EQ(history.too_large, 1u);
  std::uint32_t largest = 0;
  objective_of<watched_quadratic> goal{&largest};
  EXPECT_EQ(replay(history, goal, run_options_of(at, 7), 250).size(), 250u);
  EXPECT_EQ(largest, rubato::sim::largest_batch);
}

TEST(Replay, StopsWhereItDiverges) {
  setting at = quadratic_run();
  const decision_history history = log_of(at, "asp", 7);
  at.scenario.run.learning_rate.base = 1e6;
  objective_of<rubato::sim::quadratic> goal{rubato::sim::quadratic_options{}};
  EXPECT_LT(replay(history, goal, run_options_of(at, 7), 250).size(), 200u);
}

}  // namespace
