#include <rubato/adapt/growth/time_encoding.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>

using namespace rubato::adapt;

namespace time_encoding_test {
namespace {

TEST(TimeEncoding, SinesAsPublished) {
  const auto codes = encoded_time(100, 400, time_encoding::sines);
  const std::array<float, 8> quarter{5, 0, -5, 0, 5, 0, -5, 0};
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(codes[i], quarter[i], 1e-6) << i;
}

TEST(TimeEncoding, SinesTakeTheStartForTheEnd) {
  for (const double left : {0.0, 400.0})
    for (const float code : encoded_time(left, 400, time_encoding::sines)) EXPECT_NEAR(code, 0, 1e-5);
}

TEST(TimeEncoding, CosinesTellAllTimesApart) {
  float before = 6;
  for (int percent = 0; percent <= 100; ++percent) {
    const auto codes = encoded_time(percent, 100, time_encoding::cosines);
    EXPECT_LT(codes[0], before) << percent;
    EXPECT_NEAR(codes[7], 5 * std::cos(8 * std::numbers::pi * percent / 100), 1e-5) << percent;
    before = codes[0];
  }
}

TEST(TimeEncoding, TimesBeyondTheBudgetAreItsEnds) {
  for (const time_encoding how : {time_encoding::sines, time_encoding::cosines}) {
    EXPECT_EQ(encoded_time(-3, 100, how), encoded_time(0, 100, how)) << name(how);
    EXPECT_EQ(encoded_time(300, 100, how), encoded_time(100, 100, how)) << name(how);
  }
}

}  // namespace
}  // namespace time_encoding_test
