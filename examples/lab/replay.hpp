#ifndef RUBATO_EXAMPLES_LAB_REPLAY_HPP
#define RUBATO_EXAMPLES_LAB_REPLAY_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include <rubato/sim/options.hpp>
#include "any_objective.hpp"
#include "decision_history.hpp"

namespace rubato::lab {

/// Trains another model in the order of a log: each gradient is computed where the log releases its worker, and applied
/// or added where the log does that. So it meets just the staleness of the log, whatever the policy was.
///
/// The losses of the batches in the order in which they were pushed, as many as the log has up to `most`; shorter if
/// the model diverges. `run` says learning rate and nominal batch.
/// Tests   tests/examples/replay_test.cpp: TheSameModelMeetsTheSameLosses, StopsWhereItDiverges,
///         AsksForNoLargerBatchThanHostsDo
[[nodiscard]] std::vector<float> replay(const decision_history&, any_objective&, const sim::run_options& run,
                                        std::size_t most);

/// The losses that the log has, in the same order.
[[nodiscard]] std::vector<float> losses_of(const decision_history&, std::size_t most);

}  // namespace rubato::lab

#endif
