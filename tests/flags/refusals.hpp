#ifndef RUBATO_TESTS_FLAGS_REFUSALS_HPP
#define RUBATO_TESTS_FLAGS_REFUSALS_HPP

#include <array>
#include <cstdint>
#include <string>
#include <vector>

/// Something that must be refused, and whether it was.
struct refusal {
  std::string what;
  bool refused;
};

/// What became of the forged states of one policy.
struct forgeries {
  std::uint64_t hash = 1;  ///< of every answer, in order
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;
  friend bool operator==(const forgeries&, const forgeries&) noexcept = default;
};

/// One unit, and what the library refuses in it.
struct refusing_unit {
  std::string flags;
  std::vector<refusal> (*inputs)();           ///< of hosts, policies and files
  std::vector<refusal> (*options)();          ///< each with a number that is none
  std::vector<forgeries> (*forged_states)();  ///< for each policy
};

/// All units of the program.
std::vector<refusing_unit>& refusing_units();

/// NaN, infinity and its negative as bits, unknown to the compiler of a unit.
extern const std::array<std::uint64_t, 3> strange_doubles;
extern const std::array<std::uint32_t, 3> strange_floats;

#endif
