#ifndef RUBATO_ADAPT_BATCH_SIZERS_RANDOM_HPP
#define RUBATO_ADAPT_BATCH_SIZERS_RANDOM_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "../../core/archive.hpp"
#include "../../core/rng.hpp"
#include "../batch_deltas.hpp"
#include "../batch_sizer.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// Any of batch_deltas for each worker, every period: what knowing nothing comes to.
///
/// Option  seed: of the choices, which are a function of it, the worker and the period
/// Cost    O(workers). No allocation.
/// Tests   tests/adapt/batch_sizers_test.cpp: RandomDrawsEveryDelta
struct random_batches {
  std::uint64_t seed = 1;  ///< of the choices

  void resize(std::uint32_t) noexcept {}
  void forget(std::uint32_t) noexcept {}
  void operator()(const batch_period& seen, std::span<std::uint32_t> batches) noexcept {
    for (std::size_t w = 0; w < batches.size(); ++w)
      batches[w] = changed_by(
          batches[w],
          batch_deltas[static_cast<std::uint32_t>(random_sequence{seed, w, seen.number}.below(batch_deltas.size()))]);
  }
  void state(archive&) noexcept {}
  [[nodiscard]] std::string problem() const { return {}; }
  [[nodiscard]] description describe() const {
    return {"random batches", R"({"kind":"random","seed":)" + std::to_string(seed) + "}"};
  }
};

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
