#include "accuracy_curve.hpp"

#include <algorithm>

namespace rubato::lab {

std::vector<curve_level> accuracy_curve(const comparison& from, const comparison_row& row) {
  constexpr int steps = 40;
  const sim::run_options& run = from.asked.scenario.run;
  std::vector<curve_level> levels;
  if (run.stop != sim::stop_rule::target) return levels;
  if (std::ranges::none_of(row.runs, [](const auto& each) { return each.has_value(); })) return levels;
  for (int k = steps / 2; k <= steps; ++k) {
    curve_level level{.share = static_cast<double>(k) / steps};
    std::vector<double> times;
    for (std::size_t i = 0; i < row.runs.size(); ++i) {
      if (!row.runs[i]) continue;
      const auto& climb = row.runs[i]->climb;
      const double goal = level.share * from.targets.at(from.hidden_layers[i]);
      const auto there = std::ranges::find_if(climb, [&](const auto& each) { return each[1] >= goal; });
      const bool met = there != climb.end() && (k < steps || row.runs[i]->reached);
      times.push_back(met ? (*there)[0] : run.max_time);
      level.reached += met ? 1 : 0;
    }
    level.time = support::bootstrap_interquartile_mean(times);
    levels.push_back(level);
  }
  return levels;
}

}  // namespace rubato::lab
