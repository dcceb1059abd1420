#ifndef RUBATO_CORE_CLUSTER_VIEW_HPP
#define RUBATO_CORE_CLUSTER_VIEW_HPP

#include <cstdint>

#include "roster.hpp"

namespace rubato::inline RUBATO_ABI {

/// Numbers that a view reports besides the roster's.
struct view_totals {
  std::uint64_t version = 0;           ///< updates that are in
  std::uint64_t updates = 0;           ///< updates decided; the difference is still on its way into the parameters
  std::uint32_t pending = 0;           ///< gradients added to the open round
  std::uint32_t round_admissions = 0;  ///< the same, and those admitted to it whose commit is still out
  double now = 0.0;                    ///< of the event, in the host's unit of time; never falls
  bool minimum_moved = false;          ///< since the policy was last asked
};

/// What a policy may know of the cluster. It never sees gradients or parameters.
///
/// A cheap handle on the controller's state, valid only during the call that received it. All counts leave out excluded
/// workers; the submitter of a push counts as parked when `release` is asked.
/// Cost    O(1) each; speed_rank and median_step_time at most 32 additions.
class cluster_view {
 public:
  cluster_view(const roster& workers, const view_totals& totals, std::uint32_t submitter) noexcept
      : workers_{&workers}, totals_{&totals}, submitter_{submitter} {}  ///< both must outlive it

  [[nodiscard]] std::uint32_t capacity() const noexcept { return workers_->capacity(); }  ///< indices are below it
  /// Members that count: running, in flight and parked.
  [[nodiscard]] std::uint32_t alive() const noexcept { return workers_->clock().size(); }
  /// Workers in a step, or free to start one (their pull is awaited).
  [[nodiscard]] std::uint32_t running() const noexcept {
    return workers_->in(worker_state::running) + workers_->in(worker_state::released);
  }
  /// Workers whose gradient is admitted and not yet committed.
  [[nodiscard]] std::uint32_t in_flight() const noexcept { return workers_->in(worker_state::admitted); }
  [[nodiscard]] std::uint32_t busy() const noexcept { return workers_->busy(); }  ///< running and in flight
  /// Workers that wait for their release.
  [[nodiscard]] std::uint32_t parked() const noexcept { return workers_->in(worker_state::parked); }
  [[nodiscard]] std::uint32_t excluded() const noexcept { return workers_->excluded(); }  ///< in no other count
  [[nodiscard]] std::uint32_t pending() const noexcept { return totals_->pending; }  ///< gradients in the open round
  /// The same, and those admitted to it whose commit is still out.
  [[nodiscard]] std::uint32_t round_admissions() const noexcept { return totals_->round_admissions; }
  [[nodiscard]] std::uint64_t version() const noexcept { return totals_->version; }  ///< updates that are in
  [[nodiscard]] std::uint64_t updates() const noexcept { return totals_->updates; }  ///< updates decided
  [[nodiscard]] double now() const noexcept { return totals_->now; }  ///< of the event, in the host's unit of time
  /// Clock of the slowest worker that counts, and of the one furthest ahead; 0 while nobody counts.
  [[nodiscard]] clock_type minimum_clock() const noexcept { return workers_->clock().minimum(); }
  [[nodiscard]] clock_type maximum_clock() const noexcept { return workers_->clock().maximum(); }  ///< likewise
  [[nodiscard]] std::uint32_t slowest() const noexcept { return workers_->clock().slowest(); }     ///< or no_worker
  [[nodiscard]] bool minimum_moved() const noexcept { return totals_->minimum_moved; }  ///< since the last decision

  /// The worker whose event it is; no_worker where there is none. The four below are 0 then.
  [[nodiscard]] std::uint32_t submitter() const noexcept { return submitter_; }
  [[nodiscard]] clock_type clock_of_submitter() const noexcept { return has() ? clock_of(submitter_) : 0; }  ///< steps
  [[nodiscard]] float step_time_of_submitter() const noexcept {
    return has() ? (*workers_)[submitter_].step_time : 0.0F;
  }  ///< of its latest step, from grant to arrival
  /// Workers whose smoothed step time is in a faster class (a quarter octave each) than the submitter's.
  [[nodiscard]] std::uint32_t speed_rank() const noexcept {
    return has() ? workers_->speeds().rank((*workers_)[submitter_].speed) : 0;
  }

  /// Of any worker index below capacity(), as the three that follow.
  [[nodiscard]] clock_type clock_of(std::uint32_t worker) const noexcept { return workers_->clock().clock(worker); }
  [[nodiscard]] float step_time_of(std::uint32_t worker) const noexcept {
    return (*workers_)[worker].smoothed_step_time;
  }  ///< moved by a fifth with each step; 0 before its first one is over
  /// Whether it is one of those alive().
  [[nodiscard]] bool counts(std::uint32_t worker) const noexcept { return workers_->counted(worker); }
  /// Whether it was taken out of all counts, and not readmitted since.
  [[nodiscard]] bool is_excluded(std::uint32_t worker) const noexcept { return (*workers_)[worker].excluded; }
  /// Lower edge of the class that holds the median step time; 0 before the first step.
  [[nodiscard]] float median_step_time() const noexcept {
    return workers_->speeds().size() == 0 ? 0.0F : speed_classes::lower_edge(workers_->speeds().median());
  }

 private:
  [[nodiscard]] bool has() const noexcept { return submitter_ != no_worker; }

  const roster* workers_;
  const view_totals* totals_;
  std::uint32_t submitter_;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
