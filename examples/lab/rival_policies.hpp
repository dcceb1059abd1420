#ifndef RUBATO_EXAMPLES_LAB_RIVAL_POLICIES_HPP
#define RUBATO_EXAMPLES_LAB_RIVAL_POLICIES_HPP

#include <vector>

#include "policies.hpp"

namespace rubato::lab {

/// The rules of docs/rivals.md, as rules() has them.
/// Tests   tests/examples/policies_test.cpp: RivalNamesMeanWhatTheySay, BadNamesOfRivalsAreRefused
[[nodiscard]] std::vector<rule> rival_rules();

}  // namespace rubato::lab

#endif
