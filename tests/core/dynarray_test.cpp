#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <rubato/dynarray.hpp>
#include <utility>

namespace rubato::detail {
namespace {

struct note {
  std::uint32_t number = 7;
  bool known = true;
};

TEST(Dynarray, Values) {
  const dynarray<note> by_default(3);
  EXPECT_EQ(by_default.size(), 3U);
  for (const note& each : by_default) EXPECT_TRUE(each.number == 7 && each.known);
  dynarray<std::uint32_t> given(2, 5);
  given[1] = 6;
  EXPECT_EQ(given[0], 5U);
  EXPECT_EQ(given.data()[1], 6U);
  EXPECT_EQ(dynarray<std::uint32_t>{}.size(), 0U);
}

TEST(Dynarray, CopiesAreIndependent) {
  dynarray<std::uint32_t> a(2, 1);
  dynarray<std::uint32_t> b = a;
  b[0] = 9;
  EXPECT_EQ(a[0], 1U);
  EXPECT_EQ(b[1], 1U);
  a = dynarray<std::uint32_t>(5, 4);
  b = a;
  EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
  b = {};
  EXPECT_EQ(b.size(), 0U);
  EXPECT_EQ(a.size(), 5U);
}

TEST(Dynarray, AssignmentReusesMemory) {
  const dynarray<std::uint32_t> a(3, 1);
  dynarray<std::uint32_t> b(3, 2);
  const std::uint32_t* const before = b.data();
  b = a;
  EXPECT_EQ(b.data(), before);
  EXPECT_EQ(b[2], 1U);
}

TEST(Dynarray, Moves) {
  dynarray<std::uint32_t> a(3, 1);
  const std::uint32_t* const before = a.data();
  dynarray<std::uint32_t> b = std::move(a);
  EXPECT_EQ(b.data(), before);
  dynarray<std::uint32_t> c;
  c = std::move(b);
  EXPECT_EQ(c.data(), before);
  EXPECT_EQ(c.size(), 3U);
}

#if RUBATO_CHECKED && GTEST_HAS_DEATH_TEST
TEST(Dynarray, AnIndexBeyondTheEndEndsTheProgram) {
  dynarray<std::uint32_t> a(2, 1);
  EXPECT_EQ(a[1], 1U);
  EXPECT_DEATH(static_cast<void>(a[2]), "an index below the size");
  EXPECT_DEATH(static_cast<void>(std::as_const(a)[2]), "an index below the size");
}
#endif

}  // namespace
}  // namespace rubato::detail
