#ifndef RUBATO_TESTS_SUPPORT_SCHEDULE_HPP
#define RUBATO_TESTS_SUPPORT_SCHEDULE_HPP

#include <bit>
#include <cstdint>
#include <optional>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/controller.hpp>
#include <span>
#include <string>
#include <vector>

namespace rubato::test {

/// A host that does what hosts may do, at random: see random_host.
struct schedule_options {
  std::uint32_t workers = 0;     ///< capacity; 0: 1 to 9 by chance
  std::uint32_t events = 300;    ///< actions of the host
  std::uint32_t schedules = 20;  ///< times RUBATO_TEST_SCALE
  double fault_rate = 0.1;       ///< share of the events that are joins, departures, returns, bad or repeated messages
  double reloads = 0.02;         ///< share of the events that save, and load into a fresh controller
  std::vector<any_policy> switches{};                    ///< to which it switches now and then
  std::optional<any_policy> halfway{};                   ///< to which it switches once, after half of the events
  pending_gradients pending = pending_gradients::flush;  ///< what becomes of the open round then
  guard_options guard{.enabled = false};
  bool overrides = false;         ///< the guard may have to step in
  std::uint32_t saved_every = 1;  ///< calls after which, and at the end, all saved bytes are compared with the twin's
  std::uint64_t seed = 1;
  std::span<const std::uint8_t> script{};  ///< what chance decides: first these bytes do
};

/// A worker that has just started a step.
struct start {
  std::uint32_t worker;
  clock_type clock;
  clock_type minimum_clock;
  std::uint64_t seed;
  std::uint64_t event;
  [[nodiscard]] std::string describe() const {
    return "worker " + std::to_string(worker) + " at clock " + std::to_string(clock) + ", minimum " +
           std::to_string(minimum_clock) + ", seed " + std::to_string(seed) + ", event " + std::to_string(event);
  }
};

struct schedule_report {
  std::uint64_t calls = 0;
  std::uint64_t starts = 0;
  std::uint64_t gradients = 0;
  std::uint64_t log = 14695981039346656037U;  ///< FNV-1a of every record that an observer saw
  std::uint64_t overrides = 0;
  std::string problem;  ///< empty if all is well
};

/// An observer that remembers a fingerprint of all that it saw.
struct fingerprint {
  std::uint64_t* hash;
  void operator()(const record& r) noexcept {
    for (const std::uint64_t word :
         {static_cast<std::uint64_t>(r.what), static_cast<std::uint64_t>(r.why), static_cast<std::uint64_t>(r.decided),
          static_cast<std::uint64_t>(r.because), std::uint64_t{r.worker.index}, std::uint64_t{r.worker.incarnation},
          std::bit_cast<std::uint64_t>(r.now), r.clock, r.version, r.staleness, r.round, r.step, std::uint64_t{r.count},
          std::uint64_t{std::bit_cast<std::uint32_t>(r.value)}, std::uint64_t{std::bit_cast<std::uint32_t>(r.loss)},
          std::uint64_t{r.parked}})
      *hash = (*hash ^ word) * 1099511628211U;
  }
};

}  // namespace rubato::test

#endif
