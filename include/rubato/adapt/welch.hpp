#ifndef RUBATO_ADAPT_WELCH_HPP
#define RUBATO_ADAPT_WELCH_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "../config.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// What is kept of a few measured values.
struct sample_summary {
  std::size_t size = 0;  ///< how many there were
  double mean = 0;       ///< 0 for none
  double variance = 0;   ///< of what they were drawn from, as estimated: divided by size - 1; 0 for fewer than two

  /// Its root, the sample standard deviation.
  [[nodiscard]] double deviation() const noexcept { return std::sqrt(variance); }
};

/// Mean and variance of these values, which must be finite.
///
/// Cost    two passes. No allocation. Thread-safe.
///
/// Tests   tests/adapt/welch_test.cpp: SummaryOfValues
[[nodiscard]] inline sample_summary summary_of(std::span<const double> values) noexcept {
  sample_summary sum{.size = values.size()};
  if (values.empty()) return sum;
  const auto n = static_cast<double>(values.size());
  for (const double x : values) sum.mean += x;
  sum.mean /= n;
  for (const double x : values) sum.variance += (x - sum.mean) * (x - sum.mean);
  sum.variance = values.size() < 2 ? 0.0 : sum.variance / (n - 1);
  return sum;
}

namespace detail {

// Stirling's series, from 10 on good to 1e-12. Not std::lgamma, which writes to a global variable.
[[nodiscard]] inline double log_gamma(double x) noexcept {
  double shift = 0;
  for (; x < 10; ++x) shift += std::log(x);
  constexpr double half_log_two_pi = 0.91893853320467274178;
  const double y = 1 / (x * x);
  const double series = (1.0 / 12 - y * (1.0 / 360 - y * (1.0 / 1260 - y / 1680))) / x;
  return (x - 0.5) * std::log(x) - x + half_log_two_pi + series - shift;
}

// The continued fraction of the incomplete beta function, by Lentz's method; it converges fast where x is below
// (a + 1) / (a + b + 2).
[[nodiscard]] inline double beta_fraction(double x, double a, double b) noexcept {
  constexpr double tiny = 1e-300, enough = 1e-15;
  const auto away_from_0 = [](double z) { return std::abs(z) < tiny ? tiny : z; };
  double c = 1, d = 1 / away_from_0(1 - (a + b) * x / (a + 1)), value = d;
  const auto take = [&](double numerator) {
    d = 1 / away_from_0(1 + numerator * d);
    c = away_from_0(1 + numerator / c);
    value *= c * d;
  };
  for (int m = 1; m <= 10'000; ++m) {
    take(m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)));
    take(-(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)));
    if (std::abs(c * d - 1) < enough) break;
  }
  return value;
}

// The regularised incomplete beta function of x, given 1 - x as well, which may have more digits.
[[nodiscard]] inline double incomplete_beta(double x, double rest, double a, double b) noexcept {
  if (!(x > 0)) return 0;
  if (!(rest > 0)) return 1;
  const double front = std::exp(a * std::log(x) + b * std::log(rest) + log_gamma(a + b) - log_gamma(a) - log_gamma(b));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(x, a, b) / a;
  return 1 - front * beta_fraction(rest, b, a) / b;
}

}  // namespace detail

/// The probability that Student's t with so many degrees of freedom, above 0 and not necessarily whole, is at most t.
/// Both must be finite.
///
/// Absolute error below 1e-9 up to 10,000 degrees.
/// Cost    a few logarithms and a continued fraction of about 10 to 100 terms. No allocation. Thread-safe.
///
/// Tests   tests/adapt/welch_test.cpp: KnownDistributions, TabulatedQuantiles, ManyDegreesAreNormal
[[nodiscard]] inline double student_t_cdf(double t, double degrees) noexcept {
  RUBATO_ASSERT(degrees > 0, "student_t_cdf: degrees of freedom must be above 0");
  const double square = t * t, sum = degrees + square;
  const double tail = detail::incomplete_beta(degrees / sum, square / sum, degrees / 2, 0.5) / 2;
  return t > 0 ? 1 - tail : tail;
}

/// Welch's test, one-sided: how likely means as far apart as these, or farther, would be if the true mean of `a` were
/// no more than `difference` above that of `b`. Small values speak for more. The variances may differ.
///
/// Where neither sample scatters there is nothing to estimate: 0 if the means are farther apart, else 1.
/// Precondition: both have at least two values; their variances are at most 1e300.
/// Cost    that of student_t_cdf. No allocation. Thread-safe.
///
/// Tests   tests/adapt/welch_test.cpp: OfAKnownExample, WithoutScatter, OfAnyScale, KeepsItsLevel
/// Source  Welch, "The Generalization of Student's Problem when Several Different Population Variances are Involved",
///         Biometrika 34, 1947; degrees of freedom after Satterthwaite
[[nodiscard]] inline double welch_p(const sample_summary& a, const sample_summary& b, double difference) noexcept {
  RUBATO_ASSERT(a.size >= 2 && b.size >= 2, "welch_p: each sample needs two values");
  const auto of_mean = [](const sample_summary& s) { return s.variance / static_cast<double>(s.size); };
  const double above = a.mean - b.mean - difference;
  const double variance = of_mean(a) + of_mean(b);
  if (!(variance > 0)) return above > 0 ? 0.0 : 1.0;
  // By the part that each has in the variance, since squares of variances may be too large for a double, or too small.
  const double of_a = of_mean(a) / variance, of_b = of_mean(b) / variance;
  const double degrees =
      1 / (of_a * of_a / static_cast<double>(a.size - 1) + of_b * of_b / static_cast<double>(b.size - 1));
  return 1 - student_t_cdf(above / std::sqrt(variance), degrees);
}

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
