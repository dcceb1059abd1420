#include "../../examples/support/statistics.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace {

using namespace rubato::support;

TEST(Statistics, InterquartileMean) {
  EXPECT_DOUBLE_EQ(interquartile_mean(std::array{8.0, 1.0, 2.0, 100.0}), 5.0);  // 2 and 8 are left
  EXPECT_DOUBLE_EQ(interquartile_mean(std::array{3.0, 1.0, 2.0}), 2.0);         // too few to cut any
  EXPECT_DOUBLE_EQ(interquartile_mean(std::array{10.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 99.0}), 5.5);
  EXPECT_DOUBLE_EQ(interquartile_mean(std::array{7.0}), 7.0);
  EXPECT_TRUE(std::isnan(interquartile_mean({})));
}

TEST(Statistics, Quantile) {
  const std::array values{4.0, 1.0, 3.0, 2.0};
  EXPECT_DOUBLE_EQ(quantile(values, 0), 1.0);
  EXPECT_DOUBLE_EQ(quantile(values, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile(values, 0.95), 3.85);
  EXPECT_DOUBLE_EQ(quantile(values, 1), 4.0);
  EXPECT_TRUE(std::isnan(quantile({}, 0.5)));
}

TEST(Statistics, MeanAndStandardError) {
  const auto result = mean_and_standard_error(std::array{1.0, 2.0, 3.0, 4.0});
  EXPECT_DOUBLE_EQ(result.mean, 2.5);
  EXPECT_DOUBLE_EQ(result.standard_error, std::sqrt(5.0 / 3 / 4));
  EXPECT_TRUE(std::isnan(mean_and_standard_error(std::array{1.0}).standard_error));
  EXPECT_TRUE(std::isnan(mean_and_standard_error({}).mean));
}

TEST(Statistics, BootstrapIsDeterministicInTheSeed) {
  const std::array values{0.31, 1.07, 2.65, 3.58, 4.93, 5.79, 6.32, 7.84, 8.46, 9.26};
  const auto first = bootstrap_interquartile_mean(values, {.seed = 5});
  const auto again = bootstrap_interquartile_mean(values, {.seed = 5});
  const auto other = bootstrap_interquartile_mean(values, {.seed = 6});
  EXPECT_EQ(first.low, again.low);
  EXPECT_EQ(first.high, again.high);
  EXPECT_TRUE(first.low != other.low || first.high != other.high);
}

TEST(Statistics, BootstrapOfEqualValuesIsThatValue) {
  const auto result = bootstrap_interquartile_mean(std::vector<double>(10, 3.5));
  EXPECT_DOUBLE_EQ(result.value, 3.5);
  EXPECT_DOUBLE_EQ(result.low, 3.5);
  EXPECT_DOUBLE_EQ(result.high, 3.5);
}

// Of two values {0, 1} a resample is 0, 1/2, 1 with probability 1/4, 1/2, 1/4: the 95 % interval is all of [0, 1], the
// 40 % interval is the middle alone.
TEST(Statistics, BootstrapMatchesTheExactDistributionOfTwoValues) {
  const std::array values{0.0, 1.0};
  const auto wide = bootstrap_interquartile_mean(values);
  EXPECT_DOUBLE_EQ(wide.low, 0.0);
  EXPECT_DOUBLE_EQ(wide.high, 1.0);
  const auto narrow = bootstrap_interquartile_mean(values, {.level = 0.4});
  EXPECT_DOUBLE_EQ(narrow.low, 0.5);
  EXPECT_DOUBLE_EQ(narrow.high, 0.5);
}

// Seeds that are twice as slow for both sides cancel only if both sides draw the same ones.
TEST(Statistics, RatioResamplesSeedsJointly) {
  const std::array numerator{2.0, 40.0, 6.0, 800.0, 10.0};
  const std::array denominator{1.0, 20.0, 3.0, 400.0, 5.0};
  const auto ratio = bootstrap_ratio(numerator, denominator);
  EXPECT_DOUBLE_EQ(ratio.value, 2.0);
  EXPECT_DOUBLE_EQ(ratio.low, 2.0);
  EXPECT_DOUBLE_EQ(ratio.high, 2.0);
}

TEST(Statistics, RatioRefusesUnequalSizes) {
  EXPECT_THROW(static_cast<void>(bootstrap_ratio(std::array{1.0}, std::array{1.0, 2.0})), std::invalid_argument);
}

// Two that take turns: one of them is quicker in almost every resample, by chance alone.
TEST(Statistics, TheLeastIsFoundInEachResample) {
  const std::vector<std::vector<double>> both{{1, 3, 1, 3, 1, 3, 1, 3}, {3, 1, 3, 1, 3, 1, 3, 1}};
  const std::vector<double> ones(8, 1.0);
  const auto least = bootstrap_least_ratio(both, ones);
  EXPECT_DOUBLE_EQ(least.value, 2);
  EXPECT_LE(least.high, 2);
  EXPECT_GT(bootstrap_ratio(both[0], ones).high, 2.5);
  const std::vector<std::vector<double>> alone{both[0]};
  const auto one = bootstrap_least_ratio(alone, ones), same = bootstrap_ratio(both[0], ones);
  EXPECT_EQ(one.low, same.low);
  EXPECT_EQ(one.high, same.high);
  EXPECT_THROW(static_cast<void>(bootstrap_least_ratio({}, ones)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(bootstrap_least_ratio(both, std::array{1.0})), std::invalid_argument);
}

// Of five values the quantile is 2.776, of two 12.706.
TEST(Statistics, MeanWithStudentsInterval) {
  const auto five = mean_with_t_interval(std::array{1.0, 2.0, 3.0, 4.0, 5.0});
  EXPECT_DOUBLE_EQ(five.value, 3);
  EXPECT_NEAR(five.high - 3, 2.776445 * std::sqrt(0.5), 1e-5);
  EXPECT_NEAR(five.low - 3, -2.776445 * std::sqrt(0.5), 1e-5);
  EXPECT_NEAR(mean_with_t_interval(std::array{0.0, 2.0}).high, 1 + 12.706205, 1e-5);
  EXPECT_EQ(mean_with_t_interval(std::array{7.0}).value, 7);
  EXPECT_TRUE(std::isnan(mean_with_t_interval(std::array{7.0}).low));
  EXPECT_EQ(mean_with_t_interval(std::array{7.0, 7.0}).low, 7);
}

TEST(Statistics, NothingMeasuredIsNotANumber) {
  EXPECT_TRUE(std::isnan(bootstrap_interquartile_mean({}).low));
  EXPECT_TRUE(std::isnan(bootstrap_ratio({}, {}).value));
  EXPECT_TRUE(std::isnan(mean_with_t_interval({}).value));
}

}  // namespace
