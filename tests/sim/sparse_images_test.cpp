#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include <rubato/sim/kernels/kernels.hpp>
#include <rubato/sim/sparse_images.hpp>

#include "reference_mlp.hpp"

namespace {

using namespace rubato::sim;
using rubato_test::synthetic_images;

TEST(sparse_images, HoldsExactlyTheNonZeroPixels) {
  const synthetic_images images{50};
  const sparse_images sparse{images.view()};
  ASSERT_EQ(sparse.samples(), 50U);
  for (std::uint32_t sample = 0; sample < 50; ++sample) {
    std::vector<std::uint8_t> dense(images.inputs);
    std::uint32_t sum = 0;
    for (std::uint32_t j = 0; j < sparse.nonzero(sample); ++j) {
      dense[sparse.index(sample)[j]] = sparse.value(sample)[j];
      sum += sparse.value(sample)[j];
    }
    const auto image = images.view().image(sample);
    EXPECT_TRUE(std::equal(image.begin(), image.end(), dense.begin()));
    EXPECT_EQ(sparse.pixel_sum(sample), sum);
    EXPECT_EQ(sparse.label(sample), images.labels[sample]);
  }
}

TEST(sparse_images, MomentsAreThoseOfAllPixels) {
  const std::vector<std::uint8_t> pixels{0, 0, 10, 30};
  const std::vector<std::uint8_t> labels{0, 1};
  const sparse_images sparse{{pixels, labels, 2, 2}};
  EXPECT_DOUBLE_EQ(sparse.mean(), 10);
  EXPECT_DOUBLE_EQ(sparse.deviation(), std::sqrt(150.0));
}

TEST(sparse_rows, TransposeSwapsRowsAndColumns) {
  const synthetic_images images{20};
  const sparse_images sparse{images.view()};
  sparse_rows rows;
  for (std::uint32_t sample = 0; sample < 20; ++sample) rows.append(sparse, sample, 2, kernels::portable::set);
  sparse_rows columns;
  columns.transpose_of(rows, images.inputs);
  ASSERT_EQ(columns.rows(), images.inputs);
  ASSERT_EQ(columns.entries(), rows.entries());
  for (std::size_t pixel = 0; pixel < images.inputs; ++pixel)
    for (std::size_t j = columns.begin[pixel]; j < columns.begin[pixel + 1]; ++j) {
      EXPECT_EQ(columns.value[j], 2.0F * static_cast<float>(images.view().image(columns.index[j])[pixel]));
      if (j > columns.begin[pixel]) {
        EXPECT_LT(columns.index[j - 1], columns.index[j]);
      }
    }
}

}  // namespace
