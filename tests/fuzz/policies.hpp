#ifndef RUBATO_TESTS_FUZZ_POLICIES_HPP
#define RUBATO_TESTS_FUZZ_POLICIES_HPP

#include <rubato/sync/any_policy.hpp>
#include <vector>

namespace rubato::fuzz {

/// Those of tests/support/all_policies.hpp, in a unit of their own: they take longer to compile than what uses them.
[[nodiscard]] const std::vector<any_policy>& policies();

}  // namespace rubato::fuzz

#endif
