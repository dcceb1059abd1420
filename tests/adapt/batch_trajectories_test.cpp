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

TEST(BatchTrajectories, LimitsAreMasked) {
  for (const auto& worker : explored(explorer({0, -99, -99, -99, -99}), 5'000))
    for (const batch_decision& each : worker) EXPECT_TRUE(each.legal >> each.action & 1U);
}

}  // namespace
