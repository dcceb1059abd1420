#ifndef RUBATO_EXAMPLES_LAB_COMPARE_HPP
#define RUBATO_EXAMPLES_LAB_COMPARE_HPP

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "measurement.hpp"
#include "planned.hpp"
#include "policies.hpp"
#include "runner.hpp"
#include "support/scenario.hpp"

namespace rubato::lab {

/// What to compare.
struct compare_options {
  support::scenario scenario;
  std::vector<policy_request> policies;
  std::uint64_t seed = 1;           ///< of the first run; each further run has the next one
  std::uint32_t seeds = 10;         ///< runs of each policy
  bool tune = false;                ///< parameter and learning rate of each policy, on other seeds
  std::uint32_t tuning_seeds = 12;  ///< of the candidates that are left in the end
  host_kind host = host_kind::simulator;
  double unit_seconds = 0;          ///< in real time, see setting
  bool clairvoyant = false;         ///< a last row for what could be reached by who knows the runs, see clairvoyant.hpp
};

/// A policy and its runs.
struct comparison_row {
  std::string name;   ///< as it was asked for
  named_policy used;  ///< the same, or the best of the candidates
  double learning_rate = 0;
  std::vector<std::optional<measurement>> runs;  ///< by seed; none for what was interrupted
};

/// Everything that a report says.
struct comparison {
  compare_options asked;
  std::string data;
  std::uint64_t data_fingerprint = 0;
  std::map<std::uint32_t, double> targets;   ///< accuracy to reach, by hidden layers
  std::vector<std::uint32_t> hidden_layers;  ///< by seed
  std::vector<comparison_row> rows;
  std::map<std::uint32_t, plan> plans;  ///< of the clairvoyant row, by hidden layers
  bool interrupted = false;  ///< some runs are missing
};

/// Seeds of tuning start here, beyond those of any comparison.
inline constexpr std::uint64_t first_tuning_seed = std::uint64_t{1} << 40;

/// The i-th of a comparison's. Every four in a row have each number of hidden layers of a shipped scenario once.
[[nodiscard]] inline std::uint64_t tuning_seed(const compare_options& asked, std::uint32_t i) {
  return first_tuning_seed + 4 * asked.seed + i;
}

/// Below what BSP converges to, the target that is set "auto".
inline constexpr double auto_target_margin = 0.005;

/// Whether the target is still to be found, by runs of bsp on seeds from first_tuning_seed on.
[[nodiscard]] bool finds_target(const compare_options&);

/// Runs every policy on the same seeds. A seed decides initial parameters, data, hidden layers, stragglers and the
/// times of all steps, so that all policies meet the same.
///
/// With tuning, tune() finds each policy its parameter and learning rate first, on seeds of their own.
///
/// Errors  user_error of the cache
/// Tests   tests/examples/compare_test.cpp
[[nodiscard]] comparison compare(const compare_options&, const runner&);

/// The setting of one run.
[[nodiscard]] setting setting_of(const comparison&, std::uint64_t seed, double learning_rate);

}  // namespace rubato::lab

#endif
