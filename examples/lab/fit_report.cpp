#include "fit_report.hpp"

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "aligned_text.hpp"
#include "step_lengths.hpp"

namespace rubato::lab {
namespace {

constexpr std::uint64_t runs_compared = 5;

}  // namespace

double distance_of_steps(const cluster_fit& fit, const decision_history& history, const any_policy& policy) {
  std::vector<double> logged, simulated;
  for (const logged_step& each : history.steps)
    if (each.whole) logged.push_back(each.length() / fit.unit);
  for (std::uint64_t seed = 1; seed <= runs_compared; ++seed) {
    const timed_run run = time_steps(fit.best, policy, history.steps.size(), seed);
    simulated.insert(simulated.end(), run.lengths.begin(), run.lengths.end());
  }
  return kolmogorov_smirnov(logged, simulated);
}

void print_fit(std::ostream& out, const cluster_fit& fit, const decision_history& history,
               const std::optional<named_policy>& policy, std::optional<double> distance) {
  out << history.source << ": " << history.steps.size() << " steps of " << history.workers << " workers under "
      << history.policy << '\n';
  std::vector<std::vector<std::string>> rows{{"fitted", "value", "90 % interval", ""}};
  for (const fitted_value& each : values_of(fit)) rows.push_back({each.name, each.value, each.interval, each.remark});
  out << aligned_text(rows);
  if (policy && distance) {
    char text[64];
    std::snprintf(text, sizeof text, "%.3f", *distance);
    out << "Kolmogorov-Smirnov distance between the steps of the log and of the fit under " << policy->name << ": "
        << text << '\n';
  } else {
    out << "no Kolmogorov-Smirnov distance: the policy of the log is none of the lab's rules; --policy may name it\n";
  }
  for (const std::string& each : doubts_about(fit, history, distance)) out << "note: " << each << '\n';
}

}  // namespace rubato::lab
