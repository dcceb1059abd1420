#ifndef RUBATO_GLOO_PS_STRAGGLER_EVICTION_HPP
#define RUBATO_GLOO_PS_STRAGGLER_EVICTION_HPP

#include <cstdio>
#include <optional>
#include <rubato/sync/concepts.hpp>
#include <rubato/sync/extras/straggler_detector.hpp>
#include <string>

#include "server.hpp"

namespace rubato::inline RUBATO_ABI::gloo_ps {

/// A worker that was taken out because it was slow. Times are in seconds.
struct eviction {
  straggler of{};  ///< who, and how slow
  double at = 0;   ///< since the start of the server
};

/// Takes the slowest straggler out of a running job, as an operator would, if there is one, if two workers or more
/// remain, and if the policy in force lets workers wait at all: under ASP a straggler holds nobody back.
///
///     gloo_ps::server<straggler_detector> ps{options, policy, initial, log, straggler_detector{workers}};
///     const auto gone = gloo_ps::evict_straggler(ps, [](auto& watcher) -> auto& { return watcher; });
///
/// `detector_of` finds the straggler_detector in the server's observer. To be called now and then, by one thread, and
/// takes out one at a time: who has been told to go counts until it has gone.
/// Cost    O(1) under the lock of the decisions while there is no straggler, else O(workers)
/// Tests   tests/integrations/gloo_ps/straggler_eviction_test.cpp: TakesTheStragglerOutAndTellsIt,
///         NobodyGoesWhereNobodyWaits, TwoRemain; tests/integrations/gloo_ps/processes_test.cpp: StragglerIsEvicted,
///         EvictedStragglerIsNotWaitedForAtTheEnd
/// Source  the elastic policy of Li et al., "Sync-Switch: Hybrid Parameter Synchronization for Distributed Deep
///         Learning", ICDCS 2021, IV-B2
template <Observer Watcher, class Find>
std::optional<eviction> evict_straggler(server<Watcher>& from, Find&& detector_of) {
  const auto found = from.decide().inspect([&](auto& sync) -> std::optional<straggler> {
    const std::optional<straggler> slowest = detector_of(sync.watcher()).to_evict();
    if (slowest && !(max_legal_wait_of(sync.policy(), slowest->who.index) > 0)) return std::nullopt;
    return slowest;
  });
  if (!found) return std::nullopt;
  char why[128];
  std::snprintf(why, sizeof why, "this worker was taken out: its steps take %.4g s, those of the median worker %.4g s",
                found->step_time, found->median);
  if (!from.evict(found->who, why)) return std::nullopt;
  return eviction{.of = *found, .at = from.decide().seconds()};
}

}  // namespace rubato::inline RUBATO_ABI::gloo_ps

#endif
