#ifndef RUBATO_EXAMPLES_LAB_TUNING_HPP
#define RUBATO_EXAMPLES_LAB_TUNING_HPP

#include <cstdint>

#include "compare.hpp"
#include "runner.hpp"

namespace rubato::lab {

/// Factors on the scenario's learning rate that tuning tries.
inline constexpr double tuning_factors[] = {0.5, 1, 2, 4, 8};

/// A round of tuning: as many seeds as there are numbers of hidden layers in the shipped scenarios.
inline constexpr std::uint32_t tuning_round = 4;

/// A tuning run is given up after this many times what asp takes on its seed, at the quickest of the factors.
inline constexpr double tuning_patience = 3;

/// Puts into each row its quickest policy and learning rate, by successive halving on seeds from first_tuning_seed on.
///
/// A row's candidates are its policies at each of tuning_factors. Every round runs those that are left on tuning_round
/// more seeds; then the quicker quarter stays, two at least; after asked.tuning_seeds the quickest wins. What counts
/// is the interquartile mean of the time on all seeds so far; among those that never reach the target, the accuracy.
/// Changes nothing if interrupted.
///
/// Errors  user_error of the cache
/// Source  Karnin, Koren and Somekh, "Almost Optimal Exploration in Multi-Armed Bandits", ICML 2013: sequential halving
/// Tests   tests/examples/tuning_test.cpp
void tune(comparison&, const runner&);

}  // namespace rubato::lab

#endif
