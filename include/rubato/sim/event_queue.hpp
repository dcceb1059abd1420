#ifndef RUBATO_SIM_EVENT_QUEUE_HPP
#define RUBATO_SIM_EVENT_QUEUE_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "tournament.hpp"

namespace rubato::inline RUBATO_ABI::sim {

/// What will happen when, in virtual time: at most one event of each worker, and of each of a few services that work
/// for all of them. Each can be re-timed and cancelled.
///
/// Events of equal time leave in ascending order of the worker concerned, then as they were scheduled, so that a
/// simulation never depends on anything but its inputs. A worker's event concerns that worker, a service's whom its
/// schedule names.
///
/// Pre     times are 0 or more; infinity stands for never
/// Cost    schedule, cancel: O(log workers). next_time, pop: O(1), and O(log workers) where the worker that was popped
///         last has been neither scheduled nor cancelled since. No allocation after construction. Not thread-safe.
/// Tests   tests/sim/event_queue_test.cpp: TiesByWorkerThenByInsertion, UnchangedEventsKeepTheirPlace, Retimes,
///         Cancels, InfinityNeverHappens, AgreesWithASort
class event_queue {
 public:
  /// What pop() has taken out.
  struct event {
    double time;           ///< when it happens
    std::uint32_t source;  ///< the worker, or the number of workers plus that of the service
  };

  /// Of workers 0 to workers - 1 and services 0 to services - 1, without events.
  event_queue(std::uint32_t workers, std::uint32_t services)
      : scheduled_(std::size_t{workers} + services), concerns_(services), workers_{workers}, services_{services} {}

  /// When the next event happens; infinity if there is none.
  [[nodiscard]] double next_time() noexcept {
    finish_pop();
    return (std::min)(workers_.first_time(), services_.first_time());
  }

  /// The worker's event happens at `time` (and not when it was to happen before).
  void schedule(std::uint32_t worker, double time) noexcept {
    scheduled_[concerns_.size() + worker] = ++insertions_;
    if (worker == popped_) popped_ = nobody;
    workers_.set(worker, time);
  }
  /// The worker's event does not happen; nothing is done if it has none.
  void cancel(std::uint32_t worker) noexcept {
    if (worker == popped_) popped_ = nobody;
    if (workers_.time(worker) != never) workers_.set(worker, never);
  }

  /// The same for a service's, which concerns this worker.
  void schedule_service(std::uint32_t service, double time, std::uint32_t worker) noexcept {
    // What does not change keeps its place among its equals.
    if (services_.time(service) == time && (concerns_[service] == worker || time == never)) return;
    scheduled_[service] = ++insertions_;
    concerns_[service] = worker;
    services_.set(service, time);
  }

  /// Removes the next event. Precondition: there is one.
  event pop() noexcept {
    finish_pop();
    const double of_worker = workers_.first_time(), of_service = services_.first_time();
    if (of_worker < of_service) return pop_worker();
    const std::uint32_t service = first_service(of_service);
    const std::uint32_t worker = workers_.first();
    if (of_worker == of_service && goes_before(worker, concerns_.size() + worker, concerns_[service], service))
      return pop_worker();
    services_.set(service, never);
    return {of_service, static_cast<std::uint32_t>(scheduled_.size() - concerns_.size()) + service};
  }

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();
  static constexpr std::uint32_t nobody = (std::numeric_limits<std::uint32_t>::max)();

  event pop_worker() noexcept {
    popped_ = workers_.first();
    return {workers_.first_time(), popped_};
  }

  // The worker that was popped stays in the tree for a while, since most are scheduled anew at once.
  void finish_pop() noexcept {
    if (popped_ != nobody) workers_.set(std::exchange(popped_, nobody), never);
  }

  // Among events of equal time: whom they concern, and where it says when they were scheduled.
  [[nodiscard]] bool goes_before(std::uint32_t worker, std::size_t at, std::uint32_t other,
                                 std::size_t other_at) const noexcept {
    return worker != other ? worker < other : scheduled_[at] < scheduled_[other_at];
  }

  [[nodiscard]] std::uint32_t first_service(double time) const noexcept {
    std::uint32_t first = services_.first();
    for (std::uint32_t s = first + 1; s < concerns_.size(); ++s)
      if (services_.time(s) == time && goes_before(concerns_[s], s, concerns_[first], first)) first = s;
    return first;
  }

  std::uint32_t popped_ = nobody;
  std::uint64_t insertions_ = 0;
  std::vector<std::uint64_t> scheduled_;  // when, in insertions: the services, then the workers
  std::vector<std::uint32_t> concerns_;   // a worker; by service
  tournament workers_;
  tournament services_;
};

}  // namespace rubato::inline RUBATO_ABI::sim

#endif
