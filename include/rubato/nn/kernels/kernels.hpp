#ifndef RUBATO_NN_KERNELS_KERNELS_HPP
#define RUBATO_NN_KERNELS_KERNELS_HPP

#include <array>
#include <concepts>
#include <span>
#include <string_view>

#include "avx2.hpp"
#include "kernel_set.hpp"
#include "portable.hpp"

namespace rubato::inline RUBATO_ABI::nn {

namespace kernels {

/// The sets that this processor can run, the quickest last. All give the same bits. To add one, add it here.
/// Tests   tests/nn/kernels_test.cpp: NativeIsTheLastAvailable, EverySetGivesTheSameBits
template <std::floating_point T>
[[nodiscard]] inline std::span<const kernel_set<T>* const> available() noexcept {
  static constexpr std::array<const kernel_set<T>*, 2> sets{&portable::set<T>, &avx2::set<T>};
  return std::span{sets}.first(avx2::supported() ? 2 : 1);
}

/// The quickest set that this processor can run: what networks and optimisers use unless they are given another.
template <std::floating_point T>
[[nodiscard]] inline const kernel_set<T>& native() noexcept {
  return *available<T>().back();
}

}  // namespace kernels

/// Which instruction sets the networks have been compiled for, and which of them runs.
struct simd_report {
  std::string_view active;                     ///< name of the set that native() answers
  std::span<const std::string_view> compiled;  ///< names of all sets in this build, whether they can run here or not
};

/// Tests   tests/nn/kernels_test.cpp: NativeIsTheLastAvailable
[[nodiscard]] inline simd_report simd_info() noexcept {
  static constexpr std::array<std::string_view, 2> compiled{kernels::portable::set<float>.name, "avx2"};
  return {.active = kernels::native<float>().name,
          .compiled = std::span{compiled}.first(kernels::avx2::compiled ? 2 : 1)};
}

}  // namespace rubato::inline RUBATO_ABI::nn

#endif
