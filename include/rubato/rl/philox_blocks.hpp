#ifndef RUBATO_RL_PHILOX_BLOCKS_HPP
#define RUBATO_RL_PHILOX_BLOCKS_HPP

#include <array>
#include <cstddef>
#include <cstdint>

#include "../core/rng.hpp"
#include "../pinned.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

RUBATO_DETAIL_GNU_BEGIN
namespace rubato::inline RUBATO_ABI::rl {

/// philox() of `Count` indices in a row, Count even: two at a time in a vector where the architecture has them always.
///
/// Cost    x86-64: ten rounds of two multiplications for every two. No allocation. Thread-safe.
/// Tests   tests/rl/philox_blocks_test.cpp: AreThoseOfPhilox
template <std::size_t Count>
[[nodiscard]] inline std::array<std::array<std::uint32_t, 4>, Count> philox_blocks(std::uint64_t seed,
                                                                                   std::uint64_t stream,
                                                                                   std::uint64_t first) noexcept {
  static_assert(Count % 2 == 0);
  std::array<std::array<std::uint32_t, 4>, Count> block;
#if defined(__x86_64__)
  // A word in the lower half of each lane; what the upper half holds does not matter to any step.
  constexpr std::size_t pairs = Count / 2;
  __m128i word[4][pairs];
  for (std::size_t p = 0; p < pairs; ++p) {
    const auto index = static_cast<long long>(first + 2 * p), next = static_cast<long long>(first + 2 * p + 1);
    word[0][p] = _mm_set_epi64x(next, index);
    word[1][p] = _mm_srli_epi64(word[0][p], 32);
    word[2][p] = _mm_set1_epi64x(static_cast<long long>(stream));
    word[3][p] = _mm_srli_epi64(word[2][p], 32);
  }
  __m128i low = _mm_set1_epi64x(static_cast<long long>(seed & 0xFFFF'FFFF));
  __m128i high = _mm_set1_epi64x(static_cast<long long>(seed >> 32));
  for (int round = 0; round < 10; ++round) {
#pragma GCC unroll 8
    for (std::size_t p = 0; p < pairs; ++p) {
      const __m128i a = _mm_mul_epu32(word[0][p], _mm_set1_epi64x(0xD2511F53));
      const __m128i b = _mm_mul_epu32(word[2][p], _mm_set1_epi64x(0xCD9E8D57));
      word[0][p] = _mm_xor_si128(_mm_xor_si128(_mm_srli_epi64(b, 32), word[1][p]), low);
      word[2][p] = _mm_xor_si128(_mm_xor_si128(_mm_srli_epi64(a, 32), word[3][p]), high);
      word[1][p] = b;
      word[3][p] = a;
    }
    low = _mm_add_epi32(low, _mm_set1_epi64x(0x9E3779B9));
    high = _mm_add_epi32(high, _mm_set1_epi64x(0xBB67AE85));
  }
  for (std::size_t p = 0; p < pairs; ++p) {
    const __m128i first_two = _mm_unpacklo_epi32(word[0][p], word[1][p]);   // of the lower lane
    const __m128i last_two = _mm_unpacklo_epi32(word[2][p], word[3][p]);
    const __m128i next_first = _mm_unpackhi_epi32(word[0][p], word[1][p]);  // of the upper one
    const __m128i next_last = _mm_unpackhi_epi32(word[2][p], word[3][p]);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(block[2 * p].data()), _mm_unpacklo_epi64(first_two, last_two));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(block[2 * p + 1].data()), _mm_unpacklo_epi64(next_first, next_last));
  }
#else
  for (std::size_t i = 0; i < Count; ++i) block[i] = philox(seed, stream, first + i);
#endif
  return block;
}

}  // namespace rubato::inline RUBATO_ABI::rl
RUBATO_DETAIL_GNU_END

#endif
