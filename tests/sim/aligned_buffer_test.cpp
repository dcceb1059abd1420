#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include <rubato/sim/aligned_buffer.hpp>

namespace {

using rubato::sim::aligned_buffer;

TEST(aligned_buffer, StartsOnACacheLine) {
  for (const std::size_t size : {1U, 3U, 1'000U}) {
    const aligned_buffer buffer{size};
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % aligned_buffer::alignment, 0U);
    for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(buffer.data()[i], 0);
  }
}

TEST(aligned_buffer, EnsureKeepsStorageThatIsLargeEnough) {
  aligned_buffer buffer{8};
  buffer.data()[3] = 7;
  const float* before = buffer.data();
  buffer.ensure(4);
  EXPECT_EQ(buffer.data(), before);
  EXPECT_EQ(buffer.data()[3], 7);
  buffer.ensure(16);
  EXPECT_EQ(buffer.size(), 16U);
  EXPECT_EQ(buffer.data()[3], 0);
}

TEST(aligned_buffer, MoveTakesTheStorage) {
  aligned_buffer from{8};
  const float* data = from.data();
  const aligned_buffer to{std::move(from)};
  EXPECT_EQ(to.data(), data);
  EXPECT_EQ(to.size(), 8U);
}

}  // namespace
