#ifndef RUBATO_SIM_LEARNING_RATE_HPP
#define RUBATO_SIM_LEARNING_RATE_HPP

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "../config.hpp"
#include "../pinned.hpp"

namespace rubato::inline RUBATO_ABI::sim {

/// From `after_pushes` pushes on, the base rate is multiplied by `factor` (not by the product of earlier factors).
struct rate_boundary {
  std::uint64_t after_pushes = 0;  ///< pushes that the server has handled, dropped ones included
  double factor = 1;               ///< 0 or more
};

/// A piecewise-constant learning rate.
struct learning_rate_options {
  double base = 0.03;                       ///< before the first boundary; above 0
  std::vector<rate_boundary> boundaries{};  ///< ascending in after_pushes
};

/// What is wrong with the options, or nullptr.
[[nodiscard]] inline const char* problem(const learning_rate_options& options) noexcept {
  if (!(options.base > 0) || !pinned::is_finite(options.base)) return "base: expected a positive number";
  for (std::size_t i = 0; i < options.boundaries.size(); ++i) {
    const rate_boundary& boundary = options.boundaries[i];
    if (!(boundary.factor >= 0) || !pinned::is_finite(boundary.factor))
      return "boundaries: expected factors of 0 or more";
    if (i > 0 && boundary.after_pushes <= options.boundaries[i - 1].after_pushes)
      return "boundaries: expected after_pushes in ascending order";
  }
  return nullptr;
}

/// The learning rate as a function of the pushes so far.
///
/// Pre     problem(options) == nullptr
/// Cost    at(): one pass over the boundaries; no allocation. Thread-safe.
/// Tests   tests/sim/learning_rate_test.cpp: ConstantWithoutBoundaries, StepsAtBoundaries, FactorsDoNotCompound
class learning_rate {
 public:
  /// Precondition: problem(options) == nullptr.
  explicit learning_rate(learning_rate_options options) : options_{std::move(options)} {
    RUBATO_ASSERT(problem(options_) == nullptr, "learning_rate: bad options");
  }

  /// The rate of an update after so many pushes.
  [[nodiscard]] double at(std::uint64_t pushes) const noexcept {
    double factor = 1;
    for (const rate_boundary& boundary : options_.boundaries) {
      if (pushes < boundary.after_pushes) break;
      factor = boundary.factor;
    }
    return options_.base * factor;
  }

 private:
  learning_rate_options options_;
};

}  // namespace rubato::inline RUBATO_ABI::sim

#endif
