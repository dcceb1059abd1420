#ifndef RUBATO_RL_DQN_OPTIONS_HPP
#define RUBATO_RL_DQN_OPTIONS_HPP

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "../pinned.hpp"
#include "environment.hpp"
#include "prioritised_replay.hpp"
#include "setting.hpp"

namespace rubato::inline RUBATO_ABI::rl {

/// Which network the target r + discount * max_a Q(s', a) asks.
enum class td_target : std::uint8_t {
  online_max,  ///< the one that is being trained: as the RLP paper writes it
  target_max,  ///< the target network (Mnih et al. 2015)
  double_q     ///< the target network, about the action that the online one would take (van Hasselt et al. 2016)
};
/// What a reward one step later is worth.
enum class discounting : std::uint8_t {
  per_step,   ///< gamma
  by_elapsed  ///< gamma^(elapsed / time_unit)
};
/// How a batch is drawn from the replay buffer.
enum class sampling : std::uint8_t {
  uniform,     ///< each experience as likely as any other, with replacement
  distinct,    ///< the same, without replacement
  prioritised  ///< by the latest error of each, see priorities
};
/// What an update makes smaller, as a function of the error: target - value.
enum class td_loss : std::uint8_t {
  squared,  ///< its square
  huber     ///< half of its square up to huber_delta, linear from there
};
/// How parameters follow a gradient, each with its other settings as nn:: has them.
enum class optimiser_kind : std::uint8_t {
  sgd,  ///< nn::sgd
  adam  ///< nn::adam
};

namespace detail {

template <std::size_t Count, class Enum>
[[nodiscard]] constexpr std::string_view name_among(const std::array<std::string_view, Count>& names,
                                                    Enum value) noexcept {
  const auto index = static_cast<std::size_t>(value);
  return index < Count ? names[index] : "invalid";
}

}  // namespace detail

/// The enumerator as a word, such as "double_q".
/// Tests   tests/rl/dqn_options_test.cpp: EnumeratorsHaveNames
[[nodiscard]] constexpr std::string_view name(td_target value) noexcept {
  return detail::name_among(std::array<std::string_view, 3>{"online_max", "target_max", "double_q"}, value);
}
/// See name(td_target).
[[nodiscard]] constexpr std::string_view name(discounting value) noexcept {
  return detail::name_among(std::array<std::string_view, 2>{"per_step", "by_elapsed"}, value);
}
/// See name(td_target).
[[nodiscard]] constexpr std::string_view name(sampling value) noexcept {
  return detail::name_among(std::array<std::string_view, 3>{"uniform", "distinct", "prioritised"}, value);
}
/// See name(td_target).
[[nodiscard]] constexpr std::string_view name(td_loss value) noexcept {
  return detail::name_among(std::array<std::string_view, 2>{"squared", "huber"}, value);
}
/// See name(td_target).
[[nodiscard]] constexpr std::string_view name(optimiser_kind value) noexcept {
  return detail::name_among(std::array<std::string_view, 2>{"sgd", "adam"}, value);
}

/// A probability that moves linearly from `first` to `last` within `steps` steps, and stays there.
/// Tests   tests/rl/dqn_options_test.cpp: ScheduleByHand
struct linear_schedule {
  double first = 1;              ///< at step 0; from 0 to 1
  double last = 0.05;            ///< from step `steps` on; from 0 to 1
  std::uint64_t steps = 10'000;  ///< 0: `last` throughout

  /// The probability at a step, of which 0 is the first.
  [[nodiscard]] constexpr double at(std::uint64_t step) const noexcept {
    if (step >= steps) return last;
    return pinned::plus_product(first, static_cast<double>(step) / static_cast<double>(steps), last - first);
  }
};

/// How a dqn learns. Start from one of the presets:
///
///     rl::dqn_options options = rl::dqn_options::robust();
///     options.dueling = true;
///
/// Tests   tests/rl/dqn_options_test.cpp: PaperIsThePaper, RobustIsRobust, ProblemsAreNamed, ConfigurationNamesAll;
///         tests/rl/known_tasks_test.cpp: RobustDqnLearnsCartPole, RobustValuesStayPossible
struct dqn_options {
  td_target target = td_target::double_q;          ///< which network says what the next state is worth
  bool acts_with_target = false;                   ///< behaviour and final policy: the target network
  bool masks_targets = true;                       ///< the maximum over next actions is over the legal ones only
  bool updates_at_reset = false;                   ///< an update also at the first observation of an episode
  double gamma = 0.99;                             ///< in [0, 1]
  discounting discount = discounting::by_elapsed;  ///< what gamma is for: a step, or time_unit
  double time_unit = 1;                  ///< > 0: the time in which a reward loses 1 - gamma of its worth, by_elapsed
  std::uint32_t n_step = 3;              ///< steps whose rewards a target adds up, 1 to 1000
  linear_schedule epsilon{};             ///< probability of a random action; counted in calls of act()
  std::size_t replay_capacity = 50'000;  ///< experiences, 1 to 10^9
  std::size_t batch = 64;                ///< experiences of a gradient step, 1 to replay_capacity
  std::size_t learn_after = 1'000;       ///< experiences before the first update; at least `batch`
  std::uint32_t update_every = 1;        ///< calls of update() for each gradient step
  sampling sample = sampling::uniform;   ///< how a batch is drawn
  priority_options priority{};           ///< prioritised
  std::uint32_t target_period = 1;       ///< calls of update() after which the target network moves ...
  double target_rate = 0.002;            ///< ... by this share of the difference, from 1e-30 to 1; 1: a copy
  td_loss loss = td_loss::huber;         ///< of the error of each experience
  double huber_delta = 1;                ///< from 1e-30 to 1e30
  bool mean_loss = true;                 ///< the mean over the batch; otherwise the sum
  double max_gradient_norm = 10;         ///< 0: no clipping
  optimiser_kind optimiser = optimiser_kind::adam;  ///< what makes the gradient steps
  double learning_rate = 0.001;                     ///< 0 or more; constant
  std::uint32_t undecided_action = 0;  ///< greedy, where no value is a number: this one if legal, else the first legal
  bool dueling = false;                ///< the network has one output more than there are actions: V, A_0, A_1, ...

  /// RLP's Algorithm 2, with what it leaves open decided: replay of 50, batches of 32 different transitions, nothing
  /// learned before the 32nd; both sides of the TD error from the online network, behaviour and result from the target
  /// network, which is copied every 5 iterations; gamma 0.8 for each iteration, epsilon 0.1 throughout; plain SGD of
  /// 0.01 on the sum of squared errors, unclipped; y = r at the end. An iteration is an observation, the first and the
  /// last of an episode included. No gradient flows through the target, although both sides use the same network.
  /// Source  Zhu et al., "Learning Efficient Parameter Server Synchronization Policies for Distributed SGD", ICLR 2020,
  ///         algorithm 2 and §4; what it leaves open: docs/rl.md
  [[nodiscard]] static dqn_options paper() {
    return {.target = td_target::online_max,
            .acts_with_target = true,
            .masks_targets = false,
            .updates_at_reset = true,
            .gamma = 0.8,
            .discount = discounting::per_step,
            .n_step = 1,
            .epsilon = {.first = 0.1, .last = 0.1, .steps = 0},
            .replay_capacity = 50,
            .batch = 32,
            .learn_after = 32,
            .sample = sampling::distinct,
            .target_period = 5,
            .target_rate = 1,
            .loss = td_loss::squared,
            .mean_loss = false,
            .max_gradient_norm = 0,
            .optimiser = optimiser_kind::sgd,
            .learning_rate = 0.01};
  }
  /// Double DQN over n steps that are discounted by the time they took, with a target network that follows slowly,
  /// Adam, Huber loss, clipped gradients and a large replay: the defaults. Why the target network is that slow:
  /// docs/rl.md, "On known ground".
  [[nodiscard]] static dqn_options robust() { return {}; }
};

/// What is wrong with the options, or nullptr.
[[nodiscard]] constexpr const char* problem(const dqn_options& o) noexcept {
  constexpr auto share = [](double x) { return pinned::within(x, 0, 1); };
  if (!share(o.gamma)) return "gamma: expected a number in [0, 1]";
  if (!(pinned::within(o.time_unit, 0, 1e30) && o.time_unit > 0)) return "time_unit: expected a number > 0";
  if (o.n_step < 1 || o.n_step > 1000) return "n_step: expected 1 to 1000";
  if (!share(o.epsilon.first) || !share(o.epsilon.last)) return "epsilon: expected numbers in [0, 1]";
  if (o.replay_capacity < 1 || o.replay_capacity > 1'000'000'000) return "replay_capacity: expected 1 to 10^9";
  if (o.batch < 1 || o.batch > o.replay_capacity) return "batch: expected 1 to replay_capacity";
  if (o.learn_after < o.batch || o.learn_after > o.replay_capacity)
    return "learn_after: expected batch to replay_capacity";
  if (o.update_every < 1) return "update_every: expected at least 1";
  if (!pinned::within(o.priority.alpha, 0, 10)) return "priority.alpha: expected a number in [0, 10]";
  if (!share(o.priority.beta) || !share(o.priority.final_beta)) return "priority.beta: expected numbers in [0, 1]";
  if (!(pinned::within(o.priority.smallest, 0, 1e30) && o.priority.smallest > 0))
    return "priority.smallest: expected a number > 0";
  if (o.target_period < 1) return "target_period: expected at least 1";
  if (!pinned::within(o.target_rate, 1e-30, 1)) return "target_rate: expected a number from 1e-30 to 1";
  if (!pinned::within(o.huber_delta, 1e-30, 1e30)) return "huber_delta: expected a number from 1e-30 to 1e30";
  if (pinned::is_nan(o.max_gradient_norm) || o.max_gradient_norm < 0)
    return "max_gradient_norm: expected a number >= 0";
  if (!pinned::within(o.learning_rate, 0, 1e30)) return "learning_rate: expected a number >= 0";
  if (o.undecided_action >= max_actions) return "undecided_action: expected 0 to 31";
  return nullptr;
}

/// Every option as "name=value", enumerators by their names.
/// Tests   tests/rl/dqn_options_test.cpp: ConfigurationNamesAll, SettingsAreReadable
[[nodiscard]] inline std::vector<std::string> configuration(const dqn_options& o) {
  using detail::setting;
  return {setting("target", o.target),
          setting("acts_with_target", o.acts_with_target),
          setting("masks_targets", o.masks_targets),
          setting("updates_at_reset", o.updates_at_reset),
          setting("gamma", o.gamma),
          setting("discount", o.discount),
          setting("time_unit", o.time_unit),
          setting("n_step", o.n_step),
          setting("epsilon.first", o.epsilon.first),
          setting("epsilon.last", o.epsilon.last),
          setting("epsilon.steps", o.epsilon.steps),
          setting("replay_capacity", o.replay_capacity),
          setting("batch", o.batch),
          setting("learn_after", o.learn_after),
          setting("update_every", o.update_every),
          setting("sample", o.sample),
          setting("priority.alpha", o.priority.alpha),
          setting("priority.beta", o.priority.beta),
          setting("priority.final_beta", o.priority.final_beta),
          setting("priority.beta_updates", o.priority.beta_updates),
          setting("priority.smallest", o.priority.smallest),
          setting("target_period", o.target_period),
          setting("target_rate", o.target_rate),
          setting("loss", o.loss),
          setting("huber_delta", o.huber_delta),
          setting("mean_loss", o.mean_loss),
          setting("max_gradient_norm", o.max_gradient_norm),
          setting("optimiser", o.optimiser),
          setting("learning_rate", o.learning_rate),
          setting("undecided_action", o.undecided_action),
          setting("dueling", o.dueling)};
}

}  // namespace rubato::inline RUBATO_ABI::rl

#endif
