#ifndef RUBATO_CUDA_NETWORK_CUH
#define RUBATO_CUDA_NETWORK_CUH

#include <cstddef>

#include "../nn/activation.hpp"
#include "../nn/layer.hpp"
#include "lanes.cuh"
#include "shared_body.cuh"

namespace rubato::inline RUBATO_ABI::cuda {

/// The shape of a multi-layer perceptron as a type: inputs, hidden widths, outputs; that of nn::mlp<...>, whose
/// parameters have the same order.
/// Tests   tests/cuda/network_test.cpp: LayersLieAsTheHostsDo
template <std::size_t Inputs, std::size_t First, std::size_t... Rest>
struct mlp_shape {
  static constexpr std::size_t layers = 1 + sizeof...(Rest);  ///< of weights: hidden ones and that of the outputs
  static_assert(layers <= nn::max_layers, "mlp_shape: too many layers");
  static_assert(Inputs > 0 && First > 0 && ((Rest > 0) && ...), "mlp_shape: a width is 0");

  /// Numbers between layers: width(0) inputs, width(layers) outputs.
  [[nodiscard]] RUBATO_DETAIL_SHARED static constexpr std::size_t width(std::size_t l) noexcept {
    constexpr std::size_t widths[] = {Inputs, First, Rest...};
    return widths[l];
  }
  /// Index of a layer's first weight.
  [[nodiscard]] RUBATO_DETAIL_SHARED static constexpr std::size_t weight(std::size_t l) noexcept {
    std::size_t at = 0;
    for (std::size_t i = 0; i < l; ++i) at += (width(i) + 1) * width(i + 1);
    return at;
  }
  /// Index of a layer's first bias.
  [[nodiscard]] RUBATO_DETAIL_SHARED static constexpr std::size_t bias(std::size_t l) noexcept {
    return weight(l) + width(l) * width(l + 1);
  }

  static constexpr std::size_t inputs = Inputs;              ///< numbers of a sample
  static constexpr std::size_t outputs = width(layers);      ///< numbers that come of it
  static constexpr std::size_t parameters = weight(layers);  ///< weights and biases of all layers
  /// Units of the widest hidden layer; 0 if there is none.
  static constexpr std::size_t widest_hidden = [] {
    std::size_t most = 0;
    for (std::size_t l = 1; l < layers; ++l) most = width(l) > most ? width(l) : most;
    return most;
  }();
  /// Units of all hidden layers together.
  static constexpr std::size_t hidden_units = [] {
    std::size_t all = 0;
    for (std::size_t l = 1; l < layers; ++l) all += width(l);
    return all;
  }();
};

/// What a layer ends with, as a kernel takes it.
struct ending {
  nn::activation_kind kind = nn::activation_kind::identity;  ///< which function
  float slope = 0;                                           ///< of leaky_relu where x < 0

  ending() = default;
  /// The host's, its slope rounded to float.
  ending(const nn::activation& f) noexcept  // NOLINT(*-explicit-*)
      : kind{f.kind}, slope{static_cast<float>(f.slope)} {}
};

/// y = f(x). The bits of nn::activate, tanh apart, which is the device's own there.
/// Tests   tests/cuda/network_test.cpp: ChainHasTheBitsOfTheHost
[[nodiscard]] RUBATO_DETAIL_SHARED inline float activate(const ending& f, float x) noexcept {
  switch (f.kind) {
    case nn::activation_kind::relu:
      return x < 0 ? 0.0F : x;
    case nn::activation_kind::leaky_relu:
      return x < 0 ? f.slope * x : x;
    case nn::activation_kind::tanh:
      return ::tanhf(x);
    default:
      return x;
  }
}

/// The gradient by x from the gradient by y = f(x); the bits of nn::chain.
/// Tests   tests/cuda/network_test.cpp: ChainHasTheBitsOfTheHost
[[nodiscard]] RUBATO_DETAIL_SHARED inline float chain(const ending& f, float y, float delta) noexcept {
  switch (f.kind) {
    case nn::activation_kind::relu:
      return y > 0 ? delta : 0.0F;
    case nn::activation_kind::leaky_relu:
      return y > 0 ? delta : f.slope * delta;
    case nn::activation_kind::tanh:
      return delta * ((1 - y) * (1 + y));  // 1 - y * y could be contracted
    default:
      return delta;
  }
}

/// A network whose parameters lie wherever the caller can read: Shape::parameters numbers in the order of nn::mlp.
///
///     cuda::network<cuda::mlp_shape<40, 64, 32, 3>> q{parameters, host.options().hidden, host.options().output};
///
/// Trivially copyable: an argument of kernels.
/// Tests   tests/cuda/network_test.cpp: LayersLieAsTheHostsDo, EvaluateHasTheBitsOfTheHost
template <class Shape>
struct network {
  using shape = Shape;                                                     ///< its widths
  const float* parameters = nullptr;                                       ///< not owned
  ending hidden{nn::activation{.kind = nn::activation_kind::leaky_relu}};  ///< of each hidden layer
  ending output{};                                                         ///< of the last layer

  /// What layer l ends with, counted from 0.
  [[nodiscard]] RUBATO_DETAIL_SHARED const ending& ending_of(std::size_t l) const noexcept {
    return l + 1 == Shape::layers ? output : hidden;
  }
};

/// Numbers that evaluate() wants as scratch.
template <class Shape>
inline constexpr std::size_t evaluate_scratch = 2 * Shape::widest_hidden;

namespace detail {

template <class Arithmetic, std::size_t Layer, class Shape, Lanes L>
RUBATO_DETAIL_SHARED void evaluate_from(const network<Shape>& net, const L& lanes, const float* in, float* scratch,
                                        float* out) noexcept {
  if constexpr (Layer < Shape::layers) {
    constexpr std::size_t inputs = Shape::width(Layer), outputs = Shape::width(Layer + 1);
    const float* const weight = net.parameters + Shape::weight(Layer);
    const float* const bias = net.parameters + Shape::bias(Layer);
    float* const to = Layer + 1 == Shape::layers ? out : scratch + Layer % 2 * Shape::widest_hidden;
    for (std::size_t o = lanes.index(); o < outputs; o += lanes.count()) {
      float sum = bias[o];
      for (std::size_t i = inputs; i-- > 0;) sum = Arithmetic::plus_product(sum, in[i], weight[i * outputs + o]);
      to[o] = activate(net.ending_of(Layer), sum);
    }
    lanes.sync();
    evaluate_from<Arithmetic, Layer + 1>(net, lanes, to, scratch, out);
  }
}

}  // namespace detail

/// One sample through the network: `in` has Shape::inputs numbers, `out` Shape::outputs, `scratch`
/// evaluate_scratch<Shape>; they do not overlap, and all lanes see them. Ends with a sync.
///
/// With exact_arithmetic and without tanh it has the bits of nn::mlp::evaluate on nn::kernels::reproducible<float>(),
/// for any number of lanes, on host and device.
/// Cost    a multiplication and an addition per weight, over the lanes. No allocation.
/// Tests   tests/cuda/network_test.cpp: EvaluateHasTheBitsOfTheHost, AnyNumberOfLanesGivesTheSameBits,
///         FusedIsCloseToExact
template <class Arithmetic = exact_arithmetic, class Shape, Lanes L>
RUBATO_DETAIL_SHARED void evaluate(const network<Shape>& net, const L& lanes, const float* in, float* scratch,
                                   float* out) noexcept {
  detail::evaluate_from<Arithmetic, 0>(net, lanes, in, scratch, out);
}

}  // namespace rubato::inline RUBATO_ABI::cuda

#endif
