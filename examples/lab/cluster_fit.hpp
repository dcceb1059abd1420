#ifndef RUBATO_EXAMPLES_LAB_CLUSTER_FIT_HPP
#define RUBATO_EXAMPLES_LAB_CLUSTER_FIT_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rubato/sim/options.hpp>
#include "decision_history.hpp"
#include "step_fit.hpp"
#include "support/scenario.hpp"
#include "support/statistics.hpp"

namespace rubato::lab {

struct cluster_fit_options {
  step_fit_options steps{};
  std::uint32_t resamples = 200;
  std::uint64_t seed = 1;
};

/// The machines of a log, as the simulator has them.
struct cluster_fit {
  double unit = 1;                          ///< of the scenario's time, in the log's: mean computing time of a step
  sim::cluster_options best;                ///< in units
  std::vector<sim::cluster_options> draws;  ///< what else the log could have come from, as likely each: a bootstrap
  std::vector<std::uint32_t> sleepers;      ///< workers that sleep at every step, if `best` has that kind
  std::uint32_t candidates = 0;             ///< numbers of cores that were tried
  std::size_t steps = 0;                    ///< that the fit is made of
  bool cores_known = false;                 ///< whether the interval of the cores is narrower than a factor of two
  bool alike = false;                       ///< whether all workers were taken to compute as quickly
};

/// Fits the simulator's cluster to the steps of a log: what every worker computes, jitter, cores that are shared, who
/// straggles and how, time of the server. A link is not fitted: from releases and admissions it cannot be told from
/// shared cores, since both make steps longer the more workers run.
///
/// `draws` are of a bootstrap over blocks of ten steps that ended one after another. Where several numbers of cores
/// explain the resampled steps about as well (their scores differ by less than 3), one of these is drawn: if
/// it may be a core each, that in half of the cases. The kind of stragglers is found anew in each; which steps sleep,
/// who does so at every step, and whether workers are alike is that of the whole log.
///
/// Errors  user_error: see fit_steps()
/// Tests   tests/examples/cluster_fit_test.cpp
[[nodiscard]] cluster_fit fit_cluster(const decision_history&, const cluster_fit_options& = {});

/// The scenario of these machines. What is trained is that of `base`.
[[nodiscard]] support::scenario fitted_scenario(const sim::cluster_options&, const support::scenario& base,
                                                const std::string& name);

/// A line of the report.
struct fitted_value {
  std::string name;
  std::string value;
  std::string interval;  ///< 90 %
  std::string remark;
};

[[nodiscard]] std::vector<fitted_value> values_of(const cluster_fit&);

/// What the log could not tell, as sentences. The distance is that of the steps, if it is known (see
/// distance_of_steps()).
/// Tests   tests/examples/cluster_fit_test.cpp: SaysWhatItCannotTell, DoubtsAFitWhoseStepsAreOthers
[[nodiscard]] std::vector<std::string> doubts_about(const cluster_fit&, const decision_history&,
                                                    std::optional<double> distance = {});

/// The distance above which the steps of a fit are said to be others than those of the log: 0.2; in logs of less than
/// 100 steps, whose distance chance makes larger, 2/√steps.
[[nodiscard]] double too_far(const decision_history&);

/// Largest distance between the distribution functions of two samples.
/// Source  Kolmogorov 1933, Smirnov 1939
[[nodiscard]] double kolmogorov_smirnov(std::vector<double> a, std::vector<double> b);

}  // namespace rubato::lab

#endif
