// Gradients of batches, in an instruction set with fused multiply-adds: read by fused_loops.hpp. Read alone, it is
// empty.
#ifdef RUBATO_DETAIL_SET

#include <concepts>
#include <cstddef>

#include "kernel_set.hpp"
#include "../../pinned.hpp"

namespace rubato::inline RUBATO_ABI::nn::kernels::RUBATO_DETAIL_SET {

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
  RUBATO_DETAIL_KERNEL inline void rows(std::size_t input, std::size_t tiles) const noexcept {
    const float* x = in + input;
    float* at = to + input * layer.outputs;
    for (; tiles > 0; --tiles, x += Inputs, at += Inputs * layer.outputs) one<Inputs>(x, at);
  }

 private:
  template <std::size_t Inputs>
  RUBATO_DETAIL_HELPER inline void one(const float* x, float* at) const noexcept {
    const std::size_t outputs = layer.outputs;
    tile<N, Inputs, Packs> sum;
#pragma GCC unroll 8
    for (std::size_t i = 0; i < Inputs; ++i) {
#pragma GCC unroll 8
      for (std::size_t p = 0; p < Packs; ++p) sum.at[i][p] = load<N>(at + i * outputs + p * N);
    }
    add_products<true>(sum, batch, factor_columns{x, layer.inputs},
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
  RUBATO_DETAIL_KERNEL inline void rows(std::size_t column, std::size_t tiles) const noexcept {
    for (; tiles > 0; --tiles, column += Columns) one<Columns>(column);
  }

 private:
  template <std::size_t Columns>
  RUBATO_DETAIL_HELPER inline void one(std::size_t column) const noexcept {
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
  RUBATO_DETAIL_KERNEL inline void rows(std::size_t row, std::size_t tiles) const noexcept {
    const float* y = delta + row * layer.outputs;
    float* at = to + row * layer.inputs;
    for (; tiles > 0; --tiles, y += Rows * layer.outputs, at += Rows * layer.inputs) one<Rows>(y, at);
  }

 private:
  template <std::size_t Rows>
  RUBATO_DETAIL_HELPER inline void one(const float* y, float* at) const noexcept {
    const std::size_t inputs = layer.inputs;
    tile<N, Rows, Packs> sum;
#pragma GCC unroll 8
    for (std::size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
      for (std::size_t p = 0; p < Packs; ++p)
        sum.at[r][p] = first ? pack<N>{} : load_columns<Whole, N>(at + r * inputs + p * N, left);
    }
    add_products<true>(sum, count, factor_rows<Rows>{y, layer.outputs},
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
