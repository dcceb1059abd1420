#include "../../examples/lab/scenario_task.hpp"

#include <gtest/gtest.h>

#include <rubato/encode/rlp_state.hpp>
#include <rubato/sync/asp.hpp>
#include <set>

#include "lab_bench.hpp"

namespace {

using namespace rubato;
using namespace rubato::lab;

using task_type = scenario_task<rlp_state>;
constexpr auto submitter = static_cast<std::uint32_t>(group_action::submitter);

TEST(ScenarioTask, AnEpisodeIsARun) {
  const support::scenario quick = test::quick("asp", 1).scenario;
  const training_data data;
  workbench bench{data};
  task_type task{quick, bench, {}, 1};
  std::atomic<bool> stop = false;
  for (const std::uint64_t seed : {1U, 2U}) {
    task.reset(seed);
    double reward = 0, elapsed = 0;
    for (bool over = false; !over;) {
      const auto next = task.step(submitter);
      reward += static_cast<double>(next.reward);
      elapsed += next.elapsed;
      over = next.terminated;
    }
    const auto whole = workbench{data}.run({quick, 0}, asp{}, seed, stop);
    EXPECT_EQ(task.result().time, whole->time);
    EXPECT_EQ(task.result().pushes, whole->pushes);
    EXPECT_LT(elapsed, whole->time);  // by the time before the first push
    EXPECT_NEAR(reward, -elapsed, 1e-3 * elapsed);
  }
}

TEST(ScenarioTask, RewardsAreInTimeUnits) {
  const support::scenario quick = test::quick("asp", 1).scenario;
  const training_data data;
  workbench bench{data};
  task_type task{quick, bench, {}, 4};
  task.reset(1);
  const auto next = task.step(submitter);
  EXPECT_EQ(next.reward, static_cast<float>(-next.elapsed / 4));
  EXPECT_GT(next.elapsed, 0);
}

TEST(ScenarioTask, ObservationsAreScaled) {
  const support::scenario quick = test::quick("asp", 1).scenario;
  const training_data data;
  workbench bench{data};
  normaliser<rlp_state::dim> scale;
  std::array<double, rlp_state::dim> means{}, variances;
  variances.fill(1);
  means[0] = 3;
  scale.assign(means, variances, 1);
  task_type plain{quick, bench, {}, 1}, scaled{quick, bench, scale, 1};
  const float first = plain.reset(1)[0];
  EXPECT_EQ(scaled.reset(1)[0], first - 3);
  const float second = plain.step(submitter).observation[0];
  EXPECT_EQ(scaled.step(submitter).observation[0], second - 3);
}

TEST(ScenarioTask, RunsWithoutAPush) {
  const support::scenario brief = test::quick("asp", 1, {"objective.max_time=0.001"}).scenario;
  const training_data data;
  workbench bench{data};
  task_type task{brief, bench, {}, 1};
  task.reset(1);
  const auto only = task.step(submitter);
  EXPECT_TRUE(only.terminated);
  EXPECT_EQ(only.elapsed, 0.001);
}

TEST(ScenarioTask, SeedsDrawHiddenLayers) {
  support::scenario real;
  support::apply_settings(real, std::vector<std::string>{"objective.hidden_layers=[0,1]", "objective.data_fraction=0.1",
                                                         "objective.max_time=12", "cluster.cores=1"});
  const training_data data = load_data(real, std::filesystem::path{RUBATO_SOURCE_DIR} / "examples/data");
  workbench bench{data};
  task_type task{real, bench, {}, 1};
  std::atomic<bool> stop = false;
  std::set<std::uint32_t> drawn;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    task.reset(seed);
    while (task.result().end == sim::run_end::unfinished) task.step(submitter);
    const std::uint32_t layers = hidden_layers_of(real, seed);
    drawn.insert(layers);
    EXPECT_EQ(task.result().final_accuracy, workbench{data}.run({real, layers}, asp{}, seed, stop)->final_accuracy);
  }
  EXPECT_EQ(drawn, (std::set<std::uint32_t>{0, 1}));
}

}  // namespace
