#include <rubato/sim/result.hpp>

#include <gtest/gtest.h>

namespace rubato::sim {
namespace {

TEST(StalenessHistogram, QuantileOfAHistogram) {
  staleness_histogram histogram;
  EXPECT_EQ(histogram.mean(), 0);
  EXPECT_EQ(histogram.quantile(0.95), 0U);
  for (std::uint64_t value = 1; value <= 100; ++value) histogram.add(value);
  EXPECT_DOUBLE_EQ(histogram.mean(), 50.5);
  EXPECT_EQ(histogram.quantile(0.95), 95U);
  EXPECT_EQ(histogram.quantile(1), 100U);
}

TEST(StalenessHistogram, LargeValuesShareTheLastBin) {
  staleness_histogram histogram;
  histogram.add(10'000'000);
  EXPECT_DOUBLE_EQ(histogram.mean(), 1e7);
  EXPECT_EQ(histogram.quantile(0.95), staleness_histogram::last_bin);
}

TEST(GradientAccount, BalancesIfEveryGradientEndedOnce) {
  gradient_account account{
      .computed = 21, .applied = 1, .flushed = 2, .dropped = 3, .discarded = 4, .lost = 5, .unfinished = 6};
  EXPECT_TRUE(account.balanced());
  ++account.lost;
  EXPECT_FALSE(account.balanced());
}

TEST(RunEnd, HasAName) {
  EXPECT_EQ(name(run_end::out_of_time), "out_of_time");
  EXPECT_EQ(name(run_end::stalled), "stalled");
  EXPECT_EQ(name(run_end::invalid), "invalid");
}

}  // namespace
}  // namespace rubato::sim
