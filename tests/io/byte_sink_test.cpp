#include <gtest/gtest.h>

#include <rubato/io/byte_sink.hpp>

namespace {

TEST(ByteSink, ACallableThatDoesNotThrow) {
  const auto quiet = [](std::string_view) noexcept {};
  const auto throwing = [](std::string_view) {};
  static_assert(rubato::ByteSink<std::remove_const_t<decltype(quiet)>>);
  static_assert(!rubato::ByteSink<std::remove_const_t<decltype(throwing)>>);
  static_assert(rubato::ByteSink<rubato::fixed_text<8>>);
}

TEST(FixedText, LeavesOutWhatDoesNotFit) {
  rubato::fixed_text<5> text;
  text("abc");
  EXPECT_FALSE(text.full());
  text("de");
  EXPECT_FALSE(text.full());
  text("f");
  EXPECT_TRUE(text.full());
  EXPECT_EQ(text.view(), "abcde");
}

}  // namespace
