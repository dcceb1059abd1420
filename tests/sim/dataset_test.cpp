#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include <rubato/sim/dataset.hpp>

namespace {

using namespace rubato::sim;

constexpr std::array<std::uint8_t, 8> pixels{0, 1, 2, 3, 4, 5, 6, 7};
constexpr std::array<std::uint8_t, 4> labels{0, 1, 1, 0};
constexpr dataset all{pixels, labels, 2, 2};

TEST(dataset, SliceIsClipped) {
  EXPECT_EQ(all.slice(1, 2).samples(), 2U);
  EXPECT_EQ(all.slice(1, 2).image(0)[0], 2);
  EXPECT_EQ(all.slice(3, 9).samples(), 1U);
  EXPECT_EQ(all.slice(9, 9).samples(), 0U);
}

TEST(dataset, SplitKeepsOrder) {
  const data_split parts = split(all, 3, 5);
  EXPECT_EQ(parts.training.samples(), 3U);
  EXPECT_EQ(parts.validation.samples(), 1U);
  EXPECT_EQ(parts.validation.image(0)[1], 7);
  EXPECT_TRUE(parts.training.consistent());
}

TEST(dataset, ConsistencyCoversShapesAndLabels) {
  EXPECT_TRUE(all.consistent());
  EXPECT_FALSE((dataset{pixels, labels, 3, 2}.consistent()));
  EXPECT_FALSE((dataset{pixels, labels, 2, 1}.consistent()));
  constexpr std::array<std::uint8_t, 4> beyond{0, 1, 2, 0};
  EXPECT_FALSE((dataset{pixels, beyond, 2, 2}.consistent()));
}

}  // namespace
