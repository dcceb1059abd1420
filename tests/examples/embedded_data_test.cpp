// examples/data/: the images that the lab runs on out of the box.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <span>

#include "../../examples/support/image_files.hpp"
#include "source_directory.hpp"

namespace {

using histogram = std::array<unsigned, 10>;

histogram count(std::span<const std::uint8_t> labels) {
  histogram counts{};
  for (const auto label : labels) ++counts[label];
  return counts;
}

const auto directory = rubato::test::source_directory / "examples/data";

TEST(EmbeddedData, HoldsTheTrainingAndValidationImagesOfItsReadme) {
  const auto set = rubato::support::read_image_set(directory);
  ASSERT_EQ(set.samples(), 12'000u);
  EXPECT_EQ(set.training_samples(), 10'000u);
  EXPECT_EQ(set.inputs, 784u);
  const std::span labels{set.labels};
  EXPECT_EQ(count(labels.first(10'000)), (histogram{1001, 1127, 991, 1032, 980, 863, 1014, 1070, 944, 978}));
  EXPECT_EQ(count(labels.subspan(10'000)), (histogram{202, 205, 187, 199, 186, 190, 203, 220, 216, 192}));
}

TEST(EmbeddedData, BeginsLikeMnist) {
  const auto set = rubato::support::read_image_set(directory);
  EXPECT_TRUE(std::ranges::equal(std::span{set.labels}.first(10), std::array{5, 0, 4, 1, 9, 2, 1, 3, 1, 4}));
  EXPECT_EQ(set.pixels[152], 3);  // row 5, column 12: the first ink of the first image
  EXPECT_EQ(set.pixels[151], 0);
}

TEST(EmbeddedData, StaysSmall) {
  std::uintmax_t size = 0;
  for (const auto* name : {"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"})
    size += std::filesystem::file_size(directory / name);
  EXPECT_LE(size, 2'500'000u);
}

}  // namespace
