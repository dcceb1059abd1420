#include "../../examples/lab/correction_trials.hpp"

#include <gtest/gtest.h>

#include <array>
#include <sstream>
#include <string>
#include <vector>

#include "../../examples/support/random_scenario.hpp"
#include "../../examples/support/user_error.hpp"
#include "lab_bench.hpp"
#include "temporary_directory.hpp"

namespace {

using namespace rubato;
using namespace rubato::lab;

// Trials of a linear correction on a noisy quadratic.
struct trial_bench {
  training_data data{};
  std::atomic<bool> stop = false;
  std::ostringstream shown{};
  std::vector<std::string> settings{};
  bool requires_arrivals = true;
  std::vector<float> nothing = std::vector<float>((progress_state::dim + 1) * corrections);

  [[nodiscard]] std::vector<double> costs(const std::vector<float>& parameters, unsigned threads = 1) {
    const run_context how{.data = data, .threads = threads, .stop = stop, .progress = shown};
    const nn::dynamic_mlp network = *nn::dynamic_mlp::make({progress_state::dim, corrections});
    const correction_trials trials{test::quick("asp", 1, settings).scenario, network, how};
    std::vector<rl::trial> asked;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      asked.push_back({parameters, seed});
      asked.push_back({nothing, seed});
    }
    const std::vector<std::uint64_t> clusters{1, 2, 3};
    if (requires_arrivals) trials.paired().require_arrivals(clusters);
    std::vector<double> costs(asked.size(), -1);
    if (!trials(asked, costs)) return {};
    return costs;
  }
  // With this bias of the rate.
  [[nodiscard]] std::vector<float> rate(float by) const {
    std::vector<float> parameters = nothing;
    parameters[progress_state::dim * corrections] = by;
    return parameters;
  }
};

TEST(CorrectionTrials, NoCorrectionCostsNothing) {
  trial_bench b;
  for (const double cost : b.costs(b.nothing)) EXPECT_EQ(cost, 0.0);
}

TEST(CorrectionTrials, ASlowOneCosts) {
  trial_bench b;
  const auto costs = b.costs(b.rate(-1));
  double sum = 0;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    EXPECT_LE(std::abs(costs[i]), 1.2);
    if (i % 2 == 0) sum += costs[i];
    if (i % 2 == 1) {
      EXPECT_EQ(costs[i], 0.0) << "the rule itself, beside it";
    }
  }
  EXPECT_GT(sum / 6, 0.1) << "half the rate on a quadratic that is far from its noise";
}

TEST(CorrectionTrials, SameForAnyThreads) {
  trial_bench b;
  const auto one = b.costs(b.rate(0.5F), 1);
  EXPECT_EQ(b.costs(b.rate(0.5F), 3), one);
}

TEST(CorrectionTrials, WhatIsLeftOutStaysZero) {
  trial_bench b;
  const run_context how{.data = b.data, .threads = 1, .stop = b.stop, .progress = b.shown};
  for (const correction only : {correction::rate, correction::batch})
    for (const std::size_t hidden : {0U, 3U}) {
      std::vector<std::size_t> widths{progress_state::dim, corrections};
      if (hidden > 0) widths.insert(widths.begin() + 1, hidden);
      const correction_trials trials{std::nullopt, *nn::dynamic_mlp::make(widths), how, only};
      const std::size_t inputs = hidden > 0 ? hidden : progress_state::dim;
      const std::size_t before = hidden > 0 ? (progress_state::dim + 1) * hidden : 0;
      EXPECT_EQ(trials.start(), std::vector<float>(before + inputs + 1)) << "the inputs of one output and its bias";
      std::vector<float> parameters(trials.start().size());
      for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] = 0.01F * static_cast<float>(i + 1);
      std::array<float, progress_state::dim> seen;
      seen.fill(0.7F);
      std::array<float, corrections> outputs;
      trials.policy_of(parameters).network().evaluate(seen, outputs);
      const auto of = static_cast<std::size_t>(only);
      EXPECT_GT(outputs[of], parameters.back()) << "weights and bias are in their places";
      EXPECT_EQ(outputs[1 - of], 0.0F);
    }
}

TEST(CorrectionTrials, RandomClustersAreNotTheHeldOut) {
  trial_bench b;
  const run_context how{.data = b.data, .threads = 1, .stop = b.stop, .progress = b.shown};
  const correction_trials trials{std::nullopt, *nn::dynamic_mlp::make({progress_state::dim, corrections}), how};
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 16, ~std::uint64_t{0}}) {
    const setting at = trials.paired().setting_of(seed);
    const std::uint64_t number = std::stoull(at.scenario.name.substr(std::string{"random:"}.size()));
    EXPECT_GE(number, 1'000'000U) << at.scenario.name;
    EXPECT_EQ(at.hidden_layers, support::random_scenario(number).hidden_layers.front());
  }
}

TEST(CorrectionTrials, RefusesWhereTheRuleDoesNotArrive) {
  trial_bench b;
  b.settings = {"objective.max_time=0.1"};
  EXPECT_EQ(test::message_of<support::user_error>([&] { return b.costs(b.nothing).size(); }),
            "--scenario: found no run in which knee+decay arrives in a quarter of objective.max_time, expected some");
}

TEST(CorrectionTrials, WhereTheRuleNeverArrivesNothingCosts) {
  trial_bench b;
  b.settings = {"objective.max_time=0.1"};
  b.requires_arrivals = false;
  EXPECT_EQ(b.costs(b.rate(1)), std::vector<double>(12));
}

TEST(CorrectionTrials, StopsWhenAsked) {
  trial_bench b;
  b.stop = true;
  EXPECT_TRUE(b.costs(b.nothing).empty());
}

}  // namespace
