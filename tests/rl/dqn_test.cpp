#include <rubato/rl/dqn.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include <rubato/nn/mlp.hpp>

#include "agents.hpp"

namespace rubato::rl {
namespace {

using test::drawn;
using test::linear;
using test::parameters;
using test::row;
using test::saved;

// Q_0(s) = s, Q_1(s) = 0.5 - s.
nn::dynamic_mlp two_lines() { return linear(1, 2, {1, -1, 0, 0.5F}); }

dqn_options small(dqn_options options, std::size_t batch) {
  options.replay_capacity = batch;
  options.batch = batch;
  options.learn_after = batch;
  options.n_step = 1;
  return options;
}

// (s = 2, a = 0, r = -1, s' = 1):  y = 2,    target -1 + 0.8 max(1, -0.5) = -0.2,  slope 2 * 2.2 = 4.4
// (s = 1, a = 1, r = -2, s' = -1): y = -0.5, target -2 + 0.8 max(-1, 1.5) = -0.8,  slope 2 * 0.3 = 0.6
// The sum's gradient is (4.4 * 2, 0.6 * 1) by the weights and (4.4, 0.6) by the biases, of which 0.01. Both rows are in
// every batch; drawn with replacement, one of them would be missing half of the time.
TEST(Dqn, PaperUpdateByHand) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    auto agent = *dqn<>::make(two_lines(), small(dqn_options::paper(), 2));
    agent.record(row{{2}, {1}, 0, -1, 7});  // elapsed time does not matter
    agent.record(row{{1}, {-1}, 1, -2});
    random_sequence random{seed};
    const update_stats stats = agent.update(random);
    EXPECT_TRUE(stats.learned);
    EXPECT_NEAR(stats.loss, 2.2 * 2.2 + 0.3 * 0.3, 1e-5);
    EXPECT_NEAR(stats.gradient_norm, std::sqrt(8.8 * 8.8 + 4.4 * 4.4 + 2 * 0.6 * 0.6), 1e-4);
    EXPECT_NEAR(agent.online().parameters()[0], 1 - 0.088, 1e-6);
    EXPECT_NEAR(agent.online().parameters()[1], -1 - 0.006, 1e-6);
    EXPECT_NEAR(agent.online().parameters()[2], -0.044, 1e-6);
    EXPECT_NEAR(agent.online().parameters()[3], 0.5 - 0.006, 1e-6);
    EXPECT_EQ(parameters(agent.target()), parameters(two_lines())) << "copied in the fifth iteration";
  }
}

// Of two rows with errors of -3 and 1 and weights 1 each, the first update makes priorities of 3 and 1. So the second
// draws the first row from [0, 2), and from [2, 4) either. Where it has both, the first has weight (2 * 3/4)^-1 over
// (2 * 1/4)^-1 = 1/3: slopes 1/2 * 1/3 * 2 * 3 = 1 and 1/2 * 2 * -1 = -1.
TEST(Dqn, PrioritisedUpdateByHand) {
  dqn_options options = small(dqn_options::paper(), 2);
  options.sample = sampling::prioritised;
  options.priority = {.alpha = 1, .beta = 1, .final_beta = 1, .beta_updates = 1, .smallest = 1e-9};
  options.mean_loss = true;
  int both = 0;
  constexpr int seeds = 40;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    auto agent = *dqn<>::make(two_lines(), options);
    agent.record(row{{2}, {1}, 0, -1, 1, true});
    agent.record(row{{1}, {1}, 1, 0.5F, 1, true});
    random_sequence random{seed};
    EXPECT_NEAR(agent.update(random).loss, (9 + 1) / 2.0, 1e-5);
    agent.adopt(two_lines());
    const update_stats stats = agent.update(random);
    if (stats.loss > 5) {  // the first row twice: equal weights
      EXPECT_NEAR(stats.loss, 9, 1e-5);
      EXPECT_NEAR(agent.online().parameters()[0], 1 - 0.01 * 6 * 2, 1e-6);
      continue;
    }
    ++both;
    EXPECT_NEAR(stats.loss, (9 / 3.0 + 1) / 2, 1e-5);
    EXPECT_NEAR(stats.gradient_norm, std::sqrt(7.0), 1e-5);
    EXPECT_NEAR(agent.online().parameters()[0], 1 - 0.02, 1e-6);
    EXPECT_NEAR(agent.online().parameters()[1], -1 + 0.01, 1e-6);
    EXPECT_NEAR(agent.online().parameters()[2], -0.01, 1e-6);
    EXPECT_NEAR(agent.online().parameters()[3], 0.5 + 0.01, 1e-6);
  }
  EXPECT_NEAR(both, seeds / 2, 10);
}

// The first row of PaperUpdateByHand, learned in every third iteration; the target network counts them all.
TEST(Dqn, UpdateEveryByHand) {
  dqn_options options = small(dqn_options::paper(), 1);
  options.update_every = 3;
  options.target_period = 4;
  auto agent = *dqn<>::make(two_lines(), options);
  agent.record(row{{2}, {1}, 0, -1});
  random_sequence random{1};
  for (int i = 1; i <= 2; ++i) EXPECT_FALSE(agent.update(random).learned);
  EXPECT_EQ(parameters(agent.online()), parameters(two_lines()));
  EXPECT_TRUE(agent.update(random).learned);
  EXPECT_NEAR(agent.online().parameters()[0], 1 - 0.088, 1e-6);
  EXPECT_NEAR(agent.online().parameters()[2], -0.044, 1e-6);
  EXPECT_EQ(parameters(agent.target()), parameters(two_lines()));
  EXPECT_FALSE(agent.update(random).learned);
  EXPECT_EQ(parameters(agent.target()), parameters(agent.online()));
  EXPECT_FALSE(agent.update(random).learned);
  EXPECT_TRUE(agent.update(random).learned);
  EXPECT_EQ(agent.counters().iterations, 6u);
  EXPECT_EQ(agent.counters().updates, 2u);
}

// V(s) = s, A_0(s) = s, A_1(s) = 0: Q_0(s) = 1.5 s, Q_1(s) = 0.5 s. At s = 2, y = 3, target -1 + 0.8 * 1.5 = 0.2, slope
// 5.6, which is V's; A_0 has half of it, and A_1 minus that.
TEST(Dqn, DuelingUpdateByHand) {
  dqn_options options = small(dqn_options::paper(), 1);
  options.dueling = true;
  auto agent = *dqn<>::make(linear(1, 3, {1, 1, 0, 0, 0, 0}), options);
  agent.record(row{{2}, {1}, 0, -1});
  random_sequence random{1};
  EXPECT_NEAR(agent.update(random).loss, 2.8 * 2.8, 1e-5);
  const std::array<double, 6> expected{1 - 0.112, 1 - 0.056, 0.056, -0.056, -0.028, 0.028};
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(agent.online().parameters()[i], expected.at(i), 1e-6) << i;
}

// gamma 0.5 over 2 time units: target -1 + 0.25 * 1 = -0.75, error 2.75, beyond Huber's delta: slope 1, loss 2.25.
// Adam's first step moves each parameter by the learning rate; the target network follows by a quarter of that.
TEST(Dqn, RobustUpdateByHand) {
  dqn_options options = small(dqn_options::robust(), 1);
  options.gamma = 0.5;
  options.target_period = 1;
  options.target_rate = 0.25;
  auto agent = *dqn<>::make(two_lines(), options);
  agent.record(row{{2}, {1}, 0, -1, 2});
  random_sequence random{1};
  const update_stats stats = agent.update(random);
  EXPECT_NEAR(stats.loss, 2.25, 1e-6);
  EXPECT_NEAR(stats.gradient_norm, std::sqrt(5.0), 1e-6);
  EXPECT_NEAR(agent.online().parameters()[0], 0.999, 1e-6);
  EXPECT_EQ(agent.online().parameters()[1], -1);
  EXPECT_NEAR(agent.online().parameters()[2], -0.001, 1e-6);
  EXPECT_NEAR(agent.target().parameters()[0], 1 - 0.00025, 1e-6);

  agent.record(row{{2}, {1}, 0, -1, 2, true});
  EXPECT_NEAR(agent.update(random).loss, (1.998 - 0.001 + 1) - 0.5, 1e-5) << "y = r at the end";
}

TEST(Dqn, RobustClipsTheGradient) {
  dqn_options options = small(dqn_options::robust(), 1);
  options.optimiser = optimiser_kind::sgd;
  options.learning_rate = 1;
  options.max_gradient_norm = 0.5;
  auto agent = *dqn<>::make(two_lines(), options);
  agent.record(row{{2}, {1}, 0, -100, 1, true});
  random_sequence random{1};
  EXPECT_NEAR(agent.update(random).gradient_norm, std::sqrt(5.0), 1e-6);
  EXPECT_NEAR(agent.online().parameters()[0], 1 - 0.5 * 2 / std::sqrt(5.0), 1e-6);
}

// Two updates make the networks differ: at s = 1 the target network says (1, 0.9), the online one (0.56, 0.902).
TEST(Dqn, TargetKinds) {
  const auto loss = [](td_target kind) {
    dqn_options options = small(dqn_options::robust(), 1);
    options.target = kind;
    options.optimiser = optimiser_kind::sgd;
    options.learning_rate = 0.01;
    options.loss = td_loss::squared;
    options.max_gradient_norm = 0;
    options.target_period = 1000;
    options.gamma = 1;
    auto agent = *dqn<>::make(linear(1, 2, {0, 0, 1, 0.9F}), options);
    random_sequence random{1};
    for (const row step : {row{{1}, {1}, 0, -10, 1, true}, row{{1}, {1}, 1, 0.95F, 1, true}}) {
      agent.record(step);
      agent.update(random);
    }
    agent.record(row{{1}, {1}, 0, 0});
    const auto value = static_cast<double>(agent.update(random).loss);
    EXPECT_EQ(agent.target().parameters()[2], 1) << "the target network stands still";
    return value;
  };
  const double q = 0.56;
  EXPECT_NEAR(loss(td_target::online_max), std::pow(0.902 - q, 2), 1e-5);
  EXPECT_NEAR(loss(td_target::target_max), std::pow(1 - q, 2), 1e-5);
  EXPECT_NEAR(loss(td_target::double_q), std::pow(0.9 - q, 2), 1e-5);
}

TEST(Dqn, TargetsAreMaskedIfAskedFor) {
  const auto loss = [](bool masks) {
    dqn_options options = small(dqn_options::paper(), 1);
    options.masks_targets = masks;
    auto agent = *dqn<>::make(two_lines(), options);
    agent.record(row{{2}, {1}, 0, 0, 1, false, false, 0b10});
    random_sequence random{1};
    return static_cast<double>(agent.update(random).loss);
  };
  EXPECT_NEAR(loss(false), std::pow(2 - 0.8 * 1, 2), 1e-5);
  EXPECT_NEAR(loss(true), std::pow(2 + 0.8 * 0.5, 2), 1e-5);
}

TEST(Dqn, PaperActsWithTheTargetNetwork) {
  dqn_options options = small(dqn_options::paper(), 1);
  options.epsilon = {0, 0, 0};
  auto agent = *dqn<>::make(linear(1, 2, {0, 0, 1, 0.9F}), options);
  agent.record(row{{1}, {1}, 0, -10, 1, true});
  random_sequence random{1};
  agent.update(random);
  const std::array<float, 1> here{1};
  EXPECT_EQ(agent.act(here, all_legal, random), 0u) << "the online network says 1 already";
  EXPECT_EQ(&agent.policy(), &agent.target());
  for (int i = 0; i < 4; ++i) agent.update(random);
  EXPECT_EQ(agent.act(here, all_legal, random), 1u);

  const auto robust = *dqn<>::make(two_lines(), dqn_options::robust());
  EXPECT_EQ(&robust.policy(), &robust.online());
}

TEST(Dqn, TargetIsCopiedEveryFifthIteration) {
  auto agent = *dqn<>::make(two_lines(), small(dqn_options::paper(), 1));
  agent.record(row{{2}, {1}, 0, -1});
  random_sequence random{1};
  for (int i = 1; i <= 10; ++i) {
    agent.update(random);
    EXPECT_EQ(parameters(agent.target()) == parameters(agent.online()), i % 5 == 0) << i;
  }
}

TEST(Dqn, NothingIsLearnedBeforeTheReplayHasABatch) {
  auto agent = *dqn<>::make(two_lines(), dqn_options::paper());
  random_sequence random{1};
  for (int i = 1; i <= 60; ++i) {
    agent.record(row{{2}, {1}, 0, -1});
    EXPECT_EQ(agent.update(random).learned, i >= 32);
  }
  EXPECT_EQ(agent.replay().size(), 50u);
  EXPECT_EQ(agent.counters().updates, 29u);
  EXPECT_EQ(agent.counters().iterations, 60u);
}

TEST(Dqn, NonFiniteTransitionsAreCounted) {
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  auto agent = *dqn<>::make(two_lines(), dqn_options::paper());
  agent.record(row{{nan}, {1}, 0, -1});
  agent.record(row{{1}, {infinity}, 0, -1});
  agent.record(row{{1}, {1}, 0, nan});
  agent.record(row{{1}, {1}, 0, 0, std::nan("")});
  agent.record(row{{1}, {1}, 0, 0, -1});
  agent.record(row{{1}, {1}, 2, 0});
  EXPECT_EQ(agent.counters().rejected_transitions, 6u);
  EXPECT_EQ(agent.replay().size(), 0u);

  dqn_options options = dqn_options::robust();  // windows of three steps: what came before is kept
  options.gamma = 1;
  auto robust = *dqn<>::make(two_lines(), options);
  robust.record(row{{1}, {2}, 0, 1});
  robust.record(row{{2}, {3}, 0, 1});
  robust.record(row{{3}, {nan}, 0, 1});
  ASSERT_EQ(robust.replay().size(), 2u);
  EXPECT_EQ(robust.replay()[0].reward, 2);
  EXPECT_EQ(robust.replay()[1].reward, 1);
  EXPECT_EQ(robust.replay()[1].next[0], 3);
}

TEST(Dqn, NonFiniteGradientsAreCounted) {
  auto agent = *dqn<>::make(two_lines(), small(dqn_options::paper(), 1));
  const float huge = 3e38F;
  agent.record(row{{huge}, {1}, 0, -huge, 1, true});
  random_sequence random{1};
  EXPECT_FALSE(agent.update(random).learned);
  EXPECT_EQ(agent.counters().rejected_updates, 1u);
  EXPECT_EQ(parameters(agent.online()), parameters(two_lines()));
}

TEST(Dqn, EpsilonIsTheShareOfRandomActions) {
  dqn_options options = dqn_options::paper();
  options.epsilon = {.first = 1, .last = 0, .steps = 1000};
  auto agent = *dqn<>::make(two_lines(), options);
  const std::array<float, 1> here{1};
  random_sequence random{3};
  for (int i = 0; i < 1000; ++i) static_cast<void>(agent.act(here, all_legal, random));
  EXPECT_NEAR(static_cast<double>(agent.counters().explored), 500, 60);
  const auto before = agent.counters().explored;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(agent.act(here, all_legal, random), 0u);
  EXPECT_EQ(agent.counters().explored, before);
  EXPECT_EQ(agent.counters().steps, 1100u);
}

TEST(Dqn, IllegalActionsAreNeverTaken) {
  dqn_options options = dqn_options::paper();
  options.epsilon = {0.5, 0.5, 0};
  auto agent = *dqn<>::make(drawn({1, 4, 3}, 1), options);
  random_sequence random{1};
  for (int i = 0; i < 300; ++i) {
    const std::array<float, 1> here{static_cast<float>(random.normal())};
    const std::uint32_t legal = 1 + static_cast<std::uint32_t>(random.below(7));
    EXPECT_TRUE((legal >> agent.act(here, legal, random) & 1) != 0);
  }
}

TEST(Dqn, UndecidedActionIsTakenWhereNoValueIsANumber) {
  const float nan = std::nanf("");
  dqn_options options = dqn_options::paper();
  options.epsilon = {0, 0, 0};
  const std::array<float, 1> here{1};
  random_sequence random{1};
  const nn::dynamic_mlp broken = linear(1, 3, {0, 0, 0, nan, nan, nan});
  EXPECT_EQ(dqn<>::make(broken, options)->greedy(here, all_legal), 0u);
  options.undecided_action = 1;
  auto agent = *dqn<>::make(broken, options);
  EXPECT_EQ(agent.greedy(here, all_legal), 1u);
  EXPECT_EQ(agent.act(here, all_legal, random), 1u);
  EXPECT_EQ(agent.greedy(here, 0b101), 0u);
  EXPECT_EQ(dqn<>::make(linear(1, 3, {0, 0, 0, 0, 0, 1}), options)->greedy(here, all_legal), 2u);
}

// Feeds steps that are drawn from `from` on.
void live(dqn<>& agent, std::uint64_t from, std::uint64_t to) {
  for (std::uint64_t i = from; i < to; ++i) {
    random_sequence random{9, 0, i << 20};
    const std::array<float, 2> here{static_cast<float>(random.normal()), 1}, there{static_cast<float>(i % 5), 0};
    agent.record({.observation = here,
                  .action = agent.act(here, all_legal, random),
                  .reward = here[0],
                  .elapsed = 0.5 + random.uniform(),
                  .next = there,
                  .terminated = i % 11 == 0,
                  .truncated = i % 17 == 0});
    agent.update(random);
  }
}

TEST(Dqn, StateRoundTrip) {
  dqn_options robust = dqn_options::robust(), fancy = robust;
  robust.learn_after = fancy.learn_after = 64;
  robust.replay_capacity = fancy.replay_capacity = 100;
  fancy.dueling = true;
  fancy.sample = sampling::prioritised;
  for (const dqn_options& options : {dqn_options::paper(), robust, fancy}) {
    const nn::dynamic_mlp start = drawn({2, 8, options.dueling ? 4U : 3U}, 1);
    dqn<> agent = *dqn<>::make(start, options), copy = agent;
    live(agent, 0, 150);
    const auto bytes = saved(agent);
    archive reader{bytes};
    copy.state(reader);
    ASSERT_TRUE(reader.finished());
    live(agent, 150, 400);
    live(copy, 150, 400);
    EXPECT_EQ(saved(copy), saved(agent));
    EXPECT_GT(agent.counters().updates, 250u);

    archive cut{std::span{bytes}.first(bytes.size() - 1)};
    copy.state(cut);
    EXPECT_FALSE(cut.finished());
  }
}

// Bytes that were changed with care: an action that there is not, in the replay and in an open window.
TEST(Dqn, StatesThatCannotBeAreRefused) {
  dqn_options options = small(dqn_options::robust(), 4);
  options.n_step = 2;
  dqn<> agent = *dqn<>::make(drawn({1, 2, 3}, 1), options);
  agent.record(row{.observation = {1}, .next = {2}, .action = 2, .reward = 0.6180339F, .terminated = true});
  agent.record(row{.observation = {3}, .next = {4}, .action = 2, .reward = 0.5F});
  const std::vector<std::byte> bytes = saved(agent);
  const auto loads = [&](const std::vector<std::byte>& from) {
    dqn<> other = *dqn<>::make(drawn({1, 2, 3}, 1), options);
    archive reader{from};
    other.state(reader);
    return reader.finished();
  };
  EXPECT_TRUE(loads(bytes));
  archive in_replay, in_window;
  std::uint32_t action = 2;
  float reward = 0.6180339F;
  double open_reward = 0.5;
  in_replay(action, reward), in_window(action, open_reward);
  for (const archive* where : {&in_replay, &in_window}) {
    std::vector<std::byte> forged = bytes;
    const auto place = std::search(forged.begin(), forged.end(), where->bytes().begin(), where->bytes().end());
    ASSERT_NE(place, forged.end());
    *place = std::byte{3};
    EXPECT_FALSE(loads(forged));
  }
}

TEST(Dqn, StaticNetworksWork) {
  using network = nn::mlp<2, 8, 3>;
  network fixed;
  const nn::dynamic_mlp start = drawn({2, 8, 3}, 1);
  std::ranges::copy(start.parameters(), fixed.parameters().begin());
  auto agent = *dqn<>::make(start, dqn_options::paper());
  auto same = *dqn<network>::make(fixed, dqn_options::paper());
  static_assert(Learner<dqn<network>>);
  for (std::uint64_t i = 0; i < 100; ++i) {
    const std::array<float, 2> here{static_cast<float>(i % 3), 1};
    const transition step{.observation = here, .action = static_cast<std::uint32_t>(i % 3), .reward = -1, .next = here};
    random_sequence random{1, 0, i << 20}, again = random;
    agent.record(step);
    same.record(step);
    EXPECT_EQ(agent.update(random).loss, same.update(again).loss);
    EXPECT_EQ(agent.act(here, all_legal, random), same.act(here, all_legal, again));
  }
  EXPECT_TRUE(std::ranges::equal(agent.online().parameters(), same.online().parameters()));
}

TEST(Dqn, AdoptReplacesBothNetworks) {
  auto agent = *dqn<>::make(two_lines(), dqn_options::paper());
  const nn::dynamic_mlp other = linear(1, 2, {1, 2, 3, 4});
  agent.adopt(other);
  EXPECT_EQ(parameters(agent.online()), parameters(other));
  EXPECT_EQ(parameters(agent.target()), parameters(other));
}

TEST(Dqn, BadOptionsAreRefused) {
  dqn_options options;
  options.gamma = 2;
  EXPECT_EQ(dqn<>::make(two_lines(), options).error().message, "dqn: gamma: expected a number in [0, 1]");
  EXPECT_EQ(dqn<>::make(linear(1, 33, {}), {}).error().message, "dqn: the network has 33 outputs, expected 1 to 32");
  options = {};
  options.dueling = true;
  EXPECT_EQ(dqn<>::make(linear(1, 1, {}), options).error().code, errc::invalid_option);
  options.undecided_action = 2;
  EXPECT_EQ(dqn<>::make(linear(1, 3, {}), options).error().message,
            "dqn: undecided_action: found 2, the network has 2 actions");
}

}  // namespace
}  // namespace rubato::rl
