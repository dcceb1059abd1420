#include "../../examples/support/fnv1a.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace {

using rubato::support::fnv1a;
using namespace std::string_view_literals;

// draft-eastlake-fnv-17, appendix C
TEST(Fnv1a, KnownAnswers) {
  EXPECT_EQ(fnv1a(""sv), 0xcbf29ce484222325u);
  EXPECT_EQ(fnv1a("a"sv), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(fnv1a("foobar"sv), 0x85944171f73967e8u);
}

TEST(Fnv1a, ChainsThroughStart) { EXPECT_EQ(fnv1a("bar"sv, fnv1a("foo"sv)), fnv1a("foobar"sv)); }

}  // namespace
