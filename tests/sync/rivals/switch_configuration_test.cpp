#include <rubato/sync/rivals/switch_configuration.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace rubato::switch_configuration_test {
namespace {

constexpr auto first = switch_phase::first;
constexpr auto second = switch_phase::second;

// The authors' first experiment: 1024 samples at 0.8 on eight workers, then 128 at 0.1.
TEST(SwitchConfiguration, BatchAndRateFallByTheNumberOfWorkers) {
  const switch_configuration usual;
  EXPECT_EQ(usual.at(first, 0, 8), (update_configuration{128, 1024, 0.8, 0.9}));
  EXPECT_EQ(usual.at(second, 0, 8), (update_configuration{128, 128, 0.1, 0.9}));
}

TEST(SwitchConfiguration, FollowsTheWorkers) {
  const switch_configuration usual{.batch = 16, .learning_rate = 0.5, .after = momentum_rule::scaled};
  EXPECT_EQ(usual.at(first, 10, 4), (update_configuration{16, 64, 2.0, 0.9}));
  EXPECT_EQ(usual.at(first, 10, 3), (update_configuration{16, 48, 1.5, 0.9}));
  EXPECT_EQ(usual.at(second, 10, 4), (update_configuration{16, 16, 0.5, 0.9 / 4}));
  EXPECT_EQ(usual.at(second, 10, 2), (update_configuration{16, 16, 0.5, 0.9 / 2}));
  EXPECT_EQ(usual.at(first, 10, 0), usual.at(first, 10, 1)) << "nobody is there";
  EXPECT_EQ(usual.at(second, 10, 0), usual.at(second, 10, 1));
  constexpr std::uint32_t many = std::numeric_limits<std::uint32_t>::max();
  EXPECT_EQ((switch_configuration{.batch = many}.at(first, 0, many).global_batch), std::uint64_t{many} * many);
}

TEST(SwitchConfiguration, MomentumVariantsByHand) {
  const auto momentum = [](momentum_rule after, std::uint64_t stage, std::uint64_t steps) {
    return switch_configuration{.after = after, .stage = stage}.at(second, steps, 8).momentum;
  };
  for (const std::uint64_t steps : {0u, 1u, 5'000u, 1'000'000u}) {
    EXPECT_EQ(momentum(momentum_rule::keep, 1, steps), 0.9);
    EXPECT_EQ(momentum(momentum_rule::zero, 1, steps), 0.0);
    EXPECT_DOUBLE_EQ(momentum(momentum_rule::scaled, 1, steps), 0.1125);
  }
  EXPECT_DOUBLE_EQ(momentum(momentum_rule::ramped, 4'000, 0), 0.1125);
  EXPECT_DOUBLE_EQ(momentum(momentum_rule::ramped, 4'000, 3'999), 0.1125);
  EXPECT_EQ(momentum(momentum_rule::ramped, 4'000, 4'000), 0.9);

  // The authors' changes at 7,200, 13,600 and 20,000, after a switch at 800.
  EXPECT_DOUBLE_EQ(momentum(momentum_rule::multi_step, 6'400, 7'199 - 800), 0.9 / 8);
  EXPECT_DOUBLE_EQ(momentum(momentum_rule::multi_step, 6'400, 7'200 - 800), 0.9 / 4);
  EXPECT_DOUBLE_EQ(momentum(momentum_rule::multi_step, 6'400, 13'599 - 800), 0.9 / 4);
  EXPECT_DOUBLE_EQ(momentum(momentum_rule::multi_step, 6'400, 13'600 - 800), 0.9 / 2);
  EXPECT_DOUBLE_EQ(momentum(momentum_rule::multi_step, 6'400, 19'999 - 800), 0.9 / 2);
  EXPECT_EQ(momentum(momentum_rule::multi_step, 6'400, 20'000 - 800), 0.9);

  for (std::uint64_t k = 1; k <= 8; ++k) {
    EXPECT_DOUBLE_EQ(momentum(momentum_rule::additive, 2'000, 2'000 * (k - 1)), 0.9 * static_cast<double>(k) / 8);
    EXPECT_DOUBLE_EQ(momentum(momentum_rule::additive, 2'000, 2'000 * k - 1), 0.9 * static_cast<double>(k) / 8);
  }
  constexpr std::uint64_t very_late = std::numeric_limits<std::uint64_t>::max();
  for (const momentum_rule each : {momentum_rule::ramped, momentum_rule::multi_step, momentum_rule::additive})
    EXPECT_EQ(momentum(each, 1, very_late), 0.9);
}

TEST(SwitchConfiguration, MomentumIsWholeBeforeTheSwitch) {
  for (const momentum_rule each : {momentum_rule::keep, momentum_rule::zero, momentum_rule::scaled,
                                   momentum_rule::ramped, momentum_rule::multi_step, momentum_rule::additive})
    EXPECT_EQ((switch_configuration{.after = each}.at(first, 100, 8).momentum), 0.9);
}

TEST(SwitchConfiguration, RefusesBadOptions) {
  EXPECT_EQ(switch_configuration{}.problem(), "");
  EXPECT_EQ(switch_configuration{.batch = 0}.problem(), "batch is 0, expected at least 1");
  EXPECT_EQ(switch_configuration{.learning_rate = 0.0}.problem(), "learning_rate is 0, expected a number above 0");
  EXPECT_EQ(switch_configuration{.momentum = 1.0}.problem(), "momentum is 1, expected a number of at least 0, below 1");
  EXPECT_EQ(switch_configuration{.momentum = std::numeric_limits<double>::quiet_NaN()}.problem(),
            "momentum is nan, expected a number of at least 0, below 1");
  EXPECT_EQ(switch_configuration{.after = static_cast<momentum_rule>(9)}.problem(),
            "after is 9, expected one of the six momentum rules");
  EXPECT_EQ(switch_configuration{.after = momentum_rule::additive}.problem(), "") << "the last of them";
  EXPECT_EQ(switch_configuration{.stage = 0}.problem(), "stage is 0, expected at least 1");
}

}  // namespace
}  // namespace rubato::switch_configuration_test
