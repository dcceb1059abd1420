#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <rubato/core/rng.hpp>
#include <rubato/encode/normaliser.hpp>
#include <vector>

namespace {

using rubato::archive;
using rubato::normaliser;
using row = std::array<float, 3>;

std::vector<row> some_rows() {
  rubato::random_sequence random{5};
  std::vector<row> rows(500);
  for (row& r : rows)
    r = {static_cast<float>(100 + 3 * random.normal()), static_cast<float>(-1 + 0.01 * random.normal()), 7.0F};
  return rows;
}

normaliser<3> trained() {
  normaliser<3> scale;
  for (const row& r : some_rows()) scale.observe(r);
  return scale;
}

TEST(Normaliser, MeanAndVariance) {
  const normaliser<3> scale = trained();
  const std::vector<row> rows = some_rows();
  for (std::size_t i = 0; i < 3; ++i) {
    double mean = 0, squares = 0;
    for (const row& r : rows) mean += static_cast<double>(r[i]) / static_cast<double>(rows.size());
    for (const row& r : rows) squares += std::pow(static_cast<double>(r[i]) - mean, 2) / static_cast<double>(rows.size());
    EXPECT_NEAR(scale.mean()[i], mean, 1e-9);
    EXPECT_NEAR(scale.variance(i), std::max(squares, normaliser<3>::least_variance), 1e-9 * squares + 1e-15);
  }
  EXPECT_EQ(scale.count(), 500U);
}

TEST(Normaliser, AppliesInPlace) {
  const normaliser<3> scale = trained();
  row numbers{static_cast<float>(scale.mean()[0] + 2 * std::sqrt(scale.variance(0))), 1e30F, 7.0F};
  scale.apply(numbers);
  EXPECT_NEAR(numbers[0], 2.0F, 1e-4);
  EXPECT_EQ(numbers[1], 10.0F) << "the limit";
  EXPECT_EQ(numbers[2], 0.0F) << "what never varied";
}

TEST(Normaliser, IdentityBeforeAnythingWasSeen) {
  row numbers{1, 2, 3};
  normaliser<3>{}.apply(numbers);
  EXPECT_EQ(numbers, (row{1, 2, 3}));
}

TEST(Normaliser, FreezesAndThaws) {
  normaliser<3> scale = trained();
  scale.freeze();
  EXPECT_TRUE(scale.frozen());
  const double mean = scale.mean()[0];
  scale.observe(row{0, 0, 0});
  EXPECT_EQ(scale.mean()[0], mean);
  EXPECT_EQ(scale.count(), 500U);
  scale.freeze(false);
  scale.observe(row{0, 0, 0});
  EXPECT_LT(scale.mean()[0], mean);
}

TEST(Normaliser, IgnoresWhatIsNotFinite) {
  normaliser<3> scale = trained();
  const double mean = scale.mean()[0];
  const double variance = scale.variance(0);
  row bad{std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 7.0F};
  scale.observe(bad);
  EXPECT_EQ(scale.mean()[0], mean);
  EXPECT_NEAR(scale.variance(0), variance, 1e-4);
  scale.apply(bad);
  EXPECT_EQ(bad[0], 0.0F);
  EXPECT_EQ(bad[1], 10.0F);
}

TEST(Normaliser, StateRoundTrip) {
  normaliser<3> scale = trained();
  archive out;
  scale.state(out);
  normaliser<3> other;
  archive in{out.bytes()};
  other.state(in);
  EXPECT_TRUE(in.finished());
  scale.observe(row{1, 2, 3});
  other.observe(row{1, 2, 3});
  row a{101, -1, 3}, b = a;
  scale.apply(a);
  other.apply(b);
  EXPECT_EQ(a, b);
}

// What a file keeps is enough.
TEST(Normaliser, GivenStatistics) {
  const normaliser<3> scale = trained();
  const std::array<double, 3> variances{scale.variance(0), scale.variance(1), scale.variance(2)};
  normaliser<3> other;
  other.assign(scale.mean(), variances, scale.count());
  EXPECT_TRUE(other.frozen());
  for (const row& r : some_rows()) {
    row a = r, b = r;
    scale.apply(a);
    other.apply(b);
    EXPECT_EQ(a, b);
  }
}

// Else what never varied would be scaled by a million after its second way through a file.
TEST(Normaliser, TheLeastVarianceStaysTheLeast) {
  constexpr double least = normaliser<1>::least_variance;
  for (std::uint64_t count = 1; count < 1000; ++count) {
    normaliser<1> scale;
    scale.assign(std::array{0.0}, std::array{least}, count);
    ASSERT_EQ(scale.variance(0), least) << count;
  }
}

}  // namespace
