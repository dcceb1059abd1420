#ifndef RUBATO_SIM_DATASET_HPP
#define RUBATO_SIM_DATASET_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "../config.hpp"

namespace rubato::inline RUBATO_ABI::sim {

/// Labelled 8-bit images, seen where they lie: a view that owns nothing.
///
/// Shape   pixels is samples x inputs, row-major; labels has one entry < classes per sample.
/// Cost    copying is free; no allocation. Thread-safe while the storage behind it is left alone.
/// Tests   tests/sim/dataset_test.cpp: SliceIsClipped, SplitKeepsOrder
struct dataset {
  std::span<const std::uint8_t> pixels;  ///< of one image after another, 0 to 255
  std::span<const std::uint8_t> labels;  ///< the class of each image
  std::uint32_t inputs = 0;              ///< pixels per image, below 65,536
  std::uint32_t classes = 0;             ///< number of labels, up to 256

  [[nodiscard]] constexpr std::size_t samples() const noexcept { return labels.size(); }  ///< images

  /// The pixels of one image. Precondition: index < samples().
  [[nodiscard]] constexpr std::span<const std::uint8_t> image(std::size_t index) const noexcept {
    return pixels.subspan(index * inputs, inputs);
  }

  /// The images [first, first + count), clipped to what there is.
  [[nodiscard]] constexpr dataset slice(std::size_t first, std::size_t count) const noexcept {
    first = (std::min)(first, samples());
    count = (std::min)(count, samples() - first);
    return {pixels.subspan(first * inputs, count * inputs), labels.subspan(first, count), inputs, classes};
  }

  /// Whether the shapes agree and every label is a class.
  [[nodiscard]] constexpr bool consistent() const noexcept {
    return inputs > 0 && inputs < 65'536 && classes > 1 && classes <= 256 && pixels.size() == samples() * inputs &&
           std::all_of(labels.begin(), labels.end(), [this](std::uint8_t label) { return label < classes; });
  }
};

/// What is learned from, and what is only looked at.
struct data_split {
  dataset training;    ///< what gradients are computed on
  dataset validation;  ///< what evaluations are made on
};

/// The first `training` images to learn from, the next `validation` to judge by; each clipped to what there is.
[[nodiscard]] constexpr data_split split(const dataset& all, std::size_t training, std::size_t validation) noexcept {
  training = (std::min)(training, all.samples());
  return {all.slice(0, training), all.slice(training, validation)};
}

}  // namespace rubato::inline RUBATO_ABI::sim

#endif
