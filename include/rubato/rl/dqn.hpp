#ifndef RUBATO_RL_DQN_HPP
#define RUBATO_RL_DQN_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "../core/result.hpp"
#include "../nn/dynamic_mlp.hpp"
#include "../nn/loss.hpp"
#include "../nn/optimiser.hpp"
#include "../pinned.hpp"
#include "action_choice.hpp"
#include "dqn_options.hpp"
#include "dueling.hpp"
#include "learner.hpp"
#include "n_step.hpp"
#include "prioritised_replay.hpp"
#include "replay.hpp"
#include "setting.hpp"

namespace rubato::inline RUBATO_ABI::rl {

namespace detail {

// reward + discount * value, where a value that does not count may be anything.
RUBATO_DETAIL_PINNED inline float td_value(float reward, float discount, float value) noexcept {
  RUBATO_DETAIL_EXACT
  return discount == 0 ? reward : reward + discount * value;
}

// target += rate * (online - target)
RUBATO_DETAIL_PINNED inline void follow(std::size_t count, float rate, const float* online, float* target) noexcept {
  RUBATO_DETAIL_EXACT
  for (std::size_t i = 0; i < count; ++i) target[i] += rate * (online[i] - target[i]);
}

}  // namespace detail

/// What a dqn has done, and what it has refused to learn from.
struct dqn_counters {
  std::uint64_t steps = 0;                 ///< calls of act()
  std::uint64_t explored = 0;              ///< of these, random actions
  std::uint64_t iterations = 0;            ///< calls of update()
  std::uint64_t updates = 0;               ///< gradient steps
  std::uint64_t rejected_transitions = 0;  ///< a number was not finite, a time negative, an action unknown
  std::uint64_t rejected_updates = 0;      ///< the gradient was not finite: parameters were left alone
};

/// Deep Q-learning: a network learns the value of each action from a replay of what happened.
///
///     auto net = nn::dynamic_mlp::make({4, 64, 64, 2});
///     nn::initialise(*net, {}, random);
///     auto agent = rl::dqn<>::make(*net, rl::dqn_options::robust());
///
/// Every peculiarity is an option; dqn_options::paper() and robust() are the two sets of them that make sense together.
///
/// Cost    act(): one evaluation. update(): up to three batches forward and one back. Replay, networks and workspace
///         are allocated at construction; act(), greedy(), record() and update() allocate nothing.
/// Thread  not thread-safe; greedy() is, among const calls.
/// Tests   tests/rl/dqn_test.cpp: PaperUpdateByHand, PrioritisedUpdateByHand, UpdateEveryByHand, DuelingUpdateByHand,
///         RobustUpdateByHand, TargetKinds, PaperActsWithTheTargetNetwork, TargetIsCopiedEveryFifthIteration,
///         NothingIsLearnedBeforeTheReplayHasABatch, NonFiniteTransitionsAreCounted, NonFiniteGradientsAreCounted,
///         EpsilonIsTheShareOfRandomActions, IllegalActionsAreNeverTaken, StateRoundTrip, StaticNetworksWork,
///         UndecidedActionIsTakenWhereNoValueIsANumber, BadOptionsAreRefused; tests/rl/no_allocation_test.cpp
/// Source  Mnih et al., "Human-level control through deep reinforcement learning", Nature 2015; van Hasselt et al.,
///         "Deep Reinforcement Learning with Double Q-learning", AAAI 2016; Hessel et al., "Rainbow", AAAI 2018
template <nn::TrainableNetwork Network = nn::dynamic_mlp>
requires std::same_as<typename Network::scalar, float>
class dqn {
 public:
  using network = Network;

  /// A learner that starts from this network, which is both its online and its target network.
  /// Errors  invalid_option: problem(options); a network with no or more than max_actions actions, or without
  ///         options.undecided_action.
  [[nodiscard]] static result<dqn> make(Network initial, const dqn_options& options) {
    if (const char* what = problem(options)) return error{errc::invalid_option, std::string{"dqn: "} + what};
    const std::size_t outputs = initial.outputs(), extra = options.dueling ? 1 : 0;
    if (outputs <= extra || outputs - extra > max_actions)
      return error{errc::invalid_option, "dqn: the network has " + std::to_string(outputs) + " outputs, expected " +
                                             std::to_string(1 + extra) + " to " + std::to_string(max_actions + extra)};
    if (options.undecided_action >= outputs - extra)
      return error{errc::invalid_option, "dqn: undecided_action: found " + std::to_string(options.undecided_action) +
                                             ", the network has " + std::to_string(outputs - extra) + " actions"};
    return dqn{std::move(initial), options};
  }

  /// An epsilon-greedy action.
  [[nodiscard]] std::uint32_t act(std::span<const float> observation, std::uint32_t legal,
                                  random_sequence& random) noexcept {
    const double epsilon = options_.epsilon.at(counters_.steps++);
    if (random.uniform() >= epsilon) return greedy(observation, legal);
    ++counters_.explored;
    return random_action(actions(), legal, random);
  }

  /// The action of the largest value, according to policy(); options().undecided_action where no value is a number.
  [[nodiscard]] std::uint32_t greedy(std::span<const float> observation, std::uint32_t legal) const noexcept {
    std::array<float, max_actions> values;
    evaluate(policy(), observation, std::span{values}.first(actions()));
    return best_action(std::span{values}.first(actions()), legal, options_.undecided_action);
  }

  /// A step for the replay. One that is not finite is not learned from: windows of n steps end before it.
  void record(const transition& step) noexcept {
    const auto keep = [this](const experience& what) {
      if (!std::isfinite(what.reward)) {
        ++counters_.rejected_transitions;
        return;
      }
      const std::uint32_t slot = replay_.add(what);
      if (priorities_) priorities_->added(slot);
    };
    if (!detail::is_sound(step, actions())) {
      ++counters_.rejected_transitions;
      window_.cut(keep);
      return;
    }
    const bool elapsed = options_.discount == discounting::by_elapsed;
    window_.push(step, elapsed ? std::pow(options_.gamma, step.elapsed / options_.time_unit) : options_.gamma, keep);
  }

  /// An iteration: a gradient step if one is due, and the target network's move if that is due.
  update_stats update(random_sequence& random) noexcept {
    ++counters_.iterations;
    update_stats stats;
    if (replay_.size() >= options_.learn_after && counters_.iterations % options_.update_every == 0)
      stats = learn(random);
    if (counters_.iterations % options_.target_period == 0) move_target();
    return stats;
  }
  [[nodiscard]] bool updates_at_reset() const noexcept { return options_.updates_at_reset; }

  /// The network that decides: the target network if options say so. With options().dueling its outputs are V and A;
  /// fold_dueling() makes plain action values of them.
  [[nodiscard]] const Network& policy() const noexcept { return options_.acts_with_target ? target_ : online_; }
  [[nodiscard]] const Network& online() const noexcept { return online_; }
  [[nodiscard]] const Network& target() const noexcept { return target_; }
  /// Replaces both networks, say by a pre-trained one. Precondition: it has the same shape.
  void adopt(const Network& pretrained) {
    RUBATO_ASSERT(pretrained.parameters().size() == online_.parameters().size(), "adopt: another shape");
    online_ = pretrained;
    target_ = pretrained;
  }

  [[nodiscard]] std::size_t observation_size() const noexcept { return online_.inputs(); }
  [[nodiscard]] std::size_t actions() const noexcept { return online_.outputs() - (options_.dueling ? 1 : 0); }
  [[nodiscard]] const dqn_options& options() const noexcept { return options_; }
  [[nodiscard]] const dqn_counters& counters() const noexcept { return counters_; }
  [[nodiscard]] const replay_buffer& replay() const noexcept { return replay_; }

  [[nodiscard]] std::vector<std::string> configuration() const {
    std::vector<std::string> lines = rl::configuration(options_);
    detail::add_settings(lines, online_);
    return lines;
  }

  /// Saves or loads networks, optimiser, replay, open windows and counters. The learner must have been made with the
  /// same options and shape.
  void state(archive& bytes) {
    online_.state(bytes);
    target_.state(bytes);
    if (auto* plain = std::get_if<nn::sgd>(&optimiser_)) plain->state(bytes);
    if (auto* adaptive = std::get_if<nn::adam>(&optimiser_)) adaptive->state(bytes);
    replay_.state(bytes);
    if (priorities_) priorities_->state(bytes);
    window_.state(bytes);
    bytes(counters_.steps, counters_.explored, counters_.iterations, counters_.updates, counters_.rejected_transitions,
          counters_.rejected_updates);
  }

 private:
  using optimiser = std::variant<nn::sgd, nn::adam>;

  dqn(Network initial, const dqn_options& options)
      : options_{options},
        online_{std::move(initial)},
        target_{online_},
        optimiser_{made(options, online_.parameters().size())},
        replay_{options.replay_capacity, online_.inputs()},
        window_{options.n_step, online_.inputs()},
        now_{online_, options.batch},
        then_{online_, options.batch},
        gradients_(online_.parameters().size()),
        observations_(options.batch * online_.inputs()),
        next_(options.batch * online_.inputs()),
        slopes_(options.batch * online_.outputs()),
        targets_(options.batch),
        weights_(options.batch, 1.0F),
        slots_(options.batch),
        choices_(options.batch) {
    if (options.sample == sampling::prioritised) priorities_.emplace(options.replay_capacity, options.priority);
  }

  [[nodiscard]] static optimiser made(const dqn_options& options, std::size_t parameters) {
    if (options.optimiser == optimiser_kind::sgd)
      return optimiser{std::in_place_type<nn::sgd>, parameters,
                       nn::sgd_options{.learning_rate = options.learning_rate}};
    return optimiser{std::in_place_type<nn::adam>, parameters,
                     nn::adam_options{.learning_rate = options.learning_rate}};
  }

  // Action values from the outputs of a network, for one row.
  void values_of(std::span<const float> outputs, std::span<float> values) const noexcept {
    if (options_.dueling)
      dueling_values(outputs, values);
    else
      std::copy(outputs.begin(), outputs.end(), values.begin());
  }
  void evaluate(const Network& net, std::span<const float> observation, std::span<float> values) const noexcept {
    std::array<float, max_actions + 1> outputs;
    net.evaluate(observation, std::span{outputs}.first(net.outputs()));
    values_of(std::span<const float>{outputs}.first(net.outputs()), values);
  }

  void gather(random_sequence& random) noexcept {
    switch (options_.sample) {
      case sampling::distinct:
        replay_.sample_distinct(random, slots_);
        break;
      case sampling::prioritised:
        priorities_->sample(replay_.size(), random, slots_, weights_);
        break;
      default:
        replay_.sample(random, slots_);
    }
    const std::size_t width = online_.inputs();
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      const experience what = replay_[slots_[i]];
      std::copy(what.observation.begin(), what.observation.end(), observations_.data() + i * width);
      std::copy(what.next.begin(), what.next.end(), next_.data() + i * width);
    }
  }

  // targets_: what each experience of the batch says that its action is worth.
  void aim() noexcept {
    const bool masked = options_.masks_targets;
    std::array<float, max_actions> memory;
    const auto values = std::span{memory}.first(actions());
    const auto row = [&](std::span<const float> outputs, std::size_t i) {
      values_of(outputs.subspan(i * online_.outputs(), online_.outputs()), values);
    };
    const auto best = [&](std::size_t i) {
      return best_action(values, masked ? replay_[slots_[i]].next_legal : all_legal, options_.undecided_action);
    };
    const bool online_chooses = options_.target != td_target::target_max;
    const bool target_values = options_.target != td_target::online_max;
    if (online_chooses) {
      const auto outputs = online_.forward(next_, then_);
      for (std::size_t i = 0; i < slots_.size(); ++i) {
        row(outputs, i);
        choices_[i] = best(i);
        targets_[i] = values[choices_[i]];
      }
    }
    if (target_values) {
      const auto outputs = target_.forward(next_, then_);
      for (std::size_t i = 0; i < slots_.size(); ++i) {
        row(outputs, i);
        if (!online_chooses) choices_[i] = best(i);
        targets_[i] = values[choices_[i]];
      }
    }
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      const experience what = replay_[slots_[i]];
      targets_[i] = detail::td_value(what.reward, what.discount, targets_[i]);
    }
  }

  update_stats learn(random_sequence& random) noexcept {
    gather(random);
    aim();
    const auto outputs = online_.forward(observations_, now_);
    const std::size_t width = online_.outputs();
    const float share = options_.mean_loss ? 1.0F / static_cast<float>(slots_.size()) : 1.0F;
    const float delta = static_cast<float>(options_.huber_delta);
    std::array<float, max_actions> memory;
    const auto values = std::span{memory}.first(actions());
    float loss = 0;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      const std::uint32_t action = replay_[slots_[i]].action;
      values_of(outputs.subspan(i * width, width), values);
      const float value = values[action];
      const nn::loss_term<float> term = options_.loss == td_loss::squared ? nn::squared_error(value, targets_[i])
                                                                          : nn::huber(value, targets_[i], delta);
      const float weight = share * weights_[i];
      loss = pinned::plus_product(loss, weight, term.value);
      targets_[i] -= value;  // from here on, the error
      std::fill(values.begin(), values.end(), 0.0F);
      values[action] = weight * term.slope;
      const auto slopes = std::span{slopes_}.subspan(i * width, width);
      if (options_.dueling)
        dueling_gradient(values, slopes);
      else
        std::copy(values.begin(), values.end(), slopes.begin());
    }
    std::fill(gradients_.begin(), gradients_.end(), 0.0F);
    online_.backward(slopes_, now_, gradients_);

    update_stats stats{.learned = false, .loss = loss, .gradient_norm = 0};
    const double most = options_.max_gradient_norm > 0 ? options_.max_gradient_norm : HUGE_VAL;
    stats.gradient_norm = nn::clip_by_norm<float>(gradients_, most);
    if (!std::isfinite(stats.gradient_norm)) {
      ++counters_.rejected_updates;
      return stats;
    }
    if (auto* plain = std::get_if<nn::sgd>(&optimiser_)) plain->step(online_.parameters(), gradients_);
    if (auto* adaptive = std::get_if<nn::adam>(&optimiser_)) adaptive->step(online_.parameters(), gradients_);
    if (priorities_) {
      for (std::size_t i = 0; i < slots_.size(); ++i) priorities_->learned(slots_[i], static_cast<double>(targets_[i]));
      priorities_->updated();
    }
    ++counters_.updates;
    stats.learned = true;
    return stats;
  }

  void move_target() noexcept {
    const std::span<const float> from = std::as_const(online_).parameters();
    const std::span<float> to = target_.parameters();
    if (options_.target_rate == 1)
      std::copy(from.begin(), from.end(), to.begin());
    else
      detail::follow(to.size(), static_cast<float>(options_.target_rate), from.data(), to.data());
  }

  dqn_options options_;
  Network online_;
  Network target_;
  optimiser optimiser_;
  replay_buffer replay_;
  std::optional<priorities> priorities_;
  n_step_window window_;
  dqn_counters counters_;

  // One batch on its way.
  typename Network::workspace now_;
  typename Network::workspace then_;
  nn::aligned_vector<float> gradients_;
  nn::aligned_vector<float> observations_;
  nn::aligned_vector<float> next_;
  std::vector<float> slopes_;
  std::vector<float> targets_;
  std::vector<float> weights_;
  std::vector<std::uint32_t> slots_;
  std::vector<std::uint32_t> choices_;
};

static_assert(Learner<dqn<>>);

}  // namespace rubato::inline RUBATO_ABI::rl

#endif
