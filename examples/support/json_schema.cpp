#include "json_schema.hpp"

#include <array>
#include <charconv>
#include <numeric>
#include <rubato/io/utf8.hpp>
#include <set>

#include "json_nesting.hpp"

namespace rubato::support {
namespace {

/// Checks a document event by event for what nlohmann's own parser lets pass or reports without a position.
class strict_reader final : public nlohmann::json_sax<json> {
 public:
  strict_reader(std::string_view text, const std::string& source) : text_{text}, source_{source} {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (!keys_.back().insert(name).second)
      throw user_error{source_ + ": found the key " + excerpt(name) + " twice in one object, expected it once"};
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    const std::size_t byte = std::min(position, text_.size());
    const auto line = 1 + std::ranges::count(text_.substr(0, byte == 0 ? 0 : byte - 1), '\n');
    std::string_view detail{error.what()};
    // "[json.exception.…] parse error at line 1, column 2: syntax error while parsing value - unexpected …; expected …"
    if (const auto end = detail.find("] "); end != std::string_view::npos) detail.remove_prefix(end + 2);
    if (const auto end = detail.find(": "); detail.starts_with("parse error") && end != std::string_view::npos)
      detail.remove_prefix(end + 2);
    throw user_error{source_ + ": line " + std::to_string(line) + ", byte " + std::to_string(byte) + ": " +
                     std::string{detail.substr(0, 200)}};
  }

 private:
  bool open() {
    if (keys_.size() == deepest_nesting)
      throw user_error{source_ + ": found nesting deeper than " + std::to_string(deepest_nesting) +
                       " levels, expected a document of few"};
    keys_.emplace_back();
    return true;
  }
  bool close() {
    keys_.pop_back();
    return true;
  }

  std::string_view text_;
  const std::string& source_;
  std::vector<std::set<std::string>> keys_;  // of each open object or array
};

[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

[[nodiscard]] std::string_view last_component(std::string_view path) { return path.substr(path.rfind('.') + 1); }

/// Shortest text that reads back as the same number.
[[nodiscard]] std::string number_text(double value) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

[[noreturn]] void refuse_unknown(const std::string& where, const std::string& path,
                                 std::span<const std::string> known) {
  constexpr std::size_t longest = 64;  // of a name that a person could have meant
  if (path.size() > longest)
    throw user_error{where + ": found the unknown key " + in_quotes(path) + ", expected a known one"};
  throw user_error{where + ": found the unknown key " + path + ", expected a known one; the nearest is " +
                   nearest_key(path, known)};
}

void collect(const json& object, const std::string& prefix, std::span<const std::string> known,
             const std::string& where, std::vector<std::pair<std::string, const json*>>& out) {
  for (const auto& [name, value] : object.items()) {
    const std::string path = prefix + name;
    // A literal dot in a key must not pass for nesting.
    const bool plain = name.find('.') == std::string::npos;
    if (plain && std::ranges::find(known, path) != known.end()) {
      out.emplace_back(path, &value);
      continue;
    }
    const auto in_group = [&](const std::string& each) { return each.starts_with(path + "."); };
    if (!plain && std::ranges::find(known, path) != known.end())
      throw user_error{where + ": found the key " + in_quotes(path) +
                       ", expected objects, one in another, in place of dots"};
    if (!plain || std::ranges::none_of(known, in_group)) refuse_unknown(where, path, known);
    if (!value.is_object()) {
      std::string members;
      for (const std::string& each : known)
        if (in_group(each)) members += (members.empty() ? "" : ", ") + each.substr(path.size() + 1);
      refuse_value(where + ": " + path, value, "an object with keys of " + members);
    }
    collect(value, path + ".", known, where, out);
  }
}

}  // namespace

json parse_json(std::string_view text, const std::string& source) {
  strict_reader reader{text, source};
  json::sax_parse(text, &reader);
  return json::parse(text);
}

std::string excerpt(const json& value) {
  std::string shown = value.dump(-1, ' ', true, json::error_handler_t::replace);
  constexpr std::size_t longest = 60;
  if (shown.size() > longest) shown = shown.substr(0, longest - 3) + "...";
  return shown;
}

void refuse_value(const std::string& where, const json& found, const std::string& expected) {
  throw user_error{where + ": found " + excerpt(found) + ", expected " + expected};
}

std::string nearest_key(std::string_view name, std::span<const std::string> known) {
  const auto distance = [&](const std::string& each) {
    if (each.starts_with(std::string{name} + ".")) return std::size_t{0};  // the name of a group
    return std::min(edit_distance(name, each), 1 + edit_distance(last_component(name), last_component(each)));
  };
  return *std::ranges::min_element(known, {}, distance);
}

std::vector<std::pair<std::string, const json*>> leaves(const json& document, std::span<const std::string> known,
                                                        const std::string& where) {
  if (!document.is_object()) refuse_value(where, document, "an object");
  std::vector<std::pair<std::string, const json*>> found;
  collect(document, "", known, where, found);
  return found;
}

assignment split_assignment(std::string_view text, std::span<const std::string> known, const std::string& where) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    throw user_error{where + ": found " + excerpt(std::string{text}) + ", expected KEY=VALUE"};
  assignment parts{std::string{text.substr(0, equals)}, std::string{text.substr(equals + 1)}};
  if (std::ranges::find(known, parts.key) == known.end()) refuse_unknown(where, parts.key, known);
  return parts;
}

json text_value(const std::string& text, const std::string& where) {
  const json value = text;
  using on_error = json::error_handler_t;
  const bool valid = value.dump(-1, ' ', false, on_error::ignore) == value.dump(-1, ' ', false, on_error::replace);
  if (!valid) refuse_value(where, value, "valid UTF-8");
  return value;
}

json value_from_text(const std::string& text, const std::string& where) {
  if (json::accept(text)) return parse_json(text, where);
  if (const std::string list = "[" + text + "]"; text.find(',') != std::string::npos && json::accept(list))
    return parse_json(list, where);
  return text;
}

std::string number::expected() const {
  if (above) return "a number above " + number_text(low) + ", at most " + number_text(high);
  return "a number from " + number_text(low) + " to " + number_text(high);
}

double number::read(const json& value, const std::string& where) const {
  if (!value.is_number()) refuse_value(where, value, expected());
  const auto found = value.get<double>();
  if (!(above ? found > low : found >= low) || !(found <= high)) refuse_value(where, value, expected());
  return found;
}

}  // namespace rubato::support
