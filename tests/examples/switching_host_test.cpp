#include "../../examples/lab/switching_host.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace {

using namespace rubato::lab;
using rubato::momentum_rule;
using rubato::sim::contribution;

// Notes with which rate and momentum each update is made.
class noting_objective final : public any_objective {
 public:
  std::vector<std::pair<double, double>> updates;  // rate, momentum
  double momentum = -1;                            // not set

  void reset(std::uint64_t) override { momentum = -1; }
  rubato::sim::gradient compute(std::uint32_t, std::uint64_t, std::uint32_t) override { return {}; }
  void update(std::span<const contribution>, double rate) override { updates.emplace_back(rate, momentum); }
  void set_momentum(double to) override { momentum = to; }
  void release(std::uint32_t) override {}
  rubato::sim::evaluation evaluate() override { return {}; }
  double probe() override { return 0; }
};

// So many rounds of four workers, then so many single gradients, at a rate of 0.5 and a momentum of 0.8.
std::vector<std::pair<double, double>> updates_of(const switching_host& host, int rounds, int singles,
                                                  double momentum = 0.8) {
  noting_objective noted;
  switched_objective goal{noted, host, momentum, 4};
  goal.reset(1);
  const std::vector<contribution> round(4);
  for (int i = 0; i < rounds; ++i) goal.update(round, 0.5);
  for (int i = 0; i < singles; ++i) goal.update({round.data(), 1}, 0.5);
  return noted.updates;
}

using notes = std::vector<std::pair<double, double>>;

TEST(SwitchingHost, RoundsHaveTheScaledRate) {
  EXPECT_EQ(updates_of({}, 2, 2), (notes{{2.0, 0.8}, {2.0, 0.8}, {0.5, 0.8}, {0.5, 0.8}}));
  noting_objective noted;
  switched_objective goal{noted, {}, 0.8, 4};
  const std::vector<contribution> three(3);
  goal.update(three, 0.5);
  EXPECT_EQ(noted.updates.front().first, 1.5) << "of a smaller round as many fewer";
}

TEST(SwitchingHost, MomentumFollowsItsRule) {
  EXPECT_EQ(updates_of({.after = momentum_rule::zero}, 1, 2), (notes{{2.0, 0.8}, {0.5, 0.0}, {0.5, 0.0}}));
  EXPECT_EQ(updates_of({.after = momentum_rule::ramped, .stage = 2}, 1, 3),
            (notes{{2.0, 0.8}, {0.5, 0.8 * 0.25}, {0.5, 0.8 * 0.25}, {0.5, 0.8}}));
}

TEST(SwitchingHost, VariantsOfTheRate) {
  EXPECT_EQ(updates_of({.keeps_rate = true}, 1, 1), (notes{{2.0, 0.8}, {2.0, 0.8}}));
  EXPECT_EQ(updates_of({.scales_rounds = false}, 1, 1), (notes{{0.5, 0.8}, {0.5, 0.8}}));
}

TEST(SwitchingHost, CountsSwitches) {
  noting_objective noted;
  switched_objective goal{noted, {.after = momentum_rule::ramped, .stage = 2}, 0.8, 4};
  const std::vector<contribution> round(4);
  for (const std::size_t gradients : {4U, 4U, 1U, 1U, 4U, 1U}) goal.update({round.data(), gradients}, 0.5);
  EXPECT_EQ(goal.switches(), 3u);
  EXPECT_EQ(noted.updates.back().second, 0.8 * 0.25) << "stages begin anew";
  goal.reset(2);
  EXPECT_EQ(goal.switches(), 0u);
}

TEST(SwitchingHost, WithoutMomentumOnlyTheRateChanges) {
  EXPECT_EQ(updates_of({}, 1, 1, 0), (notes{{2.0, -1}, {0.5, -1}}));
}

}  // namespace
