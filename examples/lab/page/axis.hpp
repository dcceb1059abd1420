#ifndef RUBATO_EXAMPLES_LAB_PAGE_AXIS_HPP
#define RUBATO_EXAMPLES_LAB_PAGE_AXIS_HPP

#include <span>
#include <string>
#include <vector>

namespace rubato::lab::page {

/// Where numbers stand on a line of 0 to 100.
class axis {
 public:
  /// From `low` to `high`, which are set apart if they are not; with `ratios`, in equal steps for equal ratios, for
  /// which both must be above 0.
  axis(double low, double high, bool ratios = false);

  [[nodiscard]] double at(double value) const;  ///< beyond the ends: the end; for what is no number: 0
  [[nodiscard]] bool beyond(double value) const { return value > high_; }
  [[nodiscard]] bool below(double value) const { return value < low_; }
  [[nodiscard]] double high() const { return high_; }

  /// A few round numbers from one end to the other; of ratios, doublings.
  [[nodiscard]] std::vector<double> ticks(int about = 5) const;

 private:
  double low_, high_;
  bool ratios_;
};

/// An axis from 0 for values that have intervals: to the largest bound, but no further than 2.5 times the median value,
/// so that a few that are far off do not squeeze all others.
/// Tests   tests/examples/report_page_test.cpp: AFewFarValuesDoNotSqueezeTheOthers
[[nodiscard]] axis axis_for(std::span<const double> values, std::span<const double> highs);

/// A number beside an axis: no more digits than it has, and thousands set apart.
[[nodiscard]] std::string tick_text(double value);

}  // namespace rubato::lab::page

#endif
