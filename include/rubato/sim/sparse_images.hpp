#ifndef RUBATO_SIM_SPARSE_IMAGES_HPP
#define RUBATO_SIM_SPARSE_IMAGES_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../config.hpp"
#include "dataset.hpp"
#include "kernels/kernel_set.hpp"

namespace rubato::inline RUBATO_ABI::sim {

/// The non-zero pixels of a dataset, row by row.
///
/// Cost    construction one pass over the pixels, 3 bytes per non-zero pixel
/// Thread  read-only once made: share one among any number of objectives
/// Tests   tests/sim/sparse_images_test.cpp
class sparse_images {
 public:
  /// Precondition: from.consistent(). The dataset is not kept.
  explicit sparse_images(const dataset& from) : inputs_{from.inputs}, classes_{from.classes} {
    RUBATO_ASSERT(from.consistent(), "sparse_images: shapes or labels of the dataset do not agree");
    images_.reserve(from.samples());
    for (std::size_t sample = 0; sample < from.samples(); ++sample) {
      const auto pixels = from.image(sample);
      image next{.begin = value_.size(), .label = from.labels[sample]};
      for (std::size_t i = 0; i < pixels.size(); ++i) {
        if (pixels[i] == 0) continue;
        index_.push_back(static_cast<std::uint16_t>(i));
        value_.push_back(pixels[i]);
        next.sum += pixels[i];
        squares_ += std::uint64_t{pixels[i]} * pixels[i];
      }
      next.count = static_cast<std::uint16_t>(value_.size() - next.begin);
      total_ += next.sum;
      images_.push_back(next);
    }
  }

  [[nodiscard]] std::uint32_t inputs() const noexcept { return inputs_; }    ///< pixels of an image
  [[nodiscard]] std::uint32_t classes() const noexcept { return classes_; }  ///< labels are below this
  /// Images. Precondition of all that takes one: sample < samples().
  [[nodiscard]] std::uint32_t samples() const noexcept { return static_cast<std::uint32_t>(images_.size()); }

  /// Pixels of an image that are not 0: as many as index() and value() point to.
  [[nodiscard]] std::uint32_t nonzero(std::uint32_t sample) const noexcept { return images_[sample].count; }
  /// Where in the image they are, ascending.
  [[nodiscard]] const std::uint16_t* index(std::uint32_t sample) const noexcept {
    return index_.data() + images_[sample].begin;
  }
  /// What they are, 1 to 255.
  [[nodiscard]] const std::uint8_t* value(std::uint32_t sample) const noexcept {
    return value_.data() + images_[sample].begin;
  }
  /// Class of an image.
  [[nodiscard]] std::uint8_t label(std::uint32_t sample) const noexcept { return images_[sample].label; }
  /// Sum of an image's pixels.
  [[nodiscard]] std::uint32_t pixel_sum(std::uint32_t sample) const noexcept { return images_[sample].sum; }

  /// Asks memory for what append() will read, in two stages, so that a batch of random images does not wait for each
  /// in turn: here for where its pixels are.
  void prefetch_position(std::uint32_t sample) const noexcept { __builtin_prefetch(&images_[sample]); }
  /// The second stage: for the pixels. Waits for what the first one has asked for.
  void prefetch_pixels(std::uint32_t sample) const noexcept {
    for (std::uint32_t i = 0; i < nonzero(sample); i += 32) __builtin_prefetch(index(sample) + i);
    for (std::uint32_t i = 0; i < nonzero(sample); i += 64) __builtin_prefetch(value(sample) + i);
  }

  /// Mean of all pixels, 0 to 255.
  [[nodiscard]] double mean() const noexcept { return static_cast<double>(total_) / pixels(); }

  /// Standard deviation of all pixels, 0 to 255.
  [[nodiscard]] double deviation() const noexcept {
    return std::sqrt((std::max)(0.0, static_cast<double>(squares_) / pixels() - mean() * mean()));
  }

 private:
  struct image {
    std::size_t begin = 0;
    std::uint32_t sum = 0;
    std::uint16_t count = 0;  // non-zero pixels
    std::uint8_t label = 0;
  };

  [[nodiscard]] double pixels() const noexcept {
    return (std::max)(1.0, static_cast<double>(images_.size()) * static_cast<double>(inputs_));
  }

  std::uint32_t inputs_;
  std::uint32_t classes_;
  std::vector<image> images_;
  std::vector<std::uint16_t> index_;
  std::vector<std::uint8_t> value_;
  std::uint64_t total_ = 0;
  std::uint64_t squares_ = 0;
};

/// A sparse matrix under construction: the non-zero inputs of a batch, or their transpose.
///
/// index and value only ever grow, and hold entries() numbers that count: a warm matrix neither allocates nor clears.
/// Tests   tests/sim/sparse_images_test.cpp: TransposeSwapsRowsAndColumns
struct sparse_rows {
  std::vector<std::uint32_t> begin{0};  ///< row r is the entries [begin[r], begin[r + 1])
  std::vector<std::uint16_t> index;     ///< column of each entry
  std::vector<float> value;             ///< what is there

  /// As many as append() has added since clear().
  [[nodiscard]] std::uint32_t rows() const noexcept { return static_cast<std::uint32_t>(begin.size() - 1); }
  [[nodiscard]] std::uint32_t entries() const noexcept { return begin.back(); }  ///< of all rows
  /// The rows from `first` on, until the matrix changes.
  [[nodiscard]] kernels::sparse_view view(std::size_t first = 0) const noexcept {
    return {begin.data() + first, index.data(), value.data()};
  }

  void clear() { begin.resize(1); }  ///< no rows; the storage stays

  /// One more row: the pixels of a sample times `scale`.
  void append(const sparse_images& images, std::uint32_t sample, float scale, const kernels::kernel_set& kernel) {
    const std::uint32_t count = images.nonzero(sample);
    const std::uint32_t old = entries();
    make_room(old + count);
    std::copy_n(images.index(sample), count, index.data() + old);
    kernel.widen(images.value(sample), count, scale, value.data() + old);
    begin.push_back(old + count);
  }

  /// Becomes the transpose of `other`, which has `columns` columns and at most 65,535 rows.
  void transpose_of(const sparse_rows& other, std::size_t columns) {
    begin.assign(columns + 1, 0);
    make_room(other.entries());

    // Counting sort: begin[c] is first the size of column c, then its end, and at last, counted down, its start.
    for (std::uint32_t j = 0; j < other.entries(); ++j) ++begin[other.index[j]];
    std::uint32_t sum = 0;
    for (std::uint32_t& count : begin) count = sum += count;
    for (std::uint32_t row = other.rows(); row > 0;) {
      --row;
      for (std::uint32_t j = other.begin[row]; j < other.begin[row + 1]; ++j) {
        const std::uint32_t place = --begin[other.index[j]];
        index[place] = static_cast<std::uint16_t>(row);
        value[place] = other.value[j];
      }
    }
  }

 private:
  void make_room(std::size_t count) {
    if (count <= index.size()) return;
    index.resize(count);
    value.resize(count);
  }
};

}  // namespace rubato::inline RUBATO_ABI::sim

#endif
