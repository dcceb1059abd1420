#ifndef RUBATO_SYNC_RIVALS_M_FASTEST_HPP
#define RUBATO_SYNC_RIVALS_M_FASTEST_HPP

#include <limits>

#include "../concepts.hpp"
#include "wording.hpp"

namespace rubato::inline RUBATO_ABI {

/// Only the m fastest workers run, asynchronously; the others wait.
///
/// At most m workers run, and whoever runs was in no slower class than all who waited when it was released, or is on
/// trial. With m = all workers it is asp.
///
/// Speed is the smoothed step time in classes of a quarter octave; within a class, first come, first served. Who has
/// no step time yet, at the start or after a return, goes first: everybody is tried once. A worker that runs is
/// measured at each step, so one that becomes slow gives way to the best of those who wait. One that waits is
/// remembered as it was: with probe = 0 the slow of the first minute never run again. Every `probe` pushes the one that
/// has waited longest gets a step all the same; as the smoothing takes a fifth of each new step, a worker that became
/// much faster needs several trials to be believed. The authors know the speeds, and choose m by them and by the noise
/// of the gradients; they prove it optimal only while speeds do not change.
///
/// Options  m: 1 to the number of workers; probe: pushes between two trials, 0 for none
/// Cost     O(1) per push. No allocation. Not thread-safe.
/// Tests    tests/sync/rivals/m_fastest_test.cpp: EverybodyIsTriedOnceThenTheFastestRun, WhoSlowsDownGivesWay,
///          ProbesFindAWorkerThatBecameFast, WithoutProbesItIsNeverFound, TheCountOfPushesIsSaved
/// Source   Maranjyan, Tyurin and Richtárik, "Ringmaster ASGD: The First Asynchronous SGD with Optimal Time
///          Complexity", ICML 2025, algorithm 3 (Naive Optimal ASGD)
struct m_fastest {
  std::uint32_t m = 1;                   ///< workers that run
  std::uint32_t probe = 0;               ///< pushes between two trials of whoever waits; 0: no trials
  std::uint32_t pushes_since_probe = 0;  ///< state, not an option

  [[nodiscard]] decision release(const cluster_view& view, const event& what) noexcept {
    if (what.why == cause::push) ++pushes_since_probe;
    if (view.busy() >= m) return decision::hold();
    const bool tries = probe > 0 && what.why == cause::push && pushes_since_probe >= probe;
    if (tries) pushes_since_probe = 0;
    return decision::up_to(m - view.busy(), tries ? release_order::fifo : release_order::fastest);
  }
  void state(archive& bytes) { bytes(pushes_since_probe); }

  /// Who is slow may wait for ever.
  [[nodiscard]] constexpr double max_legal_wait(std::uint32_t) const noexcept {
    return std::numeric_limits<double>::infinity();
  }
  [[nodiscard]] std::string problem(std::uint32_t capacity) const {
    return detail::outside("m", m, 1, capacity, "the number of workers");
  }
  [[nodiscard]] description describe() const {
    std::string line = detail::sentence_of("mfastest: only the ", m, " fastest workers run, asynchronously");
    if (probe > 0) line.append(detail::sentence_of("; every ", probe, " pushes another one is tried"));
    return {std::move(line), detail::json_of(kind, {{"m", m}, {"probe", probe}})};
  }

  static constexpr std::string_view kind = "mfastest";
};

}  // namespace rubato::inline RUBATO_ABI

#endif
