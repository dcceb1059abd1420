#ifndef RUBATO_RL_SEARCH_HPP
#define RUBATO_RL_SEARCH_HPP

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "../core/archive.hpp"
#include "../pinned.hpp"

namespace rubato::inline RUBATO_ABI::rl {

/// Finds parameters by trial: proposes candidates, is told what they cost, and proposes better ones. No gradients.
///
///   dimension()              parameters
///   population()             candidates of a generation
///   generation()             0 is the first
///   ask(candidate, out)      the parameters of candidate 0 .. population() - 1 of this generation; the same each time
///   tell(costs)              one cost for each of them, lower is better, NaN the worst; the next generation begins.
///                            Only their order matters
///   best_guess(out)          the parameters that it would go with now: the centre of what it proposes, or an average
///                            of the last ones
///   step_size()              how far from there it looks
///   configuration()          "name=value" for everything that must be the same when a search is resumed
///   state(archive)           saves and loads all that changes: what is loaded goes on with the same bits
///
/// Randomness is keyed by (seed, generation, candidate): candidates can be asked for in any order, from any thread.
/// Satisfied by cma_es and antithetic_es.
/// Tests   tests/rl/search_test.cpp: WhatIsASearch
template <class S>
concept ParameterSearch = std::copyable<S> &&
    requires(S& search, const S& fixed, std::size_t candidate, std::span<float> out, std::span<const double> costs,
             archive& bytes) {
  { fixed.dimension() } -> std::convertible_to<std::size_t>;
  { fixed.population() } -> std::convertible_to<std::size_t>;
  { fixed.generation() } -> std::convertible_to<std::uint64_t>;
  { fixed.ask(candidate, out) } -> std::same_as<void>;
  { search.tell(costs) } -> std::same_as<void>;
  { fixed.best_guess(out) } -> std::same_as<void>;
  { fixed.step_size() } -> std::convertible_to<double>;
  { fixed.configuration() } -> std::same_as<std::vector<std::string>>;
  search.state(bytes);
};

namespace detail {

/// Candidates from the cheapest to the dearest; NaN last; of equals the one of lower index.
[[nodiscard]] inline std::vector<std::size_t> by_cost(std::span<const double> costs) {
  std::vector<std::size_t> order(costs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [costs](std::size_t a, std::size_t b) {
    return costs[a] < costs[b] || (pinned::is_nan(costs[b]) && !pinned::is_nan(costs[a]));
  });
  return order;
}

/// Whether a search can begin here.
[[nodiscard]] inline bool is_start(std::span<const float> parameters) {
  return !parameters.empty() && std::ranges::all_of(parameters, [](float x) { return pinned::is_finite(x); });
}
inline constexpr const char* expected_start = "mean: expected at least one parameter, and finite ones";

/// Saves or loads numbers, which must be finite and, on either side of 0, at most so large.
inline void bounded_numbers(archive& bytes, std::span<double> numbers,
                            double most = (std::numeric_limits<double>::max)()) {
  for (double& x : numbers) {
    bytes(x);
    if (!pinned::within(x, -most, most)) bytes.fail();
  }
}

/// What parameters may be: numbers of a network.
inline constexpr double largest_parameter = static_cast<double>((std::numeric_limits<float>::max)());

}  // namespace detail
}  // namespace rubato::inline RUBATO_ABI::rl

#endif
