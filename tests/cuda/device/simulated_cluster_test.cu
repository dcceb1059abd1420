#include <rubato/cuda/policy_search.cuh>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cuda/device/device.hpp"
#include "cuda/random_network.hpp"

namespace rubato::cuda {
namespace {

constexpr std::uint32_t workers = 10;
using bowl = quadratic_goal<8>;
using regression = logistic_goal<6>;
using shape = mlp_shape<40, 64, 32, 3>;

sim::run_options training() {
  return {.target_accuracy = 0.95, .max_time = 200, .evaluate_every = 5, .learning_rate = {.base = 0.05}};
}

// Candidates on clusters, here and there. `exact`: nothing goes through logarithms and their like; else times and what
// was trained are as close as those are, and all that is counted is the same.
template <unsigned LanesEach = 8, class Goal, class Candidates>
void same_as_here(const sim::cluster_options& cluster, const Goal& there, const Goal& here,
                  const Candidates& candidates, const Candidates& candidates_here, bool exact, const char* what,
                  std::uint32_t blocks = 0) {
  SCOPED_TRACE(what);
  const search_size size{.candidates = 5, .clusters = 21, .first_seed = 3, .blocks = blocks};
  const auto machines = simulated_machines<workers>::make(cluster);
  const auto run = simulated_run::make(training(), 1'500);
  ASSERT_TRUE(machines && run);
  std::vector<episode_result> expected(105);
  std::vector<double> expected_means(5);
  simulate_episodes_here(*machines, *run, here, candidates_here, size, episode_cost::time, expected.data(),
                         expected_means.data());
  const test::device_array<episode_result> out{105};
  const test::device_array<double> means{5};
  error e = simulate_episodes<LanesEach>(*machines, *run, there, candidates, size, out.data(), nullptr);
  ASSERT_EQ(e.code, errc::ok) << e.message;
  e = mean_costs(out.data(), size, episode_cost::time, means.data(), nullptr);
  ASSERT_EQ(e.code, errc::ok) << e.message;
  const std::vector<episode_result> all = out.host();
  const std::vector<double> all_means = means.host();
  const double relative = exact ? 0 : 1e-9;
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].pushes, expected[i].pushes) << i;
    EXPECT_EQ(all[i].updates, expected[i].updates) << i;
    EXPECT_EQ(all[i].end, expected[i].end) << i;
    EXPECT_NEAR(all[i].time, expected[i].time, relative * expected[i].time) << i;
    EXPECT_NEAR(all[i].loss, expected[i].loss, relative * expected[i].loss) << i;
    EXPECT_NEAR(all[i].accuracy, expected[i].accuracy, relative) << i;
  }
  for (std::size_t c = 0; c < 5; ++c) EXPECT_NEAR(all_means[c], expected_means[c], relative * expected_means[c]) << c;
}

const sim::cluster_options even{.workers = workers, .step_time = {1, 1, 2, 1, 1.5, 1, 1, 3, 1, 1}, .jitter = 0};
const sim::cluster_options sleepy{
    .workers = workers, .jitter = 0, .stragglers = {.kind = sim::straggler_kind::transient, .mean = 4, .sd = 0}};
const sim::cluster_options noisy{.workers = workers, .cores = 4, .stragglers = {.kind = sim::straggler_kind::fixed}};

class CudaSimulatedCluster : public test::OnDevice {
 protected:
  const bowl goal = *bowl::make({}, 16);
  std::vector<float> parameters = test::numbers(5 * shape::parameters, 7);
};

TEST_F(CudaSimulatedCluster, EpisodesAreThoseOfTheHost) {
  for (float& x : parameters) x *= 0.3F;
  const test::device_array<float> there{parameters};
  for (const auto& [cluster, exact] : {std::pair{even, true}, {sleepy, true}, {noisy, false}}) {
    const auto rule = [&](const auto& policy, const char* what) {
      const the_candidate<std::remove_cvref_t<decltype(policy)>> one{policy};
      same_as_here(cluster, goal, goal, one, one, exact, what);
    };
    rule(simulated_asp{}, "asp");
    rule(simulated_ssp{2}, "ssp");
    rule(simulated_bsp{}, "bsp");
    rule(simulated_k_sync{4}, "k_sync");
    same_as_here(cluster, goal, goal, q_candidates<shape>{there.data()}, q_candidates<shape>{parameters.data()}, exact,
                 "a network");
  }
}

TEST_F(CudaSimulatedCluster, LogisticEpisodesAreThoseOfTheHost) {
  std::vector<float> samples(256 * 6);
  ASSERT_EQ(regression::draw_samples({}, samples).code, errc::ok);
  const test::device_array<float> copies{samples};
  const regression there = *regression::make({}, copies.data(), 16), here = *regression::make({}, samples.data(), 16);
  const the_candidate<simulated_ssp> one{};
  same_as_here(even, there, here, one, one, false, "logistic");
}

TEST_F(CudaSimulatedCluster, LaunchesDoNotMatter) {
  const test::device_array<float> there{parameters};
  const q_candidates<shape> candidates{there.data()}, candidates_here{parameters.data()};
  same_as_here<8>(even, goal, goal, candidates, candidates_here, true, "one block", 1);
  same_as_here<8>(even, goal, goal, candidates, candidates_here, true, "three blocks", 3);
  same_as_here<4>(even, goal, goal, candidates, candidates_here, true, "four lanes");
  same_as_here<16>(even, goal, goal, candidates, candidates_here, true, "sixteen lanes");
  same_as_here<32>(even, goal, goal, candidates, candidates_here, true, "a warp");
}

TEST_F(CudaSimulatedCluster, RefusesWhatDoesNotFit) {
  const auto machines = *simulated_machines<workers>::make(even);
  const auto run = *simulated_run::make(training(), 10);
  const the_candidate<simulated_asp> one{};
  const test::device_array<episode_result> out{1};
  error e = simulate_episodes(machines, run, goal, one, {.candidates = 0}, out.data(), nullptr);
  EXPECT_EQ(e.code, errc::invalid_option);
  EXPECT_NE(e.message.find("candidates"), std::string::npos) << e.message;
  EXPECT_EQ(mean_costs(out.data(), {.clusters = 0}, episode_cost::time, nullptr, nullptr).code, errc::invalid_option);
  const auto wide = *quadratic_goal<1000>::make({.dimension = 1000}, 16);
  e = simulate_episodes(machines, run, wide, one, {}, out.data(), nullptr);
  EXPECT_EQ(e.code, errc::invalid_option);
  EXPECT_NE(e.message.find("shared memory"), std::string::npos) << e.message;
}

}  // namespace
}  // namespace rubato::cuda
