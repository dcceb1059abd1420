#ifndef RUBATO_SIM_WORKER_STEP_HPP
#define RUBATO_SIM_WORKER_STEP_HPP

#include <cstdint>

#include "../core/types.hpp"
#include "objective.hpp"

namespace rubato::inline RUBATO_ABI::sim::detail {

/// The stages of a step, in order.
enum class stage : std::uint8_t {
  absent,
  parked,
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

  [[nodiscard]] bool in_step() const noexcept { return at >= stage::pulling && at <= stage::push_latency; }
};

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
