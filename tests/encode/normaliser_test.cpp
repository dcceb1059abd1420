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
    for (const row& r : rows)
      squares += std::pow(static_cast<double>(r[i]) - mean, 2) / static_cast<double>(rows.size());
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

constexpr float nan_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinite = std::numeric_limits<float>::infinity();

TEST(Normaliser, IgnoresWhatIsNotFinite) {
  normaliser<3> with, without;
  with.observe(row{nan_number, infinite, -infinite});
  for (const row& r : some_rows()) {
    without.observe(r);
    with.observe(row{r[0], nan_number, r[2]});
    with.observe(row{infinite, r[1], nan_number});
  }
  EXPECT_EQ(with.count(), 1001U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(with.mean()[i], without.mean()[i]);
    EXPECT_EQ(with.variance(i), without.variance(i));
  }
  row one{101, -1, 3}, other = one;
  with.apply(one);
  without.apply(other);
  EXPECT_EQ(one, other);
  row bad{nan_number, -infinite, infinite};
  with.apply(bad);
  EXPECT_EQ(bad, (row{0, -10, 0})) << "what never varied is 0 even then";
}

TEST(Normaliser, NeverFiniteBecomesZero) {
  normaliser<2> scale;
  scale.observe(std::array{nan_number, 1.0F});
  EXPECT_EQ(scale.mean()[0], 0.0);
  EXPECT_EQ(scale.variance(0), normaliser<2>::least_variance);
  std::array<float, 2> numbers{5.0F, 1.0F};
  scale.apply(numbers);
  EXPECT_EQ(numbers, (std::array<float, 2>{0, 0}));
  scale.observe(std::array{100.0F, 1.0F});
  EXPECT_EQ(scale.mean()[0], 100.0);
}

TEST(Normaliser, StateRoundTrip) {
  normaliser<3> scale = trained();
  archive out;
  scale.state(out);
  normaliser<3> other;
  archive in{out.bytes()};
  other.state(in);
  EXPECT_TRUE(in.finished());
  for (const float x : {1.0F, nan_number, 2.0F}) {  // with a NaN each number has a count of its own
    scale.observe(row{1, x, 3});
    other.observe(row{1, x, 3});
    row a{101, -1, 3}, b = a;
    scale.apply(a);
    other.apply(b);
    EXPECT_EQ(a, b);
    archive again;
    scale.state(again);
    archive back{again.bytes()};
    other.state(back);
    EXPECT_TRUE(back.finished());
    EXPECT_EQ(other.mean()[1], scale.mean()[1]);
    EXPECT_EQ(other.variance(1), scale.variance(1));
  }
}

// Bytes that were written when all numbers had one count: count, frozen, and of each mean, sum of squares, scale.
TEST(Normaliser, ReadsStateOfBefore) {
  archive out;
  std::uint64_t count = 4;
  bool frozen = true;
  double mean = 3, squares = 16, scale = 0.5;
  out(count, frozen, mean, squares, scale);
  normaliser<1> read;
  archive in{out.bytes()};
  read.state(in);
  ASSERT_TRUE(in.finished());
  EXPECT_TRUE(read.frozen());
  EXPECT_EQ(read.count(), 4U);
  EXPECT_EQ(read.variance(0), 4.0);
  read.freeze(false);
  read.observe(std::array{8.0F});
  EXPECT_EQ(read.mean()[0], 4.0);
  EXPECT_EQ(read.variance(0), (16.0 + 5 * 4) / 5);
}

TEST(Normaliser, BadStateChangesNothing) {
  const auto refused = [](std::uint8_t form, double mean, double squares, double factor, std::uint64_t own = 4) {
    archive out;
    std::uint64_t count = 4;
    out(count, form, mean, squares, factor, own);
    normaliser<1> scale;
    scale.observe(std::array{2.0F});
    archive in{out.bytes()};
    scale.state(in);
    EXPECT_EQ(scale.count() == 1 && scale.mean()[0] == 2.0, !in.ok());
    return !in.ok();
  };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double inf = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(refused(4, 1, 1, 2));
  for (const double bad : {nan, inf, -inf}) {
    EXPECT_TRUE(refused(4, bad, 1, 2));
    EXPECT_TRUE(refused(4, 1, bad, 2));
    EXPECT_TRUE(refused(4, 1, 1, bad));
  }
  EXPECT_TRUE(refused(4, 1, -1, 2));
  EXPECT_TRUE(refused(4, 1, 1, -2));
  EXPECT_TRUE(refused(4, 1, 1, 2, 5)) << "more values than observations";
  EXPECT_TRUE(refused(8, 1, 1, 2)) << "a form of later";
  normaliser<3> scale = trained();
  archive out;
  scale.state(out);
  archive cut{out.bytes().first(out.bytes().size() - 1)};
  normaliser<3> other;
  other.state(cut);
  EXPECT_FALSE(cut.ok());
  EXPECT_EQ(other.count(), 0U);
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

// Else a policy that was loaded would not be saved as it was.
TEST(Normaliser, GivenStatisticsAreKept) {
  rubato::random_sequence random{8};
  for (int n = 0; n < 1000; ++n) {
    const double variance = 10 * random.uniform() + 1e-9;
    normaliser<1> scale, other;
    scale.assign(std::array{0.25}, std::array{variance}, 1000);
    ASSERT_EQ(scale.variance(0), variance);
    archive out;
    scale.state(out);
    archive in{out.bytes()};
    other.state(in);
    ASSERT_TRUE(in.finished());
    ASSERT_EQ(other.variance(0), variance);
  }
  normaliser<1> large;
  large.assign(std::array{0.0}, std::array{1e308}, 1024);
  EXPECT_EQ(large.variance(0), 1e308) << "a sum of squares would be infinite";
}

TEST(Normaliser, GoesOnFromGivenStatistics) {
  normaliser<1> scale;
  scale.assign(std::array{3.0}, std::array{4.0}, 4);
  scale.freeze(false);
  scale.observe(std::array{8.0F});
  EXPECT_EQ(scale.count(), 5U);
  EXPECT_EQ(scale.mean()[0], 4.0);
  EXPECT_EQ(scale.variance(0), (16.0 + 5 * 4) / 5);
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
