#ifndef RUBATO_EXAMPLES_LAB_BATCH_POLICIES_HPP
#define RUBATO_EXAMPLES_LAB_BATCH_POLICIES_HPP

#include <vector>

#include "policies.hpp"
#include "treatments.hpp"

namespace rubato::lab {

/// What sets batches worker by worker: with a barrier, as rules, and on any rule, as treatments; the same names.
/// Tests   tests/examples/batch_policies_test.cpp
[[nodiscard]] std::vector<rule> batch_rules();
[[nodiscard]] std::vector<treatment> batch_treatments();

}  // namespace rubato::lab

#endif
