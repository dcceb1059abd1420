#ifndef RUBATO_EXAMPLES_SUPPORT_ROBUST_MUTEX_HPP
#define RUBATO_EXAMPLES_SUPPORT_ROBUST_MUTEX_HPP

#include <pthread.h>

#include <cerrno>
#include <system_error>

namespace rubato::support {

/// A mutex in memory that processes share. One that dies while it holds it does not keep it: the next one is told.
///
/// Pre     made once, in shared memory, before anybody else maps it; never destroyed while a process uses it
/// Thread  any thread of any process
/// Tests   tests/examples/process_permits_test.cpp: WhoDiesInTheLockHoldsNobodyUp
class robust_mutex {
 public:
  robust_mutex() {
    pthread_mutexattr_t how;
    pthread_mutexattr_init(&how);
    pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
    const int failed = pthread_mutex_init(&mutex_, &how);
    pthread_mutexattr_destroy(&how);
    if (failed != 0) throw std::system_error{failed, std::generic_category(), "a mutex for processes"};
  }
  ~robust_mutex() { pthread_mutex_destroy(&mutex_); }
  robust_mutex(const robust_mutex&) = delete;
  robust_mutex& operator=(const robust_mutex&) = delete;

  /// Holds the mutex while it lives.
  class guard {
   public:
    explicit guard(robust_mutex& of) : of_{of} {
      const int answer = pthread_mutex_lock(&of_.mutex_);
      if (answer == EOWNERDEAD) {
        pthread_mutex_consistent(&of_.mutex_);
        inherited_ = true;
      } else if (answer != 0) {
        throw std::system_error{answer, std::generic_category(), "a mutex for processes"};
      }
    }
    ~guard() { pthread_mutex_unlock(&of_.mutex_); }
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;

    /// Whether the one before died while it held it: what it was about to do may be half done.
    [[nodiscard]] bool inherited() const noexcept { return inherited_; }

   private:
    robust_mutex& of_;
    bool inherited_ = false;
  };

 private:
  pthread_mutex_t mutex_;
};

}  // namespace rubato::support

#endif
