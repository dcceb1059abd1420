#ifndef RUBATO_SIM_FINISH_LINE_HPP
#define RUBATO_SIM_FINISH_LINE_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "../pinned.hpp"
#include "objective.hpp"
#include "options.hpp"
#include "result.hpp"

namespace rubato::inline RUBATO_ABI::sim {

/// Says after which pushes to evaluate, and whether an evaluation ends the run.
///
/// Towards a target: every `evaluate_every` pushes within 0.03 of it, twice as many within 0.1, five times as many
/// farther away; evaluations cost more than gradients, and far from the target they cannot end the run. Otherwise:
/// always `evaluate_every`. A loss that is not finite ends the run as diverged, whatever the rule.
///
/// Cost    O(1). No allocation. Not thread-safe.
/// Tests   tests/sim/finish_line_test.cpp
class finish_line {
 public:
  /// Precondition: problem(options).empty().
  explicit finish_line(const run_options& options)
      : stop_{options.stop},
        target_{options.target_accuracy},
        workload_{options.workload},
        every_{options.evaluate_every},
        next_{options.evaluate_every * (options.stop == stop_rule::target ? 5 : 1)} {}

  /// Is it time to evaluate?
  [[nodiscard]] bool due(std::uint64_t pushes) const noexcept { return pushes >= next_; }

  /// Has the work been done?
  [[nodiscard]] bool passed(std::uint64_t samples) const noexcept {
    return stop_ == stop_rule::workload && samples >= workload_;
  }

  /// Takes an evaluation into account; `unfinished` if the run goes on.
  [[nodiscard]] run_end judge(const evaluation& now, std::uint64_t pushes) noexcept {
    constexpr auto most = static_cast<double>((std::numeric_limits<float>::max)());
    // Gradients report their loss as float: beyond its range all of them would be dropped.
    if (!pinned::within(now.loss, -most, most) || !pinned::is_finite(now.accuracy)) return run_end::diverged;
    next_ = pushes + every_ * (stop_ == stop_rule::target ? spacing(target_ - now.accuracy) : 1);
    if (stop_ == stop_rule::target) return now.accuracy >= target_ ? run_end::reached : run_end::unfinished;
    if (stop_ != stop_rule::converged) return run_end::unfinished;
    latest_[evaluations_++ % latest_.size()] = now.accuracy;
    if (evaluations_ < latest_.size()) return run_end::unfinished;
    const auto [lowest, highest] = std::minmax_element(latest_.begin(), latest_.end());
    constexpr double rounding = 1e-9;
    return *highest - *lowest <= 0.001 + rounding ? run_end::reached : run_end::unfinished;
  }

 private:
  [[nodiscard]] static constexpr std::uint64_t spacing(double distance) noexcept {
    return distance > 0.1 ? 5 : distance > 0.03 ? 2 : 1;
  }

  stop_rule stop_;
  double target_;
  std::uint64_t workload_;
  std::uint64_t every_;
  std::uint64_t next_;
  std::array<double, 5> latest_{};
  std::size_t evaluations_ = 0;
};

}  // namespace rubato::inline RUBATO_ABI::sim

#endif
