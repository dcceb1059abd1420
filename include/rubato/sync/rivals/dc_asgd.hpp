#ifndef RUBATO_SYNC_RIVALS_DC_ASGD_HPP
#define RUBATO_SYNC_RIVALS_DC_ASGD_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "../../config.hpp"
#include "../../dynarray.hpp"
#include "../../pinned.hpp"
#include "wording.hpp"

namespace rubato::inline RUBATO_ABI {

/// How gradients are compensated.
struct dc_asgd_options {
  float lambda = 0.04F;    ///< strength of the compensation
  bool adaptive = false;   ///< lambda / sqrt(mean square of the gradients), for each parameter
  float decay = 0.95F;     ///< adaptive: of the mean square, in [0, 1)
  float epsilon = 1e-7F;   ///< adaptive: added to the mean square, above 0

  /// DC-ASGD-c, with the constant of the paper's CIFAR-10 runs.
  [[nodiscard]] static constexpr dc_asgd_options constant() noexcept { return {}; }
  /// DC-ASGD-a, likewise.
  [[nodiscard]] static constexpr dc_asgd_options adapting() noexcept { return {.lambda = 2.0F, .adaptive = true}; }
};

/// What is wrong with these options, as a sentence; empty if nothing is.
[[nodiscard]] inline std::string problem(const dc_asgd_options& o) {
  return detail::first_of({detail::unless_from_0("lambda", o.lambda),
                           detail::unless(pinned::within(o.decay, 0, 1) && o.decay < 1.0F, "decay", o.decay,
                                          "a number of at least 0 and below 1"),
                           detail::unless_above_0("epsilon", o.epsilon)});
}

/// Delay-compensated asynchronous SGD: for hosts, a correction of stale gradients before they are applied.
///
/// No policy: it works on the host's arrays, under any policy that applies gradients as they arrive. A copy of the
/// parameters that each worker was sent is kept; when its gradient g comes back to parameters w that have moved on from
/// that copy, g + lambda g g (w - copy), element by element, estimates the gradient at w, with g g for the Hessian. A
/// gradient that is not stale is not changed.
///
///     helper.sent(worker, parameters);                     // when its grant goes out
///     helper.compensate(worker, parameters, gradient);     // when its gradient has come, before it is applied
///
/// Under several shards, one helper for each. Nothing is saved: after a restart workers are sent parameters anew, and
/// the mean square starts from 0 again.
/// Memory  (capacity + 1) x size numbers
/// Cost    O(size) each, in plain loops that compilers turn into vector code; the adaptive one, for its square root,
///         with -fno-math-errno only. Allocates at construction only.
/// Thread  calls of different workers may run at the same time if not adaptive, and one at a time if it is.
/// Tests   tests/sync/rivals/dc_asgd_test.cpp: ByHand, AgreesWithDoubles, AdaptiveAgreesWithDoubles,
///         FreshGradientsStayAsTheyAre, UnknownWorkersStayAsTheyAre, CompensationIsExactForOneQuadratic,
///         RefusesBadOptions
/// Source  Zheng et al., "Asynchronous Stochastic Gradient Descent with Delay Compensation", ICML 2017, eq. 10
class dc_asgd {
 public:
  /// For workers 0 ... capacity - 1 and so many parameters. Precondition: problem(options) is empty.
  dc_asgd(std::uint32_t capacity, std::size_t size, const dc_asgd_options& options = {})
      : options_{options}, size_{size}, copies_(capacity * size), known_(capacity),
        mean_square_(options.adaptive ? size : 0) {
    RUBATO_ASSERT(problem(options).empty(), "dc_asgd options out of range");
  }

  /// These parameters were sent to this worker. Precondition: worker below the capacity, as many as the size.
  void sent(std::uint32_t worker, std::span<const float> parameters) noexcept {
    RUBATO_ASSERT(worker < known_.size() && parameters.size() == size_, "sent() of a worker or a size out of range");
    std::copy(parameters.begin(), parameters.end(), copy_of(worker));
    known_[worker] = 1;
  }

  /// Corrects this worker's gradient for what the parameters have moved since they were sent to it. A worker to which
  /// none were sent, or that was forgotten, keeps its gradient (which counts for the mean square all the same).
  void compensate(std::uint32_t worker, std::span<const float> parameters, std::span<float> gradient) noexcept {
    RUBATO_ASSERT(worker < known_.size() && parameters.size() == size_ && gradient.size() == size_,
                  "compensate() of a worker or a size out of range");
    if (options_.adaptive) note(gradient.data());
    if (known_[worker] == 0) return;
    if (options_.adaptive)
      adaptive(parameters.data(), copy_of(worker), gradient.data());
    else
      constant(parameters.data(), copy_of(worker), gradient.data());
  }

  /// The worker has gone; its next life starts without a copy.
  void forget(std::uint32_t worker) noexcept { known_[worker] = 0; }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }  ///< parameters
  /// Worker indices are below it.
  [[nodiscard]] std::uint32_t capacity() const noexcept { return static_cast<std::uint32_t>(known_.size()); }

 private:
  [[nodiscard]] float* copy_of(std::uint32_t worker) noexcept { return copies_.data() + worker * size_; }

  void constant(const float* w, const float* copy, float* g) const noexcept {
    const float lambda = options_.lambda;
    for (std::size_t i = 0; i < size_; ++i) g[i] += lambda * g[i] * g[i] * (w[i] - copy[i]);
  }
  void adaptive(const float* w, const float* copy, float* g) const noexcept {
    const float* mean = mean_square_.data();
    const float lambda = options_.lambda;
    const float epsilon = options_.epsilon;
    for (std::size_t i = 0; i < size_; ++i)
      g[i] += lambda / std::sqrt(mean[i] + epsilon) * g[i] * g[i] * (w[i] - copy[i]);
  }
  void note(const float* g) noexcept {
    float* mean = mean_square_.data();
    const float decay = options_.decay;
    for (std::size_t i = 0; i < size_; ++i) mean[i] = decay * mean[i] + (1.0F - decay) * g[i] * g[i];
  }

  dc_asgd_options options_;
  std::size_t size_;
  detail::dynarray<float> copies_;
  detail::dynarray<char> known_;
  detail::dynarray<float> mean_square_;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
