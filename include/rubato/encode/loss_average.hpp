#ifndef RUBATO_ENCODE_LOSS_AVERAGE_HPP
#define RUBATO_ENCODE_LOSS_AVERAGE_HPP

#include "../core/archive.hpp"
#include "../pinned.hpp"

namespace rubato::inline RUBATO_ABI {

/// The running average of the losses that workers report, over all workers: what a policy whose card has the loss
/// source `worker_ema` expects in push_event::loss. A host that has no smoothed loss of its own keeps one of these.
///
///     event.loss = static_cast<float>(average(measured));
///
/// The first loss counts in full, each newer one moves the average a tenth of the way. A loss that is not finite comes
/// back as it is, so that the controller drops the gradient, and leaves the average alone.
/// Cost    O(1). No allocation. Not thread-safe.
/// Tests   tests/encode/loss_average_test.cpp
class loss_average {
 public:
  /// Takes a measured loss into account, and returns the one to report.
  double operator()(double loss) noexcept {
    if (!pinned::is_finite(loss)) return loss;
    average_ = measured_ ? pinned::plus_product(average_, newest, loss - average_) : loss;
    measured_ = true;
    return average_;
  }
  /// 0 before the first loss.
  [[nodiscard]] double value() const noexcept { return average_; }

  /// Saves or loads it.
  void state(archive& bytes) { bytes(average_, measured_); }

 private:
  static constexpr double newest = 0.1;

  double average_ = 0;
  bool measured_ = false;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
