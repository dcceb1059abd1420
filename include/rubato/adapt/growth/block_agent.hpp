#ifndef RUBATO_ADAPT_GROWTH_BLOCK_AGENT_HPP
#define RUBATO_ADAPT_GROWTH_BLOCK_AGENT_HPP

#include <concepts>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "../../core/result.hpp"
#include "block_network.hpp"
#include "growable_model.hpp"
#include "growth_agent.hpp"
#include "layer_vocabulary.hpp"
#include "time_encoding.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// Says where a model should grow, when devices are free, as a growth_agent does, but for models of any number of
/// blocks: one agent for all of them.
///
///     const block_agent agent{.network = ..., .vocabulary = ...};
///     const auto advice = agent.advise(*model, cluster.time_left(), cluster.time_budget());
///     if (advice) model->grow(advice->action);
///
/// Cost    one forward() of the network; allocates. Thread-safe, being constant.
/// Tests   tests/adapt/growth/block_agent_test.cpp: SaysWhatIsMostProbable, AdvisesModelsOfAnyNumberOfBlocks,
///         AdvisesToWiden, ModelAndTimeMatter, RefusesModelsItDoesNotKnow, RefusesImpossibleTimes,
///         RefusesPreferencesThatAreNoNumbers
template <std::floating_point T>
struct basic_block_agent {
  basic_block_network<T> network;             ///< preferences
  layer_vocabulary vocabulary;                ///< its rows are the network's
  time_encoding time = time_encoding::sines;  ///< that the network was trained with

  /// Errors  invalid_option: a layer that the vocabulary has no row for; a budget that is not above 0, a time that is
  ///         not a number; preferences that are no numbers
  [[nodiscard]] result<growth_advice> advise(const growable_model& model, double time_left, double budget) const {
    const auto refusal = [](std::string what) {
      return error{errc::invalid_option, "block_agent: " + std::move(what)};
    };
    if (std::string wrong = detail::problem_of_times(time_left, budget); !wrong.empty())
      return refusal(std::move(wrong));
    const auto rows = vocabulary.rows_of(model.layers());
    if (!rows) return refusal(rows.error().message);
    const std::vector<block_action> actions = block_actions(model);
    typename basic_block_network<T>::workspace work{network, rows->size(), actions.size()};
    const auto preferences = network.forward(*rows, actions, encoded_time(time_left, budget, time), work);
    auto said = detail::advice_by(preferences);
    if (!said) return refusal("a preference is not a finite number");
    return std::move(*said);
  }
};

using block_agent = basic_block_agent<float>;  ///< see basic_block_agent

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
