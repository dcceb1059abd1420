#include <rubato/adapt/growth/growth_agent.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

using namespace rubato;
using namespace rubato::adapt;

namespace growth_agent_test {
namespace {

growable_model model(std::vector<std::string> layers = {"Linear(2, 3)", "ReLU()"}) {
  return *growable_model::make(std::move(layers), {{0, 1, {"Linear(3, 3)", "ReLU()"}}});
}

// Deepen the one block, or not.
growth_agent agent() {
  growth_network network = *growth_network::make({.vocabulary = 3, .actions = 2});
  random_sequence random{1};
  draw_embeddings(network, random);
  initialise(network, random);
  return {.network = network,
          .vocabulary = *layer_vocabulary::make({{"Linear(2, 3)", 0}, {"Linear(3, 3)", 1}, {"ReLU()", 2}}, 3)};
}

TEST(GrowthAgent, SaysWhatIsMostProbable) {
  growth_agent who = agent();
  who.network.head().bias(2)[1] = 1 + who.network.head().bias(2)[0];
  const auto said = who.advise(model(), 30, 100);
  ASSERT_TRUE(said);
  ASSERT_EQ(said->probabilities.size(), 2U);
  EXPECT_NEAR(said->probabilities[0] + said->probabilities[1], 1, 1e-6);
  EXPECT_EQ(said->action, said->probabilities[1] > said->probabilities[0] ? 1U : 0U);
}

TEST(GrowthAgent, ModelAndTimeMatter) {
  const growth_agent who = agent();
  growable_model deeper = model();
  deeper.deepen(0);
  const auto now = who.advise(model(), 30, 100), later = who.advise(model(), 10, 100),
             deep = who.advise(deeper, 30, 100);
  ASSERT_TRUE(now && later && deep);
  EXPECT_NE(now->probabilities, later->probabilities);
  EXPECT_NE(now->probabilities, deep->probabilities);
  EXPECT_EQ(now->probabilities, who.advise(model(), 60, 200)->probabilities) << "what counts is the share";
}

TEST(GrowthAgent, SoftmaxOfWhatIsLarge) {
  std::vector<float> values{1e30F, 1e30F, -1e30F, 0};
  softmax(values);
  EXPECT_EQ(values, (std::vector<float>{0.5F, 0.5F, 0, 0}));
}

TEST(GrowthAgent, RefusesModelsItDoesNotKnow) {
  EXPECT_EQ(agent().advise(model({"Linear(2, 3)", "GELU()"}), 30, 100).error().message,
            "growth_agent: layer 1: found \"GELU()\", expected one of the 3 layers that the agent knows");
}

TEST(GrowthAgent, RefusesAnotherNumberOfActions) {
  const auto two = growable_model::make({"ReLU()", "ReLU()"}, {{0, 1, {"ReLU()"}}, {1, 1, {"ReLU()"}}});
  EXPECT_EQ(agent().advise(*two, 30, 100).error().message,
            "growth_agent: found a model of 3 actions, expected as many as the network has preferences");
}

TEST(GrowthAgent, RefusesImpossibleTimes) {
  EXPECT_EQ(agent().advise(model(), 30, 0).error().message, "growth_agent: budget is 0, expected a number above 0");
  EXPECT_EQ(agent().advise(model(), std::nan(""), 100).error().message,
            "growth_agent: time left is nan, expected a number");
}

TEST(GrowthAgent, RefusesPreferencesThatAreNoNumbers) {
  growth_agent who = agent();
  who.network.head().bias(2)[0] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(who.advise(model(), 30, 100).error().message, "growth_agent: a preference is not a finite number");
}

}  // namespace
}  // namespace growth_agent_test
