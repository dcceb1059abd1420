#ifndef RUBATO_GLOO_PS_GLOO_ALARM_HPP
#define RUBATO_GLOO_PS_GLOO_ALARM_HPP

#include <gloo/transport/unbound_buffer.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "transport.hpp"

namespace rubato::inline RUBATO_ABI::gloo_ps {

/// Ends waits at their deadline, without harm to the connection: Gloo's own time-outs break it.
///
/// One thread for all links of a process. It aborts the waits of a buffer whose time has come: its waitRecv() or
/// waitSend() returns false, and what it waited for stays under way.
/// Thread  any number
/// Tests   tests/integrations/gloo_ps/gloo_link_test.cpp: PollDoesNoHarm
class gloo_alarm {
 public:
  gloo_alarm() : thread_{[this] { run(); }} {}
  gloo_alarm(const gloo_alarm&) = delete;
  gloo_alarm& operator=(const gloo_alarm&) = delete;
  ~gloo_alarm() {
    {
      const std::lock_guard lock{mutex_};
      closing_ = true;
    }
    news_.notify_one();
    thread_.join();
  }

  /// Set for as long as it lives; once it is gone, the buffer is not touched any more.
  class setting {
   public:
    /// At that time the waits on `buffer` are aborted. Both must outlive it.
    setting(gloo_alarm& alarm, steady::time_point when, gloo::transport::UnboundBuffer& buffer) : alarm_{alarm} {
      const std::lock_guard lock{alarm_.mutex_};
      entry_ = alarm_.entries_.emplace(when, &buffer);
      if (when < alarm_.wakes_at_) alarm_.news_.notify_one();  // most waits end before, and then nobody was woken
    }
    setting(const setting&) = delete;
    setting& operator=(const setting&) = delete;
    ~setting() {
      const std::lock_guard lock{alarm_.mutex_};
      alarm_.entries_.erase(entry_);
    }

   private:
    gloo_alarm& alarm_;
    std::multimap<steady::time_point, gloo::transport::UnboundBuffer*>::iterator entry_;
  };

 private:
  void run() {
    std::unique_lock lock{mutex_};
    while (!closing_) {
      if (entries_.empty()) {
        wakes_at_ = steady::time_point::max();
        news_.wait(lock);
        continue;
      }
      const steady::time_point now = steady::now();
      wakes_at_ = entries_.begin()->first;
      if (wakes_at_ > now) {
        news_.wait_until(lock, wakes_at_);
        continue;
      }
      // Who was told and has not taken itself off the list yet is told again later: the wait may not have begun.
      auto due = entries_.extract(entries_.begin());
      due.mapped()->abortWaitRecv();  // a buffer is used in one direction, so the other call is without effect
      due.mapped()->abortWaitSend();
      due.key() = now + std::chrono::milliseconds{5};
      entries_.insert(std::move(due));
    }
  }

  std::mutex mutex_;
  std::condition_variable news_;
  std::multimap<steady::time_point, gloo::transport::UnboundBuffer*> entries_;
  steady::time_point wakes_at_ = steady::time_point::max();  // not earlier than the thread really does
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace rubato::inline RUBATO_ABI::gloo_ps

#endif
