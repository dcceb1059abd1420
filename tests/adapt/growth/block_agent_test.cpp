#include <rubato/adapt/growth/block_agent.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

using namespace rubato;
using namespace rubato::adapt;

namespace block_agent_test {
namespace {

// So many blocks of two layers.
growable_model model(std::size_t count) {
  std::vector<std::string> layers;
  std::vector<growable_block> blocks;
  for (std::size_t b = 0; b < count; ++b) {
    blocks.push_back({static_cast<std::uint32_t>(layers.size()), 2, {"Linear(3, 3)", "ReLU()"}});
    layers.insert(layers.end(), {"Linear(2, 3)", "ReLU()"});
  }
  return *growable_model::make(std::move(layers), std::move(blocks));
}

block_agent agent() {
  block_network network = *block_network::make({.vocabulary = 3}, nn::kernels::reproducible<float>());
  random_sequence random{1};
  draw_embeddings(network, random);
  initialise(network, random);
  return {.network = network,
          .vocabulary = *layer_vocabulary::make({{"Linear(2, 3)", 0}, {"Linear(3, 3)", 1}, {"ReLU()", 2}}, 3)};
}

// What the input does that is 1 for doing nothing, and 0 for a block.
void like_doing_nothing(block_agent& who, float how_much) {
  nn::dynamic_mlp& head = who.network.head();
  for (std::size_t i = 0; i < head.parameters().size(); ++i) head.parameters()[i] = 0;
  head.weight(0)(head.inputs() - 1, 0) = 1;
  head.weight(1)(0, 0) = 1;
  head.weight(2)(0, 0) = how_much;
}

TEST(BlockAgent, SaysWhatIsMostProbable) {
  block_agent who = agent();
  like_doing_nothing(who, std::log(3.0F));
  const auto rather = who.advise(model(2), 30, 100);
  ASSERT_TRUE(rather);
  ASSERT_EQ(rather->probabilities.size(), 3U);
  EXPECT_NEAR(rather->probabilities[0], 0.2, 1e-6);
  EXPECT_NEAR(rather->probabilities[1], 0.2, 1e-6);
  EXPECT_NEAR(rather->probabilities[2], 0.6, 1e-6);
  EXPECT_EQ(rather->action, 2U);
  like_doing_nothing(who, -1);
  EXPECT_EQ(who.advise(model(2), 30, 100)->action, 0U) << "of equals the first";
}

TEST(BlockAgent, AdvisesModelsOfAnyNumberOfBlocks) {
  const block_agent who = agent();
  for (const std::size_t count : {1U, 2U, 3U, 5U}) {
    growable_model grown = model(count);
    for (std::size_t step = 0; step < 3; ++step) {
      const auto said = who.advise(grown, 50, 100);
      ASSERT_TRUE(said) << count;
      ASSERT_EQ(said->probabilities.size(), count + 1);
      EXPECT_NEAR(std::accumulate(said->probabilities.begin(), said->probabilities.end(), 0.0), 1, 1e-6);
      for (const float p : said->probabilities) EXPECT_LE(p, said->probabilities[said->action]);
      grown.deepen(step % count);
    }
  }
}

TEST(BlockAgent, AdvisesToWiden) {
  block_agent who = agent();
  who.vocabulary = *layer_vocabulary::make({{"ReLU()", 0}}, 3, 1);
  const auto linear = [](int in, int out) {
    return "Linear(in_features=" + std::to_string(in) + ", out_features=" + std::to_string(out) + ", bias=True)";
  };
  auto model = *growable_model::make({linear(2, 3), "ReLU()", linear(3, 2)}, {{0, 2, {linear(3, 3), "ReLU()"}, true}});
  const std::size_t widens = who.network.head().inputs() - 2;
  nn::dynamic_mlp& head = who.network.head();
  for (const auto part : who.network.parameters()) std::ranges::fill(part, 0.0F);
  head.weight(0)(widens, 0) = head.weight(1)(0, 0) = head.weight(2)(0, 0) = 1;
  const auto said = who.advise(model, 50, 100);
  ASSERT_TRUE(said) << said.error().message;
  ASSERT_EQ(said->probabilities.size(), 3U);
  EXPECT_EQ(said->action, 1U);
  model.grow(said->action);
  EXPECT_EQ(model.layers()[0], linear(2, 6));
  EXPECT_EQ(model.layers()[2], linear(6, 2));
}

TEST(BlockAgent, ModelAndTimeMatter) {
  const block_agent who = agent();
  growable_model deeper = model(1);
  deeper.deepen(0);
  const auto now = who.advise(model(1), 30, 100), later = who.advise(model(1), 10, 100),
             deep = who.advise(deeper, 30, 100);
  ASSERT_TRUE(now && later && deep);
  EXPECT_NE(now->probabilities, later->probabilities);
  EXPECT_NE(now->probabilities, deep->probabilities);
  EXPECT_EQ(now->probabilities, who.advise(model(1), 60, 200)->probabilities) << "what counts is the share";
  block_agent other = who;
  other.time = time_encoding::cosines;
  EXPECT_NE(now->probabilities, other.advise(model(1), 30, 100)->probabilities);
}

TEST(BlockAgent, RefusesModelsItDoesNotKnow) {
  const auto unknown = growable_model::make({"Linear(2, 3)", "GELU()"}, {{0, 1, {"ReLU()"}}});
  EXPECT_EQ(agent().advise(*unknown, 30, 100).error().message,
            "growth_agent: layer 1: found \"GELU()\", expected one of the 3 layers that the agent knows");
}

TEST(BlockAgent, RefusesImpossibleTimes) {
  EXPECT_EQ(agent().advise(model(1), 30, 0).error().message, "growth_agent: budget is 0, expected a number above 0");
  EXPECT_FALSE(agent().advise(model(1), 30, std::numeric_limits<double>::infinity()));
  EXPECT_EQ(agent().advise(model(1), std::nan(""), 100).error().message,
            "growth_agent: time left is nan, expected a number");
}

TEST(BlockAgent, RefusesPreferencesThatAreNoNumbers) {
  block_agent who = agent();
  who.network.head().bias(2)[0] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(who.advise(model(1), 30, 100).error().message, "growth_agent: a preference is not a finite number");
}

}  // namespace
}  // namespace block_agent_test
