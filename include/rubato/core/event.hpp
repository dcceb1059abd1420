#ifndef RUBATO_CORE_EVENT_HPP
#define RUBATO_CORE_EVENT_HPP

#include <array>
#include <cstdint>
#include <string_view>

#include "reason.hpp"
#include "types.hpp"

namespace rubato::inline RUBATO_ABI {

/// What a host reports when a gradient arrives.
struct push_event {
  worker_id worker{};         ///< who sends it
  double now = 0.0;           ///< arrival; any unit, the same in all calls of one controller
  std::uint64_t step = 0;     ///< the worker's own number of it, rising; 0: none, a repeat goes unnoticed
  std::uint32_t samples = 0;  ///< examples behind the gradient
  float loss = 0.0F;          ///< training loss in nats; 0: the host has none; NaN or infinite: the gradient is dropped
  float grad_norm = 0.0F;     ///< likewise
  version_range read{};       ///< parameter versions that the worker read, where the host knows them
};

/// Why a policy is asked. `enter`: it takes charge, or goes on after a load; `deadline`: its wake_at has come.
enum class cause : std::uint8_t { push, enter, join, leave, death, done, exclude, readmit, deadline };

/// The cause as it appears in logs.
[[nodiscard]] constexpr std::string_view name(cause why) noexcept {
  constexpr std::array<std::string_view, 9> names{"push", "enter",   "join",    "leave",   "death",
                                                  "done", "exclude", "readmit", "deadline"};
  return static_cast<std::size_t>(why) < names.size() ? names[static_cast<std::size_t>(why)] : "invalid";
}

/// What has just happened, as a policy sees it. After exclude and readmit the rest still describes the original event.
struct event {
  cause why = cause::push;            ///< why the policy is asked
  std::uint32_t worker = no_worker;   ///< whom it is about; no_worker for enter and deadline
  bool pending = false;               ///< the gradient waits in the open round
  bool dropped = false;               ///< the gradient was dropped, for `why_dropped`
  bool flushed = false;               ///< its commit completed a round, which was flushed
  reason why_dropped = reason::none;  ///< none if it was not
  std::uint64_t staleness = 0;        ///< updates between what the worker read and this push
  double now = 0.0;                   ///< in the host's unit of time
  float loss = 0.0F;                  ///< as the push reported it, finite or not; 0: none
  std::uint32_t samples = 0;          ///< examples behind the gradient, as the push reported them
};

/// What became of a gradient in the host.
enum class outcome : std::uint8_t {
  done,   ///< applied or added as the verdict said; also for dropped gradients
  failed  ///< it could not be: counted, and the update it was to be becomes a gap in the versions
};

/// What a policy's optional `observe` receives at every commit of a live worker, before it is asked.
struct feedback {
  event what{};            ///< the push, as `release` is told of it next
  double step_time = 0.0;  ///< from grant to arrival
  bool succeeded = true;   ///< false after outcome::failed
};

}  // namespace rubato::inline RUBATO_ABI

#endif
