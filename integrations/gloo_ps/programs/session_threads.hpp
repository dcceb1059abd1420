#ifndef RUBATO_GLOO_PS_PROGRAMS_SESSION_THREADS_HPP
#define RUBATO_GLOO_PS_PROGRAMS_SESSION_THREADS_HPP

#include <atomic>
#include <list>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

/// Threads of conversations: those that have ended are joined now and then, the rest at the end.
class session_threads {
 public:
  ~session_threads() {
    for (entry& e : running_) e.thread.join();
  }
  /// Empty, or why there is no thread for it: a limit on threads or memory. Then the work is let go.
  template <class Work>
  [[nodiscard]] std::string start(Work&& work) {
    auto over = std::make_unique<std::atomic<bool>>(false);
    std::atomic<bool>& flag = *over;
    try {
      running_.push_back({std::move(over), std::thread{[&flag, w = std::forward<Work>(work)]() mutable {
                            w();
                            flag = true;
                          }}});
    } catch (const std::system_error& e) {
      return std::string{"no thread for another worker: "} + e.what();
    }
    return {};
  }
  void reap() {
    for (auto e = running_.begin(); e != running_.end();) {
      if (!*e->over) {
        ++e;
        continue;
      }
      e->thread.join();
      e = running_.erase(e);
    }
  }

 private:
  struct entry {
    std::unique_ptr<std::atomic<bool>> over;
    std::thread thread;
  };
  std::list<entry> running_;
};

#endif
