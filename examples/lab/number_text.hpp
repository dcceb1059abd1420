#ifndef RUBATO_EXAMPLES_LAB_NUMBER_TEXT_HPP
#define RUBATO_EXAMPLES_LAB_NUMBER_TEXT_HPP

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

#include "support/statistics.hpp"

namespace rubato::lab {

/// A number for people: six digits that count, and no more than it has.
[[nodiscard]] inline std::string short_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", number);
  return text;
}

/// A share in per cent, as short as it is: "12.5 %".
[[nodiscard]] inline std::string share_text(double share) { return short_text(100 * share) + " %"; }

/// With so many digits behind the point; "-" for what is not finite.
[[nodiscard]] inline std::string decimals(double value, int count) {
  if (!std::isfinite(value)) return "-";
  char text[64];
  std::snprintf(text, sizeof text, std::abs(value) < 1e15 ? "%.*f" : "%.*e", count, value);
  return text;
}
[[nodiscard]] inline std::string two_decimals(double value) { return decimals(value, 2); }

/// At least three digits that count, and none behind the point from 1000 on.
[[nodiscard]] inline std::string sensible(double value) {
  const double size = std::abs(value);
  return decimals(value, size >= 1000 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

/// A share with one digit behind the point: "12.0 %"; "-" for what is not finite.
[[nodiscard]] inline std::string percent(double share) {
  return std::isfinite(share) ? decimals(100 * share, 1) + " %" : "-";
}
/// The share of a part; "-" if there is nothing.
[[nodiscard]] inline std::string percent(std::uint64_t part, std::uint64_t whole) {
  return percent(static_cast<double>(part) / static_cast<double>(whole));
}

/// "[LOW, HIGH]", each bound as `shown` has it.
[[nodiscard]] inline std::string interval(const support::estimate& of, std::string (*shown)(double)) {
  return std::isfinite(of.value) ? "[" + shown(of.low) + ", " + shown(of.high) + "]" : "-";
}

}  // namespace rubato::lab

#endif
