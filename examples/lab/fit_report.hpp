#ifndef RUBATO_EXAMPLES_LAB_FIT_REPORT_HPP
#define RUBATO_EXAMPLES_LAB_FIT_REPORT_HPP

#include <optional>
#include <ostream>

#include "cluster_fit.hpp"
#include "decision_history.hpp"
#include "policies.hpp"

namespace rubato::lab {

/// How far the steps of the fitted machines, simulated under the log's policy, are from those of the log: the distance
/// of Kolmogorov and Smirnov, 0 to 1.
/// Tests   tests/examples/cluster_fit_test.cpp: StepsOfTheFitAreThoseOfTheLog
[[nodiscard]] double distance_of_steps(const cluster_fit&, const decision_history&, const any_policy&);

/// What was fitted, with 90 % intervals, how well, and what could not be told. The distance is that of the steps under
/// the policy, if that is known.
void print_fit(std::ostream&, const cluster_fit&, const decision_history&, const std::optional<named_policy>&,
               std::optional<double> distance);

}  // namespace rubato::lab

#endif
