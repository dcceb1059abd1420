#ifndef RUBATO_CORE_REASON_HPP
#define RUBATO_CORE_REASON_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "../config.hpp"

namespace rubato::inline RUBATO_ABI {

/// Why a call was refused, a gradient dropped, a ticket abandoned, or a decision adjusted. Each occurrence is counted.
enum class reason : std::uint8_t {
  none,               ///< there is none
  // refused: no state changed
  unknown_worker,     ///< index beyond the capacity, or never joined
  departed_worker,    ///< left, finished or died
  old_incarnation,    ///< not the incarnation that is known under this index
  invalid_time,       ///< `now` is not finite
  invalid_token,      ///< committed before, or never admitted
  no_pulls,           ///< pull() on a controller that parks on push
  invalid_cause,      ///< depart() for another cause than leave, death or done
  // repeated messages of a live worker
  repeated,           ///< push, pull or join seen before; answered without effect on clocks
  replaced,           ///< this ticket gave way to a newer one of the same worker
  // dropped gradients: the step counts, the gradient does not
  stale,              ///< the policy found it too old
  non_finite,         ///< loss or gradient norm is NaN or infinite
  cancelled,          ///< its step had been cancelled
  excluded,           ///< its worker was excluded while it ran
  unwanted,           ///< the policy has no use for it
  // aggregation and updates
  failed,             ///< the host could not apply or add it; its version is a gap
  switched,           ///< discarded by switch_to
  scaled,             ///< admitted with a weight other than 1
  // adjusted
  time_clamped,       ///< `now` ran back and was replaced by the latest time seen
  clock_clamped,      ///< a clock was moved into the policy's bound (join, readmission, re-base)
  invalid_decision,   ///< part of a decision made no sense (NaN scale, unknown worker) and was left out
  degraded,           ///< the policy had fewer workers than its options need, and did with those
  // the guard overrode the policy
  liveness,           ///< nobody would have run: one worker was released
  bound,              ///< a release beyond the staleness bound was withheld
  overdue,            ///< a worker waited past the guard's age and went first
  cancel_limit,       ///< a cancellation was withheld so that somebody keeps working towards an update
  rate_limit,         ///< a factor on the learning rate was below 0 or above the guard's most, and was clipped
  nobody_left,        ///< the last counted worker was to be excluded: all were readmitted
  count_              ///< number of reasons
};

/// The reason as it appears in logs and counters, such as "old_incarnation".
[[nodiscard]] constexpr std::string_view name(reason why) noexcept {
  constexpr std::array<std::string_view, static_cast<std::size_t>(reason::count_)> names{
      "none",          "unknown_worker", "departed_worker", "old_incarnation",  "invalid_time",
      "invalid_token", "no_pulls",       "invalid_cause",   "repeated",         "replaced",
      "stale",         "non_finite",     "cancelled",       "excluded",         "unwanted",
      "failed",        "switched",       "scaled",          "time_clamped",     "clock_clamped",
      "invalid_decision", "degraded",    "liveness",        "bound",            "overdue",
      "cancel_limit",  "rate_limit",     "nobody_left"};
  return why < reason::count_ ? names[static_cast<std::size_t>(why)] : "invalid";
}

}  // namespace rubato::inline RUBATO_ABI

#endif
