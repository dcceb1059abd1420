#ifndef RUBATO_RL_PPO_HPP
#define RUBATO_RL_PPO_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../core/result.hpp"
#include "../nn/dynamic_mlp.hpp"
#include "../nn/loss.hpp"
#include "../nn/optimiser.hpp"
#include "../nn/training_concepts.hpp"
#include "../pinned.hpp"
#include "action_choice.hpp"
#include "learner.hpp"
#include "ppo_options.hpp"
#include "rollout.hpp"
#include "setting.hpp"
#include "softmax_policy.hpp"

namespace rubato::inline RUBATO_ABI::rl {

/// What a ppo has done, and what it has refused to learn from.
struct ppo_counters {
  std::uint64_t steps = 0;                 ///< calls of act()
  std::uint64_t replaced = 0;              ///< executed actions that were not those asked for
  std::uint64_t rollouts = 0;              ///< learned from
  std::uint64_t stopped = 0;               ///< of these, those whose passes over the policy ended at max_divergence
  std::uint64_t updates = 0;               ///< gradient steps of the policy
  std::uint64_t value_updates = 0;         ///< gradient steps of the value network
  std::uint64_t rejected_transitions = 0;  ///< not finite, a time negative, an action unknown, or no update() was due
  std::uint64_t rejected_updates = 0;      ///< the gradient was not finite: that network was left alone
};

/// Proximal policy optimisation: a network learns how much to prefer each action, from what its own actions led to, a
/// rollout at a time; another learns what states are worth, so that luck is told from merit.
///
///     auto policy = nn::dynamic_mlp::make({4, 64, 64, 2}), value = nn::dynamic_mlp::make({4, 64, 64, 1});
///     nn::initialise(*policy, {}, random);
///     nn::initialise(*value, {}, random);
///     auto agent = rl::ppo<>::make(*policy, *value, rl::ppo_options::robust());
///
/// Probabilities are the softmax of the policy's outputs over the legal actions. A step has no notion of what was legal
/// before it, so record() takes the mask of the latest act(), as it takes place before each step in a trainer. Where an
/// environment executes another action than was asked for, that one is learned from, with its own probability; if it
/// has none, being illegal, its advantage teaches the policy nothing; the value network learns from the step as from
/// any other, and so does what knows of no action, an entropy bonus and the scale of normalised advantages.
///
/// The value network may see more than the policy, which sees the first of the numbers of an observation: what follows
/// them is for training alone, say the state of a world whose agents see their surroundings. act() and greedy() need no
/// more than the policy sees.
///
/// Cost    act(): one evaluation. record(): a copy, and an evaluation where an episode or a rollout is cut. update():
///         nothing, except that each that finds the rollout full sends it forward through both networks once, and
///         forward and back `epochs` times. Rollout, networks and workspaces are allocated at construction; act(),
///         greedy(), record() and update() allocate nothing.
/// Thread  not thread-safe; greedy() is, among const calls.
/// Tests   tests/rl/ppo_test.cpp: ConfigurationHasBothNetworks, UpdateByHand,
///         StepsOfOtherActorsAreRecordedWithTheirMasks, BatchesAreAllOfTheRollout,
///         AdvantagesAreNormalisedIfAskedFor, EntropyBonusMakesLessSure, NothingIsLearnedBeforeTheRolloutIsFull,
///         TruncatedEpisodesBootstrap, ElapsedTimeDiscounts, ActsByTheSoftmax, IllegalActionsAreNeverTaken,
///         TheExecutedActionIsLearned, AnIllegalActionTeachesTheValueOnly, DivergenceEndsThePasses, ClipsTheGradients,
///         NonFiniteTransitionsAreCounted, NonFiniteGradientsAreCounted, SameSeedSameBits, StateRoundTrip,
///         StateHoldsWhatActWasTold, ResumesBitForBit, StaticNetworksWork, AdoptForgetsTheRollout,
///         TheValueNetworkMaySeeMore, UndecidedActionIsTakenWhereNoPreferenceIsANumber, BadOptionsAreRefused,
///         LearnsTheCorridor, LearnsCartPole; tests/rl/no_allocation_test.cpp
/// Source  Schulman et al., "Proximal Policy Optimization Algorithms", arXiv:1707.06347, section 3 and algorithm 1;
/// values
///         that see more: Yu et al., "The Surprising Effectiveness of PPO in Cooperative Multi-Agent Games",
///         arXiv:2103.01955
template <nn::TrainableNetwork Network = nn::dynamic_mlp, nn::TrainableNetwork Value = nn::dynamic_mlp>
requires std::same_as<typename Network::scalar, float> && std::same_as<typename Value::scalar, float>
class ppo {
 public:
  using network = Network;  ///< what learns to act, and what policy() returns

  /// A learner that starts from these networks.
  /// Errors  invalid_option: problem(options); a policy with no or more than max_actions actions, or without
  ///         options.undecided_action; a value network with fewer inputs than the policy, or other than one output.
  [[nodiscard]] static result<ppo> make(Network policy, Value value, const ppo_options& options) {
    const auto refusal = [](std::string what) { return error{errc::invalid_option, "ppo: " + std::move(what)}; };
    const auto found = [](std::size_t number, std::string what) {
      return "found " + std::to_string(number) + ", expected " + std::move(what);
    };
    if (const char* what = problem(options)) return refusal(detail::with_value(what, rl::configuration(options)));
    const std::size_t actions = policy.outputs();
    if (actions < 1 || actions > max_actions)
      return refusal("outputs of the policy: " + found(actions, "1 to " + std::to_string(max_actions)));
    if (value.outputs() != 1) return refusal("outputs of the value network: " + found(value.outputs(), "1"));
    if (value.inputs() < policy.inputs())
      return refusal("inputs of the value network: " +
                     found(value.inputs(), "those of the policy or more, " + std::to_string(policy.inputs())));
    if (options.undecided_action >= actions)
      return refusal("undecided_action: " + found(options.undecided_action, "0 to " + std::to_string(actions - 1)));
    return ppo{std::move(policy), std::move(value), options};
  }

  /// An action drawn by its probability.
  [[nodiscard]] std::uint32_t act(std::span<const float> observation, std::uint32_t legal,
                                  random_sequence& random) noexcept {
    ++counters_.steps;
    std::array<float, max_actions> memory;
    legal_ = legal_among(actions(), legal);
    asked_ = softmax_action(preferences(observation, memory), legal_, random, options_.undecided_action);
    return asked_;
  }

  /// The most probable action; options().undecided_action where no preference is a number.
  [[nodiscard]] std::uint32_t greedy(std::span<const float> observation, std::uint32_t legal) const noexcept {
    std::array<float, max_actions> memory;
    return best_action(preferences(observation, memory), legal, options_.undecided_action);
  }

  /// A step for the rollout, taken where act() was asked last. One that is not finite is not learned from: what came
  /// before is as if the episode had been truncated there. So is one for which a full rollout has no room, because
  /// update() was not called.
  void record(const transition& step) noexcept {
    if (take_in(step, legal_) && step.action != asked_) ++counters_.replaced;
  }
  /// The same for a step that was taken elsewhere, by a copy of policy() and one of its softmax's draws among `legal`:
  /// for many actors whose episodes come one after another.
  void record(const transition& step, std::uint32_t legal) noexcept {
    static_cast<void>(take_in(step, legal_among(actions(), legal)));
  }
  /// Whether update() would learn, and record() has no room.
  [[nodiscard]] bool is_due() const noexcept { return rollout_.full(); }

  /// Learns from the rollout if it is full, and begins the next one. Of what it answers, `loss` is the mean over the
  /// batches of the policy's loss plus that of the value network's, and `gradient_norm` the policy's largest,
  /// NaN if one was.
  update_stats update(random_sequence& random) noexcept {
    if (!rollout_.full()) return {};
    const update_stats stats = learn(random);
    rollout_.clear();
    return stats;
  }
  /// Never: a rollout is of steps.
  [[nodiscard]] static constexpr bool updates_at_reset() noexcept { return false; }

  /// The network of preferences, which is all that a policy file needs.
  [[nodiscard]] const Network& policy() const noexcept { return policy_; }
  [[nodiscard]] const Value& value() const noexcept { return value_; }  ///< what states are worth
  /// Replaces the policy, say by one that was taught, and forgets the steps of the old one. Precondition: it has the
  /// same shape.
  void adopt(const Network& taught) {
    RUBATO_ASSERT(taught.parameters().size() == policy_.parameters().size(), "adopt: another shape");
    policy_ = taught;
    rollout_.clear();
  }

  [[nodiscard]] std::size_t observation_size() const noexcept { return value_.inputs(); }   ///< of a transition
  [[nodiscard]] std::size_t actions() const noexcept { return policy_.outputs(); }          ///< outputs of the policy
  [[nodiscard]] const ppo_options& options() const noexcept { return options_; }            ///< as they were given
  [[nodiscard]] const ppo_counters& counters() const noexcept { return counters_; }         ///< since the beginning
  [[nodiscard]] const rollout_buffer& rollout() const noexcept { return rollout_; }  ///< the one that is being filled

  /// See Learner: the options, and the shapes and activations of both networks.
  [[nodiscard]] std::vector<std::string> configuration() const {
    std::vector<std::string> lines = rl::configuration(options_);
    detail::add_settings(lines, policy_);
    detail::add_settings(lines, value_, "value.");
    return lines;
  }

  /// Saves or loads networks, optimisers, rollout and counters. The learner must have been made with the same options
  /// and shapes.
  void state(archive& bytes) {
    policy_.state(bytes);
    value_.state(bytes);
    policy_optimiser_.state(bytes);
    value_optimiser_.state(bytes);
    rollout_.state(bytes);
    bytes(legal_, asked_, counters_.steps, counters_.replaced, counters_.rollouts, counters_.stopped, counters_.updates,
          counters_.value_updates, counters_.rejected_transitions, counters_.rejected_updates);
    legal_ = legal_among(actions(), legal_);
  }

 private:
  [[nodiscard]] bool take_in(const transition& step, std::uint32_t legal) noexcept {
    if (!detail::is_sound(step, actions()) || rollout_.full()) {
      ++counters_.rejected_transitions;
      cut();
      return false;
    }
    const bool by_elapsed = options_.discount == discounting::by_elapsed;
    const double factor = by_elapsed ? std::pow(options_.gamma, step.elapsed / options_.time_unit) : options_.gamma;
    rollout_.add(step.observation,
                 {.action = step.action,
                  .legal = legal,
                  .reward = step.reward,
                  .discount = step.terminated ? 0.0F : static_cast<float>(factor),
                  .last = step.terminated},
                 step.next);
    if (step.truncated || rollout_.full()) cut();
    return true;
  }

  ppo(Network policy, Value value, const ppo_options& options)
      : options_{options},
        policy_{std::move(policy)},
        value_{std::move(value)},
        policy_optimiser_{
            policy_.parameters().size(), {.learning_rate = options.learning_rate}, nn::kernel_of(policy_)},
        value_optimiser_{
            value_.parameters().size(), {.learning_rate = options.value_learning_rate}, nn::kernel_of(value_)},
        rollout_{options.horizon, value_.inputs(), policy_.outputs()},
        legal_{legal_among(policy_.outputs(), all_legal)},
        policy_work_{policy_, options.batch},
        value_work_{value_, options.batch},
        policy_gradient_(policy_.parameters().size()),
        value_gradient_(value_.parameters().size()),
        observations_(options.batch * value_.inputs()),
        seen_(value_.inputs() > policy_.inputs() ? options.batch * policy_.inputs() : 0),
        slopes_(options.batch * policy_.outputs()),
        targets_(options.batch),
        value_slopes_(options.batch),
        values_(options.horizon),
        advantages_(options.horizon),
        returns_(options.horizon),
        log_probabilities_(options.horizon),
        order_(options.horizon) {}

  [[nodiscard]] std::span<const float> preferences(std::span<const float> observation,
                                                   std::array<float, max_actions>& memory) const noexcept {
    const auto outputs = std::span<float>{memory}.first(actions());
    policy_.evaluate(observation.first(policy_.inputs()), outputs);
    return outputs;
  }
  // Of whole observations, row after row, what the policy sees of them.
  [[nodiscard]] std::span<const float> seen(std::span<const float> batch) noexcept {
    const std::size_t width = policy_.inputs(), whole = value_.inputs(), rows = batch.size() / whole;
    if (width == whole) return batch;
    for (std::size_t i = 0; i < rows; ++i) std::copy_n(batch.data() + i * whole, width, seen_.data() + i * width);
    return std::span<const float>{seen_}.first(rows * width);
  }

  // Nothing that was recorded follows the latest step. Parameters are still those that acted.
  void cut() noexcept {
    if (!rollout_.open()) return;
    std::array<float, 1> worth;
    value_.evaluate(rollout_.next(), worth);
    rollout_.cut(worth[0]);
  }

  // What the networks that acted say of every step: kept by nobody until now, as they have not changed since.
  void judge() noexcept {
    const std::size_t width = value_.inputs(), outputs = actions();
    std::array<float, max_actions> memory;
    const auto logs = std::span{memory}.first(outputs);
    for (std::size_t first = 0; first < rollout_.size(); first += options_.batch) {
      const std::size_t rows = (std::min)(options_.batch, rollout_.size() - first);
      const auto batch = rollout_.observations().subspan(first * width, rows * width);
      const auto worth = value_.forward(batch, value_work_);
      std::copy(worth.begin(), worth.end(), values_.data() + first);
      const auto preferred = policy_.forward(seen(batch), policy_work_);
      for (std::size_t i = 0; i < rows; ++i) {
        const rollout_step& step = rollout_.steps()[first + i];
        log_probabilities(preferred.subspan(i * outputs, outputs), step.legal, logs);
        log_probabilities_[first + i] = logs[step.action];
      }
    }
    rollout_.advantages(values_, options_.lambda, advantages_);
    for (std::size_t t = 0; t < rollout_.size(); ++t) returns_[t] = values_[t] + advantages_[t];
    if (options_.normalises_advantages) detail::standardise(advantages_.size(), advantages_.data());
  }

  // Of the batches of one update, as they went by.
  struct tally {
    float policy_loss = 0, value_loss = 0;
    std::uint32_t policy_batches = 0, value_batches = 0;
    double gradient_norm = 0;
  };

  update_stats learn(random_sequence& random) noexcept {
    judge();
    ++counters_.rollouts;
    const std::uint64_t before = counters_.updates + counters_.value_updates;
    const std::size_t width = value_.inputs();
    std::iota(order_.begin(), order_.end(), 0U);
    tally sums;
    bool is_close = true;  // the policy is within max_divergence of the one that acted
    for (std::uint32_t pass = 0; pass < options_.epochs; ++pass) {
      for (std::size_t i = order_.size(); i > 1; --i)  // Fisher and Yates
        std::swap(order_[i - 1], order_.data()[random.below(i)]);
      for (std::size_t first = 0; first < order_.size(); first += options_.batch) {
        const auto chosen =
            std::span<const std::uint32_t>{order_}.subspan(first, (std::min)(options_.batch, order_.size() - first));
        for (std::size_t i = 0; i < chosen.size(); ++i) {
          const auto row = rollout_.observation(chosen[i]);
          std::copy(row.begin(), row.end(), observations_.data() + i * width);
        }
        is_close = is_close && improve(chosen, sums);
        regress(chosen, sums);
      }
    }
    if (!is_close) ++counters_.stopped;
    const auto mean = [](float sum, std::uint32_t count) { return count > 0 ? sum / static_cast<float>(count) : 0.0F; };
    return {.learned = counters_.updates + counters_.value_updates > before,
            .loss = mean(sums.policy_loss, sums.policy_batches) + mean(sums.value_loss, sums.value_batches),
            .gradient_norm = sums.gradient_norm};
  }

  // A step of the policy on a batch; false, and no step, if it has moved too far on it.
  [[nodiscard]] bool improve(std::span<const std::uint32_t> chosen, tally& sums) noexcept {
    const std::size_t width = value_.inputs(), outputs = actions();
    const float share = 1.0F / static_cast<float>(chosen.size());
    const surrogate_weights<float> weights{.clip = static_cast<float>(options_.clip),
                                           .entropy_bonus = static_cast<float>(options_.entropy_bonus),
                                           .factor = share};
    const auto preferred =
        policy_.forward(seen(std::span<const float>{observations_}.first(chosen.size() * width)), policy_work_);
    const auto slopes = std::span{slopes_}.first(chosen.size() * outputs);
    float loss = 0, divergence = 0;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const std::uint32_t t = chosen[i];
      const rollout_step& step = rollout_.steps()[t];
      const surrogate_term<float> term = clipped_surrogate<float>(preferred.subspan(i * outputs, outputs),
                                                                  {.action = step.action,
                                                                   .legal = step.legal,
                                                                   .log_probability = log_probabilities_[t],
                                                                   .advantage = advantages_[t]},
                                                                  weights, slopes.subspan(i * outputs, outputs));
      loss += term.loss;
      divergence += term.divergence;
    }
    const double distance = static_cast<double>(divergence) / static_cast<double>(chosen.size());
    if (options_.max_divergence > 0 && distance > options_.max_divergence) return false;
    sums.policy_loss += loss;
    ++sums.policy_batches;
    policy_.backward(slopes, policy_work_, policy_gradient_, nn::gradient_mode::overwrite);
    const double norm = follow(policy_gradient_, policy_, policy_optimiser_, counters_.updates);
    const bool is_new = pinned::is_nan(norm) || norm > sums.gradient_norm;
    if (!pinned::is_nan(sums.gradient_norm) && is_new) sums.gradient_norm = norm;
    return true;
  }

  // A step of the value network on a batch, towards what advantages say that the states were worth.
  void regress(std::span<const std::uint32_t> chosen, tally& sums) noexcept {
    const std::size_t rows = chosen.size();
    const auto worth = value_.forward(std::span<const float>{observations_}.first(rows * value_.inputs()), value_work_);
    for (std::size_t i = 0; i < rows; ++i) targets_[i] = returns_[chosen[i]];
    const auto slopes = std::span{value_slopes_}.first(rows);
    sums.value_loss += nn::squared_error<float>(worth, std::span<const float>{targets_}.first(rows), slopes,
                                                1.0F / static_cast<float>(rows));
    ++sums.value_batches;
    value_.backward(slopes, value_work_, value_gradient_, nn::gradient_mode::overwrite);
    follow(value_gradient_, value_, value_optimiser_, counters_.value_updates);
  }

  // A gradient step, counted, unless the gradient is not finite. Its norm before clipping.
  template <class Any>
  double follow(std::span<float> gradient, Any& net, nn::adam& optimiser, std::uint64_t& updates) noexcept {
    const double most = options_.max_gradient_norm > 0 ? options_.max_gradient_norm : HUGE_VAL;
    const double norm = nn::clip_by_norm<float>(gradient, most, nn::kernel_of(net));
    if (!pinned::is_finite(norm)) {
      ++counters_.rejected_updates;
      return norm;
    }
    optimiser.step(net.parameters(), gradient);
    ++updates;
    return norm;
  }

  ppo_options options_;
  Network policy_;
  Value value_;
  nn::adam policy_optimiser_;
  nn::adam value_optimiser_;
  rollout_buffer rollout_;
  std::uint32_t legal_;      // where act() was asked last
  std::uint32_t asked_ = 0;  // what it answered
  ppo_counters counters_;

  // One batch on its way.
  typename Network::workspace policy_work_;
  typename Value::workspace value_work_;
  nn::aligned_vector<float> policy_gradient_;
  nn::aligned_vector<float> value_gradient_;
  nn::aligned_vector<float> observations_;
  nn::aligned_vector<float> seen_;  // by the policy, where the value network sees more
  std::vector<float> slopes_;
  std::vector<float> targets_;
  std::vector<float> value_slopes_;

  // One number for each step of the rollout.
  std::vector<float> values_;
  std::vector<float> advantages_;
  std::vector<float> returns_;
  std::vector<float> log_probabilities_;
  std::vector<std::uint32_t> order_;
};

static_assert(Learner<ppo<>>);

}  // namespace rubato::inline RUBATO_ABI::rl

#endif
