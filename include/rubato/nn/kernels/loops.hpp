// The loops of one instruction set. portable.hpp and avx2.hpp each read this file once, having defined
//
//   RUBATO_DETAIL_SET         the namespace to define, which has square_root() of a number and of a pack already
//   RUBATO_DETAIL_SET_NAME    its name as a string
//   RUBATO_DETAIL_PACK_BYTES  how many bytes of numbers one instruction works on
//   RUBATO_DETAIL_KERNEL      attributes of a function that is called from outside, and
//   RUBATO_DETAIL_HELPER      of one that only these call: a compiler inlines nothing into another instruction set
//
// so every set runs the same sums. Read without them, it is empty.
#ifdef RUBATO_DETAIL_SET

#include <concepts>
#include <cstddef>

#include "kernel_set.hpp"
#include "../../pinned.hpp"

namespace rubato::inline RUBATO_ABI::nn::kernels::RUBATO_DETAIL_SET {

// A pack of numbers is an extension of both compilers, on every architecture. Each output has a sum of its own, so
// neither the width of a pack nor that of a tile changes a result. Loops over arrays of packs are unrolled by pragma:
// otherwise GCC 12 leaves the sums on the stack, at a third of the speed.
template <std::floating_point T>
inline constexpr std::size_t width = RUBATO_DETAIL_PACK_BYTES / sizeof(T);

// `to` is a number or a pack.
template <class V, std::floating_point T>
RUBATO_DETAIL_HELPER inline V load(const T* from) noexcept {
  V to;
  __builtin_memcpy(&to, from, sizeof(to));
  return to;
}
template <class V, std::floating_point T>
RUBATO_DETAIL_HELPER inline void store(T* to, const V& from) noexcept {
  __builtin_memcpy(to, &from, sizeof(from));
}

// A matrix where column c of row r is at data[r * row + c * column].
template <class T>
struct strided {
  T* data;
  std::size_t row;
  std::size_t column;
};
template <class T>
RUBATO_DETAIL_HELPER inline strided<T> part(strided<T> all, std::size_t row) noexcept {
  return {all.data + row * all.row, all.row, all.column};
}

// The same with the columns side by side.
template <class T>
struct rows_of {
  T* data;
  std::size_t row;
};
template <class T>
RUBATO_DETAIL_HELPER inline rows_of<T> part(rows_of<T> all, std::size_t row, std::size_t column) noexcept {
  return {all.data + row * all.row + column, all.row};
}

// to[r, c] = from[r, c] + the sum over n of x[r, n] * y[n, c] for Rows rows and Packs packs of columns; n goes up
// from 0, or down to it. `to` may be `from`.
template <bool Down, std::size_t Rows, std::size_t Packs, std::floating_point T>
RUBATO_DETAIL_HELPER inline void add_tile(rows_of<T> to, rows_of<const T> from, std::size_t count, strided<const T> x,
                                          rows_of<const T> y) noexcept {
  RUBATO_DETAIL_EXACT
  constexpr std::size_t w = width<T>;
  pack<T> sum[Rows][Packs];
#pragma GCC unroll 8
  for (std::size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (std::size_t p = 0; p < Packs; ++p) sum[r][p] = load<pack<T>>(from.data + r * from.row + p * w);
  }
  for (std::size_t n = 0; n < count; ++n) {
    const std::size_t at = Down ? count - 1 - n : n;
    const T* const factor = x.data + at * x.column;
    const T* const row = y.data + at * y.row;
#pragma GCC unroll 8
    for (std::size_t p = 0; p < Packs; ++p) {
      const pack<T> shared = load<pack<T>>(row + p * w);
#pragma GCC unroll 8
      for (std::size_t r = 0; r < Rows; ++r) sum[r][p] += factor[r * x.row] * shared;
    }
  }
#pragma GCC unroll 8
  for (std::size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (std::size_t p = 0; p < Packs; ++p) store(to.data + r * to.row + p * w, sum[r][p]);
  }
}

// The same for `columns` columns, less than a pack. Packs of y reach into its next row, which is read in vain; the last
// rows, where there is none, are in `edge`, a pack each.
template <bool Down, std::size_t Rows, std::floating_point T>
RUBATO_DETAIL_HELPER inline void add_narrow_tile(rows_of<T> to, rows_of<const T> from, std::size_t columns,
                                                 std::size_t count, strided<const T> x, rows_of<const T> y,
                                                 std::size_t edge_count, const T* edge) noexcept {
  constexpr std::size_t w = width<T>;
  T sum[Rows * w];
  for (std::size_t r = 0; r < Rows; ++r)
    for (std::size_t c = 0; c < w; ++c) sum[r * w + c] = c < columns ? from.data[r * from.row + c] : T{0};

  const std::size_t inside = count - edge_count;
  const rows_of<T> sums{sum, w};
  const rows_of<const T> start{sum, w};
  const strided<const T> x_edge{x.data + inside * x.column, x.row, x.column};
  if (Down) add_tile<Down, Rows, 1, T>(sums, start, edge_count, x_edge, {edge, w});
  add_tile<Down, Rows, 1, T>(sums, start, inside, x, y);
  if (!Down) add_tile<Down, Rows, 1, T>(sums, start, edge_count, x_edge, {edge, w});

  for (std::size_t r = 0; r < Rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) to.data[r * to.row + c] = sum[r * w + c];
}

// The same for any number of rows and columns; y has `columns` columns, side by side.
template <bool Down, std::floating_point T>
RUBATO_DETAIL_KERNEL inline void add_products(std::size_t rows, std::size_t columns, rows_of<T> to,
                                              rows_of<const T> from, std::size_t count, strided<const T> x,
                                              const T* y) noexcept {
  constexpr std::size_t w = width<T>;
  std::size_t c = 0;
  if (rows == 1)  // eight sums, of sixteen registers: an addition waits for that of eight ago
    for (; c + 8 * w <= columns; c += 8 * w)
      add_tile<Down, 1, 8, T>(part(to, 0, c), part(from, 0, c), count, x, {y + c, columns});
  for (; c + 4 * w <= columns; c += 4 * w) {  // eight sums again, and each pack of y is loaded once for two rows
    std::size_t r = 0;
    for (; r + 2 <= rows; r += 2)
      add_tile<Down, 2, 4, T>(part(to, r, c), part(from, r, c), count, part(x, r), {y + c, columns});
    if (r < rows) add_tile<Down, 1, 4, T>(part(to, r, c), part(from, r, c), count, part(x, r), {y + c, columns});
  }
  for (; c + w <= columns; c += w) {
    std::size_t r = 0;
    for (; r + 4 <= rows; r += 4)
      add_tile<Down, 4, 1, T>(part(to, r, c), part(from, r, c), count, part(x, r), {y + c, columns});
    for (; r < rows; ++r)
      add_tile<Down, 1, 1, T>(part(to, r, c), part(from, r, c), count, part(x, r), {y + c, columns});
  }
  if (c == columns) return;

  const std::size_t left = columns - c, reach = (w - left + columns - 1) / columns;
  const std::size_t edge_count = reach < count ? reach : count;
  T edge[w * w] = {};
  for (std::size_t e = 0; e < edge_count; ++e)
    for (std::size_t k = 0; k < left; ++k) edge[e * w + k] = y[(count - edge_count + e) * columns + c + k];
  std::size_t r = 0;
  for (; r + 4 <= rows; r += 4)
    add_narrow_tile<Down, 4, T>(part(to, r, c), part(from, r, c), left, count, part(x, r), {y + c, columns},
                                edge_count, edge);
  for (; r < rows; ++r)
    add_narrow_tile<Down, 1, T>(part(to, r, c), part(from, r, c), left, count, part(x, r), {y + c, columns},
                                edge_count, edge);
}

// activate() and chain() of a number or of a pack, without branches: the signs of hidden units cannot be predicted.
template <activation_kind Kind, class V, std::floating_point T>
RUBATO_DETAIL_HELPER inline void activate_at(T slope, T* values) noexcept {
  RUBATO_DETAIL_EXACT
  const V zero{};
  const V x = load<V>(values);
  const V below = Kind == activation_kind::relu ? zero : slope * x;
  store(values, static_cast<V>(x < zero ? below : x));
}
template <activation_kind Kind, std::floating_point T>
RUBATO_DETAIL_HELPER inline void activate_all(T slope, std::size_t count, T* values) noexcept {
  std::size_t i = 0;
  for (; i + width<T> <= count; i += width<T>) activate_at<Kind, pack<T>>(slope, values + i);
  for (; i < count; ++i) activate_at<Kind, T>(slope, values + i);
}

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
RUBATO_DETAIL_KERNEL inline void activate_outputs(const activation& f, std::size_t count, T* out) noexcept {
  const T slope = static_cast<T>(f.slope);
  switch (f.kind) {
    case activation_kind::relu:
      return activate_all<activation_kind::relu>(slope, count, out);
    case activation_kind::leaky_relu:
      return activate_all<activation_kind::leaky_relu>(slope, count, out);
    case activation_kind::tanh:
      for (std::size_t i = 0; i < count; ++i) out[i] = activate<activation_kind::tanh>(out[i], slope);
      return;
    default:
      return;
  }
}

template <std::floating_point T>
RUBATO_DETAIL_KERNEL inline void forward(const dense_layer<T>& layer, std::size_t rows, const T* in, T* out) noexcept {
  add_products<true, T>(rows, layer.outputs, {out, layer.outputs}, {layer.bias, 0}, layer.inputs,
                        {in, layer.inputs, 1}, layer.weight);
  activate_outputs(layer.f, rows * layer.outputs, out);
}

// All layers but the first, of which `in` are the outputs.
template <std::floating_point T>
RUBATO_DETAIL_KERNEL inline void evaluate_rest(const network<T>& net, const T* in, T* scratch, T* out) noexcept {
  for (std::size_t l = 1; l < net.layers; ++l) {
    T* const to = l + 1 == net.layers ? out : scratch + l % 2 * net.width;
    forward(net.layer(l), 1, in, to);
    in = to;
  }
}
template <std::floating_point T>
RUBATO_DETAIL_KERNEL inline void evaluate(const network<T>& net, const T* in, T* scratch, T* out) noexcept {
  T* const to = net.layers == 1 ? out : scratch;
  forward(net.layer(0), 1, in, to);
  evaluate_rest(net, to, scratch, out);
}
template <std::floating_point T>
RUBATO_DETAIL_KERNEL inline void begin(const dense_layer<T>& first, std::size_t newest, const T* in,
                                       T* sums) noexcept {
  add_products<true, T>(1, first.outputs, {sums, 0}, {first.bias, 0}, first.inputs - newest, {in + newest, 0, 1},
                        first.weight + newest * first.outputs);
}
template <std::floating_point T>
RUBATO_DETAIL_KERNEL inline void finish(const network<T>& net, std::size_t newest, const T* in, const T* sums,
                                        T* scratch, T* out) noexcept {
  const dense_layer<T> first = net.layer(0);
  T* const to = net.layers == 1 ? out : scratch;
  add_products<true, T>(1, first.outputs, {to, 0}, {sums, 0}, newest, {in, 0, 1}, first.weight);
  activate_outputs(first.f, first.outputs, to);
  evaluate_rest(net, to, scratch, out);
}

template <std::floating_point T>
RUBATO_DETAIL_KERNEL inline void activation_gradient(const activation& f, std::size_t count, const T* y,
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

// The biases are the weights of an input that is always 1.
template <std::floating_point T>
RUBATO_DETAIL_KERNEL inline void parameter_gradient(const dense_layer<T>& layer, std::size_t rows, const T* in,
                                                    const T* delta, gradient_mode mode, T* weight_gradient,
                                                    T* bias_gradient) noexcept {
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
RUBATO_DETAIL_KERNEL inline void input_gradient(const dense_layer<T>& layer, std::size_t rows, const T* delta,
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

#include "lstm_loops.hpp"
#include "update_loops.hpp"

namespace rubato::inline RUBATO_ABI::nn::kernels::RUBATO_DETAIL_SET {

template <std::floating_point T>
inline constexpr kernel_set<T> set{RUBATO_DETAIL_SET_NAME,
                                   &evaluate<T>,
                                   &begin<T>,
                                   &finish<T>,
                                   &forward<T>,
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

}  // namespace rubato::inline RUBATO_ABI::nn::kernels::RUBATO_DETAIL_SET

#endif
