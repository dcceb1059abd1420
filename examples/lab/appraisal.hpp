#ifndef RUBATO_EXAMPLES_LAB_APPRAISAL_HPP
#define RUBATO_EXAMPLES_LAB_APPRAISAL_HPP

#include <cstdint>
#include <optional>
#include <rubato/io/policy_card.hpp>
#include <rubato/sync/any_policy.hpp>
#include <vector>

#include "policies.hpp"
#include "run_context.hpp"
#include "support/scenario.hpp"

namespace rubato::lab {

/// A policy against each of the experts, on the seeds from 1 on that `compare` has too and no training meets, as a
/// policy card says it. Without a line where either of the two missed its target in more than a tenth of its runs.
/// Nothing if `stop` was raised.
/// Tests   tests/examples/train_test.cpp: CardSaysHowGoodItIs
[[nodiscard]] std::optional<std::vector<card_evaluation>> appraise(const any_policy&,
                                                                   std::vector<policy_request> experts,
                                                                   const support::scenario&, std::uint32_t seeds,
                                                                   const run_context&);

}  // namespace rubato::lab

#endif
