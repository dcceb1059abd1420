#ifndef RUBATO_RL_ENVIRONMENT_HPP
#define RUBATO_RL_ENVIRONMENT_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "../config.hpp"

namespace rubato::inline RUBATO_ABI::rl {

/// Environments have at most this many actions: legal ones are bits of one word.
inline constexpr std::size_t max_actions = 32;

/// Every action is legal.
inline constexpr std::uint32_t all_legal = 0xFFFFFFFF;

/// What a step led to. Environments may have a type of their own with these members.
struct step_outcome {
  std::span<const float> observation;  ///< valid until the next step() or reset()
  float reward = 0;                    ///< of this step alone
  double elapsed = 1;                  ///< time that passed, >= 0; 1 for tasks that count steps
  std::uint32_t executed = 0;          ///< the action that was carried out, whatever was asked for
  bool terminated = false;             ///< the task is over: nothing follows
  bool truncated = false;              ///< the episode was cut short: more would follow
};

/// A task with a finite set of actions, one episode after another.
///
///   observation_size(), actions()   fixed; at least 1, and at most max_actions actions
///   reset(seed) -> observation      a new episode, which depends on nothing but the seed and later steps
///   step(action) -> outcome         what step_outcome lists; not after the end of an episode
///   legal() -> mask                 bit a: action a is legal at the present observation; all_legal if there is no such
///                                   notion
///
/// An episode must not depend on those before it: that is what makes a resumed training the same, bit for bit.
/// Satisfied by the simulator's environment, and by the known tasks of tests/support.
/// Tests   tests/rl/concepts_test.cpp: TasksAreEnvironments, WhatIsNoEnvironment
template <class E>
concept Environment = requires(E& task, const E& fixed, std::uint64_t seed, std::uint32_t action) {
  { fixed.observation_size() } -> std::convertible_to<std::size_t>;
  { fixed.actions() } -> std::convertible_to<std::size_t>;
  { fixed.legal() } -> std::same_as<std::uint32_t>;
  { task.reset(seed) } -> std::convertible_to<std::span<const float>>;
  { task.step(action).observation } -> std::convertible_to<std::span<const float>>;
  { task.step(action).reward } -> std::convertible_to<float>;
  { task.step(action).elapsed } -> std::convertible_to<double>;
  { task.step(action).executed } -> std::convertible_to<std::uint32_t>;
  { task.step(action).terminated } -> std::convertible_to<bool>;
  { task.step(action).truncated } -> std::convertible_to<bool>;
};

}  // namespace rubato::inline RUBATO_ABI::rl

#endif
