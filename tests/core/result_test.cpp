#include <gtest/gtest.h>

#include <memory>
#include <rubato/core/reason.hpp>
#include <rubato/core/result.hpp>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

namespace rubato {
namespace {

result<std::unique_ptr<int>> parse(bool good) {
  if (good) return std::make_unique<int>(42);
  return error{errc::corrupt, "file.bin, byte 7: found 9, expected 0 or 1"};
}

TEST(Result, HoldsAValue) {
  result<std::unique_ptr<int>> r = parse(true);
  ASSERT_TRUE(r);
  EXPECT_TRUE(r.has_value());
  EXPECT_EQ(**r, 42);
  EXPECT_EQ(*r->get(), 42);
  const std::unique_ptr<int> moved = *std::move(r);
  EXPECT_EQ(*moved, 42);
}

TEST(Result, HoldsAnError) {
  const result<std::unique_ptr<int>> r = parse(false);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, errc::corrupt);
  EXPECT_EQ(r.error().message, "file.bin, byte 7: found 9, expected 0 or 1");
}

// A value type that looks like an error is still a value.
TEST(Result, OfTextIsNoError) {
  const result<std::string> r = std::string{"text"};
  ASSERT_TRUE(r);
  EXPECT_EQ(*r, "text");
}

TEST(Result, CopiesMovesAndIsAssigned) {
  const result<std::string> text = std::string{"a text that is too long to lie in the object itself"};
  const result<std::string> none = error{errc::io, "nor does this message, which says why there is no text"};
  for (const result<std::string>& each : {text, none}) {
    result<std::string> copy = each;
    EXPECT_EQ(copy.has_value(), each.has_value());
    for (const result<std::string>& other : {text, none}) {
      copy = other;
      ASSERT_EQ(copy.has_value(), other.has_value());
      EXPECT_EQ(copy ? *copy : copy.error().message, other ? *other : other.error().message);
    }
    const result<std::string>& itself = copy;
    copy = itself;
    const result<std::string> moved = std::move(copy);
    EXPECT_EQ(moved.error().message, none.error().message);
  }
  static_assert(!std::is_copy_constructible_v<result<std::unique_ptr<int>>>);
  static_assert(!std::is_copy_assignable_v<result<std::unique_ptr<int>>>);
  static_assert(std::is_nothrow_move_assignable_v<result<std::unique_ptr<int>>>);
}

TEST(Result, EveryCodeHasItsName) {
  std::set<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(errc::io); ++code) names.insert(name(static_cast<errc>(code)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(errc::io) + 1);
  EXPECT_EQ(name(errc::io), "io");
  EXPECT_EQ(name(errc::wrong_kind), "wrong_kind");
  EXPECT_EQ(name(static_cast<errc>(200)), "invalid");
}

TEST(Reason, EveryReasonHasItsName) {
  std::set<std::string_view> names;
  for (int why = 0; why < static_cast<int>(reason::count_); ++why) names.insert(name(static_cast<reason>(why)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(reason::count_));
  EXPECT_EQ(names.count("invalid"), 0u);
  EXPECT_EQ(name(reason::nobody_left), "nobody_left");
  EXPECT_EQ(name(reason::count_), "invalid");
}

}  // namespace
}  // namespace rubato
