#ifndef RUBATO_SIM_EVENT_QUEUE_HPP
#define RUBATO_SIM_EVENT_QUEUE_HPP

#include <cmath>
#include <cstdint>
#include <limits>

#include "indexed_heap.hpp"

namespace rubato::inline RUBATO_ABI::sim {

/// What will happen when, in virtual time: at most one event per slot, which can be re-timed and cancelled.
///
/// Events of equal time leave in ascending `order` (say, the worker concerned), then as they were scheduled, so that a
/// simulation never depends on anything but its inputs.
/// Cost    next_time: O(1); schedule, cancel, pop: O(log events). No allocation after construction. Not thread-safe.
/// Tests   tests/sim/event_queue_test.cpp: TiesByOrderThenByInsertion, Retimes, Cancels, InfinityNeverHappens
class event_queue {
 public:
  struct event {
    double time;
    std::uint32_t slot;
  };

  explicit event_queue(std::uint32_t slots) : heap_{slots} {}

  [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
  /// When the next event happens; infinity if there is none.
  [[nodiscard]] double next_time() const noexcept {
    return heap_.empty() ? std::numeric_limits<double>::infinity() : heap_.top_key().time;
  }

  /// The slot's event happens at `time` (and not when it was to happen before); infinity cancels it.
  /// Precondition: time is not NaN.
  void schedule(std::uint32_t slot, double time, std::uint32_t order) noexcept {
    RUBATO_ASSERT(!std::isnan(time), "event_queue: an event at time NaN");
    if (time == std::numeric_limits<double>::infinity()) return cancel(slot);
    // What does not change keeps its place among its equals.
    if (heap_.contains(slot) && heap_.key(slot).time == time && heap_.key(slot).order == order) return;
    heap_.set(slot, {time, order, insertions_++});
  }

  void cancel(std::uint32_t slot) noexcept { heap_.erase(slot); }

  /// Removes the next event. Precondition: not empty.
  event pop() noexcept {
    const event next{heap_.top_key().time, heap_.top()};
    heap_.erase(next.slot);
    return next;
  }

 private:
  struct key {
    double time;
    std::uint32_t order;
    std::uint64_t insertion;
    friend constexpr bool operator<(const key& a, const key& b) noexcept {
      if (a.time != b.time) return a.time < b.time;
      return a.order != b.order ? a.order < b.order : a.insertion < b.insertion;
    }
  };

  indexed_heap<key> heap_;
  std::uint64_t insertions_ = 0;
};

}  // namespace rubato::inline RUBATO_ABI::sim

#endif
