#ifndef RUBATO_TESTS_FLAGS_UNIT_HPP
#define RUBATO_TESTS_FLAGS_UNIT_HPP

#include <cstdint>
#include <string>
#include <vector>

/// A hash of the bits of what was computed.
struct fingerprint {
  std::string what;
  std::uint64_t bits;
};

/// One unit, and what the library computes in it.
struct flags_unit {
  std::string flags;
  bool fast_math;                         ///< only pinned arithmetic need be right
  std::vector<fingerprint> (*pinned)();   ///< pinned arithmetic
  std::vector<fingerprint> (*learned)();  ///< whole learners, and what they see
};

/// All units of the program; plain() is one of them.
std::vector<flags_unit>& flags_units();

#endif
