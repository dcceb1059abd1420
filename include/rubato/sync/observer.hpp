#ifndef RUBATO_SYNC_OBSERVER_HPP
#define RUBATO_SYNC_OBSERVER_HPP

#include <concepts>

#include "../core/decision.hpp"
#include "../core/event.hpp"
#include "../core/record.hpp"

namespace rubato::inline RUBATO_ABI {

/// Watches a controller: called inside its calls, after the sink's callback for effects. Satisfied by no_observer,
/// decision_log and chrome_trace (io/). Must be quick, and neither throw nor call the controller.
template <class O>
concept Observer = std::move_constructible<O> && requires(O& o, const record& r) {
  { o(r) } noexcept;
};

/// Is told, before its effects, what the policy was asked, what it answered, and what it went by. Satisfied by
/// chrome_trace; by observers, if one of them is.
template <class O>
concept AnswerObserver = Observer<O> && requires(O& o, const event& asked, const decision& answer, const insight& by) {
  { o.answered(asked, answer, by) } noexcept;
};

/// Watches nothing; its calls compile to nothing.
struct no_observer {
  constexpr void operator()(const record&) const noexcept {}  ///< nothing
};

}  // namespace rubato::inline RUBATO_ABI

#endif
