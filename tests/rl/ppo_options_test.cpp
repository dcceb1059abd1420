#include <rubato/rl/ppo_options.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

namespace rubato::rl {
namespace {

// Schulman et al. 2017, table 3 and section 6.1.
TEST(PpoOptions, PaperIsThePaper) {
  const ppo_options o = ppo_options::paper();
  EXPECT_EQ(problem(o), nullptr);
  EXPECT_EQ(o.horizon, 2048u);
  EXPECT_EQ(o.batch, 64u);
  EXPECT_EQ(o.epochs, 10u);
  EXPECT_EQ(o.gamma, 0.99);
  EXPECT_EQ(o.discount, discounting::per_step);
  EXPECT_EQ(o.lambda, 0.95);
  EXPECT_EQ(o.clip, 0.2);
  EXPECT_EQ(o.entropy_bonus, 0);
  EXPECT_EQ(o.max_divergence, 0);
  EXPECT_FALSE(o.normalises_advantages);
  EXPECT_EQ(o.max_gradient_norm, 0);
  EXPECT_EQ(o.learning_rate, 0.0003);
  EXPECT_EQ(o.value_learning_rate, 0.0003);
}

TEST(PpoOptions, ProblemsAreNamed) {
  const auto named = [](auto change, const std::string& word) {
    ppo_options o;
    change(o);
    const char* what = problem(o);
    return what != nullptr && std::string{what}.starts_with(word + ":");
  };
  EXPECT_EQ(problem(ppo_options::robust()), nullptr);
  EXPECT_TRUE(named([](auto& o) { o.horizon = 0; }, "horizon"));
  EXPECT_TRUE(named([](auto& o) { o.batch = 513; }, "batch"));
  EXPECT_TRUE(named([](auto& o) { o.epochs = 0; }, "epochs"));
  EXPECT_TRUE(named([](auto& o) { o.gamma = 1.1; }, "gamma"));
  EXPECT_TRUE(named([](auto& o) { o.time_unit = 0; }, "time_unit"));
  EXPECT_TRUE(named([](auto& o) { o.lambda = -1; }, "lambda"));
  EXPECT_TRUE(named([](auto& o) { o.clip = 0; }, "clip"));
  EXPECT_TRUE(named([](auto& o) { o.entropy_bonus = -1; }, "entropy_bonus"));
  EXPECT_TRUE(named([](auto& o) { o.max_divergence = std::nan(""); }, "max_divergence"));
  EXPECT_TRUE(named([](auto& o) { o.max_gradient_norm = -1; }, "max_gradient_norm"));
  EXPECT_TRUE(named([](auto& o) { o.learning_rate = std::nan(""); }, "learning_rate"));
  EXPECT_TRUE(named([](auto& o) { o.value_learning_rate = -1; }, "value_learning_rate"));
  EXPECT_TRUE(named([](auto& o) { o.undecided_action = 32; }, "undecided_action"));
}

// A setting that is missing here could change between a checkpoint and its resumption, unnoticed.
TEST(PpoOptions, ConfigurationNamesAll) {
  std::set<std::string> names;
  for (const std::string& line : configuration(ppo_options::paper())) names.insert(line.substr(0, line.find('=')));
  EXPECT_EQ(names.size(), 15u);
  EXPECT_NE(configuration(ppo_options::paper()), configuration(ppo_options::robust()));
}

}  // namespace
}  // namespace rubato::rl
