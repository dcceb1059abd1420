#ifndef RUBATO_EXAMPLES_LAB_SHOWN_NUMBER_HPP
#define RUBATO_EXAMPLES_LAB_SHOWN_NUMBER_HPP

#include <cmath>
#include <cstdio>
#include <string>

#include "support/statistics.hpp"

namespace rubato::lab {

/// With so many digits behind the point; "-" for what is not finite.
[[nodiscard]] inline std::string decimals(double value, int count) {
  if (!std::isfinite(value)) return "-";
  char text[64];
  std::snprintf(text, sizeof text, std::abs(value) < 1e15 ? "%.*f" : "%.*e", count, value);
  return text;
}

/// At least three digits that count, and none behind the point from 1000 on.
[[nodiscard]] inline std::string sensible(double value) {
  const double size = std::abs(value);
  return decimals(value, size >= 1000 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

[[nodiscard]] inline std::string two_decimals(double value) { return decimals(value, 2); }

/// A share as "12.5 %".
[[nodiscard]] inline std::string percent(double share) {
  return std::isfinite(share) ? decimals(100 * share, 1) + " %" : "-";
}

/// "[LOW, HIGH]", each bound as `shown` has it.
[[nodiscard]] inline std::string interval(const support::estimate& of, std::string (*shown)(double)) {
  return std::isfinite(of.value) ? "[" + shown(of.low) + ", " + shown(of.high) + "]" : "-";
}

}  // namespace rubato::lab

#endif
