#ifndef RUBATO_TESTS_SUPPORT_METRONOME_HPP
#define RUBATO_TESTS_SUPPORT_METRONOME_HPP

#include <cstddef>
#include <cstdint>
#include <limits>
#include <rubato/sync/controller.hpp>
#include <utility>
#include <vector>

namespace rubato::test {

/// A worker starts a step.
struct beat {
  double time;
  std::uint32_t worker;
  friend bool operator==(const beat&, const beat&) = default;
};

/// A cluster whose workers take the same time for each of their steps, without faults. Of steps that end at the same
/// time the lower index comes first. After construction only the trace may allocate, and not beyond what was reserved.
template <SyncPolicy Policy>
class metronome {
 public:
  metronome(Policy policy, std::vector<double> step_times, controller_options options = {}, std::size_t reserved = 0)
      : step_times_{std::move(step_times)},
        due_(step_times_.size(), never),
        controller_{sized(options), std::move(policy)},
        pulls_{options.park == park_on::pull} {
    trace_.reserve(reserved);
    for (std::uint32_t w = 0; w < step_times_.size(); ++w)
      ok_ &= controller_.join({w, 0}, 0.0, ticket(w), *this) == errc::ok;
    if (pulls_)
      for (std::uint32_t w = 0; w < step_times_.size(); ++w) ok_ &= controller_.pull({w, 0}, 0.0, w, *this) == errc::ok;
  }

  /// Goes on until this many more steps are over.
  metronome& run(std::uint32_t steps) {
    while (steps > 0 && ok_) {
      std::uint32_t next = 0;
      for (std::uint32_t w = 1; w < due_.size(); ++w)
        if (due_[w] < due_[next]) next = w;
      if (controller_.next_deadline() <= due_[next]) {
        now_ = std::max(now_, controller_.next_deadline());
        ok_ = now_ < never;
        controller_.poll(now_, *this);
        continue;
      }
      now_ = due_[next];
      due_[next] = never;
      const admitted answer = controller_.admit({.worker = {next, 0}, .now = now_, .samples = 1, .loss = 1.0F});
      ok_ &= controller_.commit(answer.work, now_, outcome::done, ticket(next), *this) == errc::ok;
      if (pulls_) ok_ &= controller_.pull({next, 0}, now_, next, *this) == errc::ok;
      --steps;
    }
    return *this;
  }

  /// Of the steps that it starts from now on.
  void set_step_time(std::uint32_t worker, double time) { step_times_[worker] = time; }

  void release(std::uint32_t, worker_id worker, const grant&) {
    due_[worker.index] = now_ + step_times_[worker.index];
    trace_.push_back({now_, worker.index});
  }
  void flush(std::uint64_t, float, std::uint32_t) { ++flushes_; }
  void discard(std::uint64_t, std::uint32_t) {}
  void cancel(worker_id worker) { due_[worker.index] = now_; }

  [[nodiscard]] const std::vector<beat>& trace() const { return trace_; }
  [[nodiscard]] std::uint64_t flushes() const { return flushes_; }
  [[nodiscard]] bool ok() const { return ok_; }  ///< every call was answered with ok
  [[nodiscard]] const controller<Policy, std::uint32_t>& control() const { return controller_; }
  [[nodiscard]] controller<Policy, std::uint32_t>& control() { return controller_; }

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();
  [[nodiscard]] controller_options sized(controller_options o) const {
    o.capacity = static_cast<std::uint32_t>(step_times_.size());
    return o;
  }
  [[nodiscard]] std::optional<std::uint32_t> ticket(std::uint32_t w) const {
    return pulls_ ? std::nullopt : std::optional{w};
  }

  std::vector<double> step_times_;
  std::vector<double> due_;
  std::vector<beat> trace_;
  controller<Policy, std::uint32_t> controller_;
  bool pulls_;
  bool ok_ = true;
  double now_ = 0.0;
  std::uint64_t flushes_ = 0;
};

}  // namespace rubato::test

#endif
