// The loops of an instruction set with fused multiply-adds. fma.hpp and avx512.hpp each read this file once, which
// undefines what they have defined:
//
//   RUBATO_DETAIL_SET       the namespace to define, which has pack<N>, multiply_add<N>(), larger(), load_some()
//   RUBATO_DETAIL_SET_NAME  its name as a string
//   RUBATO_DETAIL_WIDTH     how many floats one instruction works on, at least 8
//   RUBATO_DETAIL_KERNEL    attributes of a function that is called from outside, and
//   RUBATO_DETAIL_HELPER    of one that is inlined into these
//
// Read without them, it is empty. Loops over arrays of packs are recursions or are unrolled by pragma: otherwise GCC 12
// leaves the sums on the stack, at a third of the speed; and it unrolls none but the innermost loop. Rows of a matrix
// are reached by one pointer that walks: an index costs each instruction a second operation. T is always float: it is
// there so that a unit compiles no kernel that it does not call.
#ifdef RUBATO_DETAIL_SET

#include <concepts>
#include <cstddef>

#include "../../pinned.hpp"
#include "kernel_set.hpp"

RUBATO_DETAIL_GNU_BEGIN
namespace rubato::inline RUBATO_ABI::nn::kernels::RUBATO_DETAIL_SET {

inline constexpr std::size_t width = RUBATO_DETAIL_WIDTH;

template <std::size_t N>
RUBATO_DETAIL_HELPER inline pack<N> load(const float* from) noexcept {
  pack<N> to;
  __builtin_memcpy(&to, from, sizeof(to));
  return to;
}
template <std::size_t N>
RUBATO_DETAIL_HELPER inline void store(float* to, const pack<N>& from) noexcept {
  __builtin_memcpy(to, &from, sizeof(from));
}
template <std::size_t N>
RUBATO_DETAIL_HELPER inline pack<N> all(float x) noexcept {
  return x - pack<N>{};
}

template <std::size_t Half>
RUBATO_DETAIL_HELPER inline pack<4> half(const pack<8>& x) noexcept {
  return __builtin_shufflevector(x, x, 4 * Half, 4 * Half + 1, 4 * Half + 2, 4 * Half + 3);
}

// The first `count` columns of a pack, or the whole of it.
template <bool Whole, std::size_t N>
RUBATO_DETAIL_HELPER inline pack<N> load_columns(const float* from, std::size_t count) noexcept {
  if constexpr (Whole)
    return load<N>(from);
  else
    return load_some<N>(from, count);
}
// For parts, fewer than N.
template <bool Whole, std::size_t N>
RUBATO_DETAIL_HELPER inline void store_columns(float* to, const pack<N>& from, std::size_t count) noexcept {
  if constexpr (Whole)
    return store<N>(to, from);
  else if constexpr (N == 8) {
    const pack<4> low = __builtin_shufflevector(from, from, 0, 1, 2, 3);
    if (count < 4) return store_columns<false, 4>(to, low, count);
    store<4>(to, low);
    store_columns<false, 4>(to + 4, __builtin_shufflevector(from, from, 4, 5, 6, 7), count - 4);
  } else {
    if (count & 2) {
      __builtin_memcpy(to, &from, 2 * sizeof(float));
      if (count & 1) to[2] = from[2];
    } else if (count & 1) {
      to[0] = from[0];
    }
  }
}

// Calls op.at<Whole, N>(begin, how many) for packs of `count` numbers, the last in part.
template <class Op>
RUBATO_DETAIL_HELPER inline void each_pack(std::size_t count, const Op& op) noexcept {
  std::size_t i = 0;
  for (; i + width <= count; i += width) op.template at<true, width>(i, width);
  for (; i + 8 <= count; i += 8) op.template at<true, 8>(i, 8);
  if (i < count) op.template at<false, 8>(i, count - i);
}

RUBATO_DETAIL_HELPER inline const float* walk(const float* row, std::ptrdiff_t step) noexcept {
  row += step;
  __asm__("" : "+r"(row));
  return row;
}

template <std::size_t N>
RUBATO_DETAIL_HELPER inline pack<N> bent(const bend& f, const pack<N>& x) noexcept {
  const pack<N> y = larger<N>(all<N>(f.slope) * x, x);
  return f.keep == 0 ? larger<N>(pack<N>{}, y) : y;
}

// An output is the sum of `Sums` sums, of every Sums-th input each, the last input first. The first of them begins with
// the bias; in the end they are added up in pairs. With as many packs of columns as go together there are eight sums at
// a time, since each addition waits four cycles for the one before and two begin in each cycle. Of these are Count
// here, from First on.
template <std::size_t N, std::size_t Packs, std::size_t Sums, std::size_t First = 0, std::size_t Count = Sums>
struct row_sums {
  pack<N> of[Count][Packs];
  static constexpr bool has(std::size_t input) noexcept { return input % Sums - First < Count; }
  static constexpr std::size_t place(std::size_t input) noexcept { return (input % Sums - First) % Count; }
};
// How many inputs go together: one for each sum, and four at least, which one load brings.
template <std::size_t Sums>
inline constexpr std::size_t group_of = Sums < 4 ? 4 : Sums;

// Spreads inputs over packs: one load of four, and a shuffle each. A load each would take as long as the weights where
// two loads begin in a cycle, and one of 64 bytes.
template <std::size_t N, std::size_t Nth>
RUBATO_DETAIL_HELPER inline pack<N> spread(const pack<N>& four) noexcept {
  if constexpr (N == 4)
    return __builtin_shufflevector(four, four, Nth, Nth, Nth, Nth);
  else if constexpr (N == 8)
    return __builtin_shufflevector(four, four, Nth, Nth, Nth, Nth, Nth + 4, Nth + 4, Nth + 4, Nth + 4);
  else
    return __builtin_shufflevector(four, four, Nth, Nth, Nth, Nth, Nth + 4, Nth + 4, Nth + 4, Nth + 4, Nth + 8, Nth + 8,
                                   Nth + 8, Nth + 8, Nth + 12, Nth + 12, Nth + 12, Nth + 12);
}
// By name, in both dialects of assembler: GCC makes a shuffle more of it, or loads of the shuffles.
template <std::size_t N>
RUBATO_DETAIL_HELPER inline pack<N> four_inputs(const float* in) noexcept {
  struct four_floats {
    float x[4];
  };
  const auto& from = *reinterpret_cast<const four_floats*>(in);
  pack<N> four;
  if constexpr (N == 4)
    __asm__("{vmovups %1, %0|vmovups %0, %1}" : "=x"(four) : "m"(from));
  else if constexpr (N == 8)
    __asm__("{vbroadcastf128 %1, %0|vbroadcastf128 %0, %1}" : "=x"(four) : "m"(from));
  else
    __asm__("{vbroadcastf32x4 %1, %0|vbroadcastf32x4 %0, %1}" : "=v"(four) : "m"(from));
  return four;
}
template <std::size_t First, std::size_t N, std::size_t Inputs>
RUBATO_DETAIL_HELPER inline void spread_inputs(const float* in, pack<N> (&x)[Inputs]) noexcept {
  const pack<N> four = four_inputs<N>(in + First);
  x[First] = spread<N, 0>(four);
  x[First + 1] = spread<N, 1>(four);
  x[First + 2] = spread<N, 2>(four);
  x[First + 3] = spread<N, 3>(four);
  if constexpr (First + 4 < Inputs) spread_inputs<First + 4, N>(in, x);
}

// Adds a group of inputs, the last first; `row` is that of the first.
template <bool Whole, std::size_t N, std::size_t Packs, std::size_t Sums, std::size_t First, std::size_t Count>
RUBATO_DETAIL_HELPER inline void add_inputs(row_sums<N, Packs, Sums, First, Count>& sum, std::size_t columns,
                                            const float* in, const float* row, std::size_t stride) noexcept {
  constexpr std::size_t last = group_of<Sums> - 1;
  pack<N> x[group_of<Sums>];
  spread_inputs<0, N>(in, x);
#pragma GCC unroll 8
  for (std::size_t k = 0; k <= last; ++k) {
    if (!sum.has(last - k)) continue;
#pragma GCC unroll 8
    for (std::size_t p = 0; p < Packs; ++p) {
      pack<N>& to = sum.of[sum.place(last - k)][p];
      to = multiply_add<N>(x[last - k], load_columns<Whole, N>(row + (last - k) * stride + p * N, columns), to);
    }
  }
}
// Of these, those from `begin` on and before `end`.
template <bool Whole, std::size_t Last, std::size_t N, std::size_t Packs, std::size_t Sums, std::size_t First,
          std::size_t Count>
RUBATO_DETAIL_HELPER inline void add_some_inputs(row_sums<N, Packs, Sums, First, Count>& sum, std::size_t begin,
                                                 std::size_t end, std::size_t columns, const float* in,
                                                 const float* row, std::size_t stride) noexcept {
  if (sum.has(Last) && Last >= begin && Last < end) {
    const pack<N> x = all<N>(in[Last]);
#pragma GCC unroll 8
    for (std::size_t p = 0; p < Packs; ++p) {
      pack<N>& to = sum.of[sum.place(Last)][p];
      to = multiply_add<N>(x, load_columns<Whole, N>(row + Last * stride + p * N, columns), to);
    }
  }
  if constexpr (Last > 0) add_some_inputs<Whole, Last - 1>(sum, begin, end, columns, in, row, stride);
}

// The inputs from `end` - 1 down to `begin`. Where columns are not Whole, a pack of weights reaches into the next row,
// which is read in vain; in the last groups of all inputs, where no row may follow, it is read in part.
template <bool Whole, std::size_t N, std::size_t Packs, std::size_t Sums, std::size_t First, std::size_t Count>
RUBATO_DETAIL_HELPER inline void add_range(row_sums<N, Packs, Sums, First, Count>& sum, const dense_layer<float>& layer,
                                           std::size_t column, std::size_t begin, std::size_t end,
                                           const float* in) noexcept {
  constexpr std::size_t some = group_of<Sums>;
  const std::size_t stride = layer.outputs, columns = layer.outputs - column;
  const std::size_t top = end / some * some, bottom = (begin + some - 1) / some * some;
  const float* const weight = layer.weight + column;
  if (top < end && top >= begin)
    add_some_inputs<Whole, some - 1>(sum, 0, end - top, columns, in + top, weight + top * stride, stride);
  std::size_t i = top;
  if constexpr (!Whole) {
    if (i > bottom) i -= some, add_inputs<false>(sum, columns, in + i, weight + i * stride, stride);
  }
  const float* row = weight + i * stride;
  while (i > bottom) {
    i -= some, row -= some * stride;
    add_inputs<true>(sum, columns, in + i, row, stride);
  }
  if (begin < bottom) {
    const std::size_t group = bottom - some, last = end < bottom ? end : bottom;
    add_some_inputs<Whole, some - 1>(sum, begin - group, last - group, columns, in + group, weight + group * stride,
                                     stride);
  }
}
// Every sum begins with nothing, the first with the bias.
template <bool Whole, std::size_t N, std::size_t Packs, std::size_t Sums, std::size_t First, std::size_t Count>
RUBATO_DETAIL_HELPER inline void begin_sums(row_sums<N, Packs, Sums, First, Count>& sum,
                                            const dense_layer<float>& layer, std::size_t column) noexcept {
  constexpr std::size_t biases = First == 0 ? Packs : 0;
#pragma GCC unroll 8
  for (std::size_t p = 0; p < biases; ++p)
    sum.of[0][p] = load_columns<Whole, N>(layer.bias + column + p * N, layer.outputs - column);
#pragma GCC unroll 8
  for (std::size_t k = biases; k < Count * Packs; ++k) sum.of[k / Packs][k % Packs] = pack<N>{};
}
// Into the first of them.
template <std::size_t Step, std::size_t N, std::size_t Packs, std::size_t Sums, std::size_t First, std::size_t Count>
RUBATO_DETAIL_HELPER inline void add_up(row_sums<N, Packs, Sums, First, Count>& sum) noexcept {
  RUBATO_DETAIL_EXACT
  if constexpr (Step < Count) {
#pragma GCC unroll 4
    for (std::size_t s = 0; s < Count; s += 2 * Step) {
#pragma GCC unroll 4
      for (std::size_t p = 0; p < Packs; ++p) sum.of[s][p] += sum.of[s + Step][p];
    }
    add_up<2 * Step>(sum);
  }
}
template <bool Whole, std::size_t N, std::size_t Packs, std::size_t Sums, std::size_t Count>
RUBATO_DETAIL_HELPER inline void put_outputs(const row_sums<N, Packs, Sums, 0, Count>& sum,
                                             const dense_layer<float>& layer, std::size_t column, const bend& f,
                                             float* out) noexcept {
#pragma GCC unroll 8
  for (std::size_t p = 0; p < Packs; ++p)
    store_columns<Whole, N>(out + column + p * N, bent<N>(f, sum.of[0][p]), layer.outputs - column);
}

// How columns are shared out: calls op.columns<Whole, N, Packs, Sums>(column). How many sums a column has depends on
// the layer alone, and not on how wide a pack is. What takes two calls has the right columns first: the next layer
// begins with the last inputs, while the left ones are still being summed. An operation that has halves() takes four
// sums of all columns by two calls instead.
template <std::size_t Columns, std::size_t Sums, class Op>
RUBATO_DETAIL_HELPER inline void block(std::size_t column, Op& op) noexcept {
  constexpr std::size_t packs = 8 / Sums;
  constexpr bool parted = packs * width < Columns;
  if constexpr (parted && Sums == 4 && requires { op.template halves<width, 2 * packs, Sums>(column); }) {
    op.template halves<width, 2 * packs, Sums>(column);
  } else {
    if constexpr (parted) op.template columns<true, width, packs, Sums>(column + packs * width);
    op.template columns<true, width, packs, Sums>(column);
  }
}
template <class Op>
RUBATO_DETAIL_HELPER inline void each_panel(std::size_t columns, Op op) noexcept {
  std::size_t c = 0;
  for (; c + 64 <= columns; c += 64) block<64, 2>(c, op);
  if (c + 32 <= columns) block<32, 4>(c, op), c += 32;
  if (c + 16 <= columns) block<16, 8>(c, op), c += 16;
  if (c + 8 <= columns) op.template columns<true, 8, 1, 8>(c), c += 8;
  if (c + 4 <= columns)
    op.template columns<false, 8, 1, 8>(c);
  else if (c < columns)
    op.template columns<false, 4, 1, 8>(c);
}

// The same for a number of columns that is known to the compiler, which then knows the distances between rows, too.
template <std::size_t Columns, class Op>
RUBATO_DETAIL_HELPER inline void each_panel_of(Op op) noexcept {
  constexpr std::size_t left = Columns % 8;
  op.layer.outputs = Columns;
  for (std::size_t c = 0; c + 64 <= Columns; c += 64) block<64, 2>(c, op);
  if constexpr ((Columns & 32) != 0) block<32, 4>(Columns / 64 * 64, op);
  if constexpr ((Columns & 16) != 0) block<16, 8>(Columns / 32 * 32, op);
  if constexpr ((Columns & 8) != 0) op.template columns<true, 8, 1, 8>(Columns / 16 * 16);
  if constexpr (left >= 4)
    op.template columns<false, 8, 1, 8>(Columns - left);
  else if constexpr (left > 0)
    op.template columns<false, 4, 1, 8>(Columns - left);
}

// The same for a layer's outputs, of which there are Outputs, or any number if that is 0. Most layers of policies have
// 64, 32 or 3.
template <std::size_t Outputs, class Op>
RUBATO_DETAIL_HELPER inline void each_output(const Op& op) noexcept {
  if constexpr (Outputs > 0)
    each_panel_of<Outputs>(op);
  else if (op.layer.outputs == 64)
    each_panel_of<64>(op);
  else if (op.layer.outputs == 32)
    each_panel_of<32>(op);
  else if (op.layer.outputs == 3)
    each_panel_of<3>(op);
  else
    each_panel(op.layer.outputs, op);
}

struct evaluating {
  dense_layer<float> layer;
  bend f;
  const float* in;
  float* out;

  template <bool Whole, std::size_t N, std::size_t Packs, std::size_t Sums>
  RUBATO_DETAIL_HELPER inline void columns(std::size_t column) noexcept {
    row_sums<N, Packs, Sums> sum;
    begin_sums<Whole>(sum, layer, column);
    add_range<Whole>(sum, layer, column, 0, layer.inputs, in);
    add_up<1>(sum);
    put_outputs<Whole>(sum, layer, column, f, out);
  }
  // Half of the sums at a time of twice as many columns: each input is spread half as often.
  template <std::size_t N, std::size_t Packs, std::size_t Sums>
  RUBATO_DETAIL_HELPER inline void halves(std::size_t column) noexcept {
    RUBATO_DETAIL_EXACT
    row_sums<N, Packs, Sums, Sums / 2, Sums / 2> later;
    begin_sums<true>(later, layer, column);
    add_range<true>(later, layer, column, 0, layer.inputs, in);
    add_up<1>(later);
    row_sums<N, Packs, Sums, 0, Sums / 2> sum;
    begin_sums<true>(sum, layer, column);
    add_range<true>(sum, layer, column, 0, layer.inputs, in);
    add_up<1>(sum);
#pragma GCC unroll 8
    for (std::size_t p = 0; p < Packs; ++p) sum.of[0][p] += later.of[0][p];
    put_outputs<true>(sum, layer, column, f, out);
  }
};
// The same in two parts, the sums being kept in between.
struct beginning {
  dense_layer<float> layer;
  std::size_t newest;
  const float* in;
  float* sums;

  template <bool Whole, std::size_t N, std::size_t Packs, std::size_t Sums>
  RUBATO_DETAIL_HELPER inline void columns(std::size_t column) noexcept {
    row_sums<N, Packs, Sums> sum;
    begin_sums<Whole>(sum, layer, column);
    add_range<Whole>(sum, layer, column, newest, layer.inputs, in);
#pragma GCC unroll 8
    for (std::size_t k = 0; k < Sums * Packs; ++k) store<N>(sums + k * N, sum.of[k / Packs][k % Packs]);
    sums += Sums * Packs * N;
  }
};
struct finishing {
  dense_layer<float> layer;
  bend f;
  std::size_t newest;
  const float* in;
  const float* sums;
  float* out;

  template <bool Whole, std::size_t N, std::size_t Packs, std::size_t Sums>
  RUBATO_DETAIL_HELPER inline void columns(std::size_t column) noexcept {
    row_sums<N, Packs, Sums> sum;
#pragma GCC unroll 8
    for (std::size_t k = 0; k < Sums * Packs; ++k) sum.of[k / Packs][k % Packs] = load<N>(sums + k * N);
    sums += Sums * Packs * N;
    add_range<Whole>(sum, layer, column, 0, newest, in);
    add_up<1>(sum);
    put_outputs<Whole>(sum, layer, column, f, out);
  }
};

// Three outputs, of inputs in eights: a row would fill three quarters of a pack of four, and each input go to all lanes
// of a pack. So packs go on from one row to the next: the 24 products of eight inputs are three packs, and the lanes
// are the eight sums of three outputs each. The same sums, in the same order. No shuffle crosses the halves of a pack:
// some processors take eight cycles for those.
template <std::same_as<float> T>
RUBATO_DETAIL_HELPER inline void evaluate_three(const dense_layer<T>& layer, const bend& f, const T* in,
                                                T* out) noexcept {
  RUBATO_DETAIL_EXACT
  pack<8> a = load_some<8>(layer.bias, 3), b{}, c{};
  const float* row = layer.weight + 3 * layer.inputs;
#pragma GCC unroll 4
  for (std::size_t i = layer.inputs; i > 0; i -= 8) {
    const pack<8> low = four_inputs<8>(in + i - 8), both = load<8>(in + i - 8), high = four_inputs<8>(in + i - 4);
    row -= 24;
    a = multiply_add<8>(__builtin_shufflevector(low, low, 0, 0, 0, 1, 5, 5, 6, 6), load<8>(row), a);
    b = multiply_add<8>(__builtin_shufflevector(both, both, 2, 3, 3, 3, 4, 4, 4, 5), load<8>(row + 8), b);
    c = multiply_add<8>(__builtin_shufflevector(high, high, 1, 1, 2, 2, 6, 7, 7, 7), load<8>(row + 16), c);
  }
  const pack<4> a0 = half<0>(a), a1 = half<1>(a), b0 = half<0>(b), b1 = half<1>(b), c0 = half<0>(c), c1 = half<1>(c);
  const pack<4> low = (a0 + __builtin_shufflevector(a0, a1, 3, 4, 5, 6)) +
                      (__builtin_shufflevector(a1, b0, 2, 3, 4, 5) + __builtin_shufflevector(b0, b0, 1, 2, 3, 3));
  const pack<4> high = (b1 + __builtin_shufflevector(b1, c0, 3, 4, 5, 6)) +
                       (__builtin_shufflevector(c0, c1, 2, 3, 4, 5) + __builtin_shufflevector(c1, c1, 1, 2, 3, 3));
  store_columns<false, 4>(out, bent<4>(f, low + high), 3);
}

template <std::size_t Outputs = 0>
RUBATO_DETAIL_HELPER inline void evaluate_layer(const dense_layer<float>& layer, const ending& end, const float* in,
                                                float* out) noexcept {
  const bend f = end.as;
  if ((Outputs == 0 || Outputs == 3) && layer.outputs == 3 && layer.inputs % 8 == 0)
    evaluate_three(layer, f, in, out);
  else
    each_output<Outputs>(evaluating{layer, f, in, out});
  if (!f.complete) activate_outputs(end.f, layer.outputs, out);
}
template <std::size_t Outputs = 0>
RUBATO_DETAIL_HELPER inline void finish_layer(const dense_layer<float>& layer, const ending& end, std::size_t newest,
                                              const float* in, const float* sums, float* out) noexcept {
  const bend f = end.as;
  each_output<Outputs>(finishing{layer, f, newest, in, sums, out});
  if (!f.complete) activate_outputs(end.f, layer.outputs, out);
}

// All layers but the first, of which `in` are the outputs.
template <std::same_as<float> T>
RUBATO_DETAIL_HELPER inline void evaluate_rest(const network<T>& net, const T* in, T* scratch, T* out) noexcept {
  for (std::size_t l = 1; l < net.layers; ++l) {
    T* const to = l + 1 == net.layers ? out : scratch + l % 2 * net.width;
    evaluate_layer(net.layer(l), net.ending_of(l), in, to);
    in = to;
  }
}
template <std::same_as<float> T>
RUBATO_DETAIL_KERNEL void evaluate(const network<T>& net, const T* in, T* scratch, T* out) noexcept {
  T* const to = net.layers == 1 ? out : scratch;
  evaluate_layer(net.layer(0), net.ending_of(0), in, to);
  evaluate_rest(net, to, scratch, out);
}
template <std::same_as<float> T>
RUBATO_DETAIL_KERNEL void begin(const dense_layer<T>& first, std::size_t newest, const T* in, T* sums) noexcept {
  each_output<0>(beginning{first, newest, in, sums});
}
template <std::same_as<float> T>
RUBATO_DETAIL_KERNEL void finish(const network<T>& net, std::size_t newest, const T* in, const T* sums, T* scratch,
                                 T* out) noexcept {
  T* const to = net.layers == 1 ? out : scratch;
  finish_layer(net.layer(0), net.ending_of(0), newest, in, sums, to);
  evaluate_rest(net, to, scratch, out);
}

// The same for a shape that is known to the compiler: the same operations, with fewer instructions around them.
template <std::size_t Inputs, std::size_t Outputs>
RUBATO_DETAIL_HELPER inline dense_layer<float> layer_of(const float* parameters) noexcept {
  return {Inputs, Outputs, parameters, parameters + Inputs * Outputs, {}};
}
template <std::size_t Inputs, std::size_t Outputs, std::size_t... Rest>
RUBATO_DETAIL_HELPER inline void evaluate_layers(const network<float>& net, const float* parameters, const float* in,
                                                 float* out) noexcept {
  const dense_layer<float> layer = layer_of<Inputs, Outputs>(parameters);
  if constexpr (sizeof...(Rest) == 0) {
    evaluate_layer<Outputs>(layer, *net.output, in, out);
  } else {
    alignas(64) float hidden[Outputs];
    evaluate_layer<Outputs>(layer, *net.hidden, in, hidden);
    evaluate_layers<Outputs, Rest...>(net, layer.bias + Outputs, hidden, out);
  }
}
template <std::size_t... Widths>
RUBATO_DETAIL_KERNEL inline void evaluate_shape(const network<float>& net, const float* in, float*,
                                                float* out) noexcept {
  evaluate_layers<Widths...>(net, net.parameters, in, out);
}
template <std::size_t Inputs, std::size_t Outputs, std::size_t... Rest>
RUBATO_DETAIL_KERNEL inline void finish_shape(const network<float>& net, std::size_t newest, const float* in,
                                              const float* sums, float*, float* out) noexcept {
  const dense_layer<float> layer = layer_of<Inputs, Outputs>(net.parameters);
  if constexpr (sizeof...(Rest) == 0) {
    finish_layer<Outputs>(layer, *net.output, newest, in, sums, out);
  } else {
    alignas(64) float hidden[Outputs];
    finish_layer<Outputs>(layer, *net.hidden, newest, in, sums, hidden);
    evaluate_layers<Outputs, Rest...>(net, layer.bias + Outputs, hidden, out);
  }
}

template <std::same_as<float> T>
inline constexpr kernel_set<T> set{instruction_set::RUBATO_DETAIL_SET, RUBATO_DETAIL_SET_NAME, &evaluate<T>, &begin<T>,
                                   &finish<T>};
#if defined(RUBATO_EXTERN_KERNELS)
RUBATO_DETAIL_INSTANCES(extern, float)
#endif

}  // namespace rubato::inline RUBATO_ABI::nn::kernels::RUBATO_DETAIL_SET
RUBATO_DETAIL_GNU_END

#undef RUBATO_DETAIL_SET
#undef RUBATO_DETAIL_SET_NAME
#undef RUBATO_DETAIL_WIDTH
#undef RUBATO_DETAIL_KERNEL
#undef RUBATO_DETAIL_HELPER
#endif
