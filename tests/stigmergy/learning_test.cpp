#include "../../bench/experiments/stigmergy/learning.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "../../bench/experiments/stigmergy/pictures.hpp"
#include "../../bench/experiments/stigmergy/right_of_way.hpp"

namespace stigmergy {
namespace {

TEST(Gini, ByHand) {
  EXPECT_EQ(gini(std::array<std::uint32_t, 3>{4, 4, 4}), 0);
  EXPECT_EQ(gini(std::array<std::uint32_t, 4>{0, 0, 8, 0}), 0.75) << "1 - 1 / 4";
  EXPECT_EQ(gini(std::array<std::uint32_t, 2>{1, 3}), 0.25) << "(2 + 2) / (2 * 2 * 4)";
  EXPECT_EQ(gini(std::array<std::uint32_t, 2>{0, 0}), 0);
}

// A train of eight, and one that knows no better than chance.
TEST(RightOfWay, FetchesWithAnyNumberOfAgents) {
  for (const std::size_t agents : {1U, 2U, 4U, 8U})
    for (const bool stochastic : {false, true}) {
      tunnel world{{.agents = agents, .stochastic = stochastic}};
      const double delivered = play(world, right_of_way{}, 1, rubato::rl::purpose::test, 10).delivered;
      EXPECT_GT(delivered, agents == 1 ? 8 : 12) << agents;
    }
  const chooser by_chance = [](const tunnel&, std::size_t, rubato::random_sequence& random) {
    return static_cast<std::uint32_t>(random.below(5));
  };
  tunnel world{{}};
  EXPECT_LT(play(world, by_chance, 1, rubato::rl::purpose::test, 10).delivered, 1);
}

TEST(Learning, RewardsAreShared) {
  std::vector<float> out;
  share_rewards({.team_share = 0.5, .reward_scale = 0.5}, std::array{4.0F, 0.0F}, out);
  EXPECT_EQ(out, (std::vector{1.5F, 0.5F})) << "half of (2 + 1), half of (0 + 1)";
}

TEST(Learning, EpisodesAreToldAgentByAgent) {
  joint_episode episode{2, 1};
  for (int t = 0; t < 3; ++t) {
    const auto step = static_cast<float>(t);
    episode.see(std::array{step, 10 + step});
    episode.act(std::array{static_cast<std::uint32_t>(t), 4U}, std::array{step, -step});
  }
  episode.see(std::array{3.0F, 13.0F});
  std::string told;
  episode.tell([&](const rubato::rl::transition& step) {
    told += std::to_string(static_cast<int>(step.observation[0])) + ">" +
            std::to_string(static_cast<int>(step.next[0])) + ":" + std::to_string(step.action) + "," +
            std::to_string(static_cast<int>(step.reward)) + (step.truncated ? "| " : " ");
  });
  EXPECT_EQ(told, "0>1:0,0 1>2:1,1 2>3:2,2| 10>11:4,0 11>12:4,-1 12>13:4,-2| ");
}

TEST(Learning, CurriculaEndWithTheNumberThatIsWanted) {
  const std::vector<stage> four = curriculum(4, 10, 52);
  ASSERT_EQ(four.size(), 3U);
  EXPECT_EQ(four[0].agents, 1U);
  EXPECT_EQ(four[1].steps, 10U);
  EXPECT_EQ(four[2].agents, 4U);
  EXPECT_EQ(four[2].steps, 52U);
  EXPECT_EQ(curriculum(1, 10, 50).size(), 1U);

  const std::vector<stage> slower = settling(four);
  ASSERT_EQ(slower.size(), 5U);
  EXPECT_EQ(slower[2].steps, 26U);
  EXPECT_EQ(slower[4].steps, 13U);
  EXPECT_EQ(slower[2].rate, 1);
  EXPECT_EQ(slower[4].rate, 0.1);
}

plan short_plan(std::size_t agents) {
  return {.world = {.agents = agents, .steps = 60},
          .stages = curriculum(agents, 600, 1'200),
          .seed = 3,
          .look_every = 600,
          .look_episodes = 2};
}

template <class Train>
void is_the_same_again(Train&& train) {
  const trained first = train(), second = train();
  ASSERT_FALSE(first.looks.empty());
  ASSERT_TRUE(first.policy);
  for (std::size_t i = 0; i < first.looks.size(); ++i) EXPECT_EQ(first.looks[i].delivered, second.looks[i].delivered);
  tunnel world{{.agents = first.looks.back().agents}};
  const summary one = play(world, first.policy, 1, rubato::rl::purpose::test, 2);
  const summary other = play(world, second.policy, 1, rubato::rl::purpose::test, 2);
  EXPECT_EQ(one.idle, other.idle);
  EXPECT_EQ(one.collisions, other.collisions);
}

TEST(Learning, DqnIsTheSameAgain) {
  rubato::rl::dqn_options options = dqn_settings();
  options.learn_after = 100;
  is_the_same_again([&] { return train_dqn(short_plan(2), options); });
}
TEST(Learning, MappoIsTheSameAgain) {
  is_the_same_again([] { return train_mappo(short_plan(2), mappo_settings(), 2); });
}
TEST(Learning, MaddpgIsTheSameAgain) {
  plan by = short_plan(2);
  by.stages = {{2, 1'200}};
  is_the_same_again([&] { return train_maddpg(by, {.batch = 32, .learn_after = 100}); });
}

// Two agents are paid where both take the last of three actions, and a little where both take the first.
TEST(Maddpg, LearnsToAgree) {
  rubato::random_sequence random{2};
  maddpg agents{{.agents = 2,
                 .inputs = 1,
                 .actions = 3,
                 .hidden = {16},
                 .gamma = 0,
                 .actor_rate = 0.01,
                 .critic_rate = 0.01,
                 .capacity = 1'000,
                 .batch = 64,
                 .update_every = 1,
                 .learn_after = 100},
                random};
  const std::array seen{1.0F, 1.0F};
  std::uint32_t agreed = 0;
  for (int t = 0; t < 1'500; ++t) {
    const std::array actions{agents.act(0, std::array{1.0F}, random), agents.act(1, std::array{1.0F}, random)};
    const float paid = actions[0] != actions[1] ? 0.0F : actions[0] == 2 ? 1.0F : actions[0] == 0 ? 0.2F : 0.0F;
    agents.record(seen, actions, std::array{paid, paid}, seen);
    agents.update(random);
    if (t >= 1'400) agreed += paid == 1 ? 1 : 0;
  }
  EXPECT_GT(agreed, 90U);
}

std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(Pictures, HaveWhatHappened) {
  tunnel world{{.agents = 3, .steps = 20}};
  recording film;
  play(world, 1, right_of_way{}, [&](const tunnel& now) { film(now); });
  const std::string moving = film.animation(10), heat = film.heat_map();
  EXPECT_EQ(count_of(moving, "<circle r=\"7\""), 3U);
  EXPECT_EQ(count_of(moving, "attributeName=\"cx\""), 3U);
  const std::size_t at = moving.find("attributeName=\"cx\"");
  const std::string values = moving.substr(at, moving.find("/>", at) - at);
  EXPECT_EQ(count_of(values, ";"), 20U) << "the state before each step, and the last";
  EXPECT_EQ(count_of(moving, "<rect"), count_of(moving, "</rect>") + 1) << "one is a background";
  EXPECT_EQ(count_of(heat, "#b03a2e"), world.state_size() / 3);
  EXPECT_EQ(count_of(heat, "#3366cc"), world.state_size() / 3);
}

}  // namespace
}  // namespace stigmergy
