// Batches, in an instruction set with fused multiply-adds: read by fused_loops.hpp. Read alone, it is empty.
#ifdef RUBATO_DETAIL_SET

#include <concepts>
#include <cstddef>

#include "../../../pinned.hpp"
#include "training_kernels.hpp"

RUBATO_DETAIL_GNU_BEGIN
namespace rubato::inline RUBATO_ABI::nn::kernels::RUBATO_DETAIL_SET {

// Eight rows of three numbers, as the weights of most policies' last layer are, as three columns of eight; and back. Of
// eight numbers that are three apart no two stand in the same lane of their packs.
RUBATO_DETAIL_HELPER inline void columns_of_three(const float* rows, float* x, float* y, float* z) noexcept {
  const pack<8> a = load<8>(rows), b = load<8>(rows + 8), c = load<8>(rows + 16);
  const pack<8> ab = __builtin_shufflevector(a, b, 0, 9, 2, 3, 12, 5, 6, 15);
  const pack<8> ba = __builtin_shufflevector(a, b, 0, 1, 10, 3, 4, 13, 6, 7);
  const pack<8> bb = __builtin_shufflevector(a, b, 8, 1, 2, 11, 4, 5, 14, 7);
  const pack<8> first = __builtin_shufflevector(ab, c, 0, 1, 10, 3, 4, 13, 6, 7);
  const pack<8> second = __builtin_shufflevector(ba, c, 8, 1, 2, 11, 4, 5, 14, 7);
  const pack<8> third = __builtin_shufflevector(bb, c, 0, 9, 2, 3, 12, 5, 6, 15);
  store<8>(x, __builtin_shufflevector(first, first, 0, 3, 6, 1, 4, 7, 2, 5));
  store<8>(y, __builtin_shufflevector(second, second, 1, 4, 7, 2, 5, 0, 3, 6));
  store<8>(z, __builtin_shufflevector(third, third, 2, 5, 0, 3, 6, 1, 4, 7));
}
RUBATO_DETAIL_HELPER inline void rows_of_three(const float* x, const float* y, const float* z, float* rows) noexcept {
  const pack<8> first = load<8>(x), second = load<8>(y), third = load<8>(z);
  const pack<8> a = __builtin_shufflevector(first, first, 0, 3, 6, 1, 4, 7, 2, 5);
  const pack<8> b = __builtin_shufflevector(second, second, 5, 0, 3, 6, 1, 4, 7, 2);
  const pack<8> c = __builtin_shufflevector(third, third, 2, 5, 0, 3, 6, 1, 4, 7);
  store<8>(rows, __builtin_shufflevector(__builtin_shufflevector(a, b, 0, 9, 2, 3, 12, 5, 6, 15), c, 0, 1, 10, 3, 4, 13,
                                         6, 7));
  store<8>(rows + 8, __builtin_shufflevector(__builtin_shufflevector(a, b, 0, 1, 10, 3, 4, 13, 6, 7), c, 8, 1, 2, 11, 4,
                                             5, 14, 7));
  store<8>(rows + 16, __builtin_shufflevector(__builtin_shufflevector(a, b, 8, 1, 2, 11, 4, 5, 14, 7), c, 0, 9, 2, 3,
                                              12, 5, 6, 15));
}

// Tiles of Rows x Packs sums in registers, eight of sixteen, or sixteen of 32: each waits four cycles for itself and
// two begin in each. With twelve, the whole of a forward pass takes 8 % longer on Zen 3.
inline constexpr std::size_t tile_sums = width;
template <std::size_t Packs>
inline constexpr std::size_t tile_rows = tile_sums / Packs < 8 ? tile_sums / Packs : 8;
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

// The sums of evaluating::columns() for several rows, one of each output after another; they are added up in pairs.
template <std::size_t N, std::size_t Packs, std::size_t Sums>
struct forward_tiles {
  RUBATO_DETAIL_HELPER inline forward_tiles(const dense_layer<float>& layer, std::size_t column, const bend& how,
                                            const float* from, float* to) noexcept
      : inputs{layer.inputs},
        outputs{layer.outputs},
        top{inputs / Sums * Sums},
        in{from + top},
        weight{layer.weight + top * outputs + column},
        bias{layer.bias + column},
        out{to + column},
        f{how} {}

  template <std::size_t Rows>
  RUBATO_DETAIL_KERNEL inline void rows(std::size_t row, std::size_t tiles) const noexcept {
    const forward_tiles here = *this;  // no output is one of its members, as far as the compiler knows
    const float* from = here.in + row * here.inputs;
    float* to = here.out + row * here.outputs;
    for (; tiles > 0; --tiles, from += Rows * here.inputs, to += Rows * here.outputs) here.template one<Rows>(from, to);
  }

 private:
  template <std::size_t Rows>
  RUBATO_DETAIL_HELPER inline void one(const float* from, float* to) const noexcept {
    RUBATO_DETAIL_EXACT
    tile<N, Rows, Packs> rest[Sums];  // but the first, which stays in registers
    for (std::size_t s = Sums - 1; s > 0; --s) rest[s] = sum_of<Rows>(s, from, {});
    pack<N> biases[Packs];
#pragma GCC unroll 8
    for (std::size_t p = 0; p < Packs; ++p) biases[p] = load<N>(bias + p * N);
    tile<N, Rows, Packs> first;
#pragma GCC unroll 8
    for (std::size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
      for (std::size_t p = 0; p < Packs; ++p) first.at[r][p] = biases[p];
    }
    first = sum_of<Rows>(0, from, first);
#pragma GCC unroll 8
    for (std::size_t r = 0; r < Rows; ++r, to += outputs) {
#pragma GCC unroll 8
      for (std::size_t p = 0; p < Packs; ++p) {
        pack<N> sum = first.at[r][p] + rest[1].at[r][p];
        if constexpr (Sums >= 4) sum += rest[2].at[r][p] + rest[3].at[r][p];
        if constexpr (Sums == 8) sum += (rest[4].at[r][p] + rest[5].at[r][p]) + (rest[6].at[r][p] + rest[7].at[r][p]);
        store<N>(to + p * N, bent<N>(f, sum));
      }
    }
  }
  template <std::size_t Rows>
  RUBATO_DETAIL_HELPER inline tile<N, Rows, Packs> sum_of(std::size_t s, const float* from,
                                                          tile<N, Rows, Packs> sum) const noexcept {
    factor_rows<Rows, -static_cast<std::ptrdiff_t>(Sums)> x{from + s, inputs};
    const float* y = weight + s * outputs;
    if (top + s < inputs) add_product<true, 0>(sum, x, y, 0);
    for (std::size_t left = top; left > 0; left -= Sums) {
      x.go();
      y = walk(y, -static_cast<std::ptrdiff_t>(Sums * outputs));
      add_product<true, 0>(sum, x, y, 0);
    }
    return sum;
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
  std::size_t i = 0;
  if constexpr (Columns == 3) {
    if (layer.outputs == 3)
      for (; i + 8 <= layer.inputs; i += 8, row += 24)
        columns_of_three(row, weight[0] + i, weight[1] + i, weight[2] + i);
  }
  for (; i < layer.inputs; ++i, row += layer.outputs) {
#pragma GCC unroll 8
    for (std::size_t c = 0; c < Columns; ++c) weight[c][i] = row[c];
  }
  std::size_t r = 0;
  if constexpr (Columns <= 3) {
    if (layer.outputs == Columns)
      for (; r + 4 <= rows; r += 4)
        forward_turned<4>(layer, column, f, weight, in + r * layer.inputs, out + r * Columns);
  }
  for (; r < rows; ++r) forward_turned<1>(layer, column, f, weight, in + r * layer.inputs, out + r * layer.outputs);
}
template <std::size_t Most>
RUBATO_DETAIL_HELPER inline void forward_rest_of(const dense_layer<float>& layer, std::size_t column, const bend& f,
                                                 std::size_t rows, const float* in, float* out) noexcept {
  if (layer.outputs - column == Most) return forward_rest<Most>(layer, column, f, rows, in, out);
  if constexpr (Most > 1) forward_rest_of<Most - 1>(layer, column, f, rows, in, out);
}

// As few tiles as will do, of Rows and fewer, as equal as can be: one of few rows waits for its own sums. Calls
// op.rows<Rows>(begin, how many tiles), since tiles of a size share what is worked out once: each on its own, those of
// forward() take 6 % longer.
template <std::size_t Rows, class Op>
RUBATO_DETAIL_HELPER inline void each_tile(std::size_t begin, std::size_t end, const Op& op) noexcept {
  const std::size_t left = end - begin, smaller = (left + Rows - 1) / Rows * (Rows - 1);
  const std::size_t tiles = left > smaller ? left - smaller : 0;
  if (tiles > 0) op.template rows<Rows>(begin, tiles);
  if constexpr (Rows > 1) each_tile<Rows - 1>(begin + tiles * Rows, end, op);
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
    if constexpr (Whole)
      for (std::size_t p = 0; p < Packs; p += together)
        each_tile<tile_rows<together>>(0, rows, forward_tiles<N, together, Sums>{layer, column + p * N, f, in, out});
    else if (rows >= 4 && layer.inputs <= longest_turned)
      forward_rest_of<N - 1>(layer, column, f, rows, in, out);
    else
      for (std::size_t r = 0; r < rows; ++r)
        evaluating{layer, f, in + r * layer.inputs, out + r * layer.outputs}.columns<Whole, N, Packs, Sums>(column);
  }
};

template <std::same_as<float> T>
RUBATO_DETAIL_KERNEL void forward(const dense_layer<T>& layer, std::size_t rows, const T* in, T* out) noexcept {
  const bend f = bend_of(layer.f);
  each_panel(layer.outputs, forwarding{layer, f, rows, in, out});
  if (!f.complete) activate_outputs(layer.f, rows * layer.outputs, out);
}

}  // namespace rubato::inline RUBATO_ABI::nn::kernels::RUBATO_DETAIL_SET
RUBATO_DETAIL_GNU_END

#endif
