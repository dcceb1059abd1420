#ifndef RUBATO_ENCODE_ACTION_SET_HPP
#define RUBATO_ENCODE_ACTION_SET_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "../core/cluster_view.hpp"
#include "../core/decision.hpp"
#include "../core/event.hpp"
#include "../pinned.hpp"

namespace rubato::inline RUBATO_ABI {

/// What a learned policy chooses from at each push. Its number is the index of the network's output.
enum class group_action : std::uint8_t {
  hold,       ///< nobody starts
  submitter,  ///< only the worker that has pushed
  all         ///< everybody who waits
};

/// In the order of group_action; what a policy card calls them.
inline constexpr std::array<std::string_view, 3> group_action_names{"hold", "submitter", "all"};
inline constexpr std::size_t group_actions = group_action_names.size();  ///< as many as a network has outputs

/// The word for an action, of group_action_names; "invalid" for what is none.
[[nodiscard]] constexpr std::string_view name(group_action action) noexcept {
  const auto index = static_cast<std::size_t>(action);
  return index < group_actions ? group_action_names[index] : "invalid";
}

/// The bit of an action in a mask of legal ones.
[[nodiscard]] constexpr std::uint32_t bit_of(group_action action) noexcept {
  return std::uint32_t{1} << static_cast<std::uint32_t>(action);
}

/// The actions that a policy has at a push, as bits. `submitter` is always among them. `hold` is not where nobody
/// counted is busy: nothing would ever happen again. `all` is not where nobody else waits: there it would be the same
/// as `submitter`, and of two names for one thing a learner would keep two values.
/// Cost    O(1).
/// Tests   tests/encode/action_set_test.cpp: HoldNeedsSomebodyBusy, AllNeedsSomebodyElse
[[nodiscard]] inline std::uint32_t legal_actions(const cluster_view& view) noexcept {
  std::uint32_t mask = bit_of(group_action::submitter);
  if (view.busy() > 0) mask |= bit_of(group_action::hold);
  if (view.parked() > 1) mask |= bit_of(group_action::all);
  return mask;
}

/// What is carried out for an action: itself where it is legal, else `submitter`, which is what an `all` without others
/// comes to, and which is always safe.
/// Tests   tests/encode/action_set_test.cpp: IllegalBecomesSubmitter
[[nodiscard]] constexpr group_action canonical(group_action action, std::uint32_t legal) noexcept {
  return action <= group_action::all && (bit_of(action) & legal) != 0 ? action : group_action::submitter;
}

/// The legal action of highest value; of equals the one of lowest index. A NaN is less than any number; if there is
/// nothing else, `submitter`.
/// Tests   tests/encode/action_set_test.cpp: GreedyTakesTheHighestLegal, GreedySurvivesNaN, GreedyAgreesWithALoop
[[nodiscard]] constexpr group_action greedy(std::span<const float, group_actions> values,
                                            std::uint32_t legal) noexcept {
  const auto [hold, submitter, all] = std::array<float, group_actions>{values[0], values[1], values[2]};
  const bool may_hold = (legal & bit_of(group_action::hold)) != 0, may_all = (legal & bit_of(group_action::all)) != 0;
  const bool holds = may_hold & !pinned::is_nan(hold) & !(submitter > hold);
  const bool starts_all = may_all & !pinned::is_nan(all) & !((holds ? hold : submitter) >= all);
  return starts_all ? group_action::all : holds ? group_action::hold : group_action::submitter;
}

/// The action as a decision on a push.
[[nodiscard]] constexpr decision to_decision(group_action action) noexcept {
  if (action == group_action::all) return decision::all();
  return action == group_action::hold ? decision::hold() : decision::submitter();
}

/// Whether the policy has a choice: a worker has pushed, and counts.
[[nodiscard]] inline bool is_choice(const cluster_view& view, const event& what) noexcept {
  return what.why == cause::push && what.worker < view.capacity() && !view.is_excluded(what.worker);
}

/// The answer where there is no choice. Everybody starts who waits when nobody is busy, or when the policy has just
/// taken over (`first`); one who joins starts at once; otherwise those who wait go on waiting for a push.
/// Tests   tests/encode/action_set_test.cpp: BetweenPushesSomebodyRuns
[[nodiscard]] inline decision between_pushes(const cluster_view& view, const event& what, bool first) noexcept {
  if (first || view.busy() == 0) return decision::all();
  return what.why == cause::join ? decision::only(what.worker) : decision::hold();
}

}  // namespace rubato::inline RUBATO_ABI

#endif
