// Batches, in an instruction set with fused multiply-adds: read by fused_loops.hpp. Read alone, it is empty.
#ifdef RUBATO_DETAIL_SET

#include <cstddef>

#include "kernel_set.hpp"
#include "../../pinned.hpp"

namespace rubato::inline RUBATO_ABI::nn::kernels::RUBATO_DETAIL_SET {

// Tiles of Rows x Packs sums in registers.
template <std::size_t N, std::size_t Rows, std::size_t Packs>
struct tile {
  pack<N> at[Rows][Packs];
};

// A matrix that walks: element (r, n) is at data[r * row + n * step].
struct walking {
  const float* data;
  std::ptrdiff_t row;
  std::ptrdiff_t step;
};

// sum[r, p] += x[r, n] * pack p of y[., n], for n from 0 to count - 1; columns of y lie side by side.
template <bool Whole, std::size_t N, std::size_t Rows, std::size_t Packs>
RUBATO_DETAIL_HELPER inline void add_products(tile<N, Rows, Packs>& sum, std::size_t count, walking x, walking y,
                                              std::size_t columns) noexcept {
  for (; count > 0; --count) {
    pack<N> shared[Packs];
#pragma GCC unroll 8
    for (std::size_t p = 0; p < Packs; ++p) shared[p] = load_columns<Whole, N>(y.data + p * N, columns);
    y.data = walk(y.data, y.step);
#pragma GCC unroll 8
    for (std::size_t r = 0; r < Rows; ++r) {
      const pack<N> factor = all<N>(x.data[static_cast<std::ptrdiff_t>(r) * x.row]);
#pragma GCC unroll 8
      for (std::size_t p = 0; p < Packs; ++p) sum.at[r][p] = multiply_add<N>(factor, shared[p], sum.at[r][p]);
    }
    x.data = walk(x.data, x.step);
  }
}

// The sums of evaluating::columns() for several rows: one after another, where those run side by side.
template <bool Whole, std::size_t N, std::size_t Rows, std::size_t Packs, std::size_t Sums>
RUBATO_DETAIL_HELPER inline void forward_tile(const dense_layer<float>& layer, std::size_t column, const bend& f,
                                              const float* in, float* out) noexcept {
  RUBATO_DETAIL_EXACT
  const std::size_t columns = layer.outputs - column;
  const auto inputs = static_cast<std::ptrdiff_t>(layer.inputs), outputs = static_cast<std::ptrdiff_t>(layer.outputs);
  tile<N, Rows, Packs> part[Sums];
  for (std::size_t s = 0; s < Sums; ++s) {
    tile<N, Rows, Packs> sum;
#pragma GCC unroll 8
    for (std::size_t p = 0; p < Packs; ++p) {
      const pack<N> first = s > 0 ? pack<N>{} : load_columns<Whole, N>(layer.bias + column + p * N, columns);
#pragma GCC unroll 8
      for (std::size_t r = 0; r < Rows; ++r) sum.at[r][p] = first;
    }
    const std::size_t count = (layer.inputs + Sums - 1 - s) / Sums;
    if (count > 0) {
      const std::size_t last = s + (count - 1) * Sums;
      constexpr auto step = static_cast<std::ptrdiff_t>(Sums);
      add_products<Whole>(sum, count, {in + last, inputs, -step},
                          {layer.weight + last * layer.outputs + column, 0, -step * outputs}, columns);
    }
    part[s] = sum;
  }
#pragma GCC unroll 8
  for (std::size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (std::size_t p = 0; p < Packs; ++p) {
      for (std::size_t step = 1; step < Sums; step *= 2)
        for (std::size_t s = 0; s < Sums; s += 2 * step) part[s].at[r][p] += part[s + step].at[r][p];
      store_columns<Whole, N>(out + r * layer.outputs + column + p * N, bent<N>(f, part[0].at[r][p]), columns);
    }
  }
}
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
template <std::size_t Columns>
RUBATO_DETAIL_HELPER inline void forward_rest(const dense_layer<float>& layer, std::size_t column, const bend& f,
                                              std::size_t rows, const float* in, float* out) noexcept {
  const std::size_t whole = layer.inputs / 8 * 8, over = layer.inputs - whole;
  alignas(32) float weight[Columns][longest_turned];
  for (std::size_t i = 0; i < layer.inputs; ++i)
    for (std::size_t c = 0; c < Columns; ++c) weight[c][i] = layer.weight[i * layer.outputs + column + c];
  for (std::size_t r = 0; r < rows; ++r, in += layer.inputs, out += layer.outputs) {
    pack<8> sum[8] = {};
#pragma GCC unroll 8
    for (std::size_t c = 0; c < Columns; ++c) sum[c][0] = layer.bias[column + c];
    if (over > 0) {
      const pack<8> x = load_some<8>(in + whole, over);
#pragma GCC unroll 8
      for (std::size_t c = 0; c < Columns; ++c)
        sum[c] = multiply_add<8>(x, load_some<8>(weight[c] + whole, over), sum[c]);
    }
    for (std::size_t i = whole; i > 0;) {
      i -= 8;
      const pack<8> x = load<8>(in + i);
#pragma GCC unroll 8
      for (std::size_t c = 0; c < Columns; ++c) sum[c] = multiply_add<8>(x, load<8>(weight[c] + i), sum[c]);
    }
    constexpr std::size_t first = Columns < 4 ? Columns : 4;
    store_columns<first == 4, 4>(out + column, bent<4>(f, add_up_lanes(sum[0], sum[1], sum[2], sum[3])), first);
    if constexpr (Columns > 4)
      store_columns<false, 4>(out + column + 4, bent<4>(f, add_up_lanes(sum[4], sum[5], sum[6], sum[7])), Columns - 4);
  }
}
template <std::size_t Most>
RUBATO_DETAIL_HELPER inline void forward_rest_of(const dense_layer<float>& layer, std::size_t column, const bend& f,
                                                 std::size_t rows, const float* in, float* out) noexcept {
  if (layer.outputs - column == Most) return forward_rest<Most>(layer, column, f, rows, in, out);
  if constexpr (Most > 1) forward_rest_of<Most - 1>(layer, column, f, rows, in, out);
}

// Tiles of Rows, then of four, two and one.
template <std::size_t Rows, class Op>
RUBATO_DETAIL_HELPER inline void each_tile(std::size_t begin, std::size_t end, const Op& op) noexcept {
  for (; begin + Rows <= end; begin += Rows) op.template rows<Rows>(begin);
  if constexpr (Rows > 1) each_tile<(Rows > 4 ? 4 : Rows / 2)>(begin, end, op);
}
template <std::size_t Packs>
inline constexpr std::size_t tile_packs = Packs < 2 ? Packs : 2;

template <bool Whole, std::size_t N, std::size_t Packs, std::size_t Sums>
struct forward_tiles {
  const dense_layer<float>& layer;
  std::size_t column;
  bend f;
  const float* in;
  float* out;

  template <std::size_t Rows>
  RUBATO_DETAIL_HELPER inline void rows(std::size_t row) const noexcept {
    forward_tile<Whole, N, Rows, Packs, Sums>(layer, column, f, in + row * layer.inputs, out + row * layer.outputs);
  }
};
struct forwarding {
  const dense_layer<float>& layer;
  bend f;
  std::size_t rows;
  const float* in;
  float* out;

  template <bool Whole, std::size_t N, std::size_t Packs, std::size_t Sums>
  RUBATO_DETAIL_HELPER inline void columns(std::size_t column) const noexcept {
    constexpr std::size_t together = tile_packs<Packs>;
    if constexpr (Whole)
      for (std::size_t p = 0; p < Packs; p += together)
        each_tile<tile_rows>(0, rows, forward_tiles<Whole, N, together, Sums>{layer, column + p * N, f, in, out});
    else if (rows >= 4 && layer.inputs <= longest_turned)
      forward_rest_of<N - 1>(layer, column, f, rows, in, out);
    else
      for (std::size_t r = 0; r < rows; ++r)
        evaluating{layer, f, in + r * layer.inputs, out + r * layer.outputs}.columns<Whole, N, Packs, Sums>(column);
  }
};

RUBATO_DETAIL_KERNEL inline void forward(const dense_layer<float>& layer, std::size_t rows, const float* in,
                                         float* out) noexcept {
  const bend f = bend_of(layer.f);
  each_panel(layer.outputs, forwarding{layer, f, rows, in, out});
  if (!f.complete) activate_outputs(layer.f, rows * layer.outputs, out);
}

// to[i, o] += the sum over rows of in[., i] * delta[., o], rows from 0 on, in tiles of inputs.
template <bool Whole, std::size_t N, std::size_t Packs>
struct gradient_tiles {
  std::size_t batch;
  std::size_t columns;
  walking in;
  walking delta;
  float* to;
  std::size_t stride;

  template <std::size_t Inputs>
  RUBATO_DETAIL_HELPER inline void rows(std::size_t input) const noexcept {
    float* const at = to + input * stride;
    tile<N, Inputs, Packs> sum;
#pragma GCC unroll 8
    for (std::size_t i = 0; i < Inputs; ++i) {
#pragma GCC unroll 8
      for (std::size_t p = 0; p < Packs; ++p) sum.at[i][p] = load_columns<Whole, N>(at + i * stride + p * N, columns);
    }
    add_products<Whole>(sum, batch, {in.data + input, in.row, in.step}, delta, columns);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < Inputs; ++i) {
#pragma GCC unroll 8
      for (std::size_t p = 0; p < Packs; ++p) store_columns<Whole, N>(at + i * stride + p * N, sum.at[i][p], columns);
    }
  }
};
// The same for the last columns, fewer than eight: the columns are the rows of the tile, and inputs lie side by side.
template <bool Whole, std::size_t Packs>
struct rest_gradient_tiles {
  std::size_t batch;
  std::size_t inputs;
  walking delta;
  walking in;
  float* to;
  std::size_t stride;

  template <std::size_t Columns>
  RUBATO_DETAIL_HELPER inline void rows(std::size_t column) const noexcept {
    const std::size_t count = Whole ? 8 * Packs : inputs;
    float turned[Columns][8 * Packs] = {};
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t c = 0; c < Columns; ++c) turned[c][i] = to[i * stride + column + c];
    tile<8, Columns, Packs> sum;
    __builtin_memcpy(&sum, turned, sizeof(sum));
    add_products<Whole>(sum, batch, {delta.data + column, delta.row, delta.step}, in, inputs);
    __builtin_memcpy(turned, &sum, sizeof(sum));
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t c = 0; c < Columns; ++c) to[i * stride + column + c] = turned[c][i];
  }
};
struct parameter_gradients {
  const dense_layer<float>& layer;
  std::size_t rows;
  const float* in;
  const float* delta;
  float* weight;
  float* bias;

  template <bool Whole, std::size_t N, std::size_t Packs, std::size_t>
  RUBATO_DETAIL_HELPER inline void columns(std::size_t column) const noexcept {
    constexpr std::size_t together = tile_packs<Packs>;
    const float one = 1;  // the biases are the weights of an input that is always 1
    for (std::size_t c = column; c < column + Packs * N; c += together * N) {
      const std::size_t left = layer.outputs - c;
      const walking slopes{delta + c, 0, static_cast<std::ptrdiff_t>(layer.outputs)};
      const auto step = static_cast<std::ptrdiff_t>(layer.inputs);
      if constexpr (Whole)
        each_tile<tile_rows>(0, layer.inputs, gradient_tiles<Whole, N, together>{rows, left, {in, 1, step}, slopes,
                                                                                 weight + c, layer.outputs});
      else
        rest_of_weights(c, {delta + c, 1, slopes.step});
      each_tile<1>(0, 1, gradient_tiles<Whole, N, together>{rows, left, {&one, 0, 0}, slopes, bias + c, 0});
    }
  }

 private:
  RUBATO_DETAIL_HELPER inline void rest_of_weights(std::size_t column, const walking& slopes) const noexcept {
    const std::size_t stride = layer.outputs, left = stride - column;
    const auto step = static_cast<std::ptrdiff_t>(layer.inputs);
    std::size_t i = 0;
    for (; i + 32 <= layer.inputs; i += 32)
      each_tile<2>(0, left, rest_gradient_tiles<true, 4>{rows, 32, slopes, {in + i, 0, step},
                                                         weight + i * stride + column, stride});
    for (; i + 8 <= layer.inputs; i += 8)
      each_tile<4>(0, left, rest_gradient_tiles<true, 1>{rows, 8, slopes, {in + i, 0, step},
                                                         weight + i * stride + column, stride});
    if (i < layer.inputs)
      each_tile<4>(0, left, rest_gradient_tiles<false, 1>{rows, layer.inputs - i, slopes, {in + i, 0, step},
                                                          weight + i * stride + column, stride});
  }
};

RUBATO_DETAIL_KERNEL inline void parameter_gradient(const dense_layer<float>& layer, std::size_t rows, const float* in,
                                                    const float* delta, float* weight_gradient,
                                                    float* bias_gradient) noexcept {
  each_panel(layer.outputs, parameter_gradients{layer, rows, in, delta, weight_gradient, bias_gradient});
}

// to[o, k] = from[k, o] for eight by eight numbers.
RUBATO_DETAIL_HELPER inline void turn(const float* from, std::size_t from_stride, float* to,
                                      std::size_t to_stride) noexcept {
  pack<8> x[8], y[8];
#pragma GCC unroll 8
  for (std::size_t k = 0; k < 8; ++k) x[k] = load<8>(from + k * from_stride);
#pragma GCC unroll 4
  for (std::size_t k = 0; k < 8; k += 2) {  // inside each half of a pack, as the instructions do
    y[k] = __builtin_shufflevector(x[k], x[k + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    y[k + 1] = __builtin_shufflevector(x[k], x[k + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
#pragma GCC unroll 2
  for (std::size_t k = 0; k < 8; k += 4) {
    x[k] = __builtin_shufflevector(y[k], y[k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    x[k + 1] = __builtin_shufflevector(y[k], y[k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    x[k + 2] = __builtin_shufflevector(y[k + 1], y[k + 3], 0, 1, 8, 9, 4, 5, 12, 13);
    x[k + 3] = __builtin_shufflevector(y[k + 1], y[k + 3], 2, 3, 10, 11, 6, 7, 14, 15);
  }
#pragma GCC unroll 4
  for (std::size_t k = 0; k < 4; ++k) {
    store<8>(to + k * to_stride, __builtin_shufflevector(x[k], x[k + 4], 0, 1, 2, 3, 8, 9, 10, 11));
    store<8>(to + (k + 4) * to_stride, __builtin_shufflevector(x[k], x[k + 4], 4, 5, 6, 7, 12, 13, 14, 15));
  }
}

// to[r, i] = the sum over o of delta[r, o] * weight[i, o], o from 0 on. The weights of a panel of inputs are turned
// round first, some outputs at a time, so that inputs lie side by side.
inline constexpr std::size_t turned = 64;

template <bool Whole, std::size_t N, std::size_t Packs>
struct input_gradient_tiles {
  std::size_t count;
  std::size_t inputs;
  walking delta;
  const float* weight;
  float* to;
  std::size_t stride;
  bool first;

  template <std::size_t Rows>
  RUBATO_DETAIL_HELPER inline void rows(std::size_t row) const noexcept {
    float* const at = to + row * stride;
    tile<N, Rows, Packs> sum;
#pragma GCC unroll 8
    for (std::size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
      for (std::size_t p = 0; p < Packs; ++p)
        sum.at[r][p] = first ? pack<N>{} : load_columns<Whole, N>(at + r * stride + p * N, inputs);
    }
    add_products<true>(sum, count, {delta.data + static_cast<std::ptrdiff_t>(row) * delta.row, delta.row, delta.step},
                       {weight, 0, N * Packs}, N);
#pragma GCC unroll 8
    for (std::size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
      for (std::size_t p = 0; p < Packs; ++p) store_columns<Whole, N>(at + r * stride + p * N, sum.at[r][p], inputs);
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
    constexpr std::size_t together = tile_packs<Packs>, many = together * N;
    alignas(64) float weight[turned * many] = {};
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
        const walking slopes{delta + begin, static_cast<std::ptrdiff_t>(layer.outputs), 1};
        each_tile<tile_rows>(0, rows, input_gradient_tiles<Whole, N, together>{count, left, slopes, weight, to + i,
                                                                               layer.inputs, begin == 0});
      }
    }
  }
};

RUBATO_DETAIL_KERNEL inline void input_gradient(const dense_layer<float>& layer, std::size_t rows, const float* delta,
                                                float* in_gradient) noexcept {
  each_panel(layer.inputs, input_gradients{layer, rows, delta, in_gradient});
}

}  // namespace rubato::inline RUBATO_ABI::nn::kernels::RUBATO_DETAIL_SET

#endif
