#include <rubato/learned/fingerprint.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <string_view>
#include <vector>

namespace rubato {
namespace {

TEST(Fingerprint, TellsNumbersApart) {
  EXPECT_EQ(fingerprint_of(std::vector<float>{}), "cbf29ce484222325");
  EXPECT_NE(fingerprint_of(std::vector{0.0F}), fingerprint_of(std::vector{-0.0F}));
  EXPECT_NE(fingerprint_of(std::vector{0.0F}), fingerprint_of(std::vector{0.0F, 0.0F}));
  EXPECT_NE(fingerprint_of(std::vector{1.0F, 2.0F}), fingerprint_of(std::vector{2.0F, 1.0F}));
  EXPECT_NE(fingerprint_of(std::vector{1.0, 2.0}), fingerprint_of(std::vector{-1.0, -2.0})) << "the highest bits";
  EXPECT_NE(fingerprint_of(std::vector{1.0F, 2.0F}), fingerprint_of(std::vector{-1.0F, -2.0F}));
  EXPECT_EQ(fingerprint_of(std::vector{0x1.c2c4c2p+1F}), hexadecimal(fnv1a(std::string_view{"aba@"})))
      << "byte by byte, the lowest first";
  EXPECT_NE(fingerprint_of(std::vector{1.0}), fingerprint_of(std::vector{std::nextafter(1.0, 2.0)}));
}

}  // namespace
}  // namespace rubato
