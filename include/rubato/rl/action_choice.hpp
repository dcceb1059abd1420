#ifndef RUBATO_RL_ACTION_CHOICE_HPP
#define RUBATO_RL_ACTION_CHOICE_HPP

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "../core/rng.hpp"
#include "../pinned.hpp"
#include "environment.hpp"

namespace rubato::inline RUBATO_ABI::rl {

/// The legal actions among the first `actions`; all of them if none is legal.
[[nodiscard]] constexpr std::uint32_t legal_among(std::size_t actions, std::uint32_t legal) noexcept {
  const std::uint32_t existing = actions >= max_actions ? all_legal : (std::uint32_t{1} << actions) - 1;
  return (legal & existing) != 0 ? legal & existing : existing;
}

/// The legal action with the largest value: the first of equals; NaN counts as less than every number. Where all legal
/// ones are NaN, `undecided` if it is legal, else the first that is.
/// Tests   tests/rl/action_choice_test.cpp: BestIsTheFirstOfEquals, NanIsNeverPreferred, IllegalIsNeverChosen,
///         UndecidedIsTheFallback, EveryOrderOfThreeValues
[[nodiscard]] inline std::uint32_t best_action(std::span<const float> values, std::uint32_t legal,
                                               std::uint32_t undecided = 0) noexcept {
  const std::uint32_t among = legal_among(values.size(), legal);
  if (among == legal_among(values.size(), all_legal)) {  // as most often
    std::uint32_t best = 0;
    float most = values[0];
    bool numbers = !pinned::is_nan(most);
    for (std::uint32_t a = 1; a < values.size(); ++a) {
      const float value = values[a];
      numbers &= !pinned::is_nan(value);
      best = value > most ? a : best;
      most = value > most ? value : most;
    }
    if (numbers) return best;
  }
  auto best = static_cast<std::uint32_t>(std::countr_zero(among));
  auto most = std::bit_cast<std::uint32_t>(values[best]);
  for (std::uint32_t rest = among & (among - 1); rest != 0; rest &= rest - 1) {
    const auto a = static_cast<std::uint32_t>(std::countr_zero(rest));
    const float value = values[a], so_far = std::bit_cast<float>(most);
    // Without a branch: which action is best is hard to foresee.
    const std::uint32_t better = static_cast<std::uint32_t>(!pinned::is_nan(value)) &
                                 static_cast<std::uint32_t>(pinned::is_nan(so_far) | (value > so_far));
    best ^= (best ^ a) & (0U - better);
    most ^= (most ^ std::bit_cast<std::uint32_t>(value)) & (0U - better);
  }
  const bool allowed = undecided < max_actions && (among >> undecided & 1) != 0;
  return allowed && pinned::is_nan(std::bit_cast<float>(most)) ? undecided : best;
}

/// One of the legal actions, all equally likely.
/// Tests   tests/rl/action_choice_test.cpp: RandomIsUniformOverTheLegal
[[nodiscard]] inline std::uint32_t random_action(std::size_t actions, std::uint32_t legal,
                                                 random_sequence& random) noexcept {
  std::uint32_t rest = legal_among(actions, legal);
  for (std::uint64_t skip = random.below(static_cast<std::uint64_t>(std::popcount(rest))); skip > 0; --skip)
    rest &= rest - 1;
  return static_cast<std::uint32_t>(std::countr_zero(rest));
}

}  // namespace rubato::inline RUBATO_ABI::rl

#endif
