#ifndef RUBATO_EXAMPLES_SUPPORT_CORE_PERMITS_HPP
#define RUBATO_EXAMPLES_SUPPORT_CORE_PERMITS_HPP

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <utility>

#include "turns.hpp"

namespace rubato::support {

/// So many cores for any number of threads, in real time: what `cluster.cores` is to the simulator. Whoever computes
/// holds a core and keeps it busy; those for whom none is left take turns, a quantum each, in the order in which they
/// came, so that all advance at the same pace.
///
/// The cores are permits, not the machine's: a machine with fewer shares them out as it likes, and time that passes
/// while it does counts as computed.
///
/// Thread  safe
/// Tests   tests/examples/core_permits_test.cpp: NoMoreComputeThanThereAreCores, ThoseWhoShareTakeTurns,
///         WorkCountsAsComputed, EndsEarlyWhereAsked
class core_permits {
 public:
  using clock = std::chrono::steady_clock;
  using seconds = std::chrono::duration<double>;

  /// `cores` 0: one for each thread.
  core_permits(std::uint32_t cores, seconds quantum) : limited_{cores > 0}, free_{cores}, quantum_{quantum} {}

  /// As compute_in_turns(). Returns how long it was without a core.
  template <class Work, class Ends>
  seconds compute(seconds length, Work&& work, Ends&& ends) {
    return compute_in_turns(*this, quantum_, length, std::forward<Work>(work), std::forward<Ends>(ends));
  }

  /// How many compute now, of whom the limit speaks.
  [[nodiscard]] std::uint32_t busy() const noexcept { return busy_.load(std::memory_order_relaxed); }

  /// Waits for a core; returns how long.
  seconds acquire() {
    const clock::time_point asked = clock::now();
    if (limited_) {
      std::unique_lock lock{mutex_};
      if (free_ > 0) {
        --free_;
      } else {
        waiter me;
        queue_.push_back(&me);
        waiting_.fetch_add(1, std::memory_order_relaxed);
        me.called.wait(lock, [&] { return me.has_core; });
      }
    }
    busy_.fetch_add(1, std::memory_order_relaxed);
    return clock::now() - asked;
  }
  /// Gives it to whoever waits for the longest time.
  void release() {
    busy_.fetch_sub(1, std::memory_order_relaxed);
    if (!limited_) return;
    const std::lock_guard lock{mutex_};
    if (queue_.empty()) {
      ++free_;
      return;
    }
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    queue_.front()->has_core = true;
    queue_.front()->called.notify_one();  // under the mutex: the waiter is gone once it has seen its core
    queue_.pop_front();
  }
  [[nodiscard]] bool others_wait() const noexcept { return waiting_.load(std::memory_order_relaxed) > 0; }

 private:
  struct waiter {
    std::condition_variable called;
    bool has_core = false;
  };

  const bool limited_;
  std::mutex mutex_;
  std::uint32_t free_;
  std::deque<waiter*> queue_;
  std::atomic<std::uint32_t> waiting_ = 0;
  std::atomic<std::uint32_t> busy_ = 0;
  const seconds quantum_;
};

}  // namespace rubato::support

#endif
