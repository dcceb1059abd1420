#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <rubato/core/rng.hpp>
#include <rubato/io/json_reader.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../support/scaled.hpp"

namespace {

using namespace std::string_literals;
using rubato::errc;
using rubato::json_reader;
using rubato::json_reader_options;

// Reads any JSON value of objects, arrays, strings and numbers, as the text says which.
void any(json_reader& json, std::string_view text, std::string& read) {
  const auto first = text.find_first_not_of(" \n\r\t");
  const char c = first == text.npos ? '\0' : text[first];
  std::string word;
  double number = 0.0;
  if (c == '{') {
    json.object([&](std::string_view key) {
      read += key;
      json.string(word);
      read += '=' + word + ';';
    });
  } else if (c == '[') {
    json.array([&] {
      json.number(number);
      read += std::to_string(number) + ';';
    });
  } else if (c == '"') {
    if (json.string(word)) read += word;
  } else if (json.number(number)) {
    read += std::to_string(number);
  }
}

std::string problem(std::string_view text, json_reader_options o = {}) {
  json_reader json{text, o};
  std::string read;
  any(json, text, read);
  return json.end() ? "none" : json.problem().message;
}

template <class Read>
std::string problem_of(std::string_view text, Read&& read, json_reader_options o = {}) {
  json_reader json{text, o};
  read(json);
  return json.end() ? "none" : json.problem().message;
}

TEST(JsonReader, Reads) {
  std::string name;
  std::vector<std::uint64_t> sizes;
  double rate = 0.0;
  json_reader json{" { \"name\" :\t\"a b\" , \"sizes\":[ 1,\r\n2 ] ,\"none\":[],\"rate\":-1.5e-3}"};
  const bool done = json.object([&](std::string_view key) {
    if (key == "name")
      json.string(name);
    else if (key == "rate")
      json.number(rate);
    else
      json.array([&] { json.integer(sizes.emplace_back()); });
  });
  EXPECT_TRUE(done);
  EXPECT_TRUE(json.end());
  EXPECT_EQ(name, "a b");
  EXPECT_EQ(sizes, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(rate, -0.0015);
}

TEST(JsonReader, Grammar) {
  EXPECT_EQ(problem(""), "JSON: byte 0: found the end, expected a number");
  EXPECT_EQ(problem("{"), "JSON: byte 1: found the end, expected a key in quotes");
  EXPECT_EQ(problem("{a:1}"), "JSON: byte 1: found a, expected a key in quotes");
  EXPECT_EQ(problem("{\"a\" \"b\"}"), "JSON: byte 5: found a string, expected ':'");
  EXPECT_EQ(problem("{\"a\":\"b\",}"), "JSON: byte 9: found \"}\", expected a key in quotes");
  EXPECT_EQ(problem("{\"a\":\"b\";}"), "JSON: byte 8: found \";\", expected ',' or '}'");
  EXPECT_EQ(problem("{\"a\":\"b\"]"), "JSON: byte 8: found \"]\", expected ',' or '}'");
  EXPECT_EQ(problem("{,}"), "JSON: byte 1: found \",\", expected a key in quotes");
  EXPECT_EQ(problem("[1,]"), "JSON: byte 3: found \"]\", expected a number");
  EXPECT_EQ(problem("[1 2]"), "JSON: byte 3: found 2, expected ',' or ']'");
  EXPECT_EQ(problem("[1"), "JSON: byte 2: found the end, expected ',' or ']'");
  EXPECT_EQ(problem("[null]"), "JSON: byte 1: found null, expected a number");
  EXPECT_EQ(problem("{\"a\":{}}"), "JSON: byte 5, \"a\": found an object, expected a string");
  EXPECT_EQ(problem("\"a"), "JSON: byte 2: found the end, expected '\"' at the end of the string");
  EXPECT_EQ(problem("\"a\"b"), "JSON: byte 3: found b, expected the end of the text");
  EXPECT_EQ(problem("\"a\" "), "JSON: byte 3: found \" \", expected the end of the text");
  EXPECT_EQ(problem("[1,\0]"s), "JSON: byte 3: found \"\\x00\", expected a number");
  EXPECT_EQ(problem("\xEF\xBB\xBF{}"), "JSON: byte 0: found \"\\xef\\xbb\\xbf\", expected a number")
      << "no byte order mark";
}

TEST(JsonReader, Depth) {
  const auto nested = [](std::uint32_t levels, std::uint32_t allowed) {
    const std::string text = std::string(levels, '[') + std::string(levels, ']');
    json_reader json{text, {.depth = allowed}};
    std::uint32_t level = 0;
    const auto go_down = [&](const auto& self) -> void {
      json.array([&] {
        if (++level < levels) self(self);
      });
    };
    go_down(go_down);
    return json.end() ? "none" : json.problem().message;
  };
  EXPECT_EQ(nested(4, 4), "none");
  EXPECT_EQ(nested(5, 4), "JSON: byte 4: found an array, expected at most 4 levels of objects and arrays");
  EXPECT_EQ(nested(100'000, 4), nested(5, 4));
  EXPECT_EQ(problem("{}", {.depth = 0}),
            "JSON: byte 0: found an object, expected at most 0 levels of objects and arrays");
}

TEST(JsonReader, DuplicateKeys) {
  EXPECT_EQ(problem(R"({"a":"1","b":"","a":"2"})"), "JSON: byte 16: found the key \"a\" again, expected each key once");
  EXPECT_EQ(problem(R"({"a":"1","\u0061":"2"})"), "JSON: byte 9: found the key \"a\" again, expected each key once");
  EXPECT_EQ(problem(R"({"/":"","\/":""})"), "JSON: byte 8: found the key \"/\" again, expected each key once");
  EXPECT_EQ(problem(R"({"":"","":""})"), "JSON: byte 7: found the key \"\" again, expected each key once");
  EXPECT_EQ(problem(R"({"a":"","A":""})"), "none");
}

TEST(JsonReader, InvalidUtf8) {
  for (const std::string_view bad :
       {"\x80", "\xC0\xAF", "\xC1\x81", "\xC3", "\xE0\x80\x80", "\xE2\x82", "\xED\xA0\x80", "\xF0\x80\x80\x80",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE2\"\x82", "\xFF"}) {
    EXPECT_NE(problem('"' + std::string{bad} + '"').find("expected UTF-8"), std::string::npos);
    EXPECT_NE(problem("{\"" + std::string{bad} + "\":\"\"}").find("expected UTF-8"), std::string::npos);
  }
}

TEST(JsonReader, Escapes) {
  const auto read = [](std::string_view text) {
    json_reader json{text};
    std::string value;
    return json.string(value) && json.end() ? value : json.problem().message;
  };
  EXPECT_EQ(read(R"("\"\\\/\b\f\n\r\t")"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(read(R"("\u0041\u00e9\u20AC\ud83d\ude00\uDBFF\uDFFF")"),
            "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xF4\x8F\xBF\xBF");
  EXPECT_EQ(read(R"("a\u0000b")"), "a\0b"s);
  for (const std::string_view bad : {R"("\x41")", R"("\u12")", R"("\u12g4")", R"("\u-123")", R"("\u 123")",
                                     R"("\U0041")", R"("\)", R"("\u)", R"("\a")"})
    EXPECT_EQ(read(bad), "JSON: byte 1: found a backslash, expected an escape of JSON") << bad;
  EXPECT_EQ(read("\"\\\0\""s), "JSON: byte 1: found a backslash, expected an escape of JSON");
  for (const std::string_view bad : {R"("\ud83d")", R"("\ude00")", R"("\ude00\ud83d")", R"("\ude00\ude00")",
                                     R"("\ud83dx")", R"("\ud83d\n")", R"("\ud83d\u0041")"})
    EXPECT_EQ(read(bad), "JSON: byte 1: found half a surrogate pair, expected both halves") << bad;
  EXPECT_EQ(read("\"\n\""), "JSON: byte 1: found \"\\x0a\", expected control characters to be escaped");
  EXPECT_EQ(read("\"\0\""s), "JSON: byte 1: found \"\\x00\", expected control characters to be escaped");
}

TEST(JsonReader, Integers) {
  const auto read = [](std::string_view text, std::uint64_t most = std::uint64_t{1} << 53) {
    json_reader json{text};
    std::uint64_t value = 0;
    return json.integer(value, most) && json.end() ? std::to_string(value) : json.problem().message;
  };
  for (const std::string_view good : {"0", "7", "9007199254740992"}) EXPECT_EQ(read(good), good);
  for (const std::string bad : {"-1", "-0", "1.0", "1e3", "01", "00", "+1", "9007199254740993", "18446744073709551616",
                                "99999999999999999999999", "1.", "1-"})
    EXPECT_EQ(read(bad), "JSON: byte 0: found " + (bad == "+1" ? "\"+\""s : bad) +
                             ", expected an integer of 0 to 9007199254740992");
  EXPECT_EQ(read("\"1\""), "JSON: byte 0: found a string, expected an integer of 0 to 9007199254740992");
  EXPECT_EQ(read("18446744073709551615", (std::numeric_limits<std::uint64_t>::max)()), "18446744073709551615");
  EXPECT_EQ(read("3", 2), "JSON: byte 0: found 3, expected an integer of 0 to 2");
  EXPECT_EQ(read(std::string(100, '9')),
            "JSON: byte 0: found " + std::string(32, '9') + "..., expected an integer of 0 to 9007199254740992");
}

TEST(JsonReader, Numbers) {
  for (const auto& [text, value] :
       {std::pair{"0", 0.0}, {"-0", -0.0}, {"1.5", 1.5}, {"-2E+3", -2000.0}, {"1e-2", 0.01}}) {
    json_reader json{text};
    double read = 1.0;
    EXPECT_TRUE(json.number(read));
    EXPECT_EQ(read, value);
  }
  for (const std::string bad : {"01", "1.", ".5", "-", "+1", "1e", "1e+", "--1", "1e999", "0x10", "nan", "inf", "-inf",
                                "1.5.2", "-01", "1e5e5"})
    EXPECT_NE(problem(bad), "none") << bad;
  EXPECT_EQ(problem("5e-324"), "none");
  for (const std::string lost : {"1e-400", "1e400", "-1e400"})
    EXPECT_EQ(problem(lost), "JSON: byte 0: found " + lost + ", expected a number that a double can hold");
}

TEST(JsonReader, MessagesSayWhere) {
  std::uint64_t value = 0;
  const auto read = [&](json_reader& json) {
    json.object(
        [&](std::string_view) { json.object([&](std::string_view) { json.array([&] { json.integer(value); }); }); });
  };
  EXPECT_EQ(problem_of(R"({"a":{"b":[1]},"w":{"sh":[1],"shape":[2,-1]}})", read, {.source = "p.st", .offset = 8}),
            "p.st: byte 48, \"w\".\"shape\": found -1, expected an integer of 0 to 9007199254740992");
  EXPECT_EQ(problem_of("7",
                       [](json_reader& json) {
                         std::uint64_t n = 0;
                         json.integer(n);
                         json.refuse("7", "8", errc::wrong_kind);
                         EXPECT_EQ(json.problem().code, errc::wrong_kind);
                       }),
            "JSON: byte 0: found 7, expected 8");
}

TEST(JsonReader, FirstProblemStays) {
  json_reader json{"[1,x,{]"};
  std::uint64_t value = 0;
  std::string text = "untouched";
  EXPECT_FALSE(json.array([&] { json.integer(value); }));
  const std::string first = json.problem().message;
  EXPECT_FALSE(json.string(text) || json.integer(value) || json.end() || json.array([] {}) || json.refuse("a", "b"));
  EXPECT_FALSE(json.object([](std::string_view) {}));
  EXPECT_EQ(text, "untouched");
  EXPECT_EQ(json.problem().message, first);
}

// Of each value in the text, the first character, in order.
std::string beginnings(std::string_view text) {
  std::string found, open;
  bool value_next = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') continue;
    const bool begins = value_next && c != ']' && c != '}' && c != ',' && c != ':';
    if (begins) found += c;
    if (begins && (c == '[' || c == '{')) open += c;
    if (!begins && (c == ']' || c == '}') && !open.empty()) open.pop_back();
    value_next = c == ':' || (begins && c == '[') || (c == ',' && open.ends_with('['));
    if (c != '"') continue;
    for (++i; i < text.size() && text[i] != '"'; ++i)
      if (text[i] == '\\') ++i;
  }
  return found;
}

// Reads whatever stands there.
nlohmann::json whole(json_reader& json, std::string_view& kinds) {
  const char opening = kinds.empty() ? '0' : kinds.front();
  kinds.remove_prefix(kinds.empty() ? 0 : 1);
  nlohmann::json read;
  if (opening == '{') {
    read = nlohmann::json::object();
    json.object([&](std::string_view key) { read[std::string{key}] = whole(json, kinds); });
  } else if (opening == '[') {
    read = nlohmann::json::array();
    json.array([&] { read.push_back(whole(json, kinds)); });
  } else if (opening == '"') {
    std::string text;
    json.string(text);
    read = text;
  } else {
    double number = 0;
    json.number(number);
    read = number;
  }
  return read;
}

std::string some_json(rubato::random_sequence& random, std::uint32_t depth) {
  const auto list = [&](const char* brackets, auto&& item) {
    std::string text(1, brackets[0]);
    for (std::uint64_t n = random.below(4); n > 0; --n) text += item() + (n > 1 ? "," : "");
    return text + brackets[1];
  };
  constexpr std::string_view numbers[] = {"0", "-0", "1.5", "-12e3", "9007199254740993", "18446744073709551616", "1E-2",
                                          "0.1e+1", "1e-400", "1e308", "1e309"};
  constexpr std::string_view strings[] = {R"("")", R"("a")", R"("\u00e9\n")", R"("\ud83d\ude00")", "\"\xC3\xA9\""};
  switch (random.below(depth > 0 ? 4 : 2)) {
    case 0:
      return std::string{numbers[random.below(std::size(numbers))]};
    case 1:
      return std::string{strings[random.below(std::size(strings))]};
    case 2:
      return list("[]", [&] { return some_json(random, depth - 1); });
    default:
      return list("{}", [&] {
        return std::string{strings[random.below(std::size(strings))]} + ": " + some_json(random, depth - 1);
      });
  }
}

// The other parser's value; refused where this reader means to be stricter: keys twice, space at the end, a byte order
// mark, true, false and null. Numbers that a double cannot hold are told apart by the reader's message.
nlohmann::json strictly(const std::string& text, std::string_view kinds) {
  std::vector<std::vector<std::string>> keys(1);
  bool twice = false;
  const auto watch = [&](int, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    using parsed = nlohmann::json::parse_event_t;
    if (event == parsed::object_start) keys.emplace_back();
    if (event == parsed::object_end) keys.pop_back();
    if (event != parsed::key) return true;
    twice = twice || std::ranges::find(keys.back(), value.get<std::string>()) != keys.back().end();
    keys.back().push_back(value.get<std::string>());
    return true;
  };
  nlohmann::json value = nlohmann::json::parse(text, watch, false);
  const bool stricter = twice || text.starts_with("\xEF\xBB\xBF") || std::string_view{" \n\r\t"}.find(text.back()) !=
                                                                           std::string_view::npos ||
                        kinds.find_first_of("tfn") != kinds.npos;
  return stricter ? nlohmann::json(nlohmann::json::value_t::discarded) : value;
}

// Of random texts, and of JSON with a few bytes changed, both accept the same, and mean the same by it.
TEST(JsonReader, AgreesWithAnotherParser) {
  constexpr std::string_view alphabet = "{}[]\",:\\/u0019ade+-. \n\x01\xC3\xA9\x80";
  rubato::random_sequence random{5};
  std::map<std::string, int> accepted;
  int refused = 0;
  for (std::uint32_t i = 0; i < rubato::test::scaled(50'000); ++i) {
    std::string text = random.below(3) == 0 ? "" : some_json(random, 3);
    for (std::uint64_t n = text.empty() ? 1 + random.below(9) : random.below(3); n > 0; --n) {
      const std::size_t at = random.below(text.size() + 1);
      text.replace(at, random.below(2), 1, alphabet[random.below(alphabet.size())]);
    }
    const std::string all = beginnings(text);
    std::string_view kinds = all;
    json_reader json{text, {.depth = 64}};
    const nlohmann::json ours = whole(json, kinds);
    const bool ok = json.end();
    const nlohmann::json theirs = strictly(text, all);
    if (!ok && json.problem().message.ends_with("that a double can hold")) continue;
    ASSERT_EQ(ok, !theirs.is_discarded()) << text << "  " << (ok ? "" : json.problem().message);
    refused += ok ? 0 : 1;
    if (!ok) continue;
    ASSERT_EQ(ours, theirs) << text;
    ++accepted[theirs.empty() ? "empty" : theirs.type_name()];
  }
  for (const char* type : {"array", "object", "string", "number", "empty"}) EXPECT_GT(accepted[type], 50) << type;
  EXPECT_GT(refused, 50);
}

}  // namespace
