#ifndef RUBATO_SIM_LOSS_FEATURE_HPP
#define RUBATO_SIM_LOSS_FEATURE_HPP

#include <cmath>

#include "objective.hpp"
#include "options.hpp"

namespace rubato::inline RUBATO_ABI::sim {

/// The loss that a policy sees with each push.
///
/// Cost    O(1). No allocation. Not thread-safe.
/// Tests   tests/sim/loss_feature_test.cpp
/// Source  Zhu et al. (ICLR 2020) leave open how the loss is measured; both readings are here
class loss_feature {
 public:
  explicit loss_feature(loss_source source) noexcept : source_{source} {}

  [[nodiscard]] bool probes() const noexcept { return source_ == loss_source::probe; }

  /// The server has measured the loss of the present parameters.
  void probed(double loss) noexcept { loss_ = loss; }

  /// The loss to report with this gradient. What is not finite goes through as it is, so that the controller drops the
  /// gradient; a cancelled worker has measured nothing.
  [[nodiscard]] float with(const gradient& work, bool cancelled) noexcept {
    if (!std::isfinite(work.loss) || !std::isfinite(work.norm)) return std::isfinite(work.loss) ? work.norm : work.loss;
    if (!probes() && !cancelled) {
      loss_ = measured_ ? loss_ + newest * (work.loss - loss_) : work.loss;
      measured_ = true;
    }
    return static_cast<float>(loss_);
  }

 private:
  static constexpr double newest = 0.1;

  loss_source source_;
  double loss_ = 0;
  bool measured_ = false;
};

}  // namespace rubato::inline RUBATO_ABI::sim

#endif
