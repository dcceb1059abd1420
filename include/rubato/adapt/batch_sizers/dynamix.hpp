#ifndef RUBATO_ADAPT_BATCH_SIZERS_DYNAMIX_HPP
#define RUBATO_ADAPT_BATCH_SIZERS_DYNAMIX_HPP

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "../../core/archive.hpp"
#include "../../learned/fingerprint.hpp"
#include "../../nn/concepts.hpp"
#include "../batch_deltas.hpp"
#include "../batch_sizer.hpp"
#include "../batch_state.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// DYNAMIX: a network, the same for all workers, says for each what to add to its batch, from what it sees of it.
///
/// The preferred one among the legal batch_deltas is taken, 0 where no preference is a number. A network has
/// batch_state::size inputs and an output for each delta.
///
/// Cost    one evaluation per worker and period. Allocates in resize() only, 4 bytes per worker.
/// Source  Dai, He and Wang, "DYNAMIX: RL-based Adaptive Batch Size Optimization in Distributed Machine Learning
///         Systems", arXiv 2510.08522: one policy with shared parameters, evaluated for each worker
/// Tests   tests/adapt/dynamix_test.cpp: EveryWorkerByItsOwnState, LimitsAreMasked, WithoutANumberNothingChanges,
///         SavesWhatItKnows; tests/adapt/no_allocation_test.cpp: Dynamix
template <nn::ActionValueFunction Network>
struct dynamix {
  Network network{};  ///< preferences

  void resize(std::uint32_t capacity) { seen.resize(capacity); }
  void forget(std::uint32_t worker) noexcept { seen.forget(worker); }

  void operator()(const batch_period& period, std::span<std::uint32_t> batches) noexcept {
    seen.decide(period, batches, [&](std::size_t w, std::span<const float> observation) noexcept {
      std::array<float, batch_deltas.size()> preferences;
      network.evaluate(observation, preferences);
      return preferred_delta(preferences, legal_deltas(period.workers[w]));
    });
  }

  void state(archive& bytes) { seen.state(bytes); }
  [[nodiscard]] std::string problem() const { return {}; }
  [[nodiscard]] description describe() const {
    description self{"learned batches (DYNAMIX)", R"({"kind":"dynamix")"};
    if constexpr (requires { network.parameters(); })
      self.json.append(R"(,"network":")").append(fingerprint_of(network.parameters())).append(R"(")");
    self.json.append("}");
    return self;
  }

  batch_state seen{};  ///< state, not an option
};

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
