#ifndef RUBATO_EXAMPLES_LAB_LOG_POLICY_HPP
#define RUBATO_EXAMPLES_LAB_LOG_POLICY_HPP

#include <optional>
#include <string>

#include "decision_history.hpp"
#include "policies.hpp"

namespace rubato::lab {

/// The policy of a log. It is found by its description among the rules' variants, ssp:0 to ssp:64 and cap:1 to cap:64
/// in each order; or it is the one that is `given`.
///
/// Nothing if none is given and none fits: a rule with other parameters, or a policy file.
/// Errors  user_error about `given`: no policy, or one whose description is not that of the log; about the log: so many
///         workers cannot run under its policy
/// Tests   tests/examples/log_policy_test.cpp: FindsThePolicyOfALog, WhatIsGivenMustBeWhatRan,
///         WhatCannotRunOnTheWorkersIsRefused
[[nodiscard]] std::optional<named_policy> policy_of_log(const decision_history&, const std::string& given = {});

/// The same by its description alone, in canonical form.
[[nodiscard]] std::optional<named_policy> policy_described(const std::string& description);

/// Whether a policy has this description.
[[nodiscard]] bool describes(const std::string& description, const any_policy&);

}  // namespace rubato::lab

#endif
