#ifndef RUBATO_CORE_PARKING_HPP
#define RUBATO_CORE_PARKING_HPP

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "decision.hpp"
#include "index_list.hpp"
#include "speed_classes.hpp"

namespace rubato::inline RUBATO_ABI {

/// The parked workers, in the orders in which decisions release them.
///
/// Park order is always kept; the others only from the first time a decision asks for them.
/// Cost    O(1) each, but O(parked) once per order when it is first asked for. No allocation after construction.
/// Tests   tests/core/parking_test.cpp: FifoIsParkOrder, FastestPrefersShortStepTimes, RandomIsUniform
class parking {
 public:
  explicit parking(std::uint32_t capacity) : places_(capacity), by_chance_(capacity) {}

  [[nodiscard]] std::uint32_t size() const noexcept { return fifo_.size; }
  /// The longest parked worker, and the one that came after `worker`; no_worker at the end.
  [[nodiscard]] std::uint32_t front() const noexcept { return fifo_.front; }
  [[nodiscard]] std::uint32_t after(std::uint32_t worker) const noexcept { return places_[worker].fifo.after; }

  /// Adds a worker at the end; `speed` is its class (speed_classes::class_of).
  void park(std::uint32_t worker, std::uint32_t speed) noexcept {
    places_[worker].speed = speed;
    fifo_.push_back(worker, fifo_links());
    if (tracks_speed_) add_by_speed(worker);
    if (tracks_chance_) put_by_chance(fifo_.size - 1, worker);
  }

  void unpark(std::uint32_t worker) noexcept {
    if (tracks_chance_) {
      const std::uint32_t last = by_chance_[fifo_.size - 1];
      by_chance_[places_[worker].position] = last;
      places_[last].position = places_[worker].position;
    }
    fifo_.erase(worker, fifo_links());
    if (tracks_speed_) {
      const std::uint32_t speed = places_[worker].speed;
      by_speed_[speed].erase(worker, speed_links());
      if (by_speed_[speed].size == 0) occupied_[speed / 64] &= ~(std::uint64_t{1} << speed % 64);
    }
  }

  /// The worker that goes next in this order; no_worker if none is parked. `draw` supplies the chance for random.
  [[nodiscard]] std::uint32_t next(release_order order, std::uint64_t draw) noexcept {
    if (fifo_.size == 0 || order == release_order::fifo) return fifo_.front;
    if (order == release_order::random) {
      if (!tracks_chance_) track_chance();
      // Multiplying the high half maps 2^32 values to `size` places, even to within size / 2^32.
      return by_chance_[static_cast<std::size_t>(((draw >> 32) * fifo_.size) >> 32)];
    }
    if (!tracks_speed_) track_speed();
    std::size_t word = 0;
    while (occupied_[word] == 0) ++word;
    return by_speed_[word * 64 + static_cast<std::size_t>(std::countr_zero(occupied_[word]))].front;
  }

 private:
  struct place {
    index_link fifo;
    index_link in_class;
    std::uint32_t speed = 0;
    std::uint32_t position = 0;  // in by_chance_
  };
  struct links {
    std::vector<place>& places;
    index_link place::*which;
    index_link& operator()(std::uint32_t worker) const noexcept { return places[worker].*which; }
  };
  [[nodiscard]] links fifo_links() noexcept { return {places_, &place::fifo}; }
  [[nodiscard]] links speed_links() noexcept { return {places_, &place::in_class}; }

  void add_by_speed(std::uint32_t worker) noexcept {
    const std::uint32_t speed = places_[worker].speed;
    by_speed_[speed].push_back(worker, speed_links());
    occupied_[speed / 64] |= std::uint64_t{1} << speed % 64;
  }
  void put_by_chance(std::uint32_t position, std::uint32_t worker) noexcept {
    by_chance_[position] = worker;
    places_[worker].position = position;
  }

  void track_speed() noexcept {
    tracks_speed_ = true;
    for (std::uint32_t w = fifo_.front; w != no_worker; w = after(w)) add_by_speed(w);
  }
  void track_chance() noexcept {
    tracks_chance_ = true;
    std::uint32_t position = 0;
    for (std::uint32_t w = fifo_.front; w != no_worker; w = after(w)) put_by_chance(position++, w);
  }

  std::vector<place> places_;
  index_list fifo_;
  std::array<index_list, speed_classes::count> by_speed_{};
  std::array<std::uint64_t, speed_classes::count / 64> occupied_{};
  std::vector<std::uint32_t> by_chance_;
  bool tracks_speed_ = false;
  bool tracks_chance_ = false;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
