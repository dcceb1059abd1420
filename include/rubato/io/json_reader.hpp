#ifndef RUBATO_IO_JSON_READER_HPP
#define RUBATO_IO_JSON_READER_HPP

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "../core/result.hpp"
#include "../nn/number_from_text.hpp"
#include "utf8.hpp"

namespace rubato::inline RUBATO_ABI {

/// What a json_reader refuses, and how its messages name the text.
struct json_reader_options {
  std::string_view source = "JSON";  ///< what messages begin with; must outlive the reader
  std::size_t offset = 0;            ///< of the text in that source: messages count bytes from the source's begin
  std::uint32_t depth = 4;           ///< objects and arrays nested deeper are refused
};

/// Reads JSON text (RFC 8259) whose shape the caller knows, value by value, strictly.
///
///     json_reader json{text};
///     json.object([&](std::string_view key) {
///       if (key == "name") json.string(name);
///       else if (key == "sizes") json.array([&] { json.integer(sizes.emplace_back()); });
///       else json.refuse(in_quotes(key), "name or sizes");
///     });
///     if (!json.end()) return json.problem();
///
/// Each callback must read one value or refuse. The first problem is kept, and everything after it does nothing and
/// answers false. Refused: keys given twice (compared after un-escaping), bytes that are not UTF-8, lone surrogates,
/// unescaped control characters, trailing commas, whatever the grammar does not have. A message gives source, byte,
/// the keys that lead there, what was found and what was expected.
///
/// Errors  corrupt, unless refuse() was told otherwise.
/// Cost    O(n log k) for k keys of an object; the keys of open objects are kept. Does not recurse. Not thread-safe.
/// Tests   tests/io/json_reader_test.cpp: Reads, Grammar, Depth, DuplicateKeys, InvalidUtf8, Escapes, Integers,
///         Numbers, MessagesSayWhere, FirstProblemStays, AgreesWithAnotherParser
class json_reader {
 public:
  /// `text` must outlive the reader. Reads nothing yet.
  explicit json_reader(std::string_view text, json_reader_options o = {}) noexcept : text_{text}, options_{o} {}

  /// Reads an object; `member(key)` reads the value of each key. The key is valid during the call.
  template <std::invocable<std::string_view> Member>
  bool object(Member&& member) {
    if (!open('{', "an object")) return false;
    std::set<std::string> keys;
    while (const std::string* key = next_key(keys)) {
      member(std::string_view{*key});
      if (ok_) path_.pop_back();
    }
    return ok_;
  }

  /// Reads an array; `element()` reads each value.
  template <std::invocable Element>
  bool array(Element&& element) {
    if (!open('[', "an array")) return false;
    for (bool first = true; another(']', first); first = false) element();
    return ok_;
  }

  /// Reads a string into `value`, un-escaped.
  bool string(std::string& value) { return text(value, "a string"); }

  /// Reads an integer of 0 to `most`, without sign, fraction or exponent. The default is the largest below which
  /// every JSON reader is exact.
  bool integer(std::uint64_t& value, std::uint64_t most = std::uint64_t{1} << 53) {
    const std::string_view digits = number_token();
    std::uint64_t read = 0;
    const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), read);
    const bool whole = status == std::errc{} && end == digits.data() + digits.size();
    if (!whole || (digits[0] == '0' && digits.size() > 1) || read > most)
      return refuse_here("an integer of 0 to " + std::to_string(most));
    position_ += digits.size();
    value = read;
    return true;
  }

  /// Reads any number that a double can hold; not one that would become infinite, or 0 without being it.
  bool number(double& value) {
    const std::string_view digits = number_token();
    double read = 0.0;
    const auto [end, status] = nn::detail::number_from_text(digits.data(), digits.data() + digits.size(), read);
    if (!is_number(digits)) return refuse_here("a number");
    if (status != std::errc{} || end != digits.data() + digits.size())
      return refuse_here("a number that a double can hold");
    position_ += digits.size();
    value = read;
    return true;
  }

  /// Whether all went well and the text is at its end; white space is not allowed there.
  bool end() {
    mark_ = position_;
    return ok_ && (position_ == text_.size() || refuse_here("the end of the text"));
  }

  /// Refuses the key or value read last. Answers false.
  bool refuse(std::string_view found, std::string_view expected, errc code = errc::corrupt) {
    if (!ok_) return false;
    ok_ = false;
    problem_ = {code, std::string{options_.source} + ": byte " + std::to_string(options_.offset + mark_)};
    for (std::size_t i = 0; i < path_.size(); ++i) problem_.message += (i == 0 ? ", " : ".") + in_quotes(path_[i]);
    problem_.message.append(": found ").append(found).append(", expected ").append(expected);
    return false;
  }

  [[nodiscard]] bool ok() const noexcept { return ok_; }  ///< nothing was refused so far
  /// The first problem. Precondition: !ok().
  [[nodiscard]] const error& problem() const noexcept {
    RUBATO_ASSERT(!ok_, "problem() of a reader that has none");
    return problem_;
  }

 private:
  [[nodiscard]] char peek() const noexcept { return position_ < text_.size() ? text_[position_] : '\0'; }
  void skip_space() noexcept {
    while (peek() == ' ' || peek() == '\n' || peek() == '\r' || peek() == '\t') ++position_;
  }
  void next_value() noexcept {
    skip_space();
    mark_ = position_;
  }

  bool open(char bracket, std::string_view what) {
    next_value();
    if (!ok_ || peek() != bracket) return refuse_here(what);
    if (depth_ == options_.depth)
      return refuse_here("at most " + std::to_string(options_.depth) + " levels of objects and arrays");
    ++depth_;
    ++position_;
    return true;
  }

  // Whether another key or element follows in the object or array that ends with `bracket`; leaves it if not.
  bool another(char bracket, bool first) {
    if (!ok_) return false;
    next_value();
    if (peek() == bracket) {
      --depth_;
      ++position_;
      return false;
    }
    if (first) return true;
    if (peek() != ',') return refuse_here(bracket == '}' ? "',' or '}'" : "',' or ']'");
    ++position_;
    next_value();
    return true;
  }

  // Null at the end of an object, and after a problem.
  const std::string* next_key(std::set<std::string>& keys) {
    if (!another('}', keys.empty())) return nullptr;
    const std::size_t begin = position_;
    std::string key;
    if (!text(key, "a key in quotes")) return nullptr;
    const auto [place, is_new] = keys.insert(std::move(key));
    mark_ = begin;
    if (!is_new) return refuse("the key " + in_quotes(*place) + " again", "each key once"), nullptr;
    skip_space();
    if (peek() != ':') return refuse_here("':'"), nullptr;
    ++position_;
    path_.push_back(*place);
    return &*place;
  }

  // What stands at the position, in words.
  [[nodiscard]] std::string found() const {
    if (position_ >= text_.size()) return "the end";
    switch (const char c = peek()) {
      case '"':
        return "a string";
      case '{':
        return "an object";
      case '[':
        return "an array";
      default:
        if (const std::string_view digits = run_of("+-.0123456789eE"); c == '-' || (c >= '0' && c <= '9'))
          return std::string{digits.substr(0, 32)} + (digits.size() > 32 ? "..." : "");
        if (const std::string_view word = run_of("abcdefghijklmnopqrstuvwxyz"); !word.empty())
          return std::string{word.substr(0, 32)};
        const std::size_t length = utf8_length(text_.substr(position_));
        return in_quotes(text_.substr(position_, length == 0 ? 1 : length));
    }
  }
  bool refuse_here(std::string_view expected) {
    if (!ok_) return false;
    mark_ = position_;
    return refuse(found(), expected);
  }

  [[nodiscard]] std::string_view run_of(std::string_view characters) const noexcept {
    const std::string_view rest = text_.substr(position_);
    return rest.substr(0, rest.find_first_not_of(characters));
  }
  // The number at the position, or empty.
  std::string_view number_token() noexcept {
    next_value();
    return ok_ ? run_of("+-.0123456789eE") : std::string_view{};
  }

  // RFC 8259, section 6: from_chars also takes leading zeros, "1." and ".5".
  [[nodiscard]] static bool is_number(std::string_view token) noexcept {
    const auto digits = [&] {
      const std::size_t count = token.find_first_not_of("0123456789");
      return count == token.npos ? token.size() : count;
    };
    if (token.starts_with('-')) token.remove_prefix(1);
    const std::size_t whole = digits();
    if (whole == 0 || (whole > 1 && token[0] == '0')) return false;
    token.remove_prefix(whole);
    if (token.starts_with('.')) {
      token.remove_prefix(1);
      if (digits() == 0) return false;
      token.remove_prefix(digits());
    }
    if (token.starts_with('e') || token.starts_with('E')) {
      token.remove_prefix(1);
      if (token.starts_with('+') || token.starts_with('-')) token.remove_prefix(1);
      if (digits() == 0) return false;
      token.remove_prefix(digits());
    }
    return token.empty();
  }

  bool text(std::string& value, std::string_view what) {
    next_value();
    const std::size_t begin = position_;
    if (!ok_ || peek() != '"') return refuse_here(what);
    ++position_;
    value.clear();
    while (peek() != '"') {
      const std::string_view rest = text_.substr(position_);
      if (rest.empty()) return refuse_here("'\"' at the end of the string");
      if (rest.front() == '\\') {
        if (!escape(value)) return false;
        continue;
      }
      const std::size_t length = utf8_length(rest);
      if (length == 0) return refuse_here("UTF-8");
      if (static_cast<std::uint8_t>(rest.front()) < 0x20) return refuse_here("control characters to be escaped");
      value += rest.substr(0, length);
      position_ += length;
    }
    ++position_;
    mark_ = begin;
    return true;
  }

  bool escape(std::string& value) {
    constexpr std::string_view letters = "\"\\/bfnrt";
    constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
    mark_ = position_++;
    if (const std::size_t which = letters.find(peek()); peek() != '\0' && which != letters.npos) {
      ++position_;
      value += meanings[which];
      return true;
    }
    std::uint32_t code = 0;
    if (!code_unit(code)) return refuse("a backslash", "an escape of JSON");
    if (code >= 0xD800 && code < 0xE000) {
      std::uint32_t low = 0;
      const bool pair =
          code < 0xDC00 && peek() == '\\' && (++position_, code_unit(low)) && low >= 0xDC00 && low < 0xE000;
      if (!pair) return refuse("half a surrogate pair", "both halves");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    append(value, code);
    return true;
  }

  // Reads uXXXX.
  bool code_unit(std::uint32_t& code) noexcept {
    if (peek() != 'u') return false;
    const std::string_view digits = text_.substr(position_ + 1, 4);
    const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() < 4 || status != std::errc{} || end != digits.data() + 4) return false;
    position_ += 5;
    return true;
  }

  static void append(std::string& value, std::uint32_t code) {
    const auto byte = [&](std::uint32_t bits) { value += static_cast<char>(bits); };
    const auto continuation = [&](std::uint32_t shift) { byte(0x80 | ((code >> shift) & 0x3F)); };
    if (code < 0x80) return byte(code);
    if (code < 0x800) {
      byte(0xC0 | (code >> 6));
    } else {
      if (code < 0x10000) {
        byte(0xE0 | (code >> 12));
      } else {
        byte(0xF0 | (code >> 18));
        continuation(12);
      }
      continuation(6);
    }
    continuation(0);
  }

  std::string_view text_;
  json_reader_options options_;
  std::size_t position_ = 0;
  std::size_t mark_ = 0;  // where the key or value read last begins
  std::uint32_t depth_ = 0;
  std::vector<std::string_view> path_;  // the keys that lead to the position
  bool ok_ = true;
  error problem_;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
