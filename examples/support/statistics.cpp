#include "statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <rubato/adapt/welch.hpp>
#include <rubato/core/rng.hpp>
#include <stdexcept>

namespace rubato::support {
namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// Of sorted values.
[[nodiscard]] double trimmed_mean(std::span<const double> sorted) {
  const std::size_t cut = sorted.size() / 4;
  const auto middle = sorted.subspan(cut, sorted.size() - 2 * cut);
  return std::accumulate(middle.begin(), middle.end(), 0.0) / static_cast<double>(middle.size());
}

/// Of sorted values, not empty.
[[nodiscard]] double sorted_quantile(std::span<const double> sorted, double p) {
  const double position = std::clamp(p, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double share = position - static_cast<double>(below);
  return share == 0 ? sorted[below] : sorted[below] + share * (sorted[above] - sorted[below]);
}

[[nodiscard]] std::vector<double> sorted_copy(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  return sorted;
}

/// Interval of `statistic(indices)` over resampled index lists of length n.
template <class Statistic>
[[nodiscard]] estimate percentile_interval(std::size_t n, double value, const bootstrap_options& options,
                                           Statistic&& statistic) {
  if (n == 0 || options.resamples == 0) return {value, value, value};
  std::vector<double> results(options.resamples);
  std::vector<std::size_t> chosen(n);
  for (std::uint32_t r = 0; r < options.resamples; ++r) {
    random_sequence draw{options.seed, r};
    for (std::size_t& index : chosen) index = static_cast<std::size_t>(draw.below(n));
    results[r] = statistic(chosen);
  }
  std::ranges::sort(results);
  const double tail = (1 - options.level) / 2;
  return {value, sorted_quantile(results, tail), sorted_quantile(results, 1 - tail)};
}

void gather(std::span<const double> values, std::span<const std::size_t> chosen, std::vector<double>& out) {
  out.resize(chosen.size());
  std::ranges::transform(chosen, out.begin(), [&](std::size_t index) { return values[index]; });
  std::ranges::sort(out);
}

}  // namespace

double interquartile_mean(std::span<const double> values) {
  return values.empty() ? not_a_number : trimmed_mean(sorted_copy(values));
}

double quantile(std::span<const double> values, double p) {
  return values.empty() ? not_a_number : sorted_quantile(sorted_copy(values), p);
}

estimate bootstrap_interquartile_mean(std::span<const double> values, const bootstrap_options& options) {
  std::vector<double> sample;
  return percentile_interval(values.size(), interquartile_mean(values), options, [&](const auto& chosen) {
    gather(values, chosen, sample);
    return trimmed_mean(sample);
  });
}

estimate bootstrap_ratio(std::span<const double> numerator, std::span<const double> denominator,
                         const bootstrap_options& options) {
  if (numerator.size() != denominator.size())
    throw std::invalid_argument{"bootstrap_ratio: both sides need one value for each seed"};
  std::vector<double> above, below;
  const double value = interquartile_mean(numerator) / interquartile_mean(denominator);
  return percentile_interval(numerator.size(), value, options, [&](const auto& chosen) {
    gather(numerator, chosen, above);
    gather(denominator, chosen, below);
    return trimmed_mean(above) / trimmed_mean(below);
  });
}

estimate bootstrap_least_ratio(std::span<const std::vector<double>> numerators, std::span<const double> denominator,
                               const bootstrap_options& options) {
  if (numerators.empty() || std::ranges::any_of(numerators, [&](const auto& each) {
        return each.size() != denominator.size();
      }))
    throw std::invalid_argument{"bootstrap_least_ratio: expected one value for each seed, of one numerator at least"};
  std::vector<double> above, below;
  const auto ratio = [&](const std::vector<std::size_t>& chosen) {
    double least = std::numeric_limits<double>::infinity();
    for (const std::vector<double>& each : numerators) {
      gather(each, chosen, above);
      least = std::min(least, trimmed_mean(above));
    }
    gather(denominator, chosen, below);
    return least / trimmed_mean(below);
  };
  std::vector<std::size_t> all(denominator.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return percentile_interval(all.size(), ratio(all), options, ratio);
}

mean_with_error mean_and_standard_error(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  if (values.empty()) return {not_a_number, not_a_number};
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, values.size() < 2 ? not_a_number : std::sqrt(squares / (n - 1) / n)};
}

estimate mean_with_t_interval(std::span<const double> values) {
  const auto [mean, error] = mean_and_standard_error(values);
  if (values.size() < 2) return {mean, not_a_number, not_a_number};
  const double degrees = static_cast<double>(values.size() - 1);
  double low = 0, high = 13;  // of one degree of freedom it is 12.7
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (adapt::student_t_cdf(middle, degrees) < 0.975 ? low : high) = middle;
  }
  return {mean, mean - high * error, mean + high * error};
}

}  // namespace rubato::support
