#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <rubato/core/archive.hpp>
#include <span>
#include <string>
#include <vector>

namespace rubato {
namespace {

enum class colour : std::uint8_t { red, green };

struct everything {
  bool flag = false;
  std::uint8_t small = 0;
  std::int16_t negative = 0;
  std::uint32_t middle = 0;
  std::uint64_t large = 0;
  float ratio = 0.0F;
  double time = 0.0;
  colour paint = colour::red;
  grant terms{};
  std::string words;

  void state(archive& bytes) {
    bytes(flag, small, negative, middle, large, ratio, time, paint);
    bytes(terms);
    bytes.text(words);
  }
  friend bool operator==(const everything&, const everything&) = default;
};

const everything sample{true,
                        200,
                        -3,
                        0xDEADBEEF,
                        ~std::uint64_t{1},
                        -0.0F,
                        -std::numeric_limits<double>::infinity(),
                        colour::green,
                        {.version = 7, .batch = 16, .lr_scale = 0.5F},
                        "three words more"};

std::vector<std::byte> saved(everything value) {
  archive out;
  value.state(out);
  EXPECT_TRUE(out.ok() && out.finished() && out.saving());
  return {out.bytes().begin(), out.bytes().end()};
}

TEST(Archive, RoundTrip) {
  const std::vector<std::byte> bytes = saved(sample);
  archive in{bytes};
  everything loaded;
  loaded.state(in);
  EXPECT_TRUE(in.finished());
  EXPECT_FALSE(in.saving());
  EXPECT_EQ(loaded, sample);
  EXPECT_TRUE(std::signbit(loaded.ratio));
}

TEST(Archive, LittleEndian) {
  archive out;
  std::uint32_t word = 0x01020304;
  double one = 1.0;
  out(word, one);
  const auto b = [](int value) { return static_cast<std::byte>(value); };
  EXPECT_EQ(std::vector<std::byte>(out.bytes().begin(), out.bytes().end()),
            (std::vector<std::byte>{b(4), b(3), b(2), b(1), b(0), b(0), b(0), b(0), b(0), b(0), b(0xF0), b(0x3F)}));
}

TEST(Archive, TruncationIsNoticed) {
  const std::vector<std::byte> bytes = saved(sample);
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    archive in{std::span{bytes}.first(n)};
    everything loaded;
    loaded.state(in);
    ASSERT_FALSE(in.ok()) << n;
    ASSERT_FALSE(in.finished()) << n;
  }
}

// Once something was amiss, this value and all later ones stay as they were.
TEST(Archive, NothingIsReadAfterAnError) {
  const std::vector<std::byte> bytes{std::byte{1}, std::byte{2}, std::byte{3}};
  archive in{bytes};
  std::uint16_t first = 0;
  std::uint16_t second = 99;
  std::uint8_t third = 98;
  in(first, second, third);
  EXPECT_EQ(first, 0x0201);
  EXPECT_EQ(second, 99);
  EXPECT_EQ(third, 98);
  EXPECT_FALSE(in.ok());
}

TEST(Archive, LeftOverBytesAreNoticed) {
  std::vector<std::byte> bytes = saved(sample);
  bytes.push_back(std::byte{0});
  archive in{bytes};
  everything loaded;
  loaded.state(in);
  EXPECT_TRUE(in.ok());
  EXPECT_FALSE(in.finished());
}

TEST(Archive, BadBoolIsNoticed) {
  const std::vector<std::byte> bytes{std::byte{2}};
  archive in{bytes};
  bool flag = false;
  in(flag);
  EXPECT_FALSE(in.ok());
  EXPECT_FALSE(flag);
}

TEST(Archive, TextIsAtMost255Bytes) {
  std::string longer(300, 'x');
  archive out;
  out.text(longer);
  EXPECT_EQ(out.bytes().size(), 256u);
  archive in{out.bytes()};
  std::string read;
  in.text(read);
  EXPECT_EQ(read, std::string(255, 'x'));
}

TEST(Archive, SealNoticesEveryBit) {
  std::uint64_t value = 7;
  archive out;
  out(value);
  out.seal();
  std::vector<std::byte> bytes{out.bytes().begin(), out.bytes().end()};
  archive good{bytes};
  EXPECT_TRUE(good.unseal());
  good(value);
  EXPECT_TRUE(good.finished());
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    archive in{bytes};
    EXPECT_FALSE(in.unseal()) << bit;
    bytes[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
  }
  archive nothing{std::span<const std::byte>{}};
  EXPECT_FALSE(nothing.unseal());
}

TEST(Archive, FailMarksTheBytesAsBad) {
  archive in{std::span<const std::byte>{}};
  EXPECT_TRUE(in.finished());
  in.fail();
  EXPECT_FALSE(in.ok());
}

}  // namespace
}  // namespace rubato
