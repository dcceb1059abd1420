#ifndef RUBATO_RL_SOFTMAX_POLICY_HPP
#define RUBATO_RL_SOFTMAX_POLICY_HPP

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "../core/rng.hpp"
#include "../nn/loss.hpp"
#include "../pinned.hpp"
#include "action_choice.hpp"

namespace rubato::inline RUBATO_ABI::rl {

/// Of one step, what its part of the clipped surrogate depends on besides the preferences.
template <std::floating_point T>
struct surrogate_step {
  std::uint32_t action = 0;         ///< the one that was taken
  std::uint32_t legal = all_legal;  ///< actions that were legal there
  T log_probability = 0;            ///< of the action, by the policy that acted
  T advantage = 0;                  ///< how much better it was than the policy's average there
};

/// How the clipped surrogate weighs its parts.
template <std::floating_point T>
struct surrogate_weights {
  T clip = T(0.2);      ///< > 0: where on either side of 1 the ratio is cut off
  T entropy_bonus = 0;  ///< what the entropy counts, >= 0
  T factor = 1;         ///< on the loss and its gradient: 1 / count for the mean
};

/// The loss of one step, and how far the policies are apart there.
template <std::floating_point T>
struct surrogate_term {
  T loss = 0;        ///< times `factor`
  T divergence = 0;  ///< ratio - 1 - log(ratio), which is the Kullback-Leibler divergence on average; >= 0
};

namespace detail {

[[nodiscard]] RUBATO_DETAIL_PINNED_INLINE constexpr bool has(std::uint32_t mask, std::size_t action) noexcept {
  return (mask >> action & 1) != 0;
}

// The logarithms of the probabilities of the legal actions, of which there must be one; the others are not written.
template <std::floating_point T>
RUBATO_DETAIL_PINNED void log_softmax(std::size_t actions, const T* preferences, std::uint32_t legal, T* out) noexcept {
  RUBATO_DETAIL_EXACT
  T most = 0;
  bool any = false;
  for (std::size_t a = 0; a < actions; ++a)
    if (has(legal, a) && (!any || preferences[a] > most)) most = preferences[a], any = true;
  T sum = 0;
  for (std::size_t a = 0; a < actions; ++a)
    if (has(legal, a)) sum += nn::detail::exponential(preferences[a] - most);
  const T offset = nn::detail::logarithm(sum);
  for (std::size_t a = 0; a < actions; ++a)
    if (has(legal, a)) out[a] = (preferences[a] - most) - offset;
}

// The first legal action up to which probabilities sum to more than `share`; `actions` if they are no numbers.
RUBATO_DETAIL_PINNED inline std::size_t at_share(std::size_t actions, const float* logs, std::uint32_t legal,
                                                 double share) noexcept {
  RUBATO_DETAIL_EXACT
  double sum = 0;
  std::size_t last = actions;
  for (std::size_t a = 0; a < actions; ++a) {
    if (!has(legal, a)) continue;
    const double probability = static_cast<double>(nn::detail::exponential(logs[a]));
    sum += probability;
    if (probability > 0) last = a;
    if (share < sum) return a;
  }
  return sum > 0 ? last : actions;  // what rounding left of 1 is the last one's
}

template <std::floating_point T>
RUBATO_DETAIL_PINNED surrogate_term<T> clipped_surrogate(std::size_t actions, const T* preferences,
                                                         const surrogate_step<T>& step,
                                                         const surrogate_weights<T>& weights, T* slopes) noexcept {
  RUBATO_DETAIL_EXACT
  log_softmax(actions, preferences, step.legal, slopes);
  T entropy = 0;
  for (std::size_t a = 0; a < actions; ++a)
    if (has(step.legal, a)) entropy -= nn::detail::exponential(slopes[a]) * slopes[a];

  T gain = 0, pull = 0, divergence = 0;  // what is maximised, and its slope by the action's log-probability
  if (has(step.legal, step.action)) {
    const T distance = slopes[step.action] - step.log_probability;
    const T ratio = nn::detail::exponential(distance);
    const T low = 1 - weights.clip, high = 1 + weights.clip;
    divergence = ratio - 1 - distance;
    gain = pull = ratio * step.advantage;
    if (step.advantage > 0 && ratio > high) gain = high * step.advantage, pull = 0;
    if (step.advantage < 0 && ratio < low) gain = low * step.advantage, pull = 0;
  }
  for (std::size_t a = 0; a < actions; ++a) {
    if (!has(step.legal, a)) {
      slopes[a] = 0;
      continue;
    }
    const T log = slopes[a], probability = nn::detail::exponential(log);
    const T own = a == step.action ? T(1) : T(0);
    slopes[a] = weights.factor * (weights.entropy_bonus * probability * (log + entropy) - pull * (own - probability));
  }
  return {weights.factor * (-gain - weights.entropy_bonus * entropy), divergence};
}

}  // namespace detail

/// log(softmax(preferences)) over the legal actions (all of them if none is legal); 0 in place of the others, which
/// have no probability.
/// Pre     both of the same length, at most max_actions
/// Cost    one exponential for each action. No allocation. Thread-safe.
/// Tests   tests/rl/softmax_policy_test.cpp: LogProbabilitiesByHand, LargePreferencesStayFinite
inline void log_probabilities(std::span<const float> preferences, std::uint32_t legal, std::span<float> out) noexcept {
  RUBATO_ASSERT(preferences.size() == out.size() && out.size() <= max_actions, "log_probabilities: wrong length");
  for (float& log : out) log = 0;
  detail::log_softmax(out.size(), preferences.data(), legal_among(out.size(), legal), out.data());
}

/// An action drawn with the probabilities softmax(preferences) over the legal ones. Where these are no numbers: what
/// best_action(preferences, legal, undecided) says. One draw.
/// Tests   tests/rl/softmax_policy_test.cpp: FrequenciesAreThoseOfTheSoftmax;
///         tests/rl/ppo_test.cpp: IllegalActionsAreNeverTaken, UndecidedActionIsTakenWhereNoPreferenceIsANumber
[[nodiscard]] inline std::uint32_t softmax_action(std::span<const float> preferences, std::uint32_t legal,
                                                  random_sequence& random, std::uint32_t undecided = 0) noexcept {
  std::array<float, max_actions> logs;
  const std::size_t actions = preferences.size();
  const double share = random.uniform();
  log_probabilities(preferences, legal, std::span{logs}.first(actions));
  const std::size_t drawn = detail::at_share(actions, logs.data(), legal_among(actions, legal), share);
  return drawn < actions ? static_cast<std::uint32_t>(drawn) : best_action(preferences, legal, undecided);
}

/// The clipped surrogate of one step as a loss, and its gradient by each preference (overwritten):
///
///     factor * (-min(ratio * A, clip(ratio, 1 - clip, 1 + clip) * A) - entropy_bonus * entropy)
///
/// where ratio is the probability of the action now by that when it was taken, and A the advantage. Illegal actions
/// have no part in probabilities and entropy, and a gradient of 0. An action that was taken although it is illegal has
/// no ratio: only the entropy counts.
/// Pre     both spans of the same length, at most max_actions; step.action below that, and some action of it legal
/// Cost    three exponentials for each action. No allocation. Thread-safe.
/// Tests   tests/rl/softmax_policy_test.cpp: SurrogateByHand, SurrogateMatchesFiniteDifferences,
///         ClippedStepsHaveNoGradient, IllegalActionsHaveNoGradient
/// Source  Schulman et al., "Proximal Policy Optimization Algorithms", arXiv:1707.06347, eq. 7 and 9; Schulman,
///         "Approximating KL Divergence", 2020 (the estimate of the divergence)
template <std::floating_point T>
surrogate_term<T> clipped_surrogate(std::span<const T> preferences, const surrogate_step<T>& step,
                                    const surrogate_weights<T>& weights, std::span<T> slopes) noexcept {
  RUBATO_ASSERT(preferences.size() == slopes.size() && slopes.size() <= max_actions && step.action < slopes.size(),
                "clipped_surrogate: wrong length");
  return detail::clipped_surrogate(slopes.size(), preferences.data(), step, weights, slopes.data());
}

}  // namespace rubato::inline RUBATO_ABI::rl

#endif
