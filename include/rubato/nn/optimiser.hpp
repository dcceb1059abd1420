#ifndef RUBATO_NN_OPTIMISER_HPP
#define RUBATO_NN_OPTIMISER_HPP

#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>

#include "../core/archive.hpp"
#include "../pinned.hpp"
#include "aligned_vector.hpp"
#include "kernels/kernels.hpp"
#include "kernels/training/training_for.hpp"
#include "saved_values.hpp"
#include "training_concepts.hpp"

namespace rubato::inline RUBATO_ABI::nn {

/// v = momentum * v + g; p -= learning_rate * v.
struct sgd_options {
  double learning_rate = 0.01;  ///< >= 0
  double momentum = 0;          ///< in [0, 1)
};

/// What basic_adam's formula names; a weight_decay of 0 is Adam, of more AdamW.
struct adam_options {
  double learning_rate = 0.001;  ///< >= 0
  double beta1 = 0.9;            ///< of the mean of gradients, in [0, 1)
  double beta2 = 0.999;          ///< of the mean of their squares, in [0, 1)
  double epsilon = 1e-8;         ///< added to the root of the second mean, > 0
  double weight_decay = 0;       ///< p shrinks by learning_rate * weight_decay * p, apart from the gradient; >= 0
};

namespace detail {

[[nodiscard]] constexpr bool is_learning_rate(double rate) noexcept { return pinned::within(rate, 0, 1e30); }

// In [0, 1) as a T, too.
template <std::floating_point T>
[[nodiscard]] constexpr bool is_decay(double factor) noexcept {
  return pinned::within(factor, 0, 1) && static_cast<T>(factor) < 1;
}

// Saves a learning rate, or loads one; bytes with one that no options could have are bad.
inline void saved_learning_rate(archive& bytes, double& rate) {
  double read = rate;
  bytes(read);
  if (!bytes.saving() && !is_learning_rate(read)) bytes.fail();
  if (bytes.ok()) rate = read;
}

}  // namespace detail

/// What is wrong with the options of an optimiser over T, or nullptr: what is near 1 must not be 1 as a T, nor an
/// epsilon near 0 be 0.
template <std::floating_point T = float>
[[nodiscard]] constexpr const char* problem(const sgd_options& options) noexcept {
  if (!detail::is_learning_rate(options.learning_rate)) return "learning_rate: expected a number >= 0";
  if (!detail::is_decay<T>(options.momentum)) return "momentum: expected a number in [0, 1)";
  return nullptr;
}
/// The same of Adam's.
template <std::floating_point T = float>
[[nodiscard]] constexpr const char* problem(const adam_options& options) noexcept {
  if (!detail::is_learning_rate(options.learning_rate)) return "learning_rate: expected a number >= 0";
  if (!detail::is_decay<T>(options.beta1)) return "beta1: expected a number in [0, 1)";
  if (!detail::is_decay<T>(options.beta2)) return "beta2: expected a number in [0, 1)";
  if (!(pinned::within(options.epsilon, 0, 1) && static_cast<T>(options.epsilon) > 0))
    return "epsilon: expected a number in (0, 1]";
  if (!pinned::within(options.weight_decay, 0, 1e30)) return "weight_decay: expected a number >= 0";
  return nullptr;
}

/// Stochastic gradient descent, with momentum if asked for. sgd is basic_sgd of float.
///
/// Cost    step(): O(parameters); reads gradients, writes parameters and, with momentum, as much memory of its own,
///         which the constructor allocates. Nothing later allocates, except state() when it saves.
/// Thread  not thread-safe.
/// Tests   tests/nn/optimiser_test.cpp: SgdByHand, MomentumByHand, SgdResumesBitForBit, BadOptionsAreNamed,
///         OptionsAreThoseOfTheScalar, BadStateIsNoticed
/// Source  Polyak, "Some methods of speeding up the convergence of iteration methods", 1964
template <std::floating_point T>
class basic_sgd {
 public:
  using scalar = T;  ///< of parameters and gradients

  /// For `parameters` parameters. Precondition: problem<T>(options) == nullptr.
  explicit basic_sgd(std::size_t parameters, const sgd_options& options = {},
                     const kernels::kernel_set<T>& kernel = kernels::native<T>())
      : options_{options},
        kernel_{&training_for(kernel)},
        size_{parameters},
        velocity_(options.momentum > 0 ? parameters : 0) {
    RUBATO_ASSERT(problem<T>(options) == nullptr, "sgd: bad options");
  }

  /// One update. Precondition: both have the number of parameters that the constructor was given; no overlap.
  void step(std::span<T> parameters, std::span<const T> gradients) noexcept {
    RUBATO_ASSERT(parameters.size() == size_ && gradients.size() == size_, "sgd: wrong number of parameters");
    const T rate = static_cast<T>(options_.learning_rate);
    if (velocity_.empty())
      kernel_->sgd(size_, rate, gradients.data(), parameters.data());
    else
      kernel_->momentum(size_, rate, static_cast<T>(options_.momentum), gradients.data(), velocity_.data(),
                        parameters.data());
  }

  [[nodiscard]] double learning_rate() const noexcept { return options_.learning_rate; }  ///< of the next step()
  /// Precondition  `rate` is finite and >= 0.
  void set_learning_rate(double rate) noexcept {
    RUBATO_ASSERT(rate >= 0 && rate <= (std::numeric_limits<double>::max)(), "sgd: learning rate not finite or < 0");
    options_.learning_rate = rate;
  }

  /// Saves or loads learning rate and velocity, so that training goes on with the same bits. The bytes must come from
  /// an sgd of as many parameters, with momentum or without as this one.
  void state(archive& bytes) {
    detail::expect(bytes, size_);
    detail::saved_learning_rate(bytes, options_.learning_rate);
    detail::saved_values(bytes, std::span<T>{velocity_});
  }

 private:
  sgd_options options_;
  const kernels::training_kernels<T>* kernel_;
  std::size_t size_;
  aligned_vector<T> velocity_;
};

/// Adam, with decoupled weight decay if asked for. adam is basic_adam of float.
///
///     m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2
///     p = (1 - rate * decay) p - rate * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)
///
/// Cost    step(): O(parameters), with a root and a division each; twice the parameters' memory, allocated by the
///         constructor. Nothing later allocates, except state() when it saves.
/// Thread  not thread-safe.
/// Tests   tests/nn/optimiser_test.cpp: AdamByHand, AdamMatchesTheFormula, AdamResumesBitForBit, BadOptionsAreNamed,
///         OptionsAreThoseOfTheScalar, BadStateIsNoticed
/// Source  Kingma and Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015, algorithm 1; Loshchilov and Hutter,
///         "Decoupled Weight Decay Regularization", ICLR 2019, algorithm 2
template <std::floating_point T>
class basic_adam {
 public:
  using scalar = T;  ///< of parameters and gradients

  /// For `parameters` parameters. Precondition: problem<T>(options) == nullptr.
  explicit basic_adam(std::size_t parameters, const adam_options& options = {},
                      const kernels::kernel_set<T>& kernel = kernels::native<T>())
      : options_{options}, kernel_{&training_for(kernel)}, first_(parameters), second_(parameters) {
    RUBATO_ASSERT(problem<T>(options) == nullptr, "adam: bad options");
  }

  /// One update. Precondition: both have the number of parameters that the constructor was given; no overlap.
  void step(std::span<T> parameters, std::span<const T> gradients) noexcept {
    RUBATO_ASSERT(parameters.size() == first_.size() && gradients.size() == first_.size(),
                  "adam: wrong number of parameters");
    kernels::adam_step<T> step;
    prepare(options_, beta1_power_, beta2_power_, step);
    kernel_->adam(first_.size(), step, gradients.data(), first_.data(), second_.data(), parameters.data());
  }

  [[nodiscard]] double learning_rate() const noexcept { return options_.learning_rate; }  ///< of the next step()
  /// Precondition  `rate` is finite and >= 0.
  void set_learning_rate(double rate) noexcept {
    RUBATO_ASSERT(rate >= 0 && rate <= (std::numeric_limits<double>::max)(), "adam: learning rate not finite or < 0");
    options_.learning_rate = rate;
  }

  /// Saves or loads learning rate, means and their corrections, so that training goes on with the same bits. The bytes
  /// must come from an adam of as many parameters; the other options are the constructor's.
  void state(archive& bytes) {
    detail::saved_learning_rate(bytes, options_.learning_rate);
    double first = beta1_power_, second = beta2_power_;
    bytes(first, second);
    if (!pinned::within(first, 0, 1) || !pinned::within(second, 0, 1)) bytes.fail();
    if (bytes.ok()) beta1_power_ = first, beta2_power_ = second;
    detail::saved_values(bytes, std::span<T>{first_});
    detail::saved_values(bytes, std::span<T>{second_});
  }

 private:
  // The constants of the next step, for which both powers go up by one.
  RUBATO_DETAIL_PINNED static void prepare(const adam_options& options, double& power1, double& power2,
                                           kernels::adam_step<T>& step) noexcept {
    RUBATO_DETAIL_EXACT
    power1 *= options.beta1;
    power2 *= options.beta2;
    step.first_decay = static_cast<T>(options.beta1);
    step.first_gain = static_cast<T>(1 - options.beta1);
    step.second_decay = static_cast<T>(options.beta2);
    step.second_gain = static_cast<T>(1 - options.beta2);
    step.rate = static_cast<T>(options.learning_rate / (1 - power1));
    step.root_scale = static_cast<T>(1 / pinned::square_root(1 - power2));
    step.epsilon = static_cast<T>(options.epsilon);
    step.keep = static_cast<T>(1 - options.learning_rate * options.weight_decay);
  }

  adam_options options_;
  const kernels::training_kernels<T>* kernel_;
  double beta1_power_ = 1;  // beta1^t after t steps
  double beta2_power_ = 1;
  aligned_vector<T> first_;
  aligned_vector<T> second_;
};

/// Of floats: what runs.
using sgd = basic_sgd<float>;
/// Of floats: what runs.
using adam = basic_adam<float>;

static_assert(Optimiser<sgd> && Optimiser<adam> && Optimiser<basic_sgd<double>> && Optimiser<basic_adam<double>>);

/// The arithmetic that a network computes with, native() if it does not say: what its gradients are best clipped with.
template <class Network>
[[nodiscard]] const kernels::kernel_set<typename Network::scalar>& kernel_of(const Network& network) noexcept {
  if constexpr (requires { network.kernel(); })
    return network.kernel();
  else
    return kernels::native<typename Network::scalar>();
}

/// Scales gradients down to a Euclidean norm of at most `max_norm`. Returns the norm that they had.
///
/// A norm that is not finite leaves them as they are: look at what is returned before you step.
/// Cost    O(gradients). No allocation.
/// Tests   tests/nn/optimiser_test.cpp: ClippingKeepsTheDirection, ClippingLeavesShortGradients, ClippingReportsNaN
/// Source  Pascanu et al., "On the difficulty of training recurrent neural networks", ICML 2013, algorithm 1
template <std::floating_point T>
[[nodiscard]] double clip_by_norm(std::span<T> gradients, double max_norm,
                                  const kernels::kernel_set<T>& kernel = kernels::native<T>()) noexcept {
  const kernels::training_kernels<T>& with = training_for(kernel);
  const double norm = std::sqrt(with.sum_of_squares(gradients.size(), gradients.data()));
  if (norm > max_norm && pinned::is_finite(norm))
    with.scale(gradients.size(), static_cast<T>(max_norm / norm), gradients.data());
  return norm;
}

}  // namespace rubato::inline RUBATO_ABI::nn

#endif
