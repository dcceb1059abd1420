#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <rubato/core/rng.hpp>
#include <rubato/io/json_writer.hpp>
#include <string>

namespace {

struct string_sink {
  std::string text;
  void operator()(std::string_view bytes) noexcept { text += bytes; }
};

template <class Write>
std::string json_from(Write&& write) {
  string_sink sink;
  rubato::json_writer json{sink};
  write(json);
  return sink.text;
}

std::string value(const auto& v) {
  return json_from([&](auto& json) { json.value(v); });
}

TEST(JsonWriter, Nesting) {
  EXPECT_EQ(json_from([](auto& json) {
              json.begin_object().member("a", 1).key("b").begin_array().value(2).begin_object().end_object();
              json.begin_array().end_array().value("x").end_array().member("c", true).member("d", nullptr).end_object();
            }),
            R"({"a":1,"b":[2,{},[],"x"],"c":true,"d":null})");
}

TEST(JsonWriter, NewLinesComeAfterTheComma) {
  EXPECT_EQ(
      json_from([](auto& json) { json.begin_array().new_line().value(1).new_line().value(2).new_line().end_array(); }),
      "[\n1,\n2\n]");
}

TEST(JsonWriter, Escapes) {
  EXPECT_EQ(value("a\"b\\c\n\t\x01\x1f/\x7f"), "\"a\\\"b\\\\c\\n\\t\\u0001\\u001f/\x7f\"");
  EXPECT_EQ(value(std::string_view{"\0", 1}), R"("\u0000")");
  EXPECT_EQ(json_from([](auto& json) { json.begin_object().member("k\"", "").end_object(); }), R"({"k\"":""})");
  EXPECT_EQ(value("caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"), "\"caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80\"");
}

TEST(JsonWriter, InvalidUtf8) {
  EXPECT_EQ(value("a\xFFz"), "\"a\xEF\xBF\xBDz\"");
  for (const std::string_view bad : {"\x80", "\xC0\xAF", "\xC1\x81", "\xC3", "\xE0\x80\x80", "\xE2\x82", "\xED\xA0\x80",
                                     "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE2\"\x82"})
    EXPECT_TRUE(nlohmann::json::accept(value(bad))) << value(bad);
}

// Every text comes back as it was, if it is UTF-8, and as valid JSON in any case.
TEST(JsonWriter, AnyBytesGiveValidJson) {
  rubato::random_sequence random{7};
  for (int round = 0; round < 2'000; ++round) {
    std::string bytes(random.below(12), '\0');
    for (char& c : bytes) c = static_cast<char>(random.below(round % 2 == 0 ? 128 : 256));
    const auto read = nlohmann::json::parse(value(std::string_view{bytes}), nullptr, false);
    ASSERT_TRUE(read.is_string());
    if (round % 2 == 0) {
      ASSERT_EQ(read.get<std::string>(), bytes);
    }
  }
}

TEST(JsonWriter, NumbersRoundTrip) {
  rubato::random_sequence random{3};
  for (int round = 0; round < 20'000; ++round) {
    const auto wide = std::bit_cast<double>(random());
    const auto narrow = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (wide - wide == 0) {
      ASSERT_EQ(std::strtod(value(wide).c_str(), nullptr), wide);
      ASSERT_EQ(nlohmann::json::parse(value(wide)).get<double>(), wide);
    }
    if (narrow - narrow == 0) {
      ASSERT_EQ(std::strtof(value(narrow).c_str(), nullptr), narrow);
    }
  }
  EXPECT_EQ(value(0.1), "0.1");
  EXPECT_EQ(value(0.1F), "0.1");
  EXPECT_EQ(value(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(value(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
}

TEST(JsonWriter, NonFiniteIsNull) {
  EXPECT_EQ(value(std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(value(-std::numeric_limits<float>::infinity()), "null");
  EXPECT_EQ(value(std::numeric_limits<double>::quiet_NaN()), "null");
}

TEST(JsonWriter, RawTextStaysOnOneLine) {
  EXPECT_EQ(json_from([](auto& json) { json.begin_array().raw("{\"a\":\r\n1\n}").raw("2").end_array(); }),
            "[{\"a\":  1 },2]");
}

}  // namespace
