#ifndef RUBATO_NN_INITIALISER_HPP
#define RUBATO_NN_INITIALISER_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "../core/rng.hpp"
#include "../pinned.hpp"
#include "layer.hpp"

namespace rubato::inline RUBATO_ABI::nn {

/// Where weights start. `in` and `out` are a layer's widths.
enum class initialiser_kind : std::uint8_t {
  zeros,           ///< all 0: hidden layers of equal units never learn to differ
  xavier_uniform,  ///< uniform in +-sqrt(6 / (in + out))
  xavier_normal,   ///< normal with variance 2 / (in + out)
  he_uniform,      ///< uniform in +-sqrt(6 / in)
  he_normal,       ///< normal with variance 2 / in
  orthogonal       ///< orthonormal columns (rows, if in < out), uniformly distributed
};

/// The kind as a word, such as "xavier_uniform".
[[nodiscard]] constexpr std::string_view name(initialiser_kind kind) noexcept {
  constexpr std::array<std::string_view, 6> names{"zeros",      "xavier_uniform", "xavier_normal",
                                                  "he_uniform", "he_normal",      "orthogonal"};
  return static_cast<std::size_t>(kind) < names.size() ? names[static_cast<std::size_t>(kind)] : "invalid";
}

/// How weights start: a kind, and a factor on them.
struct initialiser {
  initialiser_kind kind = initialiser_kind::xavier_uniform;  ///< which distribution
  double gain = 1;                                           ///< what is drawn is multiplied by it
};

namespace detail {

// `count` vectors of `size` elements: element j of vector v is data[v * step + j * stride].
struct vectors {
  std::size_t count, size, step, stride;
};

// x -= (x . y) y for unit y.
template <std::floating_point T>
RUBATO_DETAIL_PINNED void remove_component(std::size_t size, std::size_t stride, T* x, const T* y) noexcept {
  RUBATO_DETAIL_EXACT
  double dot = 0;
  for (std::size_t j = 0; j < size; ++j) dot += static_cast<double>(x[j * stride]) * static_cast<double>(y[j * stride]);
  for (std::size_t j = 0; j < size; ++j)
    x[j * stride] = static_cast<T>(static_cast<double>(x[j * stride]) - dot * static_cast<double>(y[j * stride]));
}

// Scales x to unit length and returns the length it had; leaves x alone if it is shorter than `shortest`.
template <std::floating_point T>
RUBATO_DETAIL_PINNED double normalise(std::size_t size, std::size_t stride, T* x, double shortest) noexcept {
  RUBATO_DETAIL_EXACT
  double squares = 0;
  for (std::size_t j = 0; j < size; ++j)
    squares += static_cast<double>(x[j * stride]) * static_cast<double>(x[j * stride]);
  const double length = pinned::square_root(squares);
  if (length >= shortest)
    for (std::size_t j = 0; j < size; ++j) x[j * stride] = static_cast<T>(static_cast<double>(x[j * stride]) / length);
  return length;
}

// Gram and Schmidt on normal vectors, which leaves every direction equally likely. Each is projected twice ("twice is
// enough": Giraud et al. 2005), so that rounding costs no orthogonality, and drawn anew if next to nothing is left.
template <std::floating_point T>
void orthonormalise(const vectors& shape, T* data, random_sequence& random) noexcept {
  for (std::size_t v = 0; v < shape.count; ++v) {
    T* const x = data + v * shape.step;
    do {
      for (std::size_t j = 0; j < shape.size; ++j) x[j * shape.stride] = static_cast<T>(random.normal());
      for (int pass = 0; pass < 2; ++pass)
        for (std::size_t u = 0; u < v; ++u) remove_component(shape.size, shape.stride, x, data + u * shape.step);
    } while (normalise(shape.size, shape.stride, x, 1e-3) < 1e-3);
    for (std::size_t u = 0; u < v; ++u) remove_component(shape.size, shape.stride, x, data + u * shape.step);
    normalise(shape.size, shape.stride, x, 0.5);
  }
}

}  // namespace detail

/// Draws a layer's weights from `random`, in memory order, in double and then rounded.
///
/// The same position of the same sequence gives the same weights; normal draws also depend on the C library's log and
/// cos. Biases are the caller's.
/// Cost    one or two draws per weight; orthogonal: O(n^2 m) for n vectors of m elements. No allocation.
/// Tests   tests/nn/initialiser_test.cpp: UniformMoments, NormalMoments, OrthogonalInBothShapes, SameSeedSameBits
/// Source  Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks", AISTATS
///         2010, eq. 16; He et al., "Delving Deep into Rectifiers", ICCV 2015, eq. 10; Saxe et al., "Exact solutions
///         to the nonlinear dynamics of learning in deep linear neural networks", ICLR 2014
template <std::floating_point T>
void initialise(const matrix_view<T>& weight, const initialiser& how, random_sequence& random) noexcept {
  const std::size_t in = weight.inputs, out = weight.outputs;
  const bool xavier = how.kind == initialiser_kind::xavier_uniform || how.kind == initialiser_kind::xavier_normal;
  const double fan = static_cast<double>(xavier ? in + out : in);
  switch (how.kind) {
    case initialiser_kind::xavier_uniform:
    case initialiser_kind::he_uniform: {
      const double bound = how.gain * std::sqrt(6 / fan);
      for (T& w : weight.values) w = static_cast<T>(bound * (2 * random.uniform() - 1));
      return;
    }
    case initialiser_kind::xavier_normal:
    case initialiser_kind::he_normal: {
      const double deviation = how.gain * std::sqrt(2 / fan);
      for (T& w : weight.values) w = static_cast<T>(deviation * random.normal());
      return;
    }
    case initialiser_kind::orthogonal: {
      const auto shape = in < out ? detail::vectors{in, out, out, 1} : detail::vectors{out, in, 1, out};
      detail::orthonormalise(shape, weight.values.data(), random);
      for (T& w : weight.values) w = static_cast<T>(how.gain * static_cast<double>(w));
      return;
    }
    default:
      std::fill(weight.values.begin(), weight.values.end(), T{0});
  }
}

/// All weights of a network, layer after layer from one sequence; biases 0. Works for mlp and dynamic_mlp.
/// Tests   tests/nn/initialiser_test.cpp: SameSeedSameBits, BiasesAreZero
template <class Network>
requires requires(Network& network) {
  network.weight(0);
  network.bias(0);
  network.layers();
}
void initialise(Network& network, const initialiser& how, random_sequence& random) noexcept {
  for (std::size_t layer = 0; layer < network.layers().size(); ++layer) {
    initialise(network.weight(layer), how, random);
    const auto bias = network.bias(layer);
    std::fill(bias.begin(), bias.end(), typename Network::scalar{0});
  }
}

}  // namespace rubato::inline RUBATO_ABI::nn

#endif
