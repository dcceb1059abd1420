#include <rubato/rl/dqn_options.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

namespace rubato::rl {
namespace {

TEST(DqnOptions, ScheduleByHand) {
  constexpr linear_schedule schedule{.first = 1, .last = 0.5, .steps = 10};
  EXPECT_EQ(schedule.at(0), 1);
  EXPECT_EQ(schedule.at(5), 0.75);
  EXPECT_EQ(schedule.at(10), 0.5);
  EXPECT_EQ(schedule.at(1000), 0.5);
}

// Zhu et al. 2020, algorithm 2 and section 4.
TEST(DqnOptions, PaperIsThePaper) {
  const dqn_options o = dqn_options::paper();
  EXPECT_EQ(problem(o), nullptr);
  EXPECT_EQ(o.replay_capacity, 50u);
  EXPECT_EQ(o.batch, 32u);
  EXPECT_EQ(o.learn_after, 32u);
  EXPECT_EQ(o.update_every, 1u);
  EXPECT_EQ(o.target_period, 5u);
  EXPECT_EQ(o.target_rate, 1);
  EXPECT_EQ(o.gamma, 0.8);
  EXPECT_EQ(o.discount, discounting::per_step);
  EXPECT_EQ(o.n_step, 1u);
  EXPECT_EQ(o.epsilon.at(0), 0.1);
  EXPECT_EQ(o.epsilon.at(1'000'000), 0.1);
  EXPECT_EQ(o.learning_rate, 0.01);
  EXPECT_EQ(o.optimiser, optimiser_kind::sgd);
  EXPECT_EQ(o.loss, td_loss::squared);
  EXPECT_EQ(o.sample, sampling::distinct);
  EXPECT_EQ(o.target, td_target::online_max);
  EXPECT_FALSE(o.masks_targets);
  EXPECT_TRUE(o.acts_with_target);
  EXPECT_TRUE(o.updates_at_reset);
  EXPECT_FALSE(o.mean_loss);
  EXPECT_FALSE(o.dueling);
  EXPECT_EQ(o.max_gradient_norm, 0);
}

TEST(DqnOptions, RobustIsRobust) {
  const dqn_options o = dqn_options::robust();
  EXPECT_EQ(problem(o), nullptr);
  EXPECT_EQ(o.target, td_target::double_q);
  EXPECT_FALSE(o.acts_with_target);
  EXPECT_GT(o.n_step, 1u);
  EXPECT_EQ(o.discount, discounting::by_elapsed);
  EXPECT_EQ(o.optimiser, optimiser_kind::adam);
  EXPECT_EQ(o.learning_rate, 0.001);
  EXPECT_EQ(o.loss, td_loss::huber);
  EXPECT_EQ(o.target_rate, 0.002);
  EXPECT_GT(o.max_gradient_norm, 0);
  EXPECT_GT(o.epsilon.at(0), o.epsilon.at(o.epsilon.steps));
  EXPECT_GT(o.replay_capacity, 10'000u);
}

TEST(DqnOptions, ProblemsAreNamed) {
  const auto named = [](auto change, const std::string& word) {
    dqn_options o;
    change(o);
    const char* what = problem(o);
    return what != nullptr && std::string{what}.starts_with(word + ":");
  };
  EXPECT_TRUE(named([](auto& o) { o.gamma = 1.1; }, "gamma"));
  EXPECT_TRUE(named([](auto& o) { o.time_unit = 0; }, "time_unit"));
  EXPECT_TRUE(named([](auto& o) { o.n_step = 0; }, "n_step"));
  EXPECT_TRUE(named([](auto& o) { o.epsilon.last = -1; }, "epsilon"));
  EXPECT_TRUE(named([](auto& o) { o.replay_capacity = 0; }, "replay_capacity"));
  EXPECT_TRUE(named([](auto& o) { o.batch = 0; }, "batch"));
  EXPECT_TRUE(named([](auto& o) { o.learn_after = 1; }, "learn_after"));
  EXPECT_TRUE(named([](auto& o) { o.update_every = 0; }, "update_every"));
  EXPECT_TRUE(named([](auto& o) { o.priority.alpha = -1; }, "priority.alpha"));
  EXPECT_TRUE(named([](auto& o) { o.priority.beta = 2; }, "priority.beta"));
  EXPECT_TRUE(named([](auto& o) { o.priority.smallest = 0; }, "priority.smallest"));
  EXPECT_TRUE(named([](auto& o) { o.target_period = 0; }, "target_period"));
  EXPECT_TRUE(named([](auto& o) { o.target_rate = 0; }, "target_rate"));
  EXPECT_TRUE(named([](auto& o) { o.huber_delta = 0; }, "huber_delta"));
  EXPECT_TRUE(named([](auto& o) { o.max_gradient_norm = -1; }, "max_gradient_norm"));
  EXPECT_TRUE(named([](auto& o) { o.learning_rate = std::nan(""); }, "learning_rate"));
  EXPECT_TRUE(named([](auto& o) { o.undecided_action = 32; }, "undecided_action"));
}

// A setting that is missing here could change between a checkpoint and its resumption, unnoticed.
TEST(DqnOptions, ConfigurationNamesAll) {
  std::set<std::string> names;
  for (const std::string& line : configuration(dqn_options::paper())) names.insert(line.substr(0, line.find('=')));
  EXPECT_EQ(names.size(), 31u);
  EXPECT_EQ(configuration(dqn_options::paper())[4], "gamma=0.8");
  EXPECT_NE(configuration(dqn_options::paper()), configuration(dqn_options::robust()));
}

TEST(DqnOptions, EnumeratorsHaveNames) {
  EXPECT_EQ(name(td_target::online_max), "online_max");
  EXPECT_EQ(name(td_target::target_max), "target_max");
  EXPECT_EQ(name(td_target::double_q), "double_q");
  EXPECT_EQ(name(discounting::per_step), "per_step");
  EXPECT_EQ(name(discounting::by_elapsed), "by_elapsed");
  EXPECT_EQ(name(sampling::uniform), "uniform");
  EXPECT_EQ(name(sampling::distinct), "distinct");
  EXPECT_EQ(name(sampling::prioritised), "prioritised");
  EXPECT_EQ(name(td_loss::squared), "squared");
  EXPECT_EQ(name(td_loss::huber), "huber");
  EXPECT_EQ(name(optimiser_kind::sgd), "sgd");
  EXPECT_EQ(name(optimiser_kind::adam), "adam");
  EXPECT_EQ(name(static_cast<td_target>(3)), "invalid");
}

// What people read when a checkpoint is refused.
TEST(DqnOptions, SettingsAreReadable) {
  const std::vector<std::string> lines = configuration(dqn_options::paper());
  const auto has = [&](const std::string& line) { return std::ranges::find(lines, line) != lines.end(); };
  EXPECT_TRUE(has("target=online_max"));
  EXPECT_TRUE(has("discount=per_step"));
  EXPECT_TRUE(has("sample=distinct"));
  EXPECT_TRUE(has("loss=squared"));
  EXPECT_TRUE(has("optimiser=sgd"));
  EXPECT_TRUE(has("gamma=0.8"));
  EXPECT_TRUE(has("masks_targets=0"));
  EXPECT_TRUE(has("undecided_action=0"));
}

}  // namespace
}  // namespace rubato::rl
