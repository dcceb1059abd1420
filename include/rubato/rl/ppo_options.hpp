#ifndef RUBATO_RL_PPO_OPTIONS_HPP
#define RUBATO_RL_PPO_OPTIONS_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../pinned.hpp"
#include "dqn_options.hpp"
#include "environment.hpp"
#include "setting.hpp"

namespace rubato::inline RUBATO_ABI::rl {

/// How a ppo learns. Start from one of the presets:
///
///     rl::ppo_options options = rl::ppo_options::robust();
///     options.entropy_bonus = 0.01;
///
/// Tests   tests/rl/ppo_options_test.cpp: PaperIsThePaper, ProblemsAreNamed, ConfigurationNamesAll
struct ppo_options {
  std::size_t horizon = 512;  ///< steps of a rollout: what is learned from at once, and then forgotten
  std::size_t batch = 64;     ///< steps of the rollout in a gradient step, 1 to horizon
  std::uint32_t epochs = 10;  ///< passes over the rollout, each in an order of its own
  double gamma = 0.99;        ///< in [0, 1]
  discounting discount = discounting::by_elapsed;  ///< what gamma is for: a step, or time_unit
  double time_unit = 1;                ///< > 0: the time in which a reward loses 1 - gamma of its worth, by_elapsed
  double lambda = 0.95;                ///< in [0, 1], for each step: 0 trusts the values, 1 the rewards
  double clip = 0.2;                   ///< > 0: nothing is gained by moving the ratio of probabilities further from 1
  double entropy_bonus = 0;            ///< what is maximised counts the entropy so much
  double max_divergence = 0;           ///< a batch on which the policy has moved further ends its passes; 0: none does
  bool normalises_advantages = true;   ///< mean 0 and deviation 1 over the rollout
  double max_gradient_norm = 0.5;      ///< of each network; 0: no clipping
  double learning_rate = 0.0003;       ///< of the policy; the optimiser is Adam
  double value_learning_rate = 0.001;  ///< of the value network, which has an Adam of its own
  std::uint32_t undecided_action = 0;  ///< where no preference is a number: this one if legal, else the first legal

  /// What Schulman et al. (2017) set for continuous control (table 3), where steps are all of the same length: one
  /// learning rate, no bonus, no clipping of gradients. Their networks are the caller's business, as is normalising.
  /// Source  Schulman et al., "Proximal Policy Optimization Algorithms", arXiv:1707.06347, table 3
  [[nodiscard]] static ppo_options paper() {
    return {.horizon = 2'048,
            .discount = discounting::per_step,
            .normalises_advantages = false,
            .max_gradient_norm = 0,
            .value_learning_rate = 0.0003};
  }
  /// Discounts by the time that steps took, normalised advantages, clipped gradients, values that learn faster than the
  /// policy: the defaults. Why: docs/rl.md, "PPO".
  [[nodiscard]] static ppo_options robust() { return {}; }
};

/// What is wrong with the options, or nullptr.
[[nodiscard]] constexpr const char* problem(const ppo_options& o) noexcept {
  constexpr auto share = [](double x) { return pinned::within(x, 0, 1); };
  if (o.horizon < 1 || o.horizon > 1'000'000'000) return "horizon: expected 1 to 10^9";
  if (o.batch < 1 || o.batch > o.horizon) return "batch: expected 1 to horizon";
  if (o.epochs < 1 || o.epochs > 1000) return "epochs: expected 1 to 1000";
  if (!share(o.gamma)) return "gamma: expected a number in [0, 1]";
  if (!(pinned::within(o.time_unit, 0, 1e30) && o.time_unit > 0)) return "time_unit: expected a number > 0";
  if (!share(o.lambda)) return "lambda: expected a number in [0, 1]";
  if (!pinned::within(o.clip, 1e-30, 1e30)) return "clip: expected a number from 1e-30 to 1e30";
  if (!pinned::within(o.entropy_bonus, 0, 1e30)) return "entropy_bonus: expected a number >= 0";
  if (pinned::is_nan(o.max_divergence) || o.max_divergence < 0) return "max_divergence: expected a number >= 0";
  if (pinned::is_nan(o.max_gradient_norm) || o.max_gradient_norm < 0)
    return "max_gradient_norm: expected a number >= 0";
  if (!pinned::within(o.learning_rate, 0, 1e30)) return "learning_rate: expected a number >= 0";
  if (!pinned::within(o.value_learning_rate, 0, 1e30)) return "value_learning_rate: expected a number >= 0";
  if (o.undecided_action >= max_actions) return "undecided_action: expected 0 to 31";
  return nullptr;
}

/// Every option as "name=value", enumerators by their names.
/// Tests   tests/rl/ppo_options_test.cpp: ConfigurationNamesAll
[[nodiscard]] inline std::vector<std::string> configuration(const ppo_options& o) {
  using detail::setting;
  return {setting("horizon", o.horizon),
          setting("batch", o.batch),
          setting("epochs", o.epochs),
          setting("gamma", o.gamma),
          setting("discount", o.discount),
          setting("time_unit", o.time_unit),
          setting("lambda", o.lambda),
          setting("clip", o.clip),
          setting("entropy_bonus", o.entropy_bonus),
          setting("max_divergence", o.max_divergence),
          setting("normalises_advantages", o.normalises_advantages),
          setting("max_gradient_norm", o.max_gradient_norm),
          setting("learning_rate", o.learning_rate),
          setting("value_learning_rate", o.value_learning_rate),
          setting("undecided_action", o.undecided_action)};
}

}  // namespace rubato::inline RUBATO_ABI::rl

#endif
