#ifndef RUBATO_EXAMPLES_SUPPORT_IMAGE_FILES_HPP
#define RUBATO_EXAMPLES_SUPPORT_IMAGE_FILES_HPP

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace rubato::support {

/// Labelled images of one training set, in the order of the file.
struct image_set {
  std::vector<std::uint8_t> pixels;  ///< samples × inputs, row-major
  std::vector<std::uint8_t> labels;  ///< samples; each below `classes`
  std::uint32_t inputs = 0;          ///< bytes of one image
  std::uint32_t classes = 0;
  std::string description;  ///< one line: format, number and shape of the images

  [[nodiscard]] std::size_t samples() const noexcept { return labels.size(); }

  /// The first 5/6 of the samples are for training, the rest for validation: 50,000 and 10,000 of MNIST's training
  /// file.
  [[nodiscard]] std::size_t training_samples() const noexcept { return samples() * 5 / 6; }
};

/// Reads the training images found in `directory`: `train-images-idx3-ubyte` and `train-labels-idx1-ubyte` (the format
/// of MNIST, ten classes), or every `data_batch_N.bin` in the order of N (CIFAR-10, binary version); each plain or
/// gzip (`.gz`). Test files are never opened.
///
/// Errors  user_error with file, byte offset (in the uncompressed data), what was found and what was expected: no
///         format or both, a file both plain and compressed, wrong magic, empty or more than 2^28 elements, more than
///         65,535 pixels an image, truncated or trailing bytes, corrupt gzip or bytes behind it, label out of range,
///         different numbers of images and labels.
/// Cost    one pass over the files. Memory grows with the bytes that are there, not with what a header claims.
/// Tests   tests/examples/image_files_test.cpp
/// Source  yann.lecun.com/exdb/mnist (IDX); cs.toronto.edu/~kriz/cifar.html (binary version)
[[nodiscard]] image_set read_image_set(const std::filesystem::path& directory);

/// The files of `directory` that read_image_set would take, in any order; none where it cannot be read.
[[nodiscard]] std::vector<std::filesystem::path> image_files(const std::filesystem::path& directory);

/// Hash of shape, pixels and labels: results measured on other images must not be taken for these.
[[nodiscard]] std::uint64_t fingerprint(const image_set& images);

}  // namespace rubato::support

#endif
