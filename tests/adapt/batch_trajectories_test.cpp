#include <rubato/adapt/train/batch_trajectories.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <rubato/adapt/batch_size.hpp>
#include <rubato/sim.hpp>
#include <rubato/sync/bsp.hpp>
#include <vector>

namespace {

using namespace rubato;
using namespace rubato::adapt;

/// The same preferences everywhere.
struct fixed_preferences {
  std::array<float, 5> of_deltas{};
  void evaluate(std::span<const float>, std::span<float> out) const noexcept {
    std::copy(of_deltas.begin(), of_deltas.end(), out.begin());
  }
};
using exploring = exploring_batches<fixed_preferences>;
static_assert(BatchSizer<exploring>);

[[nodiscard]] exploring explorer(std::array<float, 5> preferences, std::uint64_t seed = 1) {
  return {std::make_shared<const fixed_preferences>(fixed_preferences{preferences}),
          std::make_shared<batch_trajectories>(), seed};
}

[[nodiscard]] batch_trajectories explored(const exploring& by, std::uint64_t samples = 20'000) {
  sim::quadratic goal;
  const sim::run_result made = sim::simulate({.workers = 3, .step_time = {1, 1, 2}},
                                             {.stop = sim::stop_rule::workload, .workload = samples, .batch = 64},
                                             batch_sized{bsp{}, {.period = 2}, by}, goal);
  EXPECT_GT(made.pushes, 0U);
  return *by.made;
}

TEST(BatchTrajectories, WritesDownWhatItDid) {
  const batch_trajectories made = explored(explorer({-99, -99, -99, -99, 0}));
  ASSERT_EQ(made.size(), 3U);
  for (const auto& worker : made) {
    ASSERT_GT(worker.size(), 2U);
    EXPECT_EQ(worker[0].action, 4U) << "plus 100";
    EXPECT_EQ(worker[0].observation[6], 0) << "the usual batch";
    EXPECT_GT(worker[1].observation[6], 1) << "164 of 64";
    EXPECT_GT(worker[1].time, worker[0].time);
    EXPECT_EQ(worker[0].legal, 0b11111U);
  }
}

TEST(BatchTrajectories, DrawsByTheSoftmax) {
  std::array<int, 5> drawn{};
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    for (const auto& worker : explored(explorer({-99, 0, 0, 0, -99}, seed)))
      for (const batch_decision& each : worker) ++drawn[each.action];
  EXPECT_EQ(drawn[0] + drawn[4], 0);
  for (const int each : {drawn[1], drawn[2], drawn[3]}) EXPECT_GT(each, (drawn[1] + drawn[2] + drawn[3]) / 5);
}

TEST(BatchTrajectories, SameSeedSameDraws) {
  const auto actions = [](std::uint64_t seed) {
    std::vector<std::uint32_t> all;
    for (const auto& worker : explored(explorer({0, 0, 0, 0, 0}, seed)))
      for (const batch_decision& each : worker) all.push_back(each.action);
    return all;
  };
  EXPECT_EQ(actions(1), actions(1));
  EXPECT_NE(actions(1), actions(2));
}

/// Keeps what it is told.
struct notebook {
  std::vector<rl::transition> steps;
  std::vector<std::uint32_t> masks;
  std::size_t room = 100;
  [[nodiscard]] bool is_due() const noexcept { return steps.size() >= room; }
  void record(const rl::transition& step, std::uint32_t legal) { steps.push_back(step), masks.push_back(legal); }
};

TEST(BatchTrajectories, RewardsAreTimes) {
  const batch_trajectories made{{{.legal = 7, .action = 2, .time = 10}, {.legal = 3, .action = 1, .time = 14}},
                                {},
                                {{.legal = 1, .action = 0, .time = 12}}};
  notebook agent;
  record_run(agent, made, 20, true, 2);
  ASSERT_EQ(agent.steps.size(), 3U);
  EXPECT_EQ(agent.steps[0].reward, -2);
  EXPECT_FALSE(agent.steps[0].terminated);
  EXPECT_EQ(agent.steps[0].next.data(), made[0][1].observation.data());
  EXPECT_EQ(agent.steps[1].reward, -3) << "until the end";
  EXPECT_TRUE(agent.steps[1].terminated);
  EXPECT_EQ(agent.steps[2].reward, -4);
  EXPECT_EQ(agent.masks, (std::vector{7U, 3U, 1U}));
  notebook small;
  small.room = 2;
  record_run(small, made, 20, true, 2);
  EXPECT_EQ(small.steps.size(), 2U);
}

TEST(BatchTrajectories, ARunThatDoesNotArriveCostsMore) {
  const batch_trajectories made{{{.time = 10}, {.time = 14}}};
  notebook agent;
  record_run(agent, made, 20, false, 2);
  EXPECT_EQ(agent.steps[0].reward, -2);
  EXPECT_EQ(agent.steps[1].reward, -4);
}

TEST(BatchTrajectories, LimitsAreMasked) {
  for (const auto& worker : explored(explorer({0, -99, -99, -99, -99}), 5'000))
    for (const batch_decision& each : worker) EXPECT_TRUE(each.legal >> each.action & 1U);
}

}  // namespace
