#ifndef RUBATO_IO_JSON_WRITER_HPP
#define RUBATO_IO_JSON_WRITER_HPP

#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "../pinned.hpp"
#include "byte_sink.hpp"
#include "utf8.hpp"

namespace rubato::inline RUBATO_ABI {

/// Writes JSON text (RFC 8259) piece by piece; commas and quotes are its business, the nesting is the caller's.
///
///     json_writer json{sink};
///     json.begin_object().member("name", "ssp").key("of").begin_array().value(1).value(2.5).end_array().end_object();
///
/// Numbers read back as exactly the same value, in the fewest digits that do so; those that are not finite become null.
/// Text is UTF-8: quotes, backslashes and control characters are escaped, bytes that are not UTF-8 become U+FFFD. Equal
/// calls give equal bytes on every machine.
///
/// Depth   at most 64 levels; a key before each value of an object, and only there. Broken preconditions are asserted.
/// Cost    no allocation; one to three calls of the sink per value. Not thread-safe.
/// Tests   tests/io/json_writer_test.cpp: Nesting, Escapes, InvalidUtf8, NumbersRoundTrip, NonFiniteIsNull
template <ByteSink Sink>
class json_writer {
 public:
  /// `sink` must outlive the writer.
  explicit json_writer(Sink& sink) noexcept : sink_{sink} {}

  json_writer& begin_object() noexcept { return open("{"); }  ///< as a value; then keys, each with its value
  json_writer& end_object() noexcept { return close("}"); }   ///< of the innermost one, an object
  json_writer& begin_array() noexcept { return open("["); }   ///< as a value; then values
  json_writer& end_array() noexcept { return close("]"); }    ///< of the innermost one, an array

  /// Of the value that follows. That no key comes twice is the caller's business.
  json_writer& key(std::string_view name) noexcept {
    separate();
    quote(name);
    sink_(":");
    after_key_ = true;
    return *this;
  }

  /// A string.
  json_writer& value(std::string_view text) noexcept {
    separate();
    quote(text);
    return *this;
  }
  json_writer& value(const char* text) noexcept { return value(std::string_view{text}); }  ///< a string; not null
  json_writer& value(bool truth) noexcept { return raw(truth ? "true" : "false"); }        ///< true or false
  json_writer& value(std::nullptr_t) noexcept { return raw("null"); }                      ///< null

  /// A number; null if it is not finite.
  template <class Number>
    requires(std::integral<Number> || std::floating_point<Number>) && (!std::same_as<Number, char>)
  json_writer& value(Number number) noexcept {
    if constexpr (std::floating_point<Number>)
      if (!pinned::is_finite(number)) return raw("null");
    std::array<char, 64> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return raw({digits.data(), static_cast<std::size_t>(end - digits.data())});
  }

  /// JSON text made elsewhere, as it is; line ends, which can only be white space in it, become spaces.
  json_writer& raw(std::string_view json) noexcept {
    separate();
    for (std::size_t end = json.find_first_of("\r\n"); end != json.npos; end = json.find_first_of("\r\n")) {
      sink_(json.substr(0, end));
      sink_(" ");
      json.remove_prefix(end + 1);
    }
    sink_(json);
    return *this;
  }

  /// A key and its value, of any type that value() takes.
  template <class Value>
  json_writer& member(std::string_view name, const Value& its_value) noexcept {
    return key(name).value(its_value);
  }

  /// The next value or end starts a new line.
  json_writer& new_line() noexcept {
    new_line_ = true;
    return *this;
  }

 private:
  json_writer& open(std::string_view bracket) noexcept {
    RUBATO_ASSERT(depth_ < 64, "JSON nested deeper than 64 levels");
    separate();
    sink_(bracket);
    not_first_ &= ~(std::uint64_t{1} << depth_++ % 64);
    return *this;
  }

  json_writer& close(std::string_view bracket) noexcept {
    RUBATO_ASSERT(depth_ > 0 && !after_key_, "an end without its begin, or after a key");
    --depth_;
    if (new_line_) sink_("\n");
    new_line_ = false;
    sink_(bracket);
    return *this;
  }

  // What comes between the previous value of this level and the next key or value.
  void separate() noexcept {
    if (after_key_ || depth_ == 0) {
      after_key_ = false;
      return;
    }
    const std::uint64_t level = std::uint64_t{1} << (depth_ - 1) % 64;
    if ((not_first_ & level) != 0) sink_(",");
    not_first_ |= level;
    if (new_line_) sink_("\n");
    new_line_ = false;
  }

  void quote(std::string_view text) noexcept {
    sink_("\"");
    while (!text.empty()) {
      std::size_t plain = 0;  // bytes that go out as they are
      std::size_t length = 0;
      while (plain < text.size() && (length = unescaped_length(text.substr(plain))) > 0) plain += length;
      if (plain > 0) sink_(text.substr(0, plain));
      text.remove_prefix(plain);
      if (text.empty()) break;
      escape(static_cast<unsigned char>(text.front()));
      text.remove_prefix(1);
    }
    sink_("\"");
  }

  void escape(unsigned char c) noexcept {
    if (c >= 0x80) return sink_("\xEF\xBF\xBD");
    if (c == '"') return sink_("\\\"");
    if (c == '\\') return sink_("\\\\");
    if (c == '\n') return sink_("\\n");
    if (c == '\t') return sink_("\\t");
    constexpr std::string_view hex = "0123456789abcdef";
    const std::array<char, 6> code{'\\', 'u', '0', '0', hex[c / 16], hex[c % 16]};
    sink_(std::string_view{code.data(), code.size()});
  }

  // Length of the character at the front if it needs no escape; 0 if it does, or is not UTF-8.
  [[nodiscard]] static std::size_t unescaped_length(std::string_view text) noexcept {
    const std::size_t length = utf8_length(text);
    if (length != 1) return length;
    return static_cast<unsigned char>(text[0]) < 0x20 || text[0] == '"' || text[0] == '\\' ? 0 : 1;
  }

  Sink& sink_;
  std::uint64_t not_first_ = 0;  // bit d: level d has a value already
  std::uint32_t depth_ = 0;
  bool after_key_ = false;
  bool new_line_ = false;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
