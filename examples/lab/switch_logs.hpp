#ifndef RUBATO_EXAMPLES_LAB_SWITCH_LOGS_HPP
#define RUBATO_EXAMPLES_LAB_SWITCH_LOGS_HPP

#include <cstdint>
#include <rubato/adapt/switch_replay.hpp>
#include <string>
#include <vector>

namespace rubato::lab {

/// A training in the logs of Sync-Switch's experiments that a search can use.
struct logged_training {
  std::string name;  ///< of its folder
  double share = 0;  ///< of the workload in BSP
  adapt::switch_outcome outcome;
};

/// One that it cannot use, and why not.
struct unused_training {
  std::string name;
  std::string why;
  bool named = false;  ///< its name is that of a training with a share; others are other experiments
};

/// The logged trainings of a workload.
struct switch_logs {
  std::string workload;
  std::uint32_t workers = 0;
  std::uint64_t rounds = 0;  ///< steps of a training that is synchronous throughout
  std::vector<logged_training> used{};
  std::vector<unused_training> unused{};

  /// Steps of a training that is asynchronous throughout.
  [[nodiscard]] std::uint64_t steps() const noexcept { return rounds * workers; }
};

/// Reads FOLDER/summary.csv, whose first line names the columns, of which it needs `dir`, `acc_laststep`, `acc_final`
/// and `loss_T`. The first element of a path in `dir` is the workload, the last one names the training:
///
///     bsp, bsp_1, bsp_run1     synchronous throughout         asp, asp_1      asynchronous throughout
///     b5-a95-run1, b50_a50     5 and 50 per cent synchronous, then asynchronous
///     12_88_1, 5050_run1       the same: 12 and 50 per cent
///     a25-b75-run1             asynchronous first: not used
///
/// Shares are taken from the last step, since names are rounded: n workers count n steps where they are asynchronous
/// and one where they are synchronous, so that a training of R rounds, or nR steps, that ends at step L was synchronous
/// for (nR - L) / ((n - 1) R) of them, rounded to an eighth of a per cent since asynchronous workers overshoot the end.
/// R is the largest last step of a synchronous training, n the number that explains the last steps of most others.
///
/// A training whose accuracy is not finite has diverged. It may have ended early, and at no step or time: its share is
/// that of the name or, of those of trainings with the same per cents that did not diverge, the nearest one.
///
/// Not used are trainings of other names; without accuracy; of those that did not diverge the ones without last step or
/// time, whose last step differs from what the name says by more than a hundredth of the workload, and that took more
/// than 1.5 times as long as their median at this share.
/// Errors  user_error: FILE:LINE, what was found and what was expected
/// Tests   tests/examples/switch_logs_test.cpp
[[nodiscard]] switch_logs read_switch_logs(const std::string& folder, const std::string& workload);

/// Its trainings by share, from the largest down.
[[nodiscard]] std::vector<adapt::logged_share> shares_of(const switch_logs&);

}  // namespace rubato::lab

#endif
