// Random arrivals for the benchmarks: who pushes next, drawn uniformly from those that run, as with exponential step
// times.
#ifndef RUBATO_BENCH_MICRO_ARRIVALS_HPP
#define RUBATO_BENCH_MICRO_ARRIVALS_HPP

#include <cstddef>
#include <cstdint>
#include <rubato/core/rng.hpp>
#include <utility>
#include <vector>

namespace rubato::bench {

class arrivals {
 public:
  explicit arrivals(std::uint32_t workers) { running_.reserve(workers); }

  void starts(std::uint32_t worker) { running_.push_back(worker); }
  /// Takes one running worker out. Precondition: somebody runs.
  std::uint32_t next() {
    std::swap(running_[random_.below(running_.size())], running_.back());
    const std::uint32_t worker = running_.back();
    running_.pop_back();
    return worker;
  }

 private:
  std::vector<std::uint32_t> running_;
  random_sequence random_{1};
};

/// Steps until clocks have spread as far as they will.
inline std::size_t warm_up(std::uint32_t workers) { return std::size_t{workers} * 4 + 10'000; }

}  // namespace rubato::bench

#endif
