#ifndef RUBATO_EXAMPLES_LAB_RUN_BOARD_HPP
#define RUBATO_EXAMPLES_LAB_RUN_BOARD_HPP

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <new>
#include <rubato/sim/loss_feature.hpp>
#include <span>
#include <type_traits>

#include "real_worker.hpp"
#include "support/process_permits.hpp"
#include "support/shared_file.hpp"

namespace rubato::lab {

/// What the processes of a run tell each other beside what they say over Gloo, in memory that they share: the cores,
/// the statistics, the loss that a policy sees, and when to stop.
///
/// That a step is cancelled is here, too: a worker asks it all the time that it computes, and to ask Gloo takes a
/// millisecond.
///
/// Thread  any thread of any process, but a seat's steps and spent() belong to its worker from grant to push, else to
///         the server
/// Tests   tests/examples/shared_file_test.cpp: ABoardIsTheSameForAll
class run_board {
 public:
  /// One worker's.
  struct seat {
    std::atomic<std::uint64_t> steps = 0;  ///< of all its lives: the simulator counts on, too
    std::atomic<bool> leaves = false;      ///< its life is over
    std::atomic<bool> cancelled = false;   ///< its present step is
    made_step made{};                      ///< its last step
  };

  /// Makes the file. Errors: std::system_error.
  run_board(const std::filesystem::path& file, std::uint32_t workers, std::uint32_t cores, sim::loss_source source)
      : memory_{support::shared_file::make(file, seats_at(workers) + workers * sizeof(seat))} {
    std::construct_at(head_address(), workers, cores, source);
    std::uninitialized_default_construct_n(permits().data(), workers);
    for (std::uint32_t w = 0; w < workers; ++w) std::construct_at(seats_address() + w);
  }
  /// The one that another process made.
  explicit run_board(const std::filesystem::path& file) : memory_{support::shared_file::open(file)} {}

  [[nodiscard]] seat& of(std::uint32_t worker) noexcept { return seats_address()[worker]; }
  [[nodiscard]] support::process_permits cores(std::uint32_t worker, std::chrono::duration<double> quantum) noexcept {
    return {head().cores, permits(), worker, quantum};
  }
  /// The process of this worker is no more: its core goes to the next one.
  void vacate(std::uint32_t worker) { support::process_permits::vacate(head().cores, permits(), worker); }
  [[nodiscard]] std::uint32_t computing() noexcept { return support::process_permits::busy(permits()); }

  /// The run is over: whoever computes stops.
  void stop() noexcept { head().over = true; }
  [[nodiscard]] bool stopped() noexcept { return head().over.load(std::memory_order_relaxed); }

  /// The first worker was released, now.
  void begin() noexcept { head().begin = now(); }
  [[nodiscard]] bool begun() noexcept { return head().begin != 0; }
  [[nodiscard]] double seconds_since_begin() noexcept { return static_cast<double>(now() - head().begin) * 1e-9; }

  /// The loss to report with this gradient: an average over the workers. One that dies meanwhile may leave out its own.
  [[nodiscard]] float seen_loss(const sim::gradient& work, bool cancelled) {
    const support::robust_mutex::guard held{head().loss_mutex};
    return head().loss.with(work, cancelled);
  }

 private:
  struct head_part {
    head_part(std::uint32_t workers_, std::uint32_t cores_, sim::loss_source source)
        : workers{workers_}, cores{cores_}, loss{source} {}
    const std::uint32_t workers;
    support::permit_table cores;
    std::atomic<bool> over = false;
    std::atomic<std::int64_t> begin = 0;  // of the steady clock, which all processes share; 0: not yet
    support::robust_mutex loss_mutex;
    sim::loss_feature loss;
  };
  static_assert(std::is_trivially_copyable_v<made_step> && std::is_trivially_copyable_v<sim::loss_feature>);
  static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free);

  // Head, permits, seats: each begins at a multiple of what the strictest of them needs.
  static constexpr std::size_t alignment = 64;
  static_assert(alignof(head_part) <= alignment && alignof(support::permit_seat) <= alignment &&
                alignof(seat) <= alignment);
  [[nodiscard]] static constexpr std::size_t rounded(std::size_t n) {
    return (n + alignment - 1) / alignment * alignment;
  }
  static constexpr std::size_t permits_at = (sizeof(head_part) + alignment - 1) / alignment * alignment;
  [[nodiscard]] static constexpr std::size_t seats_at(std::uint32_t workers) {
    return permits_at + rounded(workers * sizeof(support::permit_seat));
  }

  [[nodiscard]] static std::int64_t now() noexcept {
    return std::chrono::nanoseconds{std::chrono::steady_clock::now().time_since_epoch()}.count();
  }
  [[nodiscard]] head_part* head_address() noexcept { return reinterpret_cast<head_part*>(memory_.bytes().data()); }
  [[nodiscard]] head_part& head() noexcept { return *std::launder(head_address()); }
  [[nodiscard]] std::span<support::permit_seat> permits() noexcept {
    return {reinterpret_cast<support::permit_seat*>(memory_.bytes().data() + permits_at), head().workers};
  }
  [[nodiscard]] seat* seats_address() noexcept {
    return reinterpret_cast<seat*>(memory_.bytes().data() + seats_at(head().workers));
  }

  support::shared_file memory_;
};

}  // namespace rubato::lab

#endif
