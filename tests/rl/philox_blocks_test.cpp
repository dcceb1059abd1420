#include <rubato/rl/philox_blocks.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace rubato::rl {
namespace {

template <std::size_t Count>
void expect_those_of_philox(std::uint64_t seed, std::uint64_t stream, std::uint64_t first) {
  const auto blocks = philox_blocks<Count>(seed, stream, first);
  for (std::size_t i = 0; i < Count; ++i) EXPECT_EQ(blocks[i], philox(seed, stream, first + i)) << seed << ' ' << i;
}

TEST(PhiloxBlocks, AreThoseOfPhilox) {
  random_sequence random{1};
  for (int i = 0; i < 1'000; ++i) {
    expect_those_of_philox<2>(random(), random(), random());
    expect_those_of_philox<8>(random(), random(), random());
  }
  expect_those_of_philox<8>(0, 0, 0);
  expect_those_of_philox<8>(~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0} - 3);
  expect_those_of_philox<8>(1, 2, (std::uint64_t{1} << 32) - 3);
}

}  // namespace
}  // namespace rubato::rl
