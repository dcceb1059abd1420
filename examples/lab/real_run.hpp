#ifndef RUBATO_EXAMPLES_LAB_REAL_RUN_HPP
#define RUBATO_EXAMPLES_LAB_REAL_RUN_HPP

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <rubato/core/record.hpp>
#include <rubato/sim/finish_line.hpp>
#include <rubato/sim/result.hpp>
#include <rubato/sim/sgd.hpp>
#include <rubato/sync/extras/observers.hpp>
#include <rubato/sync/extras/scores.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "measurement.hpp"
#include "real_worker.hpp"
#include "workbench.hpp"

namespace rubato::lab {

/// Counts pushes, for whoever evaluates and for the statistics of a run. Its own mutex is the innermost of all.
class push_counter {
 public:
  explicit push_counter(std::uint32_t workers) : since_(workers, absent), step_(workers), samples_(workers) {}

  struct state {
    std::uint64_t pushes = 0;
    std::uint64_t samples = 0;      ///< that were applied or accumulated
    std::optional<double> begin{};  ///< of the first step; seconds of the server
    double last = 0;                ///< when the last push was in
  };

  /// What the controller did.
  void note(const record&) noexcept;
  /// What the step that this worker pushes spent; before the push is committed.
  void will_push(std::uint32_t worker, const made_step& step) {
    step_[worker] = step.spent;
    samples_[worker] = step.work.samples;
  }
  /// The state once there are more pushes than these, or at the limit.
  [[nodiscard]] state after(std::uint64_t pushes, std::chrono::steady_clock::time_point limit);

  // Once all pushes have ended.
  [[nodiscard]] const step_times& spent() const noexcept { return spent_; }
  [[nodiscard]] double in_steps() const noexcept { return in_steps_; }  ///< from releases to commits; seconds
  /// Of all workers together, from their coming to the first step: for those that had not come yet. Seconds.
  [[nodiscard]] double waited_before_begin() const noexcept { return waited_before_begin_; }
  [[nodiscard]] const sim::staleness_histogram& staleness() const noexcept { return staleness_; }

 private:
  static constexpr double absent = -1;
  void note_before_begin(const record&) noexcept;

  std::mutex mutex_;
  std::condition_variable changed_;
  state now_;
  std::vector<double> since_;     // when each worker was released; before the first step, when it came
  std::vector<step_times> step_;  // of the step that each of them pushes
  std::vector<std::uint32_t> samples_;
  step_times spent_;
  double in_steps_ = 0, waited_before_begin_ = 0;
  sim::staleness_histogram staleness_;
};

/// Observes the controller of a run: for its statistics, and for another observer, which may be null.
struct run_watcher {
  push_counter* pushes;
  any_observer* also;
  void operator()(const record& r) noexcept {
    pushes->note(r);
    if (also != nullptr) (*also)(r);
  }
  void answered(const event& asked, const decision& answer, const insight& by) noexcept {
    if (also != nullptr) also->answered(asked, answer, by);
  }
};

/// Where a run in real time takes place: a parameter server whose controller is watched by `scores` and a run_watcher,
/// and whatever its workers are. All calls come from one thread.
class real_host {
 public:
  virtual ~real_host() = default;
  virtual void begin_life(worker_id) = 0;
  virtual void end_life(worker_id, sim::failure_kind) = 0;  ///< death or leave
  /// Does what is due. Returns when to call again at the latest; errors are thrown.
  virtual std::chrono::steady_clock::time_point attend() = 0;
  [[nodiscard]] virtual double now() = 0;          ///< seconds of the server
  virtual void snapshot(std::span<float> to) = 0;  ///< of the parameters
  virtual void close() = 0;                        ///< returns when no worker is left

  /// What the controller has counted.
  struct counts {
    std::uint64_t updates = 0;
    std::uint64_t overrides = 0;
    std::uint64_t dropped = 0;
    double waited = 0;  ///< of all workers together; seconds
  };
  /// At a time of the server; after close().
  [[nodiscard]] virtual counts counted(double at) = 0;

 protected:
  /// That of a controller and the scores that watch it.
  template <class Controller>
  [[nodiscard]] static counts counted_by(const Controller& sync, const scores& seen, std::uint32_t workers, double at) {
    counts all{.updates = sync.updates(), .overrides = sync.counts().overrides()};
    for (std::uint32_t w = 0; w < workers; ++w) {
      const worker_score of = seen.of(w, at);
      all.waited += of.waited;
      all.dropped += of.gradients.lost();
    }
    return all;
  }

  /// For threads of the host: what `work` cannot go on after, short memory say, ends the run.
  template <class Work>
  void or_give_up(Work&& work) {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock{failure_mutex_};
      if (!failure_) failure_ = std::current_exception();
    }
  }
  /// For attend(): throws what a thread could not go on after, if there is such.
  void throw_failure() {
    const std::lock_guard lock{failure_mutex_};
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
};

/// A run in real time, whatever its host: begins and ends lives as the scenario has it, evaluates, finds the end, and
/// says what was seen.
class real_run {
 public:
  real_run(const setting&, const training_data&, std::uint64_t seed);

  [[nodiscard]] push_counter& pushes() noexcept { return pushes_; }
  /// To begin with.
  [[nodiscard]] std::span<const float> parameters() noexcept { return judge_.parameters(); }
  /// How many workers are there from the start; at least 1.
  [[nodiscard]] std::uint32_t quorum() const noexcept { return present_ > 0 ? present_ : 1; }

  /// Nothing if `stop` was raised meanwhile. The host is closed when it returns, but not where it throws.
  /// Errors  those of the host; runtime_error if the workers do not all come within a minute
  [[nodiscard]] std::optional<measurement> operator()(real_host&, const std::atomic<bool>& stop);

 private:
  [[nodiscard]] bool comes_later(std::uint32_t worker) const;
  void supervise(real_host&, const std::atomic<bool>& stop);
  void carry_out_failures(real_host&, double now);
  [[nodiscard]] double units_since_begin(real_host&, const push_counter::state&) const;
  [[nodiscard]] measurement summary(real_host&) const;

  const sim::cluster_options machines_;
  const sim::run_options run_;
  const double unit_;  // seconds of one unit of time
  sim::sgd_objective judge_;
  push_counter pushes_;
  std::vector<sim::failure> failures_;
  std::size_t next_failure_ = 0;
  std::vector<std::uint32_t> incarnations_;
  std::uint32_t present_ = 0;
  sim::run_end end_ = sim::run_end::unfinished;
  sim::evaluation judged_{};
  double time_ = 0;
  measurement measured_;  // of each evaluation, so far
  push_counter::state seen_;
};

/// What of this scenario no host in real time has, as a sentence that names the key; empty if they have everything.
[[nodiscard]] std::string not_in_real_time(const support::scenario&);

}  // namespace rubato::lab

#endif
