#ifndef RUBATO_SYNC_RIVALS_DECIMAL_HPP
#define RUBATO_SYNC_RIVALS_DECIMAL_HPP

#include <charconv>
#include <concepts>
#include <string>

#include "../../config.hpp"

namespace rubato::inline RUBATO_ABI::detail {

/// A finite number as JSON and people read it, of six significant digits, whatever the locale.
template <std::floating_point T>
[[nodiscard]] std::string decimal(T value) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value, std::chars_format::general, 6).ptr;
  return {digits, end};
}

}  // namespace rubato::inline RUBATO_ABI::detail

#endif
