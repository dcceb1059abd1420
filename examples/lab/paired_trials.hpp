#ifndef RUBATO_EXAMPLES_LAB_PAIRED_TRIALS_HPP
#define RUBATO_EXAMPLES_LAB_PAIRED_TRIALS_HPP

#include <cstdint>
#include <functional>
#include <optional>
#include <rubato/rl/search_training.hpp>
#include <rubato/sync/any_policy.hpp>
#include <span>
#include <string>
#include <utility>

#include "run_context.hpp"
#include "support/scenario.hpp"

namespace rubato::lab {

/// A rule that the candidates of a search are compared with.
struct reference_rule {
  any_policy policy;
  std::string name;       ///< as --policies calls it
  double share_of_time;   ///< of objective.max_time, in which it has to arrive: else a run says nothing
  std::string time_text;  ///< how messages call that
  double patience;        ///< how long a candidate may take: times the rule's time
};

/// The rule that a correction corrects. It has a quarter of the time, so that a candidate's three and a half times as
/// long ends before it is over.
[[nodiscard]] reference_rule knee_with_decay();

/// Compares candidates with a rule, in the same runs.
///
/// A seed is a cluster: the scenario with the hidden layers that the seed draws or, without a scenario, one drawn at
/// random, random:1000000 or above. In it candidate and rule make the same runs: one, two with one hidden layer, six
/// without any, which are short and differ most. The cost is the mean of log(time / time of the rule), each from -1.2
/// to 1.2; where the rule does not arrive in time a run says nothing, and a cluster without any other costs 0.
///
/// The same costs for any number of threads.
/// Tests   tests/examples/correction_trials_test.cpp, tests/examples/policy_trials_test.cpp
class paired_trials {
 public:
  using policy_maker = std::function<any_policy(std::span<const float> parameters)>;

  /// References must outlive it.
  paired_trials(const std::optional<support::scenario>& scenario, reference_rule rule, const run_context& how)
      : paired_trials{clusters_of(scenario), std::move(rule), how} {}

  /// The same, where what a seed stands for is somebody else's business.
  using cluster_maker = std::function<setting(std::uint64_t seed)>;
  paired_trials(cluster_maker clusters, reference_rule rule, const run_context& how)
      : clusters_{std::move(clusters)}, rule_{std::move(rule)}, how_{&how} {}

  /// What it costs to try the policies of these parameters. False if `stop` was raised.
  [[nodiscard]] bool measure(const policy_maker& policy_of, std::span<const rl::trial>,
                             std::span<double> costs) const;

  /// For the beginning of a search. Errors: user_error if the rule arrives in no run of these clusters
  void require_arrivals(std::span<const std::uint64_t> clusters) const;

  /// The cluster of a seed.
  [[nodiscard]] setting setting_of(std::uint64_t seed) const { return clusters_(seed); }

  /// The same, with as much time as the rule has.
  [[nodiscard]] setting rule_setting_of(std::uint64_t seed) const;

  /// The seed of a run in a cluster: at least 2^63, above all seeds of tables and tests.
  [[nodiscard]] static std::uint64_t run_seed(std::uint64_t cluster, std::uint32_t run);

  [[nodiscard]] const run_context& how() const noexcept { return *how_; }

 private:
  [[nodiscard]] static cluster_maker clusters_of(const std::optional<support::scenario>&);

  cluster_maker clusters_;
  reference_rule rule_;
  const run_context* how_;
};

}  // namespace rubato::lab

#endif
