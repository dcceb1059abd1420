#ifndef RUBATO_CUDA_SIMULATED_DRAWS_CUH
#define RUBATO_CUDA_SIMULATED_DRAWS_CUH

#include <cmath>
#include <cstdint>
#include <numbers>

#include "../pinned.hpp"
#include "shared_body.cuh"

// The simulator's numbers on host and device: its random ones, which are those of core/rng.hpp, and sums of products in
// double, rounded as on the host.
namespace rubato::inline RUBATO_ABI::cuda::detail {

// exact_arithmetic, in double.
struct exact_double {
  // a * b, which no sum that follows takes into it.
  [[nodiscard]] RUBATO_DETAIL_SHARED static double product(double a, double b) noexcept {
#if RUBATO_DETAIL_DEVICE
    return __dmul_rn(a, b);
#else
    return a * b;
#endif
  }
  // sum + a * b, rounded twice.
  [[nodiscard]] RUBATO_DETAIL_SHARED static double plus_product(double sum, double a, double b) noexcept {
#if RUBATO_DETAIL_DEVICE
    return __dadd_rn(sum, __dmul_rn(a, b));
#else
    return pinned::plus_product(sum, a, b);
#endif
  }
};

template <class T>
[[nodiscard]] RUBATO_DETAIL_SHARED bool is_finite(T x) noexcept {
#if RUBATO_DETAIL_DEVICE
  return isfinite(x);
#else
  return pinned::is_finite(x);
#endif
}

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
