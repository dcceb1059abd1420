#ifndef RUBATO_CUDA_BACKWARD_CUH
#define RUBATO_CUDA_BACKWARD_CUH

#include <cstddef>

#include "float_vector.cuh"
#include "lanes.cuh"
#include "network.cuh"
#include "shared_body.cuh"

namespace rubato::inline RUBATO_ABI::cuda {

namespace detail {

// sum[r] += x[r] * w for four rows.
template <class Arithmetic>
RUBATO_DETAIL_SHARED void add_product(quad& sum, const quad& x, float w) noexcept {
  RUBATO_DETAIL_UNROLL
  for (unsigned r = 0; r < 4; ++r) sum.at[r] = Arithmetic::plus_product(sum.at[r], x.at[r], w);
}

// Where a tile keeps what; units and weights are filled up with zeros to whole quads.
template <class Shape, unsigned Rows>
struct tile_places {
  // One quad more than there are: an odd number of them, so that quads of eight units in a row lie in different banks.
  static constexpr unsigned row_stride = Rows + 4;

  [[nodiscard]] RUBATO_DETAIL_SHARED static constexpr unsigned units_of(unsigned l) noexcept {
    return (static_cast<unsigned>(Shape::width(l)) + 3) / 4 * 4;
  }
  [[nodiscard]] RUBATO_DETAIL_SHARED static constexpr unsigned value_of(unsigned l) noexcept {
    unsigned at = 0;
    for (unsigned i = 0; i != l; ++i) at += units_of(i) * row_stride;
    return at;
  }
  [[nodiscard]] RUBATO_DETAIL_SHARED static constexpr unsigned weight_of(unsigned l) noexcept {
    unsigned at = 0;
    for (unsigned i = 0; i != l; ++i) at += units_of(i) * (units_of(i + 1) + 4) + units_of(i + 1);
    return at;
  }

  // The same as constants, so that no device calls a function for them.
  template <unsigned L>
  static constexpr unsigned units = units_of(L);
  template <unsigned L>
  static constexpr unsigned weight_stride = units<L + 1> + 4;  // from the weights of an input to those of the next
  template <unsigned L>
  static constexpr unsigned value = value_of(L);
  template <unsigned L>
  static constexpr unsigned weight = weight_of(L);
  template <unsigned L>
  static constexpr unsigned bias = weight<L> + units<L>* weight_stride<L>;
};

}  // namespace detail

/// What a forward and a backward pass over `Rows` samples need in memory that all lanes see, shared memory best: the
/// parameters of a network, and the values of all its units, the samples of a unit side by side.
///
/// 41 KiB for 40-64-32-3 and 32 rows. Precondition: Rows is a multiple of 8.
/// Tests   tests/cuda/backward_test.cpp: IsAsLargeAsItSays, ForwardHasTheBitsOfEvaluate
template <class Shape, unsigned Rows>
struct alignas(16) training_tile {
  static_assert(Rows > 0 && Rows % 8 == 0, "training_tile: expected a multiple of 8 rows");
  using shape = Shape;                                                      ///< of the network
  using places = detail::tile_places<Shape, Rows>;                          ///< where what lies in the two arrays
  static constexpr unsigned rows = Rows;                                    ///< samples that there is room for
  static constexpr unsigned layers = static_cast<unsigned>(Shape::layers);  ///< of weights

  float values[places::template value<layers + 1>];   ///< of all units, `places::row_stride` numbers for each
  float parameters[places::template weight<layers>];  ///< as stage() copied them, filled up with zeros to whole quads

  /// Input `unit` of sample `row`; load_rows() fills them.
  [[nodiscard]] RUBATO_DETAIL_SHARED float& input(unsigned unit, unsigned row) noexcept {
    return values[unit * places::row_stride + row];
  }
  /// Output `unit` of sample `row`, from forward() on; backward() overwrites it.
  [[nodiscard]] RUBATO_DETAIL_SHARED float& output(unsigned unit, unsigned row) noexcept {
    return values[places::template value<layers> + unit * places::row_stride + row];
  }
};

namespace detail {

// How many units, or inputs and outputs, one lane takes at a time: as many as leave work for a block of 128 lanes.
[[nodiscard]] RUBATO_DETAIL_SHARED constexpr unsigned at_a_time(unsigned all) noexcept {
  return all >= 4 * 96 ? 4 : all >= 2 * 96 ? 2 : 1;
}
[[nodiscard]] RUBATO_DETAIL_SHARED constexpr unsigned square_at_a_time(unsigned all) noexcept {
  return all >= 16 * 96 ? 4 : all >= 4 * 96 ? 2 : 1;
}

// `Count` numbers at a time, which lie together on both sides.
template <unsigned Count, unsigned Layer, class Shape, unsigned Rows, Lanes L>
RUBATO_DETAIL_SHARED void stage_layer(const network<Shape>& net, const L& lanes,
                                      training_tile<Shape, Rows>& memory) noexcept {
  using places = tile_places<Shape, Rows>;
  constexpr std::size_t first_weight = Shape::weight(Layer), first_bias = Shape::bias(Layer);
  constexpr unsigned inputs = Shape::width(Layer), outputs = Shape::width(Layer + 1);
  constexpr unsigned in_units = places::template units<Layer>, across = places::template units<Layer + 1> / Count;
  float* const to = memory.parameters + places::template weight<Layer>;
  float* const bias_to = memory.parameters + places::template bias<Layer>;
  const float* const weight = net.parameters + first_weight;
  const float* const bias = net.parameters + first_bias;
  for (unsigned n = lanes.index(); n < (in_units + 1) * across; n += lanes.count()) {
    const unsigned i = n / across, o = n % across * Count;
    const bool of_bias = i == in_units;
    float_vector<Count> copied{};
    if (o < outputs && (i < inputs || of_bias)) copied = load<Count>(of_bias ? bias + o : weight + i * outputs + o);
    store(of_bias ? bias_to + o : to + i * places::template weight_stride<Layer> + o, copied);
  }
}
template <unsigned Layer, class Shape, unsigned Rows, Lanes L>
RUBATO_DETAIL_SHARED void stage_from(const network<Shape>& net, const L& lanes,
                                     training_tile<Shape, Rows>& memory) noexcept {
  if constexpr (Layer < Shape::layers) {
    constexpr bool quads = Shape::weight(Layer) % 4 == 0 && Shape::width(Layer + 1) % 4 == 0;
    stage_layer<quads ? 4 : 1, Layer>(net, lanes, memory);
    stage_from<Layer + 1>(net, lanes, memory);
  }
}

// A lane takes a quad of rows and `step` outputs. The order of each sum is that of the host: the last input first.
template <class Arithmetic, unsigned Layer, class Shape, unsigned Rows, Lanes L>
RUBATO_DETAIL_SHARED void forward_layers(const network<Shape>& net, const L& lanes,
                                         training_tile<Shape, Rows>& memory) noexcept {
  if constexpr (Layer < Shape::layers) {
    using places = tile_places<Shape, Rows>;
    constexpr unsigned inputs = Shape::width(Layer), units = places::template units<Layer + 1>, quads = Rows / 4;
    constexpr unsigned step = at_a_time(quads * units), stride = places::row_stride;
    const float* const in = memory.values + places::template value<Layer>;
    const float* const weight = memory.parameters + places::template weight<Layer>;
    const float* const bias = memory.parameters + places::template bias<Layer>;
    float* const out = memory.values + places::template value<Layer + 1>;
    const ending& f = net.ending_of(Layer);
    for (unsigned n = lanes.index(); n < quads * (units / step); n += lanes.count()) {
      const unsigned row = n % quads * 4, o = n / quads * step;
      const float_vector<step> from = load<step>(bias + o);
      quad sum[step];
      RUBATO_DETAIL_UNROLL
      for (unsigned k = 0; k < step; ++k) sum[k] = {from.at[k], from.at[k], from.at[k], from.at[k]};
      for (unsigned i = inputs; i-- > 0;) {
        const quad x = load<4>(in + i * stride + row);
        const float_vector<step> w = load<step>(weight + i * places::template weight_stride<Layer> + o);
        RUBATO_DETAIL_UNROLL
        for (unsigned k = 0; k < step; ++k) add_product<Arithmetic>(sum[k], x, w.at[k]);
      }
      RUBATO_DETAIL_UNROLL
      for (unsigned k = 0; k < step; ++k) {
        RUBATO_DETAIL_UNROLL
        for (unsigned r = 0; r < 4; ++r) sum[k].at[r] = activate(f, sum[k].at[r]);
        store(out + (o + k) * stride + row, sum[k]);
      }
    }
    lanes.sync();
    forward_layers<Arithmetic, Layer + 1>(net, lanes, memory);
  }
}

// A lane takes step x step weights, the outputs apart, so that lanes side by side write side by side. Each sum has its
// rows in turn.
template <class Arithmetic, unsigned Layer, class Shape, unsigned Rows, Lanes L>
RUBATO_DETAIL_SHARED void parameter_gradient(const L& lanes, const training_tile<Shape, Rows>& memory,
                                             float* gradient) noexcept {
  using places = tile_places<Shape, Rows>;
  constexpr unsigned inputs = Shape::width(Layer), outputs = Shape::width(Layer + 1), stride = places::row_stride;
  constexpr unsigned in_units = places::template units<Layer>, out_units = places::template units<Layer + 1>;
  constexpr unsigned step = square_at_a_time(in_units * out_units), apart = out_units / step;
  const float* const in = memory.values + places::template value<Layer>;
  const float* const delta = memory.values + places::template value<Layer + 1>;
  constexpr std::size_t first_weight = Shape::weight(Layer), first_bias = Shape::bias(Layer);
  float* const weight_gradient = gradient + first_weight;
  float* const bias_gradient = gradient + first_bias;
  for (unsigned n = lanes.index(); n < in_units / step * apart; n += lanes.count()) {
    const unsigned i = n / apart * step, o = n % apart;
    float sum[step][step] = {};
    for (unsigned row = 0; row < Rows; row += 4) {
      quad x[step], d[step];
      RUBATO_DETAIL_UNROLL
      for (unsigned k = 0; k < step; ++k) {
        x[k] = load<4>(in + (i + k) * stride + row);
        d[k] = load<4>(delta + (o + k * apart) * stride + row);
      }
      RUBATO_DETAIL_UNROLL
      for (unsigned r = 0; r < 4; ++r) {
        RUBATO_DETAIL_UNROLL
        for (unsigned a = 0; a < step; ++a) {
          RUBATO_DETAIL_UNROLL
          for (unsigned b = 0; b < step; ++b) sum[a][b] = Arithmetic::plus_product(sum[a][b], x[a].at[r], d[b].at[r]);
        }
      }
    }
    RUBATO_DETAIL_UNROLL
    for (unsigned a = 0; a < step; ++a) {
      RUBATO_DETAIL_UNROLL
      for (unsigned b = 0; b < step; ++b)
        if (i + a < inputs && o + b * apart < outputs) weight_gradient[(i + a) * outputs + o + b * apart] = sum[a][b];
    }
  }
  for (unsigned o = lanes.index(); o < outputs; o += lanes.count()) {
    float sum = 0;
    for (unsigned row = 0; row < Rows; row += 4) {
      const quad d = load<4>(delta + o * stride + row);
      RUBATO_DETAIL_UNROLL
      for (unsigned r = 0; r < 4; ++r) sum += d.at[r];
    }
    bias_gradient[o] = sum;
  }
}

// In place: what layer Layer - 1 put out becomes the gradient by what it puts out before its activation. Eight sums, of
// every eighth output, and then these in turn: the host's order.
template <class Arithmetic, unsigned Layer, class Shape, unsigned Rows, Lanes L>
RUBATO_DETAIL_SHARED void input_gradient(const network<Shape>& net, const L& lanes,
                                         training_tile<Shape, Rows>& memory) noexcept {
  using places = tile_places<Shape, Rows>;
  constexpr unsigned outputs = Shape::width(Layer + 1), units = places::template units<Layer>, quads = Rows / 4;
  constexpr unsigned step = at_a_time(quads * units), apart = units / step, stride = places::row_stride;
  constexpr unsigned sums = outputs < 8 ? outputs : 8;
  const float* const delta = memory.values + places::template value<Layer + 1>;
  const float* const weight = memory.parameters + places::template weight<Layer>;
  float* const in = memory.values + places::template value<Layer>;
  for (unsigned n = lanes.index(); n < quads * apart; n += lanes.count()) {
    const unsigned row = n % quads * 4, i = n / quads;
    quad total[step] = {};
    RUBATO_DETAIL_UNROLL
    for (unsigned first = 0; first < sums; ++first) {
      quad sum[step] = {};
      for (unsigned o = first; o < outputs; o += 8) {
        const quad d = load<4>(delta + o * stride + row);
        RUBATO_DETAIL_UNROLL
        for (unsigned k = 0; k < step; ++k)
          add_product<Arithmetic>(sum[k], d, weight[(i + k * apart) * places::template weight_stride<Layer> + o]);
      }
      RUBATO_DETAIL_UNROLL
      for (unsigned k = 0; k < step; ++k) {
        RUBATO_DETAIL_UNROLL
        for (unsigned r = 0; r < 4; ++r) total[k].at[r] += sum[k].at[r];
      }
    }
    RUBATO_DETAIL_UNROLL
    for (unsigned k = 0; k < step; ++k) {
      float* const at = in + (i + k * apart) * stride + row;
      const quad y = load<4>(at);
      RUBATO_DETAIL_UNROLL
      for (unsigned r = 0; r < 4; ++r) total[k].at[r] = chain(net.hidden, y.at[r], total[k].at[r]);
      store(at, total[k]);
    }
  }
}

template <class Arithmetic, unsigned Layer, class Shape, unsigned Rows, Lanes L>
RUBATO_DETAIL_SHARED void backward_from(const network<Shape>& net, const L& lanes, training_tile<Shape, Rows>& memory,
                                        float* gradient) noexcept {
  parameter_gradient<Arithmetic, Layer>(lanes, memory, gradient);
  lanes.sync();
  if constexpr (Layer > 0) {
    input_gradient<Arithmetic, Layer>(net, lanes, memory);
    lanes.sync();
    backward_from<Arithmetic, Layer - 1>(net, lanes, memory, gradient);
  }
}

}  // namespace detail

/// Copies the parameters of a network into the tile, for the forward() and backward() that follow. Ends with a sync.
/// Precondition: 16 divides their address.
template <class Shape, unsigned Rows, Lanes L>
RUBATO_DETAIL_SHARED void stage(const network<Shape>& net, const L& lanes,
                                training_tile<Shape, Rows>& memory) noexcept {
  detail::stage_from<0>(net, lanes, memory);
  lanes.sync();
}

/// Copies `rows` samples into the tile, sample `row` from row_of(row), and zeros for the rest. Ends with a sync.
/// Precondition: rows <= Rows; row_of(row) points to Shape::inputs numbers.
template <class Shape, unsigned Rows, Lanes L, class RowOf>
RUBATO_DETAIL_SHARED void load_rows(const L& lanes, unsigned rows, const RowOf& row_of,
                                    training_tile<Shape, Rows>& memory) noexcept {
  constexpr unsigned inputs = Shape::inputs, units = detail::tile_places<Shape, Rows>::template units<0>;
  constexpr unsigned sector = 8;  // numbers side by side that lanes side by side read
  constexpr unsigned all = (units + sector - 1) / sector * sector * Rows;
  for (unsigned n = lanes.index(); n < all; n += lanes.count()) {
    const unsigned row = n / sector % Rows, unit = n / sector / Rows * sector + n % sector;
    if (unit < units) memory.input(unit, row) = row < rows && unit < inputs ? row_of(row)[unit] : 0.0F;
  }
  lanes.sync();
}

/// The network on the tile's samples; the values of all units stay for backward(). Ends with a sync.
///
/// With exact_arithmetic and without tanh each sample has the bits of cuda::evaluate, and so those of the host.
/// Cost    a multiplication and an addition per weight and row, over the lanes: 16 of them for two reads of 16 bytes.
/// Tests   tests/cuda/backward_test.cpp: ForwardHasTheBitsOfEvaluate, AnyNumberOfLanesGivesTheSameGradient
template <class Arithmetic = exact_arithmetic, class Shape, unsigned Rows, Lanes L>
RUBATO_DETAIL_SHARED void forward(const network<Shape>& net, const L& lanes,
                                  training_tile<Shape, Rows>& memory) noexcept {
  detail::forward_layers<Arithmetic, 0>(net, lanes, memory);
}

/// Overwrites `gradient` (Shape::parameters numbers) with what the loss changes with each parameter, given what it
/// changes with each output of the latest forward(): slope_of(row, output), asked for the first `rows` samples. The
/// values in the tile are lost, the inputs excepted. Ends with a sync.
///
/// One tile has the bits of nn::mlp::backward on nn::kernels::reproducible<float>() over the same rows, with
/// exact_arithmetic and without tanh. A larger batch is cut into tiles, always the same ones, whose gradients
/// ordered_sum() adds up in turn: the result depends neither on lanes nor on blocks, and is within 1e-5 of the widest
/// gradient of the host's, which adds up all rows in turn.
/// Cost    twice that of forward(). No allocation.
/// Tests   tests/cuda/backward_test.cpp: OneTileHasTheBitsOfTheHost, TilesInTurnAreCloseToTheHost,
///         AnyNumberOfLanesGivesTheSameGradient, FusedGradientIsClose; tests/cuda/device/dqn_learner_test.cu
template <class Arithmetic = exact_arithmetic, class Shape, unsigned Rows, Lanes L, class SlopeOf>
RUBATO_DETAIL_SHARED void backward(const network<Shape>& net, const L& lanes, unsigned rows, const SlopeOf& slope_of,
                                   training_tile<Shape, Rows>& memory, float* gradient) noexcept {
  constexpr unsigned layers = Shape::layers, outputs = Shape::outputs;
  for (unsigned n = lanes.index(); n < outputs * Rows; n += lanes.count()) {
    float& y = memory.output(n / Rows, n % Rows);
    y = n % Rows < rows ? chain(net.output, y, slope_of(n % Rows, n / Rows)) : 0.0F;
  }
  lanes.sync();
  detail::backward_from<Arithmetic, layers - 1>(net, lanes, memory, gradient);
}

/// The sum of number `i` of each of `tiles` gradients that lie `stride` numbers apart, in turn.
/// Precondition: tiles > 0.
[[nodiscard]] RUBATO_DETAIL_SHARED inline float ordered_sum(const float* gradients, unsigned tiles, std::size_t stride,
                                                            std::size_t i) noexcept {
  float sum = gradients[i];
  for (unsigned t = 1; t < tiles; ++t) sum += gradients[t * stride + i];
  return sum;
}

}  // namespace rubato::inline RUBATO_ABI::cuda

#endif
