#ifndef RUBATO_EXAMPLES_LAB_SHARE_TEXT_HPP
#define RUBATO_EXAMPLES_LAB_SHARE_TEXT_HPP

#include <cstdio>
#include <string>

namespace rubato::lab {

/// A number for people: six digits that count, and no more than it has.
[[nodiscard]] inline std::string short_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", number);
  return text;
}

/// A share in per cent, such as "12.5 %".
[[nodiscard]] inline std::string share_text(double share) { return short_text(100 * share) + " %"; }

/// A number with so many digits behind the point.
[[nodiscard]] inline std::string fixed_text(double number, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, number);
  return text;
}

}  // namespace rubato::lab

#endif
