#ifndef RUBATO_SIM_OUT_OF_RANGE_HPP
#define RUBATO_SIM_OUT_OF_RANGE_HPP

#include <charconv>
#include <string>
#include <string_view>

#include "../config.hpp"
#include "../pinned.hpp"

namespace rubato::inline RUBATO_ABI::sim::detail {

/// "FIELD is VALUE, expected EXPECTATION", the value as short as it can be without ambiguity.
[[nodiscard]] inline std::string out_of_range(std::string_view field, double value, std::string_view expected) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  std::string sentence{field};
  return sentence.append(" is ").append(digits, end).append(", expected ").append(expected);
}

/// Finite and not negative.
[[nodiscard]] inline bool is_duration(double t) noexcept { return t >= 0 && pinned::is_finite(t); }

inline constexpr std::string_view a_duration = "a finite number of 0 or more";
inline constexpr double shortest = 1e-6;  ///< of the durations that may not be 0: shorter ones would never add up
inline constexpr std::string_view a_positive_duration = "a finite number of at least 1e-6";

}  // namespace rubato::inline RUBATO_ABI::sim::detail

#endif
