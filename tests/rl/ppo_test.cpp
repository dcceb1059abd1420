#include <rubato/rl/ppo.hpp>

#include <gtest/gtest.h>

#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <rubato/nn/mlp.hpp>
#include <rubato/rl/training.hpp>

#include "agents.hpp"
#include "support/cart_pole.hpp"
#include "support/corridor.hpp"

namespace rubato::rl {
namespace {

using test::drawn;
using test::linear;
using test::parameters;
using test::row;
using test::saved;

TEST(Ppo, ConfigurationHasBothNetworks) {
  const auto agent = *ppo<>::make(drawn({2, 8, 3}, 1), drawn({2, 5, 1}, 2), {});
  const std::vector<std::string> lines = agent.configuration();
  for (const char* line : {"layer=8", "layer=3", "hidden=leaky_relu", "value.layer=5", "value.layer=1", "clip=0.2"})
    EXPECT_TRUE(std::ranges::find(lines, line) != lines.end()) << line;
}

TEST(Ppo, BadOptionsAreRefused) {
  const auto refusal = [](const nn::dynamic_mlp& policy, const nn::dynamic_mlp& value, ppo_options options = {}) {
    const auto made = ppo<>::make(policy, value, options);
    EXPECT_EQ(made.error().code, errc::invalid_option);
    return made.error().message;
  };
  const nn::dynamic_mlp two = linear(1, 2, {}), one = linear(1, 1, {});
  EXPECT_EQ(refusal(two, one, {.gamma = 2}), "ppo: gamma: found 2, expected a number in [0, 1]");
  EXPECT_EQ(refusal(two, one, {.horizon = 10}), "ppo: batch: found 64, expected 1 to horizon");
  EXPECT_EQ(refusal(two, one, {.undecided_action = 2}), "ppo: undecided_action: found 2, expected 0 to 1");
  EXPECT_EQ(refusal(linear(1, 33, {}), one), "ppo: outputs of the policy: found 33, expected 1 to 32");
  EXPECT_EQ(refusal(two, two), "ppo: outputs of the value network: found 2, expected 1");
  EXPECT_EQ(refusal(linear(3, 2, {}), one),
            "ppo: inputs of the value network: found 1, expected those of the policy or more, 3");
  EXPECT_EQ(detail::with_value("gamma", {"gamma=2"}), "gamma");
  EXPECT_EQ(detail::with_value("a: expected 1", {"ab=2"}), "a: expected 1");
}

// One batch of all, once, and nothing that would hide the arithmetic.
ppo_options plain(std::size_t horizon) {
  ppo_options options = ppo_options::paper();
  options.horizon = options.batch = horizon;
  options.epochs = 1;
  return options;
}

// Both actions have 1/2. V(2) = 0.5, so the advantage is 1.5, the loss -1.5, the slopes -0.75 and 0.75, times the
// observation by the weights. The value's loss is 1.5^2. Adam's first step moves each parameter by its learning rate.
TEST(Ppo, UpdateByHand) {
  auto agent = *ppo<>::make(linear(1, 2, {0, 0, 0, 0}), linear(1, 1, {0.25F, 0}), plain(1));
  agent.record(row{{2}, {1}, 0, 2, 1, true});
  random_sequence random{1};
  const update_stats stats = agent.update(random);
  EXPECT_TRUE(stats.learned);
  EXPECT_NEAR(stats.loss, -1.5 + 2.25, 1e-6);
  EXPECT_NEAR(stats.gradient_norm, 0.75 * std::sqrt(2 * 4 + 2 * 1), 1e-6);
  const std::array<double, 4> expected{0.0003, -0.0003, 0.0003, -0.0003};
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(agent.policy().parameters()[i], expected.at(i), 1e-8) << i;
  EXPECT_NEAR(agent.value().parameters()[0], 0.2503, 1e-7);
  EXPECT_NEAR(agent.value().parameters()[1], 0.0003, 1e-8);
  EXPECT_EQ(agent.rollout().size(), 0u);
  EXPECT_EQ(agent.counters().updates, 1u);
  EXPECT_EQ(agent.counters().value_updates, 1u);
}

// As UpdateByHand, and the other action is not legal: its probability is 1 whatever is learned.
TEST(Ppo, StepsOfOtherActorsAreRecordedWithTheirMasks) {
  auto agent = *ppo<>::make(linear(1, 2, {0, 0, 0, 0}), linear(1, 1, {0.25F, 0}), plain(1));
  EXPECT_FALSE(agent.is_due());
  const row step{{2}, {1}, 0, 2, 1, true};
  agent.record(step, 0b01);
  EXPECT_TRUE(agent.is_due());
  EXPECT_EQ(agent.counters().replaced, 0u);
  random_sequence random{1};
  EXPECT_TRUE(agent.update(random).learned);
  EXPECT_FALSE(agent.is_due());
  for (const float each : agent.policy().parameters()) EXPECT_EQ(each, 0);
  agent.record(step, 0b11);
  agent.record(step, 0b11);
  EXPECT_EQ(agent.counters().rejected_transitions, 1u) << "there was no room";
  agent.update(random);
  EXPECT_GT(agent.policy().parameters()[0], 0);
}

// Nobody moves, so the loss tells which steps were in the batches. V is half of the reward r: a step costs (r/2)^2 -
// r/2.
TEST(Ppo, BatchesAreAllOfTheRollout) {
  ppo_options options = plain(4);
  options.batch = 2;
  options.learning_rate = options.value_learning_rate = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    auto agent = *ppo<>::make(linear(1, 2, {}), linear(1, 1, {1, 0}), options);
    for (const float half : {1.0F, 2.0F, 4.0F, 8.0F}) agent.record(row{{half}, {1}, 0, 2 * half, 1, true});
    random_sequence random{seed};
    EXPECT_NEAR(agent.update(random).loss, (0 + 2 + 12 + 56) / 4.0, 1e-5);
  }
  options = plain(5);
  options.batch = 2;
  options.epochs = 3;
  auto agent = *ppo<>::make(linear(1, 2, {}), linear(1, 1, {}), options);
  for (int i = 0; i < 5; ++i) agent.record(row{{1}, {1}, 0, 1});
  random_sequence random{1};
  agent.update(random);
  EXPECT_EQ(agent.counters().updates, 9u) << "the last batch of a pass is what is left";
}

TEST(Ppo, AdvantagesAreNormalisedIfAskedFor) {
  ppo_options options = plain(2);
  options.learning_rate = options.value_learning_rate = 0;
  for (const bool normalises : {false, true}) {
    options.normalises_advantages = normalises;
    auto agent = *ppo<>::make(linear(1, 2, {}), linear(1, 1, {}), options);
    agent.record(row{{1}, {1}, 0, 10, 1, true});
    agent.record(row{{1}, {1}, 1, 30, 1, true});
    random_sequence random{1};
    const update_stats stats = agent.update(random);
    EXPECT_NEAR(stats.loss, 500 - (normalises ? 0 : 20), 1e-3);
    EXPECT_NEAR(stats.gradient_norm, normalises ? 1 : 10, 1e-3) << "-1 and 1: slopes 1/2 and -1/2, twice, by both";
  }
}

// Without an advantage, what is left is the bonus on log(1 + e) - e / (1 + e), the entropy of preferences 1 and 0.
TEST(Ppo, EntropyBonusMakesLessSure) {
  ppo_options options = plain(1);
  options.entropy_bonus = 0.5;
  auto agent = *ppo<>::make(linear(1, 2, {0, 0, 1, 0}), linear(1, 1, {}), options);
  agent.record(row{{1}, {1}, 0, 0, 1, true});
  random_sequence random{1};
  const double e = std::exp(1.0);
  EXPECT_NEAR(agent.update(random).loss, -0.5 * (std::log(1 + e) - e / (1 + e)), 1e-6);
  EXPECT_LT(agent.policy().parameters()[2], 1);
  EXPECT_GT(agent.policy().parameters()[3], 0);
}

TEST(Ppo, NothingIsLearnedBeforeTheRolloutIsFull) {
  auto agent = *ppo<>::make(linear(1, 2, {}), linear(1, 1, {}), plain(5));
  random_sequence random{1};
  for (int i = 1; i <= 12; ++i) {
    agent.record(row{{2}, {1}, 0, -1});
    EXPECT_EQ(agent.update(random).learned, i % 5 == 0) << i;
  }
  EXPECT_EQ(agent.counters().rollouts, 2u);
  EXPECT_EQ(agent.rollout().size(), 2u);
}

// V(s) = 3 s.
TEST(Ppo, TruncatedEpisodesBootstrap) {
  auto agent = *ppo<>::make(linear(1, 2, {}), linear(1, 1, {3, 0}), plain(4));
  agent.record(row{{1}, {2}, 0, 1, 1, false, true});
  agent.record(row{{1}, {2}, 0, 1, 1, true, false});
  agent.record(row{{1}, {2}, 0, 1});
  const auto steps = agent.rollout().steps();
  EXPECT_TRUE(steps[0].last);
  EXPECT_EQ(steps[0].after, 6);
  EXPECT_EQ(steps[0].discount, 0.99F);
  EXPECT_TRUE(steps[1].last);
  EXPECT_EQ(steps[1].discount, 0) << "y = r at the end";
  EXPECT_FALSE(steps[2].last);
  agent.record(row{{2}, {5}, 0, 1});
  EXPECT_TRUE(agent.rollout().steps()[3].last) << "the rollout ends here";
  EXPECT_EQ(agent.rollout().steps()[3].after, 15);
}

TEST(Ppo, ElapsedTimeDiscounts) {
  ppo_options options = plain(2);
  options.gamma = 0.5;
  options.time_unit = 2;
  for (const discounting kind : {discounting::per_step, discounting::by_elapsed}) {
    options.discount = kind;
    auto agent = *ppo<>::make(linear(1, 2, {}), linear(1, 1, {}), options);
    agent.record(row{{1}, {2}, 0, 1, 4});
    EXPECT_EQ(agent.rollout().steps()[0].discount, kind == discounting::per_step ? 0.5F : 0.25F);
  }
}

TEST(Ppo, ActsByTheSoftmax) {
  auto agent = *ppo<>::make(linear(1, 2, {0, 0, 0, std::log(3.0F)}), linear(1, 1, {}), {});
  const std::array<float, 1> here{1};
  random_sequence random{3};
  int second = 0;
  for (int i = 0; i < 2000; ++i) second += static_cast<int>(agent.act(here, all_legal, random));
  EXPECT_NEAR(second, 1500, 4 * std::sqrt(2000 * 3 / 16.0));
  EXPECT_EQ(agent.greedy(here, all_legal), 1u);
  EXPECT_EQ(agent.greedy(here, 0b01), 0u);
  EXPECT_EQ(agent.counters().steps, 2000u);
}

TEST(Ppo, IllegalActionsAreNeverTaken) {
  auto agent = *ppo<>::make(drawn({1, 4, 3}, 1), linear(1, 1, {}), {});
  random_sequence random{1};
  for (int i = 0; i < 500; ++i) {
    const std::array<float, 1> here{static_cast<float>(10 * random.normal())};
    const std::uint32_t legal = 1 + static_cast<std::uint32_t>(random.below(7));
    EXPECT_TRUE((legal >> agent.act(here, legal, random) & 1) != 0);
    EXPECT_TRUE((legal >> agent.greedy(here, legal) & 1) != 0);
  }
}

// A ratio of 1 whatever the action's probability is: the loss is minus the advantage, and what was done gains.
TEST(Ppo, TheExecutedActionIsLearned) {
  auto agent = *ppo<>::make(linear(1, 2, {0, 0, 9, 0}), linear(1, 1, {}), plain(1));
  const std::array<float, 1> here{1};
  random_sequence random{1};
  ASSERT_EQ(agent.act(here, all_legal, random), 0u);
  agent.record(row{{1}, {1}, 1, 2, 1, true});
  EXPECT_NEAR(agent.update(random).loss, -2 + 4, 1e-6);
  EXPECT_LT(agent.policy().parameters()[2], 9);
  EXPECT_GT(agent.policy().parameters()[3], 0);
  EXPECT_EQ(agent.counters().replaced, 1u);
}

TEST(Ppo, AnIllegalActionTeachesTheValueOnly) {
  auto agent = *ppo<>::make(linear(1, 3, {}), linear(1, 1, {}), plain(1));
  const std::array<float, 1> here{1};
  random_sequence random{1};
  static_cast<void>(agent.act(here, 0b011, random));
  agent.record(row{{1}, {1}, 2, 2, 1, true});
  const update_stats stats = agent.update(random);
  EXPECT_NEAR(stats.loss, 4, 1e-6);
  EXPECT_EQ(stats.gradient_norm, 0);
  EXPECT_EQ(parameters(agent.policy()), parameters(linear(1, 3, {})));
  EXPECT_GT(agent.value().parameters()[0], 0);
}

TEST(Ppo, DivergenceEndsThePasses) {
  ppo_options options = plain(2);
  options.epochs = 5;
  options.learning_rate = 0.5;
  options.max_divergence = 0.01;
  auto agent = *ppo<>::make(linear(1, 2, {}), linear(1, 1, {}), options);
  agent.record(row{{1}, {1}, 0, 1, 1, true});
  agent.record(row{{1}, {1}, 1, -1, 1, true});
  random_sequence random{1};
  agent.update(random);
  EXPECT_EQ(agent.counters().updates, 1u);
  EXPECT_EQ(agent.counters().value_updates, 5u) << "values are no matter of trust";
  EXPECT_EQ(agent.counters().stopped, 1u);
}

// Both gradients are cut to the same, so Adam moves by its rate twice, although the second was 100 times as long.
TEST(Ppo, ClipsTheGradients) {
  ppo_options options = plain(1);
  options.max_gradient_norm = 0.01;
  auto agent = *ppo<>::make(linear(1, 2, {}), linear(1, 1, {}), options);
  random_sequence random{1};
  for (const float reward : {1.0F, 100.0F}) {
    agent.record(row{{1}, {1}, 0, reward, 1, true});
    EXPECT_NEAR(agent.update(random).gradient_norm, reward, 1e-2 * static_cast<double>(reward));
  }
  EXPECT_NEAR(agent.policy().parameters()[0], 0.0006, 1e-8);
  EXPECT_NEAR(agent.value().parameters()[0], 0.0006, 1e-8);
}

TEST(Ppo, NonFiniteTransitionsAreCounted) {
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  auto agent = *ppo<>::make(linear(1, 2, {}), linear(1, 1, {3, 0}), plain(2));
  agent.record(row{{nan}, {1}, 0, -1});
  agent.record(row{{1}, {infinity}, 0, -1});
  agent.record(row{{1}, {1}, 0, nan});
  agent.record(row{{1}, {1}, 0, 0, std::nan("")});
  agent.record(row{{1}, {1}, 0, 0, -1});
  agent.record(row{{1}, {1}, 2, 0});
  EXPECT_EQ(agent.counters().rejected_transitions, 6u);
  EXPECT_EQ(agent.rollout().size(), 0u);

  agent.record(row{{1}, {2}, 0, 1});
  agent.record(row{{2}, {3}, 0, nan});
  EXPECT_EQ(agent.rollout().size(), 1u);
  EXPECT_TRUE(agent.rollout().steps()[0].last);
  EXPECT_EQ(agent.rollout().steps()[0].after, 6);

  agent.record(row{{2}, {3}, 0, 1});
  agent.record(row{{2}, {3}, 0, 1});
  EXPECT_EQ(agent.rollout().size(), 2u) << "full, and nobody called update()";
  EXPECT_EQ(agent.counters().rejected_transitions, 8u);
}

// Where advantages are too large for a float, so are the slopes; normalised, they are no numbers.
TEST(Ppo, NonFiniteGradientsAreCounted) {
  constexpr float huge = 3e38F;
  for (const bool normalises : {false, true}) {
    ppo_options options = plain(2);
    options.normalises_advantages = normalises;
    const nn::dynamic_mlp policy = linear(1, 2, {}), value = linear(1, 1, {0, -huge});
    auto agent = *ppo<>::make(policy, value, options);
    agent.record(row{{1}, {1}, 0, huge, 1, true});
    agent.record(row{{1}, {1}, 1, 1, 1, true});
    random_sequence random{1};
    EXPECT_FALSE(agent.update(random).learned);
    EXPECT_EQ(agent.counters().rejected_updates, 2u);
    EXPECT_EQ(agent.counters().updates, 0u);
    EXPECT_EQ(parameters(agent.policy()), parameters(policy));
    EXPECT_EQ(parameters(agent.value()), parameters(value));
  }
}

TEST(Ppo, TheNormTellsOfAGradientThatIsNotFinite) {
  constexpr float huge = 3e38F;
  ppo_options options = plain(2);
  options.batch = 1;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {  // whichever of the two comes first
    auto agent = *ppo<>::make(linear(1, 2, {}), linear(1, 1, {0, -huge}), options);
    agent.record(row{{0}, {0}, 0, huge, 1, true});
    agent.record(row{{1}, {1}, 1, -huge, 1, true});
    random_sequence random{seed};
    EXPECT_TRUE(std::isnan(agent.update(random).gradient_norm));
  }
}

TEST(Ppo, UndecidedActionIsTakenWhereNoPreferenceIsANumber) {
  const float nan = std::nanf("");
  const std::array<float, 1> here{1};
  random_sequence random{1};
  const nn::dynamic_mlp broken = linear(1, 3, {0, 0, 0, nan, nan, nan});
  auto agent = *ppo<>::make(broken, linear(1, 1, {}), {.undecided_action = 1});
  EXPECT_EQ(agent.greedy(here, all_legal), 1u);
  EXPECT_EQ(agent.act(here, all_legal, random), 1u);
  EXPECT_EQ(agent.act(here, 0b101, random), 0u);
  const float infinity = std::numeric_limits<float>::infinity();
  auto certain = *ppo<>::make(linear(1, 3, {0, 0, 0, 0, 0, infinity}), linear(1, 1, {}), {});
  EXPECT_EQ(certain.act(here, all_legal, random), 2u);
}

TEST(Ppo, AdoptForgetsTheRollout) {
  auto agent = *ppo<>::make(linear(1, 2, {}), linear(1, 1, {}), plain(3));
  agent.record(row{{1}, {1}, 0, 1});
  const nn::dynamic_mlp other = linear(1, 2, {1, 2, 3, 4});
  agent.adopt(other);
  EXPECT_EQ(parameters(agent.policy()), parameters(other));
  EXPECT_EQ(agent.rollout().size(), 0u);
}

// Feeds steps that are drawn from `from` on.
template <class Agent>
void live(Agent& agent, std::uint64_t from, std::uint64_t to) {
  for (std::uint64_t i = from; i < to; ++i) {
    random_sequence random{9, 0, i << 20};
    const std::array<float, 2> here{static_cast<float>(random.normal()), 1}, there{static_cast<float>(i % 5), 0};
    const std::uint32_t legal = i % 3 == 0 ? 0b011 : all_legal;
    agent.record({.observation = here,
                  .action = i % 7 == 0 ? 2 : agent.act(here, legal, random),
                  .reward = here[0],
                  .elapsed = 0.5 + random.uniform(),
                  .next = there,
                  .terminated = i % 11 == 0,
                  .truncated = i % 17 == 0});
    agent.update(random);
  }
}

ppo_options quick() {
  ppo_options options = ppo_options::robust();
  options.horizon = 60;
  options.batch = 16;
  options.epochs = 3;
  options.entropy_bonus = 0.01;
  options.max_divergence = 0.01;
  options.learning_rate = 0.01;
  return options;
}

TEST(Ppo, StateRoundTrip) {
  ppo<> agent = *ppo<>::make(drawn({2, 8, 3}, 1), drawn({2, 8, 1}, 2), quick()), copy = agent;
  live(agent, 0, 150);
  EXPECT_EQ(agent.rollout().size(), 30u);
  const auto bytes = saved(agent);
  archive reader{bytes};
  copy.state(reader);
  ASSERT_TRUE(reader.finished());
  live(agent, 150, 400);
  live(copy, 150, 400);
  EXPECT_EQ(saved(copy), saved(agent));
  EXPECT_EQ(agent.counters().rollouts, 6u);
  EXPECT_GT(agent.counters().stopped, 0u);
  EXPECT_LT(agent.counters().stopped, 6u);
  EXPECT_EQ(agent.counters().rejected_updates, 0u);

  archive cut{std::span{bytes}.first(bytes.size() - 1)};
  copy.state(cut);
  EXPECT_FALSE(cut.finished());
}

TEST(Ppo, StateHoldsWhatActWasTold) {
  auto agent = *ppo<>::make(linear(1, 3, {0, 0, 0, 0, 9, 0}), linear(1, 1, {}), plain(2)), copy = agent;
  const std::array<float, 1> here{1};
  random_sequence random{1};
  ASSERT_EQ(agent.act(here, 0b010, random), 1u);
  const auto bytes = saved(agent);
  archive reader{bytes};
  copy.state(reader);
  copy.record(row{{1}, {1}, 1, 2});
  EXPECT_EQ(copy.rollout().steps()[0].legal, 0b010u);
  EXPECT_EQ(copy.counters().replaced, 0u);
}

TEST(Ppo, StaticNetworksWork) {
  using network = nn::mlp<2, 8, 3>;
  using critic = nn::mlp<2, 8, 1>;
  static_assert(Learner<ppo<network, critic>>);
  const nn::dynamic_mlp policy = drawn({2, 8, 3}, 1), value = drawn({2, 8, 1}, 2);
  network fixed;
  critic judge;
  std::ranges::copy(policy.parameters(), fixed.parameters().begin());
  std::ranges::copy(value.parameters(), judge.parameters().begin());
  auto agent = *ppo<>::make(policy, value, quick());
  auto same = *ppo<network, critic>::make(fixed, judge, quick());
  live(agent, 0, 200);
  live(same, 0, 200);
  EXPECT_TRUE(std::ranges::equal(agent.policy().parameters(), same.policy().parameters()));
  EXPECT_TRUE(std::ranges::equal(agent.value().parameters(), same.value().parameters()));
}

// A bandit whose luck is known to the value network alone: one number for all, and one that only training sees.
std::vector<float> after_bandit(std::size_t extra, bool is_told) {
  auto agent = *ppo<>::make(
      drawn({1, 4, 2}, 1),
      [&] {
        nn::dynamic_mlp value = linear(1 + extra, 1, {});
        value.parameters()[0] = 0.5F;
        return value;
      }(),
      quick());
  random_sequence random{3};
  std::vector<float> seen(1 + extra, 0.0F);
  for (int t = 0; t < 300; ++t) {
    const auto luck = static_cast<float>(random.normal());
    seen[0] = static_cast<float>(t % 3);
    if (is_told) seen[1] = luck;
    const std::uint32_t action = agent.act(std::span<const float>{seen}.first(1), all_legal, random);
    EXPECT_EQ(agent.greedy(seen, all_legal), agent.greedy(std::span<const float>{seen}.first(1), all_legal));
    agent.record({.observation = seen, .action = action, .reward = luck, .next = seen, .terminated = true});
    agent.update(random);
  }
  std::vector<float> all = parameters(agent.policy());
  all.push_back(is_told ? agent.value().parameters()[1] : agent.value().parameters()[0]);
  return all;
}

TEST(Ppo, TheValueNetworkMaySeeMore) {
  EXPECT_EQ(after_bandit(1, false), after_bandit(0, false)) << "what is always 0 changes no bit";
  const std::vector<float> told = after_bandit(1, true);
  EXPECT_NE(told, after_bandit(1, false));
  EXPECT_GT(told.back(), 0.02F) << "the value network learns by what only it sees";
}

ppo<> corridor_agent(std::uint64_t seed = 5) {
  return *ppo<>::make(drawn({2, 16, 3}, seed), drawn({2, 16, 1}, seed + 100), quick());
}

TEST(Ppo, SameSeedSameBits) {
  const auto run = [](std::uint64_t seed) {
    test::corridor task;
    trainer training{task, corridor_agent(), training_options{.seed = seed}};
    EXPECT_TRUE(training.run({.episodes = 30}));
    return saved(training.agent());
  };
  EXPECT_EQ(run(3), run(3));
  EXPECT_NE(run(3), run(4));
}

// Interrupted in the middle of rollouts, and continued by an object that knows the checkpoint only.
TEST(Ppo, ResumesBitForBit) {
  std::string folder = testing::TempDir() + "rubato-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const training_options how{
      .seed = 3, .evaluate_every = 100, .evaluation_episodes = 3, .checkpoint = folder + "/part"};
  test::corridor task;
  training_options unkept = how;
  unkept.checkpoint.clear();
  trainer whole{task, corridor_agent(), unkept};
  ASSERT_TRUE(whole.run({.episodes = 24}));
  EXPECT_GT(whole.agent().counters().updates, 10u);
  for (const std::uint64_t stop : {1U, 4U, 7U, 23U}) {
    trainer first{task, corridor_agent(), how};
    ASSERT_TRUE(first.run({.episodes = stop}));
    EXPECT_GT(first.agent().rollout().size(), 0u);
    trainer second{task, corridor_agent(6), how};
    ASSERT_TRUE(second.resume());
    ASSERT_TRUE(second.run({.episodes = 24}));
    EXPECT_EQ(saved(second.agent()), saved(whole.agent())) << stop;
    EXPECT_EQ(parameters(second.best()), parameters(whole.best())) << stop;
  }
  std::filesystem::remove_all(folder);
}

TEST(Ppo, LearnsTheCorridor) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    test::corridor task;
    trainer training{task, corridor_agent(seed), training_options{.seed = seed}};
    ASSERT_TRUE(training.run({.steps = 1500}));
    const evaluation seen = evaluate(task, training.agent(), seed, 20);
    EXPECT_GT(seen.least, -5 * 1.5) << "five steps, none of which takes more than 1.5";
  }
}

// Small, so that it takes a fraction of a second.
TEST(Ppo, LearnsCartPole) {
  test::cart_pole task;
  trainer training{task, *ppo<>::make(drawn({4, 32, 32, 2}, 1), drawn({4, 32, 32, 1}, 2), ppo_options::robust()),
                   training_options{.seed = 1, .evaluate_every = 2000, .evaluation_episodes = 10}};
  ASSERT_TRUE(training.run({.steps = 30'000}));
  EXPECT_GE(evaluate(task, training.agent(), 1, 50).mean, 475) << "where CartPole-v1 counts as solved";
}

}  // namespace
}  // namespace rubato::rl
