#ifndef RUBATO_TESTS_SUPPORT_CREW_HPP
#define RUBATO_TESTS_SUPPORT_CREW_HPP

#include <deque>
#include <thread>
#include <utility>

namespace rubato::test {

/// Threads that are joined at the end, however it comes.
class crew {
 public:
  crew() = default;
  crew(const crew&) = delete;
  crew& operator=(const crew&) = delete;
  ~crew() { gather(); }
  template <class F>
  void start(F&& work) {
    threads_.emplace_back(std::forward<F>(work));
  }
  void gather() {
    for (std::thread& t : threads_)
      if (t.joinable()) t.join();
  }

 private:
  std::deque<std::thread> threads_;
};

}  // namespace rubato::test

#endif
