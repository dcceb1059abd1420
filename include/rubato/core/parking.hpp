#ifndef RUBATO_CORE_PARKING_HPP
#define RUBATO_CORE_PARKING_HPP

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "../dynarray.hpp"
#include "decision.hpp"
#include "index_list.hpp"
#include "speed_classes.hpp"

namespace rubato::inline RUBATO_ABI {

/// The parked workers, in the orders in which decisions release them.
///
/// Park order is always kept; the others only from the first time a decision asks for them. It is a chain through slots
/// that are taken in the order in which they were given back, so that workers who park and go in turn lie side by side.
/// Cost    O(1) each, but O(parked) once per order when it is first asked for. No allocation after construction.
/// Tests   tests/core/parking_test.cpp: FifoIsParkOrder, FrontIsTakenInParkOrder,
///         FastestPrefersShortStepTimes, RandomIsUniform
class parking {
 public:
  explicit parking(std::uint32_t capacity)
      : slots_(std::size_t{capacity} + 2), slot_of_(capacity), by_speed_links_(capacity), by_chance_(capacity),
        position_(capacity), last_free_{capacity + 1} {
    for (std::uint32_t s = first_free_; s < last_free_; ++s) slots_[s].after = s + 1;
  }  ///< nobody is parked; worker indices are below the capacity

  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }  ///< workers that are parked
  /// The longest parked worker, and the one that came after `worker`; no_worker at the end.
  [[nodiscard]] std::uint32_t front() const noexcept { return slots_[slots_[ends].after].worker; }
  [[nodiscard]] std::uint32_t after(std::uint32_t worker) const noexcept {
    return slots_[slots_[slot_of(worker)].after].worker;
  }  ///< precondition: it is parked

  /// Adds a worker at the end; `speed` is its class (speed_classes::class_of).
  void park(std::uint32_t worker, std::uint32_t speed) noexcept {
    const std::uint32_t s = first_free_;
    const std::uint32_t last = slots_[ends].before;
    first_free_ = slots_[s].after;
    slots_[s] = {.worker = worker, .speed = speed, .before = last, .after = ends};
    slots_[last].after = slots_[ends].before = slot_of_[worker] = s;
    ++size_;
    if (tracks_) [[unlikely]]
      enter_orders(s);
  }
  /// Takes a worker out of every order. Precondition: it is parked.
  [[gnu::always_inline]] void unpark(std::uint32_t worker) noexcept {
    const std::uint32_t s = slot_of(worker);
    const std::uint32_t before = slots_[s].before;
    const std::uint32_t after = slots_[s].after;
    slots_[before].after = after;
    slots_[after].before = before;
    slots_[last_free_].after = s;
    last_free_ = s;
    --size_;
    if (tracks_) [[unlikely]]
      leave_orders(s);
  }

  /// Calls take(worker) for the longest parked, one after another, until it answers false or `most` have been taken,
  /// and then unparks these. Returns how many; 0 where an order is kept that each must be taken out of.
  template <class Take>
  [[gnu::always_inline]] std::uint32_t take_front(std::uint32_t most, Take&& take) {
    const std::uint32_t first = slots_[ends].after;
    std::uint32_t count = 0, last = ends;
    if (!tracks_)
      for (std::uint32_t s = first; s != ends && count < most && take(slots_[s].worker); s = slots_[s].after)
        last = s, ++count;
    if (count == 0) return 0;
    const std::uint32_t next = slots_[last].after;
    slots_[ends].after = next;
    slots_[next].before = ends;
    slots_[last_free_].after = first;
    last_free_ = last;
    size_ -= count;
    return count;
  }

  /// The worker that goes next in this order; no_worker if none is parked. `draw` supplies the chance for random.
  [[nodiscard]] std::uint32_t next(release_order order, std::uint64_t draw) noexcept {
    if (size_ == 0 || order == release_order::fifo) return front();
    if (order == release_order::random) {
      if (!tracks_chance_) track_chance();
      // Multiplying the high half maps 2^32 values to `size` places, even to within size / 2^32.
      return by_chance_.data()[((draw >> 32) * size_) >> 32];
    }
    if (!tracks_speed_) track_speed();
    std::size_t word = 0;
    while (occupied_[word] == 0) ++word;
    return by_speed_[word * 64 + static_cast<std::size_t>(std::countr_zero(occupied_[word]))].front;
  }

 private:
  static constexpr std::uint32_t ends = 0;  // the slot of nobody, after the last and before the first
  struct slot {
    std::uint32_t worker = no_worker;
    std::uint32_t speed = 0;
    std::uint32_t before = ends;
    std::uint32_t after = ends;  // also the chain of free slots, of which one is never taken
  };

  // Who goes first, as most do, needs no look into a list of all.
  [[nodiscard]] std::uint32_t slot_of(std::uint32_t worker) const noexcept {
    const std::uint32_t first = slots_[ends].after;
    return slots_[first].worker == worker ? first : slot_of_[worker];
  }

  [[gnu::noinline]] void enter_orders(std::uint32_t s) noexcept {
    if (tracks_speed_) add_by_speed(slots_[s]);
    if (tracks_chance_) put_by_chance(size_ - 1, slots_[s].worker);
  }
  [[gnu::noinline]] void leave_orders(std::uint32_t s) noexcept {
    const auto [worker, speed, before, after] = slots_[s];
    if (tracks_chance_) {
      const std::uint32_t last = by_chance_[size_];
      by_chance_[position_[worker]] = last;
      position_[last] = position_[worker];
    }
    if (tracks_speed_) {
      by_speed_[speed].erase(worker, by_speed_links_);
      if (by_speed_[speed].size == 0) occupied_[speed / 64] &= ~(std::uint64_t{1} << speed % 64);
    }
  }
  void add_by_speed(const slot& s) noexcept {
    by_speed_[s.speed].push_back(s.worker, by_speed_links_);
    occupied_[s.speed / 64] |= std::uint64_t{1} << s.speed % 64;
  }
  void put_by_chance(std::uint32_t position, std::uint32_t worker) noexcept {
    by_chance_[position] = worker;
    position_[worker] = position;
  }

  void track_speed() noexcept {
    tracks_ = tracks_speed_ = true;
    for (std::uint32_t s = slots_[ends].after; s != ends; s = slots_[s].after) add_by_speed(slots_[s]);
  }
  void track_chance() noexcept {
    tracks_ = tracks_chance_ = true;
    std::uint32_t position = 0;
    for (std::uint32_t w = front(); w != no_worker; w = after(w)) put_by_chance(position++, w);
  }

  detail::dynarray<slot> slots_;
  detail::dynarray<std::uint32_t> slot_of_;
  detail::dynarray<index_link> by_speed_links_;
  std::array<index_list, speed_classes::count> by_speed_{};
  std::array<std::uint64_t, speed_classes::count / 64> occupied_{};
  detail::dynarray<std::uint32_t> by_chance_;
  detail::dynarray<std::uint32_t> position_;  // by worker, in by_chance_
  std::uint32_t size_ = 0;
  std::uint32_t first_free_ = 1;
  std::uint32_t last_free_;
  bool tracks_ = false;  // any of these
  bool tracks_speed_ = false;
  bool tracks_chance_ = false;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
