#ifndef RUBATO_GLOO_PS_MAILBOX_HPP
#define RUBATO_GLOO_PS_MAILBOX_HPP

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <rubato/core/reason.hpp>
#include <rubato/core/types.hpp>
#include <utility>

#include "transport.hpp"

namespace rubato::inline RUBATO_ABI::gloo_ps {

/// Where the session of a worker learns what the controller decided about it: a grant, or that none will come.
///
/// Thread  put(), close() and cancel() from any, the rest from the session's
/// Tests   tests/integrations/gloo_ps/decision_maker_test.cpp: EveryTicketIsAnswered
class mailbox {
 public:
  /// One answer of the controller.
  struct letter {
    bool granted = false;       ///< the worker may go on, under these terms
    grant terms{};              ///< if granted
    reason why = reason::none;  ///< of the end, if nothing was granted
  };

  /// A grant, in the place of a letter that was not taken. It forgets a cancel() of the step before.
  void put(const grant& terms) {
    cancelled_ = false;  // what was cancelled is over
    deliver({.granted = true, .terms = terms});
  }
  void close(reason why) { deliver({.why = why}); }  ///< no grant will come
  void cancel() noexcept { cancelled_ = true; }      ///< the gradient of the running step will be dropped
  /// Whether the running step was cancelled since this was last asked.
  [[nodiscard]] bool take_cancel() noexcept { return cancelled_.exchange(false); }

  /// The letter, or nothing if none has come by then.
  std::optional<letter> take(steady::time_point deadline) {
    std::unique_lock lock{mutex_};
    arrival_.wait_until(lock, deadline, [this] { return letter_.has_value(); });
    return std::exchange(letter_, std::nullopt);
  }

 private:
  void deliver(const letter& news) {
    const std::lock_guard lock{mutex_};
    letter_ = news;
    arrival_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable arrival_;
  std::optional<letter> letter_;
  std::atomic<bool> cancelled_ = false;
};

/// By what the controller answers a waiting worker.
using ticket = std::shared_ptr<mailbox>;

}  // namespace rubato::inline RUBATO_ABI::gloo_ps

#endif
