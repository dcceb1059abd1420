#ifndef RUBATO_EXAMPLES_LAB_TAPPED_BATCHES_HPP
#define RUBATO_EXAMPLES_LAB_TAPPED_BATCHES_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <rubato/adapt/batch_deltas.hpp>
#include <rubato/adapt/batch_policy_file.hpp>
#include <rubato/adapt/batch_state.hpp>
#include <span>

namespace rubato::lab {

/// adapt::learned_batches whose every observation passes somebody who may note or change it, on its way to the network.
/// Tests   tests/examples/explain_test.cpp: BatchesHaveSixteenFeatures
struct tapped_batches : adapt::learned_batches {
  /// Is told the legal changes, and the observation.
  std::function<void(std::uint32_t, std::span<float, adapt::batch_state::size>)> tap;

  void operator()(const adapt::batch_period& period, std::span<std::uint32_t> batches) noexcept {
    seen.decide(period, batches, [&](std::size_t w, std::array<float, adapt::batch_state::size> observation) noexcept {
      const std::uint32_t legal = adapt::legal_deltas(period.workers[w]);
      tap(legal, observation);
      std::array<float, adapt::batch_deltas.size()> preferences;
      network.evaluate(observation, preferences);
      return adapt::preferred_delta(preferences, legal);
    });
  }
};

}  // namespace rubato::lab

#endif
