#ifndef RUBATO_SYNC_RIVALS_WORKER_HEAP_HPP
#define RUBATO_SYNC_RIVALS_WORKER_HEAP_HPP

#include <cstdint>
#include <utility>

#include "../../core/types.hpp"
#include "../../dynarray.hpp"

namespace rubato::inline RUBATO_ABI::detail {

/// Worker indices, each at most once, of which the first is at hand, and each can be taken out.
///
/// before(a, b) says whether worker a comes before worker b; it must not change its mind about those who are in.
/// Cost    O(1); add and remove O(log size) calls of before; clear O(size). Allocates in resize only. 8 bytes a worker.
/// Tests   tests/sync/rivals/worker_heap_test.cpp: AgreesWithASortedList, ComparesALogarithmOfItsSize
class worker_heap {
 public:
  void resize(std::uint32_t capacity) {
    items_ = dynarray<std::uint32_t>(capacity, no_worker);
    places_ = dynarray<std::uint32_t>(capacity, no_worker);
    size_ = 0;
  }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] bool has(std::uint32_t worker) const noexcept { return places_[worker] != no_worker; }
  /// Precondition: size() > 0.
  [[nodiscard]] std::uint32_t front() const noexcept { return items_[0]; }

  /// Precondition: it is not in.
  template <class Before>
  void add(std::uint32_t worker, Before&& before) noexcept {
    rise(size_++, worker, before);
  }
  /// Precondition: it is in.
  template <class Before>
  void remove(std::uint32_t worker, Before&& before) noexcept {
    const std::uint32_t place = std::exchange(places_[worker], no_worker);
    const std::uint32_t last = items_[--size_];
    if (last == worker) return;
    if (place > 0 && before(last, items_[(place - 1) / 2]))
      rise(place, last, before);
    else
      sink(place, last, before);
  }
  void clear() noexcept {
    while (size_ > 0) places_[items_[--size_]] = no_worker;
  }

 private:
  void put(std::uint32_t place, std::uint32_t worker) noexcept {
    items_[place] = worker;
    places_[worker] = place;
  }
  template <class Before>
  void rise(std::uint32_t place, std::uint32_t worker, Before& before) noexcept {
    for (; place > 0 && before(worker, items_[(place - 1) / 2]); place = (place - 1) / 2)
      put(place, items_[(place - 1) / 2]);
    put(place, worker);
  }
  template <class Before>
  void sink(std::uint32_t place, std::uint32_t worker, Before& before) noexcept {
    for (std::uint32_t below = 2 * place + 1; below < size_; below = 2 * place + 1) {
      if (below + 1 < size_ && before(items_[below + 1], items_[below])) ++below;
      if (!before(items_[below], worker)) break;
      put(place, items_[below]);
      place = below;
    }
    put(place, worker);
  }

  dynarray<std::uint32_t> items_{};   // as many as the capacity, so that a copy need not allocate either
  dynarray<std::uint32_t> places_{};  // by worker; no_worker: not in
  std::uint32_t size_ = 0;
};

}  // namespace rubato::inline RUBATO_ABI::detail

#endif
