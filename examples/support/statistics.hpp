#ifndef RUBATO_EXAMPLES_SUPPORT_STATISTICS_HPP
#define RUBATO_EXAMPLES_SUPPORT_STATISTICS_HPP

#include <cstdint>
#include <span>
#include <vector>

namespace rubato::support {

/// A value with its 95 % interval.
struct estimate {
  double value = 0;
  double low = 0;
  double high = 0;
};

/// How to bootstrap. The same options give the same bits.
struct bootstrap_options {
  std::uint32_t resamples = 2'000;
  std::uint64_t seed = 0;
  double level = 0.95;  ///< probability that the interval shall hold
};

/// Mean of what is left without the ⌊n/4⌋ smallest and the ⌊n/4⌋ largest values; NaN for none.
///
/// Tests   tests/examples/statistics_test.cpp: InterquartileMean
/// Source  Agarwal et al., "Deep RL at the Edge of the Statistical Precipice", NeurIPS 2021 (trim_mean of SciPy, 0.25)
[[nodiscard]] double interquartile_mean(std::span<const double> values);

/// Quantile by linear interpolation between the order statistics (R's type 7); `p` in [0, 1]; NaN for no values.
[[nodiscard]] double quantile(std::span<const double> values, double p);

/// Interquartile mean with a percentile bootstrap interval: seeds are drawn with replacement.
/// Cost    O(resamples × n).
[[nodiscard]] estimate bootstrap_interquartile_mean(std::span<const double> values, const bootstrap_options& = {});

/// interquartile_mean(numerator) / interquartile_mean(denominator), where element i of both was measured on the same
/// seed: every resample draws the same seeds for both. Precondition: equal sizes (std::invalid_argument).
[[nodiscard]] estimate bootstrap_ratio(std::span<const double> numerator, std::span<const double> denominator,
                                       const bootstrap_options& = {});

/// The same for the numerator whose interquartile mean is the least: the quickest of several, found in each resample anew,
/// so that the interval has the chance in it that another would have been. Precondition: at least one, equal sizes
/// (std::invalid_argument).
///
/// Tests   tests/examples/statistics_test.cpp: TheLeastIsFoundInEachResample
[[nodiscard]] estimate bootstrap_least_ratio(std::span<const std::vector<double>> numerators,
                                             std::span<const double> denominator, const bootstrap_options& = {});

struct mean_with_error {
  double mean = 0;            ///< NaN for no values
  double standard_error = 0;  ///< sample standard deviation / sqrt(n); NaN for fewer than two values
};

[[nodiscard]] mean_with_error mean_and_standard_error(std::span<const double> values);

/// Mean with its 95 % interval by Student's t: for few values that are about normal. The bounds are NaN for fewer than
/// two values, the mean for none.
///
/// Tests   tests/examples/statistics_test.cpp: MeanWithStudentsInterval
[[nodiscard]] estimate mean_with_t_interval(std::span<const double> values);

}  // namespace rubato::support

#endif
