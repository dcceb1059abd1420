#ifndef RUBATO_NN_KERNELS_AVX2_HPP
#define RUBATO_NN_KERNELS_AVX2_HPP

#include <concepts>

#include "kernel_set.hpp"
#include "../../pinned.hpp"

#if defined(__x86_64__)

// Compiled whatever the flags of the unit, called only where the processor has it. The baseline first: it takes away
// what the unit's flags allow beyond, fused operations before all, which would change results. Nor may the intrinsics
// of <immintrin.h> be used: they have the unit's flags, and must not be inlined into a function that has fewer.
#define RUBATO_DETAIL_NN_AVX2_INLINE \
  RUBATO_DETAIL_PINNED_OPTIONS __attribute__((target(RUBATO_DETAIL_BASELINE_TARGET ",avx2")))
#define RUBATO_DETAIL_NN_AVX2 RUBATO_DETAIL_NN_AVX2_INLINE RUBATO_DETAIL_APART

namespace rubato::inline RUBATO_ABI::nn::kernels::avx2 {

template <std::floating_point T>
struct pack_of {
  typedef T type __attribute__((vector_size(32)));
};
template <std::floating_point T>
using pack = typename pack_of<T>::type;

// By name, as in pinned.hpp.
RUBATO_DETAIL_NN_AVX2_INLINE inline float square_root(float x) noexcept {
  __asm__("vsqrtss %0, %0, %0" : "+x"(x));
  return x;
}
RUBATO_DETAIL_NN_AVX2_INLINE inline double square_root(double x) noexcept {
  __asm__("vsqrtsd %0, %0, %0" : "+x"(x));
  return x;
}
RUBATO_DETAIL_NN_AVX2_INLINE inline pack<float> square_root(const pack<float>& x) noexcept {
  pack<float> y = x;
  __asm__("vsqrtps %0, %0" : "+x"(y));
  return y;
}
RUBATO_DETAIL_NN_AVX2_INLINE inline pack<double> square_root(const pack<double>& x) noexcept {
  pack<double> y = x;
  __asm__("vsqrtpd %0, %0" : "+x"(y));
  return y;
}

}  // namespace rubato::inline RUBATO_ABI::nn::kernels::avx2

#define RUBATO_DETAIL_SET avx2
#define RUBATO_DETAIL_SET_NAME "avx2"
#define RUBATO_DETAIL_PACK_BYTES 32
#define RUBATO_DETAIL_KERNEL RUBATO_DETAIL_NN_AVX2
#define RUBATO_DETAIL_HELPER RUBATO_DETAIL_NN_AVX2_INLINE
#include "loops.hpp"

namespace rubato::inline RUBATO_ABI::nn::kernels::avx2 {

inline constexpr bool compiled = true;

/// Whether this processor, and its operating system, can run the set.
[[nodiscard]] inline bool supported() noexcept { return __builtin_cpu_supports("avx2"); }

}  // namespace rubato::inline RUBATO_ABI::nn::kernels::avx2

#else

namespace rubato::inline RUBATO_ABI::nn::kernels::avx2 {

/// No such instructions on this architecture.
inline constexpr bool compiled = false;
[[nodiscard]] inline bool supported() noexcept { return false; }
template <std::floating_point T>
inline constexpr kernel_set<T> set{};

}  // namespace rubato::inline RUBATO_ABI::nn::kernels::avx2

#endif

#endif
