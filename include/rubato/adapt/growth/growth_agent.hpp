#ifndef RUBATO_ADAPT_GROWTH_GROWTH_AGENT_HPP
#define RUBATO_ADAPT_GROWTH_GROWTH_AGENT_HPP

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../../core/number_text.hpp"
#include "../../core/result.hpp"
#include "../../pinned.hpp"
#include "block_action.hpp"
#include "growable_model.hpp"
#include "growth_network.hpp"
#include "layer_vocabulary.hpp"
#include "time_encoding.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// What an agent says about a model.
struct growth_advice {
  std::vector<float> probabilities{};  ///< of each action, see growable_model; the last: nothing
  std::size_t action = 0;              ///< the most probable; of equals the first
};

/// Overwrites preferences, at least one and none of them NaN, with their softmax.
inline void softmax(std::span<float> preferences) noexcept {
  const double most = static_cast<double>(*std::max_element(preferences.begin(), preferences.end()));
  double sum = 0;
  for (const float x : preferences) sum += std::exp(static_cast<double>(x) - most);
  for (float& x : preferences) x = static_cast<float>(std::exp(static_cast<double>(x) - most) / sum);
}

namespace detail {

// What is wrong with the times that an agent is told; empty if nothing is.
[[nodiscard]] inline std::string problem_of_times(double time_left, double budget) {
  using rubato::detail::text_of;
  if (!(budget > 0) || !pinned::is_finite(budget))
    return "budget is " + text_of(budget) + ", expected a number above 0";
  if (!pinned::is_finite(time_left)) return "time left is " + text_of(time_left) + ", expected a number";
  return {};
}

// Of preferences, or nothing where one is no number.
template <std::floating_point T>
[[nodiscard]] std::optional<growth_advice> advice_by(std::span<const T> preferences) {
  growth_advice said;
  for (const T each : preferences) said.probabilities.push_back(static_cast<float>(each));
  if (!std::ranges::all_of(said.probabilities, [](float x) { return pinned::is_finite(x); })) return std::nullopt;
  softmax(said.probabilities);
  said.action = static_cast<std::size_t>(std::ranges::max_element(said.probabilities) - said.probabilities.begin());
  return said;
}

}  // namespace detail

/// Says where a model should grow, when devices are free: a network, the layers that it knows, and how it is told the
/// time. A growth_agent is for models of so many actions, a block_agent for those of any number.
///
///     auto model = growable_model::make(...);
///     const auto advice = agent.advise(*model, cluster.time_left(), cluster.time_budget());
///     if (advice) model->grow(advice->action);
///
/// Cost    one forward() of the network; allocates. Thread-safe, being constant.
/// Tests   tests/adapt/growth/growth_agent_test.cpp: SaysWhatIsMostProbable, ModelAndTimeMatter, SoftmaxOfWhatIsLarge,
///         RefusesModelsItDoesNotKnow, RefusesAnotherNumberOfActions, RefusesImpossibleTimes,
///         RefusesPreferencesThatAreNoNumbers; tests/adapt/growth/block_agent_test.cpp:
///         AdvisesModelsOfAnyNumberOfBlocks, AdvisesToWiden, and others of these names
template <class Network>
struct basic_growth_agent {
  Network network;                            ///< preferences
  layer_vocabulary vocabulary;                ///< its rows are the network's
  time_encoding time = time_encoding::sines;  ///< that the network was trained with

  /// Errors  invalid_option: a layer that the vocabulary has no row for; a model of more or fewer actions than the
  ///         network has; a budget that is not above 0, a time that is not a number; preferences that are no numbers
  [[nodiscard]] result<growth_advice> advise(const growable_model& model, double time_left, double budget) const {
    const auto refusal = [](std::string what) {
      return error{errc::invalid_option, "growth_agent: " + std::move(what)};
    };
    if (std::string wrong = detail::problem_of_times(time_left, budget); !wrong.empty())
      return refusal(std::move(wrong));
    if (!network.serves(model.actions()))
      return refusal("found a model of " + std::to_string(model.actions()) +
                     " actions, expected as many as the network has preferences");
    const auto rows = vocabulary.rows_of(model.layers());
    if (!rows) return refusal(rows.error().message);
    const std::vector<block_action> actions = block_actions(model);
    typename Network::workspace work{network, rows->size(), actions.size()};
    const auto preferences = network.forward(*rows, actions, encoded_time(time_left, budget, time), work);
    auto said = detail::advice_by(preferences);
    if (!said) return refusal("a preference is not a finite number");
    return std::move(*said);
  }
};

using growth_agent = basic_growth_agent<growth_network>;  ///< see basic_growth_agent

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
