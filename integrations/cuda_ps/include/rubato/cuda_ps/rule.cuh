#ifndef RUBATO_CUDA_PS_RULE_CUH
#define RUBATO_CUDA_PS_RULE_CUH

#include <cstdint>
#include <rubato/cuda/shared_body.cuh>
#include <rubato/pinned.hpp>
#include <string>

namespace rubato::inline RUBATO_ABI::cuda_ps {

/// The rules that there are, see rule_options.
enum class rule_kind : std::uint8_t {
  sgd,       ///< remembers nothing
  momentum,  ///< one number a parameter
  adam       ///< two numbers a parameter
};

/// How an update moves the parameters.
///
///     sgd        p -= rate * g
///     momentum   v = momentum * v + g;  p -= rate * v
///     adam       as nn::basic_adam, without weight decay
///
/// A round counts as the mean of its gradients: Adam, which takes the size of a gradient out again, has the mean as its
/// gradient and the weight as a factor on its rate.
struct rule_options {
  rule_kind kind = rule_kind::sgd;  ///< says which of the others count
  double learning_rate = 0.01;      ///< in [0, 1e6)
  double momentum = 0.9;            ///< of momentum, in [0, 1)
  double beta1 = 0.9;               ///< of adam: of the mean of gradients, in [0, 1)
  double beta2 = 0.999;             ///< of adam: of the mean of their squares, in [0, 1)
  double epsilon = 1e-8;            ///< of adam, in (0, 1]
};

/// What is wrong with these options, as a sentence; empty if nothing is.
[[nodiscard]] inline std::string problem(const rule_options& o) {
  const auto is_decay = [](double x) { return pinned::within(x, 0, 1) && static_cast<float>(x) < 1; };
  if (o.kind > rule_kind::adam) return "kind: expected sgd, momentum or adam";
  if (!(pinned::within(o.learning_rate, 0, 1e6) && o.learning_rate < 1e6))
    return "learning_rate: expected a number in [0, 1e6)";
  if (!is_decay(o.momentum)) return "momentum: expected a number in [0, 1)";
  if (!is_decay(o.beta1)) return "beta1: expected a number in [0, 1)";
  if (!is_decay(o.beta2)) return "beta2: expected a number in [0, 1)";
  if (!(pinned::within(o.epsilon, 0, 1) && static_cast<float>(o.epsilon) > 0))
    return "epsilon: expected a number in (0, 1]";
  return {};
}

// Operations that each round once, and that neither compiler fuses with another: what they give has the same bits on
// host and device.
using exact = cuda::exact_arithmetic;             ///< multiply-adds of floats, rounded twice
using exact_double = cuda::detail::exact_double;  ///< the same, and products, of doubles
using rounded_once = cuda::detail::rounded_once;  ///< products, quotients and roots

/// The numbers of one update: what is the same for all parameters. Trivially copyable, an argument of kernels.
struct rule_step {
  rule_kind kind = rule_kind::sgd;  ///< says which of the others count
  float gradient = 1;               ///< factor on the direction
  float rate = 0;                   ///< of this update, with all that it is corrected by
  float first_decay = 0,            ///< of the velocity, or of the mean of gradients
      first_gain = 0;               ///< adam: of the gradient in that mean
  float second_decay = 0,           ///< adam: of the mean of squares
      second_gain = 0;              ///< adam: of the square in that mean
  float root_scale = 0,             ///< adam: 1 / sqrt(1 - beta2^t), a factor on the root
      epsilon = 1;                  ///< adam: what is added to it
};

/// What a rule remembers besides its two numbers a parameter. The default is that of before the first update.
struct rule_state {
  double beta1_power = 1;  ///< beta1^t after t updates by adam
  double beta2_power = 1;  ///< beta2^t, likewise
};

/// The numbers of the next update, by scale * direction, where the direction is a sum of gradients whose weights are
/// `weight` together: 1 for a gradient that comes alone, 0 for a round without any, whose direction is zeros.
///
/// The same bits on host and device.
/// Tests   tests/integrations/cuda_ps/rule_test.cpp: SgdAndMomentumAreThoseOfThreadsPs, AdamHasTheBitsOfNn,
///         AdamStepsByTheMeanOfARound
[[nodiscard]] RUBATO_DETAIL_SHARED inline rule_step next_step(const rule_options& o, rule_state& state, float scale,
                                                              float weight) noexcept {
  rule_step step{.kind = o.kind, .gradient = scale};
  if (o.kind == rule_kind::sgd) {
    step.rate = rounded_once::product(static_cast<float>(o.learning_rate), scale);
  } else if (o.kind == rule_kind::momentum) {
    step.rate = static_cast<float>(o.learning_rate);
    step.first_decay = static_cast<float>(o.momentum);
  } else {
    const auto rest_of_one = [](double x) { return exact_double::plus_product(1.0, -1.0, x); };
    state.beta1_power = exact_double::product(state.beta1_power, o.beta1);
    state.beta2_power = exact_double::product(state.beta2_power, o.beta2);
    const double factor =
        weight == 0 ? 1.0 : exact_double::product(static_cast<double>(scale), static_cast<double>(weight));
    step.gradient = weight == 0 ? 1.0F : rounded_once::quotient(1.0F, weight);
    step.rate = static_cast<float>(exact_double::product(o.learning_rate, factor) / rest_of_one(state.beta1_power));
    step.first_decay = static_cast<float>(o.beta1);
    step.first_gain = static_cast<float>(rest_of_one(o.beta1));
    step.second_decay = static_cast<float>(o.beta2);
    step.second_gain = static_cast<float>(rest_of_one(o.beta2));
    step.root_scale = static_cast<float>(1 / rounded_once::square_root(rest_of_one(state.beta2_power)));
    step.epsilon = static_cast<float>(o.epsilon);
  }
  return step;
}

/// One update of one parameter; `first` and `second` are what the rule remembers of it, read and written where it needs
/// them (adam both, momentum the first). The same bits on host and device.
/// Tests   tests/integrations/cuda_ps/rule_test.cpp: SgdAndMomentumAreThoseOfThreadsPs, AdamHasTheBitsOfNn
RUBATO_DETAIL_SHARED inline void update(const rule_step& s, float direction, float& value, float& first,
                                        float& second) noexcept {
  if (s.kind == rule_kind::sgd) {
    value = exact::plus_product(value, -s.rate, direction);
  } else if (s.kind == rule_kind::momentum) {
    first = exact::plus_product(rounded_once::product(s.first_decay, first), s.gradient, direction);
    value = exact::plus_product(value, -s.rate, first);
  } else {
    const float slope = s.gradient == 1 ? direction : rounded_once::product(s.gradient, direction);
    first = exact::plus_product(rounded_once::product(s.first_decay, first), s.first_gain, slope);
    second = exact::plus_product(rounded_once::product(s.second_decay, second), s.second_gain,
                                 rounded_once::product(slope, slope));
    const float below = exact::plus_product(s.epsilon, s.root_scale, rounded_once::square_root(second));
    value = exact::plus_product(value, -s.rate, rounded_once::quotient(first, below));
  }
}

}  // namespace rubato::inline RUBATO_ABI::cuda_ps

#endif
