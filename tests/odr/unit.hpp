#ifndef RUBATO_TESTS_ODR_UNIT_HPP
#define RUBATO_TESTS_ODR_UNIT_HPP

#include <array>
#include <cstdint>

/// What one unit sees of the library.
struct unit {
  void (*definition)();                ///< address of an inline function of the library
  std::array<std::uint64_t, 4> draws;  ///< of random_sequence{7, 11}
  double normal;
};

unit plain();
unit optimised();
unit other_mode();

/// How often a host's own RUBATO_ASSERT is told of two calls, of which one breaks a precondition.
int times_told();

#endif
