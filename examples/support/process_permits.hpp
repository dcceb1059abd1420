#ifndef RUBATO_EXAMPLES_SUPPORT_PROCESS_PERMITS_HPP
#define RUBATO_EXAMPLES_SUPPORT_PROCESS_PERMITS_HPP

#include <semaphore.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <span>
#include <system_error>
#include <utility>

#include "robust_mutex.hpp"
#include "turns.hpp"

namespace rubato::support {

/// What processes that share cores have in common: lies in memory that all of them map, with a seat for each.
struct permit_table {
  explicit permit_table(std::uint32_t cores_) : cores{cores_} {}

  robust_mutex mutex;
  const std::uint32_t cores;  ///< 0: one for each process
  std::uint64_t next_place = 0;
  std::atomic<std::uint32_t> waiting = 0;
};
struct permit_seat {
  enum class state : std::uint32_t { idle, waiting, computing };
  permit_seat() {
    if (sem_init(&called, 1, 0) != 0) throw std::system_error{errno, std::generic_category(), "a semaphore"};
  }
  std::atomic<state> now = state::idle;
  std::uint64_t place = 0;  ///< of who waits: the lowest is next
  sem_t called;
};

/// So many cores for any number of processes, in real time: core_permits for processes.
///
/// Which cores are free is nowhere counted, it follows from the states of the seats. So a process may die at any
/// instant: once the one that supervises it has said so, by vacate(), its core goes to the next one. If it died in the
/// middle of handing a core over, under the lock, the next one to lock finds that out and calls everybody who has a
/// core once more; who was called in vain goes on waiting.
///
/// Pre     table and seats were made once, in memory that the processes share; one process for each seat at a time
/// Thread  one for each seat; vacate() from any, once the process of the seat is no more
/// Cost    O(seats) for each turn
/// Tests   tests/examples/process_permits_test.cpp: NoMoreComputeThanThereAreCores, ThoseWhoShareTakeTurns,
///         WithoutALimitNobodyWaits, WhoDiesWithACoreLeavesItToTheNext, WhoDiesWaitingIsPassedOver,
///         WhoDiesInTheLockHoldsNobodyUp
class process_permits {
 public:
  using seconds = std::chrono::duration<double>;

  process_permits(permit_table& table, std::span<permit_seat> seats, std::uint32_t own, seconds quantum)
      : table_{table}, seats_{seats}, own_{seats[own]}, quantum_{quantum} {}

  /// As compute_in_turns(). Returns how long it was without a core.
  template <class Work, class Ends>
  seconds compute(seconds length, Work&& work, Ends&& ends) {
    return compute_in_turns(*this, quantum_, length, std::forward<Work>(work), std::forward<Ends>(ends));
  }

  /// Waits for a core; returns how long.
  seconds acquire() {
    const auto asked = std::chrono::steady_clock::now();
    {
      const locked all{table_, seats_};
      own_.place = table_.next_place++;
      own_.now = permit_seat::state::waiting;
      hand_out(table_, seats_);
    }
    while (own_.now != permit_seat::state::computing) sem_wait(&own_.called);  // called in vain, or by a signal: again
    return std::chrono::steady_clock::now() - asked;
  }
  /// Gives it to whoever waits for the longest time.
  void release() { leave(table_, seats_, own_); }
  [[nodiscard]] bool others_wait() const noexcept { return table_.waiting.load(std::memory_order_relaxed) > 0; }

  /// The process of this seat is no more: its core, or its place among those who wait, is given up.
  static void vacate(permit_table& table, std::span<permit_seat> seats, std::uint32_t seat) {
    leave(table, seats, seats[seat]);
  }
  /// How many compute now.
  [[nodiscard]] static std::uint32_t busy(std::span<permit_seat> seats) noexcept {
    return static_cast<std::uint32_t>(std::ranges::count_if(seats, computes));
  }

 private:
  struct locked {
    locked(permit_table& table, std::span<permit_seat> seats) : held{table.mutex} {
      if (!held.inherited()) return;
      for (permit_seat& each : seats)
        if (computes(each)) sem_post(&each.called);
    }
    robust_mutex::guard held;
  };
  [[nodiscard]] static bool computes(const permit_seat& s) noexcept { return s.now == permit_seat::state::computing; }
  [[nodiscard]] static bool waits(const permit_seat& s) noexcept { return s.now == permit_seat::state::waiting; }

  static void leave(permit_table& table, std::span<permit_seat> seats, permit_seat& seat) {
    const locked all{table, seats};
    seat.now = permit_seat::state::idle;
    hand_out(table, seats);
  }
  static void hand_out(permit_table& table, std::span<permit_seat> seats) {
    std::uint32_t free = table.cores == 0 ? static_cast<std::uint32_t>(seats.size()) : table.cores;
    free -= std::min(free, busy(seats));
    auto waiting = static_cast<std::uint32_t>(std::ranges::count_if(seats, waits));
    for (; free > 0 && waiting > 0; --free, --waiting) {
      permit_seat* next = nullptr;
      for (permit_seat& each : seats)
        if (waits(each) && (next == nullptr || each.place < next->place)) next = &each;
      next->now = permit_seat::state::computing;
      sem_post(&next->called);
    }
    table.waiting = waiting;
  }

  permit_table& table_;
  const std::span<permit_seat> seats_;
  permit_seat& own_;
  const seconds quantum_;
};

}  // namespace rubato::support

#endif
