#ifndef RUBATO_SYNC_OBSERVER_HPP
#define RUBATO_SYNC_OBSERVER_HPP

#include <concepts>

#include "../core/record.hpp"

namespace rubato::inline RUBATO_ABI {

/// Watches a controller: called inside its calls, after the sink's callback for effects. Satisfied by no_observer,
/// decision_log and chrome_trace (io/). Must be quick, and neither throw nor call the controller.
template <class O>
concept Observer = std::move_constructible<O> && requires(O& o, const record& r) {
  { o(r) } noexcept;
};

/// Watches nothing; its calls compile to nothing.
struct no_observer {
  constexpr void operator()(const record&) const noexcept {}  ///< nothing
};

}  // namespace rubato::inline RUBATO_ABI

#endif
