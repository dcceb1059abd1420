#ifndef RUBATO_EXAMPLES_LAB_STEP_LENGTHS_HPP
#define RUBATO_EXAMPLES_LAB_STEP_LENGTHS_HPP

#include <cstdint>
#include <rubato/sim/options.hpp>
#include <rubato/sync/any_policy.hpp>
#include <vector>

namespace rubato::lab {

/// What a run is in times alone.
struct timed_run {
  std::vector<double> lengths;  ///< of steps, from release to admission
  double time = 0;              ///< of the run
  std::uint64_t pushes = 0;
};

/// Simulates so many pushes, and trains nothing of interest (a noisy quadratic): for rules that look at the loss these
/// are other times than with the real model.
/// Tests   tests/examples/cluster_fit_test.cpp: ThroughputSurvivesTheFit
[[nodiscard]] timed_run time_steps(const sim::cluster_options&, const any_policy&, std::uint64_t pushes,
                                   std::uint64_t seed);

}  // namespace rubato::lab

#endif
