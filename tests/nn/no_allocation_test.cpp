// Networks, workspaces and optimisers allocate nothing once they exist.
#include <gtest/gtest.h>

#include <cstddef>
#include <rubato/nn/dynamic_mlp.hpp>
#include <rubato/nn/initialiser.hpp>
#include <rubato/nn/loss.hpp>
#include <rubato/nn/lstm.hpp>
#include <rubato/nn/mlp.hpp>
#include <rubato/nn/optimiser.hpp>
#include <span>
#include <utility>
#include <vector>

#include "../support/counted_allocations.hpp"

namespace rubato::nn {
namespace {

using rubato::test::allocations;
using rubato::test::counting;

// What a learner does at every step. The networks' own memory is counted where `counting` says so.
template <class Network>
void train(const Network& online_at_start, std::size_t rows) {
  Network online = online_at_start, target = online_at_start;
  typename Network::workspace work{online, rows};
  std::vector<float> in(rows * online.inputs(), 0.3F), wanted(rows * online.outputs(), 1.0F), slope(wanted.size());
  std::vector<float> gradient(online.parameters().size()), values(online.outputs());
  sgd plain{gradient.size(), {.momentum = 0.9}};
  adam fancy{gradient.size()};
  random_sequence random{1};

  allocations = 0;
  counting = true;
  initialise(online, {initialiser_kind::orthogonal}, random);
  for (int step = 0; step < 5; ++step) {
    online.evaluate(std::span{std::as_const(in)}.first(online.inputs()), values);
    huber<float>(online.forward(in, work), wanted, slope);
    online.backward(slope, work, gradient);
    static_cast<void>(clip_by_norm<float>(gradient, 1.0));
    fancy.step(online.parameters(), gradient);
    plain.step(online.parameters(), gradient);
    target = online;
  }
  counting = false;
  EXPECT_EQ(allocations, 0u);
}

TEST(NoAllocation, AfterConstruction) {
  train(mlp<40, 64, 32, 3>{}, 32);
  train(*dynamic_mlp::make({40, 64, 32, 3}), 32);
}

TEST(NoAllocation, StaticNetworksNever) {
  allocations = 0;
  counting = true;
  mlp<40, 64, 32, 3> net;
  const mlp<40, 64, 32, 3> copy = net;
  net = copy;
  counting = false;
  EXPECT_EQ(allocations, 0u);
}

TEST(NoAllocation, Lstm) {
  const lstm net = *lstm::make(5, 9);
  lstm::workspace work{net, 8};
  std::vector<float> in(8 * 5, 0.3F), slopes(8 * 9, 0.1F), gradients(net.parameters().size()), by_input(in.size());
  allocations = 0;
  counting = true;
  for (const auto direction : {lstm_direction::forwards, lstm_direction::backwards}) {
    static_cast<void>(net.forward(in, work, direction));
    net.backward(slopes, work, gradients, by_input);
  }
  counting = false;
  EXPECT_EQ(allocations, 0u);
}

// The counter counts, also what is aligned.
TEST(NoAllocation, IsMeasured) {
  allocations = 0;
  counting = true;
  const auto made = dynamic_mlp::make({4, 3, 2});
  counting = false;
  EXPECT_EQ(allocations, 1u);
}

}  // namespace
}  // namespace rubato::nn
