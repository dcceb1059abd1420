#ifndef RUBATO_EXAMPLES_LAB_POLICY_ARGUMENTS_HPP
#define RUBATO_EXAMPLES_LAB_POLICY_ARGUMENTS_HPP

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "support/name_parts.hpp"

namespace rubato::lab {

/// What follows a rule's name, without the ':' between.
using policy_arguments = std::span<const std::string_view>;

using support::split;

/// Throws std::invalid_argument: found this, expected that.
[[noreturn]] inline void refuse_argument(std::string_view found, std::string_view expected) {
  throw std::invalid_argument{"found \"" + std::string{found} + "\", expected " + std::string{expected}};
}

inline void at_most(policy_arguments given, std::size_t count) {
  if (given.size() > count) refuse_argument(given[count], "nothing more");
}

/// The argument in this place, counted from 0; empty if there are fewer.
[[nodiscard]] inline std::string_view argument(policy_arguments given, std::size_t place) {
  return place < given.size() ? given[place] : std::string_view{};
}

/// The whole of a text as an integer between two bounds, both allowed; refused as not `expected` if it is not one.
[[nodiscard]] inline std::uint32_t whole_number(std::string_view text, std::string_view expected,
                                                std::uint32_t least = 0,
                                                std::uint32_t most = (std::numeric_limits<std::uint32_t>::max)()) {
  const auto number = support::number_in<std::uint32_t>(text);
  if (!number || *number < least || *number > most) refuse_argument(text, expected);
  return *number;
}

/// The same for a number.
[[nodiscard]] inline double real_number(std::string_view text, std::string_view expected, double least,
                                        double most = (std::numeric_limits<double>::max)()) {
  const auto number = support::number_in<double>(text);
  if (!number || !std::isfinite(*number) || *number < least || *number > most) refuse_argument(text, expected);
  return *number;
}

}  // namespace rubato::lab

#endif
