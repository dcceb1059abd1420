#ifndef RUBATO_SYNC_OBSERVER_HPP
#define RUBATO_SYNC_OBSERVER_HPP

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "../core/admission.hpp"
#include "../core/event.hpp"

namespace rubato::inline RUBATO_ABI {

/// Something that a controller did. Fields without meaning for a kind keep their defaults.
struct record {
  enum class kind : std::uint8_t {
    join, depart, admit, commit, release, flush, discard, cancel, abandon, exclude, readmit, adjust, refuse, change_policy
  };
  kind what = kind::admit;
  cause why = cause::push;              ///< depart: leave, death or done
  verdict decided = verdict::apply;     ///< admit, commit
  reason because = reason::none;        ///< drops, refusals, adjustments, abandoned tickets
  worker_id worker{};
  double now = 0.0;
  clock_type clock = 0;                 ///< of the worker
  std::uint64_t version = 0;            ///< updates that are in; release: of the grant
  std::uint64_t staleness = 0;          ///< admit, commit
  std::uint64_t round = 0;              ///< admit (accumulate), flush, discard
  std::uint64_t step = 0;               ///< admit, commit
  std::uint32_t count = 0;              ///< flush, discard: gradients; release: batch
  float value = 0.0F;                   ///< admit: weight; flush: scale; release: lr_scale
  float loss = 0.0F;                    ///< admit, commit
  std::uint32_t parked = 0;             ///< workers that wait, afterwards
};

/// Watches a controller: called inside its calls, after the sink's callback for effects. Satisfied by no_observer,
/// decision_log and chrome_trace (io/). Must be quick, and neither throw nor call the controller.
template <class O>
concept Observer = std::movable<O> && requires(O& o, const record& r) {
  { o(r) } noexcept;
};

/// Watches nothing; its calls compile to nothing.
struct no_observer {
  constexpr void operator()(const record&) const noexcept {}
};
static_assert(Observer<no_observer>);

}  // namespace rubato::inline RUBATO_ABI

#endif
