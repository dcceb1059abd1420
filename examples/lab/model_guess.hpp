#ifndef RUBATO_EXAMPLES_LAB_MODEL_GUESS_HPP
#define RUBATO_EXAMPLES_LAB_MODEL_GUESS_HPP

#include <cstdint>
#include <optional>
#include <vector>

#include "decision_history.hpp"
#include "run_context.hpp"
#include "support/scenario.hpp"

namespace rubato::lab {

/// A model that the log may have trained.
struct model_guess {
  std::uint32_t hidden_layers = 0;
  double rate_factor = 1;  ///< on the scenario's learning rate
  double weight = 0;       ///< of all guesses: 1
  /// How far its losses are from the log's: root of the mean square of the logarithm. None: it diverges.
  std::optional<double> off{};
};

/// Which of the simulator's models behave as the log's does under staleness. Each of a family, the scenario's hidden
/// layers times half, once and twice its learning rate, is trained in the order of the log (see replay()), on two
/// seeds that no run has by default; the loss against pushes is compared in twelve stretches. The weight says how
/// likely the log's losses are for it, given how much the losses of two seeds differ; before, the scenario's own rate
/// is as likely as both others.
///
/// This is all that one run can say of the sensitivity to staleness: that a model which learned like this one, under
/// this staleness, also learns like it under another.
///
/// Nothing if `stop` was raised. Errors: user_error if the log has too few losses.
/// Cost    6 × hidden layers short trainings, of at most `most_pushes` each
/// Tests   tests/examples/model_guess_test.cpp: FindsTheModelOfALog, DoesNotMeetTheRunOfTheLog,
///         WhatDivergesIsNotOffByANumber
[[nodiscard]] std::optional<std::vector<model_guess>> guess_models(const decision_history&, const support::scenario&,
                                                                   std::uint64_t seed, const run_context&);

/// How far the nearest guess is. None: all diverge.
[[nodiscard]] std::optional<double> least_off(const std::vector<model_guess>&);
/// Whether none of them has losses within a factor of ten of the log's: they say nothing of its model.
[[nodiscard]] bool nothing_alike(const std::vector<model_guess>&);

inline constexpr std::size_t most_pushes_compared = 2'000;
inline constexpr std::size_t fewest_losses = 60;

}  // namespace rubato::lab

#endif
