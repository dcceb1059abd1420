#ifndef RUBATO_CUDA_ADAM_CUH
#define RUBATO_CUDA_ADAM_CUH

#include "../nn/optimiser.hpp"
#include "lanes.cuh"
#include "shared_body.cuh"

namespace rubato::inline RUBATO_ABI::cuda {

/// beta1^t and beta2^t after t steps of Adam.
struct adam_powers {
  double first = 1;   ///< beta1^t; 1 before the first step
  double second = 1;  ///< beta2^t, likewise
};

/// The constants of the next step, for which both powers go up by one: those of nn::adam, to the bit.
/// Tests   tests/cuda/adam_test.cpp: HasTheBitsOfTheHost
[[nodiscard]] RUBATO_DETAIL_SHARED inline nn::kernels::adam_step<float> next_adam_step(const nn::adam_options& options,
                                                                                       adam_powers& powers) noexcept {
  powers.first = detail::exact_double::product(powers.first, options.beta1);
  powers.second = detail::exact_double::product(powers.second, options.beta2);
  nn::kernels::adam_step<float> step;
  step.first_decay = static_cast<float>(options.beta1);
  step.first_gain = static_cast<float>(1 - options.beta1);
  step.second_decay = static_cast<float>(options.beta2);
  step.second_gain = static_cast<float>(1 - options.beta2);
  step.rate = static_cast<float>(options.learning_rate / (1 - powers.first));
  step.root_scale = static_cast<float>(1 / detail::rounded_once::square_root(1 - powers.second));
  step.epsilon = static_cast<float>(options.epsilon);
  step.keep = static_cast<float>(detail::exact_double::plus_product(1.0, -options.learning_rate, options.weight_decay));
  return step;
}

/// One step of one parameter `p`, whose gradient is `g` and whose means are `m` and `v`.
///
/// The bits of nn::adam on nn::kernels::reproducible<float>(), on host and device: root and quotient are rounded
/// correctly on both.
/// Cost    a root and a division. No allocation.
/// Tests   tests/cuda/adam_test.cpp: HasTheBitsOfTheHost; tests/cuda/device/dqn_learner_test.cu
/// Source  see nn::basic_adam
RUBATO_DETAIL_SHARED inline void adam(const nn::kernels::adam_step<float>& step, float g, float& m, float& v,
                                      float& p) noexcept {
  using exact = exact_arithmetic;
  using once = detail::rounded_once;
  m = exact::plus_product(once::product(step.first_decay, m), step.first_gain, g);
  v = exact::plus_product(once::product(step.second_decay, v), step.second_gain, once::product(g, g));
  const float root = exact::plus_product(step.epsilon, step.root_scale, once::square_root(v));
  p = exact::plus_product(once::product(step.keep, p), -step.rate, once::quotient(m, root));
}

/// Numbers in double that gradient_norm() wants as scratch: it sums in so many parts, whatever the number of lanes.
inline constexpr unsigned norm_parts = 1024;

/// The Euclidean norm of value_of(0), ..., value_of(count - 1), each of which is asked for once: part k has the numbers
/// k, k + norm_parts, ..., in turn, and the parts are added up in pairs. Every lane is told. Ends with a sync.
///
/// The same bits for any number of lanes, on host and device; within 1e-12 of the norm that nn::clip_by_norm takes.
/// Precondition: all lanes see `scratch`, norm_parts numbers.
/// Tests   tests/cuda/adam_test.cpp: NormIsThatOfTheHost, AnyNumberOfLanesGivesTheSameNorm
template <Lanes L, class ValueOf>
RUBATO_DETAIL_SHARED double gradient_norm(const L& lanes, unsigned count, const ValueOf& value_of,
                                          double* scratch) noexcept {
  for (unsigned part = lanes.index(); part < norm_parts; part += lanes.count()) {
    double sum = 0;
    for (unsigned i = part; i < count; i += norm_parts) {
      const auto value = static_cast<double>(value_of(i));
      sum += value * value;  // the product is exact: fused or not, the same
    }
    scratch[part] = sum;
  }
  lanes.sync();
  for (unsigned half = norm_parts / 2; half > 0; half /= 2) {
    for (unsigned part = lanes.index(); part < half; part += lanes.count()) scratch[part] += scratch[part + half];
    lanes.sync();
  }
  const double norm = detail::rounded_once::square_root(scratch[0]);
  lanes.sync();
  return norm;
}

/// What gradients of this norm are multiplied by so that it is at most `most`, as nn::clip_by_norm does: 1 where it is,
/// or is not finite.
/// Tests   tests/cuda/adam_test.cpp: ClippingIsThatOfTheHost
[[nodiscard]] RUBATO_DETAIL_SHARED inline float clip_factor(double norm, double most) noexcept {
  return norm > most && detail::is_finite(norm) ? static_cast<float>(most / norm) : 1.0F;
}

}  // namespace rubato::inline RUBATO_ABI::cuda

#endif
