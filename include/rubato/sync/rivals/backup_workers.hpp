#ifndef RUBATO_SYNC_RIVALS_BACKUP_WORKERS_HPP
#define RUBATO_SYNC_RIVALS_BACKUP_WORKERS_HPP

#include <limits>

#include "fresh_gradients.hpp"
#include "wording.hpp"

namespace rubato::inline RUBATO_ABI {

/// Backup workers: of N + b workers the first N gradients make the update, the b late ones are dropped.
///
/// Every update is the mean of the gradients of all living workers but at most b, each computed on the version before
/// it. Nobody is cancelled: who is late finishes its step, in vain, and starts on the version that is current by then.
/// With b = 0 it is bsp.
///
/// N is the number of living workers less b, so that b of them may be late whoever comes and goes; the authors' N is
/// fixed. While b or fewer are alive, N is 1 (reason::degraded, once an update).
///
/// Options  backups: b, 0 to the number of workers less 1
/// Cost     O(1) per push, O(workers) per update. No allocation. Not thread-safe.
/// Tests    tests/sync/rivals/backup_workers_test.cpp: TheLateAreDroppedAndNobodyIsCancelled, NFollowsTheLiving,
///          DegradedWhenOnlyBackupsAreLeft
/// Source   Chen et al., "Revisiting Distributed Synchronous SGD", arXiv 1604.00981, 2016 (Sync-Opt)
struct backup_workers {
  std::uint32_t backups = 0;  ///< b: workers that may be late

  [[nodiscard]] admission admit(const cluster_view& view, const event& what) const noexcept {
    return detail::admit_fresh(view, what, needed(view));
  }
  [[nodiscard]] decision release(const cluster_view& view, const event& what) const noexcept {
    const decision next = detail::release_after_round(view, what, needed(view), false);
    return next.with_degraded((what.flushed || next.flushes) && view.alive() <= backups);
  }

  /// Gradients that fail or are dropped do not count, so there is no limit in steps to how long the others wait.
  [[nodiscard]] constexpr double max_legal_wait(std::uint32_t) const noexcept {
    return std::numeric_limits<double>::infinity();
  }
  [[nodiscard]] std::string problem(std::uint32_t capacity) const {
    return detail::outside("backups", backups, 0, capacity - 1, "one less than there are workers");
  }
  [[nodiscard]] description describe() const {
    return {detail::sentence_of("backup: an update by all workers but the ", backups, " last, which are dropped"),
            detail::json_of(kind, {{"backups", backups}})};
  }

  static constexpr std::string_view kind = "backup";

 private:
  [[nodiscard]] std::uint32_t needed(const cluster_view& view) const noexcept {
    return view.alive() > backups ? view.alive() - backups : 1;
  }
};

}  // namespace rubato::inline RUBATO_ABI

#endif
