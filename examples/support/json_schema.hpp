#ifndef RUBATO_EXAMPLES_SUPPORT_JSON_SCHEMA_HPP
#define RUBATO_EXAMPLES_SUPPORT_JSON_SCHEMA_HPP

#include <algorithm>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <rubato/io/utf8.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "user_error.hpp"

// A plain struct and its JSON form, described once: a `schema<Root>` is a list of keys, each with its dotted path, what
// values it takes, what it means, and the member that holds it. Reading, writing, KEY=VALUE and documentation follow
// from that list. A codec says what values a key takes: expected(), read(json, where) -> value or user_error,
// write(value).

namespace rubato::support {

using json = nlohmann::json;

/// Parses JSON text. Refuses, by user_error with `source`, line and byte: bad syntax, a repeated key, a number out of
/// range, nesting deeper than 64.
[[nodiscard]] json parse_json(std::string_view text, const std::string& source);

/// A value as messages quote it: JSON in ASCII, at most 60 characters.
[[nodiscard]] std::string excerpt(const json& value);

[[noreturn]] void refuse_value(const std::string& where, const json& found, const std::string& expected);

/// The one of `known` nearest to `name` by edit distance, where a matching last component outweighs a wrong path.
/// Precondition: `known` is not empty.
[[nodiscard]] std::string nearest_key(std::string_view name, std::span<const std::string> known);

/// The dotted path and value of every leaf of `document`, an object; a leaf is what `known` names. Refuses unknown
/// keys, naming the nearest known one, and values in place of groups.
[[nodiscard]] std::vector<std::pair<std::string, const json*>> leaves(const json& document,
                                                                      std::span<const std::string> known,
                                                                      const std::string& where);

/// Splits "KEY=VALUE" and finds KEY. VALUE stays text.
struct assignment {
  std::string key;
  std::string value;
};
[[nodiscard]] assignment split_assignment(std::string_view text, std::span<const std::string> known,
                                          const std::string& where);

/// VALUE of an assignment as a JSON string. Refuses what is not UTF-8, which no result file could hold.
[[nodiscard]] json text_value(const std::string& text, const std::string& where);

/// VALUE of an assignment as JSON; commas alone make a list; what is not JSON is a string.
[[nodiscard]] json value_from_text(const std::string& text, const std::string& where);

// ---- codecs ----

/// Any string.
struct text {
  using value_type = std::string;
  bool empty_allowed = true;
  bool plain = false;  ///< fit for a terminal, see is_plain
  [[nodiscard]] std::string expected() const { return empty_allowed ? "a string" : "a string that is not empty"; }
  [[nodiscard]] std::string read(const json& value, const std::string& where) const {
    if (!value.is_string() || (!empty_allowed && value.get_ref<const std::string&>().empty()))
      refuse_value(where, value, expected());
    if (plain && !is_plain(value.get_ref<const std::string&>()))
      refuse_value(where, value, "no control or hidden character in it");
    return value.get<std::string>();
  }
  [[nodiscard]] json write(const std::string& value) const { return value; }
};

/// A number in [low, high], or in (low, high] where `above` is set.
struct number {
  using value_type = double;
  double low;
  double high;
  bool above = false;
  [[nodiscard]] std::string expected() const;
  [[nodiscard]] double read(const json& value, const std::string& where) const;
  [[nodiscard]] json write(double value) const { return value; }
};

/// A whole number in [low, high]; 1e4 is one.
template <class Integer>
struct whole {
  using value_type = Integer;
  Integer low;
  Integer high;
  [[nodiscard]] std::string expected() const {
    return "a whole number from " + std::to_string(low) + " to " + std::to_string(high);
  }
  [[nodiscard]] Integer read(const json& value, const std::string& where) const {
    if (value.is_number_unsigned()) {
      const auto found = value.get<std::uint64_t>();
      if (found >= low && found <= high) return static_cast<Integer>(found);
    } else if (value.is_number_float()) {
      const auto found = value.get<double>();
      constexpr double exact = 0x1p53;  // above, a double no longer tells neighbours apart
      if (found >= static_cast<double>(low) && found <= std::min(static_cast<double>(high), exact)) {
        const auto integer = static_cast<Integer>(found);
        if (static_cast<double>(integer) == found) return integer;
      }
    }
    refuse_value(where, value, expected());
  }
  [[nodiscard]] json write(Integer value) const { return value; }
};

/// One of a few words.
template <class Enumeration>
struct choice {
  using value_type = Enumeration;
  std::vector<std::pair<std::string, Enumeration>> words;
  [[nodiscard]] std::string expected() const {
    std::string list;
    for (const auto& [word, value] : words) list += (list.empty() ? "" : "|") + word;
    return list;
  }
  [[nodiscard]] Enumeration read(const json& value, const std::string& where) const {
    const auto match = std::ranges::find_if(words, [&](const auto& word) { return value == word.first; });
    if (match == words.end()) refuse_value(where, value, expected());
    return match->second;
  }
  [[nodiscard]] json write(Enumeration value) const {
    return std::ranges::find(words, value, &std::pair<std::string, Enumeration>::second)->first;
  }
};

/// What `inner` takes, or a word (null where the word is empty) that stands for "no value".
template <class Codec>
struct optional {
  using value_type = std::optional<typename Codec::value_type>;
  Codec inner;
  std::string word;
  [[nodiscard]] std::string expected() const { return inner.expected() + (word.empty() ? " or null" : " or " + word); }
  [[nodiscard]] value_type read(const json& value, const std::string& where) const {
    if (value == none()) return std::nullopt;
    try {
      return inner.read(value, where);
    } catch (const user_error&) {
      refuse_value(where, value, expected());  // names the word too
    }
  }
  [[nodiscard]] json write(const value_type& value) const { return value ? inner.write(*value) : none(); }

 private:
  [[nodiscard]] json none() const { return word.empty() ? json(nullptr) : json(word); }
};

/// One value, or a list of at least one.
template <class Codec>
struct one_or_many {
  using value_type = std::vector<typename Codec::value_type>;
  Codec inner;
  [[nodiscard]] std::string expected() const { return inner.expected() + ", or a list of such"; }
  [[nodiscard]] value_type read(const json& value, const std::string& where) const {
    if (!value.is_array()) {
      if (value.is_object()) refuse_value(where, value, expected());
      return {inner.read(value, where)};
    }
    if (value.empty()) refuse_value(where, value, expected());
    value_type values;
    for (const json& element : value)
      values.push_back(inner.read(element, where + "[" + std::to_string(values.size()) + "]"));
    return values;
  }
  [[nodiscard]] json write(const value_type& values) const {
    if (values.size() == 1) return inner.write(values.front());
    json list = json::array();
    for (const auto& value : values) list.push_back(inner.write(value));
    return list;
  }
};

// ---- keys and schemas ----

/// One key of a document.
template <class Root>
struct key {
  std::string path;      ///< dotted
  std::string expected;  ///< the values it takes
  std::string meaning;   ///< one line, with the unit
  std::function<void(Root&, const json&, const std::string& where)> read;
  std::function<json(const Root&)> write;
  bool is_text = false;   ///< KEY=VALUE takes VALUE as it is
  bool required = false;  ///< must be in every document
  std::string excludes;   ///< a nullable key that must not be given with this one; setting this one clears it
};

/// A key whose value is `root.*first.*rest...`, for example `&scenario::cluster, &cluster_settings::jitter`.
template <class Root, class Codec, class First, class... Rest>
[[nodiscard]] key<Root> make_key(std::string path, Codec codec, std::string meaning, First Root::*first, Rest... rest) {
  key<Root> made;
  made.path = std::move(path);
  made.expected = codec.expected();
  made.meaning = std::move(meaning);
  made.read = [=](Root& root, const json& value, const std::string& where) {
    ((root.*first).*....*rest) = codec.read(value, where);
  };
  made.write = [=](const Root& root) { return codec.write(((root.*first).*....*rest)); };
  made.is_text = std::is_same_v<Codec, text>;
  return made;
}

/// The keys of a document that is read into a `Root`. Keys that a document leaves out keep the defaults of `Root`.
///
/// Errors  user_error "<where>: <key>: found <value>, expected <values>", or naming an unknown, missing or excluded key
/// Tests   tests/examples/json_schema_test.cpp
template <class Root>
class schema {
 public:
  schema(std::vector<key<Root>> keys) : keys_{std::move(keys)} {  // implicit: a list of keys is a schema
    for (const auto& each : keys_) paths_.push_back(each.path);
  }

  [[nodiscard]] const std::vector<key<Root>>& keys() const noexcept { return keys_; }

  [[nodiscard]] Root read(const json& document, const std::string& where) const {
    Root root{};
    const auto found = leaves(document, paths_, where);
    const auto given = [&](const std::string& path) {
      return std::ranges::any_of(found,
                                 [&](const auto& leaf) { return leaf.first == path && !leaf.second->is_null(); });
    };
    for (const auto& [path, value] : found) {
      const key<Root>& which = find(path);
      if (!which.excludes.empty() && given(path) && given(which.excludes))
        throw user_error{where + ": found both " + path + " and " + which.excludes + ", expected one of them"};
      which.read(root, *value, where + ": " + path);
    }
    for (const auto& each : keys_)
      if (each.required && !given(each.path))
        throw user_error{where + ": found no " + each.path + ", expected " + each.expected};
    return root;
  }

  [[nodiscard]] json write(const Root& root) const {
    json document = json::object();
    for (const auto& each : keys_) {
      json* place = &document;
      for (std::string_view rest = each.path;;) {
        const std::size_t dot = rest.find('.');
        place = &(*place)[std::string{rest.substr(0, dot)}];
        if (dot == std::string_view::npos) break;
        rest.remove_prefix(dot + 1);
      }
      *place = each.write(root);
    }
    return document;
  }

  /// Applies "KEY=VALUE"; `where` names the option, for example "--set".
  void set(Root& root, std::string_view text, const std::string& where) const {
    const assignment parts = split_assignment(text, paths_, where);
    const key<Root>& which = find(parts.key);
    const std::string place = where + " " + parts.key;
    const json value = which.is_text ? text_value(parts.value, place) : value_from_text(parts.value, place);
    which.read(root, value, place);
    if (!which.excludes.empty() && !value.is_null()) find(which.excludes).read(root, nullptr, place);
  }

 private:
  [[nodiscard]] const key<Root>& find(std::string_view path) const {
    return *std::ranges::find(keys_, path, &key<Root>::path);
  }

  std::vector<key<Root>> keys_;
  std::vector<std::string> paths_;
};

/// A list of objects, each with the keys of its own schema; may be empty.
template <class Element>
struct list_of {
  using value_type = std::vector<Element>;
  schema<Element> each;
  [[nodiscard]] std::string expected() const {
    std::string names;
    for (const auto& one : each.keys()) names += (names.empty() ? "" : ", ") + one.path + ": " + one.expected;
    return "a list of {" + names + "}";
  }
  [[nodiscard]] value_type read(const json& value, const std::string& where) const {
    if (!value.is_array()) refuse_value(where, value, expected());
    value_type elements;
    for (const json& element : value)
      elements.push_back(each.read(element, where + "[" + std::to_string(elements.size()) + "]"));
    return elements;
  }
  [[nodiscard]] json write(const value_type& elements) const {
    json list = json::array();
    for (const Element& element : elements) list.push_back(each.write(element));
    return list;
  }
};

}  // namespace rubato::support

#endif
