#ifndef RUBATO_BENCH_EXPERIMENTS_LATENCIES_HPP
#define RUBATO_BENCH_EXPERIMENTS_LATENCIES_HPP

#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace rubato::bench {

/// How often something took how long, to about one percent: 64 steps for each doubling of the nanoseconds.
///
/// Of fixed size and without pointers, so that it can lie in memory that processes share.
/// Thread  any number
class latencies {
 public:
  void add(std::uint64_t nanoseconds) noexcept {
    counts_[place_of(nanoseconds)].fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t count() const noexcept {
    std::uint64_t all = 0;
    for (const auto& n : counts_) all += n.load(std::memory_order_relaxed);
    return all;
  }
  /// Nanoseconds that the share `at` of them took at most; 0 if there are none.
  [[nodiscard]] double quantile(double at) const noexcept {
    const std::uint64_t all = count();
    if (all == 0) return 0;
    auto left = static_cast<std::int64_t>(std::ceil(at * static_cast<double>(all)));
    std::size_t place = 0;
    while (place + 1 < counts_.size() &&
           (left -= static_cast<std::int64_t>(counts_[place].load(std::memory_order_relaxed))) > 0)
      ++place;
    return middle_of(place);
  }

 private:
  static constexpr std::size_t steps = 64;
  static std::size_t place_of(std::uint64_t n) noexcept {
    if (n < steps) return static_cast<std::size_t>(n);
    const auto shift = static_cast<unsigned>(std::bit_width(n)) - 7;  // leaves 64 to 127
    return (shift + 1) * steps + static_cast<std::size_t>((n >> shift) - steps);
  }
  static double middle_of(std::size_t place) noexcept {
    if (place < steps) return static_cast<double>(place);
    const std::size_t shift = place / steps - 1;
    return std::ldexp(static_cast<double>(place % steps + steps) + 0.5, static_cast<int>(shift));
  }

  std::array<std::atomic<std::uint64_t>, 59 * steps> counts_{};
};

}  // namespace rubato::bench

#endif
