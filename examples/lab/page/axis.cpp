#include "axis.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "support/statistics.hpp"

namespace rubato::lab::page {
namespace {

// 1, 2 or 5 times a power of ten, at least this.
[[nodiscard]] double round_step(double least) {
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double times : {1.0, 2.0, 5.0})
    if (times * power >= least * (1 - 1e-9)) return times * power;
  return 10 * power;
}

}  // namespace

axis::axis(double low, double high, bool ratios) : low_{low}, high_{high}, ratios_{ratios} {
  constexpr double most = 1e150;  // so that no difference or ratio overflows
  low_ = std::isfinite(low_) ? std::clamp(low_, -most, most) : 0;
  high_ = std::isfinite(high_) ? std::clamp(high_, -most, most) : low_;
  if (ratios_) low_ = std::max(low_, 1 / most);
  const double apart = std::max(std::abs(low_) * 1e-6, 1e-140);
  if (high_ < low_ + apart) high_ = ratios_ ? 2 * low_ : low_ + std::max(1.0, apart);
}

double axis::at(double value) const {
  if (std::isnan(value)) return 0;
  value = std::clamp(value, low_, high_);
  if (ratios_) return 100 * std::log(value / low_) / std::log(high_ / low_);
  return 100 * (value - low_) / (high_ - low_);
}

std::vector<double> axis::ticks(int about) const {
  std::vector<double> made;
  if (ratios_) {
    const double first = std::ceil(std::log2(low_) - 1e-9), last = std::floor(std::log2(high_) + 1e-9);
    const double step = std::max(1.0, std::ceil((last - first) / (2 * about)));
    for (double power = first; power <= last && made.size() < 64; power += step) made.push_back(std::exp2(power));
    return made;
  }
  const double step = round_step((high_ - low_) / about);
  const double first = std::ceil(low_ / step - 1e-9), last = std::floor(high_ / step + 1e-9);
  for (double count = first; count <= last && made.size() < 64; ++count) made.push_back(count * step + 0.0);  // + 0.0: no minus zero
  return made;
}

axis axis_for(std::span<const double> values, std::span<const double> highs) {
  std::vector<double> known;
  double most = 0;
  for (const double each : values)
    if (std::isfinite(each)) known.push_back(each), most = std::max(most, each);
  if (known.empty()) return {0, 1};
  for (const double each : highs)
    if (std::isfinite(each)) most = std::max(most, each);
  const double least = *std::ranges::min_element(known);
  const double enough = std::max(2.5 * support::quantile(known, 0.5), 1.2 * least);
  return {0, enough > 0 ? std::min(most, enough) : most};
}

std::string tick_text(double value) {
  if (!std::isfinite(value)) return "-";
  char digits[40];
  const double size = std::abs(value);
  const bool grouped = size >= 10'000 && size < 1e9;
  std::snprintf(digits, sizeof digits, grouped ? "%.0f" : "%.4g", value);
  std::string text{digits};
  if (!grouped) return text;
  for (std::size_t end = text.size(); end > 3 + (value < 0 ? 1U : 0U);) text.insert(end -= 3, ",");
  return text;
}

}  // namespace rubato::lab::page
