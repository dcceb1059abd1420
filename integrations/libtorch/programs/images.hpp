#ifndef RUBATO_LIBTORCH_PROGRAMS_IMAGES_HPP
#define RUBATO_LIBTORCH_PROGRAMS_IMAGES_HPP

#include <torch/types.h>

#include <cstdint>
#include <rubato/core/rng.hpp>
#include <string>
#include <utility>
#include <vector>

#include "support/image_files.hpp"
#include "support/user_error.hpp"

/// The images of a training set as tensors; the last sixth is kept for judging.
class images {
 public:
  struct batch {
    torch::Tensor
        pixels;  ///< samples × channels × height × width, with mean 0 and deviation 1 over the training images
    torch::Tensor labels;  ///< samples
  };

  /// Throws  user_error, as read_image_set() does, and for images that are neither MNIST's nor CIFAR-10's.
  explicit images(const std::string& folder) : set_{rubato::support::read_image_set(folder)} {
    const bool grey = set_.inputs == 28 * 28;
    if (!grey && set_.inputs != 3 * 32 * 32)
      throw rubato::support::user_error{folder + ": images of " + std::to_string(set_.inputs) +
                                        " bytes, expected 784 (MNIST) or 3072 (CIFAR-10)"};
    const auto count = static_cast<std::int64_t>(set_.samples());
    const std::int64_t channels = grey ? 1 : 3, side = grey ? 28 : 32;
    pixels_ = torch::from_blob(set_.pixels.data(), {count, channels, side, side}, torch::kUInt8);
    labels_ = torch::from_blob(set_.labels.data(), {count}, torch::kUInt8).to(torch::kInt64);
    const torch::Tensor seen = pixels_.narrow(0, 0, training()).to(torch::kFloat32);
    mean_ = seen.mean({0, 2, 3}, true);
    deviation_ = seen.std({0, 2, 3}, true, true);
  }
  images(const images&) = delete;
  images& operator=(const images&) = delete;

  [[nodiscard]] std::int64_t training() const { return static_cast<std::int64_t>(set_.training_samples()); }
  [[nodiscard]] std::int64_t judged() const { return static_cast<std::int64_t>(set_.samples()) - training(); }
  [[nodiscard]] bool grey() const { return pixels_.size(1) == 1; }
  [[nodiscard]] const std::string& description() const { return set_.description; }

  /// Of the n-th step of a worker, drawn by these numbers alone. Colour images are mirrored every second time.
  [[nodiscard]] batch draw(std::uint64_t seed, std::uint32_t worker, std::uint64_t step, std::uint32_t samples) const {
    rubato::random_sequence random{seed, worker, step << 20};
    std::vector<std::int64_t> drawn(samples);
    for (std::int64_t& each : drawn)
      each = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(training())));
    const torch::Tensor at = torch::tensor(drawn);
    torch::Tensor pixels = prepared(pixels_.index_select(0, at));
    if (!grey()) {
      std::vector<std::uint8_t> mirrored(samples);
      for (std::uint8_t& each : mirrored) each = random() % 2 == 0;
      const torch::Tensor which = torch::tensor(mirrored).to(torch::kBool).view({-1, 1, 1, 1});
      pixels = torch::where(which, pixels.flip(3), pixels);
    }
    return {pixels, labels_.index_select(0, at)};
  }
  /// Some of those that nobody trains on.
  [[nodiscard]] batch held_out(std::int64_t from, std::int64_t count) const {
    return {prepared(pixels_.narrow(0, training() + from, count)), labels_.narrow(0, training() + from, count)};
  }

 private:
  [[nodiscard]] torch::Tensor prepared(const torch::Tensor& bytes) const {
    return (bytes.to(torch::kFloat32) - mean_) / deviation_;
  }

  rubato::support::image_set set_;
  torch::Tensor pixels_, labels_, mean_, deviation_;
};

#endif
