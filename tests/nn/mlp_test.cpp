#include <rubato/nn/mlp.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <rubato/nn/initialiser.hpp>
#include <rubato/nn/loss.hpp>
#include <rubato/nn/training_concepts.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "plain_loops.hpp"

namespace rubato::nn {
namespace {

using test::random_values;

constexpr activation_kind activations[] = {activation_kind::identity, activation_kind::relu, activation_kind::leaky_relu,
                                         activation_kind::tanh};

template <class Network>
Network randomised(const Network& start) {
  Network network = start;
  const auto values = random_values<typename Network::scalar>(network.parameters().size(), 5);
  std::copy(values.begin(), values.end(), network.parameters().begin());
  return network;
}

TEST(Mlp, MatchesALoopInDouble) {
  const auto net =
      randomised(mlp<11, 20, 5, 3>{{.hidden = {activation_kind::tanh}, .output = {activation_kind::relu}}});
  const auto in = random_values<float>(11, 6);
  std::vector<double> at(in.begin(), in.end());
  for (std::size_t l = 0; l < net.layers().size(); ++l) {
    const auto weight = net.weight(l).values;
    const auto bias = net.bias(l);
    at = test::layer<double>(l == 2 ? net.options().output : net.options().hidden, {weight.begin(), weight.end()},
                             {bias.begin(), bias.end()}, at);
  }
  std::vector<float> out(3);
  net.evaluate(in, out);
  for (std::size_t o = 0; o < 3; ++o) EXPECT_NEAR(static_cast<double>(out[o]), at[o], 1e-5);
}

// The policy runs on evaluate(), learning on forward(): a difference would make a shipped policy another one.
TEST(Mlp, BatchEqualsSingle) {
  const auto net = randomised(mlp<40, 64, 32, 3>{});
  for (const std::size_t rows : {1u, 2u, 17u, 32u}) {
    const auto batch = random_values<float>(rows * 40, rows);
    mlp<40, 64, 32, 3>::workspace work{net, rows};
    const auto out = net.forward(batch, work);
    ASSERT_EQ(out.size(), rows * 3);
    for (std::size_t row = 0; row < rows; ++row) {
      float single[3];
      net.evaluate(std::span{batch}.subspan(row * 40, 40), single);
      for (std::size_t o = 0; o < 3; ++o) ASSERT_EQ(out[row * 3 + o], single[o]) << rows << " rows, row " << row;
    }
  }
}

// Every activation inside and at the end, and batches, in double.
TEST(Mlp, GradientMatchesFiniteDifferences) {
  constexpr double h = 1e-6;
  for (const activation_kind hidden : activations)
    for (const activation_kind output : activations)
      for (const std::size_t rows : {1u, 5u}) {
        using net_type = basic_mlp<double, 4, 19, 6, 3>;
        auto net = randomised(net_type{{.hidden = {hidden, 0.2}, .output = {output, 0.2}}});
        const auto in = random_values<double>(rows * 4, 7), target = random_values<double>(rows * 3, 8);
        net_type::workspace work{net, rows};
        std::vector<double> slope(rows * 3), gradient(net.parameters().size()), unused(rows * 3);
        const auto loss = [&] { return squared_error<double>(net.forward(in, work), target, unused); };

        squared_error<double>(net.forward(in, work), target, slope);
        net.backward(slope, work, gradient);

        for (std::size_t p = 0; p < gradient.size(); ++p) {
          const double kept = net.parameters()[p];
          net.parameters()[p] = kept + h;
          const double above = loss();
          net.parameters()[p] = kept - h;
          const double below = loss();
          net.parameters()[p] = kept;
          ASSERT_NEAR(gradient[p], (above - below) / (2 * h), 1e-6 * (1 + std::fabs(gradient[p])))
              << name(hidden) << " " << name(output) << " parameter " << p;
        }
      }
}

TEST(Mlp, InputGradientMatchesFiniteDifferences) {
  constexpr double h = 1e-6;
  using net_type = basic_mlp<double, 4, 9, 3>;
  const auto net = randomised(net_type{{.hidden = {activation_kind::tanh}}});
  auto in = random_values<double>(2 * 4, 7);
  const auto target = random_values<double>(2 * 3, 8);
  net_type::workspace work{net, 2};
  std::vector<double> slope(6), gradient(net.parameters().size()), by_input(8, 99.0), unused(6);

  squared_error<double>(net.forward(in, work), target, slope);
  net.backward(slope, work, gradient, gradient_mode::accumulate, by_input);

  for (std::size_t i = 0; i < in.size(); ++i) {
    const double kept = in[i];
    in[i] = kept + h;
    const double above = squared_error<double>(net.forward(in, work), target, unused);
    in[i] = kept - h;
    const double below = squared_error<double>(net.forward(in, work), target, unused);
    in[i] = kept;
    EXPECT_NEAR(by_input[i], (above - below) / (2 * h), 1e-7) << i;
  }
}

// backward() adds, and a batch has the bits of its rows one after another.
TEST(Mlp, GradientsAccumulate) {
  const auto net = randomised(mlp<10, 20, 18, 3>{});
  constexpr std::size_t rows = 6;
  const auto in = random_values<float>(rows * 10, 1), slope = random_values<float>(rows * 3, 2);
  mlp<10, 20, 18, 3>::workspace work{net, rows};
  std::vector<float> whole(net.parameters().size(), 0.5F), apart = whole;

  static_cast<void>(net.forward(in, work));
  net.backward(slope, work, whole);
  for (std::size_t row = 0; row < rows; ++row) {
    static_cast<void>(net.forward(std::span{in}.subspan(row * 10, 10), work));
    net.backward(std::span{slope}.subspan(row * 3, 3), work, apart);
  }
  EXPECT_EQ(whole, apart);
}

// Whatever they hold: here what is no number.
TEST(Mlp, OverwrittenGradientsAreThoseOnTopOfZeros) {
  const auto net = randomised(mlp<10, 20, 18, 3>{});
  constexpr std::size_t rows = 6;
  const auto in = random_values<float>(rows * 10, 1), slope = random_values<float>(rows * 3, 2);
  mlp<10, 20, 18, 3>::workspace work{net, rows};
  std::vector<float> added(net.parameters().size()), put(added.size(), std::numeric_limits<float>::quiet_NaN());

  static_cast<void>(net.forward(in, work));
  net.backward(slope, work, added);
  net.backward(slope, work, put, gradient_mode::overwrite);
  EXPECT_EQ(put, added);
}

TEST(Mlp, StateRoundTrip) {
  auto net = randomised(mlp<4, 5, 2>{});
  archive out;
  net.state(out);
  mlp<4, 5, 2> loaded;
  archive in{out.bytes()};
  loaded.state(in);
  EXPECT_TRUE(in.finished());
  EXPECT_TRUE(std::ranges::equal(loaded.parameters(), net.parameters()));
}

TEST(Mlp, StateOfAnotherShapeIsRefused) {
  archive out;
  auto net = randomised(mlp<4, 6, 2>{});
  net.state(out);
  const auto refuses = [&](auto&& other) {
    archive in{out.bytes()};
    other.state(in);
    return !in.ok() && std::ranges::all_of(other.parameters(), [](auto p) { return p == 0; });
  };
  EXPECT_TRUE(refuses(mlp<4, 5, 2>{}));
  EXPECT_TRUE(refuses(mlp<4, 2>{}));
  EXPECT_TRUE(refuses(basic_mlp<double, 4, 6, 2>{}));
  EXPECT_FALSE(refuses(mlp<4, 6, 2>{}));
}

TEST(Mlp, IsTriviallyCopyable) {
  static_assert(std::is_trivially_copyable_v<mlp<40, 64, 32, 3>>);
  static_assert(ActionValueFunction<mlp<4, 3, 2>> && TrainableNetwork<mlp<4, 3, 2>>);
  static_assert(TrainableNetwork<basic_mlp<double, 4, 3, 2>> && !ActionValueFunction<basic_mlp<double, 4, 3, 2>>);
  static_assert(alignof(mlp<40, 64, 32, 3>) == cache_line);
  const auto online = randomised(mlp<4, 5, 2>{});
  mlp<4, 5, 2> target;
  target = online;
  EXPECT_TRUE(std::ranges::equal(target.parameters(), online.parameters()));
}

// Weights, then biases, layer after layer, nothing between and nothing twice; input-major inside.
TEST(Mlp, LayersTileTheParameters) {
  mlp<4, 5, 3, 2> net;
  float next = 0;
  for (float& parameter : net.parameters()) parameter = next++;
  next = 0;
  for (std::size_t l = 0; l < net.layers().size(); ++l) {
    const auto weight = net.weight(l);
    for (std::size_t i = 0; i < weight.inputs; ++i)
      for (std::size_t o = 0; o < weight.outputs; ++o) EXPECT_EQ(weight(i, o), next++);
    for (const float bias : net.bias(l)) EXPECT_EQ(bias, next++);
  }
  EXPECT_EQ(next, static_cast<float>(net.parameters().size()));
  EXPECT_EQ(net.inputs(), 4u);
  EXPECT_EQ(net.outputs(), 2u);
}

TEST(Mlp, WithoutHiddenLayersIsLinear) {
  mlp<2, 1> net;
  net.weight(0)(0, 0) = 2;
  net.weight(0)(1, 0) = -3;
  net.bias(0)[0] = 0.5F;
  float out = 0;
  net.evaluate(std::vector<float>{4, 1}, {&out, 1});
  EXPECT_EQ(out, 5.5F);
}

TEST(Mlp, NaNReachesTheOutput) {
  const auto net = randomised(mlp<4, 5, 2>{{.hidden = {activation_kind::relu}}});
  float out[2];
  net.evaluate(std::vector<float>{0, std::numeric_limits<float>::quiet_NaN(), 0, 0}, out);
  EXPECT_TRUE(std::isnan(out[0]) && std::isnan(out[1]));
}

}  // namespace
}  // namespace rubato::nn
