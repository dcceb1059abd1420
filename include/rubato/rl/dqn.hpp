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
#include "../nn/training_concepts.hpp"
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

// What an experience of a batch says about the action that was taken.
struct td_row {
  std::uint32_t action = 0;
  std::uint32_t next_legal = all_legal;
  float reward = 0;
  float discount = 0;
  float next = 0;   // the value of the next state,
  float value = 0;  // and that of the action
  float weight = 1;
  float error = 0;  // target - value
  float slope = 0;  // of the loss by the value
};

// reward + discount * value, where a value that does not count may be anything.
RUBATO_DETAIL_PINNED_INLINE inline float td_value(float reward, float discount, float value) noexcept {
  RUBATO_DETAIL_EXACT
  return discount == 0 ? reward : reward + discount * value;
}

// The errors of a batch, and the slopes of `share` of its loss, which is returned.
RUBATO_DETAIL_PINNED inline float td_errors(std::span<td_row> rows, td_loss loss, float delta, float share) noexcept {
  RUBATO_DETAIL_EXACT
  float sum = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    td_row& row = rows.data()[i];
    const float target = td_value(row.reward, row.discount, row.next), weight = share * row.weight;
    const nn::loss_term<float> term =
        loss == td_loss::squared ? nn::squared_error(row.value, target) : nn::huber(row.value, target, delta);
    sum += weight * term.value;
    row.error = target - row.value;
    row.slope = weight * term.slope;
  }
  return sum;
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
///         EpsilonIsTheShareOfRandomActions, IllegalActionsAreNeverTaken, StateRoundTrip, StatesThatCannotBeAreRefused,
///         StaticNetworksWork, UndecidedActionIsTakenWhereNoValueIsANumber, BadOptionsAreRefused;
///         tests/rl/no_allocation_test.cpp
/// Source  Mnih et al., "Human-level control through deep reinforcement learning", Nature 2015; van Hasselt et al.,
///         "Deep Reinforcement Learning with Double Q-learning", AAAI 2016; Hessel et al., "Rainbow", AAAI 2018
template <nn::TrainableNetwork Network = nn::dynamic_mlp>
requires std::same_as<typename Network::scalar, float>
class dqn {
 public:
  using network = Network;  ///< what learns, and what policy() returns

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
      if (!pinned::is_finite(what.reward)) {
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
  [[nodiscard]] bool updates_at_reset() const noexcept { return options_.updates_at_reset; }  ///< that of the options

  /// The network that decides: the target network if options say so. With options().dueling its outputs are V and A;
  /// fold_dueling() makes plain action values of them.
  [[nodiscard]] const Network& policy() const noexcept { return options_.acts_with_target ? target_ : online_; }
  [[nodiscard]] const Network& online() const noexcept { return online_; }  ///< the one that is trained
  [[nodiscard]] const Network& target() const noexcept { return target_; }  ///< the one that follows it
  /// Replaces both networks, say by a pre-trained one. Precondition: it has the same shape.
  void adopt(const Network& pretrained) {
    RUBATO_ASSERT(pretrained.parameters().size() == online_.parameters().size(), "adopt: another shape");
    online_ = pretrained;
    target_ = pretrained;
  }

  [[nodiscard]] std::size_t observation_size() const noexcept { return online_.inputs(); }  ///< inputs of the network
  /// Outputs of the network, but for V of a dueling one.
  [[nodiscard]] std::size_t actions() const noexcept { return online_.outputs() - (options_.dueling ? 1 : 0); }
  [[nodiscard]] const dqn_options& options() const noexcept { return options_; }     ///< as they were given
  [[nodiscard]] const dqn_counters& counters() const noexcept { return counters_; }  ///< since the beginning
  [[nodiscard]] const replay_buffer& replay() const noexcept { return replay_; }     ///< what it learns from

  /// See Learner: the options, and the shape and activations of the network.
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
    if (!bytes.saving() && bytes.ok() && !fits()) bytes.fail();
  }

 private:
  using optimiser = std::variant<nn::sgd, nn::adam>;

  dqn(Network initial, const dqn_options& options)
      : options_{options},
        online_{std::move(initial)},
        target_{online_},
        optimiser_{made(options, online_)},
        replay_{options.replay_capacity, online_.inputs()},
        window_{options.n_step, online_.inputs()},
        work_{online_, options.batch},
        gradients_(online_.parameters().size()),
        batch_(options.batch * online_.inputs()),
        slopes_(options.batch * online_.outputs()),
        rows_(options.batch),
        weights_(options.batch, 1.0F),
        slots_(options.batch),
        choices_(options.batch) {
    if (options.sample == sampling::prioritised) priorities_.emplace(options.replay_capacity, options.priority);
  }

  [[nodiscard]] static optimiser made(const dqn_options& options, const Network& network) {
    const std::size_t parameters = network.parameters().size();
    if (options.optimiser == optimiser_kind::sgd)
      return optimiser{std::in_place_type<nn::sgd>, parameters, nn::sgd_options{.learning_rate = options.learning_rate},
                       nn::kernel_of(network)};
    return optimiser{std::in_place_type<nn::adam>, parameters, nn::adam_options{.learning_rate = options.learning_rate},
                     nn::kernel_of(network)};
  }

  // Whether what was loaded is of this network's actions, and can be drawn.
  [[nodiscard]] bool fits() const noexcept {
    for (std::size_t slot = 0; slot < replay_.size(); ++slot)
      if (replay_[slot].action >= actions()) return false;
    return window_.actions_are_below(actions()) && (!priorities_ || priorities_->fit(replay_.size()));
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

  // A batch of slots, and the next observation of each. Memory is asked for all of these before the first is read, and
  // sends the rest of what is learned from while a network computes.
  void draw(random_sequence& random) noexcept {
    switch (options_.sample) {
      case sampling::distinct:
        replay_.sample_distinct(random, slots_);
        break;
      case sampling::prioritised:
        priorities_->sample(replay_.size(), random, slots_, weights_);
        for (const std::uint32_t slot : slots_) replay_.prefetch_next(slot);
        break;
      default:
        replay_.sample(random, slots_);
    }
    replay_.gather_next(slots_, batch_);
    for (const std::uint32_t slot : slots_) replay_.prefetch_rest(slot);
  }
  // What is known of them without a network.
  void read_rows() noexcept {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      const experience what = replay_[slots_[i]];
      rows_[i] = {.action = what.action,
                  .next_legal = options_.masks_targets ? what.next_legal : all_legal,
                  .reward = what.reward,
                  .discount = what.discount,
                  .weight = weights_[i]};
    }
  }

  // What a network's outputs say that the actions of a row are worth.
  [[nodiscard]] std::span<const float> values_at(std::span<const float> outputs, std::size_t row,
                                                 std::span<float> memory) const noexcept {
    const std::span<const float> at = outputs.subspan(row * online_.outputs(), online_.outputs());
    if (!options_.dueling) return at;
    dueling_values(at, memory);
    return memory;
  }

  // Each row's value of the next state.
  void look_ahead() noexcept {
    const bool online_chooses = options_.target != td_target::target_max;
    const bool target_values = options_.target != td_target::online_max;
    std::array<float, max_actions> memory;
    const auto values = std::span{memory}.first(actions());
    auto outputs = (online_chooses ? online_ : target_).forward(batch_, work_);
    read_rows();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const std::span<const float> of = values_at(outputs, i, values);
      choices_[i] = best_action(of, rows_[i].next_legal, options_.undecided_action);
      rows_[i].next = of[choices_[i]];
    }
    if (!online_chooses || !target_values) return;
    outputs = target_.forward(batch_, work_);
    for (std::size_t i = 0; i < rows_.size(); ++i) rows_[i].next = values_at(outputs, i, values)[choices_[i]];
  }

  // The gradient by the network's outputs: nothing but the actions that were taken has a slope.
  void spread() noexcept {
    const std::size_t width = online_.outputs();
    std::fill(slopes_.begin(), slopes_.end(), 0.0F);
    if (!options_.dueling) {
      for (std::size_t i = 0; i < rows_.size(); ++i) slopes_[i * width + rows_[i].action] = rows_[i].slope;
      return;
    }
    std::array<float, max_actions> memory{};
    const auto values = std::span{memory}.first(actions());
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      values[rows_[i].action] = rows_[i].slope;
      dueling_gradient(values, std::span{slopes_}.subspan(i * width, width));
      values[rows_[i].action] = 0;
    }
  }

  update_stats learn(random_sequence& random) noexcept {
    draw(random);
    look_ahead();
    replay_.gather(slots_, batch_);
    const auto outputs = online_.forward(batch_, work_);
    std::array<float, max_actions> memory;
    const auto values = std::span{memory}.first(actions());
    for (std::size_t i = 0; i < rows_.size(); ++i) rows_[i].value = values_at(outputs, i, values)[rows_[i].action];
    const float share = options_.mean_loss ? 1.0F / static_cast<float>(rows_.size()) : 1.0F;
    const float loss = detail::td_errors(rows_, options_.loss, static_cast<float>(options_.huber_delta), share);
    spread();
    online_.backward(slopes_, work_, gradients_, nn::gradient_mode::overwrite);

    update_stats stats{.learned = false, .loss = loss, .gradient_norm = 0};
    const double most = options_.max_gradient_norm > 0 ? options_.max_gradient_norm : HUGE_VAL;
    stats.gradient_norm = nn::clip_by_norm<float>(gradients_, most, nn::kernel_of(online_));
    if (!pinned::is_finite(stats.gradient_norm)) {
      ++counters_.rejected_updates;
      return stats;
    }
    if (auto* plain = std::get_if<nn::sgd>(&optimiser_)) plain->step(online_.parameters(), gradients_);
    if (auto* adaptive = std::get_if<nn::adam>(&optimiser_)) adaptive->step(online_.parameters(), gradients_);
    if (priorities_) {
      for (std::size_t i = 0; i < rows_.size(); ++i)
        priorities_->learned(slots_[i], static_cast<double>(rows_[i].error));
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
  typename Network::workspace work_;
  nn::aligned_vector<float> gradients_;
  nn::aligned_vector<float> batch_;  // of next observations, and then of observations
  std::vector<float> slopes_;
  std::vector<detail::td_row> rows_;
  std::vector<float> weights_;
  std::vector<std::uint32_t> slots_;
  std::vector<std::uint32_t> choices_;
};

static_assert(Learner<dqn<>>);

}  // namespace rubato::inline RUBATO_ABI::rl

#endif
