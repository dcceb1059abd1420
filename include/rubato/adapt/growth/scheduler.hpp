#ifndef RUBATO_ADAPT_GROWTH_SCHEDULER_HPP
#define RUBATO_ADAPT_GROWTH_SCHEDULER_HPP

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../../core/number_text.hpp"
#include "../../core/result.hpp"
#include "../../pinned.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// What became of the devices that a job has.
enum class allocation : std::uint8_t {
  same,  ///< nothing
  up,    ///< it got more
  down   ///< some were taken back
};

/// The change as a word.
[[nodiscard]] constexpr std::string_view name(allocation change) noexcept {
  return change == allocation::same ? "same" : change == allocation::up ? "up" : "down";
}

/// What a job asks its cluster between two epochs.
///
///   time_left()    of its budget, not below 0, in the scheduler's unit
///   time_budget()  in all, above 0
///   change()       of its devices since the last call: each change is told once, in its order
template <class S>
concept JobScheduler = requires(S& scheduler, const S& same) {
  { same.time_left() } -> std::convertible_to<double>;
  { same.time_budget() } -> std::convertible_to<double>;
  { scheduler.change() } -> std::same_as<allocation>;
};

/// A change that is known beforehand.
struct scheduled_change {
  double at = 0;                       ///< since the start of the job
  allocation change = allocation::up;  ///< what happens then
};

/// A scheduler whose changes are known beforehand, by any clock: a call without arguments that returns the time since
/// the start of the job, never less than before. A simulation gives it a clock of its own, a job a real one.
///
///     double now = 0;
///     const auto clock = [&now] { return now; };
///     auto cluster = scripted_scheduler<decltype(clock)>::make(400, {{70, allocation::up}}, clock);
///
/// Cost    O(1). Allocates when it is made. Not thread-safe.
/// Tests   tests/adapt/growth/scheduler_test.cpp: ChangesAreToldOnce, ChangesThatWereMissedComeOneByOne,
///         TimeLeftEndsAtZero, RefusesImpossibleScripts
/// Source  report on growing networks with spare GPUs, section 4.1 (docs/growth.md)
template <class Clock>
requires std::regular_invocable<const Clock&>
class scripted_scheduler {
 public:
  /// Errors  invalid_option: a budget that is not above 0 and finite; a change before the one before it, at a time that
  ///         is below 0 or not a number, or that changes nothing
  [[nodiscard]] static result<scripted_scheduler> make(double budget, std::vector<scheduled_change> script,
                                                       Clock clock) {
    const auto refusal = [](std::string what) {
      return error{errc::invalid_option, "scripted_scheduler: " + std::move(what)};
    };
    using rubato::detail::text_of;
    if (!(budget > 0) || !pinned::is_finite(budget))
      return refusal("budget is " + text_of(budget) + ", expected a number above 0");
    double before = 0;
    for (std::size_t i = 0; i < script.size(); ++i) {
      const std::string which = "change " + std::to_string(i) + ": ";
      if (!pinned::is_finite(script[i].at) || script[i].at < before)
        return refusal(which + "found time " + text_of(script[i].at) + ", expected " + text_of(before) + " or later");
      if (script[i].change != allocation::up && script[i].change != allocation::down)
        return refusal(which + "found \"same\", expected \"up\" or \"down\"");
      before = script[i].at;
    }
    return scripted_scheduler{budget, std::move(script), std::move(clock)};
  }

  [[nodiscard]] double time_budget() const noexcept { return budget_; }                   ///< see JobScheduler
  [[nodiscard]] double time_left() const { return (std::max)(budget_ - clock_(), 0.0); }  ///< see JobScheduler
  /// See JobScheduler.
  [[nodiscard]] allocation change() {
    if (next_ == script_.size() || clock_() < script_[next_].at) return allocation::same;
    return script_[next_++].change;
  }

 private:
  scripted_scheduler(double budget, std::vector<scheduled_change> script, Clock clock)
      : budget_{budget}, script_{std::move(script)}, clock_{std::move(clock)} {}

  double budget_;
  std::vector<scheduled_change> script_;
  std::size_t next_ = 0;
  Clock clock_;
};

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
