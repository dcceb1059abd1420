#ifndef RUBATO_TESTS_SUPPORT_DRAWS_ANEW_HPP
#define RUBATO_TESTS_SUPPORT_DRAWS_ANEW_HPP

#include <cfenv>
#include <cstdint>
#include <rubato/sim/normal_draws.hpp>

namespace rubato::test {

/// Whether this deviate is drawn when it is asked for. Only that takes logarithms, which the processor notes to have
/// rounded; to look a number up rounds nothing.
[[nodiscard]] inline bool draws_anew(sim::normal_draws& draws, std::uint32_t worker, std::uint64_t step) {
  std::feclearexcept(FE_INEXACT);
  static_cast<void>(draws(worker, step));
  return std::fetestexcept(FE_INEXACT) != 0;
}

}  // namespace rubato::test

#endif
