#include "../../examples/lab/growth_eval.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "../../examples/lab/growth_models.hpp"
#include "../../examples/lab/growth_tasks.hpp"
#include "../../examples/lab/growth_training.hpp"
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

  std::filesystem::path write(const char* name, const std::string& text) const {
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

TEST(GrowthTasks, ARowThatIsTooLongIsRefused) {
  const growth_files files;
  const std::string header = "a1,final_test_acc,rank,totaltime_s,timeleft1_s\n";
  const auto path = files.write("t.csv", header + std::string(4097, '0') + ",0.5,2,400,300\n");
  EXPECT_EQ(message_of<user_error>([&] { return read_growth_table(path).steps(); }),
            path.string() + ":2: found a line of more than 4096 bytes, expected a shorter one");
}

TEST(GrowthTasks, ATableOfTooManySequencesIsRefused) {
  const growth_files files;
  std::string text = "a1,final_test_acc,rank,totaltime_s,timeleft1_s\n";
  for (int row = 0; row < 100'001; ++row) text += "0,0.5,1,400,300\n";
  const auto path = files.write("t.csv", text);
  EXPECT_EQ(message_of<user_error>([&] { return read_growth_table(path).steps(); }),
            path.string() + ":100002: found more than 100000 sequences, expected fewer");
}

TEST(GrowthTasks, ALongFieldIsNotRepeatedWhole) {
  const growth_files files;
  const std::string longest(4000, 'x'), shown = '"' + std::string(56, 'x') + "...";
  const auto columns = files.write("columns.csv", longest + '\n');
  EXPECT_EQ(message_of<user_error>([&] { return read_growth_table(columns).steps(); }),
            columns.string() + ":1: found columns " + shown +
                ", expected a1,...,aN,final_test_acc,rank,totaltime_s,timeleft1_s,...,timeleftN_s");
  const auto field =
      files.write("field.csv", "a1,final_test_acc,rank,totaltime_s,timeleft1_s\n0," + longest + ",1,4,3\n");
  EXPECT_EQ(message_of<user_error>([&] { return read_growth_table(field).steps(); }),
            field.string() + ":2: found " + shown + ", expected a number");
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

// Both readers, of weights and of vocabularies: what a file is refused with, but for its name.
std::vector<std::string> refusals_of(const std::filesystem::path& path) {
  std::vector<std::string> all;
  for (const std::string& said : {message_of<user_error>([&] { return read_growth_weights(path, {}).index(); }),
                                  message_of<user_error>([&] { return read_growth_vocabulary(path).width; })}) {
    EXPECT_TRUE(said.starts_with(path.string() + ": ")) << said.substr(0, 500);
    EXPECT_LT(said.size(), 500U);
    all.push_back(said.substr(std::min(said.size(), path.string().size() + 2)));
  }
  return all;
}
std::vector<std::string> both(const std::string& refusal) { return {refusal, refusal}; }

TEST(GrowthWeights, AFileThatIsNestedTooDeepIsRefused) {
  const growth_files files;
  const auto deep = both("found nesting deeper than 64 levels, expected a document of few");
  const std::string levels = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  for (const char* const name :
       {"time", "network", "vocabulary", "ids", "embedding", "unknown", "decider.lstm.weight_hh_l0"})
    EXPECT_EQ(refusals_of(files.write("deep.json", "{\"" + std::string{name} + "\":" + levels + "}")), deep) << name;
  EXPECT_EQ(refusals_of(files.write("deep.json", R"({"vocabulary":{"ids":{"a":)" + levels + "}}}")), deep);
  EXPECT_EQ(refusals_of(files.write("deep.json", std::string(1'000'000, '['))), deep) << "that nobody closes";
}

TEST(GrowthWeights, AFileThatIsTooLargeIsRefused) {
  const growth_files files;
  const auto path = files.write("large.json", "{");
  constexpr std::uintmax_t most = std::uintmax_t{1} << 26;
  std::filesystem::resize_file(path, most);  // by zeros, which no disk has to hold
  for (const std::string& each : refusals_of(path)) EXPECT_TRUE(each.starts_with("line 1")) << each;
  std::filesystem::resize_file(path, most + 1);
  EXPECT_EQ(refusals_of(path), both("found more than 67108864 bytes, expected at most that"));
}

TEST(GrowthWeights, ALongValueIsNotRepeatedWhole) {
  const growth_files files;
  const std::string longest(3'000'000, 'x'), text = '"' + longest + '"', shown = '"' + std::string(56, 'x') + "...";
  const std::filesystem::path path = files.folder.path() / "long.json";
  const auto vocabulary = files.write("vocab.json", vocabulary_text());
  const auto weights_with = [&](const char* name, const nlohmann::json& value) {
    nlohmann::json all = weights({0, 3, 1, 2});
    all[name] = value;
    files.write("long.json", all.dump());
    return message_of<user_error>([&] { return read_growth_weights(path, vocabulary).index(); });
  };
  const std::string place = path.string() + ": ";
  EXPECT_EQ(weights_with("time", longest), place + "time: found " + shown + ", expected \"sines\" or \"cosines\"");
  EXPECT_EQ(weights_with("network", longest),
            place + "network: found " + shown + ", expected \"actions\" or \"blocks\"");
  EXPECT_EQ(weights_with("decider.linear2.bias", {longest, 0}),
            place + "decider.linear2.bias: found " + shown + ", expected finite numbers");
  EXPECT_EQ(weights_with(longest.c_str(), 0), place + "found " + shown + ", which is no part of an agent for growth");

  const auto refusal = [&](const std::string& members) {
    files.write("long.json", "{" + members + "}");
    return message_of<user_error>([&] { return read_growth_vocabulary(path).width; });
  };
  const std::string one = R"("embedding":[[1]],"ids":{)";
  EXPECT_EQ(refusal(one + R"("a":)" + text + "}"),
            place + R"(ids: "a": found )" + shown + ", expected a whole number below 1");
  EXPECT_EQ(refusal(one + text + ":7}"), place + "ids: " + shown + ": found 7, expected a whole number below 1");
  EXPECT_EQ(refusal(one + R"("a":0},"unknown":)" + text),
            place + "unknown: found " + shown + ", expected a whole number below 1");
  EXPECT_EQ(refusal(text + ":0"), place + "found " + shown + ", which is no part of an agent for growth");
}

// Of a few KB of numbers a network of a GiB would be made.
TEST(GrowthWeights, ARowThatStandsForNoMatrixIsRefused) {
  const growth_files files;
  const auto vocabulary = files.write("vocab.json", vocabulary_text());
  const auto wide = files.write("wide.json", nlohmann::json{{"ids", {{"a", 0}}}, {"embedding", zeros(1, 4000)}}.dump());
  const auto refusal = [&](const char* name, const nlohmann::json& value, const std::filesystem::path& words) {
    nlohmann::json all = weights({0, 3, 1, 2});
    if (name != nullptr) all[name] = value;
    const std::filesystem::path path = files.write("weights.json", all.dump());
    const std::string said = message_of<user_error>([&] { return read_growth_weights(path, words).index(); });
    return said.substr(std::min(said.size(), path.string().size() + 2));
  };
  for (const char* const name : {"encoder.encoder.weight_hh_l0", "decider.lstm.weight_hh_l0"})
    EXPECT_EQ(refusal(name, zeros(1, 4000), vocabulary),
              std::string{name} + ": found 1 rows of 4000, expected 16000 of 4000");
  EXPECT_EQ(refusal("decider.linear1.weight", zeros(2000, 1), vocabulary),
            "decider.linear2.weight: found 2 rows of 2, expected 2000 of 2000");
  EXPECT_EQ(refusal("decider.linear3.weight", zeros(4000, 1), vocabulary),
            "decider.linear3.weight: found 4000 rows of 1, expected 4000 of 2");
  EXPECT_EQ(refusal(nullptr, {}, wide), "encoder.encoder.weight_ih_l0: found 4 rows of 1, expected 4 of 4000");
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

TEST(GrowthEval, ALongLayerIsNotRepeatedWhole) {
  const growth_files files;
  const auto vocabulary = files.write("vocab.json", R"({"embedding":[[1],[2]],"ids":{"a":0}})");
  const auto agent = read_growth_weights(files.write("weights.json", weights({0, 1}).dump()), vocabulary);
  files.write("m.json", R"({"layers":[")" + std::string(1'000'000, 'x') +
                            R"("],"blocks":[{"first":0,"layers":1,"insertion":["a"]}]})");
  files.write("m_late.csv", "a1,final_test_acc,rank,totaltime_s,timeleft1_s\n0,0.5,2,400,300\n1,0.6,1,400,300\n");
  std::filesystem::remove(vocabulary);
  std::filesystem::remove(files.folder.path() / "weights.json");
  const auto tasks = read_growth_tasks(files.folder.path());
  const growth_training_plan plan{.tasks = tasks, .from = agent};
  for (const std::string& said : {message_of<user_error>([&] { return appraise(agent, tasks).size(); }),
                                  message_of<user_error>([&] { return trained(plan, 1).index(); })}) {
    EXPECT_LT(said.size(), 500U);
    EXPECT_NE(said.find("layer 0: found \"xxx"), std::string::npos) << said;
    EXPECT_TRUE(said.ends_with("expected one of the 1 layers that the agent knows")) << said;
  }
}

}  // namespace
