#include <rubato/adapt/growth/block_network.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "networks_in_double.hpp"

using namespace rubato;
using namespace rubato::adapt;

namespace block_network_test {
namespace {

constexpr block_shape small{.vocabulary = 5, .embedding = 3, .encoder = 4, .decider = 2, .hidden = 6};
const std::vector<std::uint32_t> model{4, 0, 2, 2, 1, 3, 0};
const std::vector<block_action> actions{{0, 1, 2, 0}, {3, 5, 0, 1}, {6, 6, 1, 2}, {3, 5, 0, 1, growth_kind::widen}};
const std::array<float, time_codes> some_time = encoded_time(30, 100, time_encoding::sines);

template <class T = float>
basic_block_network<T> network(std::uint64_t seed, const block_shape& shape = small) {
  basic_block_network<T> made = *basic_block_network<T>::make(shape, nn::kernels::reproducible<T>());
  random_sequence random{seed};
  draw_embeddings(made, random);
  initialise(made, random);
  return made;
}

template <class T>
std::vector<T> preferences(const basic_block_network<T>& net, const std::vector<std::uint32_t>& layers,
                           const std::vector<block_action>& growing) {
  typename basic_block_network<T>::workspace work{net, layers.size(), growing.size()};
  const auto all = net.forward(layers, growing, some_time, work);
  return {all.begin(), all.end()};
}

template <class T>
std::vector<double> preferences_in_double(basic_block_network<T> net, const std::vector<std::uint32_t>& layers,
                                          const std::vector<block_action>& growing) {
  double blocks = 0;
  for (const block_action& each : growing) blocks = std::max(blocks, each.block + 1.0);
  const test::model_in_double read = test::encoded_in_double(net, layers);
  const auto append = [](std::vector<double>& to, const auto& what) { to.insert(to.end(), what.begin(), what.end()); };
  std::vector<double> all;
  for (std::size_t a = 0; a <= growing.size(); ++a) {
    std::vector<double> values(some_time.begin(), some_time.end());
    append(values, read.state);
    if (a < growing.size()) {
      append(values, read.ahead[growing[a].last]);
      append(values, read.back[growing[a].first]);
      const double n = growing[a].insertions, widens = growing[a].kind == growth_kind::widen ? 1 : 0;
      append(values, std::array{n / (n + 1), growing[a].block / blocks, widens, 0.0});
    } else {
      values.resize(values.size() + 2 * net.shape().encoder + 3);
      values.push_back(1);
    }
    all.push_back(test::outputs_of(net.head(), values)[0]);
  }
  return all;
}

TEST(BlockNetwork, MatchesALoopInDouble) {
  for (const block_shape& shape : {small, block_shape{.vocabulary = 5}}) {
    const std::vector<float> ours = preferences(network(1, shape), model, actions);
    const std::vector<double> expected = preferences_in_double(network(1, shape), model, actions);
    ASSERT_EQ(ours.size(), 5U);
    for (std::size_t a = 0; a < 5; ++a) EXPECT_NEAR(static_cast<double>(ours[a]), expected[a], 2e-5) << a;
    const std::vector<double> finer = preferences(network<double>(1, shape), model, actions);
    const std::vector<double> exact = preferences_in_double(network<double>(1, shape), model, actions);
    for (std::size_t a = 0; a < 5; ++a) EXPECT_NEAR(finer[a], exact[a], 1e-12) << a;
  }
}

TEST(BlockNetwork, GradientMatchesFiniteDifferences) {
  basic_block_network<double> net = network<double>(2);
  basic_block_network<double>::workspace work{net, model.size() + 3, actions.size() + 2};
  const std::array<double, 5> slopes{0.5, -1, 2, 0.3, -0.7};
  static_cast<void>(net.forward(model, actions, some_time, work));
  basic_block_network<double>::gradient sums = net.no_gradient();
  net.backward(slopes, work, sums);
  const auto loss = [&] {
    const std::vector<double> p = preferences(net, model, actions);
    double sum = 0;
    for (std::size_t a = 0; a < 5; ++a) sum += slopes[a] * p[a];
    return sum;
  };
  for (std::size_t part = 0; part < basic_block_network<double>::parts; ++part) {
    const std::span<double> all = net.parameters()[part];
    double largest = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double before = all[i], step = 1e-6;
      all[i] = before + step;
      const double above = loss();
      all[i] = before - step;
      const double slope = (above - loss()) / (2 * step);
      all[i] = before;
      ASSERT_NEAR(sums[part][i], slope, 1e-7) << "part " << part << ", parameter " << i;
      largest = std::max(largest, std::abs(slope));
    }
    EXPECT_GT(largest, 1e-3) << part;
  }
}

TEST(BlockNetwork, GradientsAccumulate) {
  const block_network net = network(3);
  block_network::workspace work{net, model.size(), actions.size()};
  const std::array<float, 5> slopes{1, 0, -1, 0.5F, 2};
  static_cast<void>(net.forward(model, actions, some_time, work));
  block_network::gradient once = net.no_gradient(), twice = net.no_gradient();
  net.backward(slopes, work, once);
  for (int i = 0; i < 2; ++i) net.backward(slopes, work, twice);
  for (std::size_t part = 0; part < block_network::parts; ++part)
    for (std::size_t i = 0; i < once[part].size(); ++i)
      ASSERT_NEAR(twice[part][i], 2 * once[part][i], 1e-5) << part << ' ' << i;
}

// One network, one workspace, one gradient.
TEST(BlockNetwork, OneServesAllNumbersOfBlocks) {
  const block_network net = network(4);
  block_network::workspace work{net, model.size(), 5};
  block_network::gradient sums = net.no_gradient();
  const std::vector<block_action> five{{0, 0, 0, 0}, {1, 2, 1, 1}, {3, 3, 0, 2}, {4, 5, 7, 3}, {6, 6, 0, 4}};
  for (const std::size_t count : {1U, 2U, 3U, 5U, 1U}) {
    const std::vector<block_action> some{five.begin(), five.begin() + static_cast<std::ptrdiff_t>(count)};
    const auto ours = net.forward(model, some, some_time, work);
    ASSERT_EQ(ours.size(), count + 1);
    const std::vector<double> expected = preferences_in_double(net, model, some);
    for (std::size_t a = 0; a <= count; ++a) EXPECT_NEAR(static_cast<double>(ours[a]), expected[a], 2e-6);
    net.backward(std::vector<float>(count + 1, 1), work, sums);
  }
  block_network::gradient expected = net.no_gradient();
  for (const std::size_t count : {1U, 2U, 3U, 5U, 1U}) {
    block_network::workspace own{net, model.size(), count};
    static_cast<void>(net.forward(model, std::span{five}.first(count), some_time, own));
    net.backward(std::vector<float>(count + 1, 1), own, expected);
  }
  for (std::size_t part = 0; part < block_network::parts; ++part)
    EXPECT_TRUE(std::ranges::equal(sums[part], expected[part])) << part;
}

// But by where it is among them: the first is at 0, the second of two where the third of four is.
TEST(BlockNetwork, ScoresDoNotDependOnTheBlocksBeside) {
  const block_network net = network(5);
  const block_action first{0, 1, 2, 0}, second{3, 5, 1, 1}, third{3, 5, 1, 2};
  const std::vector<float> two = preferences(net, model, {first, second});
  const std::vector<float> four = preferences(net, model, {first, {2, 2, 4, 1}, third, {6, 6, 0, 3}});
  const std::vector<float> one = preferences(net, model, {first});
  EXPECT_EQ(two[0], four[0]);
  EXPECT_EQ(two[1], four[2]);
  EXPECT_EQ(two[0], one[0]);
  EXPECT_EQ(two[2], four[4]) << "doing nothing";
  EXPECT_EQ(two[2], one[1]);
  EXPECT_NE(four[1], four[3]);
}

TEST(BlockNetwork, ActionsInAnotherOrderHaveTheSameScores) {
  const block_network net = network(6);
  std::vector<block_action> order = actions;
  const std::vector<float> usual = preferences(net, model, actions);
  std::array<std::size_t, 4> at{0, 1, 2, 3};
  while (std::ranges::next_permutation(at).found) {
    for (std::size_t a = 0; a < 4; ++a) order[a] = actions[at[a]];
    const std::vector<float> turned = preferences(net, model, order);
    for (std::size_t a = 0; a < 4; ++a) EXPECT_EQ(turned[a], usual[at[a]]);
    EXPECT_EQ(turned[4], usual[4]);
  }
}

TEST(BlockNetwork, TimesBlocksAndInsertionsMatter) {
  const block_network net = network(7);
  const std::vector<float> usual = preferences(net, model, actions);
  block_network::workspace work{net, model.size(), 4};
  const auto later = net.forward(model, actions, encoded_time(10, 100, time_encoding::sines), work);
  for (std::size_t a = 0; a < 5; ++a) EXPECT_NE(usual[a], later[a]);
  const auto changed = [&](block_action middle) {
    const std::vector<float> other = preferences(net, model, {actions[0], middle, actions[2], actions[3]});
    EXPECT_EQ(other[0], usual[0]);
    EXPECT_EQ(other[2], usual[2]);
    EXPECT_EQ(other[3], usual[3]);
    EXPECT_EQ(other[4], usual[4]);
    return other[1] != usual[1];
  };
  EXPECT_FALSE(changed(actions[1]));
  EXPECT_TRUE(changed({3, 5, 1, 1})) << "deepened once";
  EXPECT_TRUE(changed({3, 4, 0, 1})) << "ends earlier";
  EXPECT_TRUE(changed({4, 5, 0, 1})) << "begins later";
  EXPECT_TRUE(changed({3, 5, 0, 0})) << "another block";
}

TEST(BlockNetwork, WideningHasAScoreOfItsOwn) {
  const std::vector<float> all = preferences(network(10), model, actions);
  EXPECT_NE(all[1], all[3]);
}

TEST(BlockNetwork, SmallerModelsFit) {
  const block_network net = network(8);
  block_network::workspace roomy{net, 20, 9}, tight{net, 2, 1};
  EXPECT_EQ(roomy.max_layers(), 20U);
  EXPECT_EQ(roomy.max_actions(), 9U);
  static_cast<void>(net.forward(model, actions, some_time, roomy));
  const std::vector<std::uint32_t> two{3, 1};
  const std::vector<block_action> one{{1, 1, 0, 0}};
  const auto a = net.forward(two, one, some_time, roomy);
  const auto b = net.forward(two, one, some_time, tight);
  EXPECT_TRUE(std::ranges::equal(a, b));
}

TEST(BlockNetwork, ParametersAreDrawnAsPyTorchDoes) {
  block_network net = network(9, {.vocabulary = 2});
  const auto most = [](std::span<const float> all) {
    float found = 0;
    for (const float x : all) found = std::max(found, std::abs(x));
    return found;
  };
  const std::span<const float> encoder = net.encoder_forwards().parameters();
  EXPECT_NEAR(most(encoder.first((16 + 50) * 200)), 1 / std::sqrt(50.0), 1e-3);
  EXPECT_GT(most(encoder.last(200)), 1 / std::sqrt(50.0)) << "a bias is the sum of two";
  EXPECT_LT(most(encoder.last(200)), 2 / std::sqrt(50.0));
  EXPECT_NEAR(most(net.head().parameters().first(100)), 1 / std::sqrt(8 + 16 + 100 + 4.0), 4e-3);
  EXPECT_NEAR(most(net.head().bias(1)), 1 / std::sqrt(128.0), 4e-3);
  EXPECT_NE(net.encoder_forwards().parameters()[0], net.encoder_backwards().parameters()[0]);
  EXPECT_GT(most(net.embeddings()), 1) << "normal";
}

TEST(BlockNetwork, ServesAnyNumberOfActions) {
  for (const std::size_t count : {2U, 4U, 9U}) EXPECT_TRUE(network(11).serves(count));
}

TEST(BlockNetwork, RefusesImpossibleShapes) {
  EXPECT_EQ(block_network::make({.vocabulary = 0}).error().message,
            "block_network: found a vocabulary of 0 layers, expected 1 to 1048576");
  EXPECT_FALSE(block_network::make({.vocabulary = (1 << 20) + 1}));
  EXPECT_FALSE(block_network::make({.vocabulary = 1, .embedding = 0}));
  EXPECT_FALSE(block_network::make({.vocabulary = 1, .encoder = 0}));
  EXPECT_FALSE(block_network::make({.vocabulary = 1, .decider = 0}));
  EXPECT_FALSE(block_network::make({.vocabulary = 1, .hidden = 0}));
  EXPECT_EQ(block_network::make({.vocabulary = 1})->shape(), block_shape{.vocabulary = 1});
}

}  // namespace
}  // namespace block_network_test
