#include <rubato/cuda/shared_body.cuh>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "random_network.hpp"

namespace rubato::cuda::test_shared_body {
namespace {

// (1 + e)^2 is 1 + 2 e + e^2, of which e^2 is lost where the product is rounded by itself.
constexpr float e = 0x1p-13F;
constexpr double e_double = 0x1p-28;

TEST(CudaSharedBody, ExactRoundsTwice) {
  EXPECT_EQ(exact_arithmetic::plus_product(-1 - 2 * e, 1 + e, 1 + e), 0.0F);
  EXPECT_EQ(detail::exact_double::plus_product(-1 - 2 * e_double, 1 + e_double, 1 + e_double), 0.0);
}

TEST(CudaSharedBody, FusedRoundsOnce) { EXPECT_EQ(fused_arithmetic::plus_product(-1 - 2 * e, 1 + e, 1 + e), e * e); }

// Where the processor has a fused multiply-add a compiler would like to make one of these two lines.
TEST(CudaSharedBody, ProductIsRoundedByItself) {
  volatile double a = 1 + e_double, sum = -1 - 2 * e_double;
  const double b = a, c = sum;
  EXPECT_EQ(detail::exact_double::product(b, b) + c, 0.0);
  EXPECT_TRUE(std::signbit(detail::exact_double::product(-0.0, 1.0)));
  EXPECT_FALSE(std::signbit(detail::exact_double::product(0.0, 1.0)));
  EXPECT_TRUE(std::isnan(detail::exact_double::product(std::numeric_limits<double>::infinity(), 0.0)));
}

TEST(CudaSharedBody, FusedSumIsWithinItsError) {
  for (const std::size_t n : {1u, 64u, 1000u}) {
    double worst = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      const std::vector<float> a = test::numbers(n, 2 * seed), b = test::numbers(n, 2 * seed + 1);
      float found = 0;
      double expected = 0, terms = 0;
      for (std::size_t i = 0; i < n; ++i) {
        found = fused_arithmetic::plus_product(found, a[i], b[i]);
        const double term = static_cast<double>(a[i]) * static_cast<double>(b[i]);
        expected += term;
        terms += std::fabs(term);
      }
      const double apart = std::fabs(static_cast<double>(found) - expected);
      EXPECT_LE(apart, static_cast<double>(n) * 0x1p-24 * terms);
      worst = apart > worst ? apart : worst;
    }
    EXPECT_GT(worst, 0) << "nothing was rounded";
  }
}

}  // namespace
}  // namespace rubato::cuda::test_shared_body
