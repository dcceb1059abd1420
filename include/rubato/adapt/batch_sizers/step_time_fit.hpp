#ifndef RUBATO_ADAPT_BATCH_SIZERS_STEP_TIME_FIT_HPP
#define RUBATO_ADAPT_BATCH_SIZERS_STEP_TIME_FIT_HPP

#include <algorithm>

#include "../../core/archive.hpp"
#include "../../pinned.hpp"

namespace rubato::inline RUBATO_ABI::adapt::detail {

/// An affine fit of a worker's step time to its samples: a regression in which older periods count less, and a
/// proportion as long as its batches have hardly differed. O(1).
class step_time_fit {
 public:
  /// A period of so many samples and so long a time for each step; `newest`: what it counts, in (0, 1].
  void add(double samples, double time, double newest) noexcept {
    const double by = known() ? newest : 1.0;
    const double more_samples = samples - samples_, more_time = time - time_;
    samples_ += by * more_samples;
    time_ += by * more_time;
    scatter_ = (1 - by) * (scatter_ + by * more_samples * more_samples);
    slope_ = (1 - by) * (slope_ + by * more_samples * more_time);
  }

  [[nodiscard]] bool known() const noexcept { return samples_ > 0; }
  /// At least 0; 0 as long as nothing is known.
  [[nodiscard]] double time_of(double samples) const noexcept {
    return known() ? (std::max)(time_ + time_per_sample() * (samples - samples_), 0.0) : 0.0;
  }
  /// Samples of a step that takes so long, maybe below 0; 0 as long as nothing is known.
  [[nodiscard]] double samples_in(double time) const noexcept {
    return known() ? samples_ + (time - time_) / time_per_sample() : 0.0;
  }

  void state(archive& bytes) {
    bytes(samples_, time_, scatter_, slope_);
    const bool sound = pinned::within(samples_, 0, largest) && pinned::within(time_, 0, largest) &&
                       pinned::within(scatter_, 0, largest) && pinned::within(slope_, -largest, largest) &&
                       (samples_ > 0) == (time_ > 0);
    if (!sound) bytes.fail();
  }

 private:
  static constexpr double largest = 1e100;
  static constexpr double hardly_differed = 0.02;  // standard deviation over mean

  [[nodiscard]] double time_per_sample() const noexcept {
    const double proportion = time_ / samples_;
    if (scatter_ < hardly_differed * hardly_differed * samples_ * samples_) return proportion;
    return std::clamp(slope_ / scatter_, 0.01 * proportion, proportion);
  }

  double samples_ = 0, time_ = 0;   // means
  double scatter_ = 0, slope_ = 0;  // variance of the samples, covariance with the time
};

}  // namespace rubato::inline RUBATO_ABI::adapt::detail

#endif
