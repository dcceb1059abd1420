#include <gtest/gtest.h>

#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <rubato/io/safetensors.hpp>
#include <rubato/io/safetensors_writer.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../support/folder_test.hpp"
#include "container.hpp"

namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;
using rubato::dtype;
using rubato::errc;
using rubato::safetensors;
using rubato::safetensors_writer;
using rubato::tensor;
using rubato::test::container;
using rubato::test::golden;
using rubato::test::golden_path;
using rubato::test::parsed;
using rubato::test::rewritten;
using rubato::test::written;

// Whether values can be read where they lie in the file.
constexpr bool in_place = std::endian::native == std::endian::little;

template <class T>
std::vector<T> values(const safetensors& file, std::string_view name) {
  const tensor* t = file.find(name);
  if (t == nullptr) return {};
  std::vector<T> copy(t->size());
  EXPECT_TRUE(t->copy_to(std::span<T>{copy})) << name;
  return copy;
}

class SafetensorsFile : public rubato::test::folder_test {};

TEST(Safetensors, ReadsWhatPythonWrote) {
  const auto file = safetensors::load(golden_path("types"));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->tensors().size(), 8U);
  EXPECT_TRUE(file->metadata().empty());
  const auto f32 = values<float>(*file, "f32");
  ASSERT_EQ(f32.size(), 6U);
  EXPECT_EQ(f32[0], 1.0F);
  EXPECT_TRUE(f32[1] == 0.0F && std::signbit(f32[1]));
  EXPECT_TRUE(std::isnan(f32[2]));
  EXPECT_EQ(f32[3], std::numeric_limits<float>::infinity());
  EXPECT_EQ(f32[4], std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(f32[5], (std::numeric_limits<float>::max)());
  EXPECT_EQ(values<double>(*file, "f64"), (std::vector{0.1, -std::numeric_limits<double>::infinity()}));
  EXPECT_EQ(values<std::int64_t>(*file, "i64"), (std::vector<std::int64_t>{INT64_MIN, -1, INT64_MAX}));
  EXPECT_EQ(values<std::uint64_t>(*file, "u64"), (std::vector<std::uint64_t>{UINT64_MAX}));
  EXPECT_EQ(values<float>(*file, "scalar"), (std::vector{7.5F}));
  EXPECT_EQ(values<float>(*file, "caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"), (std::vector{2.0F}));
  EXPECT_TRUE(file->find("scalar")->shape.empty());
  EXPECT_EQ(file->find("empty")->shape, (std::vector<std::uint64_t>{0, 3}));
  EXPECT_EQ(file->find("empty")->size(), 0U);
  EXPECT_EQ(file->find("rank8")->shape, (std::vector<std::uint64_t>{1, 2, 1, 2, 1, 1, 1, 1}));
  EXPECT_EQ(file->find("f"), nullptr);

  const auto none = safetensors::load(golden_path("none"));
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->tensors().empty());
}

TEST(Safetensors, ViewsNeedNoCopy) {
  const auto file = safetensors::load(golden_path("policy"));
  ASSERT_TRUE(file);
  for (const tensor& t : file->tensors()) {
    EXPECT_EQ(t.values<float>().has_value(), in_place && t.type == dtype::f32) << t.name;
    EXPECT_EQ(t.values<double>().has_value(), in_place && t.type == dtype::f64) << t.name;
  }
}

// Also when the file puts the data at an odd address, and other types before it.
TEST(Safetensors, DataIsAlignedWhateverTheHeader) {
  for (std::size_t spaces = 0; spaces < 8; ++spaces) {
    const auto file = parsed(
        container(R"({"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}})" + std::string(spaces, ' '), "12345678"));
    ASSERT_TRUE(file);
    EXPECT_EQ(file->find("a")->values<double>().has_value(), in_place);
  }
  const auto file = parsed(container(R"({"b":{"dtype":"U64","shape":[1],"data_offsets":[4,12]},)"
                                     R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                                     "abcd12345678"));
  ASSERT_TRUE(file);
  EXPECT_EQ(file->find("b")->values<std::uint64_t>().has_value(), in_place && 4 % alignof(std::uint64_t) == 0);
  EXPECT_EQ(file->find("b")->at<std::uint64_t>(0), 0x3837363534333231U);
  EXPECT_EQ(file->tensors()[0].name, "a") << "in the order of their bytes";
}

TEST(Safetensors, ViewsSurviveAMove) {
  auto file = safetensors::load(golden_path("types"));
  ASSERT_TRUE(file);
  const std::byte* before = file->find("scalar")->bytes.data();
  const safetensors moved{std::move(*file)};
  EXPECT_EQ(moved.find("scalar")->bytes.data(), before);
  EXPECT_EQ(moved.find("scalar")->at<float>(0), 7.5F);
}

TEST(Safetensors, Metadata) {
  const auto file = parsed(container(R"({ "__metadata__" : {"b":"1\n","a":"","\u00e9":"\"x\""} } )"));
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->metadata().size(), 3U);
  EXPECT_EQ(file->metadata()[0].key, "b");
  EXPECT_EQ(*file->metadata("b"), "1\n");
  EXPECT_EQ(*file->metadata("\xC3\xA9"), "\"x\"");
  EXPECT_EQ(file->metadata("c"), nullptr);
}

TEST_F(SafetensorsFile, LoadsFiles) {
  ASSERT_TRUE(rubato::write_file(at("a"), golden("policy")));
  const auto file = safetensors::load(at("a"));
  ASSERT_TRUE(file);
  EXPECT_EQ(file->source(), at("a"));
  EXPECT_EQ(values<float>(*file, "policy/layer1/bias"), (std::vector{0.0F, 8.0F}));
}

TEST_F(SafetensorsFile, FileErrors) {
  const auto refused = [](const std::string& path) {
    const auto file = safetensors::load(path);
    return file ? "accepted" : std::string{name(file.error().code)} + ": " + file.error().message;
  };
  EXPECT_EQ(refused(at("a")), "io: cannot read " + at("a") + ": No such file or directory");
  EXPECT_EQ(refused(folder.string()), "io: cannot read " + folder.string() + ": found a directory, expected a regular file");
  EXPECT_EQ(refused("/dev/zero"), "io: cannot read /dev/zero: found a device or pipe, expected a regular file");
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  EXPECT_EQ(refused(at("pipe")), "io: cannot read " + at("pipe") + ": found a device or pipe, expected a regular file")
      << "and does not wait";
  ASSERT_TRUE(rubato::write_file(at("short"), golden("policy").substr(0, 1300)));
  EXPECT_EQ(refused(at("short")),
            "corrupt: " + at("short") + ": found 92 bytes of data, expected 160, where the last tensor ends");
}

TEST(SafetensorsWriter, SameBytesAsPython) {
  for (const char* name : {"types", "policy", "rlp", "none"}) {
    const auto file = safetensors::load(golden_path(name));
    ASSERT_TRUE(file);
    EXPECT_EQ(rewritten(*file), golden(name)) << name;
  }
}

TEST(SafetensorsWriter, RoundTrip) {
  const std::vector<float> weights{1, 2, 3, 4, 5, 6};
  std::array<double, 1> mean{0.1};
  const std::uint64_t seed = UINT64_MAX;
  const std::vector<std::int64_t> nothing;
  safetensors_writer writer;
  writer.metadata("rubato", "\"\n\0\xC3\xA9"s).metadata("a", "");
  writer.add("w", {2, 3}, weights).add("mean", {1}, mean).add("seed", {}, std::span{&seed, 1}).add("no", {0}, nothing);
  const std::string bytes = written(writer);
  const auto file = parsed(bytes);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(values<float>(*file, "w"), weights);
  EXPECT_EQ(values<double>(*file, "mean"), (std::vector{0.1}));
  EXPECT_EQ(values<std::uint64_t>(*file, "seed"), (std::vector{seed}));
  EXPECT_EQ(file->find("no")->type, dtype::i64);
  EXPECT_EQ(file->find("w")->shape, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(*file->metadata("rubato"), "\"\n\0\xC3\xA9"s);
  EXPECT_EQ((bytes.size() - weights.size() * 4) % 8, 0U) << "data begins at a multiple of 8";
  EXPECT_EQ(rewritten(*file), bytes);
}

TEST(SafetensorsWriter, SameContentSameBytes) {
  const std::vector<float> a{1, 2}, b{3};
  const std::vector<double> c{4};
  safetensors_writer one, other;
  one.metadata("k", "v").add("a", {2}, a).add("b", {1}, b).add("c", {1}, c);
  other.add("c", {1}, c).add("b", {1}, b).add("a", {2}, a).metadata("k", "v");
  EXPECT_EQ(written(one), written(other));
  EXPECT_EQ(written(one), container(R"({"__metadata__":{"k":"v"},"c":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},)"
                                    R"("a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]},)"
                                    R"("b":{"dtype":"F32","shape":[1],"data_offsets":[16,20]}}    )",
                                    std::string_view{"\0\0\0\0\0\0\x10\x40\0\0\x80\x3F\0\0\0\x40\0\0\x40\x40", 20}));
}

TEST(SafetensorsWriter, SwapsBigEndianValues) {
  const std::array<std::byte, 8> big{std::byte{0x3F}, std::byte{0x80}, {}, {}, std::byte{0x40}, {}, {}, {}};
  safetensors_writer writer;
  writer.add(tensor{.name = "w", .type = dtype::f32, .shape = {2}, .bytes = big}, std::endian::big);
  const auto file = parsed(written(writer));
  ASSERT_TRUE(file);
  EXPECT_EQ(values<float>(*file, "w"), (std::vector{1.0F, 2.0F}));
}

// Many tensors over the same values, so that the test needs no memory of that size.
TEST(SafetensorsWriter, RefusesMoreThanIsRead) {
  const std::vector<float> values(std::size_t{1} << 18);  // 1 MiB
  safetensors_writer writer;
  for (int i = 0; i < 1024; ++i) writer.add("w" + std::to_string(10'000 + i), {values.size()}, values);
  std::uint64_t bytes = 0;
  auto sink = [&](std::string_view text) noexcept { bytes += text.size(); };
  ASSERT_TRUE(writer.write(sink));
  EXPECT_GT(bytes, rubato::safetensors_limits{}.data);
  bytes = 0;
  const float one = 1;
  const auto done = writer.add("z", {}, std::span{&one, 1}).write(sink);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, errc::invalid_option);
  EXPECT_EQ(done.error().message, "safetensors: found tensor \"z\" of 4 bytes, expected at most 0 more bytes of data");
  EXPECT_EQ(bytes, 0U);
}

TEST(SafetensorsWriter, RefusesToWrite) {
  const std::vector<float> one{1};
  const std::vector<float> none;
  const auto refused = [](const safetensors_writer& writer) -> std::string {
    std::size_t bytes = 0;
    auto sink = [&](std::string_view text) noexcept { bytes += text.size(); };
    const auto done = writer.write(sink);
    EXPECT_EQ(bytes, 0U) << "before a byte is written";
    if (done) return "written";
    EXPECT_EQ(done.error().code, errc::invalid_option);
    return done.error().message;
  };
  const auto add = [](std::string name, std::vector<std::uint64_t> shape, const std::vector<float>& of) {
    return std::move(safetensors_writer{}.add(std::move(name), std::move(shape), of));
  };
  const std::string plain = ", expected a name of at most 256 bytes of UTF-8 without control or hidden characters";
  EXPECT_EQ(refused(add("w", {2}, one)),
            "safetensors: found 1 values of tensor \"w\", expected as many as fill its shape [2]");
  EXPECT_EQ(refused(add("w", {UINT64_MAX / 2, 4}, one).add("v", {}, one)),
            "safetensors: found tensor \"w\" of shape [9223372036854775807, 4], expected dimensions of at most 2^53");
  EXPECT_EQ(refused(add("w", {0, UINT64_MAX}, none)),
            "safetensors: found tensor \"w\" of shape [0, 18446744073709551615], expected dimensions of at most 2^53");
  EXPECT_EQ(refused(add("w", {1, 1, 1, 1, 1, 1, 1, 1, 1}, one)),
            "safetensors: found tensor \"w\" of rank 9, expected at most 8");
  EXPECT_EQ(refused(add("w", {1}, one).add("w", {1}, one)),
            "safetensors: found tensor \"w\" twice, expected each name once");
  EXPECT_EQ(refused(add("a\nb", {1}, one)), "safetensors: found tensor \"a\\x0ab\"" + plain);
  EXPECT_EQ(refused(add("\xFF", {1}, one)), "safetensors: found tensor \"\\xff\"" + plain);
  EXPECT_EQ(refused(add(std::string(257, 'x'), {1}, one)),
            "safetensors: found tensor \"" + std::string(64, 'x') + "...\"" + plain);
  EXPECT_EQ(refused(add("__metadata__", {1}, one)),
            "safetensors: found tensor \"__metadata__\", expected another name");
  safetensors_writer text;
  text.metadata("k", "a").metadata("k", "b");
  EXPECT_EQ(refused(text), "safetensors: found metadata \"k\" twice, expected each name once");
  safetensors_writer bytes;
  bytes.metadata("k", "\xFF");
  EXPECT_EQ(refused(bytes), "safetensors: found metadata \"k\" that is not UTF-8, expected UTF-8");
  safetensors_writer large;
  large.metadata("k", std::string(1 << 20, 'x'));
  EXPECT_EQ(refused(large), "safetensors: found a header of 1048608 bytes, expected at most 1 MiB");
  safetensors_writer many;
  for (int i = 0; i <= 4096; ++i) many.add(std::to_string(i), {1}, one);
  EXPECT_EQ(refused(many), "safetensors: found 4097 tensors, expected at most 4096");
}

TEST_F(SafetensorsFile, SavesOrLeavesTheOldFile) {
  const std::vector<float> one{1};
  safetensors_writer writer;
  const auto bytes = writer.add("w", {1}, one).save(at("a"));
  ASSERT_TRUE(bytes) << bytes.error().message;
  EXPECT_EQ(*bytes, fs::file_size(at("a")));
  EXPECT_TRUE(safetensors::load(at("a")));

  EXPECT_FALSE(writer.add("w", {1}, one).save(at("a"))) << "a name twice";
  EXPECT_TRUE(safetensors::load(at("a")));
  EXPECT_EQ(std::distance(fs::directory_iterator{folder}, fs::directory_iterator{}), 1) << "no temporary file is left";
  const auto nowhere = safetensors_writer{}.save(at("no/such/folder"));
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, errc::io);
}

}  // namespace
