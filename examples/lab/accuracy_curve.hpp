#ifndef RUBATO_EXAMPLES_LAB_ACCURACY_CURVE_HPP
#define RUBATO_EXAMPLES_LAB_ACCURACY_CURVE_HPP

#include <vector>

#include "compare.hpp"
#include "support/statistics.hpp"

namespace rubato::lab {

/// How long a policy takes to a share of the accuracy that ends a run.
struct curve_level {
  double share = 0;        ///< of each seed's target
  support::estimate time{};  ///< interquartile mean over seeds, with a bootstrap interval
  std::uint32_t reached = 0;
};

/// From half of the target to all of it, in steps of a fortieth. What counts is the first evaluation at or above a
/// level, which is not interpolated: the last level's time is that of the table. A seed that misses a level counts as
/// max_time. Empty where runs do not end at an accuracy, and without runs.
/// Cost    O(levels × resamples × seeds)
/// Tests   tests/examples/accuracy_curve_test.cpp
[[nodiscard]] std::vector<curve_level> accuracy_curve(const comparison&, const comparison_row&);

}  // namespace rubato::lab

#endif
