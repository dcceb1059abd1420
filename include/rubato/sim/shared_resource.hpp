#ifndef RUBATO_SIM_SHARED_RESOURCE_HPP
#define RUBATO_SIM_SHARED_RESOURCE_HPP

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "indexed_heap.hpp"

namespace rubato::inline RUBATO_ABI::sim {

/// Processor sharing: `capacity` units that jobs share in equal parts, each getting at most one whole unit.
///
/// With n jobs each advances at rate min(1, capacity / n): cores under a fair scheduler, or a link under fair queueing.
/// Every job gets the same service while it is there, so its end is fixed when it starts, as an amount of service: an
/// arrival or departure changes how fast service accrues, not the order. Rounding does not add up, because a completion
/// sets the service to exactly that job's end.
///
/// Cost    start, remove, finish: O(log jobs); the rest O(1). No allocation after construction. Not thread-safe.
/// Tests   tests/sim/shared_resource_test.cpp: AgreesWithTheDefinition, NoDriftOverAMillionJobs, TiesByJob
/// Source  Parekh and Gallager, "A Generalized Processor Sharing Approach to Flow Control",
///         IEEE/ACM ToN 1(3), 1993, §V
class shared_resource {
 public:
  /// Jobs are numbered 0 to jobs - 1. Precondition: capacity > 0; infinity makes all jobs independent.
  shared_resource(double capacity, std::uint32_t jobs) : capacity_{capacity}, ends_{jobs} {
    RUBATO_ASSERT(capacity > 0, "shared_resource: no capacity");
  }

  [[nodiscard]] std::uint32_t active() const noexcept { return ends_.size(); }
  [[nodiscard]] bool contains(std::uint32_t job) const noexcept { return ends_.contains(job); }
  /// Service per time that each job gets at present.
  [[nodiscard]] double rate() const noexcept { return (std::min)(1.0, capacity_ / ends_.size()); }

  /// When the next job ends if nothing else changes; infinity if there is none.
  [[nodiscard]] double next_completion() const noexcept {
    if (ends_.empty()) return std::numeric_limits<double>::infinity();
    return since_ + (std::max)(0.0, ends_.top_key().end - served_) / rate();
  }
  /// Which one it is: the smallest number among those that end together. Precondition: active() > 0.
  [[nodiscard]] std::uint32_t next_job() const noexcept { return ends_.top(); }

  /// Time that the job would still need with a unit of its own. Precondition: contains(job).
  [[nodiscard]] double remaining(std::uint32_t job, double now) const noexcept {
    return (std::max)(0.0, ends_.key(job).end - served_at(now));
  }

  /// A job of this length arrives. Preconditions: it is not there; work >= 0; `now` never runs back.
  void start(std::uint32_t job, double work, double now) noexcept {
    RUBATO_ASSERT(!contains(job) && work >= 0, "shared_resource: job is there already, or has no length");
    advance(ends_.empty() ? 0.0 : served_at(now), now);
    ends_.set(job, {served_ + work, job});
  }

  /// A job goes before its end. Nothing happens if it is not there.
  void remove(std::uint32_t job, double now) noexcept {
    if (!contains(job)) return;
    advance(served_at(now), now);
    ends_.erase(job);
  }

  /// The job that ends at next_completion() ends. Precondition: now == next_completion(). Returns the job.
  std::uint32_t finish(double now) noexcept {
    const std::uint32_t job = next_job();
    advance(ends_.top_key().end, now);
    ends_.erase(job);
    return job;
  }

 private:
  struct key {
    double end;  // service, at which the job is over
    std::uint32_t job;
    friend constexpr bool operator<(const key& a, const key& b) noexcept {
      return a.end != b.end ? a.end < b.end : a.job < b.job;
    }
  };

  [[nodiscard]] double served_at(double now) const noexcept {
    if (ends_.empty()) return served_;
    return (std::min)(ends_.top_key().end, served_ + (now - since_) * rate());
  }
  void advance(double served, double now) noexcept {
    served_ = served;
    since_ = now;
  }

  double capacity_;
  double served_ = 0;  // service that a job present all the time has had, at time since_
  double since_ = 0;
  indexed_heap<key> ends_;
};

}  // namespace rubato::inline RUBATO_ABI::sim

#endif
