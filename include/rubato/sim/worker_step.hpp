#ifndef RUBATO_SIM_WORKER_STEP_HPP
#define RUBATO_SIM_WORKER_STEP_HPP

#include <algorithm>
#include <cstdint>
#include <vector>

#include "../core/types.hpp"
#include "objective.hpp"
#include "options.hpp"

namespace rubato::inline RUBATO_ABI::sim::detail {

/// The stages of a step, in order.
enum class stage : std::uint8_t {
  absent,
  parked,
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
  float lr_scale = 1;  ///< of its grant
  gradient work{};     ///< while it is in a step

  [[nodiscard]] bool in_step() const noexcept { return at >= stage::awaiting_update && at <= stage::push_latency; }
};

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
