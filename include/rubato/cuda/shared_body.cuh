#ifndef RUBATO_CUDA_SHARED_BODY_CUH
#define RUBATO_CUDA_SHARED_BODY_CUH

#include <cmath>

#include "../pinned.hpp"

// What host and device compile from one text. The same text gives the same bits on both where it takes its sums of
// products from here: a compiler may fuse them otherwise, and each of the two decides that for itself. nvcc's options
// --use_fast_math and -ftz=true take that away: the device then makes zeros of the smallest numbers.
//
//   RUBATO_DETAIL_SHARED  attribute of a function for both, see config.hpp
//   RUBATO_DETAIL_DEVICE  1 while nvcc compiles for the device
//   RUBATO_DETAIL_UNROLL  before a loop of known length over an array that has to stay in registers of the device, and
//   RUBATO_DETAIL_ROLLED  before one that is not to grow; hosts decide for themselves
#if defined(__CUDA_ARCH__)
#define RUBATO_DETAIL_DEVICE 1
#define RUBATO_DETAIL_UNROLL _Pragma("unroll")
#define RUBATO_DETAIL_ROLLED _Pragma("unroll 1")
#else
#define RUBATO_DETAIL_DEVICE 0
#define RUBATO_DETAIL_UNROLL
#define RUBATO_DETAIL_ROLLED
#endif

namespace rubato::inline RUBATO_ABI::cuda {

/// sum + a * b, rounded twice: the bits of nn::kernels::reproducible<float>().
/// Tests   tests/cuda/shared_body_test.cpp: ExactRoundsTwice; tests/cuda/network_test.cpp: EvaluateHasTheBitsOfTheHost
struct exact_arithmetic {
  /// One multiply-add, by two operations.
  [[nodiscard]] RUBATO_DETAIL_SHARED static float plus_product(float sum, float a, float b) noexcept {
#if RUBATO_DETAIL_DEVICE
    return __fadd_rn(sum, __fmul_rn(a, b));
#else
    return pinned::plus_product(sum, a, b);
#endif
  }
};

/// sum + a * b, rounded once, at twice the speed: n of them in turn are within n * 2^-24 of the sum of the absolute
/// values of all terms.
/// Tests   tests/cuda/shared_body_test.cpp: FusedRoundsOnce, FusedSumIsWithinItsError;
///         tests/cuda/network_test.cpp: FusedIsCloseToExact
struct fused_arithmetic {
  /// One multiply-add, by one operation.
  [[nodiscard]] RUBATO_DETAIL_SHARED static float plus_product(float sum, float a, float b) noexcept {
#if RUBATO_DETAIL_DEVICE
    return __fmaf_rn(a, b, sum);
#else
    return __builtin_fmaf(a, b, sum);
#endif
  }
};

namespace detail {

// exact_arithmetic, in double.
struct exact_double {
  // a * b, which no sum that follows takes into it. -0 changes no product, and no sign of one.
  [[nodiscard]] RUBATO_DETAIL_SHARED static double product(double a, double b) noexcept {
    return plus_product(-0.0, a, b);
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

// Operations that each round once, as the host's pinned functions do: nothing around them is fused with them, and no
// option of the compiler puts an estimate in their place. A product in double is exact_double's.
struct rounded_once {
  // -0 changes no product, and no sign of one.
  [[nodiscard]] RUBATO_DETAIL_SHARED static float product(float a, float b) noexcept {
    return exact_arithmetic::plus_product(-0.0F, a, b);
  }
  [[nodiscard]] RUBATO_DETAIL_SHARED static float quotient(float a, float b) noexcept {
#if RUBATO_DETAIL_DEVICE
    return __fdiv_rn(a, b);
#else
    return a / b;
#endif
  }
  [[nodiscard]] RUBATO_DETAIL_SHARED static float square_root(float x) noexcept {
#if RUBATO_DETAIL_DEVICE
    return __fsqrt_rn(x);
#else
    return pinned::square_root(x);
#endif
  }
  [[nodiscard]] RUBATO_DETAIL_SHARED static double square_root(double x) noexcept {
#if RUBATO_DETAIL_DEVICE
    return __dsqrt_rn(x);
#else
    return pinned::square_root(x);
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

}  // namespace detail
}  // namespace rubato::inline RUBATO_ABI::cuda

#endif
