#ifndef RUBATO_EXAMPLES_SUPPORT_PARALLEL_HPP
#define RUBATO_EXAMPLES_SUPPORT_PARALLEL_HPP

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace rubato::support {

/// Calls work(tool, i) once for each i below `count`, on so many threads, each with a tool of its own from make(). Who
/// does which i is a matter of chance, so `work` must come to the same whoever does it.
///
/// No further call begins once `stop` is raised or a call has thrown; the first exception is thrown again here.
/// Tests   tests/examples/parallel_test.cpp: EachOnce, StopsWhenAsked, ThrowsTheFirst
template <class Make, class Work>
void share_out(std::size_t count, unsigned threads, const std::atomic<bool>& stop, Make make, Work work) {
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  std::exception_ptr failure;
  std::mutex mutex;
  const auto take = [&] {
    try {
      auto tool = make();
      while (!stop && !failed) {
        const std::size_t taken = next++;
        if (taken >= count) return;
        work(tool, taken);
      }
    } catch (...) {
      const std::lock_guard lock{mutex};
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t t = 1; t < (std::min<std::size_t>)(threads, count); ++t) others.emplace_back(take);
    take();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace rubato::support

#endif
