#include <rubato/adapt/train/growth_adam.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <rubato/adapt/growth/block_network.hpp>
#include <vector>

#include "small_tables.hpp"

using namespace rubato;
using namespace rubato::adapt;

namespace growth_adam_test {
namespace {

template <class Network>
std::vector<float> weights_of(const Network& network) {
  std::vector<float> all;
  for (const auto part : network.parameters()) all.insert(all.end(), part.begin(), part.end());
  return all;
}

template <class Network>
void step_downhill(Network network) {
  const std::vector<float> before = weights_of(network);
  basic_growth_adam adam{network, 0.5};
  adam.set_learning_rate(0.01);
  for (auto& part : adam.gradient())
    for (float& each : part) each = 3;
  EXPECT_TRUE(adam.step(network));
  const std::vector<float> after = weights_of(network);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(after[i], before[i] - 0.01F, 1e-5F);
  for (const auto& part : adam.gradient())
    for (const float each : part) EXPECT_EQ(each, 0);
}

TEST(GrowthAdam, StepsDownhill) {
  step_downhill(test::small_network(1));
  step_downhill(*block_network::make({.vocabulary = 4, .embedding = 2, .encoder = 3, .decider = 2, .hidden = 4}));
}

TEST(GrowthAdam, LeavesTheNetworkWhereNoNumbersCome) {
  growth_network network = test::small_network(1);
  const std::vector<float> before = weights_of(network);
  growth_adam adam{network, 0.01};
  adam.gradient()[2][0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(adam.step(network));
  EXPECT_EQ(weights_of(network), before);
  EXPECT_EQ(adam.gradient()[2][0], 0) << "or no step would follow";
}

}  // namespace
}  // namespace growth_adam_test
