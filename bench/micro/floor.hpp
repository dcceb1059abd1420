// What this processor can do at most, by a loop that does nothing else: multiply-adds whose one operand comes from the
// first-level cache, twelve sums side by side. No network of so many weights can be quicker.
#ifndef RUBATO_BENCH_MICRO_FLOOR_HPP
#define RUBATO_BENCH_MICRO_FLOOR_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace rubato::bench {

inline constexpr std::size_t floor_weights = 4'704;  // of the network 40-64-32-3; 19 KB
inline constexpr std::size_t chains = 12;

// A page that was never written is the one page of zeros, whose reads are slower.
inline const float* floor_memory() {
  alignas(64) static std::array<float, floor_weights> memory = [] {
    std::array<float, floor_weights> filled;
    filled.fill(1e-3F);
    return filled;
  }();
  return memory.data();
}

#if defined(__x86_64__)
template <std::size_t Lanes>
struct floor_pack {
  typedef float type __attribute__((vector_size(4 * Lanes)));
};

// One multiply-add for each pack of `weights` weights, at most floor_weights.
#define RUBATO_BENCH_FLOOR(name, lanes, attributes, multiply_add)                                      \
  __attribute__((attributes, noinline)) inline float name(const float* memory, std::size_t weights) { \
    using pack = floor_pack<lanes>::type;                                                              \
    pack sum[chains] = {}, factor = pack{} + 0.5F;                                                     \
    std::size_t i = 0;                                                                                 \
    for (; i + lanes * chains <= weights; i += lanes * chains) {                                       \
      _Pragma("GCC unroll 12") for (std::size_t c = 0; c < chains; ++c) {                              \
        pack operand;                                                                                  \
        std::memcpy(&operand, memory + i + c * lanes, sizeof(operand));                                \
        sum[c] = multiply_add;                                                                         \
      }                                                                                                \
    }                                                                                                  \
    _Pragma("GCC unroll 12") for (std::size_t c = 0; c < chains; ++c) {                                \
      if (i + (c + 1) * lanes > weights) break;                                                        \
      pack operand;                                                                                    \
      std::memcpy(&operand, memory + i + c * lanes, sizeof(operand));                                  \
      sum[c] = multiply_add;                                                                           \
    }                                                                                                  \
    _Pragma("GCC unroll 12") for (std::size_t c = 1; c < chains; ++c) sum[0] += sum[c];                \
    return sum[0][0];                                                                                  \
  }
RUBATO_BENCH_FLOOR(floor_of_sse2, 4, target("sse2"), (sum[c] + operand * factor))
RUBATO_BENCH_FLOOR(floor_of_avx2, 8, target("avx2"), (sum[c] + operand * factor))
RUBATO_BENCH_FLOOR(floor_of_fma, 8, target("avx2,fma"), __builtin_ia32_vfmaddps256(operand, factor, sum[c]))
RUBATO_BENCH_FLOOR(floor_of_avx512, 16, target("avx512f"),
                   __builtin_ia32_vfmaddps512_mask(operand, factor, sum[c], static_cast<unsigned short>(-1), 4))
#undef RUBATO_BENCH_FLOOR

/// As many multiply-adds as so many weights need, with what the set of this name has.
[[nodiscard]] inline float floor_pass(std::string_view set, std::size_t weights) {
  const auto pass = set == "avx512"     ? &floor_of_avx512
                    : set == "avx2+fma" ? &floor_of_fma
                    : set == "avx2"     ? &floor_of_avx2
                                        : &floor_of_sse2;
  float sum = 0;
  for (; weights > 0; weights -= (std::min)(weights, floor_weights))
    sum += pass(floor_memory(), (std::min)(weights, floor_weights));
  return sum;
}
#endif

}  // namespace rubato::bench

#endif
