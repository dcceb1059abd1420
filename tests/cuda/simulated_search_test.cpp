#include <rubato/cuda/simulated_population.cuh>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <rubato/rl/antithetic_es.hpp>

#include "random_network.hpp"
#include "thread_lanes.hpp"

namespace rubato::cuda {
namespace {
namespace searched {

constexpr std::uint32_t workers = 8;
using machines = simulated_machines<workers>;
using bowl = quadratic_goal<4>;
using shape = mlp_shape<40, 8, 3>;
using candidates = q_candidates<shape, rlp_scale::normalised>;

// Workers that share two cores, and steps that are too long for the old gradients of many: some must wait.
struct setting {
  machines there = *machines::make({.workers = workers, .cores = 2});
  simulated_run run = *simulated_run::make(
      {.target_accuracy = 0.9, .max_time = 500, .evaluate_every = 5, .learning_rate = {.base = 0.35}}, 2'000);
  bowl goal = *bowl::make({.dimension = 4, .condition = 4, .noise = 0.5}, 16);
};

TEST(SimulatedSearch, SearchImprovesALearnedPolicy) {
  const setting s;
  const std::vector<float> start = test::numbers(shape::parameters, 1);
  auto es = *rl::antithetic_es::make(start, {.step_size = 0.3, .learning_rate = 0.1, .population = 16});
  const auto costs_of = [&](const std::vector<float>& parameters, const search_size& size) {
    std::vector<episode_result> episodes(std::size_t{size.candidates} * size.clusters);
    std::vector<double> means(size.candidates);
    simulate_episodes_here(s.there, s.run, s.goal, candidates{parameters.data()}, size, episode_cost::time,
                           episodes.data(), means.data());
    return means;
  };
  const search_size unseen{.clusters = 100, .first_seed = 1'000'000};
  const double before = costs_of(start, unseen)[0];
  std::vector<float> all(es.population() * shape::parameters);
  for (std::uint32_t generation = 0; generation < 12; ++generation) {
    for (std::size_t c = 0; c < es.population(); ++c)
      es.ask(c, std::span{all}.subspan(c * shape::parameters, shape::parameters));
    es.tell(costs_of(all, {.candidates = 16, .clusters = 8, .first_seed = 100 * generation}));
  }
  std::vector<float> found(shape::parameters);
  es.best_guess(found);
  const double after = costs_of(found, unseen)[0];
  EXPECT_LT(after, 0.5 * before) << before;

  std::vector<episode_result> episodes(unseen.clusters);
  double best_rule = 0;
  simulate_episodes_here(s.there, s.run, s.goal, the_candidate<simulated_k_sync>{{.k = 3}}, unseen, episode_cost::time,
                         episodes.data(), &best_rule);
  EXPECT_LT(after, best_rule) << "of bsp and k_sync; asp and ssp diverge here";
}

bool equal(const episode_result& a, const episode_result& b) {
  return a.time == b.time && a.loss == b.loss && a.accuracy == b.accuracy && a.pushes == b.pushes &&
         a.updates == b.updates && a.end == b.end;
}

TEST(SimulatedSearch, EpisodesHaveTheirPlaces) {
  const setting s;
  const search_size size{.candidates = 3, .clusters = 40, .first_seed = 7};
  const std::vector<float> parameters = test::numbers(3 * shape::parameters, 2);
  std::vector<episode_result> out(120);
  std::vector<double> means(3), losses(3);
  const candidates all{parameters.data()};
  simulate_episodes_here(s.there, s.run, s.goal, all, size, episode_cost::time, out.data(), means.data());
  simulate_episodes_here(s.there, s.run, s.goal, all, size, episode_cost::loss, out.data(), losses.data());
  simulated_memory<workers, bowl, candidates::policy> memory;
  for (std::uint32_t c = 0; c < 3; ++c) {
    double times = 0, at_the_end = 0;
    for (std::uint32_t n = 0; n < 40; ++n) {
      const simulated_q<shape, rlp_scale::normalised> policy{{parameters.data() + c * shape::parameters}};
      const episode_result alone = simulate_episode(s.there, s.run, s.goal, policy, 7 + n, one_lane{}, memory);
      EXPECT_TRUE(equal(out[c * 40 + n], alone)) << c << ' ' << n;
      times += alone.time;
      at_the_end += alone.loss;
    }
    EXPECT_NEAR(means[c], times / 40, 1e-12 * times);
    EXPECT_NEAR(losses[c], at_the_end / 40, 1e-12 * at_the_end);
  }
  EXPECT_NE(means[0], means[1]);
}

TEST(SimulatedSearch, MeansDoNotDependOnLanes) {
  std::vector<episode_result> episodes(1000);
  random_sequence random{1};
  for (episode_result& each : episodes) each.time = random.uniform();
  double scratch[detail::mean_parts], alone = 0;
  detail::mean_cost(episodes.data(), 1000, episode_cost::time, one_lane{}, scratch, &alone);
  EXPECT_NEAR(alone, 0.5, 0.05);
  for (const unsigned count : {2u, 7u}) {
    double together = 0;
    test::on_lanes(count, [&](const test::thread_lanes& lanes) {
      detail::mean_cost(episodes.data(), 1000, episode_cost::time, lanes, scratch, &together);
    });
    EXPECT_EQ(together, alone) << count;
  }
}

TEST(SimulatedSearch, SaysWhatIsWrongWithASize) {
  EXPECT_EQ(problem(search_size{}), nullptr);
  EXPECT_NE(std::string{problem(search_size{.candidates = 0})}.find("candidates"), std::string::npos);
  EXPECT_NE(std::string{problem(search_size{.clusters = 0})}.find("clusters"), std::string::npos);
  EXPECT_NE(std::string{problem(search_size{.blocks = 0xffffffff})}.find("blocks"), std::string::npos);
}

}  // namespace searched
}  // namespace
}  // namespace rubato::cuda
