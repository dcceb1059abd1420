// What trains, in one instruction set. training_for.hpp reads this file once for each, with what ../loops.hpp asks for
// defined, the name apart, and undefined by this file. Read without it, it is empty.
#ifdef RUBATO_DETAIL_SET

#include <concepts>
#include <cstddef>

#include "../../../pinned.hpp"
#include "training_kernels.hpp"

RUBATO_DETAIL_GNU_BEGIN
namespace rubato::inline RUBATO_ABI::nn::kernels::RUBATO_DETAIL_SET {

// chain() of a number or of a pack.
template <activation_kind Kind, class V, std::floating_point T>
RUBATO_DETAIL_HELPER inline void chain_at(T slope, const T* outputs, T* delta) noexcept {
  RUBATO_DETAIL_EXACT
  const V zero{};
  const V y = load<V>(outputs), d = load<V>(delta);
  if constexpr (Kind == activation_kind::tanh) {
    store(delta, static_cast<V>(d * ((T{1} - y) * (T{1} + y))));  // 1 - y * y could be contracted
  } else {
    const V below = Kind == activation_kind::relu ? zero : slope * d;
    store(delta, static_cast<V>(y > zero ? d : below));
  }
}
template <activation_kind Kind, std::floating_point T>
RUBATO_DETAIL_HELPER inline void chain_all(T slope, std::size_t count, const T* y, T* delta) noexcept {
  std::size_t i = 0;
  for (; i + width<T> <= count; i += width<T>) chain_at<Kind, pack<T>>(slope, y + i, delta + i);
  for (; i < count; ++i) chain_at<Kind, T>(slope, y + i, delta + i);
}

template <std::floating_point T>
RUBATO_DETAIL_KERNEL void activation_gradient(const activation& f, std::size_t count, const T* y, T* delta) noexcept {
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

// The biases are the weights of an input that is always 1.
template <std::floating_point T>
RUBATO_DETAIL_KERNEL void parameter_gradient(const dense_layer<T>& layer, std::size_t rows, const T* in, const T* delta,
                                             gradient_mode mode, T* weight_gradient, T* bias_gradient) noexcept {
  const std::size_t inputs = layer.inputs, outputs = layer.outputs;
  const T one = 1;
  if (mode == gradient_mode::overwrite) {
    __builtin_memset(weight_gradient, 0, inputs * outputs * sizeof(T));
    __builtin_memset(bias_gradient, 0, outputs * sizeof(T));
  }
  add_products<false, T>(inputs, outputs, {weight_gradient, outputs}, {weight_gradient, outputs}, rows,
                         {in, 1, inputs}, delta);
  add_products<false, T>(1, outputs, {bias_gradient, 0}, {bias_gradient, 0}, rows, {&one, 0, 0}, delta);
}

// Where terms of ONE sum run side by side, their number is part of the result.
inline constexpr std::size_t lanes = 8;
template <std::floating_point T>
inline constexpr std::size_t lane_packs = lanes / width<T>;

// sum[k][p] += the products of the eight-lane groups of d and of row k of `weight`, for a pack of rows.
template <std::floating_point T>
RUBATO_DETAIL_HELPER inline void add_lanes(pack<T> (&sum)[width<T>][lane_packs<T>], std::size_t count, const T* d,
                                           rows_of<const T> weight) noexcept {
  RUBATO_DETAIL_EXACT
  for (std::size_t o = 0; o < count; o += lanes) {
#pragma GCC unroll 8
    for (std::size_t p = 0; p < lane_packs<T>; ++p) {
      const std::size_t at = o + p * width<T>;
      const pack<T> shared = load<pack<T>>(d + at);
#pragma GCC unroll 8
      for (std::size_t k = 0; k < width<T>; ++k)
        sum[k][p] += shared * load<pack<T>>(weight.data + k * weight.row + at);
    }
  }
}

// total[k] = the lanes of x[k], one after another, on top of total[k].
template <std::floating_point T>
RUBATO_DETAIL_HELPER inline void add_up(pack<T>& total, const pack<T> (&sum)[width<T>][lane_packs<T>],
                                        std::size_t part) noexcept {
  RUBATO_DETAIL_EXACT
  constexpr std::size_t w = width<T>;
  pack<T> x[w], y[w];
#pragma GCC unroll 8
  for (std::size_t k = 0; k < w; ++k) x[k] = sum[k][part];
  if constexpr (w == 2) {
    y[0] = __builtin_shufflevector(x[0], x[1], 0, 2);
    y[1] = __builtin_shufflevector(x[0], x[1], 1, 3);
  } else if constexpr (w == 4) {
    pack<T> z[w];
#pragma GCC unroll 2
    for (std::size_t k = 0; k < w; k += 2) {
      z[k] = __builtin_shufflevector(x[k], x[k + 1], 0, 4, 2, 6);
      z[k + 1] = __builtin_shufflevector(x[k], x[k + 1], 1, 5, 3, 7);
    }
#pragma GCC unroll 2
    for (std::size_t k = 0; k < 2; ++k) {
      y[k] = __builtin_shufflevector(z[k], z[k + 2], 0, 1, 4, 5);
      y[k + 2] = __builtin_shufflevector(z[k], z[k + 2], 2, 3, 6, 7);
    }
  } else {
    pack<T> z[w];
#pragma GCC unroll 4
    for (std::size_t k = 0; k < w; k += 2) {  // inside each half of a pack, as the instructions do
      z[k] = __builtin_shufflevector(x[k], x[k + 1], 0, 8, 1, 9, 4, 12, 5, 13);
      z[k + 1] = __builtin_shufflevector(x[k], x[k + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
#pragma GCC unroll 2
    for (std::size_t k = 0; k < w; k += 4) {
      x[k] = __builtin_shufflevector(z[k], z[k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      x[k + 1] = __builtin_shufflevector(z[k], z[k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
      x[k + 2] = __builtin_shufflevector(z[k + 1], z[k + 3], 0, 1, 8, 9, 4, 5, 12, 13);
      x[k + 3] = __builtin_shufflevector(z[k + 1], z[k + 3], 2, 3, 10, 11, 6, 7, 14, 15);
    }
#pragma GCC unroll 4
    for (std::size_t k = 0; k < 4; ++k) {
      y[k] = __builtin_shufflevector(x[k], x[k + 4], 0, 1, 2, 3, 8, 9, 10, 11);
      y[k + 4] = __builtin_shufflevector(x[k], x[k + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
  }
#pragma GCC unroll 8
  for (std::size_t k = 0; k < w; ++k) total += y[k];
}

// One pack of inputs: `weight` are their rows, of which `rest` has what is left over from eight, zeros after it.
// A lane more that is zero changes nothing: sums start at +0, so none is -0.
template <std::floating_point T>
RUBATO_DETAIL_HELPER inline pack<T> input_gradient_at(std::size_t outputs, const T* delta, rows_of<const T> weight,
                                                      const T* rest) noexcept {
  constexpr std::size_t w = width<T>;
  pack<T> sum[w][lane_packs<T>];
#pragma GCC unroll 8
  for (std::size_t k = 0; k < w; ++k) {
#pragma GCC unroll 8
    for (std::size_t p = 0; p < lane_packs<T>; ++p) sum[k][p] = pack<T>{};
  }
  const std::size_t whole = outputs / lanes * lanes;
  add_lanes<T>(sum, whole, delta, weight);
  if (whole < outputs) {
    T padded[lanes] = {};
    for (std::size_t o = whole; o < outputs; ++o) padded[o - whole] = delta[o];
    add_lanes<T>(sum, lanes, padded, {rest, lanes});
  }
  pack<T> total{};
#pragma GCC unroll 8
  for (std::size_t p = 0; p < lane_packs<T>; ++p) add_up<T>(total, sum, p);
  return total;
}

template <std::floating_point T>
RUBATO_DETAIL_KERNEL void input_gradient(const dense_layer<T>& layer, std::size_t rows, const T* delta,
                                         const activation& below, const T* in, T* in_gradient) noexcept {
  constexpr std::size_t w = width<T>;
  const std::size_t inputs = layer.inputs, outputs = layer.outputs, whole = outputs / lanes * lanes;
  const std::size_t many = inputs < w ? 1 : w;  // inputs at a time; the last are done twice rather than fewer
  for (std::size_t next = 0; next < inputs; next += many) {
    const std::size_t first = next + many <= inputs ? next : inputs - many;
    const rows_of<const T> weight{layer.weight + first * outputs, many == w ? outputs : 0};
    T rest[w * lanes] = {};
    for (std::size_t k = 0; k < many; ++k)
      for (std::size_t o = whole; o < outputs; ++o) rest[k * lanes + o - whole] = weight.data[k * outputs + o];
    for (std::size_t row = 0; row < rows; ++row) {
      const pack<T> made = input_gradient_at<T>(outputs, delta + row * outputs, weight, rest);
      T* const to = in_gradient + row * inputs + first;
      if (many == w)
        store(to, made);
      else
        to[0] = made[0];
    }
  }
  activation_gradient(below, rows * inputs, in, in_gradient);
}

// For lstm_loops.hpp.
using gate_pack = pack<float>;
RUBATO_DETAIL_HELPER inline gate_pack add_product(const gate_pack& sum, const gate_pack& a,
                                                  const gate_pack& b) noexcept {
  RUBATO_DETAIL_EXACT
  return sum + a * b;
}

}  // namespace rubato::inline RUBATO_ABI::nn::kernels::RUBATO_DETAIL_SET
RUBATO_DETAIL_GNU_END

#include "lstm_loops.hpp"
#include "update_loops.hpp"

namespace rubato::inline RUBATO_ABI::nn::kernels::RUBATO_DETAIL_SET {

template <std::floating_point T>
inline constexpr training_kernels<T> training{&forward<T>,
                                              &activation_gradient<T>,
                                              &parameter_gradient<T>,
                                              &input_gradient<T>,
                                              &sum_of_squares<T>,
                                              &scale<T>,
                                              &sgd<T>,
                                              &momentum<T>,
                                              &adam<T>,
                                              &lstm_step<T>,
                                              &lstm_step_gradient<T>};
#if defined(RUBATO_EXTERN_KERNELS)
RUBATO_DETAIL_PLAIN_TRAINING_INSTANCES(extern, float)
RUBATO_DETAIL_PLAIN_TRAINING_INSTANCES(extern, double)
#endif

}  // namespace rubato::inline RUBATO_ABI::nn::kernels::RUBATO_DETAIL_SET

#undef RUBATO_DETAIL_SET
#undef RUBATO_DETAIL_PACK_BYTES
#undef RUBATO_DETAIL_KERNEL
#undef RUBATO_DETAIL_HELPER
#endif
