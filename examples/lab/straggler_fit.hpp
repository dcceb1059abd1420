#ifndef RUBATO_EXAMPLES_LAB_STRAGGLER_FIT_HPP
#define RUBATO_EXAMPLES_LAB_STRAGGLER_FIT_HPP

#include <cstdint>
#include <rubato/sim/straggler.hpp>
#include <span>

#include "step_fit.hpp"

namespace rubato::lab {

/// Which kind of stragglers made the sleeps of a fit: the same workers at every step and no others (fixed), some
/// workers for a while at a time (burst: whether a step sleeps depends on the worker's one before), or steps at random,
/// with sleeps of one size (transient) or with a heavy tail. Step i counts weights[i] times, once if there are none.
/// Cost    O(steps), and a sort of those that sleep
/// Tests   tests/examples/cluster_fit_test.cpp: FindsEachKindOfStragglers, AShortLogLeavesTheKindOfStragglersOpen
[[nodiscard]] sim::straggler_kind kind_of_stragglers(const step_fit&, std::span<const std::uint32_t> weights);

/// The parameters of that kind, in the log's time; weights as above.
/// Tests   tests/examples/cluster_fit_test.cpp: FindsEachKindOfStragglers
[[nodiscard]] sim::straggler_options fit_stragglers(const step_fit&, sim::straggler_kind,
                                                    std::span<const std::uint32_t> weights);

}  // namespace rubato::lab

#endif
