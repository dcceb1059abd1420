#ifndef RUBATO_ENCODE_NORMALISER_HPP
#define RUBATO_ENCODE_NORMALISER_HPP

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "../core/archive.hpp"
#include "encoder.hpp"

namespace rubato::inline RUBATO_ABI {

/// Shifts and scales each number of an observation to mean 0 and deviation 1, by statistics of those it has seen.
///
///     rubato::normaliser<40> scale;
///     scale.observe(observation);           // while training
///     scale.freeze();                       // from now on the statistics stay
///     scale.apply(observation);             // in place, within +-10
///
/// A number that never varies becomes 0. Before anything was seen, apply() changes nothing. A number that is not finite
/// is not counted, and becomes 0.
///
/// Cost    observe, apply: O(Dim), one square root per number in observe. No allocation. Not thread-safe.
/// Tests   tests/encode/normaliser_test.cpp: MeanAndVariance, AppliesInPlace, FreezesAndThaws, StateRoundTrip,
///         GivenStatistics, IgnoresWhatIsNotFinite, IdentityBeforeAnythingWasSeen, TheLeastVarianceStaysTheLeast
/// Source  Welford, "Note on a Method for Calculating Corrected Sums of Squares and Products", Technometrics 4(3), 1962
template <std::size_t Dim>
class normaliser {
 public:
  static constexpr double least_variance = 1e-12;
  static constexpr double limit = 10;  ///< of what apply() gives

  /// Takes an observation into account, unless frozen.
  void observe(std::span<const float, Dim> numbers) noexcept {
    if (frozen_) return;
    ++count_;
    const auto n = static_cast<double>(count_);
    for (std::size_t i = 0; i < Dim; ++i) {
      const auto x = static_cast<double>(numbers[i]);
      if (std::isfinite(x)) {
        const double off = x - mean_[i];
        mean_[i] += off / n;
        squares_[i] += off * (x - mean_[i]);
      } else {
        squares_[i] += squares_[i] / n;  // as if it had lain where the others lie
      }
      rescale(i);
    }
  }

  void apply(std::span<float, Dim> numbers) const noexcept {
    if (count_ == 0) return;
    for (std::size_t i = 0; i < Dim; ++i) {
      const double x = (static_cast<double>(numbers[i]) - mean_[i]) * scale_[i];
      numbers[i] = x != x ? 0.0F : static_cast<float>(x < -limit ? -limit : x > limit ? limit : x);
    }
  }

  void freeze(bool frozen = true) noexcept { frozen_ = frozen; }
  [[nodiscard]] bool frozen() const noexcept { return frozen_; }

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }  ///< observations; 0: apply() changes nothing
  [[nodiscard]] std::span<const double, Dim> mean() const noexcept { return mean_; }
  /// Of one number, over all observations; at least least_variance.
  [[nodiscard]] double variance(std::size_t i) const noexcept {
    const double v = count_ == 0 ? 1.0 : squares_[i] / static_cast<double>(count_);
    return v > least_variance ? v : least_variance;
  }

  /// Takes statistics from elsewhere, such as a file, and freezes. Precondition: finite, variances above 0, count > 0.
  void assign(std::span<const double, Dim> mean, std::span<const double, Dim> variance, std::uint64_t count) noexcept {
    count_ = count;
    for (std::size_t i = 0; i < Dim; ++i) {
      mean_[i] = mean[i];
      const bool varies = variance[i] > least_variance;  // rounding must not lift the least above itself
      squares_[i] = varies ? variance[i] * static_cast<double>(count) : 0.0;
      scale_[i] = scale_of(variance[i]);
    }
    frozen_ = true;
  }

  /// Saves or loads everything.
  void state(archive& bytes) {
    bytes(count_, frozen_);
    for (std::size_t i = 0; i < Dim; ++i) bytes(mean_[i], squares_[i], scale_[i]);
  }

 private:
  [[nodiscard]] static double scale_of(double variance) noexcept {
    return variance > least_variance ? 1 / std::sqrt(variance) : 0.0;
  }
  void rescale(std::size_t i) noexcept { scale_[i] = scale_of(squares_[i] / static_cast<double>(count_)); }

  std::array<double, Dim> mean_{};
  std::array<double, Dim> squares_{};  // sum of squared deviations
  std::array<double, Dim> scale_{};
  std::uint64_t count_ = 0;
  bool frozen_ = false;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
