#ifndef RUBATO_TESTS_ODR_UNIT_BODY_HPP
#define RUBATO_TESTS_ODR_UNIT_BODY_HPP

#include <all_headers.hpp>

#include "unit.hpp"

// Internal linkage: only the library's own functions are shared between the units.
static unit describe_unit() {
  rubato::random_sequence sequence{7, 11};
  unit seen{.definition = reinterpret_cast<void (*)()>(&rubato::philox), .draws = {}, .normal = 0};
  for (auto& draw : seen.draws) draw = sequence();
  seen.normal = sequence.normal();
  return seen;
}

#endif
