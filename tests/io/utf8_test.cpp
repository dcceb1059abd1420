#include <gtest/gtest.h>

#include <cstdint>
#include <rubato/io/utf8.hpp>
#include <string>
#include <string_view>

namespace {

using rubato::in_quotes;
using rubato::is_plain;
using rubato::utf8_length;

TEST(Utf8, Lengths) {
  for (const std::string_view bad :
       {"", "\x80", "\xC0\xAF", "\xC1\x81", "\xC3", "\xE0\x80\x80", "\xE2\x82", "\xED\xA0\x80", "\xF0\x80\x80\x80",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE2\"\x82", "\xFF"})
    EXPECT_EQ(utf8_length(bad), 0U);
  for (const std::string_view good : {"a", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
                                      "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"})
    EXPECT_EQ(utf8_length(good), good.size());
}

std::string of(char32_t code) {
  const auto byte = [](char32_t bits) { return static_cast<char>(static_cast<unsigned char>(bits)); };
  const auto rest = [&](int shift) { return byte(0x80 | ((code >> shift) & 0x3F)); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xC0 | (code >> 6)), rest(0)};
  if (code < 0x10000) return {byte(0xE0 | (code >> 12)), rest(6), rest(0)};
  return {byte(0xF0 | (code >> 18)), rest(12), rest(6), rest(0)};
}

// Where the compiler evaluates them, a read behind the end is an error.
static_assert(rubato::is_plain(std::string_view{}) && rubato::plain_length(std::string_view{}) == 0);
static_assert(rubato::utf8_length(std::string_view{}) == 0);

TEST(Utf8, PlainCharacters) {
  // Unicode 15: Default_Ignorable_Code_Point, and controls, separators, blanks that are no spaces, annotations.
  const auto hidden = [](char32_t c) {
    const auto in = [c](char32_t first, char32_t last) { return c >= first && c <= last; };
    const bool ignorable = c == 0xAD || c == 0x34F || c == 0x61C || in(0x115F, 0x1160) || in(0x17B4, 0x17B5) ||
                           in(0x180B, 0x180F) || in(0x200B, 0x200F) || in(0x202A, 0x202E) || in(0x2060, 0x206F) ||
                           c == 0x3164 || in(0xFE00, 0xFE0F) || c == 0xFEFF || c == 0xFFA0 || in(0xFFF0, 0xFFF8) ||
                           in(0x1BCA0, 0x1BCA3) || in(0x1D173, 0x1D17A) || in(0xE0000, 0xE0FFF);
    return ignorable || c < 0x20 || in(0x7F, 0x9F) || in(0x2028, 0x2029) || c == 0x2800 || in(0xFFF9, 0xFFFB);
  };
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    const std::string text = of(c);
    ASSERT_EQ(utf8_length(text), text.size()) << std::hex << static_cast<std::uint32_t>(c);
    ASSERT_EQ(is_plain(text), !hidden(c)) << std::hex << static_cast<std::uint32_t>(c);
  }
  EXPECT_TRUE(is_plain(""));
  EXPECT_TRUE(is_plain("caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"));
  EXPECT_FALSE(is_plain("abc\xFF"));
}

TEST(Utf8, QuotesEscapeAndShorten) {
  EXPECT_EQ(in_quotes("a\n\x7f\xC2\x85\xFF\xC3\xA9"), "\"a\\x0a\\x7f\\xc2\\x85\\xff\xC3\xA9\"");
  EXPECT_EQ(in_quotes("\xE2\x80\xAEtxt"), "\"\\xe2\\x80\\xaetxt\"") << "U+202E would turn the rest of the line round";
  EXPECT_EQ(in_quotes(std::string(64, 'x')), '"' + std::string(64, 'x') + '"');
  EXPECT_EQ(in_quotes(std::string(65, 'x')), '"' + std::string(64, 'x') + "...\"");
  EXPECT_EQ(in_quotes(std::string(63, 'x') + "\xC3\xA9"), '"' + std::string(63, 'x') + "...\"");
}

}  // namespace
