#ifndef RUBATO_EXAMPLES_SUPPORT_RANDOM_SCENARIO_HPP
#define RUBATO_EXAMPLES_SUPPORT_RANDOM_SCENARIO_HPP

#include <cstdint>

#include "scenario.hpp"

namespace rubato::support {

/// A scenario drawn at random; the same number, the same scenario. `--scenario random:NUMBER` takes it.
///
/// | what              | how it is drawn                                                                            |
/// | workers           | 2 to 64, evenly on a log scale                                                             |
/// | what is shared    | cores in 4 of 10 (1 to as many as workers, log scale); a link in 3 of 10, saturated by 1.5 |
/// |                   | workers to all (log scale); nothing in 3 of 10                                             |
/// | step times        | all 1 in half; else log-normal around 1 with a deviation of 0.1 to 1, a number per worker  |
/// | jitter            | 0.02 to 0.2                                                                                |
/// | stragglers        | none, static, transient, burst, heavy_tailed in equal parts, with probability 0.1 to 0.5;  |
/// |                   | sleeps of 0.5 to 3 steps of a cluster in which everybody runs                              |
/// | hidden layers     | 0, 1, 2, 3: 3, 3, 2 and 2 in 10                                                            |
/// | input             | standardised in 4 of 5, else unit                                                          |
/// | batch             | 8, 16 or 32                                                                                |
/// | learning rate     | what suits asynchronous training by all of the workers, see below, times 0.7, 1 or 1.4     |
///
/// The rest is as in the lab's own scenarios: accuracy 0.88, half of the data, 1,000 images to validate; a run is given
/// up after about 20,000 pushes.
///
/// A rate that suits is 0.03 x 10 / workers, since staleness grows with them, and at most 0.045; 2.7 times that where
/// the input is unit.
/// Tests   tests/examples/random_scenario_test.cpp: SameNumberSameScenario, NumbersDiffer, AllKindsAreDrawn,
///         IsWhatTheSimulatorTakes, SurvivesJson, TheHeldOutOnesStay, IsFoundByItsNumber
[[nodiscard]] scenario random_scenario(std::uint64_t number);

}  // namespace rubato::support

#endif
