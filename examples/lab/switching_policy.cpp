#include "switching_policy.hpp"

#include <algorithm>
#include <rubato/sync/rivals/sync_switch.hpp>

#include "number_text.hpp"
#include "policies.hpp"
#include "treatments.hpp"

namespace rubato::lab {

any_policy switching_policy(double share, std::uint64_t pushes) {
  if (share <= 0) return asp{};
  return sync_switch<>{{.share = share, .workload = pushes, .scales_rate = true}};
}

std::string steps_beyond_runs(const std::string& name, double pushes) {
  const any_policy bare = parse_policy(without_treatments(name)).policy;
  const auto* const switching = bare.target<sync_switch<>>();
  if (switching == nullptr) return {};
  const sync_switch_options& o = switching->options;
  const double synchronous = o.share * static_cast<double>(o.workload);
  const double of_a_run = std::min(synchronous / std::max(pushes, 1.0), 1.0);
  if (of_a_run <= 0.5 || of_a_run <= 1.25 * o.share) return {};
  return name + ": runs end after some " + decimals(pushes, 0) + " pushes, and the first " + short_text(synchronous) +
         " of " + std::to_string(o.workload) + " are BSP; expected STEPS to be the pushes of a whole run";
}

}  // namespace rubato::lab
