#include <gtest/gtest.h>

#include <rubato/io/tensorboard.hpp>
#include <string>
#include <string_view>

#include "host.hpp"

namespace {

using namespace rubato;

TEST(Tensorboard, ChecksumsAreMasked) {
  EXPECT_EQ(detail::crc32c("123456789"), 0xE3069283U) << "the check value of CRC-32C";
  EXPECT_EQ(detail::crc32c(""), 0U);
  EXPECT_EQ(detail::crc32c(std::string(32, '\0')),
            0x8A9136AAU)
      << "RFC 3720, B.4";
}

// As the messages of TensorBoard 2.21 serialize themselves.
TEST(Tensorboard, GoldenBytes) {
  std::string text;
  tensorboard_events curves{test::text_sink{&text}, 1.5};
  curves.scalar("train/reward", 300, -0.25F, 2.5);
  constexpr std::string_view hex = "0123456789abcdef";
  std::string digits;
  for (const char byte : text) {
    digits += hex[static_cast<unsigned char>(byte) / 16U];
    digits += hex[static_cast<unsigned char>(byte) % 16U];
  }
  EXPECT_EQ(digits,
            "1800000000000000a37f4b2209000000000000f83f1a0d627261696e2e4576656e743a32"
            "2a28646c2300000000000000b09f774309000000000000044010ac022a150a130a0c7472"
            "61696e2f72657761726415000080bef37cc195");
}

TEST(Tensorboard, LongTags) {
  std::string text;
  tensorboard_events curves{test::text_sink{&text}, 0.0};
  text.clear();
  curves.scalar(std::string(300, 'x'), 0, 1.0F, 0.0);
  // 9 of the time, 2 of the step; tag 3 + 300, number 5: 308, in two messages of 3 bytes more each.
  EXPECT_EQ(text.size(), 12 + 9 + 2 + (308 + 3 + 3) + 4U);
}

}  // namespace
