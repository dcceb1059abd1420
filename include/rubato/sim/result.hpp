#ifndef RUBATO_SIM_RESULT_HPP
#define RUBATO_SIM_RESULT_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "../sync/counters.hpp"

namespace rubato::inline RUBATO_ABI::sim {

/// Why a run ended.
enum class run_end : std::uint8_t {
  unfinished,   ///< it has not
  reached,      ///< its stop rule was met
  out_of_time,  ///< max_time came first
  diverged,     ///< an evaluation was not finite: the parameters are gone
  stalled,      ///< nothing will ever happen again: all workers are gone, or, without a guard, all of them wait
  invalid       ///< problem() objects to the options: nothing was run
};

/// The reason as it appears in reports, such as "out_of_time".
[[nodiscard]] constexpr std::string_view name(run_end why) noexcept {
  constexpr std::array<std::string_view, 6> names{"unfinished", "reached", "out_of_time",
                                                  "diverged",   "stalled", "invalid"};
  return static_cast<std::size_t>(why) < names.size() ? names[static_cast<std::size_t>(why)] : "unknown";
}

/// What became of every gradient that was computed.
struct gradient_account {
  std::uint64_t computed = 0;    ///< steps that workers have started
  std::uint64_t applied = 0;     ///< one by one
  std::uint64_t flushed = 0;     ///< as part of a round
  std::uint64_t dropped = 0;     ///< by a verdict: stale, not finite, cancelled, excluded, ...
  std::uint64_t discarded = 0;   ///< with their round
  std::uint64_t lost = 0;        ///< their worker went before they were admitted
  std::uint64_t unfinished = 0;  ///< under way, or waiting in a round, when the run ended

  /// Every one of them ended exactly once.
  [[nodiscard]] constexpr bool balanced() const noexcept {
    return computed == applied + flushed + dropped + discarded + lost + unfinished;
  }
  friend constexpr bool operator==(const gradient_account&, const gradient_account&) noexcept = default;
};

/// One evaluation.
struct curve_point {
  double time = 0;           ///< units of time, from the start of the run
  std::uint64_t pushes = 0;  ///< handled by then
  double loss = 0;           ///< mean over the validation set
  double accuracy = 0;       ///< share in [0, 1]
  friend constexpr bool operator==(const curve_point&, const curve_point&) noexcept = default;
};

/// What a run came to. Equal inputs give equal results, bit by bit, on the same instruction set.
struct run_result {
  bool reached = false;                ///< the stop rule was met: end is run_end::reached
  run_end end = run_end::unfinished;   ///< why the run is over
  double time = 0;                     ///< when the stop rule was met; max_time if it was not
  double ended = 0;                    ///< when the run was over, whatever the reason
  std::uint64_t pushes = 0;            ///< gradients that the server has handled, dropped ones included
  std::uint64_t updates = 0;           ///< of the parameters
  std::uint64_t samples = 0;           ///< behind the gradients that were applied or accumulated
  double staleness_mean = 0;           ///< of the same gradients, in updates
  std::uint64_t staleness_p95 = 0;     ///< the smallest value that 95 % of them do not exceed
  double idle_share = 0;               ///< of the time of live workers: waiting for a release
  double decision_share = 0;           ///< of the time: the server taking decisions
  double final_loss = 0;               ///< of an evaluation at the end
  double final_accuracy = 0;           ///< of the same
  std::uint64_t overrides = 0;         ///< times that the guard overrode the policy
  gradient_account gradients{};        ///< balanced once the run has ended
  std::vector<std::uint64_t> steps{};  ///< pushes handled, for each worker
  std::array<std::uint64_t, counters::reasons> counted{};  ///< occurrences of each `reason`
  std::vector<curve_point> curve{};                        ///< if it was asked for

  /// How often something happened for this reason.
  [[nodiscard]] constexpr std::uint64_t count(reason why) const noexcept {
    return counted[static_cast<std::size_t>(why)];
  }
  friend bool operator==(const run_result&, const run_result&) noexcept = default;
};

/// How often each staleness occurred.
///
/// Cost    add: O(1), allocates only while the largest value grows. Not thread-safe.
/// Tests   tests/sim/result_test.cpp: QuantileOfAHistogram, LargeValuesShareTheLastBin
class staleness_histogram {
 public:
  /// One more value.
  void add(std::uint64_t staleness) {
    const auto bin = static_cast<std::size_t>(staleness < last_bin ? staleness : last_bin);
    if (bin >= bins_.size()) bins_.resize(bin + 1);
    ++bins_[bin];
    ++total_;
    sum_ += static_cast<double>(staleness);
  }

  /// 0 if there is nothing.
  [[nodiscard]] double mean() const noexcept { return total_ == 0 ? 0.0 : sum_ / static_cast<double>(total_); }

  /// The smallest value that a share of all values does not exceed; at most last_bin; 0 if there is nothing.
  [[nodiscard]] std::uint64_t quantile(double share) const noexcept {
    std::uint64_t below = 0;
    for (std::size_t bin = 0; bin < bins_.size(); ++bin) {
      below += bins_[bin];
      if (static_cast<double>(below) >= share * static_cast<double>(total_)) return bin;
    }
    return 0;
  }

  /// Larger values are counted as this, but for the mean.
  static constexpr std::uint64_t last_bin = 65'535;

 private:
  std::vector<std::uint64_t> bins_;
  std::uint64_t total_ = 0;
  double sum_ = 0;
};

}  // namespace rubato::inline RUBATO_ABI::sim

#endif
