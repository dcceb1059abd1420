#ifndef RUBATO_EXAMPLES_SUPPORT_SCENARIO_HPP
#define RUBATO_EXAMPLES_SUPPORT_SCENARIO_HPP

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <rubato/sim/options.hpp>
#include <rubato/sim/sgd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rubato::support {

/// What is trained.
enum class objective_kind { sgd, quadratic };

/// Everything that decides a simulated run, but for policy, seed and data: the options of the simulator, which a JSON
/// file or KEY=VALUE settings fill in.
struct scenario {
  /// run.target_accuracy of a scenario that asks for what BSP converges to (JSON: "auto").
  static constexpr double auto_target = 0;

  std::string name;
  std::string description;
  sim::cluster_options cluster;
  sim::run_options run;  ///< but for `seed`
  objective_kind objective = objective_kind::sgd;
  std::vector<std::uint32_t> hidden_layers = {0, 1, 2, 3};  ///< each seed draws one of these
  sim::sgd_options sgd;                                     ///< but for `hidden_layers`, and `batch`, which `run` has

  /// Equal in every key.
  friend bool operator==(const scenario&, const scenario&);
};

/// Reads the JSON form; `source` (a file name) begins every error message.
/// Errors  user_error, one line with key, found and expected value; nearest known key for an unknown one.
/// Tests   tests/examples/scenario_test.cpp
[[nodiscard]] scenario read_scenario(std::string_view text, const std::string& source);

/// Applies "KEY=VALUE" settings in order; nothing changes if one of them or the result is refused (user_error).
void apply_settings(scenario&, std::span<const std::string> assignments);

/// Every key, defaults too. Reading it gives an equal scenario.
[[nodiscard]] nlohmann::json to_json(const scenario&);

/// The JSON form without name and description, keys sorted, no blanks: equal for scenarios that behave alike. Keys that
/// came later (cluster.round_time, cluster.fixed_share, cluster.link.congestion, stragglers.slowdown,
/// stragglers.episodes) are left out where they change nothing.
[[nodiscard]] std::string canonical_form(const scenario&);

/// fnv1a of the canonical form.
[[nodiscard]] std::uint64_t hash(const scenario&);

/// One paragraph for each key: path, values, default, meaning.
[[nodiscard]] std::string describe_keys();

}  // namespace rubato::support

#endif
