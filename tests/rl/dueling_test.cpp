#include <rubato/rl/dueling.hpp>

#include <gtest/gtest.h>

#include <array>

#include "agents.hpp"

namespace rubato::rl {
namespace {

TEST(Dueling, ValuesByHand) {
  const std::array<float, 4> outputs{10, 1, 2, 6};
  std::array<float, 3> values{};
  dueling_values(outputs, values);
  EXPECT_EQ(values, (std::array<float, 3>{8, 9, 13}));
}

// Everything is linear: differences of 1 are exact.
TEST(Dueling, GradientMatchesFiniteDifferences) {
  const std::array<float, 4> at{10, 1, 2, 6};
  const std::array<float, 3> by_value{1, -2, 5};
  std::array<float, 4> by_output{};
  dueling_gradient(by_value, by_output);
  const auto loss = [&](const std::array<float, 4>& outputs) {
    std::array<float, 3> values{};
    dueling_values(outputs, values);
    float sum = 0;
    for (std::size_t a = 0; a < 3; ++a) sum += by_value[a] * values[a];
    return sum;
  };
  for (std::size_t i = 0; i < 4; ++i) {
    std::array<float, 4> moved = at;
    moved[i] += 1;
    EXPECT_NEAR(by_output[i], loss(moved) - loss(at), 1e-4) << i;
  }
}

TEST(Dueling, FoldedNetworkHasTheSameValues) {
  nn::dynamic_mlp dueling = test::drawn({5, 16, 8, 4}, 1);
  for (float& b : dueling.bias(2)) b = 0.3F;
  dueling.bias(2)[0] = -2;
  nn::dynamic_mlp plain = *nn::dynamic_mlp::make({5, 16, 8, 3});
  ASSERT_TRUE(fold_dueling(dueling, plain));
  random_sequence random{1};
  for (int i = 0; i < 20; ++i) {
    std::array<float, 5> here{};
    for (float& x : here) x = static_cast<float>(random.normal());
    std::array<float, 4> outputs{};
    std::array<float, 3> expected{}, values{};
    dueling.evaluate(here, outputs);
    dueling_values(outputs, expected);
    plain.evaluate(here, values);
    for (std::size_t a = 0; a < 3; ++a) EXPECT_NEAR(values[a], expected[a], 1e-5);
  }
  nn::dynamic_mlp other = *nn::dynamic_mlp::make({5, 16, 9, 3});
  EXPECT_FALSE(fold_dueling(dueling, other));
}

}  // namespace
}  // namespace rubato::rl
