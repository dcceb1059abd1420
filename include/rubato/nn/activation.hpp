#ifndef RUBATO_NN_ACTIVATION_HPP
#define RUBATO_NN_ACTIVATION_HPP

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "../pinned.hpp"

namespace rubato::inline RUBATO_ABI::nn {

/// The functions that a layer can end with.
enum class activation_kind : std::uint8_t {
  identity,    ///< x
  relu,        ///< x, or 0 if x < 0
  leaky_relu,  ///< x, or slope * x if x < 0
  tanh         ///< the hyperbolic tangent of the C library
};

/// The kind as a word, such as "leaky_relu".
[[nodiscard]] constexpr std::string_view name(activation_kind kind) noexcept {
  constexpr std::array<std::string_view, 4> names{"identity", "relu", "leaky_relu", "tanh"};
  return static_cast<std::size_t>(kind) < names.size() ? names[static_cast<std::size_t>(kind)] : "invalid";
}

/// What a layer ends with: a kind and its parameter.
///
///     constexpr nn::activation gentle{nn::activation_kind::leaky_relu, 0.2};
///
/// Tests   tests/nn/activation_test.cpp: ValuesByHand, KeepsNaN, NamesAndProblems
/// Source  Maas et al., "Rectifier Nonlinearities Improve Neural Network Acoustic Models", ICML 2013 workshop, eq. 2
struct activation {
  activation_kind kind = activation_kind::identity;  ///< which function
  double slope = 0.01;                               ///< of a leaky ReLU below 0; finite, >= 0

  friend constexpr bool operator==(const activation&, const activation&) = default;
};

/// What is wrong with the activation, or nullptr.
[[nodiscard]] constexpr const char* problem(const activation& what) noexcept {
  if (static_cast<std::uint8_t>(what.kind) > static_cast<std::uint8_t>(activation_kind::tanh))
    return "kind: expected identity, relu, leaky_relu or tanh";
  if (!pinned::within(what.slope, 0, 1e30)) return "slope: expected a finite number >= 0";
  return nullptr;
}

/// y = f(x), the kind known at compile time. NaN stays NaN.
///
/// Cost    a comparison, or the C library's tanh. No allocation. Thread-safe.
/// Tests   tests/nn/activation_test.cpp: ValuesByHand, KeepsNaN
template <activation_kind Kind, std::floating_point T>
[[nodiscard]] RUBATO_DETAIL_PINNED_INLINE inline T activate(T x, T slope) noexcept {
  RUBATO_DETAIL_EXACT
  if constexpr (Kind == activation_kind::relu) return x < 0 ? T{0} : x;
  if constexpr (Kind == activation_kind::leaky_relu) return x < 0 ? slope * x : x;
  if constexpr (Kind == activation_kind::tanh) {
    RUBATO_DETAIL_ALONE(x);
    if constexpr (std::same_as<T, float>) return __builtin_tanhf(x);
    return std::tanh(x);
  }
  return x;
}

/// The gradient by x from `delta`, the gradient by y = f(x): f'(x) * delta, where the output y says what f'(x) is.
/// At x = 0 the one-sided derivative from below is taken.
///
/// Cost    a comparison or three operations. No allocation. Thread-safe.
/// Tests   tests/nn/activation_test.cpp: DerivativeMatchesFiniteDifferences
template <activation_kind Kind, std::floating_point T>
[[nodiscard]] RUBATO_DETAIL_PINNED_INLINE inline T chain(T y, T delta, T slope) noexcept {
  RUBATO_DETAIL_EXACT
  if constexpr (Kind == activation_kind::relu) return y > 0 ? delta : T{0};
  if constexpr (Kind == activation_kind::leaky_relu) return y > 0 ? delta : slope * delta;
  if constexpr (Kind == activation_kind::tanh) return delta * ((1 - y) * (1 + y));  // 1 - y * y could be contracted
  return delta;
}

/// activate() with the kind known at run time.
template <std::floating_point T>
[[nodiscard]] T activate(const activation& f, T x) noexcept {
  const T slope = static_cast<T>(f.slope);
  switch (f.kind) {
    case activation_kind::relu:
      return activate<activation_kind::relu>(x, slope);
    case activation_kind::leaky_relu:
      return activate<activation_kind::leaky_relu>(x, slope);
    case activation_kind::tanh:
      return activate<activation_kind::tanh>(x, slope);
    default:
      return x;
  }
}
/// chain() with the kind known at run time.
template <std::floating_point T>
[[nodiscard]] T chain(const activation& f, T y, T delta) noexcept {
  const T slope = static_cast<T>(f.slope);
  switch (f.kind) {
    case activation_kind::relu:
      return chain<activation_kind::relu>(y, delta, slope);
    case activation_kind::leaky_relu:
      return chain<activation_kind::leaky_relu>(y, delta, slope);
    case activation_kind::tanh:
      return chain<activation_kind::tanh>(y, delta, slope);
    default:
      return delta;
  }
}

}  // namespace rubato::inline RUBATO_ABI::nn

#endif
