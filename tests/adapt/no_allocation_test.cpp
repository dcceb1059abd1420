#include "../support/counted_allocations.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <rubato/adapt/batch_sizers/dynamix.hpp>
#include <rubato/adapt/growth/block_network.hpp>
#include <rubato/adapt/growth/growth_network.hpp>
#include <rubato/adapt/stigmergy.hpp>
#include <rubato/nn/mlp.hpp>
#include <vector>

using namespace rubato;
using namespace rubato::adapt;

namespace {

TEST(NoAllocation, Dynamix) {
  dynamix<nn::mlp<batch_state::size, 64, 64, 5>> by;
  by.resize(8);
  const std::vector<batch_worker> workers(8, {.counts = true, .batch = 64, .least = 32, .most = 1024, .steps = 5});
  std::vector<std::uint32_t> batches(8, 64);
  test::allocations = 0;
  test::counting = true;
  by({.workers = workers, .alive = 8, .usual = 64, .initial = 64, .time = 5}, batches);
  test::counting = false;
  EXPECT_EQ(test::allocations, 0U);
}

TEST(NoAllocation, GrowthNetwork) {
  const growth_network network = *growth_network::make({.vocabulary = 5});
  growth_network::workspace work{network, 8};
  growth_network::gradient sums = network.no_gradient();
  const std::array<std::uint32_t, 8> layers{0, 1, 2, 3, 4, 3, 2, 1};
  const std::array<float, 4> slopes{1, 0, -1, 2};
  test::allocations = 0;
  test::counting = true;
  static_cast<void>(network.forward(layers, encoded_time(1, 2, time_encoding::sines), work));
  network.backward(slopes, work, sums);
  test::counting = false;
  EXPECT_EQ(test::allocations, 0U);
}

TEST(NoAllocation, BlockNetwork) {
  const block_network network = *block_network::make({.vocabulary = 5});
  block_network::workspace work{network, 8, 3};
  block_network::gradient sums = network.no_gradient();
  const std::array<std::uint32_t, 8> layers{0, 1, 2, 3, 4, 3, 2, 1};
  const std::array<block_action, 3> actions{{{0, 1, 0, 0}, {2, 4, 3, 1}, {7, 7, 1, 2}}};
  const std::array<float, 4> slopes{1, 0, -1, 2};
  test::allocations = 0;
  test::counting = true;
  static_cast<void>(network.forward(layers, actions, encoded_time(1, 2, time_encoding::sines), work));
  network.backward(slopes, work, sums);
  test::counting = false;
  EXPECT_EQ(test::allocations, 0U);
}

TEST(NoAllocation, PheromoneField) {
  pheromone_field field = *pheromone_field::make(20, 20, {.initial = 1, .diffusion = 0.2});
  test::allocations = 0;
  test::counting = true;
  for (std::size_t t = 0; t < 2'000; ++t) {
    field.deposit(t % 20, t / 20 % 20);
    field.step();
  }
  field.reset();
  test::counting = false;
  EXPECT_EQ(test::allocations, 0U);
}

}  // namespace
