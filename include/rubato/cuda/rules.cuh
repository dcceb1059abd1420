#ifndef RUBATO_CUDA_RULES_CUH
#define RUBATO_CUDA_RULES_CUH

#include <cstdint>

#include "../core/admission.hpp"
#include "../core/decision.hpp"
#include "state_view.cuh"

namespace rubato::inline RUBATO_ABI::cuda::detail {

[[nodiscard]] RUBATO_DETAIL_SHARED inline decision answer(release_verb verb) noexcept {
  decision d;
  d.verb = verb;
  return d;
}

/// The largest lead of a starting worker: clock_bound_of(policy).
template <class Shape>
[[nodiscard]] RUBATO_DETAIL_SHARED clock_type bound_of(const device_policy<Shape>& policy) noexcept {
  return policy.kind == rule::ssp ? policy.staleness : unbounded;
}

/// How many gradients a round of k_sync needs.
template <class Shape, class View>
[[nodiscard]] RUBATO_DETAIL_SHARED std::uint32_t needed(const device_policy<Shape>& policy, const View& view) noexcept {
  return smaller(policy.k, view.alive());
}

/// What the rule does with a gradient of this staleness.
template <class Shape, class View>
[[nodiscard]] RUBATO_DETAIL_SHARED admission admit(const device_policy<Shape>& policy, const View& view,
                                                   std::uint64_t staleness) noexcept {
  admission a;
  if (policy.kind == rule::bsp && !policy.sums) a.what = verdict::accumulate;
  if (policy.kind != rule::k_sync) return a;
  a.what = staleness > 0 ? verdict::drop : verdict::accumulate;
  a.why = staleness > 0 ? reason::stale : reason::none;
  a.completes = staleness == 0 && view.pending() + 1 >= needed(policy, view);
  return a;
}

// detail::release_after_round of the host, where no gradient is ever between its admission and its commit.
template <class Shape, class View>
[[nodiscard]] RUBATO_DETAIL_SHARED decision release_k_sync(const device_policy<Shape>& policy, const View& view,
                                                           const event& what) noexcept {
  const std::uint32_t wanted = needed(policy, view);
  decision d;
  if (view.pending() == 0) {
    d.verb = release_verb::all;
    d.cancels = what.why == cause::push && !what.dropped;
    d.cancel_below = view.version();
  } else if (view.pending() >= wanted && view.parked() > 0) {  // somebody went, so that fewer are needed
    d.verb = release_verb::all;
    d.flushes = true;
    d.cancels = what.why == cause::leave || what.why == cause::death || what.why == cause::done;
    d.cancel_below = view.version() + 1;
  } else if (what.why == cause::push) {
    d.verb = what.pending ? release_verb::hold : release_verb::submitter;
  } else if (what.why == cause::join) {
    d.verb = release_verb::only;
    d.worker = what.worker;
  }
  d.is_degraded = (what.flushed || d.flushes) && view.alive() < policy.k;
  return d;
}

/// The answers of bsp, ssp, asp and k_sync, which remember nothing.
template <class Shape, class View>
[[nodiscard]] RUBATO_DETAIL_SHARED decision release_simple(const device_policy<Shape>& policy, const View& view,
                                                           const event& what) noexcept {
  switch (policy.kind) {
    case rule::bsp: {
      decision d = answer(view.busy() > 0 ? release_verb::hold : release_verb::all);
      d.flushes = view.busy() == 0;
      return d;
    }
    case rule::ssp: {
      if (view.minimum_moved() || what.why != cause::push) {
        decision d = answer(release_verb::up_to_clock);
        d.clock = saturating_add(view.minimum_clock(), policy.staleness);
        return d;
      }
      const bool near = view.clock_of_submitter() - view.minimum_clock() <= policy.staleness;
      return answer(near ? release_verb::submitter : release_verb::hold);
    }
    case rule::k_sync:
      return release_k_sync(policy, view, what);
    default:
      return answer(what.why == cause::push ? release_verb::submitter : release_verb::all);
  }
}

}  // namespace rubato::inline RUBATO_ABI::cuda::detail

#endif
