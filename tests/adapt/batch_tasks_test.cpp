#include <rubato/adapt/train/batch_tasks.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <rubato/adapt/batch_sizers/speed_proportional.hpp>
#include <set>

namespace {

using namespace rubato;
using namespace rubato::adapt;

TEST(BatchTasks, SameSeedSameTask) {
  const batch_task one = draw_batch_task(5), same = draw_batch_task(5), other = draw_batch_task(6);
  EXPECT_EQ(practise(one, same_batches{}).time, practise(same, same_batches{}).time);
  EXPECT_NE(practise(one, same_batches{}).time, practise(other, same_batches{}).time);
}

TEST(BatchTasks, AreOfTheStatedKinds) {
  std::set<std::uint32_t> sizes, initials;
  int congested = 0, bursts = 0;
  constexpr int tasks = 60;
  for (std::uint64_t seed = 0; seed < tasks; ++seed) {
    const batch_task task = draw_batch_task(seed);
    EXPECT_TRUE(sim::problem(task.machines).empty()) << sim::problem(task.machines);
    EXPECT_TRUE(sim::problem(task.run).empty()) << sim::problem(task.run);
    sizes.insert(task.machines.workers);
    initials.insert(task.initial);
    congested += task.machines.link.congestion.share < 1 ? 1 : 0;
    bursts += task.machines.stragglers.kind == sim::straggler_kind::burst ? 1 : 0;
    const auto& times = task.machines.step_time;
    EXPECT_EQ(*std::min_element(times.begin(), times.end()), 1) << seed;
    EXPECT_LE(*std::max_element(times.begin(), times.end()), 12) << seed;
  }
  EXPECT_EQ(sizes, (std::set{4U, 8U, 16U, 32U}));
  EXPECT_EQ(initials, (std::set{32U, 64U, 128U, 256U}));
  EXPECT_NEAR(congested, tasks / 3, 12);
  EXPECT_NEAR(bursts, tasks / 3, 12);
}

// The noise of this seed once made every bowl one of those that do not count.
TEST(BatchTasks, EverySeedHasOne) {
  EXPECT_GT(draw_batch_task(9635745585143178011U).usual_time, 0);
  for (std::uint64_t seed = 1; seed <= 300; ++seed)
    EXPECT_GT(draw_batch_task(seed * 0x9E3779B97F4A7C15U).usual_time, 0);
}

// Not all of them, as in a third of the clusters the workers hardly differ; but most.
TEST(BatchTasks, BatchesMatter) {
  int quicker = 0;
  constexpr int tasks = 30;
  for (std::uint64_t seed = 100; seed < 100 + tasks; ++seed) {
    batch_task task = draw_batch_task(seed);
    task.initial = 64;
    const sim::run_result still = practise(task, same_batches{}), by_speed = practise(task, speed_proportional{});
    EXPECT_TRUE(still.reached) << seed;
    quicker += by_speed.time < still.time ? 1 : 0;
  }
  EXPECT_GT(quicker, tasks / 2);
}

}  // namespace
