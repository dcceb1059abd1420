// A learner allocates nothing once it exists: not in the loop that it shares with a host or a simulation.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <rubato/rl/ppo.hpp>

#include "../support/counted_allocations.hpp"
#include "agents.hpp"

namespace rubato::rl {
namespace {

using rubato::test::allocations;
using rubato::test::counting;

template <Learner Agent>
void expect_no_allocation(Agent& agent) {
  allocations = 0;
  counting = true;
  for (std::uint64_t i = 0; i < 200; ++i) {
    random_sequence random = sequence_for(1, purpose::exploration, i);
    const std::array<float, 4> here{static_cast<float>(random.uniform()), 1, 2, 3};
    agent.record({.observation = here,
                  .action = agent.act(here, all_legal, random),
                  .reward = 1,
                  .next = here,
                  .terminated = i % 20 == 19});
    agent.update(random);
  }
  counting = false;
  EXPECT_EQ(allocations, 0u);
}
void expect_no_allocation(dqn_options options) {
  options.learn_after = options.batch;
  dqn<> agent = *dqn<>::make(test::drawn({4, 16, options.dueling ? 3U : 2U}, 1), options);
  expect_no_allocation(agent);
  EXPECT_GT(agent.counters().updates + agent.counters().rejected_updates, 100u);
}

TEST(NoAllocation, InTheLoop) {
  expect_no_allocation(dqn_options::paper());
  dqn_options options = dqn_options::robust();
  expect_no_allocation(options);
  options.dueling = true;
  options.sample = sampling::prioritised;
  expect_no_allocation(options);
}

TEST(NoAllocation, InTheLoopOfPpo) {
  ppo_options options = ppo_options::robust();
  options.horizon = 70;  // not a multiple of the batch
  options.max_divergence = 0.01;
  ppo<> agent = *ppo<>::make(test::drawn({4, 16, 2}, 1), test::drawn({4, 16, 1}, 2), options);
  expect_no_allocation(agent);
  EXPECT_EQ(agent.counters().rollouts, 2u);
}

// The counter counts.
TEST(NoAllocation, IsMeasured) {
  allocations = 0;
  counting = true;
  const replay_buffer replay{10, 2};
  counting = false;
  EXPECT_EQ(allocations, 1u);
}

}  // namespace
}  // namespace rubato::rl
