#ifndef RUBATO_TESTS_SUPPORT_THREAD_SHORTAGE_HPP
#define RUBATO_TESTS_SUPPORT_THREAD_SHORTAGE_HPP

#include <gtest/gtest.h>
#include <pthread.h>

#include <cstddef>

namespace rubato::test {

/// From begin() to its end no thread can be made in this process: their stacks would be larger than any memory.
class thread_shortage {
 public:
  thread_shortage() {
    pthread_attr_init(&before_);
    pthread_getattr_default_np(&before_);
  }
  ~thread_shortage() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  thread_shortage(const thread_shortage&) = delete;
  thread_shortage& operator=(const thread_shortage&) = delete;
  void begin() {
    pthread_attr_t huge;
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, std::size_t{1} << 62);
    EXPECT_EQ(pthread_setattr_default_np(&huge), 0);
    pthread_attr_destroy(&huge);
  }

 private:
  pthread_attr_t before_;
};

}  // namespace rubato::test

#endif
