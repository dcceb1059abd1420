#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <rubato/core/rng.hpp>
#include <rubato/core/roster.hpp>
#include <set>
#include <string_view>
#include <vector>

namespace rubato {
namespace {

// A roster of members that run, all at clock 0.
roster running(std::uint32_t n) {
  roster all{n};
  for (std::uint32_t w = 0; w < n; ++w) {
    all.move_to(w, worker_state::joining);
    all.enter(w, 0, 0.0);
    all.unpark(w);
    all.move_to(w, worker_state::running);
  }
  return all;
}

void park(roster& all, std::uint32_t w, double now) {
  all.move_to(w, worker_state::parked);
  all.park(w, now);
}

std::vector<std::uint32_t> parked(const roster& all) {
  std::vector<std::uint32_t> list;
  for (std::uint32_t w = all.parked().front(); w != no_worker; w = all.parked().after(w)) list.push_back(w);
  return list;
}

TEST(Roster, CountsWorkersByState) {
  roster all{4};
  EXPECT_EQ(all.in(worker_state::absent), 4u);
  all = running(4);
  EXPECT_EQ(all.in(worker_state::running), 4u);
  EXPECT_EQ(all.busy(), 4u);
  all.move_to(1, worker_state::admitted);
  park(all, 2, 1.0);
  all.move_to(3, worker_state::released);
  EXPECT_EQ(all.busy(), 3u);
  EXPECT_EQ(all.in(worker_state::parked), 1u);
  all.depart(2, worker_state::dead);
  EXPECT_EQ(all.in(worker_state::dead), 1u);
  EXPECT_EQ(all.clock().size(), 3u);
  EXPECT_TRUE(parked(all).empty());
}

TEST(Roster, RunsTheLongestParkedTogether) {
  roster all = running(6);
  for (const std::uint32_t w : {4u, 1u, 3u, 0u}) park(all, w, 1.0);
  std::vector<std::uint32_t> asked;
  const auto all_but_3 = [&](std::uint32_t w, worker_record&) { return asked.push_back(w), w != 3; };
  EXPECT_EQ(all.run_front(1, all_but_3), 1u);
  EXPECT_EQ(all.run_front(9, all_but_3), 1u);
  EXPECT_EQ(asked, (std::vector<std::uint32_t>{4, 1, 3}));
  EXPECT_EQ(parked(all), (std::vector<std::uint32_t>{3, 0}));
  EXPECT_EQ(all.in(worker_state::running), 4u);
  EXPECT_EQ(all.in(worker_state::parked), 2u);
  EXPECT_EQ(all[4].state, worker_state::running);
  EXPECT_FALSE(all[1].linked);
  EXPECT_TRUE(all[3].linked);
  EXPECT_NE(all.first_running(), no_worker);  // from here on who runs is kept in order
  EXPECT_EQ(all.run_front(9, all_but_3), 0u);
}

TEST(Roster, DepartedWorkersKeepTheirClock) {
  roster all = running(2);
  all.clock().tick(0);
  all.clock().tick(0);
  all.depart(0, worker_state::left);
  EXPECT_FALSE(all.counted(0));
  EXPECT_EQ(all.clock().clock(0), 2u);
  EXPECT_EQ(all.clock().maximum(), 0u);
}

TEST(Roster, ExcludedWorkersLeaveEveryCount) {
  roster all = running(4);
  for (std::uint32_t w = 0; w < 4; ++w) all.note_step_time(w, 1.0 + w);
  park(all, 1, 1.0);
  all.move_to(2, worker_state::released);
  for (const std::uint32_t w : {0u, 1u, 2u}) all.exclude(w);
  EXPECT_EQ(all.excluded(), 3u);
  EXPECT_EQ(all.clock().size(), 1u);
  EXPECT_EQ(all.busy(), 1u);
  EXPECT_EQ(all.in(worker_state::parked), 0u);
  EXPECT_EQ(all.speeds().size(), 1u);
  EXPECT_TRUE(parked(all).empty());
  EXPECT_EQ(all[0].doomed, reason::excluded) << "its gradient will be dropped";
  EXPECT_EQ(all[2].state, worker_state::parked) << "the promise is withdrawn";
}

TEST(Roster, ReadmissionMovesTheClockBetweenTheMinimumAndTheHighest) {
  roster all = running(3);
  park(all, 1, 1.0);
  all.exclude(0);
  all.exclude(1);
  for (int i = 0; i < 5; ++i) all.clock().tick(2);
  EXPECT_TRUE(all.readmit(0, 9, 2.0));
  EXPECT_EQ(all.clock().clock(0), 5u);
  EXPECT_EQ(all[0].state, worker_state::running);
  all.clock().set(1, 8);
  EXPECT_FALSE(all.readmit(1, 7, 3.0)) << "a parked one may be one further";
  EXPECT_EQ(all.clock().clock(1), 8u);
  EXPECT_EQ(parked(all), (std::vector{1u}));
  EXPECT_EQ(all[1].parked_at, 3.0);
  all.exclude(0);
  all.clock().set(0, 8);
  EXPECT_TRUE(all.readmit(0, 7, 4.0));
  EXPECT_EQ(all.clock().clock(0), 7u);
  for (const std::uint32_t w : {0u, 1u, 2u}) all.exclude(w);
  EXPECT_FALSE(all.readmit(0, 0, 5.0)) << "where nobody counts there is nothing to keep within";
  EXPECT_EQ(all.excluded(), 2u);
}

TEST(Roster, DepartureEndsAnExclusion) {
  roster all = running(2);
  all.exclude(0);
  all.depart(0, worker_state::dead);
  EXPECT_EQ(all.excluded(), 0u);
  EXPECT_EQ(all.in(worker_state::dead), 1u);
  EXPECT_FALSE(all[0].excluded);
}

// The order is kept from the first time that somebody asks, and starts with that of the granted versions.
TEST(Roster, LongestRunningFirst) {
  roster all = running(5);
  constexpr std::array<std::uint64_t, 5> versions{4, 1, 3, 0, 2};
  for (std::uint32_t w = 0; w < 5; ++w) all[w].granted.version = versions[w];
  const auto order = [&] {
    std::vector<std::uint32_t> list;
    for (std::uint32_t w = all.first_running(); w != no_worker; w = all.next_running(w)) list.push_back(w);
    return list;
  };
  EXPECT_EQ(order(), (std::vector{3u, 1u, 4u, 2u, 0u}));
  park(all, 4, 1.0);
  park(all, 3, 1.0);
  all.unpark(3);
  all.move_to(3, worker_state::running);
  EXPECT_EQ(order(), (std::vector{1u, 2u, 0u, 3u}));
  all.doom(2, reason::cancelled);
  all.exclude(0);
  EXPECT_EQ(order(), (std::vector{1u, 3u})) << "whoever waits for those to come back does not pass them each time";
  all.move_to(2, worker_state::admitted);
  all.depart(0, worker_state::dead);
  all.exclude(1);
  all.doom(3, reason::cancelled);
  EXPECT_EQ(order(), std::vector<std::uint32_t>{});
}

TEST(Roster, StepTimesAreSmoothed) {
  roster all = running(1);
  all.note_step_time(0, 2.0);
  EXPECT_EQ(all[0].smoothed_step_time, 2.0F) << "the first one counts in full";
  all.note_step_time(0, 4.0);
  EXPECT_EQ(all[0].step_time, 4.0F);
  EXPECT_NEAR(all[0].smoothed_step_time, 2.4F, 1e-6F);
  all.note_step_time(0, 0.0);
  EXPECT_GT(all[0].step_time, 0.0F);
  EXPECT_EQ(all.speeds().size(), 1u);
  all.depart(0, worker_state::dead);
  EXPECT_EQ(all.speeds().size(), 0u);
  EXPECT_EQ(all[0].smoothed_step_time, 0.0F) << "its next life may be on another machine";
}

// Else the mean would become infinite, and then NaN, which no class of speeds would ever let go of.
TEST(Roster, StepsBeyondAnyMeasureAreCountedOnce) {
  roster all = running(2);
  for (const double duration : {1e300, 1e300, 0.0, std::numeric_limits<double>::quiet_NaN()}) {
    all.note_step_time(0, duration);
    EXPECT_EQ(all.speeds().size(), 1u);
    EXPECT_TRUE(all[0].smoothed_step_time > 0 && all[0].smoothed_step_time < 1e31F);
  }
  all.depart(0, worker_state::left);
  EXPECT_EQ(all.speeds().size(), 0u);
}

// Semantics 7: the bound for workers that have started a step, one more for those that have not.
TEST(Roster, RebaseGivesTheParkedOneStepMore) {
  roster all = running(4);
  for (std::uint32_t w = 1; w < 4; ++w)
    for (int i = 0; i < 9; ++i) all.clock().tick(w);
  park(all, 1, 1.0);
  all.move_to(2, worker_state::admitted);
  std::vector<std::uint32_t> clamped;
  all.rebase(2, [&](std::uint32_t w) { clamped.push_back(w); });
  EXPECT_EQ(all.clock().clock(0), 0u);
  EXPECT_EQ(all.clock().clock(1), 3u);
  EXPECT_EQ(all.clock().clock(2), 2u);
  EXPECT_EQ(all.clock().clock(3), 2u);
  EXPECT_EQ(clamped, (std::vector{1u, 2u, 3u}));
}

TEST(Roster, EveryStateHasItsName) {
  std::set<std::string_view> names;
  for (int s = 0; s < static_cast<int>(worker_state::count_); ++s) names.insert(name(static_cast<worker_state>(s)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(worker_state::count_));
  EXPECT_EQ(name(worker_state::count_), "invalid");
}

}  // namespace
}  // namespace rubato
