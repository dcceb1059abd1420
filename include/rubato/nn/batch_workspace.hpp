#ifndef RUBATO_NN_BATCH_WORKSPACE_HPP
#define RUBATO_NN_BATCH_WORKSPACE_HPP

#include <array>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>

#include "aligned_vector.hpp"
#include "kernels/training/training_for.hpp"
#include "layer.hpp"

namespace rubato::inline RUBATO_ABI::nn {

/// Memory for one batch on its way through a network and back: the outputs of every layer, and room for gradients.
///
///     nn::mlp<40, 64, 32, 3>::workspace work{net, 32};
///
/// It belongs to a shape, not to a network: an online and a target network can take turns. What forward() left is
/// valid until the next forward(); its input is not copied and must stay in place until backward().
///
/// Memory  rows x (outputs of all layers + 2 x the widest output) numbers, allocated by the constructor; none later.
/// Thread  one per thread.
/// Tests   tests/nn/batch_workspace_test.cpp: OneForTwoNetworks, SmallerBatchesFit, KnowsItsShape,
///         RefusesMoreThanMemory;
///         tests/nn/no_allocation_test.cpp
template <std::floating_point T>
class batch_workspace {
 public:
  /// For batches of at most `rows` samples through networks of this one's shape. More than memory can address is an
  /// std::length_error, as of any vector.
  template <class Network>
  batch_workspace(const Network& network, std::size_t rows) : rows_{rows} {
    std::size_t widest = 0, width = 0;
    for (const layer_shape& layer : network.layers()) {
      outputs_[layers_] = rows * width;
      shapes_[layers_++] = layer;
      width += layer.outputs;
      widest = layer.outputs > widest ? layer.outputs : widest;
    }
    delta_ = {rows * width, rows * (width + widest)};
    const std::size_t numbers = width + 2 * widest, most = (std::numeric_limits<std::size_t>::max)();
    memory_.resize(rows > most / numbers ? most : rows * numbers);
  }

  [[nodiscard]] std::size_t max_rows() const noexcept { return rows_; }  ///< what the constructor was given
  /// Rows of the latest forward().
  [[nodiscard]] std::size_t rows() const noexcept { return batch_.size() / shapes_[0].inputs; }

  // For networks:

  /// Whether a network of these layers may use it.
  [[nodiscard]] bool fits(std::span<const layer_shape> layers) const noexcept {
    if (layers.size() != layers_) return false;
    for (std::size_t l = 0; l < layers_; ++l)
      if (layers[l] != shapes_[l]) return false;
    return true;
  }
  /// The batch of the next pass: it is kept by reference, for input(0) and rows().
  void start(std::span<const T> batch) noexcept { batch_ = batch; }
  /// What a layer is given, [rows x its inputs]: the batch, or what the layer below answers.
  [[nodiscard]] const T* input(std::size_t layer) const noexcept {
    return layer == 0 ? batch_.data() : memory_.data() + outputs_[layer - 1];
  }
  /// What a layer answers, [rows x its outputs].
  [[nodiscard]] T* output(std::size_t layer) noexcept { return memory_.data() + outputs_[layer]; }
  /// Room for the gradient by a layer's output; that of the next layer is kept.
  [[nodiscard]] T* delta(std::size_t layer) noexcept { return memory_.data() + delta_[layer % 2]; }

 private:
  aligned_vector<T> memory_;
  std::array<layer_shape, max_layers> shapes_{};
  std::array<std::size_t, max_layers> outputs_{};  // where each layer's outputs start
  std::array<std::size_t, 2> delta_{};
  std::span<const T> batch_;
  std::size_t layers_ = 0;
  std::size_t rows_ = 0;
};

}  // namespace rubato::inline RUBATO_ABI::nn

#endif
