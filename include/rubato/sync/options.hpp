#ifndef RUBATO_SYNC_OPTIONS_HPP
#define RUBATO_SYNC_OPTIONS_HPP

#include <cstdint>
#include <limits>
#include <string>

#include "../core/number_text.hpp"
#include "../core/types.hpp"
#include "../pinned.hpp"
#include "concepts.hpp"

namespace rubato::inline RUBATO_ABI {

/// What a controller does when a policy's answer would break a promise.
///
/// Liveness: if after a call nobody counted is busy and somebody is parked, one parked worker at the minimum clock is
/// released, with the terms of the policy's latest answer; if nobody counts, one excluded worker is readmitted. Bound:
/// no worker starts while it leads the slowest by more than the policy's clock_bound() or `bound`. Cancellation: at
/// most once between two useful pushes, and never of everybody who is busy. Age only reorders: whoever waits longer
/// than `max_wait` goes first among those that the policy's count allows. Rate: a grant's lr_scale is clipped, to 0
/// from below and to `max_lr_scale` from above; weights and flush scales are not. Each intervention is counted.
///
/// A decision that counts workers, `up_to`, and meets one beyond the bound looks for another one: O(parked).
struct guard_options {
  bool enabled = true;                                        ///< false: the policy's word stands
  clock_type bound = unbounded;                               ///< steps
  double max_wait = std::numeric_limits<double>::infinity();  ///< in the host's unit of time
  float max_lr_scale = 16.0F;                                 ///< infinity: no limit
};

/// What is wrong with these options, as a sentence; empty if nothing is.
[[nodiscard]] inline std::string problem(const guard_options& o) {
  if (pinned::is_nan(o.max_wait) || o.max_wait < 0)
    return "guard.max_wait is " + detail::text_of(o.max_wait) + ", expected a time of 0 or more";
  const bool right = !pinned::is_nan(o.max_lr_scale) && o.max_lr_scale > 0;
  return right ? "" : "guard.max_lr_scale is " + detail::text_of(o.max_lr_scale) + ", expected a factor above 0";
}

/// Which of a worker's requests waits for its release.
enum class park_on : std::uint8_t { push /**< the one with a gradient */, pull /**< that for parameters */ };

/// What switch_to does with gradients that wait in the open round: apply their mean, or throw them away.
enum class pending_gradients : std::uint8_t { flush /**< apply their mean */, discard /**< throw them away */ };

/// Options of a controller, whatever its policy.
struct controller_options {
  std::uint32_t capacity = 0;                      ///< worker indices go from 0 to capacity - 1; at least 1
  std::uint32_t quorum = 0;                        ///< nobody runs before that many have joined; 0: all of the capacity
  park_on park = park_on::push;                    ///< which requests bring tickets
  guard_options guard{};                           ///< promises that hold whatever the policy answers
  std::uint32_t max_release_per_call = no_worker;  ///< at least 1; poll(), or the next call, releases the rest
  std::uint64_t seed = 0;                          ///< for releases in random order
};

/// What is wrong with these options, as a sentence; empty if nothing is.
[[nodiscard]] inline std::string problem(const controller_options& o) {
  if (o.capacity == 0 || o.capacity == no_worker) return "capacity must lie between 1 and 4294967294";
  if (o.quorum > o.capacity)
    return "quorum is " + std::to_string(o.quorum) + ", expected at most the capacity, " + std::to_string(o.capacity);
  if (o.max_release_per_call == 0) return "max_release_per_call is 0, expected at least 1";
  return problem(o.guard);
}

/// What is wrong with these options, or with the policy's for so many workers, as a sentence; empty if nothing is.
template <SyncPolicy Policy>
[[nodiscard]] std::string problem(const controller_options& o, const Policy& policy) {
  std::string wrong = problem(o);
  return wrong.empty() ? problem_of(policy, o.capacity) : wrong;
}

}  // namespace rubato::inline RUBATO_ABI

#endif
