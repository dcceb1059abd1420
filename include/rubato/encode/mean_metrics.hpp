#ifndef RUBATO_ENCODE_MEAN_METRICS_HPP
#define RUBATO_ENCODE_MEAN_METRICS_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "../core/archive.hpp"
#include "../core/step_metrics.hpp"
#include "../pinned.hpp"

namespace rubato::inline RUBATO_ABI {

namespace detail {

using metric_member = float step_metrics::*;  // nvcc writes a member of this type with parentheses, which g++ warns of

struct metric {
  metric_member value;
  float least, most;
};
inline constexpr float largest_metric = 1e30F;
inline constexpr std::array<metric, 9> metrics{{{&step_metrics::compute_time, 0, largest_metric},
                                                {&step_metrics::communication_time, 0, largest_metric},
                                                {&step_metrics::throughput, 0, 1},
                                                {&step_metrics::retransmissions, 0, largest_metric},
                                                {&step_metrics::processor, 0, 1},
                                                {&step_metrics::memory, 0, 1},
                                                {&step_metrics::accuracy, 0, 1},
                                                {&step_metrics::gradient_variance, 0, largest_metric},
                                                {&step_metrics::gradient_square, -largest_metric, largest_metric}}};

}  // namespace detail

/// Means of what was measured of some steps of a worker, metric by metric over the steps that have it.
///
/// What cannot be (negative times, shares above 1, numbers that are not finite) counts as not measured; absurd() says
/// how often that was.
///
/// Cost    O(1), without allocation. Not thread-safe.
/// Tests   tests/encode/mean_metrics_test.cpp: OverTheStepsThatHaveIt, AbsurdIsNotMeasured, MissingIsNotAbsurd,
///         DeviationOfTheAccuracy, ClearingKeepsTheCountOfTheAbsurd, SavesWhatItKnows
class mean_metrics {
 public:
  /// Takes in one more step.
  void add(const step_metrics& step) noexcept {
    for (std::size_t m = 0; m < detail::metrics.size(); ++m) {
      const auto& [member, least, most] = detail::metrics[m];
      const float value = step.*member;
      if (pinned::is_nan(value)) continue;
      if (!pinned::within(value, least, most)) {
        ++absurd_;
        continue;
      }
      ++counts_[m];
      sums_[m] += static_cast<double>(value);
      if (member == &step_metrics::accuracy) squares_ += static_cast<double>(value) * static_cast<double>(value);
    }
    if (step.out_of_memory != 0) out_of_memory_ = step.out_of_memory;
  }

  /// not_measured where no step had it; out_of_memory of the last step for which it was not 0.
  [[nodiscard]] step_metrics mean() const noexcept {
    step_metrics of_all{.out_of_memory = out_of_memory_};
    for (std::size_t m = 0; m < detail::metrics.size(); ++m)
      if (counts_[m] > 0) of_all.*detail::metrics[m].value = static_cast<float>(sums_[m] / counts_[m]);
    return of_all;
  }
  /// Standard deviation of the batches' accuracies, 0 for one; not_measured without any.
  [[nodiscard]] float accuracy_deviation() const noexcept {
    if (counts_[accuracy] == 0) return not_measured;
    const double mean = sums_[accuracy] / counts_[accuracy];
    return static_cast<float>(std::sqrt((std::max)(squares_ / counts_[accuracy] - mean * mean, 0.0)));
  }
  /// Metrics that could not be, of all steps ever.
  [[nodiscard]] std::uint64_t absurd() const noexcept { return absurd_; }

  /// Forgets the steps.
  void clear() noexcept {
    const std::uint64_t absurd_so_far = absurd_;
    *this = {};
    absurd_ = absurd_so_far;
  }

  void state(archive& bytes) {
    for (double& sum : sums_) bytes(sum);
    for (std::uint32_t& count : counts_) bytes(count);
    bytes(squares_, out_of_memory_, absurd_);
    const auto finite = [](double sum) { return pinned::is_finite(sum); };
    if (!std::all_of(sums_.begin(), sums_.end(), finite) || !finite(squares_)) bytes.fail();
  }

 private:
  static constexpr std::size_t accuracy = 6;
  static_assert(detail::metrics[accuracy].value == &step_metrics::accuracy);

  std::array<double, detail::metrics.size()> sums_{};
  std::array<std::uint32_t, detail::metrics.size()> counts_{};
  double squares_ = 0;  // of accuracies
  std::uint32_t out_of_memory_ = 0;
  std::uint64_t absurd_ = 0;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
