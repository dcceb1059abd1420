#ifndef RUBATO_NN_KERNELS_FMA_HPP
#define RUBATO_NN_KERNELS_FMA_HPP

#include <concepts>
#include <cstddef>

#include "avx2.hpp"
#include "kernel_set.hpp"
#include "../../pinned.hpp"

#if defined(__x86_64__)

// Operations are fused where the source says so, and nowhere else. -O2 by name: of several bodies the linker keeps one.
// Clang's checks of undefined behaviour would cost minutes and gigabytes here; those of addresses stay.
#if defined(__clang__)
#define RUBATO_DETAIL_FUSED __attribute__((no_sanitize("undefined")))
#else
#define RUBATO_DETAIL_FUSED __attribute__((optimize("O2", "no-fast-math", "fp-contract=off")))
#endif
#define RUBATO_DETAIL_FMA_TARGET __attribute__((target(RUBATO_DETAIL_BASELINE_TARGET ",avx2,fma")))
#define RUBATO_DETAIL_NN_FMA_INLINE RUBATO_DETAIL_FUSED RUBATO_DETAIL_FMA_TARGET __attribute__((__always_inline__))
#define RUBATO_DETAIL_NN_FMA RUBATO_DETAIL_FUSED RUBATO_DETAIL_FMA_TARGET RUBATO_DETAIL_APART
// Newer versions of clang have one function for all packs, and no longer those of the instructions.
#if defined(__clang__)
#define RUBATO_DETAIL_ELEMENTWISE_FMA !__has_builtin(__builtin_ia32_vfmaddps256)
#else
#define RUBATO_DETAIL_ELEMENTWISE_FMA 0
#endif
#define RUBATO_DETAIL_HELPER RUBATO_DETAIL_NN_FMA_INLINE
#define RUBATO_DETAIL_KERNEL RUBATO_DETAIL_NN_FMA

namespace rubato::inline RUBATO_ABI::nn::kernels::fma {

template <std::size_t N>
struct pack_of {
  typedef float type __attribute__((vector_size(4 * N)));
  typedef int bits __attribute__((vector_size(4 * N)));
};
template <std::size_t N>
using pack = typename pack_of<N>::type;

typedef double wide __attribute__((vector_size(32)));
template <std::size_t N>
RUBATO_DETAIL_HELPER inline pack<N> multiply_add(const pack<N>& a, const pack<N>& b, const pack<N>& c) noexcept {
#if RUBATO_DETAIL_ELEMENTWISE_FMA
  return __builtin_elementwise_fma(a, b, c);
#else
  if constexpr (N == 4)
    return __builtin_ia32_vfmaddps(a, b, c);
  else
    return __builtin_ia32_vfmaddps256(a, b, c);
#endif
}
RUBATO_DETAIL_HELPER inline wide multiply_add(const wide& a, const wide& b, const wide& c) noexcept {
#if RUBATO_DETAIL_ELEMENTWISE_FMA
  return __builtin_elementwise_fma(a, b, c);
#else
  return __builtin_ia32_vfmaddpd256(a, b, c);
#endif
}
// clang has no such builtin and needs none; GCC makes a chain of the conversion.
RUBATO_DETAIL_HELPER inline wide widened(const pack<4>& x) noexcept {
#if defined(__clang__)
  return __builtin_convertvector(x, wide);
#else
  return __builtin_ia32_cvtps2pd256(x);
#endif
}
// By name, as in pinned.hpp.
template <std::size_t N>
RUBATO_DETAIL_HELPER inline pack<N> square_root(const pack<N>& x) noexcept {
  pack<N> y;
  __asm__("{vsqrtps %1, %0|vsqrtps %0, %1}" : "=x"(y) : "x"(x));
  return y;
}
// b if either is NaN
template <std::size_t N>
RUBATO_DETAIL_HELPER inline pack<N> smaller(const pack<N>& a, const pack<N>& b) noexcept {
  if constexpr (N == 4)
    return __builtin_ia32_minps(a, b);
  else
    return __builtin_ia32_minps256(a, b);
}
// b if either is NaN
template <std::size_t N>
RUBATO_DETAIL_HELPER inline pack<N> larger(const pack<N>& a, const pack<N>& b) noexcept {
  if constexpr (N == 4)
    return __builtin_ia32_maxps(a, b);
  else
    return __builtin_ia32_maxps256(a, b);
}
inline constexpr int first_lanes[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
template <std::size_t N>
RUBATO_DETAIL_HELPER inline pack<N> load_some(const float* from, std::size_t count) noexcept {
  typename pack_of<N>::bits lanes;
  __builtin_memcpy(&lanes, first_lanes + 8 - count, sizeof(lanes));
  if constexpr (N == 4)
    return __builtin_ia32_maskloadps(reinterpret_cast<const pack<4>*>(from), lanes);
  else
    return __builtin_ia32_maskloadps256(reinterpret_cast<const pack<8>*>(from), lanes);
}

using avx2::activate_outputs;

}  // namespace rubato::inline RUBATO_ABI::nn::kernels::fma

#define RUBATO_DETAIL_SET fma
#define RUBATO_DETAIL_SET_NAME "avx2+fma"
#define RUBATO_DETAIL_WIDTH 8
#include "fused_loops.hpp"

namespace rubato::inline RUBATO_ABI::nn::kernels::fma {

/// Whether this processor, and its operating system, can run the set.
[[nodiscard]] inline bool supported() noexcept {
  return __builtin_cpu_supports("fma");
}

}  // namespace rubato::inline RUBATO_ABI::nn::kernels::fma

#else

namespace rubato::inline RUBATO_ABI::nn::kernels::fma {

/// No such instructions on this architecture.
[[nodiscard]] inline bool supported() noexcept { return false; }
template <std::same_as<float> T>
inline constexpr kernel_set<T> set{};

}  // namespace rubato::inline RUBATO_ABI::nn::kernels::fma

#endif

#endif
