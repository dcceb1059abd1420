#include "../../examples/lab/explain.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <rubato/adapt/batch_policy_file.hpp>
#include <rubato/learned/loader.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "../../examples/lab/tapped_encoder.hpp"
#include "../../examples/support/user_error.hpp"
#include "lab_bench.hpp"
#include "temporary_directory.hpp"

namespace {

using namespace rubato;
using namespace rubato::lab;
using rubato::support::user_error;
using rubato::test::message_of;

constexpr std::size_t running_share = 7;  // of cluster_state

// Holds whoever pushes while more than half of the workers run; sees nothing else.
q_policy<cluster_state, nn::dynamic_mlp> halves() {
  nn::dynamic_mlp network = *nn::dynamic_mlp::make({cluster_state::dim, group_actions});
  network.weight(0)(running_share, static_cast<std::size_t>(group_action::hold)) = 1;
  network.bias(0)[static_cast<std::size_t>(group_action::submitter)] = 0.5F;
  return q_policy<cluster_state, nn::dynamic_mlp>{network};
}

struct explain_bench {
  training_data data{};
  std::atomic<bool> stop = false;
  std::ostringstream shown{};
  test::temporary_directory folder{};

  [[nodiscard]] std::string at(const std::string& name) const { return (folder.path() / name).string(); }
  [[nodiscard]] explanation explain(const std::string& file, unsigned threads = 1) {
    const run_context how{.data = data, .threads = threads, .stop = stop, .progress = shown};
    const explain_options asked{.scenario = test::quick("asp", 1).scenario, .seeds = 3};
    const auto told = lab::explain(*read_policy_file(file), asked, how);
    EXPECT_TRUE(told);
    return told.value_or(explanation{});
  }
};

TEST(Explain, FindsTheFeatureThatMatters) {
  explain_bench b;
  ASSERT_TRUE(save_q_policy(b.at("halves"), halves()));
  const explanation told = b.explain(b.at("halves"));
  EXPECT_GT(told.decisions, 100U);
  ASSERT_EQ(told.features.size(), cluster_state::dim);
  EXPECT_EQ(told.features[0].name, "running_share");
  EXPECT_GT(told.features[0].change, 0.01);
  EXPECT_GT(told.features[0].deviation, 0.0);
  for (std::size_t i = 1; i < told.features.size(); ++i) {
    EXPECT_EQ(told.features[i].change, 0.0) << told.features[i].name;
    EXPECT_EQ(told.features[i].slowdown.value, 1.0) << told.features[i].name;
  }
  ASSERT_EQ(told.maps.size(), 1U);
  EXPECT_EQ(told.maps[0].x, "running_share");
  EXPECT_EQ(told.maps[0].actions.size(), group_actions);
  const auto& row = told.maps[0].answers;
  EXPECT_EQ(row.front(), static_cast<double>(group_action::submitter));
  EXPECT_TRUE(std::is_sorted(row.begin(), row.begin() + told.maps[0].columns, std::greater<>{}))
      << "the more run, the rather it holds";
}

// Values hold most, so it decides only where nobody else runs and holding is illegal: by the loss.
TEST(Explain, ComparesWhatWasLegal) {
  constexpr std::size_t loss = 1;  // of cluster_state
  explain_bench b;
  nn::dynamic_mlp network = *nn::dynamic_mlp::make({cluster_state::dim, group_actions});
  network.bias(0)[static_cast<std::size_t>(group_action::hold)] = 100;
  network.bias(0)[static_cast<std::size_t>(group_action::submitter)] = 0.3F;
  network.weight(0)(loss, static_cast<std::size_t>(group_action::all)) = 1;
  ASSERT_TRUE(save_q_policy(b.at("holds"), q_policy<cluster_state, nn::dynamic_mlp>{network}));
  const explanation told = b.explain(b.at("holds"));
  EXPECT_EQ(told.features[0].name, "loss");
  EXPECT_GT(told.features[0].change, 0.0);
}

TEST(Explain, NothingIfItIsStopped) {
  explain_bench b;
  ASSERT_TRUE(save_q_policy(b.at("halves"), halves()));
  b.stop = true;
  const run_context how{.data = b.data, .stop = b.stop, .progress = b.shown};
  EXPECT_FALSE(explain(*read_policy_file(b.at("halves")), {.scenario = test::quick("asp", 1).scenario}, how));
}

TEST(Explain, ACorrectionHasTwoMaps) {
  explain_bench b;
  nn::dynamic_mlp network = *nn::dynamic_mlp::make({progress_state::dim, corrections});
  network.weight(0)(0, 0) = 0.2F;  // the loss moves the rate
  ASSERT_TRUE(save_residual_policy(b.at("correction"), residual_policy<progress_state, nn::dynamic_mlp>{network}));
  const explanation told = b.explain(b.at("correction"));
  ASSERT_EQ(told.maps.size(), 2U);
  EXPECT_EQ(told.maps[0].title, "log2_rate");
  EXPECT_EQ(told.maps[1].title, "log2_batch");
  EXPECT_EQ(told.maps[0].limit, 1);
  EXPECT_EQ(told.maps[1].limit, 2);
  EXPECT_EQ(told.features[0].name, "loss");
  EXPECT_NEAR(told.features[0].change, 0.2 * told.features[0].deviation, 0.1 * told.features[0].deviation)
      << "its mean deviation, times its weight";
  EXPECT_LT(told.maps[0].answers.front(), told.maps[0].answers[told.maps[0].columns - 1]);
  for (const double answer : told.maps[1].answers) EXPECT_EQ(answer, 0.0);
}

// Takes samples from whoever takes long, and gives them to the others; sees nothing else.
TEST(Explain, BatchesHaveSixteenFeatures) {
  constexpr std::size_t step_time_share = 5, less = 1, more = 3;
  adapt::learned_batches balancing{*nn::dynamic_mlp::make({adapt::batch_state::size, adapt::batch_deltas.size()})};
  balancing.network.weight(0)(step_time_share, less) = 1;
  balancing.network.bias(0)[more] = 0.9F;
  explain_bench b;
  ASSERT_TRUE(adapt::save_batch_policy(b.at("balancing"), balancing));
  const explanation told = b.explain(b.at("balancing"));
  EXPECT_GT(told.decisions, 30U);
  ASSERT_EQ(told.features.size(), 16U) << "whether they are known goes with them";
  EXPECT_EQ(told.features[0].name, "step_time_share");
  EXPECT_GT(told.features[0].change, 0.01);
  for (std::size_t i = 1; i < told.features.size(); ++i)
    EXPECT_EQ(told.features[i].change, 0.0) << told.features[i].name;
  ASSERT_EQ(told.maps.size(), 1U);
  EXPECT_EQ(told.maps[0].actions, (std::vector<std::string>{"-100", "-25", "0", "+25", "+100"}));
  EXPECT_NE(as_svg(told.maps).find(">+100<"), std::string::npos);
}

TEST(Explain, SameForAnyThreads) {
  explain_bench b;
  ASSERT_TRUE(save_q_policy(b.at("halves"), halves()));
  const explanation one = b.explain(b.at("halves")), three = b.explain(b.at("halves"), 3);
  EXPECT_EQ(one.decisions, three.decisions);
  EXPECT_EQ(one.features[0].slowdown.value, three.features[0].slowdown.value);
  EXPECT_EQ(as_svg(one.maps), as_svg(three.maps));
}

TEST(Explain, WhatTheTapChangesReachesTheNetwork) {
  const auto actions_of = [](bool changed) {
    tapped_encoder<cluster_state> encoder{[changed](std::uint32_t, std::span<float, cluster_state::dim> inputs) {
      if (changed) inputs[running_share] = 0;
    }};
    const q_policy policy{halves().network(), {}, encoder};
    auto bench = test::quick("asp", 1);
    const training_data nothing;
    workbench runs{nothing};
    const std::atomic<bool> stop = false;
    return runs.run({bench.scenario, 0}, any_policy{policy}, 1, stop)->staleness_mean;
  };
  EXPECT_LT(actions_of(false), actions_of(true)) << "who sees nobody run holds nobody";
}

TEST(Explain, RefusesARule) {
  explain_bench b;
  const run_context how{.data = b.data, .stop = b.stop, .progress = b.shown};
  policy_file rule;
  rule.card.kind = "ssp";
  rule.card.rule = "ssp:3";
  const std::string message = message_of<user_error>(
      [&] { return explain(rule, {.scenario = test::quick("asp", 1).scenario}, how)->decisions; });
  EXPECT_NE(message.find(R"(found the rule "ssp:3", expected a learned policy)"), std::string::npos) << message;
}

TEST(Explain, TheMapIsAPicture) {
  const action_map map{.title = "log2_rate",
                       .x = "loss",
                       .y = "samples",
                       .x_least = -1,
                       .x_most = 1,
                       .y_least = 0,
                       .y_most = 2,
                       .actions = {},
                       .columns = 2,
                       .answers = {-1, 0, 0.5, 1}};
  const std::string svg = as_svg({map});
  EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"")) << svg;
  for (const char* part : {"#2166ac", "#ffffff", "#b2182b", ">loss<", ">samples upwards<", ">log2_rate<", "</svg>"})
    EXPECT_NE(svg.find(part), std::string::npos) << part;
}

TEST(Explain, TheMapHasItsLimit) {
  action_map map{.title = "log2_batch", .x = "loss", .y = "samples", .actions = {}, .limit = 2, .columns = 1};
  map.answers = {1};
  const std::string half = as_svg({map});
  EXPECT_EQ(half.find("#b2182b"), std::string::npos) << "half way to red";
  map.answers = {2};
  EXPECT_NE(as_svg({map}).find("#b2182b"), std::string::npos);
  EXPECT_NE(half.find("blue -2, white 0, red 2"), std::string::npos);
}

}  // namespace
