#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <rubato/core/fnv1a.hpp>
#include <string_view>

namespace {

using rubato::fnv1a;
using rubato::hexadecimal;
using namespace std::string_view_literals;

// draft-eastlake-fnv-17, appendix C
TEST(Fnv1a, KnownAnswers) {
  EXPECT_EQ(fnv1a(""sv), 0xcbf29ce484222325u);
  EXPECT_EQ(fnv1a("a"sv), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(fnv1a("foobar"sv), 0x85944171f73967e8u);
  static_assert(fnv1a(std::array{std::byte{'a'}}) == fnv1a("a"sv));
}

TEST(Fnv1a, ChainsThroughStart) { EXPECT_EQ(fnv1a("bar"sv, fnv1a("foo"sv)), fnv1a("foobar"sv)); }

TEST(Fnv1a, SixteenDigits) {
  EXPECT_EQ(hexadecimal(0), "0000000000000000");
  EXPECT_EQ(hexadecimal(0xff), "00000000000000ff");
  EXPECT_EQ(hexadecimal(0x85944171f73967e8), "85944171f73967e8");
}

}  // namespace
