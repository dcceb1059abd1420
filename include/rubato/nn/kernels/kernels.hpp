#ifndef RUBATO_NN_KERNELS_KERNELS_HPP
#define RUBATO_NN_KERNELS_KERNELS_HPP

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>

#include "avx2.hpp"
#include "avx512.hpp"
#include "fma.hpp"
#include "kernel_set.hpp"
#include "portable.hpp"

namespace rubato::inline RUBATO_ABI::nn {

namespace kernels {

/// The sets that this processor can run, the quickest last; doubles have none with fused operations. To add one, add it
/// here.
/// Tests   tests/nn/kernels_test.cpp: NativeIsTheLastAvailable
template <std::floating_point T>
[[nodiscard]] inline std::span<const kernel_set<T>* const> available() noexcept {
  if constexpr (std::same_as<T, float>) {
    static constexpr std::array<const kernel_set<T>*, 4> sets{&portable::set<T>, &avx2::set<T>, &fma::set<T>,
                                                              &avx512::set<T>};
    const bool fused = avx2::supported() && fma::supported();
    return std::span{sets}.first(fused && avx512::supported() ? 4 : fused ? 3 : avx2::supported() ? 2 : 1);
  } else {
    static constexpr std::array<const kernel_set<T>*, 2> sets{&portable::set<T>, &avx2::set<T>};
    return std::span{sets}.first(avx2::supported() ? 2 : 1);
  }
}

/// The quickest set that this processor can run: what networks and optimisers use unless they are given another.
template <std::floating_point T>
[[nodiscard]] inline const kernel_set<T>& native() noexcept {
  return *available<T>().back();
}

/// The quickest set whose results are the same on every processor: for training that others are to repeat bit for bit.
/// Tests   tests/nn/kernels_test.cpp: EqualSetsGiveTheSameBits
template <std::floating_point T>
[[nodiscard]] inline const kernel_set<T>& reproducible() noexcept {
  return avx2::supported() ? avx2::set<T> : portable::set<T>;
}

/// What a set has for networks of one shape: its own functions, or some with the same bits that were compiled for it.
template <std::floating_point T>
struct shape_functions {
  evaluate_function<T> evaluate;  ///< see evaluate_function
  finish_function<T> finish;      ///< see finish_function
};

/// The functions of `set` for networks of these widths, inputs and outputs among them.
/// Tests   tests/nn/dynamic_mlp_test.cpp: EqualsStaticBitForBit
template <std::floating_point T, std::size_t... Widths>
[[nodiscard]] inline shape_functions<T> compiled_for(const kernel_set<T>& set) noexcept {
#if defined(__x86_64__)
  if constexpr (std::same_as<T, float>) {
    if (set.instructions == instruction_set::fma)
      return {&fma::evaluate_shape<Widths...>, &fma::finish_shape<Widths...>};
    if (set.instructions == instruction_set::avx512)
      return {&avx512::evaluate_shape<Widths...>, &avx512::finish_shape<Widths...>};
  }
#endif
  return {set.evaluate, set.finish};
}

}  // namespace kernels

/// Which instruction sets the networks of a T have been compiled for, and which of them runs.
struct simd_report {
  std::string_view active;                     ///< name of the set that native<T>() answers
  std::span<const std::string_view> compiled;  ///< names of all sets in this build, whether they can run here or not
};

/// For logs and bug reports; reads the processor's flags, so that it may differ between machines.
/// Tests   tests/nn/kernels_test.cpp: NativeIsTheLastAvailable
template <std::floating_point T = float>
[[nodiscard]] simd_report simd_info() noexcept {
  constexpr bool is_float = std::same_as<T, float>;
  static constexpr auto compiled = [] {
    if constexpr (is_float)
      return std::array<std::string_view, 4>{"portable", "avx2", "avx2+fma", "avx512"};
    else
      return std::array<std::string_view, 2>{"portable", "avx2"};
  }();
  return {.active = kernels::native<T>().name,
          .compiled = std::span{compiled}.first(kernels::avx2::compiled ? compiled.size() : 1)};
}

}  // namespace rubato::inline RUBATO_ABI::nn

#endif
