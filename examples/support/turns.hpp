#ifndef RUBATO_EXAMPLES_SUPPORT_TURNS_HPP
#define RUBATO_EXAMPLES_SUPPORT_TURNS_HPP

#include <algorithm>
#include <chrono>
#include <thread>

namespace rubato::support {

/// Computes for `length` on one of a few cores, time without a core not counted: first `work()`, whose own time counts,
/// and then a busy loop. Whoever has had its quantum gives the core up if another waits, and queues again. Ends early
/// once `ends()`, asked all the time. Returns how long it was without a core.
///
/// `cores` has acquire(), which waits for a core and returns for how long, release(), and others_wait().
/// Tests   tests/examples/core_permits_test.cpp, tests/examples/process_permits_test.cpp
template <class Cores, class Work, class Ends>
std::chrono::duration<double> compute_in_turns(Cores& cores, std::chrono::duration<double> quantum,
                                               std::chrono::duration<double> length, Work&& work, Ends&& ends) {
  using clock = std::chrono::steady_clock;
  using seconds = std::chrono::duration<double>;
  seconds without = cores.acquire();
  const struct held {
    Cores& core;
    ~held() { core.release(); }  // also where work() throws: others wait
  } until_the_end{cores};
  clock::time_point begin = clock::now();
  work();
  for (seconds left = length;;) {
    const auto until = begin + std::chrono::duration_cast<clock::duration>((std::min)(left, quantum));
    while (clock::now() < until && !ends()) std::this_thread::yield();
    left -= clock::now() - begin;
    if (left <= seconds::zero() || ends()) break;
    if (cores.others_wait()) cores.release(), without += cores.acquire();
    begin = clock::now();
  }
  return without;
}

}  // namespace rubato::support

#endif
