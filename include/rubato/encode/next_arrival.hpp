#ifndef RUBATO_ENCODE_NEXT_ARRIVAL_HPP
#define RUBATO_ENCODE_NEXT_ARRIVAL_HPP

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "../core/archive.hpp"
#include "../dynarray.hpp"
#include "../pinned.hpp"

namespace rubato::inline RUBATO_ABI {

/// When the next of the workers that are in a step is expected to push: a heap by expected arrival.
///
/// A step that takes longer than expected is taken to need as long again as it has already taken, again and again, so
/// that one stalled worker does not hide the others.
///
/// Cost    start, remove: O(log workers). next: O(1), plus O(log workers) for each worker that has become overdue,
///         which happens once per doubling of its step. No allocation but in resize and state. Not thread-safe.
/// Tests   tests/encode/next_arrival_test.cpp: AgreesWithAScan, OverdueStepsAreExpectedToDouble, StateRoundTrip,
///         BadStateIsNoticed, BadStateChangesNothing, CopiesHaveRoomToo
class next_arrival {
 public:
  /// When a step of which nobody knows anything is expected to end.
  static constexpr double never = std::numeric_limits<double>::infinity();

  /// Room for workers 0 to capacity - 1; nobody is in a step.
  void resize(std::uint32_t capacity) {
    steps_ = detail::dynarray<step>(capacity);
    heap_ = detail::dynarray<std::uint32_t>(capacity);
    size_ = 0;
  }

  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }  ///< workers in a step
  /// Whether the worker is in a step; false beyond the capacity.
  [[nodiscard]] bool contains(std::uint32_t worker) const noexcept {
    return worker < steps_.size() && steps_[worker].place != nowhere;
  }

  /// A worker starts a step that should take so long; `never` if nobody knows. One that is in a step starts anew.
  void start(std::uint32_t worker, double now, double duration) noexcept {
    if (worker >= steps_.size()) return;
    remove(worker);
    steps_[worker] = {now, now + duration};
    insert(worker);
  }

  /// It is in no step any more.
  void remove(std::uint32_t worker) noexcept {
    if (!contains(worker)) return;
    const std::uint32_t hole = std::exchange(steps_[worker].place, nowhere);
    const std::uint32_t last = heap_[--size_];
    if (last == worker) return;
    put(hole, last);
    rise(hole);
    sink(steps_[last].place);
  }

  /// The earliest arrival that is expected, at `now` or later; `never` if there is none.
  [[nodiscard]] double next(double now) noexcept {
    while (size_ > 0 && steps_[heap_[0]].due < now) {
      step& late = steps_[heap_[0]];
      const double again = now + (now - late.since);
      late.due = again > now ? again : now;
      sink(0);
    }
    return size_ == 0 ? never : steps_[heap_[0]].due;
  }

  /// Moves all times, for a host whose clock has started anew. O(workers).
  void shift(double by) noexcept {
    for (step& each : steps_) each.since += by, each.due += by;
  }

  /// Saves, or loads into one of the same capacity; bad bytes change nothing.
  void state(archive& bytes) {
    next_arrival read = *this;
    read.size_ = 0;
    for (std::uint32_t w = 0; w < steps_.size(); ++w) {
      step each = steps_[w];
      bool active = contains(w);
      bytes(active, each.since, each.due);
      if (bytes.saving()) continue;
      if (!pinned::is_finite(each.since) || pinned::is_nan(each.due) || each.due < each.since) bytes.fail();
      if (!bytes.ok()) return;
      read.steps_[w] = {each.since, each.due};
      if (active) read.insert(w);
    }
    if (!bytes.saving()) *this = std::move(read);
  }

 private:
  static constexpr std::uint32_t nowhere = (std::numeric_limits<std::uint32_t>::max)();

  struct step {
    double since = 0;
    double due = 0;
    std::uint32_t place = nowhere;  // in the heap
  };

  [[nodiscard]] bool before(std::uint32_t a, std::uint32_t b) const noexcept {
    return steps_[a].due != steps_[b].due ? steps_[a].due < steps_[b].due : a < b;
  }
  void put(std::uint32_t place, std::uint32_t worker) noexcept {
    heap_[place] = worker;
    steps_[worker].place = place;
  }
  void insert(std::uint32_t worker) noexcept {
    heap_[size_] = worker;
    rise(size_++);
  }
  void rise(std::uint32_t place) noexcept {
    const std::uint32_t worker = heap_[place];
    for (; place > 0 && before(worker, heap_[(place - 1) / 2]); place = (place - 1) / 2)
      put(place, heap_[(place - 1) / 2]);
    put(place, worker);
  }
  void sink(std::uint32_t place) noexcept {
    const std::uint32_t worker = heap_[place];
    for (std::uint32_t child = 0; (child = 2 * place + 1) < size(); place = child) {
      if (child + 1 < size() && before(heap_[child + 1], heap_[child])) ++child;
      if (!before(heap_[child], worker)) break;
      put(place, heap_[child]);
    }
    put(place, worker);
  }

  detail::dynarray<step> steps_;          // by worker
  detail::dynarray<std::uint32_t> heap_;  // of workers; the first size_ of it
  std::uint32_t size_ = 0;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
