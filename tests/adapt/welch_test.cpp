#include <rubato/adapt/welch.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <rubato/core/rng.hpp>
#include <vector>

namespace {

using rubato::adapt::sample_summary;
using rubato::adapt::student_t_cdf;
using rubato::adapt::summary_of;
using rubato::adapt::welch_p;

TEST(Welch, SummaryOfValues) {
  const sample_summary four = summary_of(std::vector{1.0, 2.0, 4.0, 5.0});
  EXPECT_EQ(four.size, 4u);
  EXPECT_EQ(four.mean, 3.0);
  EXPECT_DOUBLE_EQ(four.variance, 10.0 / 3);
  EXPECT_DOUBLE_EQ(four.deviation(), std::sqrt(10.0 / 3));
  EXPECT_EQ(summary_of(std::vector{7.0}).variance, 0.0);
  EXPECT_EQ(summary_of({}).size, 0u);
}

// One degree is Cauchy's distribution, two and four have closed forms.
TEST(Welch, KnownDistributions) {
  for (const double t : {-40.0, -3.0, -1.0, -0.001, 0.0, 1e-6, 0.3, 1.0, 2.5, 17.0, 1e4}) {
    EXPECT_NEAR(student_t_cdf(t, 1), 0.5 + std::atan(t) / std::numbers::pi, 1e-11) << t;
    EXPECT_NEAR(student_t_cdf(t, 2), 0.5 + t / (2 * std::sqrt(2 + t * t)), 1e-11) << t;
    const double s = t / std::sqrt(4 + t * t);
    EXPECT_NEAR(student_t_cdf(t, 4), 0.5 + 0.75 * (s - s * s * s / 3), 1e-11) << t;
    EXPECT_NEAR(student_t_cdf(t, 6.7) + student_t_cdf(-t, 6.7), 1, 1e-12) << t;
  }
}

// To the four decimals that tables have.
TEST(Welch, TabulatedQuantiles) {
  struct {
    double degrees, at_95, at_99;
  } const table[] = {{1, 6.3138, 31.8205}, {3, 2.3534, 4.5407},  {5, 2.0150, 3.3649},  {8, 1.8595, 2.8965},
                     {10, 1.8125, 2.7638}, {30, 1.6973, 2.4573}, {120, 1.6577, 2.3578}};
  for (const auto& row : table) {
    EXPECT_NEAR(student_t_cdf(row.at_95, row.degrees), 0.95, 1e-5) << row.degrees;
    EXPECT_NEAR(student_t_cdf(row.at_99, row.degrees), 0.99, 1e-5) << row.degrees;
  }
}

// With so many degrees t is off the normal distribution by less than 1e-5.
TEST(Welch, ManyDegreesAreNormal) {
  for (const double t : {-2.0, -0.5, 0.1, 1.0, 3.0})
    EXPECT_NEAR(student_t_cdf(t, 1e5), 0.5 * std::erfc(-t / std::numbers::sqrt2), 1e-5) << t;
}

// Means 3 and 1 above each other by 2, variances of the means 0.5 and 0.25: t = 2 / sqrt(0.75), and, with 4 and 8
// values, 0.5625 / (0.25 / 3 + 0.0625 / 7) degrees.
TEST(Welch, OfAKnownExample) {
  const sample_summary a{4, 3, 2}, b{8, 1, 2};
  const double degrees = 0.5625 / (0.25 / 3 + 0.0625 / 7);
  EXPECT_NEAR(welch_p(a, b, 0), 1 - student_t_cdf(2 / std::sqrt(0.75), degrees), 1e-14);
  EXPECT_NEAR(welch_p(a, b, 2), 0.5, 1e-14);
  EXPECT_NEAR(welch_p(a, b, 3), student_t_cdf(1 / std::sqrt(0.75), degrees), 1e-12);
}

TEST(Welch, WithoutScatter) {
  const sample_summary a{2, 3, 0}, b{2, 1, 0};
  EXPECT_EQ(welch_p(a, b, 1), 0.0);
  EXPECT_EQ(welch_p(a, b, 2), 1.0);
  EXPECT_LT(welch_p({2, 3, 1e-200}, {2, 1, 0}, 1), 1e-6);  // squares of such variances are 0
}

// Accuracies in another unit are no other accuracies.
TEST(Welch, OfAnyScale) {
  const double usual = welch_p({4, 3, 2}, {8, 1, 5}, 1);
  for (const double unit : {1e-90, 1e-3, 1e3, 1e90, 1e140})
    EXPECT_NEAR(welch_p({4, 3 * unit, 2 * unit * unit}, {8, unit, 5 * unit * unit}, unit), usual, 1e-12) << unit;
}

// Of samples whose means are as far apart as the test allows, it must call about 5 % farther apart.
TEST(Welch, KeepsItsLevel) {
  rubato::random_sequence draw{5, 0};
  const auto sample = [&](std::size_t size, double mean, double deviation) {
    std::vector<double> values(size);
    for (double& x : values) x = mean + deviation * draw.normal();
    return summary_of(values);
  };
  constexpr int trials = 20'000;
  int rejected = 0;
  for (int i = 0; i < trials; ++i) rejected += welch_p(sample(3, 0.91, 0.007), sample(5, 0.92, 0.004), -0.01) <= 0.05;
  EXPECT_NEAR(rejected / static_cast<double>(trials), 0.05, 0.01);
}

}  // namespace
