#ifndef RUBATO_RL_MULTI_AGENT_HPP
#define RUBATO_RL_MULTI_AGENT_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "../config.hpp"

namespace rubato::inline RUBATO_ABI::rl {

/// What a step of all agents led to. Worlds may have a type of their own with these members.
struct joint_outcome {
  std::span<const float> rewards;  ///< one for each agent, valid until the next step() or reset()
  bool terminated = false;         ///< the task is over: nothing follows
  bool truncated = false;          ///< the episode was cut short: more would follow
};

/// A task for several agents that act at once, each by what it sees itself.
///
///   agents()                        how many there are; from one reset() to the next
///   observation_size(), actions()   fixed, the same for every agent; at least 1, and at most max_actions actions
///   reset(seed)                     a new episode, which depends on nothing but the seed and later steps
///   observation(agent)              what it sees at present, valid until the next step() or reset()
///   legal(agent)                    the mask of its legal actions, as Environment has it
///   step(actions) -> outcome        one action for each agent; what joint_outcome lists
///
/// Satisfied by the tunnel of bench/experiments/stigmergy.
/// Tests   tests/rl/concepts_test.cpp: WorldsOfSeveralAgents, WhatIsNoWorldOfSeveralAgents
template <class W>
concept MultiAgentEnvironment = requires(W& world, const W& fixed, std::uint64_t seed, std::size_t agent,
                                         std::span<const std::uint32_t> actions) {
  { fixed.agents() } -> std::convertible_to<std::size_t>;
  { fixed.observation_size() } -> std::convertible_to<std::size_t>;
  { fixed.actions() } -> std::convertible_to<std::size_t>;
  world.reset(seed);
  { fixed.observation(agent) } -> std::convertible_to<std::span<const float>>;
  { fixed.legal(agent) } -> std::same_as<std::uint32_t>;
  { world.step(actions).rewards } -> std::convertible_to<std::span<const float>>;
  { world.step(actions).terminated } -> std::convertible_to<bool>;
  { world.step(actions).truncated } -> std::convertible_to<bool>;
};

}  // namespace rubato::inline RUBATO_ABI::rl

#endif
