#ifndef RUBATO_SIM_WORKER_STEP_HPP
#define RUBATO_SIM_WORKER_STEP_HPP

#include <algorithm>
#include <cstdint>
#include <vector>

#include "../core/step_metrics.hpp"
#include "../core/types.hpp"
#include "objective.hpp"
#include "options.hpp"

namespace rubato::inline RUBATO_ABI::sim::detail {

/// The stages of a step, in order.
enum class stage : std::uint8_t {
  absent,
  parked,
  awaiting_word,
  awaiting_update,
  pulling,
  pull_latency,
  computing,
  sleeping,
  pushing,
  push_latency,
  at_server
};

/// A worker of `cluster`.
struct simulated_worker {
  std::uint32_t incarnation = 0;
  stage at = stage::absent;
  std::uint64_t step = 0;  ///< over all incarnations, from 1
  float lr_scale = 1;      ///< of its grant
  std::uint32_t batch = 0;  ///< likewise
  gradient work{};         ///< while it is in a step
  double began = 0;        ///< when it began to pull; unknown, as the next two, where nobody measures
  double pulled = 0;       ///< when it began to compute
  double computed = 0;     ///< when it began to push

  [[nodiscard]] bool waits() const noexcept { return at == stage::parked || at == stage::awaiting_word; }
  [[nodiscard]] bool in_step() const noexcept { return at >= stage::awaiting_update && at <= stage::push_latency; }
};

/// Of a step whose gradient arrives now; a transfer that is alone takes `transfer_time`.
[[nodiscard]] inline step_metrics metrics_of(const simulated_worker& step, double now, double transfer_time) noexcept {
  const double computing = step.computed - step.pulled, communicating = now - step.began - computing;
  const gradient_statistics& told = step.work.statistics;
  return {.compute_time = static_cast<float>(computing),
          .communication_time = static_cast<float>(communicating),
          .throughput = transfer_time > 0 ? static_cast<float>((std::min)(2 * transfer_time / communicating, 1.0))
                                          : not_measured,
          .accuracy = told.accuracy,
          .gradient_variance = told.variance,
          .gradient_square = told.square};
}

/// Sorts the failures by time, and marks who is present at first. Returns how many that are.
[[nodiscard]] inline std::uint32_t seat_workers(std::vector<simulated_worker>& workers,
                                                std::vector<failure>& failures) {
  std::stable_sort(failures.begin(), failures.end(),
                   [](const failure& a, const failure& b) { return a.time < b.time; });
  for (simulated_worker& each : workers) each.at = stage::parked;
  for (auto f = failures.rbegin(); f != failures.rend(); ++f)
    workers[f->worker].at = f->kind == failure_kind::join ? stage::absent : stage::parked;
  std::uint32_t present = 0;
  for (const simulated_worker& each : workers) present += each.at == stage::parked ? 1 : 0;
  return present;
}

/// What has reached the server.
struct arrival {
  worker_id from{};
  std::uint64_t step = 0;
  gradient work{};
  float lr_scale = 1;
  bool cancelled = false;
};

}  // namespace rubato::inline RUBATO_ABI::sim::detail

#endif
