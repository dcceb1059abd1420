#ifndef RUBATO_NN_MLP_INTERFACE_HPP
#define RUBATO_NN_MLP_INTERFACE_HPP

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <span>

#include "aligned_vector.hpp"
#include "concepts.hpp"
#include "kernels/kernels.hpp"
#include "layer.hpp"
#include "saved_values.hpp"

namespace rubato::inline RUBATO_ABI::nn {

template <std::floating_point T>
class batch_workspace;

/// What the layers of a multi-layer perceptron end with.
struct mlp_options {
  activation hidden{.kind = activation_kind::leaky_relu};  ///< of every layer but the last
  activation output{.kind = activation_kind::identity};    ///< of the last

  friend constexpr bool operator==(const mlp_options&, const mlp_options&) = default;
};

/// What is wrong with the options, or nullptr.
[[nodiscard]] constexpr const char* problem(const mlp_options& options) noexcept {
  const char* hidden = problem(options.hidden);
  return hidden != nullptr ? hidden : problem(options.output);
}

/// What mlp and dynamic_mlp have in common, over the same kernels: the same parameters give the same bits in both.
///
/// Layer l computes f(bias + in * weight). All parameters lie in one piece, layer after layer, each layer's weights
/// (input-major: those of one input side by side) before its biases; a gradient has the same order.
///
/// Who trains makes a workspace, and includes batch_workspace.hpp for it: forward() and backward() need that. Others
/// compile none of the arithmetic of training, which is most.
///
/// Thread  const calls are thread-safe. No call allocates, except state().
/// Tests   tests/nn/mlp_test.cpp: MatchesALoopInDouble, BatchEqualsSingle, GradientMatchesFiniteDifferences,
///         InputGradientMatchesFiniteDifferences, GradientsAccumulate, OverwrittenGradientsAreThoseOnTopOfZeros,
///         StateRoundTrip, StateOfAnotherShapeIsRefused;
///         tests/nn/dynamic_mlp_test.cpp: EqualsStaticBitForBit, TwoPartsAreAsGoodAsOne;
///         tests/nn/no_allocation_test.cpp
template <class Derived, std::floating_point T>
class mlp_interface {
 public:
  using scalar = T;                      ///< of parameters, inputs and outputs
  using workspace = batch_workspace<T>;  ///< what forward() and backward() work in; from batch_workspace.hpp

  /// Numbers of a sample.
  [[nodiscard]] constexpr std::size_t inputs() const noexcept { return self().layers().front().inputs; }
  /// Numbers of an answer.
  [[nodiscard]] constexpr std::size_t outputs() const noexcept { return self().layers().back().outputs; }
  /// As constructed: state() does not save them.
  [[nodiscard]] const mlp_options& options() const noexcept { return options_; }
  /// The arithmetic in use.
  [[nodiscard]] const kernels::kernel_set<T>& kernel() const noexcept { return *kernel_; }
  /// Takes another one, say kernels::reproducible<T>(). Precondition: this processor can run it.
  void use(const kernels::kernel_set<T>& kernel) noexcept {
    kernel_ = &kernel;
    functions_ = Derived::functions_of(kernel);
  }

  /// A layer's weights, in place; 0 is the one next to the inputs. Precondition: layer < layers().size().
  [[nodiscard]] matrix_view<T> weight(std::size_t layer) noexcept {
    const layer_shape& shape = self().layers()[layer];
    return {self().parameters().subspan(shape.first, shape.weights()), shape.inputs, shape.outputs};
  }
  /// The same, to read.
  [[nodiscard]] matrix_view<const T> weight(std::size_t layer) const noexcept {
    const layer_shape& shape = self().layers()[layer];
    return {self().parameters().subspan(shape.first, shape.weights()), shape.inputs, shape.outputs};
  }
  /// A layer's biases, in place, one per output. Precondition: layer < layers().size().
  [[nodiscard]] std::span<T> bias(std::size_t layer) noexcept {
    const layer_shape& shape = self().layers()[layer];
    return self().parameters().subspan(shape.bias(), shape.outputs);
  }
  /// The same, to read.
  [[nodiscard]] std::span<const T> bias(std::size_t layer) const noexcept {
    const layer_shape& shape = self().layers()[layer];
    return self().parameters().subspan(shape.bias(), shape.outputs);
  }

  /// One sample: `in` has inputs() numbers, `out` outputs(); they do not overlap.
  /// Cost    one multiplication and one addition per weight; hidden units live on the stack.
  void evaluate(std::span<const T> in, std::span<T> out) const noexcept {
    RUBATO_ASSERT(in.size() == inputs(), "evaluate: `in` needs inputs() numbers");
    RUBATO_ASSERT(out.size() == outputs(), "evaluate: `out` needs outputs() numbers");
    constexpr std::size_t width = (std::max)(Derived::scratch_width, std::size_t{1});
    alignas(cache_line) std::array<T, 2 * width> scratch;  // not initialised: written before it is read
    functions_.evaluate(view(), in.data(), scratch.data(), out.data());
  }

  /// evaluate() in two parts, where all but the first `newest` inputs are known before: begin() sums up what the first
  /// layer makes of those, and does not read the others; finish() reads no more than the others. Together they have the
  /// bits of evaluate(). `in` has inputs() numbers both times, `sums` history_size() numbers.
  /// Precondition: newest <= inputs(), the same both times, and the parameters, too.
  void begin(std::size_t newest, std::span<const T> in, std::span<T> sums) const noexcept {
    RUBATO_ASSERT(newest <= inputs() && in.size() == inputs(), "begin: `in` needs inputs() numbers");
    RUBATO_ASSERT(sums.size() >= history_size(), "begin: `sums` needs history_size() numbers");
    kernel_->begin(view().layer(0), newest, in.data(), sums.data());
  }
  /// The second part: `out`, outputs() numbers, from `in` and what begin() left in `sums`. See begin().
  void finish(std::size_t newest, std::span<const T> in, std::span<const T> sums, std::span<T> out) const noexcept {
    RUBATO_ASSERT(newest <= inputs() && in.size() == inputs(), "finish: `in` needs inputs() numbers");
    RUBATO_ASSERT(sums.size() >= history_size(), "finish: `sums` needs history_size() numbers");
    RUBATO_ASSERT(out.size() == outputs(), "finish: `out` needs outputs() numbers");
    constexpr std::size_t width = (std::max)(Derived::scratch_width, std::size_t{1});
    alignas(cache_line) std::array<T, 2 * width> scratch;
    functions_.finish(view(), newest, in.data(), sums.data(), scratch.data(), out.data());
  }
  /// Numbers that begin() may leave.
  [[nodiscard]] constexpr std::size_t history_size() const noexcept {
    return kernels::history_size(self().layers().front().outputs);
  }

  /// A batch of rows x inputs() numbers, kept in `work` for backward(). Returns the outputs, [rows x outputs()], in
  /// `work`; each row has the bits of evaluate().
  /// Precondition: `work` was made for this shape and for at least as many rows; `batch` stays until backward().
  [[nodiscard]] std::span<const T> forward(std::span<const T> batch, workspace& work) const noexcept {
    RUBATO_ASSERT(work.fits(self().layers()), "forward: the workspace is for another shape");
    RUBATO_ASSERT(batch.size() % inputs() == 0, "forward: `batch` needs rows of inputs() numbers");
    RUBATO_ASSERT(batch.size() / inputs() <= work.max_rows(), "forward: more rows than the workspace is for");
    work.start(batch);
    const kernels::network<T> net = view();
    const auto& kernel = training_for(*kernel_);
    for (std::size_t layer = 0; layer < net.layers; ++layer)
      kernel.forward(net.layer(layer), work.rows(), work.input(layer), work.output(layer));
    return {work.output(net.layers - 1), work.rows() * outputs()};
  }

  /// Adds to `gradients` (as many as parameters()) what the loss changes with each parameter, given what it changes
  /// with each output of the latest forward() on `work`: `output_gradient`, [rows x outputs()]. Or overwrites them with
  /// it, which has the bits of adding to zeros. If `input_gradient`, [rows x inputs()], is not empty, it is overwritten
  /// with what the loss changes with each input.
  /// Precondition: parameters and batch are those of that forward(). A batch has the bits of its rows one by one.
  void backward(std::span<const T> output_gradient, workspace& work, std::span<T> gradients,
                gradient_mode mode = gradient_mode::accumulate, std::span<T> input_gradient = {}) const noexcept {
    RUBATO_ASSERT(work.fits(self().layers()), "backward: the workspace is for another shape");
    RUBATO_ASSERT(output_gradient.size() == work.rows() * outputs(), "backward: needs rows of outputs() numbers");
    RUBATO_ASSERT(gradients.size() == self().parameters().size(), "backward: needs a gradient for each parameter");
    RUBATO_ASSERT(input_gradient.empty() || input_gradient.size() == work.rows() * inputs(),
                  "backward: `input_gradient` needs rows of inputs() numbers");
    const kernels::network<T> net = view();
    const auto& kernel = training_for(*kernel_);
    const std::size_t rows = work.rows(), count = net.layers;
    std::copy(output_gradient.begin(), output_gradient.end(), work.delta(count - 1));
    kernel.activation_gradient(options_.output, output_gradient.size(), work.output(count - 1), work.delta(count - 1));
    for (std::size_t layer = count; layer-- > 0;) {
      const kernels::dense_layer<T> shape = net.layer(layer);
      const T* const delta = work.delta(layer);
      kernel.parameter_gradient(shape, rows, work.input(layer), delta, mode,
                                gradients.data() + self().layers()[layer].first,
                                gradients.data() + self().layers()[layer].bias());
      if (layer > 0)
        kernel.input_gradient(shape, rows, delta, options_.hidden, work.input(layer), work.delta(layer - 1));
      else if (!input_gradient.empty())
        kernel.input_gradient(shape, rows, delta, {}, nullptr, input_gradient.data());
    }
  }

  /// Saves or loads the parameters; bytes of another shape or precision are bad.
  void state(archive& bytes) {
    detail::expect(bytes, self().layers().size());
    for (const layer_shape& layer : self().layers()) {
      detail::expect(bytes, layer.inputs);
      detail::expect(bytes, layer.outputs);
    }
    detail::saved_values(bytes, self().parameters());
  }

 protected:
  /// `kernel` must outlive the network, and this processor be able to run it.
  mlp_interface(const mlp_options& options, const kernels::kernel_set<T>& kernel) noexcept
      : options_{options}, kernel_{&kernel}, functions_{Derived::functions_of(kernel)} {}

 private:
  [[nodiscard]] constexpr Derived& self() noexcept { return static_cast<Derived&>(*this); }
  [[nodiscard]] constexpr const Derived& self() const noexcept { return static_cast<const Derived&>(*this); }

  [[nodiscard]] kernels::network<T> view() const noexcept {
    const std::span<const layer_shape> shapes = self().layers();
    return {shapes.data(), shapes.size(), self().widest_hidden(), self().parameters().data(), &hidden_, &output_};
  }

  mlp_options options_;
  kernels::ending hidden_{options_.hidden};
  kernels::ending output_{options_.output};
  const kernels::kernel_set<T>* kernel_;
  kernels::shape_functions<T> functions_;
};

}  // namespace rubato::inline RUBATO_ABI::nn

#endif
