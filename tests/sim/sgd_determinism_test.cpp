#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include <rubato/sim/sgd.hpp>

#include "reference_mlp.hpp"

namespace {

using namespace rubato::sim;
using rubato_test::synthetic_images;

const image_data& data() {
  static const synthetic_images images{700};
  static const image_data one{split(images.view(), 500, 200)};
  return one;
}

sgd_options small_network(std::uint32_t hidden) { return {.hidden_layers = hidden, .hidden_units = 40}; }

// Losses of 60 asynchronous steps of three workers, and of the evaluation at the end.
std::vector<double> run(sgd_objective& net, std::uint64_t seed) {
  net.reset(seed);
  std::vector<double> out;
  for (std::uint64_t step = 0; step < 20; ++step) {
    std::vector<contribution> parts;
    for (std::uint32_t worker = 0; worker < 3; ++worker) {
      const gradient made = net.compute(worker, step);
      out.push_back(made.loss);
      parts.push_back({made.handle, 1});
    }
    for (const contribution& part : parts) {
      net.update({&part, 1}, 0.05);
      net.release(part.handle);
    }
  }
  out.push_back(net.evaluate().loss);
  out.push_back(net.probe());
  return out;
}

bool same_bits(const std::vector<double>& left, const std::vector<double>& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  });
}

TEST(sgd_determinism, SameSeedSameBits) {
  for (const std::uint32_t hidden : {0U, 1U, 3U}) {
    sgd_objective one{small_network(hidden), data()};
    sgd_objective other{small_network(hidden), data()};
    const auto first = run(one, 7);
    EXPECT_TRUE(same_bits(first, run(other, 7))) << "in a second objective, h = " << hidden;
    EXPECT_FALSE(same_bits(first, run(one, 8))) << "another seed, h = " << hidden;
    EXPECT_TRUE(same_bits(first, run(one, 7))) << "after a reset, h = " << hidden;
  }
}

TEST(sgd_determinism, OrderOfWorkersDoesNotChangeTheirBatches) {
  sgd_objective forward{small_network(1), data()};
  sgd_objective backward{small_network(1), data()};
  std::vector<float> losses(10);
  for (std::uint32_t worker = 0; worker < 10; ++worker) losses[worker] = forward.compute(worker, 4).loss;
  for (std::uint32_t worker = 10; worker-- > 0;) EXPECT_EQ(backward.compute(worker, 4).loss, losses[worker]);
}

TEST(sgd_determinism, WorkersAndStepsDrawDifferentBatches) {
  sgd_objective net{small_network(0), data()};
  const auto drawn = [&](std::uint32_t worker, std::uint64_t step) {
    const auto samples = net.samples(worker, step, 16);
    return std::vector<std::uint32_t>{samples.begin(), samples.end()};
  };
  EXPECT_EQ(drawn(0, 0), drawn(0, 0));
  EXPECT_NE(drawn(0, 0), drawn(1, 0));
  EXPECT_NE(drawn(0, 0), drawn(0, 1));
}

TEST(sgd_determinism, ConsecutiveStepsShareNoDraws) {
  sgd_objective net{small_network(0), data()};
  const auto first = net.samples(0, 0, 200);
  const std::vector<std::uint32_t> before{first.begin(), first.end()};
  const auto after = net.samples(0, 1, 200);
  for (std::size_t shift = 0; shift < 150; ++shift) {
    const bool equal = std::equal(before.begin() + static_cast<std::ptrdiff_t>(shift), before.end(), after.begin());
    EXPECT_FALSE(equal) << shift;
  }
}

TEST(sgd_determinism, PendingGradientsDoNotChangeEachOther) {
  sgd_objective quiet{small_network(2), data()};
  sgd_objective busy{small_network(2), data()};
  const contribution alone{quiet.compute(0, 0).handle, 1};
  const contribution among{busy.compute(0, 0).handle, 1};
  for (std::uint32_t worker = 1; worker < 20; ++worker) static_cast<void>(busy.compute(worker, 0, worker));
  quiet.update({&alone, 1}, 0.1);
  busy.update({&among, 1}, 0.1);
  EXPECT_EQ(quiet.evaluate().loss, busy.evaluate().loss);
}

TEST(sgd_determinism, HandlesRecycleWithoutGrowth) {
  sgd_objective net{small_network(1), data()};
  std::vector<std::uint32_t> live;
  for (std::uint64_t step = 0; step < 500; ++step) {
    live.push_back(net.compute(0, step).handle);
    if (live.size() == 5) {
      net.release(live[step % 5]);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(step % 5));
    }
  }
  EXPECT_EQ(net.pool_capacity(), 5U);
  net.reset(1);
  for (std::uint32_t worker = 0; worker < 5; ++worker) static_cast<void>(net.compute(worker, 0));
  EXPECT_EQ(net.pool_capacity(), 5U);
}

TEST(sgd_determinism, PortableAgreesWithNative) {
  for (const std::uint32_t hidden : {0U, 1U, 3U}) {
    sgd_options options = small_network(hidden);
    sgd_objective native{options, data()};
    options.instructions = instruction_set::portable;
    sgd_objective portable{options, data()};
    EXPECT_EQ(portable.instructions(), "portable");
    const auto left = run(native, 3);
    const auto right = run(portable, 3);
    for (std::size_t i = 0; i < left.size(); ++i) EXPECT_NEAR(left[i], right[i], 1e-4) << hidden << ' ' << i;
  }
}

}  // namespace
