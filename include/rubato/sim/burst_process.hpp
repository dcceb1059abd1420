#ifndef RUBATO_SIM_BURST_PROCESS_HPP
#define RUBATO_SIM_BURST_PROCESS_HPP

#include <cmath>
#include <cstdint>

#include "../core/rng.hpp"

namespace rubato::inline RUBATO_ABI::sim {

/// Bursts and the gaps between them, in turn, each of exponential length: Gilbert's channel in continuous time. It
/// begins in a burst with the share of time that bursts have in the long run, so that all times are alike.
///
/// Pre     length and gap are above 0; `now` never runs back
/// Random  keyed by (seed, the two streams): when it is asked changes nothing
/// Cost    O(1), amortised over the changes. No allocation. Not thread-safe.
/// Tests   tests/sim/burst_process_test.cpp: TakesItsShareOfTime, ChangesAsOftenAsItShould, AskedWheneverTheSame
/// Source  Gilbert, "Capacity of a Burst-Noise Channel", Bell System Technical Journal 39(5), 1960
class burst_process {
 public:
  /// Mean lengths, in units of time; the streams are for how it begins, and for how long each burst and gap is.
  burst_process(double length, double gap, std::uint64_t seed, std::uint64_t first_stream, std::uint64_t length_stream)
      : length_{length},
        gap_{gap},
        seed_{seed},
        stream_{length_stream},
        bursting_{random_sequence{seed, first_stream}.uniform() < length / (length + gap)},
        end_{next_length()} {}

  /// Whether there is a burst at this time.
  [[nodiscard]] bool at(double now) noexcept {
    while (end_ <= now) {
      bursting_ = !bursting_;
      ++number_;
      end_ += next_length();
    }
    return bursting_;
  }
  /// When what at() has found last ends.
  [[nodiscard]] double end() const noexcept { return end_; }

 private:
  [[nodiscard]] double next_length() const noexcept {
    const double mean = bursting_ ? length_ : gap_;
    return -mean * std::log(1 - random_sequence{seed_, stream_, number_}.uniform());
  }

  double length_;
  double gap_;
  std::uint64_t seed_;
  std::uint64_t stream_;
  std::uint64_t number_ = 0;
  bool bursting_;
  double end_;
};

}  // namespace rubato::inline RUBATO_ABI::sim

#endif
