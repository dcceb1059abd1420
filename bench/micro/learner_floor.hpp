// What one update of a DQN takes at least on this processor: its products as multiply-adds that wait for nothing but
// each other, Adam's divisions and roots, and the copies of what is learned from. Each is measured by a loop that does
// nothing else, in the instruction set of this name.
#ifndef RUBATO_BENCH_MICRO_LEARNER_FLOOR_HPP
#define RUBATO_BENCH_MICRO_LEARNER_FLOOR_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "floor.hpp"

namespace rubato::bench {

#if defined(__x86_64__)
// So many products in registers, twelve sums side by side; and, for so many parameters, a division and a root each.
#define RUBATO_BENCH_PASSES(set, lanes, attributes, multiply_add, constraint, root, quotient)                       \
  __attribute__((attributes, noinline)) inline float products_of_##set(std::size_t products) {                      \
    using pack = floor_pack<lanes>::type;                                                                           \
    pack sum[chains], operand = pack{} + 1e-3F, factor = pack{} + 0.5F;                                             \
    __asm__("" : "+" constraint(operand), "+" constraint(factor));                                                  \
    _Pragma("GCC unroll 12") for (std::size_t c = 0; c < chains; ++c) {                                             \
      sum[c] = pack{};                                                                                              \
      __asm__("" : "+" constraint(sum[c]));                                                                         \
    }                                                                                                               \
    for (std::size_t i = 0; i < products; i += lanes * chains) {                                                    \
      _Pragma("GCC unroll 12") for (std::size_t c = 0; c < chains; ++c) sum[c] = multiply_add;                      \
    }                                                                                                               \
    _Pragma("GCC unroll 12") for (std::size_t c = 1; c < chains; ++c) sum[0] += sum[c];                             \
    return sum[0][0];                                                                                               \
  }                                                                                                                 \
  __attribute__((attributes, noinline)) inline void roots_of_##set(std::size_t parameters) {                        \
    using pack = floor_pack<lanes>::type;                                                                           \
    pack x = pack{} + 1.7F;                                                                                         \
    __asm__("" : "+" constraint(x));                                                                                \
    for (std::size_t i = 0; i < parameters; i += lanes) {                                                           \
      pack made = x, divided = x;                                                                                   \
      __asm__ volatile(root "\n\t" quotient : "=&" constraint(made), "+&" constraint(divided) : constraint(x));     \
    }                                                                                                               \
  }
RUBATO_BENCH_PASSES(sse2, 4, target("sse2"), (sum[c] + operand * factor), "x", "sqrtps %2, %0", "divps %2, %1")
RUBATO_BENCH_PASSES(avx2, 8, target("avx2"), (sum[c] + operand * factor), "x", "vsqrtps %2, %0", "vdivps %2, %1, %1")
RUBATO_BENCH_PASSES(fma, 8, target("avx2,fma"), __builtin_ia32_vfmaddps256(operand, factor, sum[c]), "x",
                    "vsqrtps %2, %0", "vdivps %2, %1, %1")
RUBATO_BENCH_PASSES(avx512, 16, target("avx512f"),
                    __builtin_ia32_vfmaddps512_mask(operand, factor, sum[c], static_cast<unsigned short>(-1), 4), "v",
                    "vsqrtps %2, %0", "vdivps %2, %1, %1")
#undef RUBATO_BENCH_PASSES

inline float product_pass(std::string_view set, std::size_t products) {
  if (set == "avx512") return products_of_avx512(products);
  if (set == "avx2+fma") return products_of_fma(products);
  return set == "avx2" ? products_of_avx2(products) : products_of_sse2(products);
}
inline void root_pass(std::string_view set, std::size_t parameters) {
  if (set == "avx512") return roots_of_avx512(parameters);
  if (set == "avx2+fma") return roots_of_fma(parameters);
  return set == "avx2" ? roots_of_avx2(parameters) : roots_of_sse2(parameters);
}
#endif

/// Copies 32 transitions of 384 bytes from random places among so many.
class gather_floor {
 public:
  explicit gather_floor(std::size_t transitions)
      : count_{transitions}, from_(transitions * words, 1.0F), to_(32 * words) {}

  void operator()() {
    for (std::size_t row = 0; row < 32; ++row) {
      state_ = state_ * 6364136223846793005U + 1442695040888963407U;
      const std::size_t at = static_cast<std::size_t>(((state_ >> 32) * count_) >> 32);
      std::memcpy(to_.data() + row * words, from_.data() + at * words, words * sizeof(float));
    }
    __asm__ volatile("" : : "r"(to_.data()) : "memory");
  }

 private:
  static constexpr std::size_t words = 96;
  std::size_t count_;
  std::vector<float> from_, to_;
  std::uint64_t state_ = 1;
};

}  // namespace rubato::bench

#endif
