#ifndef RUBATO_NN_KERNELS_AVX512_HPP
#define RUBATO_NN_KERNELS_AVX512_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "fma.hpp"
#include "kernel_set.hpp"
#include "../../pinned.hpp"

#if defined(__x86_64__)

#define RUBATO_DETAIL_AVX512_TARGET \
  __attribute__((target(RUBATO_DETAIL_BASELINE_TARGET ",avx2,fma,avx512f,avx512vl,avx512dq")))
#define RUBATO_DETAIL_NN_AVX512_INLINE \
  RUBATO_DETAIL_FUSED RUBATO_DETAIL_AVX512_TARGET __attribute__((__always_inline__))
#define RUBATO_DETAIL_NN_AVX512 RUBATO_DETAIL_FUSED RUBATO_DETAIL_AVX512_TARGET RUBATO_DETAIL_APART
#define RUBATO_DETAIL_HELPER RUBATO_DETAIL_NN_AVX512_INLINE
#define RUBATO_DETAIL_KERNEL RUBATO_DETAIL_NN_AVX512

RUBATO_DETAIL_GNU_BEGIN
namespace rubato::inline RUBATO_ABI::nn::kernels::avx512 {

template <std::size_t N>
struct pack_of {
  typedef float type __attribute__((vector_size(4 * N)));
  typedef int bits __attribute__((vector_size(4 * N)));
};
template <std::size_t N>
using pack = typename pack_of<N>::type;

// The mask of all lanes, as each compiler declares it.
#if defined(__clang__)
inline constexpr std::uint16_t all_of_16 = 0xFFFF;
#else
inline constexpr std::int16_t all_of_16 = -1;
#endif

template <std::size_t N>
RUBATO_DETAIL_HELPER inline pack<N> multiply_add(const pack<N>& a, const pack<N>& b, const pack<N>& c) noexcept {
#if RUBATO_DETAIL_ELEMENTWISE_FMA
  return __builtin_elementwise_fma(a, b, c);
#else
  if constexpr (N == 4)
    return __builtin_ia32_vfmaddps(a, b, c);
  else if constexpr (N == 8)
    return __builtin_ia32_vfmaddps256(a, b, c);
  else
    return __builtin_ia32_vfmaddps512_mask(a, b, c, all_of_16, 4);
#endif
}
typedef double wide __attribute__((vector_size(64)));
RUBATO_DETAIL_HELPER inline wide multiply_add(const wide& a, const wide& b, const wide& c) noexcept {
#if RUBATO_DETAIL_ELEMENTWISE_FMA
  return __builtin_elementwise_fma(a, b, c);
#else
  return __builtin_ia32_vfmaddpd512_mask(a, b, c, static_cast<std::uint8_t>(-1), 4);
#endif
}
RUBATO_DETAIL_HELPER inline wide widened(const pack<8>& x) noexcept {
#if defined(__clang__)
  return __builtin_convertvector(x, wide);
#else
  return __builtin_ia32_cvtps2pd512_mask(x, wide{}, static_cast<char>(-1), 4);
#endif
}
template <std::size_t N>
RUBATO_DETAIL_HELPER inline pack<N> square_root(const pack<N>& x) noexcept {
  pack<N> y;
  __asm__("{vsqrtps %1, %0|vsqrtps %0, %1}" : "=v"(y) : "v"(x));
  return y;
}
// b if either is NaN
template <std::size_t N>
RUBATO_DETAIL_HELPER inline pack<N> smaller(const pack<N>& a, const pack<N>& b) noexcept {
  if constexpr (N == 4)
    return __builtin_ia32_minps(a, b);
  else if constexpr (N == 8)
    return __builtin_ia32_minps256(a, b);
#if defined(__clang__)
  else
    return __builtin_ia32_minps512(a, b, 4);
#else
  else
    return __builtin_ia32_minps512_mask(a, b, a, all_of_16, 4);
#endif
}
// b if either is NaN
template <std::size_t N>
RUBATO_DETAIL_HELPER inline pack<N> larger(const pack<N>& a, const pack<N>& b) noexcept {
  if constexpr (N == 4)
    return __builtin_ia32_maxps(a, b);
  else if constexpr (N == 8)
    return __builtin_ia32_maxps256(a, b);
#if defined(__clang__)
  else
    return __builtin_ia32_maxps512(a, b, 4);
#else
  else
    return __builtin_ia32_maxps512_mask(a, b, a, all_of_16, 4);
#endif
}
template <std::size_t N>
RUBATO_DETAIL_HELPER inline pack<N> load_some(const float* from, std::size_t count) noexcept {
  static_assert(N < 16);
  typename pack_of<N>::bits lanes;
  __builtin_memcpy(&lanes, fma::first_lanes + 8 - count, sizeof(lanes));
  if constexpr (N == 4)
    return __builtin_ia32_maskloadps(reinterpret_cast<const pack<4>*>(from), lanes);
  else
    return __builtin_ia32_maskloadps256(reinterpret_cast<const pack<8>*>(from), lanes);
}

using avx2::activate_outputs;

}  // namespace rubato::inline RUBATO_ABI::nn::kernels::avx512
RUBATO_DETAIL_GNU_END

#define RUBATO_DETAIL_SET avx512
#define RUBATO_DETAIL_SET_NAME "avx512"
#define RUBATO_DETAIL_WIDTH 16
#include "fused_loops.hpp"

namespace rubato::inline RUBATO_ABI::nn::kernels::avx512 {

/// Whether this processor, and its operating system, can run the set.
[[nodiscard]] inline bool supported() noexcept {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq");
}

}  // namespace rubato::inline RUBATO_ABI::nn::kernels::avx512

#else

namespace rubato::inline RUBATO_ABI::nn::kernels::avx512 {

/// No such instructions on this architecture.
[[nodiscard]] inline bool supported() noexcept { return false; }
template <std::same_as<float> T>
inline constexpr kernel_set<T> set{};

}  // namespace rubato::inline RUBATO_ABI::nn::kernels::avx512

#endif

#endif
