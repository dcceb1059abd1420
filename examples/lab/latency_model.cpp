#include "latency_model.hpp"

#include <cmath>

namespace rubato::lab {
namespace {

[[nodiscard]] double load_of(double delay, std::uint32_t workers) noexcept { return delay / 10 * workers; }

}  // namespace

double latency_model::excess(double delay, std::uint32_t workers) const noexcept {
  return workers == 0 ? 0.0 : scale * std::pow(load_of(delay, workers), exponent);
}

latency_model fit_latency(const std::array<logged_latency, 4>& logged) noexcept {
  const auto n = static_cast<double>(logged.size());
  double x = 0, y = 0, xx = 0, xy = 0;
  for (const logged_latency& each : logged) {
    const double at = std::log(load_of(each.delay, each.workers)), value = std::log(logged_excess(each));
    x += at, y += value, xx += at * at, xy += at * value;
  }
  const double slope = (n * xy - x * y) / (n * xx - x * x);
  return {std::exp((y - slope * x) / n), slope};
}

}  // namespace rubato::lab
