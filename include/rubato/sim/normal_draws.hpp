#ifndef RUBATO_SIM_NORMAL_DRAWS_HPP
#define RUBATO_SIM_NORMAL_DRAWS_HPP

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

#include "../rl/philox_blocks.hpp"

namespace rubato::inline RUBATO_ABI::sim {

/// A standard normal deviate for each step of each worker: that of random_sequence{seed, stream, step}.normal(), drawn
/// for many steps of a worker at a time. Logarithms need not wait for each other then, and cosines are taken in the
/// order of their arguments: the C library branches on where an argument lies, which nobody could foretell. What is
/// drawn stays until a later step takes its place, so runs of one seed that share an object need not draw again.
///
/// Cost    where a worker's steps come in a row, less than a draw of its own; where they are still there, a look-up.
///         Up to 1,024 workers 520 bytes for each and for each 64 steps that are kept, else 72 and 8. Not thread-safe.
/// Tests   tests/sim/normal_draws_test.cpp: AreThoseOfTheSequence, AreThoseOfTheSequenceHoweverManyAreKept,
///         RestartForOtherWorkers, WhatIsKeptIsNotDrawnAgain
class normal_draws {
 public:
  /// Has places for so many steps of each worker or more, and for 64 or 8 at least; for fewer where all workers would
  /// need more than a million together. A block of steps takes the places of an earlier one at once.
  explicit normal_draws(std::uint32_t steps = 0) noexcept : steps_{steps} {}
  /// Streams first_stream to first_stream + workers - 1 of this seed; keeps the fewest steps.
  normal_draws(std::uint64_t seed, std::uint64_t first_stream, std::uint32_t workers) {
    restart(seed, first_stream, workers);
  }

  /// From now on draws from these streams. Nothing happens, and nothing is forgotten, if it does already. Allocates
  /// where more places than ever before are needed.
  void restart(std::uint64_t seed, std::uint64_t first_stream, std::uint32_t workers) {
    if (seed == seed_ && first_stream == first_stream_ && workers == workers_) return;
    constexpr std::uint64_t most_kept = 1 << 20;
    workers_ = 0;  // until there is room, whose allocation may throw
    seed_ = seed;
    first_stream_ = first_stream;
    bits_ = workers <= 1'024 ? 6 : 3;
    kept_bits_ = 0;
    while ((std::uint64_t{1} << (bits_ + kept_bits_)) < steps_ &&
           (std::uint64_t{workers} << (bits_ + kept_bits_ + 1)) <= most_kept)
      ++kept_bits_;
    drawn_.assign(std::size_t{workers} << kept_bits_, none);
    values_.resize(std::size_t{workers} << (kept_bits_ + bits_));
    workers_ = workers;
  }

  /// The deviate of a worker's step. Precondition: worker < workers.
  [[nodiscard]] double operator()(std::uint32_t worker, std::uint64_t step) noexcept {
    RUBATO_ASSERT(worker < workers_, "normal_draws: no stream for this worker");
    const std::uint64_t block = step >> bits_;
    const std::uint64_t kept = block & ((std::uint64_t{1} << kept_bits_) - 1);
    const std::size_t place = (std::size_t{worker} << kept_bits_) + static_cast<std::size_t>(kept);
    if (drawn_[place] != block) [[unlikely]]
      draw(worker, block, place);
    return values_.data()[(place << bits_) + (step - (block << bits_))];
  }

 private:
  static constexpr std::size_t most = 64;   // steps
  static constexpr std::size_t parts = 16;  // of the circle
  static constexpr std::uint64_t none = (std::numeric_limits<std::uint64_t>::max)();

  [[gnu::noinline]] void draw(std::uint32_t worker, std::uint64_t block, std::size_t place) noexcept {
    const auto uniform = [](std::uint32_t high, std::uint32_t low) {
      return static_cast<double>(static_cast<std::int64_t>(((std::uint64_t{high} << 32) | low) >> 11)) * 0x1p-53;
    };
    constexpr std::size_t some = 4;  // as many as the registers hold
    const std::size_t steps = std::size_t{1} << bits_;
    std::array<double, most> radius, turn;
    std::array<std::uint8_t, most> part, order;
    std::array<std::uint8_t, parts + 1> first{};
    for (std::size_t i = 0; i < steps; i += some) {
      const auto words = rl::philox_blocks<some>(seed_, first_stream_ + worker, (block << bits_) + i);
      for (std::size_t j = 0; j < some; ++j) {
        radius[i + j] = std::sqrt(-2.0 * std::log(1.0 - uniform(words[j][1], words[j][0])));
        turn[i + j] = uniform(words[j][3], words[j][2]);
        part[i + j] = static_cast<std::uint8_t>(words[j][3] / (0x1'0000'0000 / parts));
        ++first[part[i + j] + 1U];
      }
    }
    for (std::size_t p = 1; p < parts; ++p) first[p] = static_cast<std::uint8_t>(first[p] + first[p - 1]);
    for (std::size_t i = 0; i < steps; ++i) order[first[part[i]]++] = static_cast<std::uint8_t>(i);
    double* const values = values_.data() + (place << bits_);
    for (std::size_t i = 0; i < steps; ++i) {
      const std::size_t at = order[i];
      values[at] = radius[at] * std::cos(2.0 * std::numbers::pi * turn[at]);
    }
    drawn_[place] = block;
  }

  std::uint32_t steps_ = 0;
  std::uint64_t seed_ = 0;
  std::uint64_t first_stream_ = 0;
  std::uint32_t workers_ = 0;
  std::uint32_t bits_ = 6;            // of the number of steps that are drawn at a time, a block
  std::uint32_t kept_bits_ = 0;       // of the number of blocks that a worker has places for
  std::vector<std::uint64_t> drawn_;  // which block is in each place
  std::vector<double> values_;        // of a worker side by side
};

}  // namespace rubato::inline RUBATO_ABI::sim

#endif
