#ifndef RUBATO_SIM_NORMAL_DRAWS_HPP
#define RUBATO_SIM_NORMAL_DRAWS_HPP

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

#include "philox_blocks.hpp"

namespace rubato::inline RUBATO_ABI::sim {

/// A standard normal deviate for each step of each worker: that of random_sequence{seed, stream, step}.normal(), drawn
/// for eight steps of a worker at a time, whose logarithms and cosines then need not wait for each other.
///
/// Cost    where a worker's steps come in a row, a third of a draw of its own. 72 bytes per worker, allocated by the
///         constructor. Not thread-safe.
/// Tests   tests/sim/normal_draws_test.cpp: AreThoseOfTheSequence
class normal_draws {
 public:
  /// Streams first_stream to first_stream + workers - 1 of this seed.
  normal_draws(std::uint64_t seed, std::uint64_t first_stream, std::uint32_t workers)
      : seed_{seed}, first_stream_{first_stream}, drawn_(workers, none), values_(workers) {}

  [[nodiscard]] double operator()(std::uint32_t worker, std::uint64_t step) noexcept {
    if (drawn_[worker] != step / ahead) [[unlikely]]
      draw(worker, step / ahead);
    return values_[worker][step % ahead];
  }

 private:
  static constexpr std::size_t ahead = 8;  // steps: their deviates fill a cache line
  static constexpr std::uint64_t none = (std::numeric_limits<std::uint64_t>::max)();

  void draw(std::uint32_t worker, std::uint64_t block) noexcept {
    const auto uniform = [](std::uint32_t high, std::uint32_t low) {
      return static_cast<double>(static_cast<std::int64_t>(((std::uint64_t{high} << 32) | low) >> 11)) * 0x1p-53;
    };
    constexpr std::size_t half = ahead / 2;  // as many blocks as the registers hold
    for (std::size_t first = 0; first < ahead; first += half) {
      const auto words = philox_blocks<half>(seed_, first_stream_ + worker, block * ahead + first);
      for (std::size_t i = 0; i < half; ++i) {
        const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform(words[i][1], words[i][0])));
        values_[worker][first + i] = radius * std::cos(2.0 * std::numbers::pi * uniform(words[i][3], words[i][2]));
      }
    }
    drawn_[worker] = block;
  }

  std::uint64_t seed_;
  std::uint64_t first_stream_;
  std::vector<std::uint64_t> drawn_;  // which eight steps
  std::vector<std::array<double, ahead>> values_;
};

}  // namespace rubato::inline RUBATO_ABI::sim

#endif
