#ifndef RUBATO_BENCH_CUDA_HOST_LEARNER_HPP
#define RUBATO_BENCH_CUDA_HOST_LEARNER_HPP

#include <cstddef>
#include <cstdint>
#include <rubato/rl/dqn_options.hpp>
#include <vector>

namespace rubato::bench {

/// What both learners do: one step at a time, batches of 256 from a full replay of 8192.
rl::dqn_options learner_options();

/// Observations of 40 numbers in [-1, 1).
std::vector<float> observations(std::size_t count, std::uint64_t seed);

/// Initial parameters of a network 40-64-32-3.
std::vector<float> initial_parameters();

/// Updates that rl::dqn makes in a second on one core: from the median of 1000.
double updates_of_one_core();

}  // namespace rubato::bench

#endif
