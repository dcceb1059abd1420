#ifndef RUBATO_TESTS_EXAMPLES_LOGGED_RUN_HPP
#define RUBATO_TESTS_EXAMPLES_LOGGED_RUN_HPP

#include <cstdint>
#include <rubato/io/decision_log.hpp>
#include <string>
#include <string_view>

#include "../../examples/lab/any_objective.hpp"
#include "../../examples/lab/decision_history.hpp"
#include "../../examples/lab/policies.hpp"
#include "../../examples/lab/workbench.hpp"
#include "temporary_directory.hpp"

namespace rubato::test {

/// The text of the log of a simulated run.
inline std::string log_text(const lab::setting& at, const std::string& policy, const lab::training_data& data,
                            std::uint64_t seed) {
  std::string text;
  const auto used = lab::parse_policy(policy).policy;
  decision_log log{[&](std::string_view piece) noexcept { text += piece; }, used};
  lab::any_observer watcher{[&](const record& r) { log(r); }};
  lab::workbench{data}.watch(at, used, seed, watcher);
  return text;
}

/// So many pushes of machines that train a noisy quadratic.
inline std::string log_text(const sim::cluster_options& machines, const std::string& policy, std::uint64_t pushes,
                            std::uint64_t seed = 1) {
  lab::setting at;
  at.scenario.cluster = machines;
  at.scenario.objective = support::objective_kind::quadratic;
  at.scenario.run.stop = sim::stop_rule::workload;
  at.scenario.run.workload = pushes * at.scenario.run.batch;
  at.scenario.run.max_time = 1e9;
  return log_text(at, policy, {}, seed);
}

inline lab::decision_history log_of(const sim::cluster_options& machines, const std::string& policy,
                                    std::uint64_t pushes, std::uint64_t seed = 1) {
  const temporary_directory folder;
  folder.write("log", log_text(machines, policy, pushes, seed));
  return lab::read_decision_history(folder.path() / "log");
}

}  // namespace rubato::test

#endif
