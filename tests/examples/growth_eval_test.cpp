#include "../../examples/lab/growth_eval.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "../../examples/lab/growth_models.hpp"
#include "../../examples/lab/growth_tasks.hpp"
#include "../../examples/lab/growth_weights.hpp"
#include "../../examples/support/user_error.hpp"
#include "temporary_directory.hpp"

namespace {

using namespace rubato;
using namespace rubato::lab;
using rubato::support::user_error;
using rubato::test::message_of;

const std::filesystem::path tables = std::filesystem::path{RUBATO_SOURCE_DIR} / "examples/data/growth";

struct growth_files {
  test::temporary_directory folder{};

  [[nodiscard]] std::filesystem::path write(const char* name, const std::string& text) const {
    const std::filesystem::path path = folder.path() / name;
    std::ofstream{path, std::ios::binary} << text;
    return path;
  }
};

// All layers of both models in one row of one number.
std::string vocabulary_text() {
  nlohmann::json ids;
  for (const char* const name : {"convnet2", "convnet3"}) {
    adapt::growable_model model = published_model(name);
    for (std::size_t block = 0; block < 3; ++block) model.deepen(block);
    for (const std::string& layer : model.layers()) ids[layer] = 0;
  }
  return nlohmann::json{{"ids", ids}, {"embedding", {{1.0}, {0.5}}}}.dump();
}

nlohmann::json zeros(std::size_t rows, std::size_t columns) {
  return nlohmann::json::array_t(rows, nlohmann::json::array_t(columns, 0.0));
}
nlohmann::json zeros(std::size_t size) { return nlohmann::json::array_t(size, 0.0); }

// One unit each, and preferences that are these whatever it sees.
nlohmann::json weights(const std::vector<double>& preferences) {
  nlohmann::json all;
  for (const std::string suffix : {"", "_reverse"}) {
    all["encoder.encoder.weight_ih_l0" + suffix] = zeros(4, 1);
    all["encoder.encoder.weight_hh_l0" + suffix] = zeros(4, 1);
    all["encoder.encoder.bias_ih_l0" + suffix] = all["encoder.encoder.bias_hh_l0" + suffix] = zeros(4);
  }
  all["decider.lstm.weight_ih_l0"] = zeros(4, 2);
  all["decider.lstm.weight_hh_l0"] = zeros(4, 1);
  all["decider.lstm.bias_ih_l0"] = all["decider.lstm.bias_hh_l0"] = zeros(4);
  all["decider.linear1.weight"] = zeros(2, 9);
  all["decider.linear2.weight"] = zeros(2, 2);
  all["decider.linear1.bias"] = all["decider.linear2.bias"] = zeros(2);
  all["decider.linear3.weight"] = zeros(preferences.size(), 2);
  all["decider.linear3.bias"] = preferences;
  return all;
}

TEST(GrowthTasks, ModelsAreThePublishedOnes) {
  EXPECT_EQ(published_model("convnet2").layers().size(), 10U);
  EXPECT_EQ(published_model("convnet3").layers().size(), 9U);
  adapt::growable_model model = published_model("convnet3");
  model.deepen(0);
  EXPECT_EQ(model.layers()[3], "Conv2d(64, 64, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))");
  EXPECT_EQ(message_of<user_error>([] { return published_model("resnet").layers().size(); }),
            "model \"resnet\": expected convnet2 or convnet3");
}

TEST(GrowthTasks, FindsTheTablesOfAFolder) {
  const std::vector<growth_task> tasks = read_growth_tasks(tables);
  ASSERT_EQ(tasks.size(), 10U);
  EXPECT_EQ(tasks[0].model + " " + tasks[0].scenario, "convnet2 early");
  EXPECT_EQ(tasks[9].model + " " + tasks[9].scenario, "convnet3 late");
  EXPECT_EQ(tasks[0].table.accuracy(20), 0.7391) << "(1, 1, 0)";
  EXPECT_EQ(tasks[0].table.rank(20), 1U);
  EXPECT_NEAR(tasks[0].table.mean(), 0.6895, 5e-5);
  EXPECT_EQ(tasks[4].table.best(), 0.6827);
}

TEST(GrowthTasks, SaysWhatIsWrongWithATable) {
  const growth_files files;
  const std::string header = "a1,final_test_acc,rank,totaltime_s,timeleft1_s\n";
  const auto refusal = [&](const std::string& text) {
    const std::filesystem::path path = files.write("t.csv", text);
    const std::string said = message_of<user_error>([&] { return read_growth_table(path).steps(); });
    return said.substr(std::min(said.size(), path.string().size()));
  };
  EXPECT_EQ(refusal(header + "0,0.5,2,400,300\r\n1,0.6,1,400,300\n"), "");
  EXPECT_EQ(refusal(""), ": found nothing, expected a table of sequences");
  EXPECT_EQ(refusal("a,b\n").substr(0, 28), ":1: found columns \"a,b\", exp");
  EXPECT_EQ(refusal(header + "0,0.5\n"), ":2: found 2 fields, expected 5");
  EXPECT_EQ(refusal(header + "0,x,2,400,300\n"), ":2: found \"x\", expected a number");
  EXPECT_EQ(refusal(header + "0.5,0.5,2,400,300\n"), ":2: found action 0.5, expected whole numbers from 0 to 63");
  EXPECT_EQ(refusal(header + "0,0.5,2,400,300\n0,0.6,1,400,300\n").substr(0, 26), ":3: found a sequence that ");
  EXPECT_EQ(refusal(header + "1,0.5,2,400,300\n"),
            ": found 1 sequences of 1 actions from 0 to 1, expected all that there are");
  EXPECT_EQ(refusal(header + "0,0.5,1,400,300\n1,0.6,2,400,300\n"),
            ":2: found rank 1, expected that of its accuracy, 2");
  EXPECT_EQ(refusal(header + "0,0.5,2,400,500\n1,0.6,1,400,300\n"),
            ": growth_table: sequence 0: time left is 500, expected 0 to 400");
  EXPECT_NE(
      message_of<user_error>([&] { return read_growth_tasks(files.folder.path()).size(); }).find("found no table"),
      std::string::npos);
}

TEST(GrowthWeights, ReadsWeights) {
  const growth_files files;
  const auto vocabulary = files.write("vocab.json", vocabulary_text());
  EXPECT_EQ(read_growth_vocabulary(vocabulary).words.rows(), 2U);
  EXPECT_EQ(read_growth_vocabulary(vocabulary).width, 1U);
  nlohmann::json all = weights({0, 3, 1, 2});
  all["decider.lstm.weight_ih_l0"][1][0] = 0.25;
  all["encoder.encoder.bias_ih_l0"][2] = 0.5;
  all["encoder.encoder.bias_hh_l0"][2] = 0.25;
  auto agent = std::get<adapt::growth_agent>(read_growth_weights(files.write("weights.json", all.dump()), vocabulary));
  EXPECT_EQ(agent.network.decider().parameters()[1], 0.25F) << "a row for each input, a column for each gate";
  EXPECT_EQ(agent.network.encoder_forwards().parameters()[8 + 2], 0.75F) << "the sum of both biases";
  EXPECT_EQ(agent.network.embeddings()[1], 0.5F);
  EXPECT_EQ(agent.network.shape().actions, 4U);
}

TEST(GrowthWeights, SaysWhatIsWrong) {
  const growth_files files;
  const auto vocabulary = files.write("vocab.json", vocabulary_text());
  const auto refusal = [&](const nlohmann::json& all) {
    const std::filesystem::path path = files.write("weights.json", all.dump());
    const std::string said = message_of<user_error>([&] { return read_growth_weights(path, vocabulary).index(); });
    return said.substr(std::min(said.size(), path.string().size() + 2));
  };
  const nlohmann::json good = weights({0, 3, 1, 2});
  EXPECT_EQ(refusal(good), "");
  nlohmann::json bad = good;
  bad.erase("decider.lstm.bias_hh_l0");
  EXPECT_EQ(refusal(bad), "found no \"decider.lstm.bias_hh_l0\", expected one");
  bad = good;
  bad["decider.linear4.bias"] = 1;
  EXPECT_EQ(refusal(bad), "found \"decider.linear4.bias\", which is no part of an agent for growth");
  bad = good;
  bad["decider.linear2.weight"] = zeros(2, 3);
  EXPECT_EQ(refusal(bad), "decider.linear2.weight: found 2 rows of 3, expected 2 of 2");
  bad = good;
  bad["decider.linear2.bias"] = zeros(3);
  EXPECT_EQ(refusal(bad), "decider.linear2.bias: found 3 numbers, expected 2");
  bad = good;
  bad["decider.linear2.bias"][1] = nullptr;
  EXPECT_EQ(refusal(bad), "decider.linear2.bias: found null, expected finite numbers");
  bad = good;
  bad["decider.linear2.weight"][1] = zeros(5);
  EXPECT_EQ(refusal(bad), "decider.linear2.weight: found rows of 2 and of 5 numbers, expected rows of one length");
  EXPECT_EQ(refusal(nlohmann::json::array()), "found no JSON object, expected one");
  EXPECT_NE(message_of<user_error>([&] {
              return read_growth_vocabulary(files.write("v.json", R"({"embedding":[[1]],"ids":{"a":1}})")).width;
            }).find("ids: \"a\": found 1, expected a whole number below 1"),
            std::string::npos);
}

TEST(GrowthEval, GoesThroughTheTables) {
  const growth_files files;
  const auto vocabulary = files.write("vocab.json", vocabulary_text());
  const auto agent = read_growth_weights(files.write("weights.json", weights({0, 3, 1, 2}).dump()), vocabulary);
  const std::vector<growth_task> tasks = read_growth_tasks(tables);
  const std::vector<growth_appraisal> all = appraise(agent, tasks);
  ASSERT_EQ(all.size(), 10U);
  EXPECT_EQ(all[0].accuracy, 0.7260) << "(1, 1, 1)";
  EXPECT_EQ(all[0].rank, 8U);
  ASSERT_EQ(all[0].steps.size(), 3U);
  EXPECT_EQ(all[0].steps[2].action, 1U);
  EXPECT_EQ(all[1].rank, 1U);
  const auto document = document_of("ones", all);
  EXPECT_EQ(document["scenarios"][1]["rank"], 1);
  EXPECT_EQ(document["scenarios"][0]["actions"], (std::vector<int>{1, 1, 1}));
  EXPECT_EQ(document["scenarios"][0]["steps"][0]["probabilities"].size(), 4U);
  EXPECT_NE(as_text(all).find("8/64"), std::string::npos) << as_text(all);
}

TEST(GrowthEval, TwinsHaveOneArchitecture) {
  const growth_files files;
  const auto vocabulary = files.write("vocab.json", vocabulary_text());
  const std::vector<growth_task> tasks = read_growth_tasks(tables);
  const auto of = [&](const std::vector<double>& preferences) {
    return appraise(read_growth_weights(files.write("weights.json", weights(preferences).dump()), vocabulary),
                    tasks)[0];
  };
  EXPECT_EQ(of({0, 3, 1, 2}).twins, 1U) << "only (1, 1, 1) deepens block 1 three times";
  const growth_appraisal nothing = of({0, 1, 2, 3});
  EXPECT_EQ(nothing.twins, 1U);
  EXPECT_EQ(nothing.accuracy, nothing.twins_least);
}

TEST(GrowthEval, SaysWhatAnAgentCannotRead) {
  const growth_files files;
  const auto vocabulary = files.write("vocab.json", R"({"embedding":[[1],[2]],"ids":{"a":0}})");
  const auto agent = read_growth_weights(files.write("weights.json", weights({0, 3, 1, 2}).dump()), vocabulary);
  const std::string said = message_of<user_error>([&] { return appraise(agent, read_growth_tasks(tables)).size(); });
  EXPECT_EQ(said.find("convnet2, early: growth_agent: layer 0: found \"Conv2d(3, 32"), 0U) << said;
}

}  // namespace
