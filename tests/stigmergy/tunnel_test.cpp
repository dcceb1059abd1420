#include "../../bench/experiments/stigmergy/tunnel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace stigmergy {
namespace {

constexpr std::uint32_t up = 0, right = 1, down = 2, left = 3;

tunnel alone() { return tunnel{{.agents = 1, .stochastic = false, .pellets = 1}}; }

/// Does what the agents were told, and answers what they got.
std::vector<float> moved(tunnel& world, const std::vector<std::uint32_t>& actions) {
  const auto rewards = world.step(actions).rewards;
  return {rewards.begin(), rewards.end()};
}

TEST(Tunnel, IsAnEnvironmentForSeveral) { EXPECT_TRUE(rubato::rl::MultiAgentEnvironment<tunnel>); }

TEST(Tunnel, APelletIsFetchedByHand) {
  tunnel world = alone();
  world.reset(0);
  ASSERT_EQ(world.place(0), (cell{1, 1}));
  ASSERT_TRUE(world.has_pellet({13, 1}));
  for (const std::uint32_t action : {down, down}) EXPECT_EQ(moved(world, {action})[0], 0.5F) << "nearer by one";
  for (int k = 0; k < 12; ++k) EXPECT_EQ(moved(world, {right})[0], 0.5F) << k;
  EXPECT_EQ(world.place(0), (cell{13, 3}));
  EXPECT_EQ(moved(world, {left})[0], -0.5F) << "further by one";
  EXPECT_EQ(moved(world, {right})[0], 0.5F);
  EXPECT_EQ(moved(world, {up})[0], 0.5F);
  EXPECT_FALSE(world.carries(0));
  EXPECT_EQ(moved(world, {up})[0], 0.5F + 10) << "nearer, and picked up";
  EXPECT_TRUE(world.carries(0));
  EXPECT_FALSE(world.has_pellet({13, 1}));
  for (const std::uint32_t action : {down, down}) EXPECT_EQ(moved(world, {action})[0], 0.5F) << "home is the goal now";
  for (int k = 0; k < 11; ++k) EXPECT_EQ(moved(world, {left})[0], 0.5F) << k;
  EXPECT_EQ(world.delivered(), 0U);
  EXPECT_EQ(moved(world, {left})[0], 0.5F + 20) << "delivered";
  EXPECT_EQ(world.delivered(), 1U);
  EXPECT_FALSE(world.carries(0));
}

TEST(Tunnel, WallsAndOthersAreInTheWay) {
  tunnel world{{.agents = 2, .stochastic = false}};
  world.reset(0);
  ASSERT_EQ(world.place(0), (cell{1, 1}));
  ASSERT_EQ(world.place(1), (cell{2, 1}));
  EXPECT_EQ(moved(world, {up, stay}), (std::vector{0.0F, 0.0F})) << "a wall costs nothing";
  EXPECT_EQ(world.place(0), (cell{1, 1}));
  EXPECT_EQ(world.heading(0), up);
  EXPECT_EQ(moved(world, {right, stay}), (std::vector{-0.4F, 0.0F}));
  EXPECT_EQ(world.place(0), (cell{1, 1}));
  EXPECT_EQ(world.tally().collisions, (std::vector{1U, 0U}));
  EXPECT_EQ(world.tally().idle, (std::vector{0U, 2U}));
  // In this world the first moves before the second, which may then go where the first was.
  EXPECT_EQ(moved(world, {down, left}), (std::vector{0.5F, -0.5F}));
  EXPECT_EQ(world.place(1), (cell{1, 1}));
}

TEST(Tunnel, ObservationsByHand) {
  tunnel world{{.agents = 2, .stochastic = false}};
  world.reset(0);
  const auto at = [&](std::size_t channel, int x, int y) {
    const auto k = static_cast<std::size_t>((y + 2) * 5 + x + 2);
    return world.observation(0)[channel * 25 + k];
  };
  EXPECT_EQ(at(0, 0, 0), 0.0F);
  EXPECT_EQ(at(0, 0, -1), 1.0F) << "a wall above";
  EXPECT_EQ(at(0, -2, 0), 1.0F) << "beyond the edge";
  EXPECT_EQ(at(1, 1, 0), 1.0F) << "the other";
  EXPECT_EQ(at(1, 0, 0), 0.0F) << "not itself";
  EXPECT_EQ(std::accumulate(world.observation(0).begin() + 75, world.observation(0).begin() + 100, 0.0F), 0.0F);
  moved(world, {down, stay});
  EXPECT_GT(at(3, 0, 0), 0.0F);
  EXPECT_EQ(at(3, 0, -1), 0.0F) << "it left before there were deposits";
  EXPECT_EQ(at(3, 1, -1), at(3, 0, 0)) << "both have one deposit";
  const auto rest = world.observation(0).subspan(100);
  EXPECT_EQ((std::vector<float>{rest.begin(), rest.begin() + 5}), (std::vector<float>{0, 0, 0, 1, 0}))
      << "carries, heading";
  EXPECT_GT(rest[5], 0.9F) << "the goal is to the right";
  EXPECT_NEAR(rest[5] * rest[5] + rest[6] * rest[6], 1, 1e-6);
}

TEST(Tunnel, WithoutPheromoneNobodySensesIt) {
  tunnel world{{.agents = 3, .has_pheromone = false}};
  world.reset(1);
  for (int t = 0; t < 20; ++t) moved(world, {right, left, stay});
  for (std::size_t i = 0; i < 3; ++i) {
    const auto traces = world.observation(i).subspan(75, 25);
    EXPECT_TRUE(std::ranges::all_of(traces, [](float x) { return x == 0; }));
  }
  EXPECT_GT(world.pheromone(world.place(2)), 0.0F) << "but there is some";
}

TEST(Tunnel, EpisodesDependOnTheSeedAlone) {
  const auto episode = [](tunnel& world, std::uint64_t seed) {
    world.reset(seed);
    std::vector<float> seen;
    rubato::random_sequence random{7};
    for (int t = 0; t < 60; ++t) {
      std::vector<std::uint32_t> actions(world.agents());
      for (std::uint32_t& each : actions) each = static_cast<std::uint32_t>(random.below(5));
      const auto rewards = moved(world, actions);
      seen.insert(seen.end(), rewards.begin(), rewards.end());
      seen.insert(seen.end(), world.observations().begin(), world.observations().end());
    }
    return seen;
  };
  tunnel world{{.agents = 4}}, other{{.agents = 4}}, fixed{{.agents = 4, .stochastic = false}};
  const std::vector<float> first = episode(world, 1);
  EXPECT_NE(episode(world, 2), first);
  EXPECT_EQ(episode(world, 1), first);
  EXPECT_EQ(episode(other, 1), first);
  EXPECT_EQ(episode(fixed, 1), episode(fixed, 2)) << "nothing is left to chance";
}

TEST(Tunnel, NothingIsLostOrDoubled) {
  tunnel world{{.agents = 8, .pellets = 6}};
  rubato::random_sequence random{1};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    world.reset(seed);
    for (bool is_over = false; !is_over;) {
      std::vector<std::uint32_t> actions;
      for (std::size_t i = 0; i < world.agents(); ++i)
        actions.push_back(random.below(3) == 0 ? static_cast<std::uint32_t>(random.below(5)) : world.way(i));
      is_over = world.step(actions).truncated;
      std::uint32_t pellets = 0, agents = 0;
      for (std::int32_t row = 0; row < world.rows(); ++row)
        for (std::int32_t column = 0; column < world.columns(); ++column)
          if (const cell at{column, row}; !world.is_wall(at)) {
            pellets += world.has_pellet(at) ? 1 : 0;
            if (const auto who = world.occupant(at); who >= 0) {
              ++agents;
              ASSERT_EQ(world.place(static_cast<std::size_t>(who)), at);
            }
          }
      ASSERT_EQ(pellets, 6U);
      ASSERT_EQ(agents, 8U);
    }
  }
}

TEST(Tunnel, HasTheLengthThatItIsGiven) {
  for (const std::size_t length : {1U, 16U}) {
    tunnel world{{.length = length}};
    std::size_t cells = 0;
    for (std::int32_t column = 0; column < world.columns(); ++column)
      cells += world.in_tunnel({column, tunnel::tunnel_row}) ? 1 : 0;
    EXPECT_EQ(cells, length);
    EXPECT_EQ(world.state_size(), 3 * (20 + length + 20));
  }
}

TEST(Tunnel, StateIsOfEveryOpenCell) {
  tunnel world = alone();
  world.reset(0);
  const std::vector<float> state = world.state();
  EXPECT_EQ(state.size(), world.state_size());
  EXPECT_EQ(std::accumulate(state.begin(), state.end(), 0.0F), 2.0F) << "an agent and a pellet";
  EXPECT_EQ(state[0], 1.0F) << "the agent in the first open cell";
}

}  // namespace
}  // namespace stigmergy
