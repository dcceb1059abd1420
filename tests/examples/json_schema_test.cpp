#include "../../examples/support/json_schema.hpp"

#include <gtest/gtest.h>

#include <string>

#include "../../examples/support/json_nesting.hpp"
#include "temporary_directory.hpp"

namespace {

using namespace rubato::support;

enum class colour { red, green };

struct inner {
  double ratio = 0.5;
  std::vector<std::uint32_t> sizes = {1};
};

struct item {
  std::uint32_t id = 0;
};

struct outer {
  std::string title;
  inner part;
  colour paint = colour::red;
  std::optional<double> goal = 1;
  std::optional<double> share;
  std::optional<std::uint32_t> exact;
  std::vector<item> items;
};

schema<outer> make_schema() {
  std::vector<key<item>> item_keys{make_key("id", whole<std::uint32_t>{0, 9}, "number", &item::id)};
  item_keys[0].required = true;
  std::vector<key<outer>> keys{
      make_key("title", text{.empty_allowed = false}, "what it is", &outer::title),
      make_key("part.ratio", number{0, 1}, "a share", &outer::part, &inner::ratio),
      make_key("part.sizes", one_or_many<whole<std::uint32_t>>{{0, 10'000}}, "sizes", &outer::part, &inner::sizes),
      make_key("paint", choice<colour>{{{"red", colour::red}, {"green", colour::green}}}, "colour", &outer::paint),
      make_key("goal", optional<number>{{0, 5, true}, "auto"}, "where to", &outer::goal),
      make_key("share", optional<number>{{0, 1}, ""}, "share", &outer::share),
      make_key("exact", optional<whole<std::uint32_t>>{{0, 9}, ""}, "exactly", &outer::exact),
      make_key("items", list_of<item>{{item_keys}}, "things", &outer::items),
  };
  keys[0].required = true;
  keys[5].excludes = "exact";
  keys[6].excludes = "share";
  return keys;
}

outer read(const std::string& document) { return make_schema().read(parse_json(document, "f.json"), "f.json"); }

std::string refusal_of_document(const std::string& document) {
  return rubato::test::message_of<user_error>([&] { return read(document); });
}

TEST(JsonSchema, ReadsEveryKindOfKey) {
  const auto made = read(
      R"({"title": "t", "part": {"ratio": 1, "sizes": [2, 3]}, "paint": "green", "goal": 2.5, "items": [{"id": 7}]})");
  EXPECT_EQ(made.title, "t");
  EXPECT_EQ(made.part.ratio, 1.0);
  EXPECT_EQ(made.part.sizes, (std::vector<std::uint32_t>{2, 3}));
  EXPECT_EQ(made.paint, colour::green);
  EXPECT_EQ(made.goal, 2.5);
  ASSERT_EQ(made.items.size(), 1u);
  EXPECT_EQ(made.items[0].id, 7u);
}

TEST(JsonSchema, KeysLeftOutKeepTheirDefaults) {
  const auto made = read(R"({"title": "t"})");
  EXPECT_EQ(made.part.ratio, 0.5);
  EXPECT_EQ(made.goal, 1.0);
}

TEST(JsonSchema, OneValueStandsForAListOfOne) {
  EXPECT_EQ(read(R"({"title": "t", "part": {"sizes": 1e4}})").part.sizes, std::vector<std::uint32_t>{10'000});
}

TEST(JsonSchema, WordStandsForNoValue) {
  const auto made = read(R"({"title": "t", "goal": "auto"})");
  EXPECT_FALSE(made.goal);
  EXPECT_EQ(make_schema().write(made)["goal"], "auto");
}

TEST(JsonSchema, WritesWhatItReads) {
  const auto document = json::parse(
      R"({"title": "t", "part": {"ratio": 0.25, "sizes": [2, 3]}, "paint": "green", "goal": "auto", "share": null, "exact": 4,
          "items": [{"id": 7}]})");
  EXPECT_EQ(make_schema().write(make_schema().read(document, "f")), document);
}

TEST(JsonSchema, RefusesUnknownKeysNamingTheNearest) {
  EXPECT_EQ(refusal_of_document(R"({"title": "t", "part": {"ration": 1}})"),
            "f.json: found the unknown key part.ration, expected a known one; the nearest is part.ratio");
  EXPECT_EQ(refusal_of_document(R"({"title": "t", "sizes": 1})"),
            "f.json: found the unknown key sizes, expected a known one; the nearest is part.sizes");
  EXPECT_EQ(refusal_of_document(R"({"title": "t", "other": {"paint": 1}})"),
            "f.json: found the unknown key other, expected a known one; the nearest is title");
}

TEST(JsonSchema, ADottedKeyIsNotNesting) {
  EXPECT_EQ(refusal_of_document(R"({"title": "t", "part.ratio": 1})"),
            "f.json: found the key \"part.ratio\", expected objects, one in another, in place of dots");
}

TEST(JsonSchema, RefusesWrongTypesAndRanges) {
  EXPECT_EQ(refusal_of_document(R"({"title": 3})"), "f.json: title: found 3, expected a string that is not empty");
  EXPECT_EQ(refusal_of_document(R"({"title": ""})"), "f.json: title: found \"\", expected a string that is not empty");
  EXPECT_EQ(refusal_of_document(R"({"title": "t", "part": {"ratio": "1"}})"),
            "f.json: part.ratio: found \"1\", expected a number from 0 to 1");
  EXPECT_EQ(refusal_of_document(R"({"title": "t", "part": {"ratio": 1.5}})"),
            "f.json: part.ratio: found 1.5, expected a number from 0 to 1");
  EXPECT_EQ(refusal_of_document(R"({"title": "t", "part": {"sizes": [1, -2]}})"),
            "f.json: part.sizes[1]: found -2, expected a whole number from 0 to 10000");
  EXPECT_EQ(refusal_of_document(R"({"title": "t", "part": {"sizes": 2.5}})"),
            "f.json: part.sizes: found 2.5, expected a whole number from 0 to 10000");
  EXPECT_EQ(refusal_of_document(R"({"title": "t", "part": {"sizes": []}})"),
            "f.json: part.sizes: found [], expected a whole number from 0 to 10000, or a list of such");
  EXPECT_EQ(refusal_of_document(R"({"title": "t", "paint": "blue"})"), "f.json: paint: found \"blue\", expected red|green");
  EXPECT_EQ(refusal_of_document(R"({"title": "t", "goal": 0})"),
            "f.json: goal: found 0, expected a number above 0, at most 5 or auto");
  EXPECT_EQ(refusal_of_document(R"({"title": "t", "goal": null})"),
            "f.json: goal: found null, expected a number above 0, at most 5 or auto");
  EXPECT_EQ(refusal_of_document(R"({"title": "t", "part": {"sizes": 18446744073709551616}})"),
            "f.json: part.sizes: found 1.8446744073709552e+19, expected a whole number from 0 to 10000");
}

TEST(JsonSchema, RefusesAValueInPlaceOfAGroup) {
  EXPECT_EQ(refusal_of_document(R"({"title": "t", "part": 3})"),
            "f.json: part: found 3, expected an object with keys of ratio, sizes");
  EXPECT_EQ(refusal_of_document("[1]"), "f.json: found [1], expected an object");
}

TEST(JsonSchema, RefusesAMissingRequiredKey) {
  EXPECT_EQ(refusal_of_document("{}"), "f.json: found no title, expected a string that is not empty");
  EXPECT_EQ(refusal_of_document(R"({"title": "t", "items": [{}]})"),
            "f.json: items[0]: found no id, expected a whole number from 0 to 9");
}

TEST(JsonSchema, NamesThePlaceInAList) {
  EXPECT_EQ(refusal_of_document(R"({"title": "t", "items": [{"id": 1}, {"id": 99}]})"),
            "f.json: items[1]: id: found 99, expected a whole number from 0 to 9");
  EXPECT_EQ(refusal_of_document(R"({"title": "t", "items": [{"idd": 1}]})"),
            "f.json: items[0]: found the unknown key idd, expected a known one; the nearest is id");
}

TEST(JsonSchema, RefusesKeysThatExcludeEachOther) {
  EXPECT_EQ(refusal_of_document(R"({"title": "t", "share": 1, "exact": 2})"),
            "f.json: found both exact and share, expected one of them");
  EXPECT_EQ(refusal_of_document(R"({"title": "t", "share": null, "exact": 2})"), "");
}

TEST(JsonSchema, SettingAKeyClearsTheOneItExcludes) {
  auto made = read(R"({"title": "t", "share": 1})");
  make_schema().set(made, "exact=3", "--set");
  EXPECT_FALSE(made.share);
  EXPECT_EQ(made.exact, 3u);
}

TEST(JsonSchema, LongFoundValuesAreCut) {
  const auto message = refusal_of_document(R"({"title": "t", "paint": ")" + std::string(500, 'x') + "\"}");
  EXPECT_LT(message.size(), 120u);
  EXPECT_NE(message.find("xxx..., expected red|green"), std::string::npos) << message;
}

TEST(JsonSchema, LongKeysAreCut) {
  const auto message = refusal_of_document("{\"" + std::string(100'000, 'k') + "\": 1}");
  EXPECT_LT(message.size(), 150u);
  EXPECT_NE(message.find("found the unknown key \"kkk"), std::string::npos) << message;
}

// ---- JSON itself ----

std::string syntax_refusal(const std::string& document) {
  return rubato::test::message_of<user_error>([&] { return parse_json(document, "f.json"); });
}

TEST(ParseJson, NamesLineAndByteOfASyntaxError) {
  EXPECT_EQ(syntax_refusal("{\n  \"a\": 1,\n}"),
            "f.json: line 3, byte 13: syntax error while parsing object key - unexpected '}'; expected string literal");
  EXPECT_TRUE(syntax_refusal("").starts_with("f.json: line 1, byte 0: ")) << syntax_refusal("");
  EXPECT_TRUE(syntax_refusal("{\"a\": 1} x").starts_with("f.json: line 1, byte 10: "))
      << syntax_refusal("{\"a\": 1} x");
}

TEST(ParseJson, RefusesARepeatedKey) {
  EXPECT_EQ(syntax_refusal(R"({"a": {"b": 1, "b": 2}})"),
            "f.json: found the key \"b\" twice in one object, expected it once");
  EXPECT_EQ(syntax_refusal(R"({"a": {"b": 1}, "b": {"b": 2}})"), "");
}

TEST(ParseJson, RefusesNumbersOutOfRange) {
  EXPECT_EQ(syntax_refusal("[\n1e999]"), "f.json: line 2, byte 7: number overflow parsing '1e999'");
}

TEST(ParseJson, RefusesBrokenUtf8WithoutRepeatingIt) {
  const auto message = syntax_refusal("{\"a\xff\": 1}");
  EXPECT_TRUE(message.starts_with("f.json: line 1, byte 4: ")) << message;
  EXPECT_NE(message.find("ill-formed UTF-8"), std::string::npos) << message;
}

TEST(ParseJson, CountsTheNesting) {
  using rubato::support::nesting_of;
  EXPECT_EQ(nesting_of(""), 0u);
  EXPECT_EQ(nesting_of(R"({"a":[1,{}],"b":[]})"), 3u);
  EXPECT_EQ(nesting_of(R"(["[[\"[[","]"])"), 1u) << "in a string they mean nothing";
  EXPECT_EQ(nesting_of("]]}[["), 2u);
  EXPECT_EQ(nesting_of("\"\\"), 0u);
}

TEST(ParseJson, RefusesDeepNesting) {
  EXPECT_EQ(syntax_refusal(std::string(100'000, '[')),
            "f.json: found nesting deeper than 64 levels, expected a document of few");
}

}  // namespace
