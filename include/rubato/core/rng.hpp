#ifndef RUBATO_CORE_RNG_HPP
#define RUBATO_CORE_RNG_HPP

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "../config.hpp"

namespace rubato::inline RUBATO_ABI {

/// Four random words that depend on nothing but (seed, stream, index): the Philox4x32-10 block function.
///
/// Two calls with the same arguments agree on every machine and in every thread; no state is kept.
/// Cost    ten rounds of two multiplications. No allocation. Thread-safe.
/// Tests   tests/core/rng_test.cpp: KnownAnswers
/// Source  Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011, §3.3
[[nodiscard]] constexpr std::array<std::uint32_t, 4> philox(std::uint64_t seed, std::uint64_t stream,
                                                            std::uint64_t index) noexcept {
  std::array<std::uint32_t, 4> word{static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                                    static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)};
  auto key_low = static_cast<std::uint32_t>(seed);
  auto key_high = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * word[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * word[2];
    word = {static_cast<std::uint32_t>(b >> 32) ^ word[1] ^ key_low, static_cast<std::uint32_t>(b),
            static_cast<std::uint32_t>(a >> 32) ^ word[3] ^ key_high, static_cast<std::uint32_t>(a)};
    key_low += 0x9E3779B9;
    key_high += 0xBB67AE85;
  }
  return word;
}

/// A random sequence addressed by (seed, stream) and a position: a UniformRandomBitGenerator over philox().
///
/// Independent purposes take different streams (say one per worker), so that drawing more in one never shifts another.
/// Draws    uniform() in [0, 1), below(n) in [0, n), normal() with mean 0 and deviation 1; O(1), no allocation.
/// Thread   one object per thread; copies continue independently from the same position.
/// Tests    tests/core/rng_test.cpp: SequenceIsPhiloxInOrder, GoesOnAtTheNextBlock, UniformMoments,
///          BelowIsUnbiased, NormalMoments
class random_sequence {
 public:
  using result_type = std::uint64_t;  ///< of a draw: 64 random bits
  constexpr explicit random_sequence(std::uint64_t seed, std::uint64_t stream = 0, std::uint64_t index = 0) noexcept
      : seed_{seed}, stream_{stream}, index_{index} {}  ///< begins with the block `index`

  [[nodiscard]] static constexpr result_type (min)() noexcept { return 0; }  ///< of a draw
  /// Of a draw.
  [[nodiscard]] static constexpr result_type (max)() noexcept { return (std::numeric_limits<result_type>::max)(); }

  /// One philox() makes two draws. The arguments of the next: random_sequence{seed, stream, index} goes on from there.
  /// The next draw is its first if this begins_block(), else the second of the one before.
  struct block { std::uint64_t seed /**< key */, stream /**< purpose */, index /**< place in the stream */; };
  [[nodiscard]] constexpr block next_block() const noexcept { return {seed_, stream_, index_}; }  ///< not used yet
  [[nodiscard]] constexpr bool begins_block() const noexcept { return !spare_ready_; }            ///< see block

  /// The next 64 bits.
  constexpr result_type operator()() noexcept {
    spare_ready_ = !spare_ready_;
    if (!spare_ready_) return spare_;
    const auto word = philox(seed_, stream_, index_++);
    spare_ = (std::uint64_t{word[3]} << 32) | word[2];
    return (std::uint64_t{word[1]} << 32) | word[0];
  }

  /// Uniform in [0, 1), 53 random bits.
  [[nodiscard]] constexpr double uniform() noexcept { return static_cast<double>((*this)() >> 11) * 0x1p-53; }

  /// Uniform in {0, ..., n - 1}; 0 for n = 0. Unbiased (rejection; under two draws on average).
  [[nodiscard]] constexpr std::uint64_t below(std::uint64_t n) noexcept {
    if (n == 0) return 0;
    std::uint64_t bits = (*this)();
    if (bits > (max)() - n) [[unlikely]] {
      const std::uint64_t excess = (0 - n) % n;  // how many of the 2^64 values would favour small results: below n
      while (bits > (max)() - excess) bits = (*this)();
    }
    return bits % n;
  }

  /// Normal with mean 0 and standard deviation 1 (Box and Muller 1958); two draws.
  [[nodiscard]] double normal() noexcept {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
  std::uint64_t index_;
  std::uint64_t spare_ = 0;
  bool spare_ready_ = false;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
