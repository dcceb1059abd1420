#ifndef RUBATO_EXAMPLES_LAB_CLAIRVOYANT_HPP
#define RUBATO_EXAMPLES_LAB_CLAIRVOYANT_HPP

#include "compare.hpp"
#include "planned.hpp"

namespace rubato::lab {

/// How good a rule could be: for each number of hidden layers the quickest plan that is found, and its runs.
///
/// The search knows the very runs that it is measured on, and each step's length. It begins with the best constant
/// plan (workers running x learning rate), cuts its time into stages, and then changes one stage at a time, as long as
/// that makes the interquartile mean of the time less. So the result is what a rule with that knowledge reaches at
/// least, and no bound that none could pass: a search may end in a local optimum.
///
/// Errors  user_error for clusters whose workers leave or join, and those of the cache
/// Cost    some hundred runs of each seed, from the cache where it has them
/// Tests   tests/examples/clairvoyant_test.cpp: IsNoSlowerThanTheRules, ThreadsDoNotChangeIt
void add_clairvoyant(comparison&, const runner&);

/// The name of its row.
inline constexpr std::string_view clairvoyant_name = "clairvoyant";

}  // namespace rubato::lab

#endif
