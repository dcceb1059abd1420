#ifndef RUBATO_EXAMPLES_LAB_SUMMARY_HPP
#define RUBATO_EXAMPLES_LAB_SUMMARY_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compare.hpp"
#include "support/statistics.hpp"

namespace rubato::lab {

/// Below this share of runs that reach the end, no ratio is given.
inline constexpr double least_reached = 0.9;

/// The runs of one policy in one number each: means, but for `time`.
struct row_summary {
  std::uint32_t seeds = 0;    ///< runs there are
  std::uint32_t reached = 0;  ///< those that met the end the scenario asks for; others count as max_time
  support::estimate time;     ///< interquartile mean, with a bootstrap interval over seeds
  support::mean_with_error time_mean;
  double pushes = 0;
  double updates = 0;
  double staleness_mean = 0;
  double staleness_p95 = 0;
  double idle_share = 0;
  double decision_share = 0;
  double final_accuracy = 0;
  double dropped = 0;
  double overrides = 0;
  double overhead = 0;
  double overrun = 0;
  std::optional<support::estimate> speedup;  ///< interquartile mean of `baseline` ÷ this one's, on the seeds both have
  std::optional<support::estimate> regret;   ///< its interquartile mean ÷ the clairvoyant one's, less 1

  [[nodiscard]] bool reliable() const noexcept { return seeds > 0 && reached >= least_reached * seeds; }
};

struct comparison_summary {
  std::vector<row_summary> rows;        ///< in the order of the comparison
  std::optional<std::size_t> baseline;     ///< row of the quicker bsp, if there is one that can be relied on
  std::optional<std::size_t> clairvoyant;  ///< row of the clairvoyant one, if there is one that can be relied on
};

/// With `hidden_layers`, of the seeds that drew so many only.
[[nodiscard]] comparison_summary summarise(const comparison&,
                                           std::optional<std::uint32_t> hidden_layers = std::nullopt);

}  // namespace rubato::lab

#endif
