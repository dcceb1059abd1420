#ifndef RUBATO_ADAPT_BATCH_SIZERS_DYNAMIX_HPP
#define RUBATO_ADAPT_BATCH_SIZERS_DYNAMIX_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "../../core/archive.hpp"
#include "../../dynarray.hpp"
#include "../../learned/fingerprint.hpp"
#include "../../nn/concepts.hpp"
#include "../../pinned.hpp"
#include "../batch_sizer.hpp"
#include "../batch_state.hpp"
#include "random.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// Which of batch_deltas change the batch of this worker: bit d: delta d does, or is 0. Those that it could not follow,
/// being at a limit, are not legal.
[[nodiscard]] constexpr std::uint32_t legal_deltas(const batch_worker& worker) noexcept {
  std::uint32_t legal = 0;
  for (std::size_t d = 0; d < batch_deltas.size(); ++d) {
    const bool shrinks = batch_deltas[d]<0, grows = batch_deltas[d]> 0;
    if ((!shrinks || worker.batch > worker.least) && (!grows || worker.batch < worker.most)) legal |= 1U << d;
  }
  return legal;
}

/// DYNAMIX: a network, the same for all workers, says for each what to add to its batch, from what it sees of it.
///
/// The preferred one among the legal batch_deltas is taken, 0 where no preference is a number. A network has
/// batch_state::size inputs and an output for each delta.
///
/// Cost    one evaluation per worker and period. Allocates in resize() only, 4 bytes per worker.
/// Source  Dai, He and Wang, "DYNAMIX: RL-based Adaptive Batch Size Optimization in Distributed Machine Learning
///         Systems", arXiv 2510.08522: one policy with shared parameters, evaluated for each worker
/// Tests   tests/adapt/dynamix_test.cpp: EveryWorkerByItsOwnState, LimitsAreMasked, WithoutANumberNothingChanges,
///         SavesWhatItKnows, AllocatesNothing
template <nn::ActionValueFunction Network>
struct dynamix {
  Network network{};  ///< preferences

  void resize(std::uint32_t capacity) {
    seen = {};
    losses = rubato::detail::dynarray<float>(capacity, not_measured);
  }
  void forget(std::uint32_t worker) noexcept { losses[worker] = not_measured; }

  void operator()(const batch_period& period, std::span<std::uint32_t> batches) noexcept {
    seen.begin(period, {losses.data(), losses.size()});
    for (std::size_t w = 0; w < period.workers.size(); ++w) {
      if (!period.workers[w].counts) continue;
      std::array<float, batch_state::size> observation;
      std::array<float, batch_deltas.size()> preferences;
      seen.observe(w, observation);
      network.evaluate(observation, preferences);
      batches[w] = changed_by(batches[w], batch_deltas[preferred(preferences, legal_deltas(period.workers[w]))]);
    }
    seen.end();
  }

  void state(archive& bytes) {
    seen.state(bytes);
    for (float& loss : losses) {
      bytes(loss);
      if (!pinned::is_nan(loss) && !pinned::is_finite(loss)) bytes.fail();
    }
  }
  [[nodiscard]] std::string problem() const { return {}; }
  [[nodiscard]] description describe() const {
    description self{"learned batches (DYNAMIX)", R"({"kind":"dynamix")"};
    if constexpr (requires { network.parameters(); })
      self.json.append(R"(,"network":")").append(fingerprint_of(network.parameters())).append(R"(")");
    self.json.append("}");
    return self;
  }

  batch_state seen{};                        ///< state, not an option
  rubato::detail::dynarray<float> losses{};  ///< likewise: of each worker in the last period

 private:
  [[nodiscard]] static std::size_t preferred(std::span<const float> preferences, std::uint32_t legal) noexcept {
    constexpr std::size_t none = 2;
    static_assert(batch_deltas[none] == 0);
    std::size_t best = none;
    for (std::size_t d = 0; d < preferences.size(); ++d) {
      const bool better = pinned::is_nan(preferences[best]) || preferences[d] > preferences[best];
      if ((legal >> d & 1) != 0 && !pinned::is_nan(preferences[d]) && better) best = d;
    }
    return best;
  }
};

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
