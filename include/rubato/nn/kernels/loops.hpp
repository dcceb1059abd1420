// The loops of one instruction set. portable.hpp and avx2.hpp each read this file once, which undefines what they have
// defined:
//
//   RUBATO_DETAIL_SET         the namespace to define, which has square_root() of a number and of a pack already
//   RUBATO_DETAIL_SET_NAME    its name as a string
//   RUBATO_DETAIL_PACK_BYTES  how many bytes of numbers one instruction works on
//   RUBATO_DETAIL_KERNEL      attributes of a function that is called from outside, and
//   RUBATO_DETAIL_HELPER      of one that only these call: a compiler inlines nothing into another instruction set
//
// So every set runs the same sums. Read without them, it is empty.
#ifdef RUBATO_DETAIL_SET

#include <concepts>
#include <cstddef>

#include "kernel_set.hpp"
#include "../../pinned.hpp"

RUBATO_DETAIL_GNU_BEGIN
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

// activate() of a number or of a pack, without branches: the signs of hidden units cannot be predicted.
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
RUBATO_DETAIL_KERNEL void forward(const dense_layer<T>& layer, std::size_t rows, const T* in, T* out) noexcept {
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
RUBATO_DETAIL_KERNEL void evaluate(const network<T>& net, const T* in, T* scratch, T* out) noexcept {
  T* const to = net.layers == 1 ? out : scratch;
  forward(net.layer(0), 1, in, to);
  evaluate_rest(net, to, scratch, out);
}
template <std::floating_point T>
RUBATO_DETAIL_KERNEL void begin(const dense_layer<T>& first, std::size_t newest, const T* in, T* sums) noexcept {
  add_products<true, T>(1, first.outputs, {sums, 0}, {first.bias, 0}, first.inputs - newest, {in + newest, 0, 1},
                        first.weight + newest * first.outputs);
}
template <std::floating_point T>
RUBATO_DETAIL_KERNEL void finish(const network<T>& net, std::size_t newest, const T* in, const T* sums, T* scratch,
                                 T* out) noexcept {
  const dense_layer<T> first = net.layer(0);
  T* const to = net.layers == 1 ? out : scratch;
  add_products<true, T>(1, first.outputs, {to, 0}, {sums, 0}, newest, {in, 0, 1}, first.weight);
  activate_outputs(first.f, first.outputs, to);
  evaluate_rest(net, to, scratch, out);
}

template <std::floating_point T>
inline constexpr kernel_set<T> set{instruction_set::RUBATO_DETAIL_SET, RUBATO_DETAIL_SET_NAME, &evaluate<T>, &begin<T>,
                                   &finish<T>};
#if defined(RUBATO_EXTERN_KERNELS)
RUBATO_DETAIL_INSTANCES(extern, float)
RUBATO_DETAIL_INSTANCES(extern, double)
#endif

}  // namespace rubato::inline RUBATO_ABI::nn::kernels::RUBATO_DETAIL_SET
RUBATO_DETAIL_GNU_END

#undef RUBATO_DETAIL_SET
#undef RUBATO_DETAIL_SET_NAME
#undef RUBATO_DETAIL_PACK_BYTES
#undef RUBATO_DETAIL_KERNEL
#undef RUBATO_DETAIL_HELPER
#endif
