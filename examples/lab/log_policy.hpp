#ifndef RUBATO_EXAMPLES_LAB_LOG_POLICY_HPP
#define RUBATO_EXAMPLES_LAB_LOG_POLICY_HPP

#include <optional>
#include <string>

#include "decision_history.hpp"
#include "policies.hpp"

namespace rubato::lab {

/// The policy of a log. It is the one that is `given`, or the one that has the log's description: a rule with any
/// parameters and treatments that a name can give it, in the lab or in the programs of hosts.
///
/// Nothing if none is given and none fits: a rule with options that no name has, or a policy file.
/// Errors  user_error about `given`: no policy, or one whose description is not that of the log; about the log: so many
///         workers cannot run under its policy
/// Tests   tests/examples/log_policy_test.cpp: FindsThePolicyOfALog, WhatIsGivenMustBeWhatRan,
///         WhatCannotRunOnTheWorkersIsRefused, AnotherIsNotGuessed
[[nodiscard]] std::optional<named_policy> policy_of_log(const decision_history&, const std::string& given = {});

/// The same by its description alone, in canonical form.
/// Tests   tests/examples/log_policy_test.cpp: FindsWhatEachNameDescribes, FindsSyncSwitchOfHosts
[[nodiscard]] std::optional<named_policy> policy_described(const std::string& description);

/// Whether a policy has this description.
[[nodiscard]] bool describes(const std::string& description, const any_policy&);

}  // namespace rubato::lab

#endif
