#ifndef RUBATO_EXAMPLES_LAB_SWITCHING_POLICY_HPP
#define RUBATO_EXAMPLES_LAB_SWITCHING_POLICY_HPP

#include <cstdint>
#include <rubato/sync/any_policy.hpp>

namespace rubato::lab {

/// The rule of a training of so many pushes that is synchronous for this share of them and asynchronous after that:
/// bsp:sum, then asp. As in Sync-Switch a round of n workers is n steps of the workload, and moves the parameters by
/// the sum of its gradients, which is n times the learning rate on a batch n times as large. Shares 1 and 0 are the
/// rules themselves.
///
/// Precondition: share in [0, 1].
/// Tests   tests/examples/switch_trials_test.cpp: SwitchesAfterItsShare, WholeSharesAreTheRules
[[nodiscard]] any_policy switching_policy(double share, std::uint64_t pushes);

}  // namespace rubato::lab

#endif
