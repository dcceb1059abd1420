#ifndef RUBATO_SYNC_EXTRAS_RESUME_QUEUE_HPP
#define RUBATO_SYNC_EXTRAS_RESUME_QUEUE_HPP

#include <coroutine>
#include <cstddef>
#include <utility>

#include "../../config.hpp"

namespace rubato::inline RUBATO_ABI::detail {

/// A coroutine that waits. Lives in its frame, as part of what it awaits; is gone as soon as it has been resumed.
struct waiting_coroutine {
  std::coroutine_handle<> coroutine{};
  waiting_coroutine* after = nullptr;
};

/// Coroutines that may go on, in their order, and the loop that hands them to an executor.
///
/// The executor may resume a coroutine inside the call, and that one may let others go on before it suspends. They are
/// left to the loop that this thread is in already: the stack does not grow with their number.
///
/// Thread  not thread-safe: all under the lock that is passed to run(), and open while the executor is called. Several
///         threads may run it at once.
/// Cost    O(1) for each coroutine; runs_here() is linear in the loops, of any queues, that this thread is in. No
///         allocation.
/// Tests   tests/extras/gate_awaitable_test.cpp: AMillionStepsAtOnceNeedNoStack, TwoGatesAreLeftToTheirOwnLoops,
///         AThreadThatSleepsInsideAnExecutorLeavesNobodyBehind
class resume_queue {
 public:
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  void push(waiting_coroutine& last) noexcept {
    (empty() ? first_ : last_->after) = &last;
    last_ = &last;
    ++size_;
  }

  /// Whether the caller runs inside run(): what is pushed now will be handed out when it returns.
  [[nodiscard]] bool runs_here() const noexcept {
    for (const loop* l = innermost; l != nullptr; l = l->outer)
      if (l->of == this) return true;
    return false;
  }

  /// Hands over, with `lock` open, until none is left, or `most` have been.
  template <class Lock, class Executor>
  void run(Lock& lock, Executor& executor, std::size_t most = static_cast<std::size_t>(-1)) {
    const loop here{this, innermost};
    innermost = &here;
    for (; most > 0 && !empty(); --most) {
      const std::coroutine_handle<> next = pop();
      lock.unlock();
      executor.resume(next);
      lock.lock();
    }
  }

 private:
  struct loop {
    const resume_queue* of;
    const loop* outer;
    ~loop() { innermost = outer; }  // also where a coroutine throws, which it must not
  };

  [[nodiscard]] std::coroutine_handle<> pop() noexcept {
    --size_;
    return std::exchange(first_, first_->after)->coroutine;
  }

  static inline thread_local const loop* innermost = nullptr;

  waiting_coroutine* first_ = nullptr;
  waiting_coroutine* last_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace rubato::inline RUBATO_ABI::detail

#endif
