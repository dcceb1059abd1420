#ifndef RUBATO_ENCODE_NORMALISER_HPP
#define RUBATO_ENCODE_NORMALISER_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "../core/archive.hpp"
#include "../pinned.hpp"
#include "encoder.hpp"

namespace rubato::inline RUBATO_ABI {

/// Shifts and scales each number of an observation to mean 0 and deviation 1, by statistics of those it has seen.
///
///     rubato::normaliser<40> scale;
///     scale.observe(observation);           // while training
///     scale.freeze();                       // from now on the statistics stay
///     scale.apply(observation);             // in place, within +-10
///
/// A number that never varies becomes 0. Before anything was seen, apply() changes nothing. What is not finite is not
/// counted: mean and variance of each number are those of its finite values. apply() makes NaN 0, and infinity +-10 as
/// any other number that is far away.
///
/// Cost    observe, apply: O(Dim), one square root per number in observe. No allocation. Not thread-safe.
/// Tests   tests/encode/normaliser_test.cpp: MeanAndVariance, AppliesInPlace, FreezesAndThaws, StateRoundTrip,
///         GivenStatistics, GivenStatisticsAreKept, GoesOnFromGivenStatistics, IgnoresWhatIsNotFinite,
///         NeverFiniteBecomesZero, IdentityBeforeAnythingWasSeen, TheLeastVarianceStaysTheLeast, ReadsStateOfBefore,
///         BadStateChangesNothing
/// Source  Welford, "Note on a Method for Calculating Corrected Sums of Squares and Products", Technometrics 4(3), 1962
template <std::size_t Dim>
class normaliser {
 public:
  static constexpr double least_variance = 1e-12;  ///< a number of no more than this counts as one that never varies
  static constexpr double limit = 10;              ///< of what apply() gives

  /// Takes an observation into account, unless frozen.
  void observe(std::span<const float, Dim> numbers) noexcept {
    if (frozen_ || count_ == (std::numeric_limits<std::uint64_t>::max)()) return;
    if (given_) sum_up();
    ++count_;
    count_in(numbers.data(), mean_.data(), squares_.data(), scale_.data(), counts_.data());
  }

  /// Shifts and scales an observation in place.
  void apply(std::span<float, Dim> numbers) const noexcept { apply_to<0, Dim>(numbers); }
  /// The same for Count numbers of an observation, from number First on.
  template <std::size_t First, std::size_t Count>
  requires(First + Count <= Dim) void apply_to(std::span<float, Count> numbers) const noexcept {
    if (count_ != 0) scale_in(numbers.data(), mean_.data() + First, scale_.data() + First, Count);
  }

  /// After this observe() changes nothing; with false it does again.
  void freeze(bool frozen = true) noexcept { frozen_ = frozen; }
  [[nodiscard]] bool frozen() const noexcept { return frozen_; }  ///< also after assign()

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }  ///< observations; 0: apply() changes nothing
  /// Mean of each number; 0 before anything was seen.
  [[nodiscard]] std::span<const double, Dim> mean() const noexcept { return mean_; }
  /// Of one number, over its observations; at least least_variance, and 1 before anything was seen.
  [[nodiscard]] double variance(std::size_t i) const noexcept {
    if (count_ == 0) return 1.0;
    const double v = given_ || counts_[i] == 0 ? squares_[i] : squares_[i] / static_cast<double>(counts_[i]);
    return v > least_variance ? v : least_variance;
  }

  /// Takes statistics from elsewhere, such as a file, and freezes; mean() and variance() give them back, bit for bit.
  /// Precondition: finite, variances of at least least_variance (others count as that), count > 0.
  void assign(std::span<const double, Dim> mean, std::span<const double, Dim> variance, std::uint64_t count) noexcept {
    RUBATO_ASSERT(count > 0, "normaliser: statistics of no observation");
    count_ = count;
    for (std::size_t i = 0; i < Dim; ++i) {
      mean_[i] = mean[i];
      squares_[i] = variance[i];
      scale_[i] = scale_of(variance[i]);
    }
    counts_.fill(count);
    frozen_ = given_ = true;
  }

  /// Saves or loads everything; bad bytes change nothing.
  void state(archive& bytes) {
    normaliser read = *this;
    read.all(bytes);
    if (!bytes.saving() && bytes.ok()) *this = read;
  }

 private:
  enum form : std::uint8_t { is_frozen = 1, is_given = 2, has_counts = 4 };  // bits

  void all(archive& bytes) {
    bool apart = false;  // else each number was finite in each observation
    for (const std::uint64_t n : counts_) apart = apart || n != count_;
    auto bits = std::uint8_t{0};
    bits |= frozen_ ? is_frozen : 0;
    bits |= given_ ? is_given : 0;
    bits |= apart ? has_counts : 0;
    bytes(count_, bits);
    for (std::size_t i = 0; i < Dim; ++i) {
      bytes(mean_[i], squares_[i], scale_[i]);
      const bool sane = pinned::is_finite(mean_[i]) && pinned::is_finite(squares_[i]) && pinned::is_finite(scale_[i]);
      if (!bytes.saving() && !(sane && squares_[i] >= 0 && scale_[i] >= 0)) bytes.fail();
    }
    if (!bytes.saving()) counts_.fill(count_);
    for (std::size_t i = 0; i < Dim && (bits & has_counts) != 0; ++i) bytes(counts_[i]);
    for (const std::uint64_t n : counts_)
      if (n > count_) bytes.fail();
    if (bits >= 2 * has_counts) bytes.fail();
    frozen_ = (bits & is_frozen) != 0;
    given_ = (bits & is_given) != 0;
  }

  // Pinned: statistics are part of what is learned, and must not depend on the flags of the unit that gathers them.
  RUBATO_DETAIL_PINNED static void count_in(const float* numbers, double* mean, double* squares, double* scale,
                                            std::uint64_t* counts) noexcept {
    RUBATO_DETAIL_EXACT
    for (std::size_t i = 0; i < Dim; ++i) {
      const auto x = static_cast<double>(numbers[i]);
      if (!(x - x == 0)) continue;  // not finite
      const auto n = static_cast<double>(++counts[i]);
      const double off = x - mean[i];
      mean[i] += off / n;
      squares[i] += off * (x - mean[i]);
      scale[i] = scale_of(squares[i] / n);
    }
  }
  RUBATO_DETAIL_PINNED static void scale_in(float* numbers, const double* mean, const double* scale,
                                            std::size_t count) noexcept {
    RUBATO_DETAIL_EXACT
    for (std::size_t i = 0; i < count; ++i) {
      const double x = (static_cast<double>(numbers[i]) - mean[i]) * scale[i];
      numbers[i] = x != x ? 0.0F : static_cast<float>(x < -limit ? -limit : x > limit ? limit : x);
    }
  }
  [[nodiscard]] RUBATO_DETAIL_PINNED_INLINE static double scale_of(double variance) noexcept {
    RUBATO_DETAIL_EXACT
    return variance > least_variance ? 1 / pinned::square_root(variance) : 0.0;
  }
  // From variances that were given to the sums that observe() continues.
  void sum_up() noexcept {
    constexpr double most = (std::numeric_limits<double>::max)();
    for (std::size_t i = 0; i < Dim; ++i) {
      const double sum = squares_[i] * static_cast<double>(count_);
      squares_[i] = !(squares_[i] > least_variance) ? 0.0 : sum < most ? sum : most;
    }
    given_ = false;
  }

  std::array<double, Dim> mean_{};
  std::array<double, Dim> squares_{};  // sum of squared deviations; variance if given_
  std::array<double, Dim> scale_{};
  std::array<std::uint64_t, Dim> counts_{};  // finite values of each number
  std::uint64_t count_ = 0;
  bool frozen_ = false;
  bool given_ = false;  // by assign(), and nothing was observed since
};

}  // namespace rubato::inline RUBATO_ABI

#endif
