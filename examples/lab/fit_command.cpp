// `fit`: makes a scenario of a decision log.
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cluster_fit.hpp"
#include "commands.hpp"
#include "decision_history.hpp"
#include "fit_report.hpp"
#include "given.hpp"
#include "log_policy.hpp"
#include "output_file.hpp"
#include "support/scenario_files.hpp"

namespace rubato::lab {
int run_fit(const fit_arguments& given) {
  const support::scenario base = given_scenario(given.scenario, given.settings);
  check_outputs({{"LOG", given.log}, {"--scenario", support::scenario_file(given.scenario)}}, {{"--out", given.out}});
  output_file out{given.out, "--out"};
  const decision_history history = read_decision_history(given.log);
  const std::optional<named_policy> policy = policy_of_log(history, given.policy);
  const cluster_fit fit =
      fit_cluster(history, {.steps = {.nominal_batch = base.run.batch, .cores = given.cores}, .seed = given.seed});
  const std::string text = support::to_json(fitted_scenario(fit.best, base, "fitted")).dump(2) + "\n";
  static_cast<void>(support::read_scenario(text, "the fitted scenario"));  // what is written can be read
  std::optional<double> distance;
  if (policy) distance = distance_of_steps(fit, history, policy->policy);
  print_fit(given.out.empty() ? std::cerr : std::cout, fit, history, policy, distance);
  if (given.out.empty()) {
    std::cout << text;
  } else {
    out.write(text);
    std::cout << "written: " << given.out << '\n';
  }
  return 0;
}

}  // namespace rubato::lab
