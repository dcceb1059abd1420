#ifndef RUBATO_GLOO_PS_PROGRAMS_SESSION_THREADS_HPP
#define RUBATO_GLOO_PS_PROGRAMS_SESSION_THREADS_HPP

#include <atomic>
#include <list>
#include <memory>
#include <thread>
#include <utility>

/// Threads of conversations: those that have ended are joined now and then, the rest at the end.
class session_threads {
 public:
  ~session_threads() {
    for (entry& e : running_) e.thread.join();
  }
  template <class Work>
  void start(Work&& work) {
    auto over = std::make_unique<std::atomic<bool>>(false);
    std::atomic<bool>& flag = *over;
    running_.push_back({std::move(over), std::thread{[&flag, w = std::forward<Work>(work)]() mutable {
                          w();
                          flag = true;
                        }}});
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
