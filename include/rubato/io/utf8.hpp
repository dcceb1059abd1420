#ifndef RUBATO_IO_UTF8_HPP
#define RUBATO_IO_UTF8_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "../config.hpp"

namespace rubato::inline RUBATO_ABI {

/// Length of the UTF-8 character at the front of `text` (RFC 3629, section 4); 0 if there is none.
/// Tests   tests/io/utf8_test.cpp: Lengths
[[nodiscard]] constexpr std::size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) -> unsigned {
    return i < text.size() ? static_cast<std::uint8_t>(text[i]) : 0U;
  };
  const auto within = [&](std::size_t i, unsigned low, unsigned high) { return byte(i) >= low && byte(i) <= high; };
  const auto follows = [&](std::size_t i) { return within(i, 0x80, 0xBF); };
  const unsigned first = byte(0);
  if (first < 0x80) return text.empty() ? 0 : 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  const bool second = within(1,
                             first == 0xE0   ? 0xA0
                             : first == 0xF0 ? 0x90
                                             : 0x80,  // no overlong forms,
                             first == 0xED   ? 0x9F
                             : first == 0xF4 ? 0x8F
                                             : 0xBF);  // no surrogates, at most U+10FFFF
  if (first >= 0xE0 && first <= 0xEF) return second && follows(2) ? 3 : 0;
  if (first >= 0xF0 && first <= 0xF4) return second && follows(2) && follows(3) ? 4 : 0;
  return 0;
}

namespace detail {

struct character_range {
  std::uint32_t first, last;
};

// Characters beyond ASCII that are invisible, or change what others look like: C1 controls, the default ignorable ones
// of Unicode (DerivedCoreProperties.txt) and what is drawn as nothing.
inline constexpr character_range hidden_characters[] = {
    {0x80, 0x9F},       {0xAD, 0xAD},       {0x34F, 0x34F},     {0x61C, 0x61C},     {0x115F, 0x1160},
    {0x17B4, 0x17B5},   {0x180B, 0x180F},   {0x200B, 0x200F},   {0x2028, 0x202E},   {0x2060, 0x206F},
    {0x2800, 0x2800},   {0x3164, 0x3164},   {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},
    {0xFFF0, 0xFFFB},   {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF},
};

}  // namespace detail

/// Like utf8_length, but 0 for what is no letter to a reader: control characters (C0, DEL and C1), line and paragraph
/// separators, and characters that are invisible or change the direction of writing.
/// Tests   tests/io/utf8_test.cpp: PlainCharacters
[[nodiscard]] constexpr std::size_t plain_length(std::string_view text) noexcept {
  const std::size_t length = utf8_length(text);
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<std::uint8_t>(text[i])); };
  if (length < 2) return length == 0 || byte(0) < 0x20 || byte(0) == 0x7F ? 0 : 1;
  std::uint32_t code = byte(0) & (length == 2 ? 0x1FU : length == 3 ? 0x0FU : 0x07U);
  for (std::size_t i = 1; i < length; ++i) code = code << 6 | (byte(i) & 0x3FU);
  for (const auto& [first, last] : detail::hidden_characters)
    if (code >= first && code <= last) return 0;
  return length;
}

/// Whether `text` is UTF-8 throughout, of plain characters only: fit for names, and for terminals.
[[nodiscard]] constexpr bool is_plain(std::string_view text) noexcept {
  while (const std::size_t length = plain_length(text)) text.remove_prefix(length);
  return text.empty();
}

/// `text` in double quotes, for messages: at most 64 bytes of it, and what is not plain as `\xNN`.
/// Tests   tests/io/utf8_test.cpp: QuotesEscapeAndShorten
[[nodiscard]] inline std::string in_quotes(std::string_view text) {
  constexpr std::string_view hex = "0123456789abcdef";
  constexpr std::size_t most = 64;
  std::string out = "\"";
  std::size_t i = 0;
  while (i < text.size()) {
    const std::size_t length = plain_length(text.substr(i));
    if (i + length > most || i == most) break;
    const auto byte = static_cast<std::uint8_t>(text[i]);
    if (length == 0) {
      out += {'\\', 'x', hex[byte / 16U], hex[byte % 16U]};
    } else {
      out += text.substr(i, length);
    }
    i += length == 0 ? 1 : length;
  }
  return out + (i < text.size() ? "...\"" : "\"");
}

namespace detail {

/// Sorts names by their bytes. The first that stands there twice; null if there is none.
[[nodiscard]] inline const std::string_view* repeated(std::vector<std::string_view>& names) noexcept {
  std::sort(names.data(), names.data() + names.size());
  for (std::size_t i = 1; i < names.size(); ++i)
    if (names[i] == names[i - 1]) return &names[i];
  return nullptr;
}

}  // namespace detail

}  // namespace rubato::inline RUBATO_ABI

#endif
