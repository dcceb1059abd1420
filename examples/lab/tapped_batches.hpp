#ifndef RUBATO_EXAMPLES_LAB_TAPPED_BATCHES_HPP
#define RUBATO_EXAMPLES_LAB_TAPPED_BATCHES_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <rubato/adapt/batch_deltas.hpp>
#include <rubato/adapt/batch_state.hpp>
#include <rubato/nn/dynamic_mlp.hpp>
#include <span>
#include <string>

namespace rubato::lab {

/// adapt::dynamix whose every observation passes somebody who may note or change it, on its way to the network.
/// Tests   tests/examples/explain_test.cpp: BatchesHaveSixteenFeatures
struct tapped_batches {
  nn::dynamic_mlp network;
  /// Is told the legal changes, and the observation.
  std::function<void(std::uint32_t, std::span<float, adapt::batch_state::size>)> tap;

  void resize(std::uint32_t capacity) { seen.resize(capacity); }
  void forget(std::uint32_t worker) noexcept { seen.forget(worker); }
  void operator()(const adapt::batch_period& period, std::span<std::uint32_t> batches) noexcept {
    seen.decide(period, batches, [&](std::size_t w, std::array<float, adapt::batch_state::size> observation) noexcept {
      const std::uint32_t legal = adapt::legal_deltas(period.workers[w]);
      tap(legal, observation);
      std::array<float, adapt::batch_deltas.size()> preferences;
      network.evaluate(observation, preferences);
      return adapt::preferred_delta(preferences, legal);
    });
  }
  void state(archive& bytes) { seen.state(bytes); }
  [[nodiscard]] std::string problem() const { return {}; }
  [[nodiscard]] description describe() const { return {"learned batches, explained", R"({"kind":"dynamix"})"}; }

  adapt::batch_state seen{};  ///< state, not an option
};

}  // namespace rubato::lab

#endif
