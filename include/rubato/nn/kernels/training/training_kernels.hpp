#ifndef RUBATO_NN_KERNELS_TRAINING_TRAINING_KERNELS_HPP
#define RUBATO_NN_KERNELS_TRAINING_TRAINING_KERNELS_HPP

#include <concepts>
#include <cstddef>

#include "../../activation.hpp"
#include "../../layer.hpp"
#include "../kernel_set.hpp"

namespace rubato::inline RUBATO_ABI::nn::kernels {

/// The constants of one step of Adam: p = keep * p - rate * m / (root_scale * sqrt(v) + epsilon). The gains are 1 less
/// the decays: sets with fused operations move m by first_gain * (g - m).
template <std::floating_point T>
struct adam_step {
  T first_decay = 0;   ///< m = first_decay * m + first_gain * g
  T first_gain = 0;    ///< 1 - first_decay
  T second_decay = 0;  ///< v = second_decay * v + second_gain * g * g
  T second_gain = 0;   ///< 1 - second_decay
  T rate = 0;          ///< the learning rate / (1 - first_decay^t), which corrects that m starts from 0
  T root_scale = 0;    ///< 1 / sqrt(1 - second_decay^t), the same of v
  T epsilon = 0;       ///< > 0
  T keep = 1;          ///< 1 - learning rate * weight decay
};

/// The arithmetic that trains small dense networks and LSTMs, in one instruction set; training_for() has them.
///
/// Batches are row-major and dense: row r of `in` starts at in + r * inputs. For the rest what kernel_set says holds
/// here, and for every row whatever the number of rows:
///   gradients       what was accumulated, then the rows in turn: a batch equals its rows one after another.
///   input_gradient  eight sums, of every eighth output, and then these eight in turn.
/// Thread  stateless: thread-safe on distinct outputs. No allocation.
/// Tests   tests/nn/kernels_test.cpp: every function of every set against a plain loop; EqualSetsGiveTheSameBits,
///         TrainingGivesTheSameBits
template <std::floating_point T>
struct training_kernels {
  /// A batch: out[rows x outputs]; each row has the bits of kernel_set's evaluate().
  void (*forward)(const dense_layer<T>& layer, std::size_t rows, const T* in, T* out) noexcept;

  /// Turns delta, the gradient by y = f(x), into that by x; `y` and `delta` have `count` elements.
  void (*activation_gradient)(const activation& f, std::size_t count, const T* y, T* delta) noexcept;

  /// weight_gradient[inputs x outputs] += in^T delta, bias_gradient[outputs] += the sum of delta's rows;
  /// delta[rows x outputs] is the gradient before the activation. To overwrite has the bits of adding to zeros.
  void (*parameter_gradient)(const dense_layer<T>& layer, std::size_t rows, const T* in, const T* delta,
                             gradient_mode mode, T* weight_gradient, T* bias_gradient) noexcept;

  /// in_gradient[rows x inputs] = delta * weight^T, and then activation_gradient(below, rows * inputs, in,
  /// in_gradient): the layer below has put out `in`, which is not read where its activation is the identity.
  void (*input_gradient)(const dense_layer<T>& layer, std::size_t rows, const T* delta, const activation& below,
                         const T* in, T* in_gradient) noexcept;

  /// The sum of x[i]^2. Sets with fused operations keep partial sums in float where that is precise enough.
  double (*sum_of_squares)(std::size_t count, const T* x) noexcept;

  /// x *= factor.
  void (*scale)(std::size_t count, T factor, T* x) noexcept;

  /// p -= rate * g.
  void (*sgd)(std::size_t count, T rate, const T* g, T* p) noexcept;

  /// v = momentum * v + g; p -= rate * v.
  void (*momentum)(std::size_t count, T rate, T momentum, const T* g, T* v, T* p) noexcept;

  /// See adam_step.
  void (*adam)(std::size_t count, const adam_step<T>& step, const T* g, T* m, T* v, T* p) noexcept;

  /// One step of an LSTM's units. `gate` [4 x units] has the sums of the input, forget, candidate and output gates and
  /// is given their values: sigmoid, sigmoid, tanh, sigmoid. cell = forget * before + input * candidate, squashed =
  /// tanh(cell), out = output * squashed; [units] each. Floats have functions of their own, see lstm.hpp.
  void (*lstm_step)(std::size_t units, T* gate, const T* before, T* cell, T* squashed, T* out) noexcept;

  /// From the gradient by `out`, and by `cell` from the step after, to that by the gates' sums [4 x units] and, in
  /// place, by `before`.
  void (*lstm_step_gradient)(std::size_t units, const T* gate, const T* before, const T* squashed,
                             const T* out_gradient, T* cell_gradient, T* gate_gradient) noexcept;
};

// The functions of a set by name, as RUBATO_DETAIL_INSTANCES; those that fused sets take from avx2 are apart.
#define RUBATO_DETAIL_TRAINING_INSTANCES(EXTERN, T)                                                                   \
  EXTERN template void forward(const dense_layer<T>& layer, std::size_t rows, const T* in, T* out) noexcept;          \
  EXTERN template void activation_gradient(const activation& f, std::size_t count, const T* y, T* delta) noexcept;    \
  EXTERN template void parameter_gradient(const dense_layer<T>& layer, std::size_t rows, const T* in, const T* delta, \
                                          gradient_mode mode, T* weight_gradient, T* bias_gradient) noexcept;         \
  EXTERN template void input_gradient(const dense_layer<T>& layer, std::size_t rows, const T* delta,                  \
                                      const activation& below, const T* in, T* in_gradient) noexcept;                 \
  EXTERN template double sum_of_squares(std::size_t count, const T* x) noexcept;                                      \
  EXTERN template void adam(std::size_t count, const adam_step<T>& step, const T* g, T* m, T* v, T* p) noexcept;      \
  EXTERN template void lstm_step(std::size_t units, T* gate, const T* before, T* cell, T* squashed, T* out) noexcept; \
  EXTERN template void lstm_step_gradient(std::size_t units, const T* gate, const T* before, const T* squashed,       \
                                          const T* out_gradient, T* cell_gradient, T* gate_gradient) noexcept;
#define RUBATO_DETAIL_PLAIN_TRAINING_INSTANCES(EXTERN, T)                         \
  RUBATO_DETAIL_TRAINING_INSTANCES(EXTERN, T)                                     \
  EXTERN template void scale(std::size_t count, T factor, T* x) noexcept;         \
  EXTERN template void sgd(std::size_t count, T rate, const T* g, T* p) noexcept; \
  EXTERN template void momentum(std::size_t count, T rate, T momentum, const T* g, T* v, T* p) noexcept;

}  // namespace rubato::inline RUBATO_ABI::nn::kernels

#endif
