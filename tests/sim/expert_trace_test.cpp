#include <rubato/sim/expert_trace.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include <rubato/encode/rlp_state.hpp>
#include <rubato/sim/environment.hpp>
#include <rubato/sim/quadratic.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/rivals/k_sync.hpp>
#include <rubato/sync/ssp.hpp>

namespace rubato::sim {
namespace {

const run_options one_run{.seed = 3,
                          .target_accuracy = 0.9,
                          .max_time = 300,
                          .evaluate_every = 5,
                          .learning_rate = {.base = 0.1, .boundaries = {}}};

TEST(ExpertTrace, ExpertsInTheirOwnWords) {
  quadratic goal;
  expert_trace trace;
  const run_result asynchronous = record_expert<rlp_state>({.workers = 3}, one_run, asp{}, goal, trace);
  EXPECT_EQ(trace.actions, std::vector(asynchronous.pushes, group_action::submitter));
  EXPECT_EQ(trace.approximated, 0U);

  const run_result barrier = record_expert<rlp_state>({.workers = 3}, one_run, bsp{bsp::sum}, goal, trace);
  ASSERT_EQ(trace.size(), barrier.pushes);
  for (std::size_t i = 0; i < trace.size(); ++i)
    EXPECT_EQ(trace.actions[i], i % 3 == 2 ? group_action::all : group_action::hold) << i;
  EXPECT_EQ(trace.approximated, 0U);

  // One is twice as slow. The others wait for it once they are a step ahead.
  static_cast<void>(record_expert<rlp_state>({.workers = 3, .step_time = {1, 1, 2.5}, .jitter = 0}, one_run,
                                             ssp{.staleness = 1}, goal, trace));
  using enum group_action;
  const std::vector<group_action> first(trace.actions.begin(), trace.actions.begin() + 5);
  EXPECT_EQ(first, (std::vector{submitter, submitter, hold, hold, all}));
}

// The environment, given the same actions, goes the same way: so the observations are those that a learner would see.
TEST(ExpertTrace, SameRunAsSimulate) {
  quadratic goal, other;
  const cluster_options machines{.workers = 4, .cores = 2};
  for (const any_policy& expert : {any_policy{asp{}}, any_policy{bsp{bsp::sum}}, any_policy{ssp_rlp(2)}}) {
    expert_trace trace;
    const run_result run = record_expert<rlp_state>(machines, one_run, expert, goal, trace);
    EXPECT_EQ(run, simulate(machines, one_run, expert, other));
    ASSERT_EQ(trace.size(), run.pushes);
    ASSERT_EQ(trace.approximated, 0U);
    environment<quadratic, rlp_state> task{machines, one_run, other};
    std::span<const float> seen = task.reset(one_run.seed);
    for (std::size_t i = 0; i < trace.size(); ++i) {
      ASSERT_TRUE(std::ranges::equal(seen, trace.observation(i))) << i;
      ASSERT_EQ(task.legal(), trace.legal[i]) << i;
      EXPECT_EQ(task.now(), trace.times[i]);
      EXPECT_EQ(canonical(trace.actions[i], trace.legal[i]), trace.actions[i]);
      if (!task.done()) seen = task.step(trace.actions[i]).observation;
    }
    EXPECT_TRUE(task.done());
    EXPECT_EQ(task.result().time, run.time);
  }
}

TEST(ExpertTrace, TimeLeftCountsDown) {
  quadratic goal;
  expert_trace trace;
  const run_result run = record_expert<rlp_state>({.workers = 3}, one_run, asp{}, goal, trace);
  ASSERT_TRUE(run.reached);
  ASSERT_EQ(trace.time_left.size(), trace.size());
  for (std::size_t i = 0; i < trace.size(); ++i) EXPECT_EQ(trace.time_left[i], run.time - trace.times[i]);
  EXPECT_EQ(trace.time_left.back(), 0.0);
  EXPECT_EQ(trace.observations.size(), 40 * trace.size());
}

TEST(ExpertTrace, UnreachedCountsFromMaxTime) {
  quadratic goal;
  expert_trace trace;
  run_options run = one_run;
  run.max_time = 5.5;
  static_cast<void>(record_expert<rlp_state>({.workers = 3}, run, asp{}, goal, trace));
  EXPECT_EQ(trace.time_left.front(), 5.5 - trace.times.front());
}

TEST(ExpertTrace, InvalidOptionsRunNothing) {
  quadratic goal;
  expert_trace trace;
  run_options run = one_run;
  run.max_time = -1;
  EXPECT_EQ(record_expert<rlp_state>({.workers = 3}, run, asp{}, goal, trace).end, run_end::invalid);
  EXPECT_EQ(record_expert<rlp_state>({.workers = 3}, one_run, k_sync{.k = 4}, goal, trace).end, run_end::invalid);
  EXPECT_EQ(trace.size(), 0U);
}

// Frees the one who has waited longest, at every second push.
struct one_of_many {
  std::uint32_t pushes = 0;
  [[nodiscard]] decision release(const cluster_view& view, const event& what) noexcept {
    if (what.why != cause::push) return decision::all();
    return ++pushes % 2 == 0 || view.busy() == 0 ? decision::up_to(1) : decision::hold();
  }
};

TEST(ExpertTrace, CountsWhatIsApproximate) {
  quadratic goal;
  expert_trace trace;
  static_cast<void>(record_expert<rlp_state>({.workers = 4}, one_run, one_of_many{}, goal, trace));
  EXPECT_GT(trace.approximated, 5U);
}

}  // namespace
}  // namespace rubato::sim
