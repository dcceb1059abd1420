#ifndef RUBATO_SIM_SHARED_RESOURCE_HPP
#define RUBATO_SIM_SHARED_RESOURCE_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "tournament.hpp"

namespace rubato::inline RUBATO_ABI::sim {

/// Processor sharing: `capacity` units that jobs share in equal parts, each getting at most one whole unit.
///
/// With n jobs each advances at rate min(1, capacity / n): cores under a fair scheduler, or a link under fair queueing.
/// Every job gets the same service while it is there, so its end is fixed when it starts, as an amount of service: an
/// arrival or departure changes how fast service accrues, not the order, and so does slow_down(). Rounding does not add
/// up, because a completion sets the service to exactly that job's end.
///
/// Cost    start, remove, finish: O(log jobs); the rest O(1). No allocation after construction. Not thread-safe.
/// Tests   tests/sim/shared_resource_test.cpp: AgreesWithTheDefinition, NoDriftOverAMillionJobs, TiesByJob
/// Source  Parekh and Gallager, "A Generalized Processor Sharing Approach to Flow Control",
///         IEEE/ACM ToN 1(3), 1993, §V
class shared_resource {
 public:
  /// Jobs are numbered 0 to jobs - 1. Precondition: capacity > 0; infinity makes all jobs independent.
  shared_resource(double capacity, std::uint32_t jobs) : rates_(std::size_t{jobs} + 1), is_there_(jobs), ends_{jobs} {
    RUBATO_ASSERT(capacity > 0, "shared_resource: no capacity");
    for (std::size_t n = 1; n < rates_.size(); ++n) rates_[n] = (std::min)(1.0, capacity / static_cast<double>(n));
  }

  [[nodiscard]] std::uint32_t active() const noexcept { return active_; }  ///< jobs that are there
  /// Whether a job has started, and neither ended nor gone.
  [[nodiscard]] bool contains(std::uint32_t job) const noexcept { return is_there_[job] != 0; }
  /// Service per time that each job gets at present. Precondition: active() > 0.
  [[nodiscard]] double rate() const noexcept { return rate_; }

  /// When the next job ends if nothing else changes; infinity if there is none.
  [[nodiscard]] double next_completion() const noexcept {
    if (active_ == 0) return std::numeric_limits<double>::infinity();
    return since_ + (std::max)(0.0, ends_.first_time() - served_) / rate_;
  }
  /// Which one it is: the smallest number among those that end together. Precondition: active() > 0.
  [[nodiscard]] std::uint32_t next_job() const noexcept { return ends_.first(); }

  /// Time that the job would still need with a unit of its own. Precondition: contains(job).
  [[nodiscard]] double remaining(std::uint32_t job, double now) const noexcept {
    return (std::max)(0.0, ends_.time(job) - served_at(now));
  }

  /// From now on jobs advance at this share of their rate. Preconditions: share > 0; `now` never runs back.
  void slow_down(double share, double now) noexcept {
    advance(active_ == 0 ? 0.0 : served_at(now), now);
    share_ = share;
    count(active_);
  }

  /// A job of this length arrives. Preconditions: it is not there; work >= 0; `now` never runs back.
  void start(std::uint32_t job, double work, double now) noexcept {
    RUBATO_ASSERT(!contains(job) && work >= 0, "shared_resource: job is there already, or has no length");
    advance(active_ == 0 ? 0.0 : served_at(now), now);
    is_there_[job] = 1;
    count(active_ + 1);
    ends_.set(job, served_ + work);
  }

  /// A job goes before its end. Nothing happens if it is not there.
  void remove(std::uint32_t job, double now) noexcept {
    if (!contains(job)) return;
    advance(served_at(now), now);
    take_out(job);
  }

  /// The job that ends at next_completion() ends. Precondition: now == next_completion(). Returns the job.
  std::uint32_t finish(double now) noexcept {
    const std::uint32_t job = next_job();
    advance(ends_.first_time(), now);
    take_out(job);
    return job;
  }

 private:
  [[nodiscard]] double served_at(double now) const noexcept {
    if (active_ == 0) return served_;
    return (std::min)(ends_.first_time(), served_ + (now - since_) * rate_);
  }
  void advance(double served, double now) noexcept {
    served_ = served;
    since_ = now;
  }
  void take_out(std::uint32_t job) noexcept {
    is_there_[job] = 0;
    count(active_ - 1);
    ends_.set(job, std::numeric_limits<double>::infinity());
  }
  void count(std::uint32_t active) noexcept {
    active_ = active;
    rate_ = share_ * rates_[active];
  }

  double served_ = 0;  // service that a job present all the time has had, at time since_
  double since_ = 0;
  double rate_ = 0;
  double share_ = 1;
  std::uint32_t active_ = 0;
  std::vector<double> rates_;  // with so many jobs: a division takes as long as all the rest
  std::vector<std::uint8_t> is_there_;
  tournament ends_;  // by job: the service at which it is over
};

}  // namespace rubato::inline RUBATO_ABI::sim

#endif
