#ifndef RUBATO_EXAMPLES_LAB_BATCH_POLICIES_HPP
#define RUBATO_EXAMPLES_LAB_BATCH_POLICIES_HPP

#include <rubato/adapt/batch_policy_file.hpp>
#include <rubato/adapt/batch_size.hpp>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/bsp.hpp>
#include <utility>
#include <vector>

#include "policies.hpp"
#include "treatments.hpp"

namespace rubato::lab {

/// What the scenarios' learning rates are for, and what one has who names none. A rate is tuned for these runs by
/// whoever compares, and the best one hardly depends on the batch (docs/batch-size.md): no rule changes it.
inline constexpr adapt::batch_options batch_defaults{
    .usual = 64, .initial = 64, .least = 32, .most = 1024, .period = 5, .rate = adapt::rate_rule::none};

/// A barrier, with batches by something that was learned.
template <adapt::BatchSizer Sizer>
[[nodiscard]] any_policy batches_by(Sizer learned) {
  adapt::batch_options options = batch_defaults;
  options.period = adapt::learned_period;
  return adapt::batch_sized<bsp, Sizer>{bsp{}, options, std::move(learned)};
}

/// What sets batches worker by worker: with a barrier, as rules, and on any rule, as treatments; the same names.
/// Tests   tests/examples/batch_policies_test.cpp
[[nodiscard]] std::vector<rule> batch_rules();
[[nodiscard]] std::vector<treatment> batch_treatments();

}  // namespace rubato::lab

#endif
