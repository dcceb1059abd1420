#ifndef RUBATO_NN_KERNELS_TRAINING_TRAINING_FOR_HPP
#define RUBATO_NN_KERNELS_TRAINING_TRAINING_FOR_HPP

#include <concepts>

#include "../avx2.hpp"
#include "../avx512.hpp"
#include "../fma.hpp"
#include "../kernel_set.hpp"
#include "../portable.hpp"
#include "training_kernels.hpp"

#define RUBATO_DETAIL_SET portable
#define RUBATO_DETAIL_PACK_BYTES 16
#define RUBATO_DETAIL_KERNEL RUBATO_DETAIL_PINNED
#define RUBATO_DETAIL_HELPER RUBATO_DETAIL_PINNED_INLINE
#include "loops.hpp"

#if defined(__x86_64__)

#define RUBATO_DETAIL_SET avx2
#define RUBATO_DETAIL_PACK_BYTES 32
#define RUBATO_DETAIL_KERNEL RUBATO_DETAIL_NN_AVX2
#define RUBATO_DETAIL_HELPER RUBATO_DETAIL_NN_AVX2_INLINE
#include "loops.hpp"

#define RUBATO_DETAIL_SET fma
#define RUBATO_DETAIL_WIDTH 8
#define RUBATO_DETAIL_KERNEL RUBATO_DETAIL_NN_FMA
#define RUBATO_DETAIL_HELPER RUBATO_DETAIL_NN_FMA_INLINE
#include "fused_loops.hpp"

#define RUBATO_DETAIL_SET avx512
#define RUBATO_DETAIL_WIDTH 16
#define RUBATO_DETAIL_KERNEL RUBATO_DETAIL_NN_AVX512
#define RUBATO_DETAIL_HELPER RUBATO_DETAIL_NN_AVX512_INLINE
#include "fused_loops.hpp"

#endif

namespace rubato::inline RUBATO_ABI::nn::kernels {

/// What trains networks that compute with `set`.
/// Tests   tests/nn/kernels_test.cpp: ForwardEqualsEvaluate
template <std::floating_point T>
[[nodiscard]] inline const training_kernels<T>& training_for([[maybe_unused]] const kernel_set<T>& set) noexcept {
#if defined(__x86_64__)
  if constexpr (std::same_as<T, float>) {
    if (set.instructions == instruction_set::avx512) return avx512::training<T>;
    if (set.instructions == instruction_set::fma) return fma::training<T>;
  }
  if (set.instructions == instruction_set::avx2) return avx2::training<T>;
#endif
  return portable::training<T>;
}

}  // namespace rubato::inline RUBATO_ABI::nn::kernels

#endif
