#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <rubato/core/rng.hpp>

namespace rubato {
namespace {

using words = std::array<std::uint32_t, 4>;

// Random123's published vectors for philox4x32-10: counter {index, stream}, key = seed.
TEST(Philox, KnownAnswers) {
  constexpr std::uint64_t ones = ~std::uint64_t{0};
  EXPECT_EQ(philox(0, 0, 0), (words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(ones, ones, ones), (words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  // counter 243f6a88 85a308d3 13198a2e 03707344, key a4093822 299f31d0 (digits of pi)
  EXPECT_EQ(philox(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88),
            (words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomSequence, SequenceIsPhiloxInOrder) {
  random_sequence sequence{3, 5, 9};
  for (std::uint64_t index = 9; index < 12; ++index) {
    const words word = philox(3, 5, index);
    EXPECT_EQ(sequence(), (std::uint64_t{word[1]} << 32) | word[0]);
    EXPECT_EQ(sequence(), (std::uint64_t{word[3]} << 32) | word[2]);
  }
}

TEST(RandomSequence, GoesOnAtTheNextBlock) {
  random_sequence sequence{3, 5, 9};
  for (int draw = 0; draw < 6; ++draw) {
    EXPECT_EQ(sequence.begins_block(), draw % 2 == 0);
    const random_sequence::block at = sequence.next_block();
    random_sequence there{at.seed, at.stream, at.index}, here = sequence;
    if (!here.begins_block()) here();
    for (int i = 0; i < 4; ++i) EXPECT_EQ(there(), here()) << draw << ' ' << i;
    sequence();
  }
}

TEST(RandomSequence, UniformMoments) {
  constexpr int draws = 200'000;
  random_sequence sequence{1};
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < draws; ++i) {
    const double x = sequence.uniform();
    ASSERT_GE(x, 0.0);
    ASSERT_LT(x, 1.0);
    sum += x;
    squares += x * x;
  }
  const double mean = sum / draws;
  EXPECT_NEAR(mean, 0.5, 4 * std::sqrt(1.0 / 12 / draws));
  EXPECT_NEAR(squares / draws - mean * mean, 1.0 / 12, 4 * std::sqrt(1.0 / 180 / draws));
}

// With n = 3/4 of the range, `bits % n` would fall below n/3 in half of all draws instead of a third.
TEST(RandomSequence, BelowIsUnbiased) {
  constexpr int draws = 30'000;
  constexpr std::uint64_t n = 3 * (std::uint64_t{1} << 62);
  random_sequence sequence{2};
  int low = 0;
  for (int i = 0; i < draws; ++i) {
    const std::uint64_t x = sequence.below(n);
    ASSERT_LT(x, n);
    low += x < n / 3;
  }
  EXPECT_NEAR(low, draws / 3.0, 4 * std::sqrt(draws * 2.0 / 9));

  std::array<int, 6> faces{};
  for (int i = 0; i < draws; ++i) ++faces[sequence.below(faces.size())];
  for (const int count : faces) EXPECT_NEAR(count, draws / 6.0, 4 * std::sqrt(draws * 5.0 / 36));
  EXPECT_EQ(sequence.below(0), 0u);
  EXPECT_EQ(sequence.below(1), 0u);
}

TEST(RandomSequence, NormalMoments) {
  constexpr int draws = 200'000;
  random_sequence sequence{4};
  double sum = 0;
  double squares = 0;
  double fourth = 0;
  for (int i = 0; i < draws; ++i) {
    const double x = sequence.normal();
    ASSERT_TRUE(std::isfinite(x));
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
  }
  EXPECT_NEAR(sum / draws, 0, 4 * std::sqrt(1.0 / draws));
  EXPECT_NEAR(squares / draws, 1, 4 * std::sqrt(2.0 / draws));
  EXPECT_NEAR(fourth / draws, 3, 4 * std::sqrt(96.0 / draws));
}

TEST(RandomSequence, NormalIsMadeOfTwoUniformNumbers) {
  random_sequence uniforms{8}, normals{8};
  for (int i = 0; i < 100; ++i) {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniforms.uniform()));
    EXPECT_NEAR(normals.normal(), radius * std::cos(2.0 * std::numbers::pi * uniforms.uniform()), 1e-12);
  }
}

}  // namespace
}  // namespace rubato
