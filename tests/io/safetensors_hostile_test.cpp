// Everything that a reader of policy files must refuse, with the message that the user sees.
#include <gtest/gtest.h>

#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <rubato/core/rng.hpp>
#include <rubato/io/atomic_file.hpp>
#include <rubato/io/policy_card.hpp>
#include <rubato/io/safetensors.hpp>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "../support/scaled.hpp"
#include "container.hpp"

namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;
using rubato::safetensors;
using rubato::test::container;
using rubato::test::golden;
using rubato::test::parsed;
using rubato::test::refusal;
using rubato::test::rewritten;

const std::string eight_bytes = "12345678";

// A file with one F32 tensor "w" of two values, but for what is given.
std::string with(const std::string& shape, const std::string& offsets = "[0,8]", const std::string& type = "\"F32\"") {
  return container(R"({"w":{"dtype":)" + type + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}",
                   eight_bytes);
}

TEST(SafetensorsHostile, TheFileItselfIsFine) { EXPECT_EQ(refusal(with("[2]")), "accepted"); }

TEST(SafetensorsHostile, TooShort) {
  EXPECT_EQ(refusal(""), "file: found 0 bytes, expected at least 8 for the header's length");
  EXPECT_EQ(refusal("1234567"), "file: found 7 bytes, expected at least 8 for the header's length");
  EXPECT_EQ(refusal(container(0, "")), "file: byte 8: found nothing, expected \"{\"");
}

// A length that cannot be allocated: the test would not survive the attempt.
TEST(SafetensorsHostile, HeaderLongerThanTheFile) {
  EXPECT_EQ(refusal(container(3, "{}")),
            "file: byte 0: found a header of 3 bytes, expected at most 2, which is what follows");
  EXPECT_EQ(refusal(container(UINT64_MAX, "{}")),
            "file: byte 0: found a header of 18446744073709551615 bytes, expected at most 2, which is what follows");
}

TEST(SafetensorsHostile, HeaderBeyondTheLimit) {
  const std::string most = "{}" + std::string((1U << 20) - 2, ' ');
  EXPECT_EQ(refusal(container(most)), "accepted");
  EXPECT_EQ(refusal(container(most + ' ')),
            "file: byte 0: found a header of 1048577 bytes, expected at most 1048576, which is the limit");
  EXPECT_EQ(refusal(container("{} "), {.header = 2}),
            "file: byte 0: found a header of 3 bytes, expected at most 2, which is the limit");
}

// A sparse file of a terabyte that says the truth about itself.
TEST(SafetensorsHostile, DataBeyondTheLimit) {
  EXPECT_EQ(refusal(with("[2]"), {.data = 7}), "file: found 8 bytes of data, expected at most 7");
  std::string pattern = testing::TempDir() + "rubato-XXXXXX";
  ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
  const std::string path = pattern + "/large";
  const std::string text =
      container(R"({"w":{"dtype":"F32","shape":[274877906944],"data_offsets":[0,1099511627776]}})");
  ASSERT_TRUE(rubato::write_file(path, text));
  std::error_code no_room;
  fs::resize_file(path, text.size() + (std::uint64_t{1} << 40), no_room);
  if (!no_room) {
    const auto file = safetensors::load(path);
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().message, path + ": found 1099511627776 bytes of data, expected at most 1073741824");
    if constexpr (sizeof(std::size_t) < 8) {  // no limit gives a machine more addresses
      const auto raised = safetensors::load(path, {.data = UINT64_MAX});
      ASSERT_FALSE(raised);
      EXPECT_EQ(raised.error().message, path + ": found 1099511627776 bytes of data, expected at most 2147483647");
    }
  }
  fs::remove_all(pattern);
}

TEST(SafetensorsHostile, FirstByte) {
  EXPECT_EQ(refusal(container(" {}")), "file: byte 8: found \" \", expected \"{\"");
  EXPECT_EQ(refusal(container("[]")), "file: byte 8: found \"[\", expected \"{\"");
  EXPECT_EQ(refusal(container("\xEF\xBB\xBF{}")), "file: byte 8: found \"\\xef\", expected \"{\"");
  EXPECT_EQ(refusal("\x80\x04\x95\0\0\0\0\0pickle"s).substr(0, 13), "file: byte 0:") << "a pickle";
}

TEST(SafetensorsHostile, AfterTheHeader) {
  EXPECT_EQ(refusal(container("{}   ")), "accepted");
  EXPECT_EQ(refusal(container("{}\n")), "file: byte 10: found \"\\x0a\", expected the end of the text");
  EXPECT_EQ(refusal(container("{}{}")), "file: byte 10: found an object, expected the end of the text");
  EXPECT_EQ(refusal(container("{}\0"s)), "file: byte 10: found \"\\x00\", expected the end of the text");
  EXPECT_EQ(refusal(container("{")), "file: byte 9: found the end, expected a key in quotes");
}

TEST(SafetensorsHostile, InvalidUtf8) {
  EXPECT_EQ(refusal(container("{\"\xFF\":1}")), "file: byte 10: found \"\\xff\", expected UTF-8");
  EXPECT_EQ(refusal(container("{\"__metadata__\":{\"a\":\"\xC0\x80\"}}")),
            "file: byte 30, \"__metadata__\".\"a\": found \"\\xc0\", expected UTF-8");
  EXPECT_EQ(refusal(container(R"({"\ud800":1})")), "file: byte 10: found half a surrogate pair, expected both halves");
}

TEST(SafetensorsHostile, DuplicateKeys) {
  const std::string w = R"("w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  const std::string v = R"("\u0077":{"dtype":"F32","shape":[1],"data_offsets":[4,8]})";
  EXPECT_EQ(refusal(container('{' + w + ',' + w + '}', "1234")),
            "file: byte 62: found the key \"w\" again, expected each key once");
  EXPECT_EQ(refusal(container('{' + w + ',' + v + '}', eight_bytes)),
            "file: byte 62: found the key \"w\" again, expected each key once");
  EXPECT_EQ(refusal(container(R"({"__metadata__":{},"__metadata__":{}})")),
            "file: byte 27: found the key \"__metadata__\" again, expected each key once");
  EXPECT_EQ(refusal(container(R"({"__metadata__":{"a":"","\u0061":""}})")),
            "file: byte 32, \"__metadata__\": found the key \"a\" again, expected each key once");
  EXPECT_EQ(refusal(container(R"({"w":{"dtype":"F32","shape":[1],"sh\u0061pe":[1]}})")),
            "file: byte 40, \"w\": found the key \"shape\" again, expected each key once");
}

TEST(SafetensorsHostile, Depth) {
  EXPECT_EQ(refusal(with("[[2]]")),
            "file: byte 37, \"w\".\"shape\": found an array, expected an integer of 0 to 9007199254740992");
  EXPECT_EQ(refusal(with(std::string(500'000, '[') + std::string(500'000, ']'))),
            "file: byte 37, \"w\".\"shape\": found an array, expected an integer of 0 to 9007199254740992");
  EXPECT_EQ(refusal(container(R"({"w":[]})")), "file: byte 13, \"w\": found an array, expected an object");
}

TEST(SafetensorsHostile, Numbers) {
  for (const std::string bad :
       {"-2", "2.0", "2e0", "02", "9007199254740993", "1e400", "18446744073709551618", "-0", "+2", "2."})
    EXPECT_EQ(refusal(with('[' + bad + ']')), "file: byte 37, \"w\".\"shape\": found " +
                                                  (bad == "+2" ? "\"+\""s : bad) +
                                                  ", expected an integer of 0 to 9007199254740992");
  EXPECT_EQ(refusal(with("[2]", "[-0,8]")),
            "file: byte 56, \"w\".\"data_offsets\": found -0, expected an integer of 0 to 9007199254740992");
  EXPECT_EQ(refusal(with("[\"2\"]")),
            "file: byte 37, \"w\".\"shape\": found a string, expected an integer of 0 to 9007199254740992");
  EXPECT_EQ(refusal(with("[null]")),
            "file: byte 37, \"w\".\"shape\": found null, expected an integer of 0 to 9007199254740992");
}

TEST(SafetensorsHostile, UnknownFields) {
  EXPECT_EQ(refusal(container(R"({"w":{"dtype":"F32","shape":[2],"stride":1,"data_offsets":[0,8]}})", eight_bytes)),
            "file: byte 40, \"w\".\"stride\": found the key \"stride\", expected dtype, shape and data_offsets only");
}

TEST(SafetensorsHostile, MissingFields) {
  EXPECT_EQ(refusal(container(R"({"w":{"shape":[2],"data_offsets":[0,8]}})", eight_bytes)),
            "file: byte 46, \"w\": found no dtype, expected dtype, shape and data_offsets");
  EXPECT_EQ(refusal(container(R"({"w":{"dtype":"F32","data_offsets":[0,4]}})", "1234")),
            "file: byte 48, \"w\": found no shape, expected dtype, shape and data_offsets");
  EXPECT_EQ(refusal(container(R"({"w":{"dtype":"F32","shape":[0]}})")),
            "file: byte 39, \"w\": found no data_offsets, expected dtype, shape and data_offsets");
}

TEST(SafetensorsHostile, Rank) {
  EXPECT_EQ(refusal(with("[1,1,1,1,1,1,1,2]")), "accepted");
  EXPECT_EQ(refusal(with("[1,1,1,1,1,1,1,1,2]")),
            "file: byte 53, \"w\".\"shape\": found one more dimension, expected at most 8");
}

TEST(SafetensorsHostile, ProductOverflow) {
  EXPECT_EQ(refusal(with("[4294967296,4294967296]", "[0,0]")),
            "file: byte 80, \"w\": found F32 of shape [4294967296, 4294967296], expected less than 2^64 bytes");
  EXPECT_EQ(refusal(with("[4611686018427387906]")).substr(0, 63),
            "file: byte 37, \"w\".\"shape\": found 4611686018427387906, expected");
  EXPECT_EQ(refusal(with("[9007199254740992,512]", "[0,0]")),
            "file: byte 79, \"w\": found F32 of shape [9007199254740992, 512], expected less than 2^64 bytes");
  EXPECT_EQ(refusal(with("[0,4294967296,4294967296]", "[0,0]")),
            "file: byte 82, \"w\": found F32 of shape [0, 4294967296, 4294967296], expected less than 2^64 bytes");
}

TEST(SafetensorsHostile, SizeDisagreesWithShape) {
  EXPECT_EQ(refusal(with("[3]")),
            "file: byte 60, \"w\": found data_offsets 8 bytes apart, expected 12 for F32 of shape [3]");
  EXPECT_EQ(refusal(with("[2]", "[0,8]", "\"F64\"")),
            "file: byte 60, \"w\": found data_offsets 8 bytes apart, expected 16 for F64 of shape [2]");
  EXPECT_EQ(refusal(with("[]")),
            "file: byte 59, \"w\": found data_offsets 8 bytes apart, expected 4 for F32 of shape []");
}

TEST(SafetensorsHostile, Offsets) {
  EXPECT_EQ(refusal(with("[2]", "[8,0]")),
            "file: byte 59, \"w\".\"data_offsets\": found [8, 0], expected begin <= end");
  EXPECT_EQ(refusal(with("[2]", "[0]")),
            "file: byte 57, \"w\".\"data_offsets\": found 1 offsets, expected begin and end");
  EXPECT_EQ(refusal(with("[2]", "[]")),
            "file: byte 56, \"w\".\"data_offsets\": found 0 offsets, expected begin and end");
  EXPECT_EQ(refusal(with("[2]", "[0,8,8]")),
            "file: byte 60, \"w\".\"data_offsets\": found a third offset, expected begin and end");
  EXPECT_EQ(refusal(with("[2]", "8")), "file: byte 55, \"w\".\"data_offsets\": found 8, expected an array");
}

std::string two(const std::string& a, const std::string& b, const std::string& data) {
  return container(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":)" + a +
                       R"(},"b":{"dtype":"F32","shape":[1],"data_offsets":)" + b + "}}",
                   data);
}

TEST(SafetensorsHostile, Gaps) {
  EXPECT_EQ(refusal(two("[0,4]", "[4,8]", eight_bytes)), "accepted");
  EXPECT_EQ(refusal(two("[4,8]", "[0,4]", eight_bytes)), "accepted") << "in any order";
  EXPECT_EQ(refusal(two("[0,4]", "[5,9]", "123456789")),
            "file: tensor \"b\": found its begin at byte 5 of the data, expected 4: a gap");
  EXPECT_EQ(refusal(two("[1,5]", "[5,9]", "123456789")),
            "file: tensor \"a\": found its begin at byte 1 of the data, expected 0: a gap");
}

TEST(SafetensorsHostile, Overlaps) {
  EXPECT_EQ(refusal(two("[0,4]", "[3,7]", "1234567")),
            "file: tensor \"b\": found its begin at byte 3 of the data, expected 4: an overlap");
  EXPECT_EQ(refusal(two("[0,4]", "[0,4]", "1234")),
            "file: tensor \"b\": found its begin at byte 0 of the data, expected 4: an overlap");
}

TEST(SafetensorsHostile, TrailingBytes) {
  EXPECT_EQ(refusal(two("[0,4]", "[4,8]", "123456789")),
            "file: found 9 bytes of data, expected 8, where the last tensor ends");
  EXPECT_EQ(refusal(two("[0,4]", "[4,8]", "1234567")),
            "file: found 7 bytes of data, expected 8, where the last tensor ends");
  EXPECT_EQ(refusal(container("{}", "x")), "file: found 1 bytes of data, expected 0, where the last tensor ends");
}

// Data that nobody needs must not come in through a tensor without values either.
TEST(SafetensorsHostile, EmptyTensors) {
  const auto file = [](const std::string& begin, const std::string& data) {
    return container(R"({"w":{"dtype":"F32","shape":[0,7],"data_offsets":[)" + begin + ',' + begin + "]}}", data);
  };
  EXPECT_EQ(refusal(file("0", "")), "accepted");
  EXPECT_EQ(refusal(file("4", "1234")), "file: tensor \"w\": found its begin at byte 4 of the data, expected 0: a gap");
}

TEST(SafetensorsHostile, ControlCharactersInNames) {
  for (const auto& [name, shown] : std::vector<std::pair<std::string, std::string>>{{"a\\u0000b", "a\\x00b"},
                                                                                    {"\\u0001", "\\x01"},
                                                                                    {"\\u001b[2J", "\\x1b[2J"},
                                                                                    {"\\n", "\\x0a"},
                                                                                    {"\\u007f", "\\x7f"},
                                                                                    {"\\u0085", "\\xc2\\x85"}}) {
    EXPECT_EQ(refusal(container("{\"" + name + "\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "1234")),
              "file: byte 9, \"" + shown + "\": found a control or hidden character in the name, expected none");
    EXPECT_EQ(refusal(container("{\"__metadata__\":{\"" + name + "\":\"\"}}")),
              "file: byte 25, \"__metadata__\".\"" + shown + "\": found the key \"" + shown +
                  "\", expected at most 256 bytes, no control or hidden characters");
  }
}

TEST(SafetensorsHostile, NameLength) {
  const auto file = [](std::size_t length) {
    return container("{\"" + std::string(length, 'n') + "\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
                     "1234");
  };
  EXPECT_EQ(refusal(file(256)), "accepted");
  EXPECT_EQ(refusal(file(257)),
            "file: byte 9, \"" + std::string(64, 'n') + "...\": found a name of 257 bytes, expected at most 256");
}

TEST(SafetensorsHostile, TensorCount) {
  const auto file = [](int count) {
    std::string header = "{";
    for (int i = 0; i < count; ++i)
      header += (i == 0 ? "\"" : ",\"") + std::to_string(i) + R"(":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
    return container(header + '}');
  };
  EXPECT_EQ(refusal(file(4096)), "accepted");
  EXPECT_TRUE(refusal(file(4097)).ends_with(", \"4096\": found one more tensor, expected at most 4096"));
}

TEST(SafetensorsHostile, MetadataThatIsNotText) {
  for (const auto& [value, found] : std::vector<std::pair<std::string, std::string>>{
           {"1", "1"}, {"null", "null"}, {"true", "true"}, {"{}", "an object"}, {"[]", "an array"}})
    EXPECT_EQ(refusal(container("{\"__metadata__\":{\"a\":" + value + "}}")),
              "file: byte 29, \"__metadata__\".\"a\": found " + found + ", expected a string");
  EXPECT_EQ(refusal(container(R"({"__metadata__":"a"})")),
            "file: byte 24, \"__metadata__\": found a string, expected an object");
}

TEST(SafetensorsHostile, UnsupportedTypes) {
  EXPECT_EQ(refusal(golden("half")),
            "file: byte 22, \"w\".\"dtype\": found the unsupported type \"F16\", expected F32, F64, I64 or U64");
  for (const std::string type :
       {"BOOL", "U8", "I8", "I16", "U16", "BF16", "I32", "U32", "C64", "F8_E4M3", "f32", "", "F32 ", "F32\\u0000"})
    EXPECT_NE(refusal(with("[2]", "[0,8]", '"' + type + '"')).find("found the unsupported type"), std::string::npos)
        << type;
  EXPECT_EQ(refusal(with("[2]", "[0,8]", "32")), "file: byte 22, \"w\".\"dtype\": found 32, expected a string");
}

// One random change of a file.
void mutate(std::string& bytes, rubato::random_sequence& random) {
  static const std::vector<std::string> pieces{"\"",
                                               "{",
                                               "}",
                                               "[",
                                               "]",
                                               ",",
                                               ":",
                                               "-",
                                               "0",
                                               "9",
                                               "e1",
                                               ".0",
                                               " ",
                                               "\\u0000",
                                               "\\",
                                               "\xFF",
                                               "9007199254740993",
                                               "18446744073709551616",
                                               "null",
                                               "\"__metadata__\":{},",
                                               "\"F16\"",
                                               "[[",
                                               "\"shape\":[1],",
                                               "\0"s};
  const std::size_t header = bytes.size() < 16
                                 ? bytes.size()
                                 : 8 + static_cast<std::uint8_t>(bytes[0]) + 256U * static_cast<std::uint8_t>(bytes[1]);
  const std::size_t reach = random.below(4) == 0 ? bytes.size() : (std::min)(header, bytes.size());
  if (reach == 0) return;
  const std::size_t at = random.below(reach);
  const std::size_t length = random.below((std::min)(std::size_t{24}, bytes.size() - at) + 1);
  switch (random.below(6)) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
      break;
    case 1:
      bytes[at] = static_cast<char>(random.below(256));
      break;
    case 2:
      bytes.insert(at, pieces[random.below(pieces.size())]);
      break;
    case 3:
      bytes.erase(at, length);
      break;
    case 4:
      bytes.insert(random.below(reach), bytes.substr(at, length));
      break;
    default:
      bytes.replace(at, length, pieces[random.below(pieces.size())]);
  }
}

// Nothing crashes; and what is accepted is written again as a file that is accepted, and means the same.
TEST(SafetensorsHostile, Mutations) {
  const std::vector<std::string> seeds{golden("types"), golden("policy"), golden("none"), golden("half"), with("[2]")};
  rubato::random_sequence random{11};
  std::uint32_t accepted = 0, cards = 0;
  const std::uint32_t tried = rubato::test::scaled(20'000);
  for (std::uint32_t i = 0; i < tried; ++i) {
    std::string bytes = seeds[random.below(seeds.size())];
    const std::size_t data =
        bytes.size() - 8 - static_cast<std::uint8_t>(bytes[0]) - 256U * static_cast<std::uint8_t>(bytes[1]);
    for (std::uint64_t n = 1 + random.below(3); n > 0; --n) mutate(bytes, random);
    if (random.below(4) != 0 && bytes.size() >= 8 + data)  // a length that fits again lets more of them go on
      bytes.replace(0, 8, container(bytes.size() - 8 - data, ""));

    const auto file = parsed(bytes);
    if (!file) {
      ASSERT_EQ(file.error().message.substr(0, 6), "file: ");
      ASSERT_TRUE(rubato::is_plain(file.error().message)) << file.error().message;
      continue;
    }
    ++accepted;
    if (const auto card = rubato::read_policy_card(*file)) ++cards;
    const std::string again = rewritten(*file);
    const auto second = parsed(again);
    ASSERT_TRUE(second) << second.error().message;
    ASSERT_EQ(rewritten(*second), again);
    ASSERT_EQ(second->tensors().size(), file->tensors().size());
    for (const rubato::tensor& t : file->tensors()) {
      const rubato::tensor* same = second->find(t.name);
      ASSERT_NE(same, nullptr);
      ASSERT_TRUE(same->type == t.type && same->shape == t.shape && std::ranges::equal(same->bytes, t.bytes));
    }
  }
  EXPECT_GT(accepted, tried / 100) << "or else it only tests the first checks";
  EXPECT_GT(cards, tried / 1000);
}

}  // namespace
