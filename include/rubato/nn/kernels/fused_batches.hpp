// Batches, in an instruction set with fused multiply-adds: read by fused_loops.hpp. Read alone, it is empty.
#ifdef RUBATO_DETAIL_SET

#include <concepts>
#include <cstddef>

#include "kernel_set.hpp"
#include "../../pinned.hpp"

namespace rubato::inline RUBATO_ABI::nn::kernels::RUBATO_DETAIL_SET {

// Tiles of Rows x Packs sums in registers: twelve of sixteen, or 24 of 32.
inline constexpr std::size_t tile_sums = width == 8 ? 12 : 24;
template <std::size_t N, std::size_t Rows, std::size_t Packs>
struct tile {
  pack<N> at[Rows][Packs];
};

// Factors x[r, n] for the n that they have come to; those of one r lie side by side. A pointer reaches three r: an
// address has room for a row or two, not for three.
template <std::size_t Rows, std::ptrdiff_t Step = 1>
struct factor_rows {
  const float* at[(Rows + 2) / 3];
  std::ptrdiff_t row;

  RUBATO_DETAIL_HELPER inline factor_rows(const float* data, std::size_t stride) noexcept
      : row{static_cast<std::ptrdiff_t>(stride)} {
#pragma GCC unroll 8
    for (std::size_t k = 0; k < (Rows + 2) / 3; ++k) at[k] = walk(data, static_cast<std::ptrdiff_t>(3 * k) * row);
  }
  RUBATO_DETAIL_HELPER inline float operator()(std::size_t r, std::ptrdiff_t ahead) const noexcept {
    return at[r / 3][static_cast<std::ptrdiff_t>(r % 3) * row + ahead];
  }
  RUBATO_DETAIL_HELPER inline void go() noexcept {
#pragma GCC unroll 8
    for (std::size_t k = 0; k < (Rows + 2) / 3; ++k) at[k] = walk(at[k], Step);
  }
};
// The same where those of one n lie side by side.
struct factor_columns {
  const float* at;
  std::ptrdiff_t step;

  RUBATO_DETAIL_HELPER inline factor_columns(const float* data, std::size_t stride) noexcept
      : at{data}, step{static_cast<std::ptrdiff_t>(stride)} {}
  RUBATO_DETAIL_HELPER inline float operator()(std::size_t r, std::ptrdiff_t) const noexcept { return at[r]; }
  RUBATO_DETAIL_HELPER inline void go() noexcept { at = walk(at, step); }
};
// Packs y[n, .], side by side.
struct pack_rows {
  const float* at;
  std::ptrdiff_t step;
};

// sum[r, p] += x[r, n] * pack p of y[n, .], `Ahead` of where x has come to; y points to the row of that n.
template <bool Whole, std::ptrdiff_t Ahead, std::size_t N, std::size_t Rows, std::size_t Packs, class Factors>
RUBATO_DETAIL_HELPER inline void add_product(tile<N, Rows, Packs>& sum, const Factors& x, const float* y,
                                             std::size_t columns) noexcept {
  pack<N> shared[Packs];
#pragma GCC unroll 8
  for (std::size_t p = 0; p < Packs; ++p) shared[p] = load_columns<Whole, N>(y + p * N, columns);
#pragma GCC unroll 8
  for (std::size_t r = 0; r < Rows; ++r) {
    const pack<N> factor = all<N>(x(r, Ahead));
#pragma GCC unroll 8
    for (std::size_t p = 0; p < Packs; ++p) sum.at[r][p] = multiply_add<N>(factor, shared[p], sum.at[r][p]);
  }
}
// The same for n from 0 to count - 1.
template <bool Whole, std::size_t N, std::size_t Rows, std::size_t Packs, class Factors>
RUBATO_DETAIL_HELPER inline void add_products(tile<N, Rows, Packs>& sum, std::size_t count, Factors x, pack_rows y,
                                              std::size_t columns) noexcept {
  for (; count > 0; --count) {
    add_product<Whole, 0>(sum, x, y.at, columns);
    y.at = walk(y.at, y.step);
    x.go();
  }
}

// The sums of evaluating::columns() for several rows, as many as there are registers for: two of each output at a time,
// which are added up, and then those pairs.
template <std::size_t N, std::size_t Packs, std::size_t Sums>
struct forward_tiles {
  RUBATO_DETAIL_HELPER inline forward_tiles(const dense_layer<float>& layer, std::size_t column, const bend& how,
                                            const float* from, float* to) noexcept
      : inputs{layer.inputs}, outputs{layer.outputs}, top{inputs / Sums * Sums}, in{from + top},
        weight{layer.weight + top * outputs + column}, bias{layer.bias + column}, out{to + column}, f{how} {}

  // Tiles in a row share what is worked out once: called for each alone, they take 6 % longer.
  template <std::size_t Rows>
  RUBATO_DETAIL_KERNEL inline void rows(std::size_t row, std::size_t tiles) const noexcept {
    const float* from = in + row * inputs;
    float* to = out + row * outputs;
    for (; tiles > 0; --tiles, from += Rows * inputs, to += Rows * outputs) one<Rows>(from, to);
  }

 private:
  template <std::size_t Rows>
  RUBATO_DETAIL_HELPER inline void one(const float* from, float* to) const noexcept {
    RUBATO_DETAIL_EXACT
    tile<N, Rows, Packs> pair[Sums / 2];
    for (std::size_t s = 0; s < Sums; s += 2) {
      tile<N, Rows, Packs> even, odd;
#pragma GCC unroll 8
      for (std::size_t p = 0; p < Packs; ++p) {
        const pack<N> first = s > 0 ? pack<N>{} : load<N>(bias + p * N);
#pragma GCC unroll 8
        for (std::size_t r = 0; r < Rows; ++r) even.at[r][p] = first, odd.at[r][p] = pack<N>{};
      }
      factor_rows<Rows, -static_cast<std::ptrdiff_t>(Sums)> x{from + s, inputs};
      const float* y = weight + s * outputs;
      if (top + s + 1 < inputs) add_product<true, 1>(odd, x, y + outputs, 0);
      if (top + s < inputs) add_product<true, 0>(even, x, y, 0);
      for (std::size_t left = top; left > 0; left -= Sums) {
        x.go();
        y = walk(y, -static_cast<std::ptrdiff_t>(Sums * outputs));
        add_product<true, 1>(odd, x, y + outputs, 0);
        add_product<true, 0>(even, x, y, 0);
      }
#pragma GCC unroll 8
      for (std::size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
        for (std::size_t p = 0; p < Packs; ++p) pair[s / 2].at[r][p] = even.at[r][p] + odd.at[r][p];
      }
    }
    const bend how = f;
#pragma GCC unroll 8
    for (std::size_t r = 0; r < Rows; ++r, to += outputs) {
#pragma GCC unroll 8
      for (std::size_t p = 0; p < Packs; ++p) {
        pack<N> sum = pair[0].at[r][p];
        if constexpr (Sums >= 4) sum += pair[1].at[r][p];
        if constexpr (Sums == 8) sum += pair[2].at[r][p] + pair[3].at[r][p];
        store<N>(to + p * N, bent<N>(how, sum));
      }
    }
  }

  std::size_t inputs;
  std::size_t outputs;
  std::size_t top;  // what is a multiple of Sums
  const float* in;  // from there on, as are the weights
  const float* weight;
  const float* bias;
  float* out;
  bend f;
};
// The last columns, fewer than eight, for a batch: the eight sums of evaluating::columns() are the lanes of a pack. The
// weights are turned round first, so that those of one column lie side by side, with zeros after the last input.
inline constexpr std::size_t longest_turned = 256;

// a's lanes added up in pairs, then b's, c's and d's.
RUBATO_DETAIL_HELPER inline pack<4> add_up_lanes(const pack<8>& a, const pack<8>& b, const pack<8>& c,
                                                 const pack<8>& d) noexcept {
  RUBATO_DETAIL_EXACT
  const pack<8> halves = __builtin_ia32_haddps256(__builtin_ia32_haddps256(a, b), __builtin_ia32_haddps256(c, d));
  return __builtin_shufflevector(halves, halves, 0, 1, 2, 3) + __builtin_shufflevector(halves, halves, 4, 5, 6, 7);
}
// Sum k of the outputs of all rows, one row after another; zeros after the last.
template <std::size_t K, std::size_t Rows, std::size_t Columns>
RUBATO_DETAIL_HELPER inline pack<8> sum_of(const tile<8, Rows, Columns>& sum) noexcept {
  if constexpr (K < Rows * Columns)
    return sum.at[K / Columns][K % Columns];
  else
    return pack<8>{};
}
template <std::size_t K, std::size_t Rows, std::size_t Columns>
RUBATO_DETAIL_HELPER inline void put_sums(const tile<8, Rows, Columns>& sum, const bend& f, float* out) noexcept {
  constexpr std::size_t left = Rows * Columns - K, count = left < 4 ? left : 4;
  store_columns<count == 4, 4>(
      out + K, bent<4>(f, add_up_lanes(sum_of<K>(sum), sum_of<K + 1>(sum), sum_of<K + 2>(sum), sum_of<K + 3>(sum))),
      count);
  if constexpr (left > 4) put_sums<K + 4>(sum, f, out);
}
// Inputs from `at` on, eight of them or, if that is not Whole, `count`.
template <bool Whole, std::size_t Rows, std::size_t Columns>
RUBATO_DETAIL_HELPER inline void add_turned(tile<8, Rows, Columns>& sum, const float (&weight)[Columns][longest_turned],
                                            const float* in, std::size_t inputs, std::size_t at,
                                            std::size_t count) noexcept {
  pack<8> shared[Columns];
#pragma GCC unroll 8
  for (std::size_t c = 0; c < Columns; ++c) shared[c] = load_columns<Whole, 8>(weight[c] + at, count);
#pragma GCC unroll 8
  for (std::size_t r = 0; r < Rows; ++r) {
    const pack<8> x = load_columns<Whole, 8>(in + r * inputs + at, count);
#pragma GCC unroll 8
    for (std::size_t c = 0; c < Columns; ++c) sum.at[r][c] = multiply_add<8>(x, shared[c], sum.at[r][c]);
  }
}
// For Rows rows, whose outputs follow one another if there is more than one.
template <std::size_t Rows, std::size_t Columns>
RUBATO_DETAIL_HELPER inline void forward_turned(const dense_layer<float>& layer, std::size_t column, const bend& f,
                                                const float (&weight)[Columns][longest_turned], const float* in,
                                                float* out) noexcept {
  const std::size_t whole = layer.inputs / 8 * 8;
  tile<8, Rows, Columns> sum;
#pragma GCC unroll 8
  for (std::size_t c = 0; c < Columns; ++c) {
    const pack<8> bias = {layer.bias[column + c]};
#pragma GCC unroll 8
    for (std::size_t r = 0; r < Rows; ++r) sum.at[r][c] = bias;
  }
  if (whole < layer.inputs) add_turned<false>(sum, weight, in, layer.inputs, whole, layer.inputs - whole);
  for (std::size_t i = whole; i > 0;) add_turned<true>(sum, weight, in, layer.inputs, i -= 8, 0);
  put_sums<0>(sum, f, out + column);
}
template <std::size_t Columns>
RUBATO_DETAIL_HELPER inline void forward_rest(const dense_layer<float>& layer, std::size_t column, const bend& f,
                                              std::size_t rows, const float* in, float* out) noexcept {
  alignas(32) float weight[Columns][longest_turned];
  const float* row = layer.weight + column;
  for (std::size_t i = 0; i < layer.inputs; ++i, row += layer.outputs) {
#pragma GCC unroll 8
    for (std::size_t c = 0; c < Columns; ++c) weight[c][i] = row[c];
  }
  std::size_t r = 0;
  if constexpr (Columns <= 3) {
    if (layer.outputs == Columns)
      for (; r + 4 <= rows; r += 4)
        forward_turned<4>(layer, column, f, weight, in + r * layer.inputs, out + r * Columns);
  }
  for (; r < rows; ++r)
    forward_turned<1>(layer, column, f, weight, in + r * layer.inputs, out + r * layer.outputs);
}
template <std::size_t Most>
RUBATO_DETAIL_HELPER inline void forward_rest_of(const dense_layer<float>& layer, std::size_t column, const bend& f,
                                                 std::size_t rows, const float* in, float* out) noexcept {
  if (layer.outputs - column == Most) return forward_rest<Most>(layer, column, f, rows, in, out);
  if constexpr (Most > 1) forward_rest_of<Most - 1>(layer, column, f, rows, in, out);
}

// As few tiles as will do, of Rows and fewer, as equal as can be: one of few rows waits for its own sums.
template <std::size_t Rows, class Op>
RUBATO_DETAIL_HELPER inline void each_tile(std::size_t begin, std::size_t end, const Op& op) noexcept {
  const std::size_t left = end - begin, tiles = (left + Rows - 1) / Rows;
  for (std::size_t more = tiles * (Rows - 1); more < left; ++more, begin += Rows) op.template rows<Rows>(begin);
  if constexpr (Rows > 1) each_tile<Rows - 1>(begin, end, op);
}
// The same, with one call for all tiles of a size.
template <std::size_t Rows, class Op>
RUBATO_DETAIL_HELPER inline void each_run(std::size_t begin, std::size_t end, const Op& op) noexcept {
  const std::size_t left = end - begin, smaller = (left + Rows - 1) / Rows * (Rows - 1);
  const std::size_t tiles = left > smaller ? left - smaller : 0;
  if (tiles > 0) op.template rows<Rows>(begin, tiles);
  if constexpr (Rows > 1) each_run<Rows - 1>(begin + tiles * Rows, end, op);
}
template <std::size_t Packs>
inline constexpr std::size_t tile_packs = Packs < 2 ? Packs : 2;

struct forwarding {
  const dense_layer<float>& layer;
  bend f;
  std::size_t rows;
  const float* in;
  float* out;

  template <bool Whole, std::size_t N, std::size_t Packs, std::size_t Sums>
  RUBATO_DETAIL_HELPER inline void columns(std::size_t column) const noexcept {
    constexpr std::size_t together = tile_packs<Packs>;
    constexpr std::size_t fit = tile_sums / (together * 2), most = fit < tile_rows ? fit : tile_rows;
    if constexpr (Whole)
      for (std::size_t p = 0; p < Packs; p += together)
        each_run<most>(0, rows, forward_tiles<N, together, Sums>{layer, column + p * N, f, in, out});
    else if (rows >= 4 && layer.inputs <= longest_turned)
      forward_rest_of<N - 1>(layer, column, f, rows, in, out);
    else
      for (std::size_t r = 0; r < rows; ++r)
        evaluating{layer, f, in + r * layer.inputs, out + r * layer.outputs}.columns<Whole, N, Packs, Sums>(column);
  }
};

template <std::same_as<float> T>
RUBATO_DETAIL_KERNEL inline void forward(const dense_layer<T>& layer, std::size_t rows, const T* in,
                                         T* out) noexcept {
  const bend f = bend_of(layer.f);
  each_panel(layer.outputs, forwarding{layer, f, rows, in, out});
  if (!f.complete) activate_outputs(layer.f, rows * layer.outputs, out);
}

// The gradient by x where y = f(x), f being complete: see chain() in ../activation.hpp.
struct chaining {
  bend f;
  const float* y;
  float* delta;

  template <bool Whole, std::size_t N>
  RUBATO_DETAIL_HELPER inline void at(std::size_t i, std::size_t count) const noexcept {
    using bits = typename pack_of<N>::bits;
    const pack<N> d = load_columns<Whole, N>(delta + i, count), below = all<N>(f.slope) * d;
    const pack<N> kept = __builtin_bit_cast(pack<N>, __builtin_bit_cast(bits, below) & f.keep);
    store_columns<Whole, N>(delta + i, load_columns<Whole, N>(y + i, count) > pack<N>{} ? d : kept, count);
  }
};
template <std::same_as<float> T>
RUBATO_DETAIL_KERNEL inline void activation_gradient(const activation& of, std::size_t count, const T* y,
                                                     T* delta) noexcept {
  const bend f = bend_of(of);
  if (!f.complete) return avx2::set<T>.activation_gradient(of, count, y, delta);
  if (of.kind != activation_kind::identity) each_pack(count, chaining{f, y, delta});
}

// to[i, o] += the sum over rows of in[., i] * delta[., o], rows from 0 on, in tiles of inputs.
template <std::size_t N, std::size_t Packs>
struct gradient_tiles {
  const dense_layer<float>& layer;
  std::size_t batch;
  const float* in;
  const float* delta;
  float* to;

  template <std::size_t Inputs>
  RUBATO_DETAIL_KERNEL inline void rows(std::size_t input) const noexcept {
    const std::size_t outputs = layer.outputs;
    float* const at = to + input * outputs;
    tile<N, Inputs, Packs> sum;
#pragma GCC unroll 8
    for (std::size_t i = 0; i < Inputs; ++i) {
#pragma GCC unroll 8
      for (std::size_t p = 0; p < Packs; ++p) sum.at[i][p] = load<N>(at + i * outputs + p * N);
    }
    add_products<true>(sum, batch, factor_columns{in + input, layer.inputs},
                       {delta, static_cast<std::ptrdiff_t>(outputs)}, 0);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < Inputs; ++i) {
#pragma GCC unroll 8
      for (std::size_t p = 0; p < Packs; ++p) store<N>(at + i * outputs + p * N, sum.at[i][p]);
    }
  }
};
// The same for the last columns, fewer than eight: the columns are the rows of the tile, and inputs lie side by side.
template <bool Whole, std::size_t N, std::size_t Packs>
struct rest_gradient_tiles {
  const dense_layer<float>& layer;
  std::size_t batch;
  std::size_t inputs;
  const float* in;
  const float* delta;
  float* to;

  template <std::size_t Columns>
  RUBATO_DETAIL_KERNEL inline void rows(std::size_t column) const noexcept {
    const std::size_t count = Whole ? N * Packs : inputs, outputs = layer.outputs;
    float turned[Columns][N * Packs];
    if constexpr (!Whole) __builtin_memset(turned, 0, sizeof(turned));
    for (std::size_t i = 0; i < count; ++i) {
#pragma GCC unroll 4
      for (std::size_t c = 0; c < Columns; ++c) turned[c][i] = to[i * outputs + column + c];
    }
    tile<N, Columns, Packs> sum;
    __builtin_memcpy(&sum, turned, sizeof(sum));
    const float* x = in;
    const float* d = delta + column;
    for (std::size_t r = 0; r < batch; ++r) {
      pack<N> factor[Columns];
#pragma GCC unroll 4
      for (std::size_t c = 0; c < Columns; ++c) factor[c] = all<N>(d[c]);
#pragma GCC unroll 4
      for (std::size_t p = 0; p < Packs; ++p) {
        const pack<N> shared = load_columns<Whole, N>(x + p * N, count);
#pragma GCC unroll 4
        for (std::size_t c = 0; c < Columns; ++c) sum.at[c][p] = multiply_add<N>(factor[c], shared, sum.at[c][p]);
      }
      x = walk(x, static_cast<std::ptrdiff_t>(layer.inputs));
      d = walk(d, static_cast<std::ptrdiff_t>(outputs));
    }
    __builtin_memcpy(turned, &sum, sizeof(sum));
    for (std::size_t i = 0; i < count; ++i) {
#pragma GCC unroll 4
      for (std::size_t c = 0; c < Columns; ++c) to[i * outputs + column + c] = turned[c][i];
    }
  }
};
template <std::same_as<float> T>
struct parameter_gradients {
  const dense_layer<T>& layer;
  std::size_t batch;
  const T* in;
  const T* delta;
  T* weight;
  T* bias;

  template <bool Whole, std::size_t N, std::size_t Packs, std::size_t>
  RUBATO_DETAIL_HELPER inline void columns(std::size_t column) const noexcept {
    constexpr std::size_t together = tile_packs<Packs>;
    if constexpr (Whole)
      for (std::size_t c = column; c < column + Packs * N; c += together * N)
        each_tile<tile_rows>(0, layer.inputs, gradient_tiles<N, together>{layer, batch, in, delta + c, weight + c});
    else
      rest_of_weights(column);
    biases<Whole, N, Packs>(column);
  }

 private:
  RUBATO_DETAIL_HELPER inline void rest_of_weights(std::size_t column) const noexcept {
    const std::size_t left = layer.outputs - column;
    std::size_t i = 0;
    for (; i + 32 <= layer.inputs; i += 32) rest_of_inputs<true, width, 32 / width>(column, left, i, 32);
    for (; i + 8 <= layer.inputs; i += 8) rest_of_inputs<true, 8, 1>(column, left, i, 8);
    if (i < layer.inputs) rest_of_inputs<false, 8, 1>(column, left, i, layer.inputs - i);
  }
  template <bool Whole, std::size_t N, std::size_t Packs>
  RUBATO_DETAIL_HELPER inline void rest_of_inputs(std::size_t column, std::size_t columns, std::size_t input,
                                                  std::size_t inputs) const noexcept {
    each_tile<3>(0, columns, rest_gradient_tiles<Whole, N, Packs>{layer, batch, inputs, in + input, delta + column,
                                                                  weight + input * layer.outputs + column});
  }
  template <bool Whole, std::size_t N, std::size_t Packs>
  RUBATO_DETAIL_HELPER inline void biases(std::size_t column) const noexcept {
    RUBATO_DETAIL_EXACT
    const std::size_t left = layer.outputs - column;
    pack<N> sum[Packs];
#pragma GCC unroll 8
    for (std::size_t p = 0; p < Packs; ++p) sum[p] = load_columns<Whole, N>(bias + column + p * N, left);
    const T* row = delta + column;
    for (std::size_t r = 0; r < batch; ++r) {
#pragma GCC unroll 8
      for (std::size_t p = 0; p < Packs; ++p) sum[p] += load_columns<Whole, N>(row + p * N, left);
      row = walk(row, static_cast<std::ptrdiff_t>(layer.outputs));
    }
#pragma GCC unroll 8
    for (std::size_t p = 0; p < Packs; ++p) store_columns<Whole, N>(bias + column + p * N, sum[p], left);
  }
};

template <std::same_as<float> T>
RUBATO_DETAIL_KERNEL inline void parameter_gradient(const dense_layer<T>& layer, std::size_t rows, const T* in,
                                                    const T* delta, T* weight_gradient, T* bias_gradient) noexcept {
  each_panel(layer.outputs, parameter_gradients<T>{layer, rows, in, delta, weight_gradient, bias_gradient});
}

// to[o, k] = from[k, o] for eight by eight numbers. Rows k and k + 4 share a pack, so that nothing changes its half.
RUBATO_DETAIL_HELPER inline void turn(const float* from, std::size_t from_stride, float* to,
                                      std::size_t to_stride) noexcept {
#pragma GCC unroll 2
  for (std::size_t half = 0; half < 8; half += 4) {
    pack<8> x[4];
#pragma GCC unroll 4
    for (std::size_t k = 0; k < 4; ++k)
      x[k] = __builtin_shufflevector(load<4>(from + k * from_stride + half),
                                     load<4>(from + (k + 4) * from_stride + half), 0, 1, 2, 3, 4, 5, 6, 7);
    const pack<8> even_low = __builtin_shufflevector(x[0], x[1], 0, 8, 1, 9, 4, 12, 5, 13);
    const pack<8> even_high = __builtin_shufflevector(x[0], x[1], 2, 10, 3, 11, 6, 14, 7, 15);
    const pack<8> odd_low = __builtin_shufflevector(x[2], x[3], 0, 8, 1, 9, 4, 12, 5, 13);
    const pack<8> odd_high = __builtin_shufflevector(x[2], x[3], 2, 10, 3, 11, 6, 14, 7, 15);
    float* const at = to + half * to_stride;
    store<8>(at, __builtin_shufflevector(even_low, odd_low, 0, 1, 8, 9, 4, 5, 12, 13));
    store<8>(at + to_stride, __builtin_shufflevector(even_low, odd_low, 2, 3, 10, 11, 6, 7, 14, 15));
    store<8>(at + 2 * to_stride, __builtin_shufflevector(even_high, odd_high, 0, 1, 8, 9, 4, 5, 12, 13));
    store<8>(at + 3 * to_stride, __builtin_shufflevector(even_high, odd_high, 2, 3, 10, 11, 6, 7, 14, 15));
  }
}

// to[r, i] = the sum over o of delta[r, o] * weight[i, o], o from 0 on. The weights of a panel of inputs are turned
// round first, some outputs at a time, so that inputs lie side by side.
inline constexpr std::size_t turned = 64;

template <bool Whole, std::size_t N, std::size_t Packs>
struct input_gradient_tiles {
  const dense_layer<float>& layer;
  std::size_t count;
  std::size_t left;
  const float* delta;
  const float* weight;
  float* to;
  bool first;

  template <std::size_t Rows>
  RUBATO_DETAIL_KERNEL inline void rows(std::size_t row) const noexcept {
    const std::size_t inputs = layer.inputs;
    float* const at = to + row * inputs;
    tile<N, Rows, Packs> sum;
#pragma GCC unroll 8
    for (std::size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
      for (std::size_t p = 0; p < Packs; ++p)
        sum.at[r][p] = first ? pack<N>{} : load_columns<Whole, N>(at + r * inputs + p * N, left);
    }
    add_products<true>(sum, count, factor_rows<Rows>{delta + row * layer.outputs, layer.outputs},
                       {weight, static_cast<std::ptrdiff_t>(N * Packs)}, 0);
#pragma GCC unroll 8
    for (std::size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
      for (std::size_t p = 0; p < Packs; ++p) store_columns<Whole, N>(at + r * inputs + p * N, sum.at[r][p], left);
    }
  }
};
struct input_gradients {
  const dense_layer<float>& layer;
  std::size_t rows;
  const float* delta;
  float* to;

  template <bool Whole, std::size_t N, std::size_t Packs, std::size_t>
  RUBATO_DETAIL_HELPER inline void columns(std::size_t column) const noexcept {
    if (layer.outputs <= few) return few_outputs<Whole, N, Packs>(column);
    constexpr std::size_t together = tile_packs<Packs>, many = together * N;
    alignas(64) float weight[turned * many];
    if constexpr (!Whole) __builtin_memset(weight, 0, sizeof(weight));
    for (std::size_t i = column; i < column + Packs * N; i += many) {
      const std::size_t left = layer.inputs - i, inputs = left < many ? left : many;
      for (std::size_t begin = 0; begin < layer.outputs; begin += turned) {
        const std::size_t count = layer.outputs - begin < turned ? layer.outputs - begin : turned;
        const float* const from = layer.weight + i * layer.outputs + begin;
        std::size_t o = 0;
        if (inputs % 8 == 0)
          for (; o + 8 <= count; o += 8)
            for (std::size_t k = 0; k < inputs; k += 8)
              turn(from + k * layer.outputs + o, layer.outputs, weight + o * many + k, many);
        for (; o < count; ++o)
          for (std::size_t k = 0; k < inputs; ++k) weight[o * many + k] = from[k * layer.outputs + o];
        each_tile<tile_rows>(
            0, rows,
            input_gradient_tiles<Whole, N, together>{layer, count, left, delta + begin, weight, to + i, begin == 0});
      }
    }
  }

 private:
  // Too few for a tile to begin and end for: rows one after another, which overlap.
  static constexpr std::size_t few = 7;

  template <bool Whole, std::size_t N, std::size_t Packs>
  RUBATO_DETAIL_HELPER inline void few_outputs(std::size_t column) const noexcept {
    const std::size_t left = layer.inputs - column, outputs = layer.outputs, count = Whole ? N * Packs : left;
    alignas(64) float weight[few * N * Packs];
    if constexpr (!Whole) __builtin_memset(weight, 0, sizeof(weight));
    for (std::size_t k = 0; k < count; ++k)
      for (std::size_t o = 0; o < outputs; ++o) weight[o * N * Packs + k] = layer.weight[(column + k) * outputs + o];
    float* row = to + column;
    const float* factor = delta;
    for (std::size_t r = 0; r < rows; ++r, row += layer.inputs) {
      tile<N, 1, Packs> sum{};
      for (std::size_t o = 0; o < outputs; ++o)
        add_product<true, 0>(sum, factor_columns{factor++, 0}, weight + o * N * Packs, 0);
#pragma GCC unroll 8
      for (std::size_t p = 0; p < Packs; ++p) store_columns<Whole, N>(row + p * N, sum.at[0][p], left);
    }
  }
};

template <std::same_as<float> T>
RUBATO_DETAIL_KERNEL inline void input_gradient(const dense_layer<T>& layer, std::size_t rows, const T* delta,
                                                T* in_gradient) noexcept {
  each_panel(layer.inputs, input_gradients{layer, rows, delta, in_gradient});
}

}  // namespace rubato::inline RUBATO_ABI::nn::kernels::RUBATO_DETAIL_SET

#endif
