#ifndef RUBATO_SIM_QUADRATIC_HPP
#define RUBATO_SIM_QUADRATIC_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

#include "../config.hpp"
#include "../core/rng.hpp"
#include "../pinned.hpp"
#include "../rl/philox_blocks.hpp"
#include "gradient_pool.hpp"
#include "objective.hpp"

namespace rubato::inline RUBATO_ABI::sim {

/// The shape of the bowl, and how noisy it is.
struct quadratic_options {
  std::uint32_t dimension = 8;  ///< number of parameters
  double condition = 10;  ///< largest over smallest curvature, at least 1; the curvatures are spaced evenly in log
  double noise = 0.1;     ///< standard deviation of one sample's gradient, per parameter
  double momentum = 0;    ///< in [0, 1)
  bool gradient_statistics = false;  ///< compute gradient::statistics
};

/// What is wrong with the options, or nullptr.
[[nodiscard]] inline const char* problem(const quadratic_options& options) noexcept {
  if (options.dimension == 0) return "dimension: expected at least 1";
  if (!(options.condition >= 1) || !pinned::is_finite(options.condition)) return "condition: expected at least 1";
  if (!(options.noise >= 0) || !pinned::is_finite(options.noise)) return "noise: expected 0 or more";
  if (!(pinned::within(options.momentum, 0, 1) && options.momentum < 1)) return "momentum: expected a number in [0, 1)";
  return nullptr;
}

/// A noisy quadratic bowl, loss = 1/2 sum_i c_i x_i^2 with c_i from 1 down to 1/condition: training in nanoseconds.
///
/// It starts at a random corner with |x_i| = 1. The mean gradient of a batch is c_i x_i plus noise of deviation
/// noise / sqrt(batch); the noise is uniform rather than normal, which is cheaper and, summed over steps, no different.
/// accuracy = 1 / (1 + loss): 1 at the minimum, falling monotonically to 0 as the loss grows, 0 when it is not finite.
/// probe() is the loss itself; gradient::norm is exact. Of the statistics of a gradient, the accuracy is that of
/// evaluate() where it was computed, the variance is exact, and the square is the batch's, less the variance over it.
///
/// Pre     problem(options) == nullptr; handles are live (from compute(), not yet released)
/// Cost    dimension 8: compute, update and release about 80 ns together; no allocation once the pool has grown
/// Thread  one object per thread
/// Tests   tests/sim/quadratic_test.cpp
class quadratic {
 public:
  /// Starts as after reset(0).
  explicit quadratic(const quadratic_options& options = {})
      : options_{options},
        curvature_(options.dimension),
        parameters_(options.dimension),
        velocity_(options.momentum > 0 ? options.dimension : 0),
        momentum_{options.momentum} {
    RUBATO_ASSERT(problem(options) == nullptr, "quadratic: bad options");
    for (std::uint32_t i = 0; i < options.dimension; ++i)
      curvature_[i] = std::pow(options.condition, options.dimension == 1 ? 0.0 : -double(i) / (options.dimension - 1));
    reset(0);
  }

  /// See Objective: another corner, no velocity, the momentum of the options.
  void reset(std::uint64_t seed) {
    seed_ = seed;
    momentum_ = options_.momentum;
    random_sequence corner{seed, initial_stream};
    for (double& x : parameters_) x = corner.below(2) == 0 ? -1 : 1;
    std::fill(velocity_.begin(), velocity_.end(), 0.0);
    pool_.clear();
  }

  /// See Objective. Precondition: batch > 0.
  [[nodiscard]] gradient compute(std::uint32_t worker, std::uint64_t step, std::uint32_t batch) {
    RUBATO_ASSERT(batch > 0, "quadratic: an empty batch");
    const std::uint32_t handle = pool_.acquire();
    std::vector<double>& out = pool_[handle];
    out.resize(options_.dimension);

    const double scale = noise_scale(batch);
    const std::uint64_t first = step * ((std::uint64_t{options_.dimension} + 3) / 4);
    double squares = 0, twice_loss = 0;
    for (std::size_t from = 0; from < out.size(); from += 8) {
      const auto words = rl::philox_blocks<2>(seed_, worker, first + from / 4);
      for (std::size_t i = from; i < (std::min)(from + 8, out.size()); ++i) {
        const double slope = curvature_[i] * parameters_[i];
        const auto word = static_cast<double>(std::int64_t{words[i / 4 % 2][i % 4]});
        out[i] = slope + scale * (word - 0x1.fffffffep30);
        squares += out[i] * out[i];
        twice_loss += slope * parameters_[i];
      }
    }
    gradient made{handle, static_cast<float>(twice_loss / 2), static_cast<float>(std::sqrt(squares)), batch};
    if (options_.gradient_statistics) {
      const double variance = options_.dimension * options_.noise * options_.noise;
      made.statistics = {.accuracy = static_cast<float>(1 / (1 + twice_loss / 2)),
                         .variance = static_cast<float>(variance),
                         .square = static_cast<float>(squares - variance / batch)};
    }
    return made;
  }

  /// See Objective.
  void update(std::span<const contribution> contributions, double learning_rate) {
    const bool heavy = options_.momentum > 0;
    for (double& v : velocity_) v *= momentum_;
    std::vector<double>& target = heavy ? velocity_ : parameters_;
    for (const contribution& part : contributions) {
      const double scale = heavy ? double(part.weight) : -learning_rate * double(part.weight);
      const std::vector<double>& direction = pool_[part.handle];
      for (std::size_t i = 0; i < target.size(); ++i) target[i] += scale * direction[i];
    }
    for (std::size_t i = 0; i < velocity_.size(); ++i) parameters_[i] -= learning_rate * velocity_[i];
  }

  /// The momentum of later updates, until reset(); the velocity stays. Preconditions: one was given to begin with, for
  /// without it there is no velocity; momentum in [0, 1).
  void set_momentum(double momentum) noexcept {
    RUBATO_ASSERT(options_.momentum > 0 && momentum >= 0 && momentum < 1, "quadratic: momentum cannot be that");
    momentum_ = momentum;
  }

  void release(std::uint32_t handle) { pool_.release(handle); }  ///< see Objective

  /// See Objective; there is no validation set.
  [[nodiscard]] evaluation evaluate() const {
    const double value = loss();
    return {value, pinned::is_finite(value) ? 1 / (1 + value) : 0};
  }

  [[nodiscard]] double probe() const { return loss(); }  ///< the loss

  /// The present ones, x_0 first.
  [[nodiscard]] std::span<const double> parameters() const noexcept { return parameters_; }

 private:
  static constexpr std::uint64_t initial_stream = std::uint64_t{1} << 63;  // beyond every worker's stream

  // Of a word, which is uniform on [0, 2^32); centred, its deviation is 2^32 / sqrt(12).
  [[nodiscard]] double noise_scale(std::uint32_t batch) noexcept {
    if (batch != scaled_for_) {
      scaled_for_ = batch;
      scale_ = options_.noise / std::sqrt(double(batch)) * 2 * std::numbers::sqrt3 * 0x1p-32;
    }
    return scale_;
  }

  [[nodiscard]] double loss() const {
    double sum = 0;
    for (std::size_t i = 0; i < parameters_.size(); ++i) sum += curvature_[i] * parameters_[i] * parameters_[i];
    return sum / 2;
  }

  quadratic_options options_;
  std::uint64_t seed_ = 0;
  std::uint32_t scaled_for_ = 0;  // the batch of scale_; 0: none yet
  double scale_ = 0;
  std::vector<double> curvature_;
  std::vector<double> parameters_;
  std::vector<double> velocity_;  // empty without momentum
  gradient_pool<std::vector<double>> pool_;
  double momentum_;  // of the next update
};

static_assert(Objective<quadratic>);

}  // namespace rubato::inline RUBATO_ABI::sim

#endif
