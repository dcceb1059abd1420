// Gradients of batches, in an instruction set with fused multiply-adds: read by fused_loops.hpp. Read alone, it is
// empty.
#ifdef RUBATO_DETAIL_SET

#include <concepts>
#include <cstddef>

#include "../../../pinned.hpp"
#include "training_kernels.hpp"

RUBATO_DETAIL_GNU_BEGIN
namespace rubato::inline RUBATO_ABI::nn::kernels::RUBATO_DETAIL_SET {

// The gradient by x where y = f(x), f being complete: see chain() in ../activation.hpp.
template <std::size_t N>
RUBATO_DETAIL_HELPER inline pack<N> chained(const bend& f, const pack<N>& y, const pack<N>& delta) noexcept {
  using bits = typename pack_of<N>::bits;
  const pack<N> below = all<N>(f.slope) * delta;
  return y > pack<N>{} ? delta : __builtin_bit_cast(pack<N>, __builtin_bit_cast(bits, below) & f.keep);
}
struct chaining {
  bend f;
  const float* y;
  float* delta;

  template <bool Whole, std::size_t N>
  RUBATO_DETAIL_HELPER inline void at(std::size_t i, std::size_t count) const noexcept {
    const pack<N> value = load_columns<Whole, N>(y + i, count), d = load_columns<Whole, N>(delta + i, count);
    store_columns<Whole, N>(delta + i, chained<N>(f, value, d), count);
  }
};
template <std::same_as<float> T>
RUBATO_DETAIL_KERNEL void activation_gradient(const activation& of, std::size_t count, const T* y, T* delta) noexcept {
  const bend f = bend_of(of);
  if (!f.complete) return avx2::training<T>.activation_gradient(of, count, y, delta);
  if (of.kind != activation_kind::identity) each_pack(count, chaining{f, y, delta});
}

// to[i, o] += the sum over rows of in[., i] * delta[., o], or = it, rows from 0 on, in tiles of inputs. The last tile
// has the biases, too, as the weights of an input that is always 1.
template <std::size_t N, std::size_t Packs>
struct gradient_tiles {
  std::size_t inputs;
  std::size_t outputs;
  std::size_t batch;
  const float* in;
  const float* delta;
  bool adds;
  float* to;
  float* bias;

  template <std::size_t Inputs>
  RUBATO_DETAIL_KERNEL inline void rows(std::size_t input, std::size_t tiles) const noexcept {
    const gradient_tiles here = *this;  // no gradient is one of its members, as far as the compiler knows
    const bool last = input + tiles * Inputs == here.inputs;
    const float* x = here.in + input;
    float* at = here.to + input * here.outputs;
    if (last) --tiles;
    for (; tiles > 0; --tiles, x += Inputs, at += Inputs * here.outputs) here.template one<Inputs, false>(x, at);
    if (last) here.template one<Inputs, true>(x, at);
  }

 private:
  template <std::size_t Inputs, bool Bias>
  RUBATO_DETAIL_HELPER inline void one(const float* x, float* at) const noexcept {
    RUBATO_DETAIL_EXACT
    tile<N, Inputs + 1, Packs> sum;
#pragma GCC unroll 8
    for (std::size_t p = 0; p < Packs; ++p) {
#pragma GCC unroll 8
      for (std::size_t i = 0; i < Inputs; ++i) sum.at[i][p] = adds ? load<N>(at + i * outputs + p * N) : pack<N>{};
      if constexpr (Bias) sum.at[Inputs][p] = adds ? load<N>(bias + p * N) : pack<N>{};
    }
    const float* y = delta;
    for (std::size_t r = batch; r > 0; --r) {
      pack<N> shared[Packs];
#pragma GCC unroll 8
      for (std::size_t p = 0; p < Packs; ++p) {
        shared[p] = load<N>(y + p * N);
        if constexpr (Bias) sum.at[Inputs][p] += shared[p];
      }
#pragma GCC unroll 8
      for (std::size_t i = 0; i < Inputs; ++i) {
        const pack<N> factor = all<N>(x[i]);
#pragma GCC unroll 8
        for (std::size_t p = 0; p < Packs; ++p) sum.at[i][p] = multiply_add<N>(factor, shared[p], sum.at[i][p]);
      }
      x = walk(x, static_cast<std::ptrdiff_t>(inputs));
      y = walk(y, static_cast<std::ptrdiff_t>(outputs));
    }
#pragma GCC unroll 8
    for (std::size_t p = 0; p < Packs; ++p) {
#pragma GCC unroll 8
      for (std::size_t i = 0; i < Inputs; ++i) store<N>(at + i * outputs + p * N, sum.at[i][p]);
      if constexpr (Bias) store<N>(bias + p * N, sum.at[Inputs][p]);
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
  bool adds;
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
    const bool threes = Whole && Columns == 3 && outputs == 3;
    if (!Whole || !adds) __builtin_memset(turned, 0, sizeof(turned));
    for (std::size_t i = 0; adds && threes && i < count; i += 8)
      columns_of_three(to + 3 * i, turned[0] + i, turned[Columns / 2] + i, turned[Columns - 1] + i);
    for (std::size_t i = 0; adds && !threes && i < count; ++i) {
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
    for (std::size_t i = 0; threes && i < count; i += 8)
      rows_of_three(turned[0] + i, turned[Columns / 2] + i, turned[Columns - 1] + i, to + 3 * i);
    for (std::size_t i = 0; !threes && i < count; ++i) {
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
  bool adds;
  T* weight;
  T* bias;

  template <bool Whole, std::size_t N, std::size_t Packs, std::size_t>
  RUBATO_DETAIL_HELPER inline void columns(std::size_t column) const noexcept {
    constexpr std::size_t together = tile_packs<Packs>;
    if constexpr (Whole) {
      for (std::size_t c = column; c < column + Packs * N; c += together * N)
        each_tile<tile_rows<together>>(
            0, layer.inputs,
            gradient_tiles<N, together>{layer.inputs, layer.outputs, batch, in, delta + c, adds, weight + c, bias + c});
    } else {
      rest_of_weights(column);
      rest_of_biases<N>(column);
    }
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
    each_tile<3>(0, columns,
                 rest_gradient_tiles<Whole, N, Packs>{layer, batch, inputs, in + input, delta + column, adds,
                                                      weight + input * layer.outputs + column});
  }
  template <std::size_t N>
  RUBATO_DETAIL_HELPER inline void rest_of_biases(std::size_t column) const noexcept {
    RUBATO_DETAIL_EXACT
    const std::size_t left = layer.outputs - column;
    pack<N> sum = adds ? load_some<N>(bias + column, left) : pack<N>{};
    const T* row = delta + column;
    for (std::size_t r = 0; r < batch; ++r) {
      sum += load_some<N>(row, left);
      row = walk(row, static_cast<std::ptrdiff_t>(layer.outputs));
    }
    store_columns<false, N>(bias + column, sum, left);
  }
};

template <std::same_as<float> T>
RUBATO_DETAIL_KERNEL void parameter_gradient(const dense_layer<T>& layer, std::size_t rows, const T* in, const T* delta,
                                             gradient_mode mode, T* weight_gradient, T* bias_gradient) noexcept {
  each_panel(layer.outputs, parameter_gradients<T>{layer, rows, in, delta, mode == gradient_mode::accumulate,
                                                   weight_gradient, bias_gradient});
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

// to[r, i] = the sum over o of delta[r, o] * weight[i, o], o from 0 on, and then the chain rule where `in` is the
// output of a function that is complete. The weights of a panel of inputs are turned round first, some outputs at a
// time, so that inputs lie side by side.
inline constexpr std::size_t turned = 64;

template <bool Whole, std::size_t N, std::size_t Packs>
struct input_gradient_tiles {
  std::size_t inputs;
  std::size_t outputs;
  bend f;
  std::size_t count;
  std::size_t left;
  const float* delta;
  const float* weight;
  const float* in;  // none if this is not the last of a sum
  float* to;
  bool first;

  template <std::size_t Rows>
  RUBATO_DETAIL_KERNEL inline void rows(std::size_t row, std::size_t tiles) const noexcept {
    const input_gradient_tiles here = *this;  // no gradient is one of its members, as far as the compiler knows
    const float* y = here.delta + row * here.outputs;
    const float* x = here.in == nullptr ? nullptr : here.in + row * here.inputs;
    float* at = here.to + row * here.inputs;
    for (; tiles > 0; --tiles, y += Rows * here.outputs, at += Rows * here.inputs) {
      tile<N, Rows, Packs> sum = here.template products<Rows>(y, at);
      if (x != nullptr) {
        here.chain(sum, x);
        x += Rows * here.inputs;
      }
      here.put(sum, at);
    }
  }

 private:
  template <std::size_t Rows>
  RUBATO_DETAIL_HELPER inline tile<N, Rows, Packs> products(const float* y, const float* at) const noexcept {
    tile<N, Rows, Packs> sum;
#pragma GCC unroll 8
    for (std::size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
      for (std::size_t p = 0; p < Packs; ++p)
        sum.at[r][p] = first ? pack<N>{} : load_columns<Whole, N>(at + r * inputs + p * N, left);
    }
    add_products<true>(sum, count, factor_rows<Rows>{y, outputs}, {weight, static_cast<std::ptrdiff_t>(N * Packs)}, 0);
    return sum;
  }
  template <std::size_t Rows>
  RUBATO_DETAIL_HELPER inline void chain(tile<N, Rows, Packs>& sum, const float* x) const noexcept {
#pragma GCC unroll 8
    for (std::size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
      for (std::size_t p = 0; p < Packs; ++p)
        sum.at[r][p] = chained<N>(f, load_columns<Whole, N>(x + r * inputs + p * N, left), sum.at[r][p]);
    }
  }
  template <std::size_t Rows>
  RUBATO_DETAIL_HELPER inline void put(const tile<N, Rows, Packs>& sum, float* at) const noexcept {
#pragma GCC unroll 8
    for (std::size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
      for (std::size_t p = 0; p < Packs; ++p) store_columns<Whole, N>(at + r * inputs + p * N, sum.at[r][p], left);
    }
  }
};
struct input_gradients {
  const dense_layer<float>& layer;
  bend f;
  std::size_t rows;
  const float* delta;
  const float* in;
  float* to;

  template <bool Whole, std::size_t N, std::size_t Packs, std::size_t>
  RUBATO_DETAIL_HELPER inline void columns(std::size_t column) const noexcept {
    if (layer.outputs <= few) return few_outputs<Whole, N, Packs, few>(column);
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
        const float* const y = in != nullptr && begin + count == layer.outputs ? in + i : nullptr;
        each_tile<tile_rows<together>>(
            0, rows,
            input_gradient_tiles<Whole, N, together>{layer.inputs, layer.outputs, f, count, left, delta + begin, weight,
                                                     y, to + i, begin == 0});
      }
    }
  }

 private:
  // Too few for a tile to begin and end for: the weights stay in registers.
  static constexpr std::size_t few = 4;

  template <bool Whole, std::size_t N, std::size_t Packs, std::size_t Outputs>
  RUBATO_DETAIL_HELPER inline void few_outputs(std::size_t column) const noexcept {
    if constexpr (Outputs > 1) {
      if (layer.outputs < Outputs) return few_outputs<Whole, N, Packs, Outputs - 1>(column);
    }
    const std::size_t left = layer.inputs - column, count = Whole ? N * Packs : left;
    alignas(64) float weight[Outputs][N * Packs];
    if constexpr (!Whole) __builtin_memset(weight, 0, sizeof(weight));
    const float* from = layer.weight + column * Outputs;
    for (std::size_t k = 0; k < count; ++k, from += Outputs) {
#pragma GCC unroll 8
      for (std::size_t o = 0; o < Outputs; ++o) weight[o][k] = from[o];
    }
    tile<N, Outputs, Packs> shared;
    __builtin_memcpy(&shared, weight, sizeof(shared));
    const float* factor = delta;
    for (std::size_t i = column, r = 0; r < rows; ++r, i += layer.inputs, factor += Outputs) {
      pack<N> sum[Packs] = {};
#pragma GCC unroll 8
      for (std::size_t o = 0; o < Outputs; ++o) {
        const pack<N> d = all<N>(factor[o]);
#pragma GCC unroll 8
        for (std::size_t p = 0; p < Packs; ++p) sum[p] = multiply_add<N>(d, shared.at[o][p], sum[p]);
      }
#pragma GCC unroll 8
      for (std::size_t p = 0; p < Packs; ++p) {
        if (in != nullptr) sum[p] = chained<N>(f, load_columns<Whole, N>(in + i + p * N, left), sum[p]);
        store_columns<Whole, N>(to + i + p * N, sum[p], left);
      }
    }
  }
};

template <std::same_as<float> T>
RUBATO_DETAIL_KERNEL void input_gradient(const dense_layer<T>& layer, std::size_t rows, const T* delta,
                                         const activation& below, const T* in, T* in_gradient) noexcept {
  const bend f = bend_of(below);
  const bool chains = f.complete && below.kind != activation_kind::identity;
  each_panel(layer.inputs, input_gradients{layer, f, rows, delta, chains ? in : nullptr, in_gradient});
  if (!f.complete) avx2::training<T>.activation_gradient(below, rows * layer.inputs, in, in_gradient);
}

}  // namespace rubato::inline RUBATO_ABI::nn::kernels::RUBATO_DETAIL_SET
RUBATO_DETAIL_GNU_END

#endif
