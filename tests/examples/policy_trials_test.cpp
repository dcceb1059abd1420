#include "../../examples/lab/policy_trials.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <rubato/encode/cluster_state.hpp>
#include <rubato/encode/rlp_state.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "../../examples/support/user_error.hpp"
#include "lab_bench.hpp"
#include "temporary_directory.hpp"

namespace {

using namespace rubato;
using namespace rubato::lab;

// Trials of policies on a noisy quadratic; with as many hidden units as `hidden` says, whose weights are all 0.
template <class Encoder>
struct policy_bench {
  training_data data{};
  std::atomic<bool> stop = false;
  std::ostringstream shown{};
  unsigned threads = 1;
  std::size_t hidden = 0;
  std::vector<std::string> settings{};

  // Of the policy that its biases make, on six clusters.
  [[nodiscard]] std::vector<double> costs(const std::vector<float>& biases) {
    const run_context how{.data = data, .threads = threads, .stop = stop, .progress = shown};
    std::vector<std::size_t> widths{Encoder::dim, group_actions};
    if (hidden > 0) widths.insert(widths.begin() + 1, hidden);
    const policy_trials<Encoder> trials{test::quick("asp", 1, settings).scenario, *nn::dynamic_mlp::make(widths), how};
    std::vector<float> parameters = trials.start();
    for (std::size_t i = 0; i < biases.size(); ++i) parameters[parameters.size() - biases.size() + i] = biases[i];
    std::vector<rl::trial> asked;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) asked.push_back({parameters, seed});
    const std::uint64_t first = 1;
    trials.paired().require_arrivals({&first, 1});
    std::vector<double> costs(asked.size(), -1);
    if (!trials(asked, costs)) return {};
    return costs;
  }
};

template <class Encoder>
void begins_as_asp() {
  for (const std::size_t hidden : {0U, 4U}) {
    policy_bench<Encoder> b;
    b.hidden = hidden;
    EXPECT_EQ(b.costs({}), std::vector<double>(6)) << Encoder::kind << ", bit for bit the runs of asp";
  }
}

TEST(PolicyTrials, BeginsAsAsp) {
  begins_as_asp<rlp_state>();
  begins_as_asp<rlp_normalised_state>();
  begins_as_asp<cluster_state>();
}

// As long as anybody is busy nobody starts, and whoever comes last starts everybody, or goes on alone.
const std::vector<float> round_by_round{1, 0, 2}, one_by_one{1, 0, 0};

TEST(PolicyTrials, ALessStaleOneCostsLess) {
  policy_bench<cluster_state> b;
  // The work of others only makes a step longer, and the rate is too high for gradients as stale as those of asp.
  b.settings = {"cluster.cores=1", "stragglers.kind=none", "objective.learning_rate=0.185"};
  double sum = 0;
  for (const double cost : b.costs(one_by_one)) {
    EXPECT_GE(cost, -1.2);
    sum += cost;
  }
  EXPECT_LT(sum / 6, -0.1);
}

TEST(PolicyTrials, ASlowOneIsGivenUp) {
  policy_bench<cluster_state> b;
  b.settings = {"cluster.cores=0"};  // where one at a time is a tenth of the steps
  double most = 0;
  for (const double cost : b.costs(one_by_one)) most = std::max(most, cost);
  EXPECT_NEAR(most, std::log(2.0), 1e-12) << "after twice the time of asp, in all runs of a cluster";
}

TEST(PolicyTrials, SameForAnyThreads) {
  policy_bench<rlp_state> b;
  const auto one = b.costs(round_by_round);
  b.threads = 3;
  EXPECT_EQ(b.costs(round_by_round), one);
  EXPECT_NE(one, std::vector<double>(6));
}

TEST(PolicyTrials, RefusesWhereAspDoesNotArrive) {
  policy_bench<cluster_state> b;
  b.settings = {"objective.max_time=0.1"};
  EXPECT_EQ(test::message_of<support::user_error>([&] { return b.costs({}).size(); }),
            "--scenario: found no run in which asp arrives in objective.max_time, expected some");
}

TEST(PolicyTrials, StopsWhenAsked) {
  policy_bench<cluster_state> b;
  b.stop = true;
  EXPECT_TRUE(b.costs({}).empty());
}

}  // namespace
