#ifndef RUBATO_CORE_SPEED_CLASSES_HPP
#define RUBATO_CORE_SPEED_CLASSES_HPP

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "../config.hpp"

namespace rubato::inline RUBATO_ABI {

/// How many workers have which speed: a histogram of step times in quarter octaves, from 2^-32 to 2^32 time units.
///
/// The class of a step time is its exponent and two bits of its mantissa, so that finding it takes a shift.
/// Cost    add, remove: O(1). rank, median: O(1), at most 32 additions. No allocation. Not thread-safe.
/// Tests   tests/core/speed_classes_test.cpp: RankCountsTheFaster, ClassesAreOrdered, MedianIsAMiddleClass
class speed_classes {
 public:
  static constexpr std::uint32_t count = 256;  ///< of classes

  /// The class of a step time; 0 for the fastest (and for what is not positive), 255 for the slowest (and for NaN).
  [[nodiscard]] static constexpr std::uint32_t class_of(float step_time) noexcept {
    if (step_time <= 0.0F) return 0;
    const std::uint32_t quarter_octave = (std::bit_cast<std::uint32_t>(step_time) & 0x7FFFFFFF) >> 21;
    constexpr std::uint32_t first = (127 - 32) * 4;
    return quarter_octave <= first ? 0 : (std::min)(quarter_octave - first, count - 1);
  }
  /// The smallest step time of a class.
  [[nodiscard]] static constexpr float lower_edge(std::uint32_t speed) noexcept {
    return std::bit_cast<float>((speed + (127 - 32) * 4) << 21);
  }

  /// One worker more in this class.
  constexpr void add(std::uint32_t speed) noexcept { ++fine_[speed], ++coarse_[speed / width], ++size_; }
  /// One worker less. Precondition: there is one.
  constexpr void remove(std::uint32_t speed) noexcept { --fine_[speed], --coarse_[speed / width], --size_; }

  constexpr void move(std::uint32_t from, std::uint32_t to) noexcept {
    --fine_[from], --coarse_[from / width];
    ++fine_[to], ++coarse_[to / width];
  }  ///< a worker changes its class: as remove() and add()

  [[nodiscard]] constexpr std::uint32_t size() const noexcept { return size_; }  ///< workers in all classes
  /// Workers in a strictly faster class.
  [[nodiscard]] constexpr std::uint32_t rank(std::uint32_t speed) const noexcept {
    std::uint32_t faster = 0;
    for (std::uint32_t block = 0; block < speed / width; ++block) faster += coarse_[block];
    for (std::uint32_t s = speed / width * width; s < speed; ++s) faster += fine_[s];
    return faster;
  }

  /// The class that holds the middle worker; 0 while there is none.
  [[nodiscard]] constexpr std::uint32_t median() const noexcept {
    std::uint32_t left = size_ / 2;
    std::uint32_t block = 0;
    while (block + 1 < coarse_.size() && left >= coarse_[block]) left -= coarse_[block++];
    std::uint32_t speed = block * width;
    while (speed + 1 < (block + 1) * width && left >= fine_[speed]) left -= fine_[speed++];
    return size_ == 0 ? 0 : speed;
  }

 private:
  static constexpr std::uint32_t width = 16;
  std::array<std::uint32_t, count> fine_{};
  std::array<std::uint32_t, count / width> coarse_{};
  std::uint32_t size_ = 0;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
