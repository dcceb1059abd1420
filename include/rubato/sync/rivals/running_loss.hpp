#ifndef RUBATO_SYNC_RIVALS_RUNNING_LOSS_HPP
#define RUBATO_SYNC_RIVALS_RUNNING_LOSS_HPP

#include "../../core/archive.hpp"
#include "../../pinned.hpp"

namespace rubato::inline RUBATO_ABI::detail {

/// The running average of the losses that workers report. The first counts in full, each newer one moves the average
/// by `newest` of the way. Losses that a host did not measure (0), or that are not finite, are left out.
/// Tests   tests/sync/rivals/loss_decayed_test.cpp: FollowsTheRunningLoss, OneWithoutLosses
struct running_loss {
  double average = 0.0;
  bool measured = false;

  /// False if the loss was left out.
  bool add(float loss, double newest) noexcept {
    if (!pinned::is_finite(loss) || loss == 0.0F) return false;
    const auto number = static_cast<double>(loss);
    average = measured ? pinned::plus_product(average, newest, number - average) : number;
    measured = true;
    return true;
  }
  void state(archive& bytes) {
    bytes(average, measured);
    if (!pinned::is_finite(average)) bytes.fail();
  }
};

}  // namespace rubato::inline RUBATO_ABI::detail

#endif
