#include "../../examples/lab/growth_training.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "../../examples/lab/growth_eval.hpp"
#include "../../examples/lab/growth_models.hpp"
#include "../../examples/lab/growth_trials.hpp"
#include "../../examples/lab/growth_weights.hpp"
#include "../../examples/support/user_error.hpp"
#include "lab_program.hpp"
#include "temporary_directory.hpp"

namespace rubato::lab::growth_training_test {
namespace {

using rubato::support::user_error;
using rubato::test::message_of;

const std::string folder = std::string{RUBATO_SOURCE_DIR} + "/examples/data/growth";

const std::vector<growth_task>& all() {
  static const std::vector<growth_task> tasks = read_growth_tasks(folder);
  return tasks;
}
std::vector<float> weights_of(const any_growth_agent& agent) {
  return std::visit(
      [](const auto& kind) {
        std::vector<float> numbers(kind.network.embeddings().begin(), kind.network.embeddings().end());
        for (const auto part : kind.network.parameters()) numbers.insert(numbers.end(), part.begin(), part.end());
        return numbers;
      },
      agent);
}
growth_training_plan short_plan() {
  return {.tasks = tasks_named("convnet2_early", all(), ""), .expected = {.updates = 3}};
}

TEST(GrowthTraining, FindsTasksByName) {
  EXPECT_EQ(tasks_named("all", all(), "--on").size(), 10U);
  EXPECT_EQ(tasks_named("convnet3", all(), "--on").size(), 5U);
  const auto two = tasks_named("convnet3_late+convnet2_early", all(), "--on");
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[0].model + two[0].scenario, "convnet3late");
  EXPECT_EQ(message_of<user_error>([] { return tasks_named("convnet2+convnet2_late", all(), "--on").size(); }),
            "--on: found convnet2_late twice in \"convnet2+convnet2_late\"");
  const std::string said = message_of<user_error>([] { return tasks_named("resnet", all(), "--on").size(); });
  EXPECT_TRUE(said.starts_with("--on: found \"resnet\", expected one of convnet2_early, ")) << said;
  EXPECT_TRUE(said.ends_with("convnet3_late, a model's name, or all")) << said;
}

TEST(GrowthTraining, ReadsStages) {
  const auto stages = stages_in("convnet2_early:75000,convnet2:200:10", all(), "--reinforce");
  ASSERT_EQ(stages.size(), 2U);
  EXPECT_EQ(stages[0].episodes, 75'000U);
  EXPECT_EQ(stages[0].temperature, 1);
  EXPECT_EQ(stages[1].tasks.size(), 5U);
  EXPECT_EQ(stages[1].temperature, 10);
  const auto refusal = [](const char* text) {
    return message_of<user_error>([&] { return stages_in(text, all(), "--reinforce").size(); });
  };
  EXPECT_EQ(refusal("all"), "--reinforce: found \"all\", expected TASKS:EPISODES or TASKS:EPISODES:TEMPERATURE");
  EXPECT_EQ(refusal("all:0"), "--reinforce: found \"all:0\", expected 1 to 1000000000 episodes");
  EXPECT_EQ(refusal("all:5:0.5"), "--reinforce: found \"all:5:0.5\", expected a temperature of 1 to 1e6");
  EXPECT_TRUE(refusal("none:5").starts_with("--reinforce: found \"none\", expected one of "));
}

TEST(GrowthTraining, VocabularyHasAllLayers) {
  random_sequence random{1};
  const growth_vocabulary known = vocabulary_of(all(), 16, random);
  EXPECT_EQ(known.embeddings.size(), known.words.rows() * std::size_t{16});
  EXPECT_EQ(known.words.rows(), known.words.words().size() + 1);
  for (const growth_task& task : all()) {
    adapt::growable_model model = task.start;
    for (std::size_t block = 0; block < 3; ++block) model.deepen(block);
    for (const std::string& layer : model.layers())
      EXPECT_NE(known.words.row_of(layer), known.words.unknown()) << layer;
  }
  EXPECT_EQ(known.words.row_of("Dropout(p=0.5, inplace=False)"), known.words.unknown());

  const adapt::growable_model start = perceptron(4, {3, 5}, 2, true);
  const growth_task widening{
      "p", "early", start, *adapt::growth_table::make(5, 100, std::vector<adapt::growth_outcome>(25, {0.5, {80, 40}}))};
  const growth_vocabulary wide = vocabulary_of({widening}, 16, random);
  for (std::size_t first = 0; first < 5; ++first)
    for (std::size_t second = 0; second < 5; ++second) {
      adapt::growable_model model = start;
      model.grow(first), model.grow(second);
      for (const std::string& layer : model.layers())
        EXPECT_NE(wide.words.row_of(layer), wide.words.unknown()) << layer << " after " << first << ", " << second;
    }
}

TEST(GrowthTraining, LearnsByBoth) {
  growth_training_plan plan{.tasks = tasks_named("convnet2_late+convnet3_late", all(), ""),
                            .expected = {.updates = 700}};
  for (const growth_appraisal& each : appraise(trained(plan, 1), plan.tasks))
    EXPECT_LE(each.rank, 3U) << each.task->model;
  growth_training_plan drawn{.stages = stages_in("convnet2_late:300,convnet2_late:1200", all(), ""),
                             .reinforce = {.learning_rate = 1e-3, .baseline = adapt::growth_baseline::average}};
  const auto tasks = tasks_named("convnet2_late", all(), "");
  EXPECT_GT(appraise(trained(drawn, 1), tasks)[0].accuracy, tasks[0].table.mean() + 0.01);
}

// The one sequence of two actions that is worth much, for a model whose blocks widen.
growth_task task_of(const std::vector<std::size_t>& hidden, std::size_t best) {
  const adapt::growable_model model = perceptron(4, hidden, 2, true);
  std::vector<adapt::growth_outcome> outcomes(model.actions() * model.actions(), {0.1, {80, 40}});
  outcomes[best].accuracy = 0.9;
  return {"perceptron" + std::to_string(hidden.size()), "early", model,
          *adapt::growth_table::make(static_cast<std::uint32_t>(model.actions()), 100, outcomes)};
}

TEST(GrowthTraining, BothKindsLearn) {
  const std::vector<growth_task> one{task_of({3}, 3)}, two{one[0], task_of({3, 5}, 7)};
  const auto expect_the_best = [](const any_growth_agent& agent, const std::vector<growth_task>& tasks) {
    for (const growth_appraisal& each : appraise(agent, tasks)) EXPECT_EQ(each.rank, 1U) << each.task->model;
  };
  growth_training_plan plan{.tasks = one, .expected = {.learning_rate = 3e-3, .updates = 400}};
  expect_the_best(trained(plan, 1), one);
  plan.tasks = two;
  EXPECT_TRUE(message_of<user_error>([&] {
                return trained(plan, 1).index();
              }).ends_with("found 5 actions, expected as many as the agent has"));
  plan.blocks = true;
  const any_growth_agent agent = trained(plan, 1);
  EXPECT_TRUE(std::holds_alternative<adapt::block_agent>(agent));
  expect_the_best(agent, two);
  growth_training_plan drawn{
      .stages = {{one, 3'000}},
      .reinforce = {.learning_rate = 3e-3, .baseline = adapt::growth_baseline::average, .entropy = 5},
      .blocks = true};
  expect_the_best(trained(drawn, 1), one);
}

TEST(GrowthTraining, BeginsWithAVocabularyThatIsGiven) {
  random_sequence random{99};
  growth_training_plan plan = short_plan();
  plan.vocabulary = vocabulary_of(plan.tasks, 8, random);
  for (const bool blocks : {false, true}) {
    plan.blocks = blocks;
    for (const std::uint64_t seed : {1U, 2U})
      std::visit(
          [&](const auto& agent) {
            EXPECT_EQ(agent.network.shape().embedding, 8U);
            EXPECT_TRUE(std::ranges::equal(agent.network.embeddings(), plan.vocabulary->embeddings));
          },
          trained(plan, seed));
  }
  plan.tasks = tasks_named("convnet3_early", all(), "");
  plan.vocabulary->words = *adapt::layer_vocabulary::make({{"ReLU()", 0}}, plan.vocabulary->words.rows());
  EXPECT_NE(message_of<user_error>([&] { return trained(plan, 1).index(); }).find("convnet3_early: layer 0: found"),
            std::string::npos);
}

TEST(GrowthTraining, SameSeedSameAgent) {
  EXPECT_EQ(weights_of(trained(short_plan(), 1)), weights_of(trained(short_plan(), 1)));
  EXPECT_NE(weights_of(trained(short_plan(), 1)), weights_of(trained(short_plan(), 2)));
}

TEST(GrowthTraining, WhatIsWrittenIsReadAgain) {
  const test::temporary_directory files;
  const std::filesystem::path path = files.path() / "agent.json";
  const auto facts_of = [](const any_growth_agent& agent) {
    return std::visit([](const auto& kind) { return std::pair{kind.time, kind.vocabulary.unknown()}; }, agent);
  };
  for (const auto& [time, blocks] :
       {std::pair{adapt::time_encoding::sines, false}, std::pair{adapt::time_encoding::cosines, false},
        std::pair{adapt::time_encoding::cosines, true}}) {
    growth_training_plan plan = short_plan();
    plan.time = time;
    plan.blocks = blocks;
    const any_growth_agent agent = trained(plan, 1);
    std::ofstream{path} << as_json(agent);
    const any_growth_agent again = read_growth_weights(path, {}, "no such file");
    EXPECT_EQ(again.index(), agent.index());
    EXPECT_EQ(weights_of(again), weights_of(agent));
    EXPECT_EQ(facts_of(again), facts_of(agent));
    EXPECT_EQ(facts_of(again).first, time);
    EXPECT_EQ(as_json(again), as_json(agent));
    plan.from = again;
    plan.expected.updates = 1;
    EXPECT_NE(weights_of(trained(plan, 1)), weights_of(again)) << "it goes on";
  }
}

TEST(GrowthTraining, SaysWhatIsWrongWithItsVocabulary) {
  const test::temporary_directory files;
  const std::filesystem::path path = files.path() / "agent.json";
  const nlohmann::json good = nlohmann::json::parse(as_json(trained(short_plan(), 1)));
  const auto refusal = [&](auto change) {
    nlohmann::json bad = good;
    change(bad);
    std::ofstream{path} << bad.dump();
    const std::string said =
        message_of<user_error>([&] { return read_growth_weights(path, {}, "no such file").index(); });
    return said.substr(std::min(said.size(), path.string().size() + 2));
  };
  EXPECT_EQ(refusal([](auto&) {}), "");
  EXPECT_EQ(refusal([](auto& bad) { bad["vocabulary"] = 3; }), "vocabulary: found no object, expected one");
  EXPECT_EQ(refusal([](auto& bad) { bad["vocabulary"].erase("ids"); }), "vocabulary: found no \"ids\", expected one");
  EXPECT_EQ(refusal([](auto& bad) { bad["vocabulary"]["unknown"] = 99; }),
            "vocabulary: unknown: found 99, expected a whole number below 10");
  EXPECT_EQ(refusal([](auto& bad) { bad["time"] = "days"; }),
            "time: found \"days\", expected \"sines\" or \"cosines\"");
  EXPECT_EQ(refusal([](auto& bad) { bad["vocabulary"]["unkown"] = 3; }),
            "vocabulary: found \"unkown\", which is no part of an agent for growth");
  std::ofstream{path} << good.dump();
  EXPECT_EQ(message_of<user_error>([&] { return read_growth_weights(path, "vocab.json").index(); }),
            path.string() + ": found a vocabulary in it, expected none beside vocab.json");
  std::ofstream{path} << R"({"decider.linear1.bias": []})";
  EXPECT_EQ(message_of<user_error>([&] { return read_growth_weights(path, {}, "no such file").index(); }),
            "no such file: cannot be opened: No such file or directory");
  EXPECT_EQ(message_of<user_error>([&] { return read_growth_weights(path, {}).index(); }),
            path.string() + ": found no vocabulary, expected one in it or a file of one");
}

TEST(GrowthTraining, SaysWhatIsWrongWithItsKind) {
  const test::temporary_directory files;
  const std::filesystem::path path = files.path() / "agent.json";
  const nlohmann::json good = nlohmann::json::parse(as_json(trained(short_plan(), 1)));
  const auto refusal = [&](const nlohmann::json& kind) {
    nlohmann::json bad = good;
    bad["network"] = kind;
    std::ofstream{path} << bad.dump();
    const std::string said =
        message_of<user_error>([&] { return read_growth_weights(path, {}, "no such file").index(); });
    return said.substr(std::min(said.size(), path.string().size() + 2));
  };
  EXPECT_EQ(refusal("actions"), "");
  EXPECT_EQ(refusal("trees"), "network: found \"trees\", expected \"actions\" or \"blocks\"");
  EXPECT_EQ(refusal(3), "network: found 3, expected \"actions\" or \"blocks\"");
  EXPECT_EQ(refusal("blocks"), "decider.linear1.weight: found 128 rows of 24, expected 128 of 128")
      << "those of the other kind";
}

TEST(GrowthTraining, ReportsTrials) {
  const auto tasks = tasks_named("convnet2_early", all(), "");
  std::vector<growth_trial> trials;
  for (const std::uint64_t seed : {1U, 2U}) trials.push_back({seed, appraise(trained(short_plan(), seed), tasks)});
  const auto document = nlohmann::json::parse(as_json("expected gradient", trials));
  EXPECT_EQ(document["agents"].size(), 2U);
  EXPECT_EQ(document["agents"][1]["agent"], "seed 2");
  EXPECT_EQ(document["agents"][0]["scenarios"][0]["rank"], trials[0].judged[0].rank);
  EXPECT_EQ(document["mean_accuracy"]["mean"], (trials[0].judged[0].accuracy + trials[1].judged[0].accuracy) / 2);
  EXPECT_TRUE(document["mean_regret"].contains("low"));
  trials.pop_back();
  EXPECT_FALSE(nlohmann::json::parse(as_json("", trials))["mean_regret"].contains("low")) << "of one there is none";
  EXPECT_NE(as_text(trials).find("convnet2  early"), std::string::npos);
}

TEST(GrowthProgram, TrainsSavesAndEvaluates) {
  const test::lab_program lab;
  const std::string tables = "--tables '" + folder + "' ";
  EXPECT_EQ(lab.run("growth train " + tables +
                    "--on convnet2_late --updates 5 --seeds 2 --threads 2 --save a.json --json two.json")
                .status,
            0);
  EXPECT_EQ(
      lab.run("growth train " + tables + "--on convnet2_late --updates 5 --seeds 2 --threads 1 --json one.json").status,
      0);
  EXPECT_EQ(lab.content("one.json"), lab.content("two.json")) << "whatever the threads";
  const auto trained_ones = nlohmann::json::parse(lab.content("two.json"));
  EXPECT_EQ(lab.run("growth eval a.json " + tables + "--json seen.json").status, 0);
  const auto seen = nlohmann::json::parse(lab.content("seen.json"));
  double best = 0;
  for (const auto& each : trained_ones["agents"]) best = std::max(best, each["mean_accuracy"].get<double>());
  EXPECT_EQ(seen["scenarios"][4]["accuracy"], best) << "that of the best agent";
}

TEST(GrowthProgram, LeavesOneOut) {
  const test::lab_program lab;
  const auto made = lab.run("growth train --tables '" + folder +
                            "' --on convnet2_late+convnet3_late --leave-one-out --updates 2 --json -");
  EXPECT_EQ(made.status, 0) << made.text;
  EXPECT_EQ(nlohmann::json::parse(made.text)["agents"][0]["scenarios"].size(), 2U);
}

TEST(GrowthProgram, BadInputIsOneLineAndStatus2) {
  const test::lab_program lab;
  const auto refusal = [&](const std::string& options) {
    const auto made = lab.run("growth train --tables '" + folder + "' " + options + " 2>&1");
    EXPECT_EQ(made.status, 2) << options;
    EXPECT_EQ(std::ranges::count(made.text, '\n'), 1) << made.text;
    return made.text;
  };
  EXPECT_NE(refusal("--on convnet2_late --leave-one-out").find("expected at least 2"), std::string::npos);
  EXPECT_NE(refusal("--leave-one-out --save a.json").find("--save"), std::string::npos);
  EXPECT_NE(refusal("--learning-rate 2").find("learning_rate is 2, expected above 0, at most 1"), std::string::npos);
  EXPECT_NE(refusal("--from nothing.json").find("nothing.json: cannot be opened"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(lab.folder.path() / "a.json"));
}

// Copies, which a lost promise would cost.
TEST(GrowthProgram, NothingIsWrittenOverTablesModelsAndVocabularies) {
  const test::lab_program lab;
  const std::filesystem::path tables = lab.folder.path() / "tables";
  std::filesystem::copy(folder, tables);
  std::filesystem::copy(tables / "convnet2_early.csv", tables / "own_early.csv");
  std::ofstream{tables / "own.json"} << as_json(published_model("convnet2"));
  for (const std::string option : {"--save", "--json"})
    for (const std::string name : {"convnet3_late.csv", "own_early.csv", "own.json", "vocab.json"}) {
      const auto made = lab.run("growth train --tables tables " + option + " tables/" + name + " 2>&1");
      EXPECT_EQ(made.status, 2) << name;
      EXPECT_EQ(made.text, "rubato-lab: " + option + ": found \"tables/" + name +
                               "\", which --tables needs, expected a file of its own\n");
    }
  const auto made = lab.run("growth eval own.json --tables tables --json tables/own.json 2>&1");
  EXPECT_NE(made.text.find("which --tables needs"), std::string::npos) << made.text;
}

}  // namespace
}  // namespace rubato::lab::growth_training_test
