#ifndef RUBATO_CUDA_TENSOR_CORE_TILE_CUH
#define RUBATO_CUDA_TENSOR_CORE_TILE_CUH

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "forward_tile.cuh"
#include "lanes.cuh"
#include "network.cuh"
#include "shared_body.cuh"

namespace rubato::inline RUBATO_ABI::cuda {

namespace detail {

[[nodiscard]] RUBATO_DETAIL_SHARED inline std::uint32_t bits_of(float x) noexcept {
#if RUBATO_DETAIL_DEVICE
  return __float_as_uint(x);
#else
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
#endif
}

// To bf16: to the nearest, ties to even.
[[nodiscard]] RUBATO_DETAIL_SHARED inline std::uint32_t to_bf16(float x) noexcept {
  const std::uint32_t bits = bits_of(x);
  if (x != x) return 0x7fff;
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}

}  // namespace detail

/// Operands of 8 bits of precision and the range of float: mma.m16n8k16 with two numbers in a word.
/// Tests   tests/cuda/tensor_core_forward_test.cpp: RoundsToTheNearest, RoundoffIsTheLargest
struct bf16_operands {
  static constexpr unsigned of_word = 2;          ///< numbers in a word of four bytes
  static constexpr unsigned depth = 8 * of_word;  ///< inputs that one instruction sums
  static constexpr double roundoff = 0x1p-8;      ///< half a unit in the last place of 1

  /// x[0] in the lower half and x[1] in the upper, each rounded to the nearest, ties to even.
  [[nodiscard]] RUBATO_DETAIL_SHARED static std::uint32_t word(const float* x) noexcept {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    std::uint32_t both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(x[1]), "f"(x[0]));
    return both;
#else
    return detail::to_bf16(x[0]) | detail::to_bf16(x[1]) << 16;
#endif
  }
};

/// Operands of 11 bits of precision and the range of float: mma.m16n8k8, half as fast as bf16.
/// Tests   tests/cuda/tensor_core_forward_test.cpp: RoundsToTheNearest, RoundoffIsTheLargest
struct tf32_operands {
  static constexpr unsigned of_word = 1;          ///< numbers in a word of four bytes
  static constexpr unsigned depth = 8 * of_word;  ///< inputs that one instruction sums
  static constexpr double roundoff = 0x1p-11;     ///< half a unit in the last place of 1

  /// x[0], rounded to the nearest, ties away from zero.
  [[nodiscard]] RUBATO_DETAIL_SHARED static std::uint32_t word(const float* x) noexcept {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    std::uint32_t one;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(one) : "f"(x[0]));
    return one;
#else
    if (x[0] != x[0]) return 0x7fffffff;
    return (detail::bits_of(x[0]) + 0x1000) & 0xffffe000;  // to the nearest, ties away from zero
#endif
  }
};

/// Which query, input and output a lane of a warp has in a step: 16 queries, Operands::depth inputs, 8 outputs.
///
/// An instruction takes 4 words of A (queries x inputs), 2 of B (inputs x outputs) and 4 sums C (queries x outputs)
/// from each lane. The order of the inputs within a step is ours to choose, if A and B have the same: the e-th of a
/// lane's 2 * of_word inputs is input(lane, e). That is what the lane's sums of the layer before are outputs of, so a
/// layer's sums become the next layer's A without leaving their lane. For bf16 it is the order of the PTX manual; for
/// tf32 the manual's inputs t and t + 4 of a lane are 2 t and 2 t + 1 here.
///
/// Source  PTX ISA 8.7, "Matrix Fragments for mma.m16n8k16 with floating point type", "... for mma.m16n8k8"
/// Tests   tests/cuda/tensor_core_forward_test.cpp: WholeNumbersAreExact
struct mma_fragment {
  /// Among the inputs of a step, the e-th of a lane.
  [[nodiscard]] RUBATO_DETAIL_SHARED static constexpr unsigned input(unsigned lane, unsigned e) noexcept {
    return 8 * (e / 2) + 2 * (lane % 4) + e % 2;
  }
  /// Of words 0 and 2 of A the first half, of words 1 and 3 the second.
  [[nodiscard]] RUBATO_DETAIL_SHARED static constexpr unsigned query(unsigned lane, unsigned half) noexcept {
    return lane / 4 + 8 * half;
  }
  /// Of both words of B, among the 8 outputs.
  [[nodiscard]] RUBATO_DETAIL_SHARED static constexpr unsigned output_of_b(unsigned lane) noexcept { return lane / 4; }
  /// Sums 0 and 1 are of the first half's query, 2 and 3 of the second's; the odd ones of the next output.
  [[nodiscard]] RUBATO_DETAIL_SHARED static constexpr unsigned output_of_sum(unsigned lane) noexcept {
    return 2 * (lane % 4);
  }
};

/// How a network is cut into steps, and where its packed weights lie: for each layer the words of B, [step][tile][lane]
/// [2], then the biases of the layer as floats. Widths are filled up with zeros.
template <class Shape, class Operands>
struct tensor_core_plan {
  static constexpr std::size_t depth = Operands::depth;  ///< inputs of a step

  /// Steps of layer l, counted from 0: its inputs, `depth` at a time.
  [[nodiscard]] RUBATO_DETAIL_SHARED static constexpr std::size_t steps(std::size_t l) noexcept {
    return (Shape::width(l) + depth - 1) / depth;
  }
  /// Groups of 8 outputs, as many as the next layer's steps take.
  [[nodiscard]] RUBATO_DETAIL_SHARED static constexpr std::size_t tiles(std::size_t l) noexcept {
    return l + 1 == Shape::layers ? (Shape::width(l + 1) + 7) / 8 : steps(l + 1) * (depth / 8);
  }
  /// Index of the first word of B of layer l.
  [[nodiscard]] RUBATO_DETAIL_SHARED static constexpr std::size_t weight(std::size_t l) noexcept {
    std::size_t at = 0;
    for (std::size_t i = 0; i < l; ++i) at += steps(i) * tiles(i) * 64 + tiles(i) * 8;
    return at;
  }
  /// Index of its first bias.
  [[nodiscard]] RUBATO_DETAIL_SHARED static constexpr std::size_t bias(std::size_t l) noexcept {
    return weight(l) + steps(l) * tiles(l) * 64;
  }
  /// Groups of 8 outputs of the layer that has most of them.
  static constexpr std::size_t most_tiles = [] {
    std::size_t most = 0;
    for (std::size_t l = 0; l < Shape::layers; ++l) most = tiles(l) > most ? tiles(l) : most;
    return most;
  }();
  // A lane has 4 sums for each group of 8 outputs, and beside them the words of A: beyond 16 groups they no longer fit
  // into the 128 registers that tensor_core_forward() leaves it, and spill. Right, but slower.
  static_assert(most_tiles <= 32, "tensor_core_plan: expected layers of at most 256 outputs");
  /// Blocks of 16 queries that a warp works on side by side: each word of B serves both, where registers suffice.
  static constexpr unsigned blocks = Operands::of_word == 2 && most_tiles <= 8 && Shape::inputs <= 64 ? 2 : 1;
  static constexpr std::size_t queries = 16 * blocks;  ///< of a tile: what a warp works on at once
};

/// Words of device memory for the packed weights.
template <class Shape, class Operands>
inline constexpr std::size_t packed_words = tensor_core_plan<Shape, Operands>::weight(Shape::layers);

namespace detail {

template <class Operands, std::size_t Layer, class Shape, Lanes L>
RUBATO_DETAIL_SHARED void pack_words_from(const network<Shape>& net, const L& lanes, std::uint32_t* packed) noexcept {
  if constexpr (Layer < Shape::layers) {
    using plan = tensor_core_plan<Shape, Operands>;
    constexpr std::size_t inputs = Shape::width(Layer), outputs = Shape::width(Layer + 1), tiles = plan::tiles(Layer);
    const float* const weight = net.parameters + Shape::weight(Layer);
    const float* const bias = net.parameters + Shape::bias(Layer);
    for (std::size_t w = lanes.index(); w < plan::steps(Layer) * tiles * 64; w += lanes.count()) {
      const unsigned word = w % 2, lane = w / 2 % 32;
      const std::size_t tile = w / 64 % tiles, step = w / 64 / tiles;
      const std::size_t o = tile * 8 + mma_fragment::output_of_b(lane);
      float x[Operands::of_word];
      for (unsigned h = 0; h < Operands::of_word; ++h) {
        const std::size_t i = step * Operands::depth + mma_fragment::input(lane, word * Operands::of_word + h);
        x[h] = i < inputs && o < outputs ? weight[i * outputs + o] : 0.0F;
      }
      packed[plan::weight(Layer) + w] = Operands::word(x);
    }
    for (std::size_t o = lanes.index(); o < tiles * 8; o += lanes.count())
      packed[plan::bias(Layer) + o] = bits_of(o < outputs ? bias[o] : 0.0F);
    pack_words_from<Operands, Layer + 1>(net, lanes, packed);
  }
}

// A layer's operand A, from the numbers of a lane.
template <class Operands, std::size_t Steps>
struct operand {
  std::uint32_t word[Steps][4];

  // x[half][e]
  RUBATO_DETAIL_SHARED void set(std::size_t step, const float (&x)[2][2 * Operands::of_word]) noexcept {
    RUBATO_DETAIL_UNROLL
    for (unsigned w = 0; w < 4; ++w) word[step][w] = Operands::word(&x[w % 2][w / 2 * Operands::of_word]);
  }
};

template <class Operands, std::size_t Layer, class Shape, class Unit, std::size_t Steps, unsigned Blocks>
RUBATO_DETAIL_SHARED void multiply_from(const network<Shape>& net, const Unit& unit, unsigned lane,
                                        const std::uint32_t* packed, const operand<Operands, Steps> (&a)[Blocks],
                                        float* out, std::size_t present) noexcept {
  using plan = tensor_core_plan<Shape, Operands>;
  constexpr std::size_t tiles = plan::tiles(Layer), outputs = Shape::width(Layer + 1);
  constexpr bool last = Layer + 1 == Shape::layers;
  static_assert(Steps == plan::steps(Layer) && Blocks == plan::blocks);
  const ending& f = net.ending_of(Layer);
  const ramp end{f};
  float sum[Blocks][tiles][4];
  RUBATO_DETAIL_UNROLL
  for (std::size_t t = 0; t < tiles; ++t) {
    float bias[2];
    RUBATO_DETAIL_UNROLL
    for (unsigned k = 0; k < 2; ++k)
      std::memcpy(&bias[k], packed + plan::bias(Layer) + 8 * t + mma_fragment::output_of_sum(lane) + k, sizeof(float));
    RUBATO_DETAIL_UNROLL
    for (unsigned m = 0; m < Blocks; ++m) {
      RUBATO_DETAIL_UNROLL
      for (unsigned k = 0; k < 4; ++k) sum[m][t][k] = bias[k % 2];
    }
  }
  RUBATO_DETAIL_UNROLL
  for (std::size_t s = 0; s < Steps; ++s) {
    RUBATO_DETAIL_UNROLL
    for (std::size_t t = 0; t < tiles; ++t) {
      const std::uint32_t* const b = packed + plan::weight(Layer) + ((s * tiles + t) * 32 + lane) * 2;
      const std::uint32_t words[2] = {b[0], b[1]};
      RUBATO_DETAIL_UNROLL
      for (unsigned m = 0; m < Blocks; ++m) unit.multiply_add(sum[m][t], a[m].word[s], words);
    }
  }
  RUBATO_DETAIL_UNROLL
  for (unsigned m = 0; m < Blocks; ++m) {
    RUBATO_DETAIL_UNROLL
    for (std::size_t t = 0; t < tiles; ++t) {
      RUBATO_DETAIL_UNROLL
      for (unsigned k = 0; k < 4; ++k) sum[m][t][k] = end(sum[m][t][k]);
    }
  }
  if (f.kind == nn::activation_kind::tanh) {
    RUBATO_DETAIL_UNROLL
    for (unsigned m = 0; m < Blocks; ++m) {
      RUBATO_DETAIL_UNROLL
      for (std::size_t t = 0; t < tiles; ++t) {
        RUBATO_DETAIL_UNROLL
        for (unsigned k = 0; k < 4; ++k) sum[m][t][k] = ::tanhf(sum[m][t][k]);
      }
    }
  }

  if constexpr (last) {
    RUBATO_DETAIL_UNROLL
    for (unsigned m = 0; m < Blocks; ++m) {
      RUBATO_DETAIL_UNROLL
      for (std::size_t t = 0; t < tiles; ++t) {
        RUBATO_DETAIL_UNROLL
        for (unsigned k = 0; k < 4; ++k) {
          const std::size_t q = 16 * m + mma_fragment::query(lane, k / 2);
          const std::size_t o = 8 * t + mma_fragment::output_of_sum(lane) + k % 2;
          if (q < present && o < outputs) out[q * outputs + o] = sum[m][t][k];
        }
      }
    }
  } else {
    operand<Operands, plan::steps(Layer + 1)> next[Blocks];
    RUBATO_DETAIL_UNROLL
    for (unsigned m = 0; m < Blocks; ++m) {
      RUBATO_DETAIL_UNROLL
      for (std::size_t s = 0; s < plan::steps(Layer + 1); ++s) {
        float x[2][2 * Operands::of_word];
        RUBATO_DETAIL_UNROLL
        for (unsigned half = 0; half < 2; ++half) {
          RUBATO_DETAIL_UNROLL
          for (unsigned e = 0; e < 2 * Operands::of_word; ++e)
            x[half][e] = sum[m][s * Operands::of_word + e / 2][2 * half + e % 2];
        }
        next[m].set(s, x);
      }
    }
    multiply_from<Operands, Layer + 1>(net, unit, lane, packed, next, out, present);
  }
}

// Two adjacent inputs of a row; those beyond the last are 0.
template <std::size_t Inputs>
RUBATO_DETAIL_SHARED void load_two(float* to, const float* row, std::size_t i, bool vectors) noexcept {
#if RUBATO_DETAIL_DEVICE
  if (vectors) {
    const float2 v = i < Inputs ? *reinterpret_cast<const float2*>(row + i) : float2{0, 0};
    to[0] = v.x;
    to[1] = v.y;
    return;
  }
#else
  static_cast<void>(vectors);
#endif
  to[0] = i < Inputs ? row[i] : 0.0F;
  to[1] = i + 1 < Inputs ? row[i + 1] : 0.0F;
}

}  // namespace detail

/// The parameters of `net` as tensor_core_tiles() reads them: packed_words<Shape, Operands> words. Any number of
/// lanes. Ends with a sync.
/// Tests   tests/cuda/tensor_core_forward_test.cpp: WholeNumbersAreExact, StaysWithinItsError
template <class Operands, class Shape, Lanes L>
RUBATO_DETAIL_SHARED void pack_words(const network<Shape>& net, const L& lanes, std::uint32_t* packed) noexcept {
  detail::pack_words_from<Operands, 0>(net, lanes, packed);
  lanes.sync();
}

/// Tiles `first`, `first + stride`, ... of `queries` rows of `in` [queries x Shape::inputs] through the network, to
/// `out` [queries x Shape::outputs]; the last tile may be short. `packed` is from pack_words(), of `net` the endings
/// are read. Called by all 32 lanes of a warp. `unit.multiply_add(c, a, b)` is the instruction, as a lane sees it: 4
/// sums, 4 words, 2 words. On the host, where tests play the warp, it waits for the others.
///
/// Error   with leaky ReLUs of a slope of at most 1, ReLUs and tanh: at most 2.1 * layers * Operands::roundoff of the
///         sum of the absolute values of all terms, a term of a later layer taken with the sum of the former; for 3
///         layers 2.5e-2 with bf16 and 3.1e-3 with tf32. With random parameters 40-64-32-3 stays within 1e-4 and 1e-5
///         of it, and within 1e-2 and 1e-3 of the largest output of a batch.
/// Cost    inputs are read and outputs written once; nothing else leaves the registers. No allocation.
/// Tests   tests/cuda/tensor_core_forward_test.cpp: WholeNumbersAreExact, StaysWithinItsError,
///         RandomNetworksAreCloser
template <class Operands, class Shape, class Unit>
RUBATO_DETAIL_SHARED void tensor_core_tiles(const network<Shape>& net, const Unit& unit, unsigned lane,
                                            const std::uint32_t* packed, std::size_t first, std::size_t stride,
                                            std::size_t queries, const float* in, float* out) noexcept {
  using plan = tensor_core_plan<Shape, Operands>;
  constexpr std::size_t inputs = Shape::inputs, steps = plan::steps(0);
  const bool vectors = inputs % 2 == 0 && reinterpret_cast<std::uintptr_t>(in) % 8 == 0;
  for (std::size_t at = first * plan::queries; at < queries; at += stride * plan::queries) {
    const std::size_t present = queries - at < plan::queries ? queries - at : plan::queries;
    // Four lanes read 32 adjacent bytes: a sector, and all of it.
    float x[plan::blocks][steps][2][2 * Operands::of_word];
    RUBATO_DETAIL_UNROLL
    for (unsigned m = 0; m < plan::blocks; ++m) {
      RUBATO_DETAIL_UNROLL
      for (unsigned half = 0; half < 2; ++half) {
        // A query that is not there repeats the last: its outputs are not stored.
        const std::size_t q = 16 * m + mma_fragment::query(lane, half);
        const float* const row = in + (at + (q < present ? q : present - 1)) * inputs;
        RUBATO_DETAIL_UNROLL
        for (std::size_t s = 0; s < steps; ++s) {
          RUBATO_DETAIL_UNROLL
          for (unsigned e = 0; e < 2 * Operands::of_word; e += 2)
            detail::load_two<inputs>(&x[m][s][half][e], row, s * Operands::depth + mma_fragment::input(lane, e),
                                     vectors);
        }
      }
    }
    detail::operand<Operands, steps> a[plan::blocks];
    RUBATO_DETAIL_UNROLL
    for (unsigned m = 0; m < plan::blocks; ++m) {
      RUBATO_DETAIL_UNROLL
      for (std::size_t s = 0; s < steps; ++s) a[m].set(s, x[m][s]);
    }
    detail::multiply_from<Operands, 0>(net, unit, lane, packed, a, out + at * Shape::outputs, present);
  }
}

}  // namespace rubato::inline RUBATO_ABI::cuda

#endif
