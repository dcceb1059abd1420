#ifndef RUBATO_BENCH_EXPERIMENTS_STIGMERGY_HOME_TASKS_HPP
#define RUBATO_BENCH_EXPERIMENTS_STIGMERGY_HOME_TASKS_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stigmergy {

// What workers that decide for themselves learn on, and are tried on. Fixed before anything was learned for it.

/// Clusters that share a link, four cores, one core.
inline constexpr std::array<std::string_view, 3> home_scenarios{"link", "shared4", "paper"};

/// The curriculum: with each stage a number of workers is added.
inline constexpr std::array<std::uint32_t, 6> home_workers{2, 4, 8, 16, 32, 64};

/// How far away a central decision maker is, in steps: 0, 5, 10, 20 and 50 ms where a step takes 100 ms.
inline constexpr std::array<double, 5> home_latencies{0, 0.05, 0.1, 0.2, 0.5};

}  // namespace stigmergy

#endif
