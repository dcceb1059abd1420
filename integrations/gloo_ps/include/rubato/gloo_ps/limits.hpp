#ifndef RUBATO_GLOO_PS_LIMITS_HPP
#define RUBATO_GLOO_PS_LIMITS_HPP

#include <algorithm>
#include <rubato/core/number_text.hpp>
#include <rubato/pinned.hpp>
#include <string>

#include "transport.hpp"

namespace rubato::inline RUBATO_ABI::gloo_ps {

/// How long the two sides wait for each other. All in seconds.
struct limit_options {
  double floor = 5;      ///< no limit on a step or a wait is shorter
  double ceiling = 300;  ///< nor longer; also what holds before the first step has been seen
  double slack = 4;      ///< a step may take so many times the longest one seen before its worker counts as dead
  double hello = 10;     ///< for the first message of a connection, and for a message that has begun to arrive
};

/// What is wrong with these options, as a sentence; empty if nothing is.
[[nodiscard]] inline std::string problem(const limit_options& o) {
  const auto number = [](double x) { return rubato::detail::text_of(x); };
  if (pinned::is_nan(o.floor) || o.floor <= 0)
    return "limits.floor is " + number(o.floor) + ", expected seconds above 0";
  if (!pinned::within(o.ceiling, o.floor, longest_time))
    return "limits.ceiling is " + number(o.ceiling) + ", expected at least the floor, " + number(o.floor) +
           ", and at most " + number(longest_time);
  if (!pinned::is_finite(o.slack) || o.slack < 1)
    return "limits.slack is " + number(o.slack) + ", expected a factor of at least 1";
  if (!pinned::within(o.hello, 0, longest_time) || o.hello <= 0)
    return "limits.hello is " + number(o.hello) + ", expected seconds above 0 and at most " + number(longest_time);
  return {};
}

/// The limits of one step, as they go with its grant.
struct step_limits {
  double step = 0;  ///< from the grant until the push is in
  double wait = 0;  ///< from the push until the next grant
};

/// The limits that follow from a policy, so that those of the two sides cannot contradict each other: whoever waits
/// gives the others the time that the policy lets it wait for, `legal_wait` times the longest step, and on top of it
/// the time after which the server gives up a worker that hangs.
///
/// `longest`: the longest step so far, from grant to commit; 0 if there was none. `legal_wait`: what
/// max_legal_wait_of() says of the policy; infinite becomes the ceiling.
/// Tests   tests/integrations/gloo_ps/limits_test.cpp: CeilingBeforeTheFirstStep, WaitCoversAHangingPeer,
///         InfiniteWaitIsCapped, FloorHolds
/// Source  the question of NVFlare#4107: clients gave up while the server waited as it should
[[nodiscard]] inline step_limits limits_of(const limit_options& o, double longest, double legal_wait) {
  if (!(longest > 0)) return {o.ceiling, 2 * o.ceiling};
  const double step = std::clamp(o.slack * longest, o.floor, o.ceiling);
  const double wait = std::clamp(legal_wait * longest, o.floor, o.ceiling);
  return {step, step + wait};
}

}  // namespace rubato::inline RUBATO_ABI::gloo_ps

#endif
