#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <rubato/io/tensor.hpp>
#include <vector>

namespace {

using rubato::dtype;
using rubato::tensor;

alignas(8) constexpr std::array<std::byte, 20> one_and_two{std::byte{0},    std::byte{0},   std::byte{0x80},
                                                           std::byte{0x3F}, std::byte{0},   std::byte{0},
                                                           std::byte{0},    std::byte{0x40}};

TEST(Tensor, Values) {
  const tensor t{.name = "t", .type = dtype::f32, .shape = {2}, .bytes = std::span{one_and_two}.first(8)};
  const auto values = t.values<float>();
  ASSERT_EQ(values.has_value(), std::endian::native == std::endian::little);
  if (values) {
    EXPECT_EQ(static_cast<const void*>(values->data()), one_and_two.data()) << "no copy";
    EXPECT_EQ(std::vector<float>(values->begin(), values->end()), (std::vector{1.0F, 2.0F}));
  }
  EXPECT_EQ(t.at<float>(1), 2.0F);
}

TEST(Tensor, CopyTo) {
  const tensor t{.type = dtype::f32, .shape = {2}, .bytes = std::span{one_and_two}.first(8)};
  std::array<float, 2> copy{};
  EXPECT_TRUE(t.copy_to(std::span{copy}.first(2)));
  EXPECT_EQ(copy, (std::array{1.0F, 2.0F}));
}

TEST(Tensor, Misaligned) {
  alignas(8) std::array<std::byte, 12> shifted{};
  std::copy_n(one_and_two.begin(), 8, shifted.begin() + 1);
  const tensor t{.type = dtype::f32, .shape = {2}, .bytes = std::span{shifted}.subspan(1, 8)};
  EXPECT_FALSE(t.values<float>());
  std::array<float, 2> copy{};
  EXPECT_TRUE(t.copy_to(std::span<float>{copy}));
  EXPECT_EQ(copy, (std::array{1.0F, 2.0F}));
  const tensor wide{.type = dtype::f64, .shape = {1}, .bytes = std::span{one_and_two}.subspan(2, 8)};
  EXPECT_FALSE(wide.values<double>());
}

TEST(Tensor, OtherTypeOrSize) {
  const tensor t{.type = dtype::f32, .shape = {2}, .bytes = std::span{one_and_two}.first(8)};
  std::array<float, 3> three{7, 7, 7};
  std::array<double, 1> wide{7};
  EXPECT_FALSE(t.values<double>() || t.values<std::int64_t>());
  EXPECT_FALSE(t.copy_to(std::span<float>{three}));
  EXPECT_FALSE(t.copy_to(std::span<double>{wide}));
  EXPECT_EQ(three, (std::array<float, 3>{7, 7, 7}));
  EXPECT_EQ(wide, (std::array<double, 1>{7}));
}

TEST(Tensor, LittleEndian) {
  std::array<std::byte, 8> bytes{};
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(0x10 + i);
  EXPECT_EQ(rubato::from_little_endian<std::uint64_t>(bytes), 0x1716151413121110U);
  bytes.fill(std::byte{0xFF});
  EXPECT_EQ(rubato::from_little_endian<std::int64_t>(bytes), -1);
  static_assert(rubato::from_little_endian<float>(std::span{one_and_two}.first<4>()) == 1.0F);
}

TEST(Tensor, BytesOf) {
  constexpr auto bytes = [](dtype type, std::vector<std::uint64_t> shape) { return rubato::bytes_of(type, shape); };
  constexpr std::uint64_t huge = std::uint64_t{1} << 53;
  EXPECT_EQ(bytes(dtype::f32, {}), 4U);
  EXPECT_EQ(bytes(dtype::u64, {2, 3}), 48U);
  EXPECT_EQ(bytes(dtype::f32, {3, 0, 5}), 0U);
  EXPECT_EQ(bytes(dtype::f64, {huge, huge}), std::nullopt);
  EXPECT_EQ(bytes(dtype::f64, {0, huge, huge}), std::nullopt);
  EXPECT_EQ(bytes(dtype::f32, {huge, 512}), std::nullopt) << "2^62 values, 2^64 bytes";
  EXPECT_EQ(bytes(dtype::f32, {huge, 511}), huge * 511 * 4);
}

TEST(Tensor, TypesAreNamed) {
  for (const dtype type : {dtype::f32, dtype::f64, dtype::i64, dtype::u64})
    EXPECT_EQ(rubato::dtype_named(rubato::name(type)), type);
  for (const char* other : {"F16", "BF16", "f32", "", "F321", "BOOL", "I32"}) EXPECT_FALSE(rubato::dtype_named(other));
  EXPECT_EQ(rubato::to_text(std::vector<std::uint64_t>{2, 3}), "[2, 3]");
  EXPECT_EQ(rubato::to_text({}), "[]");
}

}  // namespace
