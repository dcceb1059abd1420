#ifndef RUBATO_NN_KERNELS_PORTABLE_HPP
#define RUBATO_NN_KERNELS_PORTABLE_HPP

#include <concepts>
#include <cstddef>

#include "kernel_set.hpp"
#include "pinned.hpp"

namespace rubato::inline RUBATO_ABI::nn::kernels::portable {

// 16 bytes of numbers, an extension of both compilers, on every architecture. Written as loops over arrays, the same
// sums end up on the stack under GCC 12, at a third of the speed. Each output has a sum of its own, so neither the
// width of a pack nor that of a block changes a result.
template <std::floating_point T>
struct pack_of {
  typedef T type __attribute__((vector_size(16)));
};
template <std::floating_point T>
using pack = typename pack_of<T>::type;

template <std::floating_point T>
inline constexpr std::size_t pack_width = 16 / sizeof(T);
template <std::floating_point T>
inline constexpr std::size_t block = 4 * pack_width<T>;

template <std::floating_point T>
RUBATO_DETAIL_PINNED_INLINE inline pack<T> load(const T* from) noexcept {
  pack<T> to;
  __builtin_memcpy(&to, from, sizeof(to));
  return to;
}
template <std::floating_point T>
RUBATO_DETAIL_PINNED_INLINE inline void store(T* to, const pack<T>& from) noexcept {
  __builtin_memcpy(to, &from, sizeof(from));
}

// to[o] = from[o] + the sum over n of x[n * x_step] * y[n * y_step + o], for one block of o; n goes up from 0,
// or down to it. `to` may be `from`.
template <bool Down, std::floating_point T>
RUBATO_DETAIL_PINNED_INLINE inline void add_products(T* to, const T* from, std::size_t count, const T* x,
                                                     std::size_t x_step, const T* y, std::size_t y_step) noexcept {
  RUBATO_DETAIL_EXACT
  constexpr std::size_t w = pack_width<T>;
  pack<T> a = load(from), b = load(from + w), c = load(from + 2 * w), d = load(from + 3 * w);
  for (std::size_t n = 0; n < count; ++n) {
    const std::size_t at = Down ? count - 1 - n : n;
    const T factor = x[at * x_step];
    const T* const row = y + at * y_step;
    a += factor * load(row);
    b += factor * load(row + w);
    c += factor * load(row + 2 * w);
    d += factor * load(row + 3 * w);
  }
  store(to, a);
  store(to + w, b);
  store(to + 2 * w, c);
  store(to + 3 * w, d);
}

// activate() of one block, without branches: the signs of hidden units cannot be predicted.
template <activation_kind Kind, std::floating_point T>
RUBATO_DETAIL_PINNED_INLINE inline void activate_block(T* values, T slope) noexcept {
  RUBATO_DETAIL_EXACT
  if constexpr (Kind == activation_kind::relu || Kind == activation_kind::leaky_relu) {
    const pack<T> zero{};
    for (std::size_t o = 0; o < block<T>; o += pack_width<T>) {
      const pack<T> x = load(values + o);
      const pack<T> below = Kind == activation_kind::relu ? zero : slope * x;
      store(values + o, static_cast<pack<T>>(x < zero ? below : x));
    }
  } else if constexpr (Kind == activation_kind::tanh) {
    for (std::size_t o = 0; o < block<T>; ++o) values[o] = activate<Kind>(values[o], slope);
  }
}

// Where terms of ONE sum run side by side, their number is part of the result.
inline constexpr std::size_t lanes = 8;

// Not std::sqrt: a wrapper that is not inlined has the instructions of the unit's flags.
RUBATO_DETAIL_PINNED_INLINE inline float square_root(float x) noexcept { return __builtin_sqrtf(x); }
RUBATO_DETAIL_PINNED_INLINE inline double square_root(double x) noexcept { return __builtin_sqrt(x); }

template <activation_kind Kind, std::floating_point T>
RUBATO_DETAIL_PINNED_INLINE inline void evaluate_as(const dense_layer<T>& layer, const T* __restrict in,
                                                    T* __restrict out) noexcept {
  RUBATO_DETAIL_EXACT
  const T slope = static_cast<T>(layer.f.slope);
  std::size_t column = 0;
  for (; column + block<T> <= layer.outputs; column += block<T>) {
    add_products<true>(out + column, layer.bias + column, layer.inputs, in, 1, layer.weight + column, layer.outputs);
    activate_block<Kind>(out + column, slope);
  }
  for (; column < layer.outputs; ++column) {
    T sum = layer.bias[column];
    for (std::size_t i = layer.inputs; i-- > 0;) sum += in[i] * layer.weight[i * layer.outputs + column];
    out[column] = activate<Kind>(sum, slope);
  }
}

template <std::floating_point T>
RUBATO_DETAIL_PINNED inline void evaluate(const dense_layer<T>& layer, const T* in, T* out) noexcept {
  switch (layer.f.kind) {
    case activation_kind::relu:
      return evaluate_as<activation_kind::relu>(layer, in, out);
    case activation_kind::leaky_relu:
      return evaluate_as<activation_kind::leaky_relu>(layer, in, out);
    case activation_kind::tanh:
      return evaluate_as<activation_kind::tanh>(layer, in, out);
    default:
      return evaluate_as<activation_kind::identity>(layer, in, out);
  }
}

template <std::floating_point T>
RUBATO_DETAIL_PINNED inline void forward(const dense_layer<T>& layer, std::size_t rows, const T* in, T* out) noexcept {
  for (std::size_t row = 0; row < rows; ++row) evaluate(layer, in + row * layer.inputs, out + row * layer.outputs);
}

template <activation_kind Kind, std::floating_point T>
RUBATO_DETAIL_PINNED_INLINE inline void chain_all(T slope, std::size_t count, const T* y, T* delta) noexcept {
  RUBATO_DETAIL_EXACT
  for (std::size_t i = 0; i < count; ++i) delta[i] = chain<Kind>(y[i], delta[i], slope);
}

template <std::floating_point T>
RUBATO_DETAIL_PINNED inline void activation_gradient(const activation& f, std::size_t count, const T* y,
                                                     T* delta) noexcept {
  const T slope = static_cast<T>(f.slope);
  switch (f.kind) {
    case activation_kind::relu:
      return chain_all<activation_kind::relu>(slope, count, y, delta);
    case activation_kind::leaky_relu:
      return chain_all<activation_kind::leaky_relu>(slope, count, y, delta);
    case activation_kind::tanh:
      return chain_all<activation_kind::tanh>(slope, count, y, delta);
    default:
      return;
  }
}

template <std::floating_point T>
RUBATO_DETAIL_PINNED inline void parameter_gradient(const dense_layer<T>& layer, std::size_t rows,
                                                    const T* __restrict in, const T* __restrict delta,
                                                    T* __restrict weight_gradient,
                                                    T* __restrict bias_gradient) noexcept {
  RUBATO_DETAIL_EXACT
  const std::size_t inputs = layer.inputs, outputs = layer.outputs;
  for (std::size_t i = 0; i < inputs; ++i) {
    T* const gradient = weight_gradient + i * outputs;
    std::size_t column = 0;
    for (; column + block<T> <= outputs; column += block<T>)
      add_products<false>(gradient + column, gradient + column, rows, in + i, inputs, delta + column, outputs);
    for (; column < outputs; ++column)
      for (std::size_t row = 0; row < rows; ++row)
        gradient[column] += in[row * inputs + i] * delta[row * outputs + column];
  }
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t o = 0; o < outputs; ++o) bias_gradient[o] += delta[row * outputs + o];
}

template <std::floating_point T>
RUBATO_DETAIL_PINNED inline void input_gradient(const dense_layer<T>& layer, std::size_t rows, const T* delta,
                                                T* in_gradient) noexcept {
  RUBATO_DETAIL_EXACT
  const std::size_t outputs = layer.outputs;
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t i = 0; i < layer.inputs; ++i) {
      const T* const d = delta + row * outputs;
      const T* const weight = layer.weight + i * outputs;
      T sum[lanes] = {};
      std::size_t o = 0;
      for (; o + lanes <= outputs; o += lanes)
        for (std::size_t lane = 0; lane < lanes; ++lane) sum[lane] += d[o + lane] * weight[o + lane];
      for (std::size_t lane = 0; o < outputs; ++o, ++lane) sum[lane] += d[o] * weight[o];
      T total = 0;
      for (std::size_t lane = 0; lane < lanes; ++lane) total += sum[lane];
      in_gradient[row * layer.inputs + i] = total;
    }
}

template <std::floating_point T>
RUBATO_DETAIL_PINNED inline double sum_of_squares(std::size_t count, const T* x) noexcept {
  RUBATO_DETAIL_EXACT
  double sum[lanes] = {};
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const double value = static_cast<double>(x[i + lane]);
      sum[lane] += value * value;
    }
  for (std::size_t lane = 0; i < count; ++i, ++lane) sum[lane] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  double total = 0;
  for (std::size_t lane = 0; lane < lanes; ++lane) total += sum[lane];
  return total;
}

template <std::floating_point T>
RUBATO_DETAIL_PINNED inline void scale(std::size_t count, T factor, T* x) noexcept {
  RUBATO_DETAIL_EXACT
  for (std::size_t i = 0; i < count; ++i) x[i] *= factor;
}

template <std::floating_point T>
RUBATO_DETAIL_PINNED inline void sgd(std::size_t count, T rate, const T* __restrict g, T* __restrict p) noexcept {
  RUBATO_DETAIL_EXACT
  for (std::size_t i = 0; i < count; ++i) p[i] -= rate * g[i];
}

template <std::floating_point T>
RUBATO_DETAIL_PINNED inline void momentum(std::size_t count, T rate, T momentum, const T* __restrict g, T* __restrict v,
                                          T* __restrict p) noexcept {
  RUBATO_DETAIL_EXACT
  for (std::size_t i = 0; i < count; ++i) {
    v[i] = momentum * v[i] + g[i];
    p[i] -= rate * v[i];
  }
}

template <std::floating_point T>
RUBATO_DETAIL_PINNED inline void adam(std::size_t count, const adam_step<T>& step, const T* __restrict g,
                                      T* __restrict m, T* __restrict v, T* __restrict p) noexcept {
  RUBATO_DETAIL_EXACT
  for (std::size_t i = 0; i < count; ++i) {
    m[i] = step.first_decay * m[i] + step.first_gain * g[i];
    v[i] = step.second_decay * v[i] + step.second_gain * (g[i] * g[i]);
    p[i] = step.keep * p[i] - step.rate * (m[i] / (step.root_scale * square_root(v[i]) + step.epsilon));
  }
}

template <std::floating_point T>
inline constexpr kernel_set<T> set{"portable",
                                   &evaluate<T>,
                                   &forward<T>,
                                   &activation_gradient<T>,
                                   &parameter_gradient<T>,
                                   &input_gradient<T>,
                                   &sum_of_squares<T>,
                                   &scale<T>,
                                   &sgd<T>,
                                   &momentum<T>,
                                   &adam<T>};

}  // namespace rubato::inline RUBATO_ABI::nn::kernels::portable

#endif
