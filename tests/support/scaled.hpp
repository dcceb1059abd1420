#ifndef RUBATO_TESTS_SUPPORT_SCALED_HPP
#define RUBATO_TESTS_SUPPORT_SCALED_HPP

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace rubato::test {

/// How often to repeat what a test repeats n times: RUBATO_TEST_SCALE of the environment times n, at least one.
[[nodiscard]] inline std::uint32_t scaled(std::uint32_t n) {
  const char* scale = std::getenv("RUBATO_TEST_SCALE");
  return scale == nullptr ? n : std::max(1U, static_cast<std::uint32_t>(n * std::strtod(scale, nullptr)));
}

}  // namespace rubato::test

#endif
