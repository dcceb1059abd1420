#include <rubato/rl/draw_below.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace rubato::rl {
namespace {

template <class T>
void expect_those_of_below(random_sequence random, std::uint64_t n, std::size_t count) {
  random_sequence alone = random;
  std::vector<T> got(count, T{99});
  draw_below(random, n, std::span{got});
  for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(got[i], alone.below(n)) << "n " << n << ", draw " << i;
  EXPECT_EQ(random(), alone()) << "n " << n << ", after " << count;
}

TEST(DrawBelow, AreThoseOfBelow) {
  random_sequence random{1};
  for (std::size_t count = 0; count <= 70; ++count)
    for (const std::uint64_t n : {0u, 1u, 2u, 3u, 10'000u, 65'536u, 0x7FFF'FFFFu, 0xFFFF'FFFFu}) {
      expect_those_of_below<std::uint32_t>(random, n, count);
      expect_those_of_below<std::uint64_t>(random, n, count);
      static_cast<void>(random());  // the next one begins within a block
    }
  for (int i = 0; i < 2'000; ++i) expect_those_of_below<std::uint64_t>(random_sequence{random()}, random() >> 20, 40);
}

// Half of all bits are refused where n is just above 2^63.
TEST(DrawBelow, RefusedBitsAreDrawnAgain) {
  random_sequence random{2};
  constexpr std::uint64_t most = (std::numeric_limits<std::uint64_t>::max)();
  for (const std::uint64_t n : {(most >> 1) + 2, most / 3 + 2, most >> 4, (most >> 1) + 1, most})
    for (std::size_t count = 9; count < 40; ++count) {
      expect_those_of_below<std::uint64_t>(random, n, count);
      static_cast<void>(random());
    }
}

// Those who come within a block draw its second half; if that is refused, the first half of another.
TEST(DrawBelow, RefusedWithinABlock) {
  constexpr std::uint64_t n = (std::numeric_limits<std::uint64_t>::max)() / 3 + 2;  // a third is refused
  for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
    random_sequence random{seed};
    static_cast<void>(random());
    expect_those_of_below<std::uint64_t>(random, n, 9 + seed % 20);
  }
}

}  // namespace
}  // namespace rubato::rl
