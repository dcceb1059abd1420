#include <rubato/adapt/growth/model_encoder.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <rubato/core/rng.hpp>
#include <vector>

namespace rubato::adapt {
namespace {

constexpr encoder_shape small{.vocabulary = 4, .embedding = 3, .encoder = 5, .decider = 2};

/// One whose directions read alike.
basic_model_encoder<float> symmetric() {
  auto encoder = *basic_model_encoder<float>::make("model_encoder", small, nn::kernels::reproducible<float>());
  random_sequence random{1};
  const auto draw = [&](std::span<float> numbers) {
    for (float& each : numbers) each = static_cast<float>(random.normal()) / 2;
  };
  draw(encoder.embeddings());
  draw(encoder.forwards().parameters());
  draw(encoder.decider().parameters());
  std::ranges::copy(encoder.forwards().parameters(), encoder.backwards().parameters().begin());
  return encoder;
}

template <class T>
std::vector<std::vector<T>> copied(const encoded_model<T>& model) {
  return {{model.ahead.begin(), model.ahead.end()},
          {model.back.begin(), model.back.end()},
          {model.state.begin(), model.state.end()}};
}

TEST(ModelEncoder, EachDirectionHasAStateForEachLayer) {
  const basic_model_encoder<float> encoder = symmetric();
  model_encoder_workspace<float> work{encoder, 6};
  const std::array<std::uint32_t, 4> layers{3, 0, 2, 0};
  const auto there = copied(encoder.forward(layers, work));
  EXPECT_EQ(there[0].size(), 4 * small.encoder);
  EXPECT_EQ(there[1].size(), 4 * small.encoder);
  EXPECT_EQ(there[2].size(), small.decider);
  EXPECT_EQ(work.layers(), 4U);
  EXPECT_EQ(work.max_layers(), 6U);

  // Read from its other end, the model has the states of the other direction, in the other order.
  std::array<std::uint32_t, 4> reversed = layers;
  std::ranges::reverse(reversed);
  const auto back_again = copied(encoder.forward(reversed, work));
  for (std::size_t layer = 0; layer < 4; ++layer)
    for (std::size_t unit = 0; unit < small.encoder; ++unit)
      EXPECT_EQ(back_again[0][layer * small.encoder + unit], there[1][(3 - layer) * small.encoder + unit]);
  EXPECT_NE(back_again[2], there[2]);
}

TEST(ModelEncoder, AStateIsOfTheLayersBeforeItAlone) {
  const basic_model_encoder<float> encoder = symmetric();
  model_encoder_workspace<float> work{encoder, 3};
  const auto first = copied(encoder.forward(std::array<std::uint32_t, 3>{1, 2, 3}, work));
  const auto other = copied(encoder.forward(std::array<std::uint32_t, 3>{1, 2, 0}, work));
  const auto differs = [&](std::size_t direction, std::size_t layer) {
    const auto at = static_cast<std::ptrdiff_t>(layer * small.encoder),
               to = at + static_cast<std::ptrdiff_t>(small.encoder);
    return !std::equal(first[direction].begin() + at, first[direction].begin() + to, other[direction].begin() + at);
  };
  EXPECT_FALSE(differs(0, 0));
  EXPECT_FALSE(differs(0, 1));
  EXPECT_TRUE(differs(0, 2));
  for (std::size_t layer = 0; layer < 3; ++layer) EXPECT_TRUE(differs(1, layer)) << layer;
}

TEST(ModelEncoder, BadShapesAreRefused) {
  const auto refusal = [](const encoder_shape& shape) {
    return basic_model_encoder<float>::make("it", shape, nn::kernels::reproducible<float>()).error().message;
  };
  EXPECT_EQ(refusal({.vocabulary = 0}), "it: found a vocabulary of 0 layers, expected 1 to 1048576");
  EXPECT_NE(refusal({.vocabulary = 1, .decider = 0}), "");
}

}  // namespace
}  // namespace rubato::adapt
