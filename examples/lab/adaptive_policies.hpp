#ifndef RUBATO_EXAMPLES_LAB_ADAPTIVE_POLICIES_HPP
#define RUBATO_EXAMPLES_LAB_ADAPTIVE_POLICIES_HPP

#include <vector>

#include "policies.hpp"

namespace rubato::lab {

/// The rules of the literature that predict or adapt: dssp, zipline, aap, adasync, syncswitch.
/// Tests   tests/examples/policies_test.cpp: AdaptiveNamesMeanWhatTheySay, BadNamesOfAdaptiveRulesAreRefused
[[nodiscard]] std::vector<rule> adaptive_rules();

}  // namespace rubato::lab

#endif
