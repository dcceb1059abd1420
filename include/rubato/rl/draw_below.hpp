#ifndef RUBATO_RL_DRAW_BELOW_HPP
#define RUBATO_RL_DRAW_BELOW_HPP

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "../core/rng.hpp"
#include "philox_blocks.hpp"

namespace rubato::inline RUBATO_ABI::rl {

namespace detail {

// The upper 64 bits of a product.
#if defined(__SIZEOF_INT128__)
[[nodiscard]] constexpr std::uint64_t upper_product(std::uint64_t a, std::uint64_t b) noexcept {
  __extension__ using twice = unsigned __int128;
  return static_cast<std::uint64_t>(twice{a} * b >> 64);
}
#else
[[nodiscard]] constexpr std::uint64_t upper_product(std::uint64_t a, std::uint64_t b) noexcept {
  constexpr std::uint64_t lower = 0xFFFFFFFF;
  const std::uint64_t low = (a & lower) * (b & lower), cross = (a >> 32) * (b & lower) + (low >> 32);
  const std::uint64_t other = (a & lower) * (b >> 32) + (cross & lower);
  return (a >> 32) * (b >> 32) + (cross >> 32) + (other >> 32);
}
#endif

}  // namespace detail

/// to[i] = random.below(n), one after another: the same numbers, after which `random` goes on from the same place. 0s
/// for n = 0. Precondition: a T holds n - 1.
///
/// Cost    x86-64: less than as many calls of below(): blocks of philox() are computed side by side, and no number is
///         divided. No allocation.
/// Tests   tests/rl/draw_below_test.cpp: AreThoseOfBelow, RefusedBitsAreDrawnAgain, RefusedWithinABlock
/// Source  the quotient: Granlund and Montgomery, "Division by invariant integers using multiplication", PLDI 1994
template <std::unsigned_integral T>
void draw_below(random_sequence& random, std::uint64_t n, std::span<T> to) noexcept {
  constexpr std::size_t blocks = 4, draws = 2 * blocks;
  constexpr std::uint64_t most = (std::numeric_limits<std::uint64_t>::max)();
  const auto one = [&] { return static_cast<T>(random.below(n)); };
  std::size_t i = 0;
  if (n > 0 && to.size() > draws) {
    for (; i < to.size() && !random.begins_block(); ++i) to[i] = one();  // whose bits may be refused, and drawn again
    const std::uint64_t inverse = most / n;
    random_sequence::block at = random.next_block();
    for (; i + draws <= to.size(); i += draws) {
      const auto words = philox_blocks<blocks>(at.seed, at.stream, at.index);
      std::uint64_t largest = 0;
      for (std::size_t k = 0; k < draws; ++k) {
        const auto& word = words[k / 2];
        const std::uint64_t bits = (std::uint64_t{word[2 * (k % 2) + 1]} << 32) | word[2 * (k % 2)];
        const std::uint64_t quotient = detail::upper_product(bits, inverse);  // or one too few
        const std::uint64_t rest = bits - quotient * n;
        to[i + k] = static_cast<T>(rest < n ? rest : rest - n);
        largest = (std::max)(largest, bits);
      }
      if (largest > most - n) [[unlikely]]  // below() may draw another time
        break;
      at.index += blocks;
    }
    random = random_sequence{at.seed, at.stream, at.index};
  }
  for (; i < to.size(); ++i) to[i] = one();
}

}  // namespace rubato::inline RUBATO_ABI::rl

#endif
