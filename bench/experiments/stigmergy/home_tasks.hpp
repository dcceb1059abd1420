#ifndef RUBATO_BENCH_EXPERIMENTS_STIGMERGY_HOME_TASKS_HPP
#define RUBATO_BENCH_EXPERIMENTS_STIGMERGY_HOME_TASKS_HPP

#include <array>
#include <cstdint>
#include <string_view>

namespace stigmergy {

// What workers that decide for themselves learn on. Fixed before anything was learned for it.

/// Clusters that share a link, four cores, one core.
inline constexpr std::array<std::string_view, 3> home_scenarios{"link", "shared4", "paper"};

/// The curriculum: with each stage a number of workers is added.
inline constexpr std::array<std::uint32_t, 6> home_workers{2, 4, 8, 16, 32, 64};

}  // namespace stigmergy

#endif
