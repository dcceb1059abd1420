#include <rubato/nn/loss.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "plain_loops.hpp"

namespace rubato::nn {
namespace {

using test::random_values;

TEST(Loss, SquaredErrorByHand) {
  const auto [value, slope] = squared_error(3.0, 5.0);
  EXPECT_EQ(value, 4);
  EXPECT_EQ(slope, -4);
}

TEST(Loss, HuberByHand) {
  EXPECT_EQ(huber(3.0, 2.5).value, 0.125);
  EXPECT_EQ(huber(3.0, 2.5).slope, 0.5);
  EXPECT_EQ(huber(-3.0, 2.0, 2.0).value, 8);  // 2 * (5 - 1)
  EXPECT_EQ(huber(-3.0, 2.0, 2.0).slope, -2);
  EXPECT_EQ(huber(3.0, 1.5).value, 1) << "just beyond delta: 1.5 - 1 / 2";
  EXPECT_EQ(huber(3.0, 1.5).slope, 1);
  EXPECT_EQ(huber(3.0, 2.0).value, 0.5) << "both halves meet at delta";
  EXPECT_TRUE(std::isnan(huber(std::nan(""), 0.0).value));
}

TEST(Loss, SlopesMatchFiniteDifferences) {
  constexpr double h = 1e-6;
  for (const double x : {-5.0, -0.9, 0.2, 0.8, 4.0}) {
    EXPECT_NEAR(squared_error(x, 0.1).slope,
                (squared_error(x + h, 0.1).value - squared_error(x - h, 0.1).value) / (2 * h), 1e-8);
    EXPECT_NEAR(huber(x, 0.1, 1.5).slope, (huber(x + h, 0.1, 1.5).value - huber(x - h, 0.1, 1.5).value) / (2 * h),
                1e-8);
  }
}

TEST(Loss, SumsAreSumsOfTerms) {
  const auto p = random_values<double>(7, 1), t = random_values<double>(7, 2);
  std::vector<double> squares(7), hubers(7);
  const double a = squared_error<double>(p, t, squares, 0.25), b = huber<double>(p, t, hubers, 0.25, 0.3);
  double sum_a = 0, sum_b = 0;
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(squares[i], 0.25 * squared_error(p[i], t[i]).slope);
    EXPECT_EQ(hubers[i], 0.25 * huber(p[i], t[i], 0.3).slope);
    sum_a += squared_error(p[i], t[i]).value;
    sum_b += huber(p[i], t[i], 0.3).value;
  }
  EXPECT_NEAR(a, 0.25 * sum_a, 1e-15);
  EXPECT_NEAR(b, 0.25 * sum_b, 1e-15);
}

TEST(Loss, TheGradientMayTakeThePlaceOfThePrediction) {
  const auto p = random_values<double>(7, 1), t = random_values<double>(7, 2);
  std::vector<double> apart(7), in_place = p;
  const double squares = squared_error<double>(p, t, apart, 0.25);
  EXPECT_EQ(squared_error<double>(in_place, t, in_place, 0.25), squares);
  EXPECT_EQ(in_place, apart);
  in_place = p;
  const double hubers = huber<double>(p, t, apart, 0.25, 0.3);
  EXPECT_EQ(huber<double>(in_place, t, in_place, 0.25, 0.3), hubers);
  EXPECT_EQ(in_place, apart);
}

TEST(Loss, CrossEntropyByHand) {
  const std::vector<double> logits{std::log(1.0), std::log(2.0), std::log(5.0)};
  std::vector<double> gradient(3);
  EXPECT_NEAR(softmax_cross_entropy<double>(logits, 1, gradient), std::log(4.0), 1e-15);
  EXPECT_NEAR(gradient[0], 1.0 / 8, 1e-15);
  EXPECT_NEAR(gradient[1], 2.0 / 8 - 1, 1e-15);
  EXPECT_NEAR(gradient[2], 5.0 / 8, 1e-15);
}

TEST(Loss, CrossEntropyMatchesFiniteDifferences) {
  constexpr double h = 1e-6;
  auto logits = random_values<double>(6, 1);
  std::vector<double> gradient(6), unused(6);
  softmax_cross_entropy<double>(logits, 4, gradient, 0.5);
  for (std::size_t i = 0; i < 6; ++i) {
    const double kept = logits[i];
    logits[i] = kept + h;
    const double above = softmax_cross_entropy<double>(logits, 4, unused, 0.5);
    logits[i] = kept - h;
    const double below = softmax_cross_entropy<double>(logits, 4, unused, 0.5);
    logits[i] = kept;
    EXPECT_NEAR(gradient[i], (above - below) / (2 * h), 1e-9);
  }
}

TEST(Loss, LargeLogitsStayFinite) {
  std::vector<float> gradient(3);
  EXPECT_EQ(softmax_cross_entropy<float>(std::vector<float>{3e38F, 0, -3e38F}, 0, gradient), 0);
  EXPECT_EQ(gradient, (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(softmax_cross_entropy<float>(std::vector<float>{1000, 0, 0}, 1, gradient), 1000);
  EXPECT_EQ(gradient, (std::vector<float>{1, -1, 0}));
}

TEST(Loss, ALossBeyondTheScalarIsInfinite) {
  std::vector<float> gradient(3);
  EXPECT_EQ(softmax_cross_entropy<float>(std::vector<float>{3e38F, 0, -3e38F}, 2, gradient),
            std::numeric_limits<float>::infinity())
      << "6e38 is no float";
  EXPECT_EQ(gradient, (std::vector<float>{1, 0, -1}));
}

}  // namespace
}  // namespace rubato::nn
