#ifndef RUBATO_CUDA_FORWARD_TILE_CUH
#define RUBATO_CUDA_FORWARD_TILE_CUH

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "float_vector.cuh"
#include "lanes.cuh"
#include "network.cuh"
#include "shared_body.cuh"

namespace rubato::inline RUBATO_ABI::cuda {

/// How 32 lanes compute the outputs of some queries at once, for many queries.
///
/// The activations of `queries` queries lie in shared memory, a row of `pitch` numbers for each; a layer reads them and
/// then overwrites them. The lanes of a layer are a grid: each column has 4 adjacent outputs (the next 4 are
/// 4 * columns further), each row one of so many queries; a lane sums queries x outputs numbers in registers.
///
/// For 40-64-32-3: 32 queries; lanes of the first layer sum 8 x 8 numbers, those of the second 8 x 4. With 16 bytes a
/// load, 16 and 10.7 multiply-adds come on one load. An SM can do 16 while it delivers 16 bytes to each lane in four
/// requests, and 8 where two suffice, as they should where lanes in pairs read the same. A row begins 4 banks, or an
/// odd multiple of 4, after the row before it: 8 rows are read without a conflict. Not measured.
template <class Shape>
struct forward_tile {
  /// Outputs of the layer that has most of them; at most 512.
  static constexpr std::size_t widest_output = [] {
    std::size_t most = 0;
    for (std::size_t l = 1; l <= Shape::layers; ++l) most = Shape::width(l) > most ? Shape::width(l) : most;
    return most;
  }();
  static_assert(widest_output <= 512,
                "forward_tile: expected layers of at most 512 outputs; evaluate_batch takes wider ones");
  /// Queries of a tile: a lane never sums more than 64 numbers.
  static constexpr std::size_t queries = widest_output <= 64    ? 32
                                         : widest_output <= 128 ? 16
                                         : widest_output <= 256 ? 8
                                                                : 4;
  /// Numbers from row to row.
  static constexpr std::size_t pitch = [] {
    std::size_t most = 0;
    for (std::size_t l = 0; l < Shape::layers; ++l) most = Shape::width(l) > most ? Shape::width(l) : most;
    return (most + 3) / 8 * 8 + 4;
  }();
  /// Numbers of shared memory that the activations of a tile want.
  static constexpr std::size_t activations = queries * pitch;

  /// Columns of the grid of lanes in layer l, counted from 0: 1, 2, 4 or 8.
  [[nodiscard]] RUBATO_DETAIL_SHARED static constexpr unsigned columns(std::size_t l) noexcept {
    unsigned all = 1;
    while (all < 8 && 4 * all < Shape::width(l + 1)) all *= 2;
    return all;
  }
  /// Rows of that grid.
  [[nodiscard]] RUBATO_DETAIL_SHARED static constexpr unsigned rows(std::size_t l) noexcept { return 32 / columns(l); }
  /// Queries of a lane.
  [[nodiscard]] RUBATO_DETAIL_SHARED static constexpr unsigned each(std::size_t l) noexcept {
    return queries > rows(l) ? static_cast<unsigned>(queries) / rows(l) : 1;
  }
  /// Groups of 4 outputs of a lane.
  [[nodiscard]] RUBATO_DETAIL_SHARED static constexpr unsigned groups(std::size_t l) noexcept {
    return static_cast<unsigned>((Shape::width(l + 1) + 4 * columns(l) - 1) / (4 * columns(l)));
  }
  /// Outputs with those that fill up the last group.
  [[nodiscard]] RUBATO_DETAIL_SHARED static constexpr std::size_t padded(std::size_t l) noexcept {
    return std::size_t{4} * columns(l) * groups(l);
  }
  /// Index of a layer's first packed weight: [inputs x padded], then as many biases.
  [[nodiscard]] RUBATO_DETAIL_SHARED static constexpr std::size_t weight(std::size_t l) noexcept {
    std::size_t at = 0;
    for (std::size_t i = 0; i < l; ++i) at += (Shape::width(i) + 1) * padded(i);
    return at;
  }
  /// Index of its first packed bias.
  [[nodiscard]] RUBATO_DETAIL_SHARED static constexpr std::size_t bias(std::size_t l) noexcept {
    return weight(l) + Shape::width(l) * padded(l);
  }
  /// Numbers of shared memory that the packed parameters want.
  static constexpr std::size_t parameters = weight(Shape::layers);
};

namespace detail {

// From the device's memory into shared memory, 16 or 4 bytes; done for the lane that asked when it has awaited it.
template <std::size_t Numbers>
RUBATO_DETAIL_SHARED inline void copy_in(float* to, const float* from) noexcept {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if constexpr (Numbers == 4)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(from) : "memory");
#else
  if constexpr (Numbers == 4)
    store(to, load<4>(from));
  else
    *to = *from;
#endif
}
RUBATO_DETAIL_SHARED inline void await_copies() noexcept {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

// The endings without tanh, and without a branch for each number.
struct ramp {
  bool zero;
  float slope;

  RUBATO_DETAIL_SHARED explicit ramp(const ending& f) noexcept
      : zero{f.kind == nn::activation_kind::relu}, slope{f.kind == nn::activation_kind::leaky_relu ? f.slope : 1.0F} {}
  [[nodiscard]] RUBATO_DETAIL_SHARED float operator()(float x) const noexcept {
    return x < 0 ? (zero ? 0.0F : slope * x) : x;
  }
};

// What one of 32 lanes does in a layer.
template <class Arithmetic, class Shape, std::size_t Layer>
struct tile_sums {
  using tile = forward_tile<Shape>;
  static constexpr std::size_t inputs = Shape::width(Layer), outputs = Shape::width(Layer + 1), pitch = tile::pitch;
  static constexpr unsigned columns = tile::columns(Layer), rows = tile::rows(Layer);
  static constexpr unsigned each = tile::each(Layer), groups = tile::groups(Layer);

  quad sum[each][groups];

  // Lanes beyond the last query, where a layer has few outputs and a tile few queries.
  [[nodiscard]] RUBATO_DETAIL_SHARED static bool idle(unsigned lane) noexcept {
    return rows > tile::queries && query(lane, 0) >= tile::queries;
  }
  // Lanes n and n ^ 1 have the same column, and so the same weights; n and n ^ 2 the same row, and so the same inputs:
  // what lets a load of 16 bytes take two requests. query(n, j) is query(n, 0) + query(0, j), and grows with j.
  [[nodiscard]] RUBATO_DETAIL_SHARED static constexpr unsigned query(unsigned lane, unsigned j) noexcept {
    const unsigned pair = lane / (2 * columns);
    // Eight lanes that store together have two rows of four columns, which 4 rows apart are 16 banks apart.
    if constexpr (columns == 8 && tile::queries >= 8)
      return pair + 4 * (lane % 2) + 2 * (j % 2) + 8 * (j / 2);
    else
      return lane % 2 + 2 * pair + rows * j;
  }
  [[nodiscard]] RUBATO_DETAIL_SHARED static unsigned output(unsigned lane, unsigned g) noexcept {
    return 4 * (lane / 2 % columns + columns * g);
  }

  template <std::size_t Count>
  RUBATO_DETAIL_SHARED void add_products(const float* x, const float* weight) noexcept {
    quad in[each];
    RUBATO_DETAIL_UNROLL
    for (unsigned j = 0; j < each; ++j) in[j] = load<4>(x + query(0, j) * pitch);
    RUBATO_DETAIL_UNROLL
    for (std::size_t k = Count; k-- > 0;) {
      RUBATO_DETAIL_UNROLL
      for (unsigned g = 0; g < groups; ++g) {
        const quad w = load<4>(weight + k * tile::padded(Layer) + 4 * columns * g);
        RUBATO_DETAIL_UNROLL
        for (unsigned j = 0; j < each; ++j) {
          RUBATO_DETAIL_UNROLL
          for (unsigned o = 0; o < 4; ++o)
            sum[j][g].at[o] = Arithmetic::plus_product(sum[j][g].at[o], in[j].at[k], w.at[o]);
        }
      }
    }
  }

  RUBATO_DETAIL_SHARED void compute(unsigned lane, const float* packed, const float* activations) noexcept {
    if (idle(lane)) return;
    const float* const x = activations + query(lane, 0) * pitch;
    const float* const weight = packed + tile::weight(Layer) + output(lane, 0);
    RUBATO_DETAIL_UNROLL
    for (unsigned g = 0; g < groups; ++g) {
      const quad bias = load<4>(weight + inputs * tile::padded(Layer) + 4 * columns * g);
      RUBATO_DETAIL_UNROLL
      for (unsigned j = 0; j < each; ++j) sum[j][g] = bias;
    }
    constexpr std::size_t odd = inputs % 4, even = inputs - odd;
    if constexpr (odd > 0) add_products<odd>(x + even, weight + even * tile::padded(Layer));
    RUBATO_DETAIL_ROLLED
    for (std::size_t i = even; i > 0;) {
      i -= 4;
      add_products<4>(x + i, weight + i * tile::padded(Layer));
    }
  }

  RUBATO_DETAIL_SHARED void store(const ending& f, unsigned lane, float* activations, float* out,
                                  std::size_t present) const noexcept {
    constexpr bool last = Layer + 1 == Shape::layers;
    if (idle(lane)) return;
    float* const to = last ? out : activations;
    constexpr std::size_t step = last ? outputs : pitch;
    const ramp end{f};
    RUBATO_DETAIL_UNROLL
    for (unsigned j = 0; j < each; ++j) {
      const unsigned q = query(lane, j);
      if (last && q >= present) break;
      RUBATO_DETAIL_UNROLL
      for (unsigned g = 0; g < groups; ++g) {
        const unsigned o = output(lane, g);
        quad y;
        RUBATO_DETAIL_UNROLL
        for (unsigned k = 0; k < 4; ++k) y.at[k] = end(sum[j][g].at[k]);
        if constexpr (!last) {
          if (o < outputs) detail::store(to + q * step + o, y);
        } else {
          RUBATO_DETAIL_UNROLL
          for (unsigned k = 0; k < 4; ++k)
            if (o + k < outputs) to[q * step + o + k] = y.at[k];
        }
      }
    }
    // From memory, one by one: unrolled over registers it would be most of the program.
    if (f.kind != nn::activation_kind::tanh) return;
    RUBATO_DETAIL_ROLLED
    for (unsigned i = 0; i < each * groups * 4; ++i) {
      const unsigned q = query(lane, i / (groups * 4)), o = output(lane, i / 4 % groups) + i % 4;
      if (o < outputs && (!last || q < present)) to[q * step + o] = activate(f, to[q * step + o]);
    }
  }
};

template <class Arithmetic, std::size_t Layer, class Shape, Lanes L>
RUBATO_DETAIL_SHARED void forward_from(const network<Shape>& net, const L& lanes, const float* packed,
                                       float* activations, float* out, std::size_t present) noexcept {
  if constexpr (Layer < Shape::layers) {
    // A layer overwrites what it read, so one thread that plays all lanes has the sums of all.
    constexpr unsigned played = std::is_same_v<L, one_lane> ? 32 : 1;
    tile_sums<Arithmetic, Shape, Layer> sums[played];
    RUBATO_DETAIL_UNROLL
    for (unsigned p = 0; p < played; ++p) sums[p].compute(lanes.index() + p, packed, activations);
    lanes.sync();
    RUBATO_DETAIL_UNROLL
    for (unsigned p = 0; p < played; ++p)
      sums[p].store(net.ending_of(Layer), lanes.index() + p, activations, out, present);
    lanes.sync();
    forward_from<Arithmetic, Layer + 1>(net, lanes, packed, activations, out, present);
  }
}

template <std::size_t Layer, class Shape, Lanes L>
RUBATO_DETAIL_SHARED void pack_from(const network<Shape>& net, const L& lanes, float* packed) noexcept {
  if constexpr (Layer < Shape::layers) {
    using tile = forward_tile<Shape>;
    constexpr std::size_t rows = Shape::width(Layer) + 1, outputs = Shape::width(Layer + 1);  // the last row: biases
    constexpr std::size_t padded = tile::padded(Layer);
    const float* const from = net.parameters + Shape::weight(Layer);
    float* const to = packed + tile::weight(Layer);
    for (std::size_t i = lanes.index(); i < rows * padded; i += lanes.count())
      to[i] = i % padded < outputs ? from[i / padded * outputs + i % padded] : 0.0F;
    pack_from<Layer + 1>(net, lanes, packed);
  }
}

// 32 lanes, as the compiler knows, or one that plays them.
template <class L>
concept TileLanes = Lanes<L> &&(std::same_as<L, one_lane> || requires { typename std::enable_if_t<L::count() == 32>; });

}  // namespace detail

/// The parameters as forward_tiles() reads them: outputs filled up with zeros. `packed` has
/// forward_tile<Shape>::parameters numbers; any number of lanes. Ends with a sync.
/// Tests   tests/cuda/batched_forward_test.cpp: PacksEveryParameterOnce
template <class Shape, Lanes L>
RUBATO_DETAIL_SHARED void pack_for_tiles(const network<Shape>& net, const L& lanes, float* packed) noexcept {
  detail::pack_from<0>(net, lanes, packed);
  lanes.sync();
}

/// Asks for tile number `number` of `queries` rows of `in` [queries x Shape::inputs], nothing beyond the last: on the
/// device it is on its way to `activations` until forward_tiles() with the same lanes awaits it. `activations` has
/// forward_tile<Shape>::activations numbers and begins at a multiple of 16 bytes, in shared memory on the device. `in`
/// stays until then.
/// Tests   tests/cuda/batched_forward_test.cpp: OneLaneHasTheBitsOfEvaluate, InputsAnywhereGiveTheSameBits
template <class Shape, detail::TileLanes L>
RUBATO_DETAIL_SHARED void load_tile(const L& lanes, std::size_t number, std::size_t queries, const float* in,
                                    float* activations) noexcept {
  using tile = forward_tile<Shape>;
  constexpr unsigned inputs = Shape::inputs;
  const std::size_t at = number * tile::queries;
  if (at >= queries) return;
  const std::size_t present = queries - at < tile::queries ? queries - at : tile::queries;
  const auto numbers = static_cast<unsigned>(present) * inputs;
  const float* const from = in + at * inputs;
  // Unrolled, these loops would keep their addresses in registers that the sums need.
  if (inputs % 4 == 0 && reinterpret_cast<std::uintptr_t>(in) % 16 == 0) {
    RUBATO_DETAIL_ROLLED
    for (unsigned i = 4 * lanes.index(); i < numbers; i += 4 * lanes.count())
      detail::copy_in<4>(activations + i / inputs * tile::pitch + i % inputs, from + i);
  } else {
    RUBATO_DETAIL_ROLLED
    for (unsigned i = lanes.index(); i < numbers; i += lanes.count())
      detail::copy_in<1>(activations + i / inputs * tile::pitch + i % inputs, from + i);
  }
}

/// Tiles `first`, `first + stride`, ... of `queries` rows of `in` [queries x Shape::inputs] through the network, to
/// `out` [queries x Shape::outputs]; the last tile may be short. `packed` is from pack_for_tiles(), of `net` the
/// endings are read; `packed` and `activations` begin at multiples of 16 bytes, in shared memory on the device; nothing
/// overlaps. Lanes: 32, as the compiler knows, or one_lane. Ends with a sync.
/// Precondition: load_tile() of tile `first` into `activations`, by the same lanes.
///
/// The bits of evaluate<Arithmetic> (tanh of the same side), for each query by itself, in any batch.
/// Cost    a multiply-add per weight, over the lanes; inputs are read and outputs written once. No allocation.
/// Tests   tests/cuda/batched_forward_test.cpp: OneLaneHasTheBitsOfEvaluate, WarpHasTheBitsOfEvaluate,
///         InputsAnywhereGiveTheSameBits, LanesOfALayerCoverItOnce, LanesReadInPairs, LanesAreAWarpOrOne
template <class Arithmetic = fused_arithmetic, class Shape, detail::TileLanes L>
RUBATO_DETAIL_SHARED void forward_tiles(const network<Shape>& net, const L& lanes, const float* packed,
                                        float* activations, std::size_t first, std::size_t stride, std::size_t queries,
                                        const float* in, float* out) noexcept {
  using tile = forward_tile<Shape>;
  for (std::size_t number = first; number * tile::queries < queries; number += stride) {
    const std::size_t at = number * tile::queries;
    const std::size_t present = queries - at < tile::queries ? queries - at : tile::queries;
    detail::await_copies();
    lanes.sync();
    detail::forward_from<Arithmetic, 0>(net, lanes, packed, activations, out + at * Shape::outputs, present);
    load_tile<Shape>(lanes, number + stride, queries, in, activations);
  }
}

}  // namespace rubato::inline RUBATO_ABI::cuda

#endif
