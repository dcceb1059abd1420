#ifndef RUBATO_SIM_MLP_HPP
#define RUBATO_SIM_MLP_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../config.hpp"
#include "../core/rng.hpp"
#include "aligned_buffer.hpp"
#include "kernels/kernel_set.hpp"
#include "sparse_images.hpp"

namespace rubato::inline RUBATO_ABI::sim {

inline constexpr std::uint32_t max_hidden_layers = 6;  ///< of an mlp

/// inputs - [units, ReLU] x hidden - classes, softmax on top.
struct mlp_shape {
  std::uint32_t inputs = 0;   ///< numbers that make up a sample
  std::uint32_t hidden = 1;   ///< hidden layers, at most max_hidden_layers
  std::uint32_t units = 256;  ///< outputs of each hidden layer
  std::uint32_t classes = 0;  ///< outputs of the last layer
};

/// How an input x is made of a pixel p: x = scale * p + shift.
struct pixel_map {
  float scale = 1;  ///< factor on the pixel
  float shift = 0;  ///< summand, so what a black pixel becomes
};

/// The inputs of a batch, without their shift, and what the shift adds (see mlp).
struct mlp_batch {
  /// A sample's factors of the first layer's three affine rows: bias, v and S.
  struct terms {
    float forward[3];   ///< 1, the sum of the inputs, shift
    float backward[3];  ///< 1, shift, the sum of the inputs without their shift
  };

  sparse_rows pixels;                ///< scale * pixel, a row per sample
  std::vector<terms> affine;         ///< one per sample
  std::vector<std::uint8_t> labels;  ///< one per sample, below the number of classes

  [[nodiscard]] std::uint32_t rows() const noexcept { return pixels.rows(); }  ///< samples

  /// No samples; the storage stays.
  void clear() {
    pixels.clear();
    affine.clear();
    labels.clear();
  }

  /// One more sample.
  void append(const sparse_images& images, std::uint32_t sample, pixel_map map, const kernels::kernel_set& kernel) {
    const float sum = map.scale * static_cast<float>(images.pixel_sum(sample));
    pixels.append(images, sample, map.scale, kernel);
    affine.push_back({{1, sum + map.shift * static_cast<float>(images.inputs()), map.shift}, {1, map.shift, sum}});
    labels.push_back(images.label(sample));
  }
};

/// Where a pass keeps the output of every layer, and the gradient of the loss by that output before its ReLU.
/// Layer l is [rows x stride(l)]; the last layer's delta takes the place of its logits.
struct mlp_pass {
  std::array<float*, max_hidden_layers + 1> activation{};  ///< by layer; of the last one the logits
  std::array<float*, max_hidden_layers + 1> delta{};       ///< by layer; not used by forward()
};

/// The arithmetic of a multi-layer perceptron on flat, padded parameter buffers. It owns no parameters: the same layout
/// serves weights, velocities and sums of gradients, so each step of SGD is a linear operation on such a buffer.
///
/// Inputs  Most pixels are 0, but x = scale * p + shift is 0 nowhere. With s = scale * p, the first layer's weights are
///         kept as W_i = W'_i + v, and S = sum_i W'_i beside them; then
///             sum_i x_i W_i  = sum_i s_i W'_i + v sum_i x_i + shift S
///             dW'_i = s_i d,  dv = shift d,  dS = (sum_i s_i) d
///         and neither direction ever touches the row of a black pixel. bias, v, S are the layer's three affine rows.
///         rebase() now and then folds v into W' and sums S anew, so that rounding cannot build up.
/// Layout  the first layer in panels of 64 outputs, each input-major: pixels are met in no order, and a panel spans few
///         enough memory pages for the processor to keep track of. Hidden layers input-major; the last of several
///         class-major, which makes all three of its products run along its long side. Rows are padded to 16 floats,
///         and off multiples of 64, which would crowd a column of the matrix into a few cache sets. Padding is zero
///         and stays zero.
/// Thread  const and stateless: thread-safe on distinct buffers. No allocation.
/// Tests   tests/sim/sgd_test.cpp: GradientMatchesFiniteDifferences, StandardisedInputsMatchADenseReference
/// Source  initial weights: Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural
///         networks", AISTATS 2010, eq. 16
class mlp {
 public:
  /// Lays out the buffer. `kernel` must outlive the mlp. Precondition: at most max_hidden_layers hidden layers.
  mlp(const mlp_shape& shape, const kernels::kernel_set& kernel) noexcept : shape_{shape}, kernel_{&kernel} {
    for (std::uint32_t layer = 0; layer <= shape_.hidden; ++layer) {
      weights_[layer] = size_;
      size_ += layer == 0 ? shape_.inputs * padded(width(0)) : weight_rows(layer) * weight_stride(layer);
      affine_[layer] = size_;
      size_ += (layer == 0 ? 3 : 1) * stride(layer);
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }  ///< floats in a parameter buffer
  /// Hidden layers: the number of the last layer.
  [[nodiscard]] std::uint32_t hidden() const noexcept { return shape_.hidden; }

  /// Floats between the rows of a layer's outputs.
  [[nodiscard]] std::size_t stride(std::uint32_t layer) const noexcept { return padded_stride(width(layer)); }

  /// Weight from input (or unit) `from` to output `to` of a layer.
  [[nodiscard]] float weight(const float* parameters, std::uint32_t layer, std::size_t from, std::size_t to) const {
    const float own = parameters[weights_[layer] + weight_index(layer, from, to)];
    return layer == 0 ? own + parameters[affine_[0] + stride(0) + to] : own;
  }

  /// Bias of output `to` of a layer.
  [[nodiscard]] float bias(const float* parameters, std::uint32_t layer, std::size_t to) const {
    return parameters[affine_[layer] + to];
  }

  /// Weights uniform in +-sqrt(6 / (inputs + outputs)) of their layer, biases 0. `parameters` must be zeroed.
  /// Layer l takes its randomness from stream first_stream + l.
  void initialise(float* parameters, std::uint64_t seed, std::uint64_t first_stream) const {
    for (std::uint32_t layer = 0; layer <= shape_.hidden; ++layer) {
      const auto step =
          static_cast<float>(std::sqrt(6.0 / static_cast<double>(fan_in(layer) + width(layer))) * 0x1p-31);
      float* weights = parameters + weights_[layer];
      std::array<std::uint32_t, 4> word{};
      std::uint64_t drawn = 0;
      for (std::size_t from = 0; from < fan_in(layer); ++from)
        for (std::size_t to = 0; to < width(layer); ++to, ++drawn) {
          if (drawn % 4 == 0) word = philox(seed, first_stream + layer, drawn / 4);
          weights[weight_index(layer, from, to)] = step * (static_cast<float>(word[drawn % 4]) - 0x1p31F);
        }
    }
    rebase(parameters);
  }

  /// Outputs of every layer for rows [first, first + count) of the batch; the last layer's are the logits.
  void forward(const float* parameters, const mlp_batch& batch, std::size_t first, std::size_t count,
               const mlp_pass& pass) const {
    float* out = pass.activation[0];
    std::fill(out, out + count * stride(0), 0.0F);
    kernel_->multiply(out, stride(0), count, padded(width(0)), {batch.affine[first].forward, affine_step, 1}, 3,
                      parameters + affine_[0], stride(0), 1);
    each_column([&](std::size_t column, std::size_t columns) {
      kernel_->sparse_multiply({out + column, stride(0)}, count, columns, batch.pixels.view(first),
                               in_panels(parameters, column), 1);
    });

    for (std::uint32_t layer = 1; layer <= shape_.hidden; ++layer) {
      const float* in = out;
      kernel_->relu(out, count * stride(layer - 1));
      out = pass.activation[layer];
      const float* bias = parameters + affine_[layer];
      for (std::size_t row = 0; row < count; ++row) std::copy(bias, bias + stride(layer), out + row * stride(layer));

      const float* weights = parameters + weights_[layer];
      if (class_major(layer))
        kernel_->multiply_transposed(out, stride(layer), count, fours(width(layer)), in, stride(layer - 1),
                                     padded(width(layer - 1)), weights, weight_stride(layer));
      else
        kernel_->multiply(out, stride(layer), count, padded(width(layer)), {in, stride(layer - 1), 1}, width(layer - 1),
                          weights, weight_stride(layer), 1);
    }
  }

  /// From the delta of the last layer to those of the others; `pass` must hold the activations of forward().
  void backward(const float* parameters, std::size_t rows, const mlp_pass& pass) const {
    for (std::uint32_t layer = shape_.hidden; layer > 0; --layer) {
      const float* from = pass.delta[layer];
      float* to = pass.delta[layer - 1];
      const std::size_t to_stride = stride(layer - 1);
      const float* weights = parameters + weights_[layer];
      std::fill(to, to + rows * to_stride, 0.0F);
      if (class_major(layer))
        kernel_->multiply(to, to_stride, rows, padded(width(layer - 1)), {from, stride(layer), 1}, width(layer),
                          weights, weight_stride(layer), 1);
      else
        kernel_->multiply_transposed(to, to_stride, rows, fours(width(layer - 1)), from, stride(layer),
                                     padded(width(layer)), weights, weight_stride(layer));
      kernel_->relu_gradient(to, pass.activation[layer - 1], rows * to_stride);
    }
  }

  /// target += scale * gradient, from the factors of a pass. `scratch` is overwritten.
  void accumulate(float* target, float scale, const mlp_batch& batch, const mlp_pass& pass,
                  sparse_rows& scratch) const {
    const std::size_t rows = batch.rows();
    const float* delta = pass.delta[0];
    if (padded(width(0)) <= narrow) {
      kernel_->sparse_outer(panel_at(target, 0), panel_width(0), rows, panel_width(0), batch.pixels.view(), delta,
                            stride(0), scale);
    } else {  // by pixel, so that each row of weights is read and written once for the whole batch
      scratch.transpose_of(batch.pixels, shape_.inputs);
      each_column([&](std::size_t column, std::size_t columns) {
        kernel_->sparse_multiply(in_panels(target, column), shape_.inputs, columns, scratch.view(),
                                 {delta + column, stride(0)}, scale);
      });
    }
    kernel_->multiply(target + affine_[0], stride(0), 3, padded(width(0)), {batch.affine[0].backward, 1, affine_step},
                      rows, delta, stride(0), scale);

    for (std::uint32_t layer = 1; layer <= shape_.hidden; ++layer) {
      const float* in = pass.activation[layer - 1];
      delta = pass.delta[layer];
      float* weights = target + weights_[layer];
      if (class_major(layer))
        kernel_->multiply(weights, weight_stride(layer), width(layer), padded(width(layer - 1)),
                          {delta, 1, stride(layer)}, rows, in, stride(layer - 1), scale);
      else
        kernel_->multiply(weights, weight_stride(layer), width(layer - 1), padded(width(layer)),
                          {in, 1, stride(layer - 1)}, rows, delta, stride(layer), scale);
      kernel_->multiply(target + affine_[layer], stride(layer), 1, padded(width(layer)),
                        {batch.affine[0].forward, 1, affine_step}, rows, delta, stride(layer), scale);
    }
  }

  /// W' += v, v = 0, S = sum W': the same function, with the rounding of S gone.
  void rebase(float* parameters) const {
    float* shift = parameters + affine_[0] + stride(0);
    float* sum = shift + stride(0);
    std::fill(sum, sum + stride(0), 0.0F);
    for (std::size_t column = 0; column < width(0); column += panel)
      for (std::size_t input = 0; input < shape_.inputs; ++input) {
        float* row = panel_at(parameters, column) + input * panel_width(column);
        kernel_->add(row, shift + column, panel_width(column), 1);
        kernel_->add(sum + column, row, panel_width(column), 1);
      }
    std::fill(shift, shift + stride(0), 0.0F);
  }

  /// Rounded up to 16 floats, the length of a row.
  [[nodiscard]] static constexpr std::size_t padded(std::size_t count) noexcept { return (count + 15) / 16 * 16; }
  /// Rounded up to 4, as the rows of a pass and the columns of multiply_transposed are.
  [[nodiscard]] static constexpr std::size_t fours(std::size_t count) noexcept { return (count + 3) / 4 * 4; }

 private:
  static constexpr std::size_t affine_step = sizeof(mlp_batch::terms) / sizeof(float);
  static constexpr std::size_t panel = 64;   // outputs of the first layer side by side
  static constexpr std::size_t narrow = 32;  // outputs up to which scattering beats transposing the batch

  [[nodiscard]] static constexpr std::size_t padded_stride(std::size_t count) noexcept {
    return padded(count) % 64 == 0 ? padded(count) + 16 : padded(count);
  }
  [[nodiscard]] std::size_t width(std::uint32_t layer) const noexcept {
    return layer < shape_.hidden ? shape_.units : shape_.classes;
  }
  [[nodiscard]] std::size_t fan_in(std::uint32_t layer) const noexcept {
    return layer == 0 ? shape_.inputs : shape_.units;
  }
  [[nodiscard]] bool class_major(std::uint32_t layer) const noexcept { return layer > 0 && layer == shape_.hidden; }
  [[nodiscard]] std::size_t weight_rows(std::uint32_t layer) const noexcept {
    return padded(class_major(layer) ? width(layer) : fan_in(layer));
  }
  [[nodiscard]] std::size_t weight_stride(std::uint32_t layer) const noexcept {
    return padded_stride(class_major(layer) ? fan_in(layer) : width(layer));
  }

  [[nodiscard]] std::size_t panel_width(std::size_t column) const noexcept {
    return (std::min)(panel, padded(width(0)) - column);
  }
  template <class Float>
  [[nodiscard]] Float* panel_at(Float* parameters, std::size_t column) const noexcept {
    return parameters + weights_[0] + column * shape_.inputs;
  }
  template <class Float>
  [[nodiscard]] kernels::panels<Float> in_panels(Float* parameters, std::size_t column) const noexcept {
    return {panel_at(parameters, column), panel_width(column), panel * shape_.inputs};
  }
  // Of the first layer: its whole panels together, and the last one if it is narrower.
  template <class Work>
  void each_column(Work&& work) const {
    const std::size_t whole = padded(width(0)) / panel * panel;
    if (whole > 0) work(std::size_t{0}, whole);
    if (whole < padded(width(0))) work(whole, padded(width(0)) - whole);
  }
  [[nodiscard]] std::size_t weight_index(std::uint32_t layer, std::size_t from, std::size_t to) const noexcept {
    if (layer == 0) return (to - to % panel) * shape_.inputs + from * panel_width(to - to % panel) + to % panel;
    return class_major(layer) ? to * weight_stride(layer) + from : from * weight_stride(layer) + to;
  }

  mlp_shape shape_;
  const kernels::kernel_set* kernel_;
  std::array<std::size_t, max_hidden_layers + 1> weights_{};  // where each layer's weights start
  std::array<std::size_t, max_hidden_layers + 1> affine_{};   // and its biases
  std::size_t size_ = 0;
};

}  // namespace rubato::inline RUBATO_ABI::sim

#endif
