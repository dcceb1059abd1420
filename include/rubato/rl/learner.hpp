#ifndef RUBATO_RL_LEARNER_HPP
#define RUBATO_RL_LEARNER_HPP

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "../core/archive.hpp"
#include "../core/rng.hpp"
#include "../pinned.hpp"
#include "environment.hpp"

namespace rubato::inline RUBATO_ABI::rl {

/// One step as a learner is told about it. The spans are copied, not kept.
struct transition {
  std::span<const float> observation;    ///< where the action was chosen
  std::uint32_t action = 0;              ///< the executed one
  float reward = 0;                      ///< of this step alone
  double elapsed = 1;                    ///< time that it took, >= 0
  std::span<const float> next;           ///< what it led to
  std::uint32_t next_legal = all_legal;  ///< legal actions at `next`
  bool terminated = false;               ///< the task is over: nothing follows
  bool truncated = false;                ///< the episode was cut short: more would follow
};

namespace detail {

/// Whether this can be learned from: finite numbers, time that does not run back, an action that exists.
[[nodiscard]] inline bool is_sound(const transition& step, std::size_t actions) noexcept {
  constexpr auto finite = [](float x) { return pinned::is_finite(x); };
  return finite(step.reward) && pinned::is_finite(step.elapsed) && step.elapsed >= 0 && step.action < actions &&
         std::all_of(step.observation.begin(), step.observation.end(), finite) &&
         std::all_of(step.next.begin(), step.next.end(), finite);
}

}  // namespace detail

/// What an update did.
struct update_stats {
  bool learned = false;      ///< parameters have moved
  float loss = 0;            ///< of the batch; what it sums is the learner's business
  double gradient_norm = 0;  ///< before clipping
};

/// What learns to act: told of every step, asked for the next action, given the chance to learn after each.
///
///   observation_size(), actions()        of the tasks that it is for
///   act(observation, legal, random)      the next action of training, exploration included; one of the legal ones
///   greedy(observation, legal)           the action that it would take in earnest
///   record(transition), update(random)   after every step, in this order
///   updates_at_reset()                   whether update() is also due at the first observation of an episode
///   policy()                             the network that greedy() asks
///   configuration()                      "name=value" for everything that must be the same when training is resumed
///   state(archive)                       saves and loads all that changes: what is loaded goes on with the same bits
///
/// Randomness is an argument: a learner keeps none. Satisfied by dqn and ppo.
/// Tests   tests/rl/concepts_test.cpp: DqnIsALearner, PpoIsALearner, WhatIsNoLearner
template <class L>
concept Learner = std::copyable<L> && std::copyable<typename L::network> &&
    requires(L& learner, const L& fixed, std::span<const float> observation, std::uint32_t legal,
             random_sequence& random, const transition& step, archive& bytes) {
  { fixed.observation_size() } -> std::convertible_to<std::size_t>;
  { fixed.actions() } -> std::convertible_to<std::size_t>;
  { learner.act(observation, legal, random) }
  noexcept->std::same_as<std::uint32_t>;
  { fixed.greedy(observation, legal) }
  noexcept->std::same_as<std::uint32_t>;
  { learner.record(step) }
  noexcept->std::same_as<void>;
  { learner.update(random) }
  noexcept->std::same_as<update_stats>;
  { fixed.updates_at_reset() }
  noexcept->std::same_as<bool>;
  { fixed.policy() }
  noexcept->std::same_as<const typename L::network&>;
  { fixed.configuration() } -> std::same_as<std::vector<std::string>>;
  learner.state(bytes);
};

}  // namespace rubato::inline RUBATO_ABI::rl

#endif
