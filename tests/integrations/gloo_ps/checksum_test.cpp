#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <rubato/gloo_ps/checksum.hpp>
#include <span>
#include <vector>

namespace gloo_ps_checksum_test {
namespace {

using rubato::gloo_ps::checksum;

std::vector<std::byte> some_bytes(std::size_t n) {
  std::vector<std::byte> data(n);
  for (std::size_t i = 0; i < n; ++i) data[i] = static_cast<std::byte>(i * 37 + 11);
  return data;
}

TEST(Checksum, NoticesEveryBit) {
  for (const std::size_t n : {1U, 7U, 31U, 32U, 33U, 100U}) {
    std::vector<std::byte> data = some_bytes(n);
    const std::uint64_t whole = checksum(data);
    for (std::size_t bit = 0; bit < 8 * n; ++bit) {
      data[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
      EXPECT_NE(checksum(data), whole) << n << " bytes, bit " << bit;
      data[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    }
    EXPECT_EQ(checksum(data), whole);
  }
}

TEST(Checksum, NoticesTheLength) {
  const std::vector<std::byte> zeros(100);
  for (std::size_t n = 0; n < 100; ++n)
    EXPECT_NE(checksum(std::span{zeros}.first(n)), checksum(std::span{zeros}.first(n + 1)));
}

TEST(Checksum, NoticesSwappedWords) {
  std::vector<std::byte> data = some_bytes(64);
  const std::uint64_t whole = checksum(data);
  std::swap_ranges(data.begin(), data.begin() + 32, data.begin() + 32);
  EXPECT_NE(checksum(data), whole);
}

}  // namespace
}  // namespace gloo_ps_checksum_test
