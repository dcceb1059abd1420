#ifndef RUBATO_CUDA_DRAWS_CUH
#define RUBATO_CUDA_DRAWS_CUH

#include <cmath>
#include <cstdint>
#include <numbers>

#include "../pinned.hpp"
#include "shared_body.cuh"

// Random numbers on host and device: those of core/rng.hpp.
namespace rubato::inline RUBATO_ABI::cuda::detail {

struct random_words {
  std::uint32_t word[4];
};

// philox() of core/rng.hpp, whose std::array the device cannot call.
[[nodiscard]] RUBATO_DETAIL_SHARED inline random_words philox_words(std::uint64_t seed, std::uint64_t stream,
                                                                    std::uint64_t index) noexcept {
  random_words at{{static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                   static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)}};
  auto low = static_cast<std::uint32_t>(seed), high = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * at.word[0], b = std::uint64_t{0xCD9E8D57} * at.word[2];
    at = {{static_cast<std::uint32_t>(b >> 32) ^ at.word[1] ^ low, static_cast<std::uint32_t>(b),
           static_cast<std::uint32_t>(a >> 32) ^ at.word[3] ^ high, static_cast<std::uint32_t>(a)}};
    low += 0x9E3779B9;
    high += 0xBB67AE85;
  }
  return at;
}

[[nodiscard]] RUBATO_DETAIL_SHARED inline double uniform_of(std::uint32_t high, std::uint32_t low) noexcept {
  return static_cast<double>(static_cast<std::int64_t>(((std::uint64_t{high} << 32) | low) >> 11)) * 0x1p-53;
}
// random_sequence{seed, stream, index}.uniform()
[[nodiscard]] RUBATO_DETAIL_SHARED inline double uniform(std::uint64_t seed, std::uint64_t stream,
                                                         std::uint64_t index) noexcept {
  const random_words at = philox_words(seed, stream, index);
  return uniform_of(at.word[1], at.word[0]);
}
// random_sequence{seed, stream, index}.normal(); the device's logarithm and cosine differ from the host's in the last
// digits.
[[nodiscard]] RUBATO_DETAIL_SHARED inline double normal(std::uint64_t seed, std::uint64_t stream,
                                                        std::uint64_t index) noexcept {
  const random_words at = philox_words(seed, stream, index);
  const double u = uniform_of(at.word[1], at.word[0]), turn = uniform_of(at.word[3], at.word[2]);
#if RUBATO_DETAIL_DEVICE
  return ::sqrt(-2.0 * ::log(1.0 - u)) * ::cospi(2.0 * turn);  // of the whole circle: no reduction, no table
#else
  return __builtin_sqrt(-2.0 * __builtin_log(1.0 - u)) * __builtin_cos(2.0 * std::numbers::pi * turn);
#endif
}

}  // namespace rubato::inline RUBATO_ABI::cuda::detail

#endif
