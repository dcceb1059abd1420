#include <rubato/adapt/growth/growth_network.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "networks_in_double.hpp"

using namespace rubato;
using namespace rubato::adapt;

namespace growth_network_test {
namespace {

constexpr growth_shape small{.vocabulary = 5, .embedding = 3, .encoder = 4, .decider = 2, .hidden = 6, .actions = 3};
const std::vector<std::uint32_t> model{4, 0, 2, 2, 1};
const std::array<float, time_codes> some_time = encoded_time(30, 100, time_encoding::sines);

growth_network network(std::uint64_t seed, const growth_shape& shape = small) {
  growth_network made = *growth_network::make(shape, nn::kernels::reproducible<float>());
  random_sequence random{seed};
  draw_embeddings(made, random);
  initialise(made, random);
  return made;
}

std::vector<double> preferences_in_double(growth_network net, const std::vector<std::uint32_t>& layers) {
  std::vector<double> values(some_time.begin(), some_time.end());
  const std::vector<double> state = test::encoded_in_double(net, layers).state;
  values.insert(values.end(), state.begin(), state.end());
  return test::outputs_of(net.head(), values);
}

TEST(GrowthNetwork, MatchesALoopInDouble) {
  for (const growth_shape& shape : {small, growth_shape{.vocabulary = 5}}) {
    const growth_network net = network(1, shape);
    growth_network::workspace work{net, model.size()};
    const auto ours = net.forward(model, some_time, work);
    const std::vector<double> expected = preferences_in_double(net, model);
    ASSERT_EQ(ours.size(), expected.size());
    for (std::size_t a = 0; a < ours.size(); ++a) EXPECT_NEAR(static_cast<double>(ours[a]), expected[a], 2e-5) << a;
  }
}

TEST(GrowthNetwork, GradientMatchesFiniteDifferences) {
  growth_network net = network(2);
  growth_network::workspace work{net, model.size()};
  const std::array<float, 3> slopes{0.5F, -1, 2};
  static_cast<void>(net.forward(model, some_time, work));
  growth_network::gradient sums = net.no_gradient();
  net.backward(slopes, work, sums);
  const auto loss = [&] {
    const std::vector<double> p = preferences_in_double(net, model);
    return 0.5 * p[0] - p[1] + 2 * p[2];
  };
  for (std::size_t part = 0; part < growth_network::parts; ++part) {
    const std::span<float> all = net.parameters()[part];
    for (std::size_t i = 0; i < all.size(); i += 3) {
      const float before = all[i];
      all[i] = before + 1e-3F;
      const double above = loss(), up = static_cast<double>(all[i]);
      all[i] = before - 1e-3F;
      const double slope = (above - loss()) / (up - static_cast<double>(all[i]));
      all[i] = before;
      EXPECT_NEAR(static_cast<double>(sums[part][i]), slope, 2e-3) << "part " << part << ", parameter " << i;
    }
  }
}

TEST(GrowthNetwork, GradientsAccumulate) {
  const growth_network net = network(3);
  growth_network::workspace work{net, model.size()};
  const std::array<float, 3> slopes{1, 0, -1};
  static_cast<void>(net.forward(model, some_time, work));
  growth_network::gradient once = net.no_gradient(), twice = net.no_gradient();
  net.backward(slopes, work, once);
  for (int i = 0; i < 2; ++i) net.backward(slopes, work, twice);
  for (std::size_t part = 0; part < growth_network::parts; ++part)
    for (std::size_t i = 0; i < once[part].size(); ++i)
      ASSERT_NEAR(twice[part][i], 2 * once[part][i], 1e-5) << part << ' ' << i;
}

// 54,980 in PyTorch, which has two biases for each gate.
TEST(GrowthNetwork, HasThePublishedNumberOfParameters) {
  const growth_network net = *growth_network::make({.vocabulary = 18});
  std::size_t all = 0;
  for (const auto part : net.parameters()) all += part.size();
  EXPECT_EQ(all, 54'980U - 2 * 200 - 64);
  EXPECT_EQ(net.embeddings().size(), 18U * 16);
}

TEST(GrowthNetwork, ShorterModelsFit) {
  const growth_network net = network(4);
  growth_network::workspace roomy{net, 20}, tight{net, 2};
  static_cast<void>(net.forward(model, some_time, roomy));
  const std::vector<std::uint32_t> two{3, 1};
  const auto a = net.forward(two, some_time, roomy);
  const auto b = net.forward(two, some_time, tight);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i], b[i]);
}

TEST(GrowthNetwork, ParametersAreDrawnAsPyTorchDoes) {
  growth_network net = network(5, {.vocabulary = 2});
  const auto most = [](std::span<const float> all) {
    float found = 0;
    for (const float x : all) found = std::max(found, std::abs(x));
    return found;
  };
  const std::span<const float> encoder = net.encoder_forwards().parameters();
  EXPECT_NEAR(most(encoder.first((16 + 50) * 200)), 1 / std::sqrt(50.0), 1e-3);
  EXPECT_GT(most(encoder.last(200)), 1 / std::sqrt(50.0)) << "a bias is the sum of two";
  EXPECT_LT(most(encoder.last(200)), 2 / std::sqrt(50.0));
  EXPECT_NEAR(most(net.head().bias(1)), 1 / std::sqrt(128.0), 4e-3);
  EXPECT_NE(net.encoder_forwards().parameters()[0], net.encoder_backwards().parameters()[0]);
}

TEST(GrowthNetwork, RefusesImpossibleShapes) {
  EXPECT_EQ(growth_network::make({.vocabulary = 0}).error().message,
            "growth_network: found a vocabulary of 0 layers, expected 1 to 1048576");
  EXPECT_FALSE(growth_network::make({.vocabulary = 1, .embedding = 0}));
  EXPECT_FALSE(growth_network::make({.vocabulary = 1, .encoder = 0}));
  EXPECT_FALSE(growth_network::make({.vocabulary = 1, .decider = 0}));
  EXPECT_FALSE(growth_network::make({.vocabulary = 1, .hidden = 0}));
  EXPECT_FALSE(growth_network::make({.vocabulary = 1, .actions = 0}));
}

}  // namespace
}  // namespace growth_network_test
