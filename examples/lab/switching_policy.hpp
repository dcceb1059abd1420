#ifndef RUBATO_EXAMPLES_LAB_SWITCHING_POLICY_HPP
#define RUBATO_EXAMPLES_LAB_SWITCHING_POLICY_HPP

#include <cstdint>
#include <rubato/sync/any_policy.hpp>
#include <string>

namespace rubato::lab {

/// The rule of a training of so many pushes that is synchronous for this share of them and asynchronous after that:
/// what is named syncswitch:SHARE:PUSHES. As in Sync-Switch a round of n workers is n steps of the workload, and
/// one update by the mean of its gradients at n times the learning rate; with momentum that is not what bsp:sum comes
/// to, which makes n updates. Share 1 is synchronous throughout, share 0 is asp.
///
/// Precondition: share in [0, 1].
/// Tests   tests/examples/switch_trials_test.cpp: SwitchesAfterItsShare, WholeSharesAreTheRules,
///         SearchesForWhatSyncswitchRuns
[[nodiscard]] any_policy switching_policy(double share, std::uint64_t pushes);

/// What is wrong with the STEPS of syncswitch:SHARE:STEPS where runs make so many pushes on average: more than half of
/// each is synchronous, and that is more than 1.25 times SHARE. Empty if it is not, and of other policies.
/// Tests   tests/examples/switch_trials_test.cpp: SaysThatStepsAreMoreThanARun
[[nodiscard]] std::string steps_beyond_runs(const std::string& name, double pushes);

}  // namespace rubato::lab

#endif
