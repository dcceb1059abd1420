#ifndef RUBATO_EXAMPLES_LAB_POLICY_TRIALS_HPP
#define RUBATO_EXAMPLES_LAB_POLICY_TRIALS_HPP

#include <algorithm>
#include <cstddef>
#include <optional>
#include <rubato/learned/q_policy.hpp>
#include <rubato/nn/dynamic_mlp.hpp>
#include <rubato/rl/search_training.hpp>
#include <rubato/sync/asp.hpp>
#include <span>
#include <utility>
#include <vector>

#include "paired_trials.hpp"
#include "run_context.hpp"
#include "support/scenario.hpp"

namespace rubato::lab {

/// Tries policies that say at each push whether nobody starts, the submitter or everybody: what rl::search_trainer
/// measures with. They see what Encoder sees as it is, without statistics that scale it.
///
/// Compared with asp, as paired_trials says. asp has objective.max_time, a policy twice the time that asp takes.
///
/// The same costs for any number of threads.
/// Tests   tests/examples/policy_trials_test.cpp: BeginsAsAsp, ALessStaleOneCostsLess, ASlowOneIsGivenUp,
///         SameForAnyThreads, RefusesWhereAspDoesNotArrive, StopsWhenAsked
template <StateEncoder Encoder>
class policy_trials {
 public:
  using policy = q_policy<Encoder, nn::dynamic_mlp>;

  /// Begins as asp, with the hidden layers of `network`: all actions are worth 0 but `submitter`, which is worth 1.
  /// Precondition: the network has Encoder::dim inputs and an output for each action. References must outlive it.
  policy_trials(std::optional<support::scenario> scenario, nn::dynamic_mlp network, const run_context& how)
      : paired_{std::move(scenario),
                {.policy = asp{},
                 .name = "asp",
                 .share_of_time = 1,
                 .time_text = "objective.max_time",
                 .patience = 2},
                how},
        network_{std::move(network)} {
    std::ranges::fill(network_.parameters().subspan(network_.layers().back().first), 0.0F);
    network_.bias(network_.layers().size() - 1)[static_cast<std::size_t>(group_action::submitter)] = 1;
  }

  /// False if `stop` was raised.
  [[nodiscard]] bool operator()(std::span<const rl::trial> trials, std::span<double> costs) const {
    return paired_.measure([this](std::span<const float> parameters) { return any_policy{policy_of(parameters)}; },
                           trials, costs);
  }

  /// The parameters that it begins with.
  [[nodiscard]] std::vector<float> start() const {
    const std::span<const float> parameters = network_.parameters();
    return {parameters.begin(), parameters.end()};
  }

  /// The policy of these parameters, without a limit on waiting.
  [[nodiscard]] policy policy_of(std::span<const float> parameters) const {
    nn::dynamic_mlp network = network_;
    std::ranges::copy(parameters, network.parameters().begin());
    return policy{network};
  }

  [[nodiscard]] const paired_trials& paired() const noexcept { return paired_; }

 private:
  paired_trials paired_;
  nn::dynamic_mlp network_;
};

}  // namespace rubato::lab

#endif
