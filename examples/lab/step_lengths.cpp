#include "step_lengths.hpp"

#include <rubato/sim/quadratic.hpp>

#include "any_objective.hpp"
#include "support/scenario.hpp"
#include "workbench.hpp"

namespace rubato::lab {

timed_run time_steps(const sim::cluster_options& machines, const any_policy& policy, std::uint64_t pushes,
                     std::uint64_t seed) {
  setting at;
  at.scenario.cluster = machines;
  at.scenario.objective = support::objective_kind::quadratic;
  at.scenario.run.stop = sim::stop_rule::workload;
  at.scenario.run.workload = pushes * at.scenario.run.batch;
  at.scenario.run.max_time = 1e9;
  at.scenario.run.learning_rate.base = 1e-3;
  timed_run run;
  std::vector<double> began(machines.workers, -1);
  any_observer watcher{[&](const record& r) {
    if (r.what == record::kind::release) began[r.worker.index] = r.now;
    if (r.what == record::kind::admit && began[r.worker.index] >= 0) {
      run.lengths.push_back(r.now - began[r.worker.index]);
      began[r.worker.index] = -1;
    }
  }};
  const training_data nothing;
  const measurement made = workbench{nothing}.watch(at, policy, seed, watcher);
  run.time = made.time;
  run.pushes = made.pushes;
  return run;
}

}  // namespace rubato::lab
