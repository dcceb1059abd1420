#include <rubato/cuda/adam.cuh>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <rubato/nn/optimiser.hpp>
#include <vector>

#include "random_network.hpp"
#include "thread_lanes.hpp"

namespace rubato::cuda {
namespace {

double norm_of(const std::vector<float>& all) {
  std::vector<double> scratch(norm_parts);
  return gradient_norm(
      one_lane{}, static_cast<unsigned>(all.size()), [&](unsigned i) { return all[i]; }, scratch.data());
}

TEST(CudaAdam, HasTheBitsOfTheHost) {
  for (const nn::adam_options& options :
       {nn::adam_options{}, nn::adam_options{.learning_rate = 0.3, .beta1 = 0, .beta2 = 0.5, .epsilon = 1e-3},
        nn::adam_options{.learning_rate = 0.01, .beta1 = 0.7, .weight_decay = 0.1}}) {
    constexpr std::size_t count = 1000;
    nn::adam host{count, options, nn::kernels::reproducible<float>()};
    std::vector<float> expected = test::numbers(count, 1), found = expected, m(count), v(count);
    adam_powers powers;
    for (std::uint64_t t = 0; t < 50; ++t) {
      std::vector<float> gradient = test::numbers(count, 2 + t);
      gradient[0] = 0;
      gradient[1] = -0.0F;
      gradient[2] = t < 5 ? 1e-30F : 1e20F;
      host.step(expected, gradient);
      const nn::kernels::adam_step<float> step = next_adam_step(options, powers);
      for (std::size_t i = 0; i < count; ++i) adam(step, gradient[i], m[i], v[i], found[i]);
      ASSERT_EQ(found, expected) << "step " << t;
    }
    EXPECT_NE(found, test::numbers(count, 1));
  }
}

TEST(CudaAdam, NormIsThatOfTheHost) {
  for (const std::size_t count : {1u, 511u, 4803u}) {
    std::vector<float> gradient = test::numbers(count, count);
    const double expected = nn::clip_by_norm<float>(gradient, HUGE_VAL, nn::kernels::reproducible<float>());
    EXPECT_NEAR(norm_of(gradient), expected, 1e-12 * expected);
  }
}

TEST(CudaAdam, AnyNumberOfLanesGivesTheSameNorm) {
  const std::vector<float> gradient = test::numbers(4803, 3);
  const double expected = norm_of(gradient);
  for (const unsigned count : {2u, 7u, 32u}) {
    std::vector<double> scratch(norm_parts), found(count);
    test::on_lanes(count, [&](const auto& lanes) {
      found[lanes.index()] = gradient_norm(
          lanes, 4803, [&](unsigned i) { return gradient[i]; }, scratch.data());
    });
    EXPECT_EQ(found, std::vector<double>(count, expected));
  }
}

TEST(CudaAdam, ClippingIsThatOfTheHost) {
  for (const double most : {0.5, 1e9}) {
    std::vector<float> expected = test::numbers(600, 4), found = expected;
    const double norm = nn::clip_by_norm<float>(expected, most, nn::kernels::reproducible<float>());
    for (float& g : found) g *= clip_factor(norm, most);
    EXPECT_EQ(found, expected);
  }
  EXPECT_EQ(clip_factor(std::numeric_limits<double>::infinity(), 1), 1.0F);
  EXPECT_EQ(clip_factor(std::numeric_limits<double>::quiet_NaN(), 1), 1.0F);
}

}  // namespace
}  // namespace rubato::cuda
