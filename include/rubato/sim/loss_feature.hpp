#ifndef RUBATO_SIM_LOSS_FEATURE_HPP
#define RUBATO_SIM_LOSS_FEATURE_HPP

#include "../encode/loss_average.hpp"
#include "../pinned.hpp"
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
  /// No loss was measured yet: what is reported without one is 0.
  explicit loss_feature(loss_source source) noexcept : source_{source} {}

  /// Whether probed() is to be called, at the start and after each update.
  [[nodiscard]] bool probes() const noexcept { return source_ == loss_source::probe; }

  /// The server has measured the loss of the present parameters.
  void probed(double loss) noexcept { probed_ = loss; }

  /// The loss to report with this gradient. What is not finite goes through as it is, so that the controller drops the
  /// gradient; a cancelled worker has measured nothing.
  [[nodiscard]] float with(const gradient& work, bool cancelled) noexcept {
    if (!pinned::is_finite(work.loss)) return work.loss;
    if (!pinned::is_finite(work.norm)) return work.norm;
    if (probes()) return static_cast<float>(probed_);
    return static_cast<float>(cancelled ? average_.value() : average_(static_cast<double>(work.loss)));
  }

 private:
  loss_source source_;
  double probed_ = 0;
  loss_average average_;
};

}  // namespace rubato::inline RUBATO_ABI::sim

#endif
