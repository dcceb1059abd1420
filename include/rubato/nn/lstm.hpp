#ifndef RUBATO_NN_LSTM_HPP
#define RUBATO_NN_LSTM_HPP

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "../core/archive.hpp"
#include "../core/result.hpp"
#include "aligned_vector.hpp"
#include "kernels/kernels.hpp"
#include "kernels/training/training_for.hpp"
#include "layer.hpp"
#include "saved_values.hpp"

namespace rubato::inline RUBATO_ABI::nn {

template <std::floating_point T>
class lstm_workspace;

/// From which end a sequence is read; what comes out stays at its place.
enum class lstm_direction : std::uint8_t {
  forwards,  ///< from the first step
  backwards  ///< from the last
};

/// One layer of long short-term memory: a sequence of inputs, step by step, to one of hidden states.
///
///     auto layer = nn::lstm::make(16, 50);
///     if (!layer) return layer.error();
///     nn::lstm::workspace work{*layer, 20};                 // of at most 20 steps
///     std::span<const float> hidden = layer->forward(sequence, work);     // [steps x 50]
///     layer->backward(slopes, work, gradients);             // adds, for each of parameters()
///
/// Both directions of a bidirectional layer are two of these, one read with lstm_direction::backwards. Each sequence
/// begins with a hidden state and cells of 0. Sigmoid and tanh of floats are within 3 units in the last place of the
/// true value, and the same in all sets without fused operations, as they are in both with them; a double's are the C
/// library's. NaN stays NaN.
///
/// Parameters, in one piece: the weights, input-major, a row for each input and then for each hidden unit, with the
/// input, forget, candidate and output gates (PyTorch's i, f, g, o) side by side in a row; then the gates' biases. The
/// two biases of PyTorch are one here: their sum.
///
/// Thread  const calls are thread-safe on distinct workspaces. make() and copies allocate; nothing else does.
/// Tests   tests/nn/lstm_test.cpp: MatchesALoopInDouble, GradientMatchesFiniteDifferences, GradientsAccumulate,
///         EqualSetsGiveTheSameBits, ReadsBackwards, FunctionsAreWithinThreeUnits, ImpossibleShapesAreRefused,
///         StateRoundTrip; tests/nn/no_allocation_test.cpp: Lstm
/// Source  Hochreiter and Schmidhuber, "Long Short-Term Memory", Neural Computation 9(8), 1997; with the forget gate of
///         Gers et al., "Learning to Forget", Neural Computation 12(10), 2000
template <std::floating_point T>
class basic_lstm {
 public:
  using scalar = T;                     ///< of parameters, inputs and hidden states
  using workspace = lstm_workspace<T>;  ///< what forward() and backward() work in

  /// All parameters 0. Errors  invalid_option: no input or no unit, or more than max_parameters parameters.
  [[nodiscard]] static result<basic_lstm> make(std::size_t inputs, std::size_t units,
                                               const kernels::kernel_set<T>& kernel = kernels::native<T>()) {
    constexpr std::size_t most = std::size_t{1} << 13;  // (2^13 + 2^13 + 1) * 4 * 2^13 is more than max_parameters
    if (inputs == 0 || units == 0 || inputs > max_parameters || units > most ||
        inputs + units >= max_parameters / (4 * units))
      return error{errc::invalid_option, "lstm: " + std::to_string(inputs) + " inputs and " + std::to_string(units) +
                                             " units, expected at least 1 of each and at most " +
                                             std::to_string(max_parameters) + " parameters"};
    return basic_lstm{inputs, units, kernel};
  }

  [[nodiscard]] std::size_t inputs() const noexcept { return shape_.inputs - units(); }  ///< numbers of a step
  [[nodiscard]] std::size_t units() const noexcept { return shape_.outputs / 4; }        ///< numbers of a hidden state
  /// All of them, in the order told above: for an optimiser.
  [[nodiscard]] std::span<T> parameters() noexcept { return parameters_; }
  [[nodiscard]] std::span<const T> parameters() const noexcept { return parameters_; }  ///< to read
  /// The arithmetic in use, that of make().
  [[nodiscard]] const kernels::kernel_set<T>& kernel() const noexcept { return *kernel_; }

  /// `sequence` is [steps x inputs()]. Returns the hidden states, [steps x units()], in `work`.
  /// Precondition: `work` was made for this shape and for at least as many steps.
  /// Cost    a multiplication and an addition per weight and step, and five exponentials per unit.
  [[nodiscard]] std::span<const T> forward(std::span<const T> sequence, workspace& work,
                                           lstm_direction direction = lstm_direction::forwards) const noexcept {
    RUBATO_ASSERT(work.shape_ == shape_, "lstm: the workspace is for another shape");
    RUBATO_ASSERT(sequence.size() % inputs() == 0, "lstm: `sequence` needs steps of inputs() numbers");
    RUBATO_ASSERT(sequence.size() / inputs() <= work.max_steps_, "lstm: more steps than the workspace is for");
    const std::size_t in = inputs(), n = units();
    work.steps_ = sequence.size() / in;
    work.direction_ = direction;
    const kernels::network<T> net{&shape_, 1, 0, parameters_.data()};
    const kernels::training_kernels<T>& with = training_for(*kernel_);
    for (std::size_t step = 0; step < work.steps_; ++step) {
      const std::size_t at = work.place(step);
      T* const joined = work.joined(step);
      std::copy_n(sequence.data() + at * in, in, joined);
      if (step == 0)
        std::fill_n(joined + in, n, T{0});
      else
        std::copy_n(work.hidden(work.place(step - 1)), n, joined + in);
      kernel_->evaluate(net, joined, nullptr, work.gates(step));
      with.lstm_step(n, work.gates(step), work.cells(step), work.cells(step + 1), work.squashed(step),
                     work.hidden(at));
    }
    return {work.hidden(0), work.steps_ * n};
  }

  /// Adds to `gradients` (as many as parameters()) what the loss changes with each parameter, given what it changes
  /// with each hidden state of the latest forward() on `work`: `hidden_gradient`, [steps x units()]. If
  /// `input_gradient`, [steps x inputs()], is not empty, it is overwritten with what the loss changes with each input.
  void backward(std::span<const T> hidden_gradient, workspace& work, std::span<T> gradients,
                std::span<T> input_gradient = {}) const noexcept {
    RUBATO_ASSERT(work.shape_ == shape_, "lstm: the workspace is for another shape");
    RUBATO_ASSERT(hidden_gradient.size() == work.steps_ * units(), "lstm: needs steps of units() numbers");
    RUBATO_ASSERT(gradients.size() == parameters_.size(), "lstm: needs a gradient for each parameter");
    RUBATO_ASSERT(input_gradient.empty() || input_gradient.size() == work.steps_ * inputs(),
                  "lstm: `input_gradient` needs steps of inputs() numbers");
    const std::size_t in = inputs(), n = units();
    work.turn(parameters_.data());
    const layer_shape turned{shape_.outputs, shape_.inputs, 0};
    const kernels::training_kernels<T>& with = training_for(*kernel_);
    const kernels::network<T> back{&turned, 1, 0, work.turned_.data()};
    std::fill(work.slope_.begin(), work.slope_.end(), T{0});  // by what was joined in the step after
    std::fill(work.cell_slope_.begin(), work.cell_slope_.end(), T{0});
    for (std::size_t step = work.steps_; step-- > 0;) {
      const std::size_t at = work.place(step);
      T* const by_hidden = work.slope_.data() + in;
      for (std::size_t u = 0; u < n; ++u) by_hidden[u] += hidden_gradient[at * n + u];
      with.lstm_step_gradient(n, work.gates(step), work.cells(step), work.squashed(step), by_hidden,
                              work.cell_slope_.data(), work.gate_slope(step));
      kernel_->evaluate(back, work.gate_slope(step), nullptr, work.slope_.data());
      if (!input_gradient.empty()) std::copy_n(work.slope_.data(), in, input_gradient.data() + at * in);
    }
    const kernels::dense_layer<T> layer{shape_.inputs, shape_.outputs, parameters_.data(),
                                        parameters_.data() + shape_.bias(), {}};
    with.parameter_gradient(layer, work.steps_, work.joined(0), work.gate_slope(0), gradient_mode::accumulate,
                            gradients.data(), gradients.data() + shape_.bias());
  }

  /// Saves or loads the parameters; bytes of another shape or precision are bad.
  void state(archive& bytes) {
    detail::expect(bytes, inputs());
    detail::expect(bytes, units());
    detail::saved_values(bytes, parameters());
  }

 private:
  friend lstm_workspace<T>;

  basic_lstm(std::size_t inputs, std::size_t units, const kernels::kernel_set<T>& kernel)
      : shape_{inputs + units, 4 * units, 0}, kernel_{&kernel}, parameters_(shape_.end()) {}

  layer_shape shape_;  // of the four gates, from what is joined: a step's inputs and the hidden state before it
  const kernels::kernel_set<T>* kernel_;
  aligned_vector<T> parameters_;
};

/// Memory for one sequence on its way through an LSTM and back. It belongs to a shape. What forward() left is valid
/// until the next forward().
///
/// Memory  steps x (inputs + 12 x units) numbers and as many as the LSTM has parameters, allocated by the constructor;
///         none later.
/// Thread  one per thread.
/// Tests   tests/nn/lstm_test.cpp: ShorterSequencesFit; tests/nn/no_allocation_test.cpp: Lstm
template <std::floating_point T>
class lstm_workspace {
 public:
  /// For sequences of at most `steps` steps. More than memory can address is an std::length_error, as of any vector.
  lstm_workspace(const basic_lstm<T>& lstm, std::size_t steps)
      : shape_{lstm.shape_},
        max_steps_{steps},
        joined_(product(steps, shape_.inputs)),
        gates_(product(steps, shape_.outputs)),
        gate_slopes_(product(steps, shape_.outputs)),
        cells_(product(steps, units()) + units()),
        squashed_(product(steps, units())),
        hidden_(product(steps, units())),
        turned_(shape_.weights() + shape_.inputs),
        slope_(shape_.inputs),
        cell_slope_(units()) {}

  [[nodiscard]] std::size_t max_steps() const noexcept { return max_steps_; }  ///< what the constructor was given
  [[nodiscard]] std::size_t steps() const noexcept { return steps_; }          ///< of the latest forward()

 private:
  friend basic_lstm<T>;

  [[nodiscard]] static std::size_t product(std::size_t a, std::size_t b) noexcept {
    constexpr std::size_t most = (std::numeric_limits<std::size_t>::max)() / 2;
    return a > most / b ? most : a * b;
  }
  [[nodiscard]] std::size_t units() const noexcept { return shape_.outputs / 4; }
  // Steps are counted as they are taken; place() says which of the sequence that is.
  [[nodiscard]] std::size_t place(std::size_t step) const noexcept {
    return direction_ == lstm_direction::forwards ? step : steps_ - 1 - step;
  }
  [[nodiscard]] T* joined(std::size_t step) noexcept { return joined_.data() + step * shape_.inputs; }
  [[nodiscard]] T* gates(std::size_t step) noexcept { return gates_.data() + step * shape_.outputs; }
  [[nodiscard]] T* gate_slope(std::size_t step) noexcept { return gate_slopes_.data() + step * shape_.outputs; }
  [[nodiscard]] T* cells(std::size_t step) noexcept { return cells_.data() + step * units(); }  // before the step
  [[nodiscard]] T* squashed(std::size_t step) noexcept { return squashed_.data() + step * units(); }
  [[nodiscard]] T* hidden(std::size_t place) noexcept { return hidden_.data() + place * units(); }

  // The weights the other way round, a row per gate, and biases of 0: what leads back through them is a layer, too.
  void turn(const T* weight) noexcept {
    constexpr std::size_t block = 16;  // rows and columns that stay in the cache together
    const std::size_t rows = shape_.inputs, columns = shape_.outputs;
    for (std::size_t r = 0; r < rows; r += block)
      for (std::size_t c = 0; c < columns; ++c)
        for (std::size_t k = r; k < (std::min)(r + block, rows); ++k) turned_[c * rows + k] = weight[k * columns + c];
  }

  layer_shape shape_;
  std::size_t max_steps_;
  std::size_t steps_ = 0;
  lstm_direction direction_ = lstm_direction::forwards;
  aligned_vector<T> joined_;
  aligned_vector<T> gates_;
  aligned_vector<T> gate_slopes_;
  aligned_vector<T> cells_;  // those before the first step are 0
  aligned_vector<T> squashed_;
  aligned_vector<T> hidden_;
  aligned_vector<T> turned_;
  aligned_vector<T> slope_;
  aligned_vector<T> cell_slope_;
};

/// Of floats: what runs. Doubles are for tests by finite differences.
using lstm = basic_lstm<float>;

}  // namespace rubato::inline RUBATO_ABI::nn

#endif
