// Single calls timed by the processor's time stamp counter, fenced so that nothing overlaps: what was before has ended
// when a stamp is read, what follows has not begun.
#ifndef RUBATO_BENCH_MICRO_TSC_HPP
#define RUBATO_BENCH_MICRO_TSC_HPP

#if defined(__x86_64__)
#include <x86intrin.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace rubato::bench {

[[nodiscard]] inline std::uint64_t stamp() {
  _mm_lfence();
  const std::uint64_t now = __rdtsc();
  _mm_lfence();
  return now;
}

/// The counter of this machine, in nanoseconds.
struct counter {
  double tick;   ///< of one count: against std::chrono::steady_clock, over 50 ms
  double step;   ///< what all differences between stamps are a multiple of
  double empty;  ///< the least that a pair of stamps takes with nothing between

  counter() {
    using clock = std::chrono::steady_clock;
    const clock::time_point begin = clock::now();
    const std::uint64_t first = stamp();
    while (clock::now() - begin < std::chrono::milliseconds{50}) {}
    const clock::time_point end = clock::now();
    tick = std::chrono::duration<double, std::nano>(end - begin).count() / static_cast<double>(stamp() - first);
    std::uint64_t least = (std::numeric_limits<std::uint64_t>::max)(), common = 0;
    for (int n = 0; n < 10'000; ++n) {
      const std::uint64_t before = stamp(), between = stamp() - before;
      least = (std::min)(least, between);
      common = std::gcd(common, between);
    }
    step = static_cast<double>(common) * tick;
    empty = static_cast<double>(least) * tick;
  }

  /// Of these differences between stamps, without the empty pair: the share `at` of them is at most this long.
  [[nodiscard]] double quantile(std::vector<std::uint64_t>& differences, double at) const {
    if (differences.empty()) return 0;
    const auto index = static_cast<std::ptrdiff_t>(at * static_cast<double>(differences.size() - 1));
    std::nth_element(differences.begin(), differences.begin() + index, differences.end());
    return (std::max)(static_cast<double>(differences[static_cast<std::size_t>(index)]) * tick - empty, 0.0);
  }
};

}  // namespace rubato::bench
#endif

#endif
