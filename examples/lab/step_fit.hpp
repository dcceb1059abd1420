#ifndef RUBATO_EXAMPLES_LAB_STEP_FIT_HPP
#define RUBATO_EXAMPLES_LAB_STEP_FIT_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "decision_history.hpp"

namespace rubato::lab {

/// What a step came to, under a fit.
struct fitted_step {
  std::uint32_t worker = 0;
  double start = 0;
  double end = 0;
  double computed = 0;     ///< service it had until its end, per nominal batch
  double rest = 0;         ///< from when it would have been over without jitter to its end; negative if it was quicker
  double sleeps = 0;       ///< probability that it slept after it had computed
  double log_density = 0;  ///< of its end, given its start
};

/// How steps come about if so many cores are shared: a worker computes, as long as `base` of a core and jitter say, and
/// sometimes sleeps. `sleepers` do so at each step.
struct step_fit {
  std::uint32_t cores = 0;     ///< the number of workers: nothing is shared
  std::vector<double> base;    ///< of each worker: computing time of the nominal batch on one core
  double jitter = 0;           ///< relative standard deviation
  std::vector<char> sleepers;  ///< of each worker
  std::vector<fitted_step> steps;
  double log_likelihood = 0;     ///< of all steps
  std::uint32_t parameters = 0;  ///< that were fitted, but for those that all candidates have

  /// What fits are compared by: each parameter has to explain something. A parameter costs half the logarithm of the
  /// number of steps, taken to be some hundreds, as the Bayesian information criterion has it.
  [[nodiscard]] double score() const noexcept { return log_likelihood - 3.0 * parameters; }
};

struct step_fit_options {
  std::uint32_t nominal_batch = 16;  ///< what a batch of 0 in the log stands for
  std::size_t most_steps = 20'000;   ///< of a longer log the first ones
  std::uint32_t cores = 0;           ///< if they are known: this many, and no others
};

/// Explains the steps of a log, once for each number of cores that may be: 1, 2, ... to the number of workers, of many
/// workers in steps of about a seventh. How long a step takes says how much was computed and slept only if it is known
/// who else was computing then, so the two are found in turn: a mixture of steps that compute and steps that sleep as
/// well is fitted by expectation and maximisation, and who sleeps is taken off the cores.
///
/// Workers whose steps scatter far more than others', even the short ones, are taken for such that sleep at every step
/// if that explains their steps better; what they compute cannot be seen then, and is taken to be what the median of
/// the others computes.
///
/// Steps that are not whole are left out of the mixture; so are those admitted at the very end of a commit, which may
/// have waited for it.
///
/// Errors  user_error: fewer than `fewest_steps` steps that can be used
/// Cost    O(candidates × iterations × n log n)
/// Tests   tests/examples/step_fit_test.cpp
/// Source  Dempster, Laird and Rubin, "Maximum likelihood from incomplete data via the EM algorithm", JRSS B 39, 1977
[[nodiscard]] std::vector<step_fit> fit_steps(const decision_history&, const step_fit_options& = {});

inline constexpr std::size_t fewest_steps = 30;

/// The candidates for so many workers, smallest first. The last one is the number of workers.
[[nodiscard]] std::vector<std::uint32_t> cores_to_try(std::uint32_t workers);

/// Time that the server was busy with a push: the median from admission to commit; 0 if it serves several at once.
[[nodiscard]] double service_time(const decision_history&);

}  // namespace rubato::lab

#endif
