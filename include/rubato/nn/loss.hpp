#ifndef RUBATO_NN_LOSS_HPP
#define RUBATO_NN_LOSS_HPP

#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>

#include "../pinned.hpp"

namespace rubato::inline RUBATO_ABI::nn {

/// The loss of one number, and its derivative by the prediction.
template <std::floating_point T>
struct loss_term {
  T value = 0;  ///< the loss
  T slope = 0;  ///< its derivative by the prediction
};

/// (prediction - target)^2, without the half that some write.
/// Tests   tests/nn/loss_test.cpp: SquaredErrorByHand, SlopesMatchFiniteDifferences
template <std::floating_point T>
[[nodiscard]] RUBATO_DETAIL_PINNED_INLINE constexpr loss_term<T> squared_error(T prediction, T target) noexcept {
  RUBATO_DETAIL_EXACT
  const T difference = prediction - target;
  return {difference * difference, 2 * difference};
}

/// Half the squared difference up to `delta`, delta * (|difference| - delta / 2) beyond. Precondition: delta > 0.
/// Tests   tests/nn/loss_test.cpp: HuberByHand, SlopesMatchFiniteDifferences
/// Source  Huber, "Robust Estimation of a Location Parameter", 1964
template <std::floating_point T>
[[nodiscard]] RUBATO_DETAIL_PINNED_INLINE constexpr loss_term<T> huber(T prediction, T target, T delta = 1) noexcept {
  RUBATO_DETAIL_EXACT
  const T difference = prediction - target;
  const T size = difference < 0 ? -difference : difference;
  if (size > delta) return {delta * (size - delta / 2), difference < 0 ? -delta : delta};
  return {difference * difference / 2, difference};
}

namespace detail {

template <std::floating_point T>
RUBATO_DETAIL_PINNED T squared_errors(std::size_t count, const T* prediction, const T* target, T* gradient,
                                      T factor) noexcept {
  RUBATO_DETAIL_EXACT
  T sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const loss_term<T> term = squared_error(prediction[i], target[i]);
    gradient[i] = factor * term.slope;
    sum += term.value;
  }
  return factor * sum;
}

template <std::floating_point T>
RUBATO_DETAIL_PINNED T huber_losses(std::size_t count, const T* prediction, const T* target, T* gradient, T factor,
                                    T delta) noexcept {
  RUBATO_DETAIL_EXACT
  T sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const loss_term<T> term = huber(prediction[i], target[i], delta);
    gradient[i] = factor * term.slope;
    sum += term.value;
  }
  return factor * sum;
}

template <std::floating_point T>
[[nodiscard]] RUBATO_DETAIL_PINNED_INLINE inline T exponential(T x) noexcept {
  RUBATO_DETAIL_ALONE(x);
  if constexpr (std::same_as<T, float>) return __builtin_expf(x);
  return std::exp(x);
}
template <std::floating_point T>
[[nodiscard]] RUBATO_DETAIL_PINNED_INLINE inline T logarithm(T x) noexcept {
  RUBATO_DETAIL_ALONE(x);
  if constexpr (std::same_as<T, float>) return __builtin_logf(x);
  return std::log(x);
}

template <std::floating_point T>
RUBATO_DETAIL_PINNED T softmax_cross_entropy(std::size_t classes, const T* logits, std::size_t label, T* gradient,
                                             T factor) noexcept {
  RUBATO_DETAIL_EXACT
  T most = logits[0];
  for (std::size_t i = 1; i < classes; ++i) most = logits[i] > most ? logits[i] : most;
  const T own = logits[label] - most;
  T sum = 0;
  for (std::size_t i = 0; i < classes; ++i) {
    gradient[i] = exponential(logits[i] - most);
    sum += gradient[i];
  }
  for (std::size_t i = 0; i < classes; ++i) gradient[i] = factor * (gradient[i] / sum);
  gradient[label] -= factor;
  return factor * (logarithm(sum) - own);
}

}  // namespace detail

/// The sum over all numbers of factor * squared_error(), and its gradient by each prediction (overwritten).
///
/// Pass factor = 1 / count for the mean. A batch is one long row.
/// Pre     all three of the same length; `gradient` may be `prediction`
/// Cost    O(numbers), summed in order. No allocation. Thread-safe.
/// Tests   tests/nn/loss_test.cpp: SumsAreSumsOfTerms, TheGradientMayTakeThePlaceOfThePrediction
template <std::floating_point T>
T squared_error(std::span<const T> prediction, std::span<const T> target, std::span<T> gradient,
                T factor = 1) noexcept {
  RUBATO_ASSERT(prediction.size() == target.size() && target.size() == gradient.size(),
                "squared_error: lengths differ");
  return detail::squared_errors(prediction.size(), prediction.data(), target.data(), gradient.data(), factor);
}

/// The same for huber().
/// Tests   tests/nn/loss_test.cpp: SumsAreSumsOfTerms, TheGradientMayTakeThePlaceOfThePrediction
template <std::floating_point T>
T huber(std::span<const T> prediction, std::span<const T> target, std::span<T> gradient, T factor = 1,
        T delta = 1) noexcept {
  RUBATO_ASSERT(prediction.size() == target.size() && target.size() == gradient.size(), "huber: lengths differ");
  return detail::huber_losses(prediction.size(), prediction.data(), target.data(), gradient.data(), factor, delta);
}

/// factor * -log(softmax(logits)[label]) of one sample, and its gradient by each logit (overwritten).
///
/// The gradient is safe for logits of any finite size, because the largest is subtracted first; so is the loss, unless
/// it is itself more than T can hold: then it is infinite.
/// Pre     label < logits.size() == gradient.size(); `gradient` is not `logits`
/// Cost    one exponential per class. No allocation. Thread-safe.
/// Tests   tests/nn/loss_test.cpp: CrossEntropyByHand, CrossEntropyMatchesFiniteDifferences,
///         LargeLogitsStayFinite, ALossBeyondTheScalarIsInfinite
template <std::floating_point T>
T softmax_cross_entropy(std::span<const T> logits, std::size_t label, std::span<T> gradient, T factor = 1) noexcept {
  RUBATO_ASSERT(label < logits.size() && logits.size() == gradient.size(),
                "softmax_cross_entropy: bad label or length");
  return detail::softmax_cross_entropy(logits.size(), logits.data(), label, gradient.data(), factor);
}

}  // namespace rubato::inline RUBATO_ABI::nn

#endif
