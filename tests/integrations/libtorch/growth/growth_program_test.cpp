// torch_growth, on images that the test makes: it is killed while it trains.
#include <gtest/gtest.h>

#include <sys/types.h>
#include <unistd.h>
#include <cstdint>
#include <fstream>
#include <rubato/core/rng.hpp>
#include <string>
#include <vector>

#include "../../gloo_ps/processes.hpp"

namespace libtorch_growth_program_test {
namespace {

class GrowthProgram : public rubato::test::process_test {
 protected:
  void SetUp() override {
    if (::access(program("torch_growth").c_str(), X_OK) != 0)
      GTEST_SKIP() << "no torch_growth: built without nlohmann_json";
    process_test::SetUp();
    // 50 images for training and 10 for judging; each class is of another brightness.
    std::ofstream file{folder / "store" / "data_batch_1.bin", std::ios::binary};
    rubato::random_sequence random{1};
    for (int image = 0; image < 60; ++image) {
      const auto label = static_cast<int>(random.below(10));
      file.put(static_cast<char>(label));
      for (int i = 0; i < 3072; ++i) file.put(static_cast<char>(static_cast<int>(random.below(20)) + 23 * label));
    }
  }
  // A second is an epoch of the model that has not grown, more or less.
  [[nodiscard]] std::vector<std::string> words(const std::vector<std::string>& more) const {
    return with({program("torch_growth"), "--data", at("store"), "--batch", "16", "--work-clock", "3.5e8"}, more);
  }
};

TEST_F(GrowthProgram, GoesOnAfterItsDeathAsIfNothingHadHappened) {
  const std::vector<std::string> task{"--budget", "24",       "--up",          "3",         "--down",
                                      "14",       "--decide", "actions:2,0,1", "--threads", "1"};
  EXPECT_EQ(wait(start("whole", words(with(task, {"--json", at("whole.json")})))), 0);
  const auto mortal = words(with(task, {"--json", at("killed.json"), "--checkpoint", at("job.pt"), "--resume"}));
  const pid_t first = start("killed", mortal);
  ASSERT_TRUE(logged("killed", "epoch 4: completed", 60));
  kill_now(first);
  EXPECT_EQ(::access(at("killed.json").c_str(), F_OK), -1) << "it had not ended";
  EXPECT_EQ(wait(start("killed", mortal)), 0);
  EXPECT_TRUE(logged("killed", "goes on after epoch", 1));
  const std::string whole = read(folder / "whole.json");
  EXPECT_NE(whole.find("\"action\":2"), std::string::npos) << whole;
  EXPECT_EQ(read(folder / "killed.json"), whole);
}

TEST_F(GrowthProgram, PrintsEpochsAndTheResult) {
  EXPECT_EQ(wait(start("run", words({"--budget", "2.5", "--up", "1", "--decide", "actions:1"}))), 0);
  for (const char* line :
       {"60 images of 32x32x3", "50 for training, 10 for judging", "epoch 0: completed at 1.",
        "epoch 1: ", "1 insertions", ": time is up at 2.", "devices came at 1.", "action 1 at 1.", "accuracy "})
    EXPECT_TRUE(logged("run", line, 1)) << line;
  EXPECT_EQ(wait(start("short", words({"--budget", "0.5"}))), 0);
  EXPECT_TRUE(logged("short", "no epoch was completed in this time", 1));
  EXPECT_EQ(
      wait(start("seconds", {program("torch_growth"), "--data", at("store"), "--budget", "2", "--net", "conv_net_3"})),
      0);
  EXPECT_TRUE(logged("seconds", "epoch 0: ", 1));
  EXPECT_EQ(
      wait(start("processor", {program("torch_growth"), "--data", at("store"), "--budget", "1", "--processor-clock"})),
      0);
  EXPECT_TRUE(logged("processor", "epoch 0: ", 1));
}

// A matrix of zeros as JSON, or a vector of `rows` zeros if there are no columns.
std::string zeros(int rows, int columns) {
  std::string text;
  for (int row = 0; row < rows; ++row) text += (row == 0 ? "" : ", ") + (columns == 0 ? "0" : zeros(columns, 0));
  return "[" + text + "]";
}
// The weights of an agent that says the same of all models: these are the preferences.
std::string agent_that_prefers(const std::string& preferences, int outputs, int inputs, const std::string& network) {
  std::string text = R"json({"vocabulary": {"ids": {"ReLU()": 0}, "unknown": 1, "embedding": [[0], [1]]})json";
  const auto add = [&](const std::string& name, const std::string& value) { text += ", \"" + name + "\": " + value; };
  add("time", "\"cosines\"");
  add("network", '"' + network + '"');
  for (const std::string part : {"weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"}) {
    const bool weights = part.starts_with("weight");
    add("encoder.encoder." + part, zeros(4, weights ? 1 : 0));
    add("encoder.encoder." + part + "_reverse", zeros(4, weights ? 1 : 0));
    add("decider.lstm." + part, zeros(4, part == "weight_ih_l0" ? 2 : weights ? 1 : 0));
  }
  add("decider.linear1.weight", zeros(1, inputs));
  add("decider.linear1.bias", "[0]");
  add("decider.linear2.weight", "[[0]]");
  add("decider.linear2.bias", "[0]");
  add("decider.linear3.weight", zeros(outputs, 1));
  add("decider.linear3.bias", preferences);
  return text + "}";
}

TEST_F(GrowthProgram, AnAgentFromAFileDecides) {
  std::ofstream{folder / "actions.json"} << agent_that_prefers("[0, 1, 0, 0]", 4, 8 + 1, "actions");
  std::ofstream{folder / "wide.json"} << agent_that_prefers("[0, 0, 0, 0, 1, 0]", 6, 8 + 1, "actions");
  std::ofstream{folder / "blocks.json"} << agent_that_prefers("[1]", 1, 8 + 1 + 2 + 4, "blocks");
  const auto action = [&](const std::string& name, const std::vector<std::string>& more) {
    const std::vector<std::string> once{"--budget", "2.5", "--up",     "1",
                                        "--steps",  "1",   "--decide", "agent:" + at((name + ".json").c_str())};
    const auto task = words(with(once, more));
    EXPECT_EQ(wait(start(name, task)), 0);
    for (const char* const number : {"0", "1", "2", "3", "4", "5"})
      if (logged(name, std::string{"action "} + number + " at 1.", 0)) return std::string{number};
    return std::string{"none"};
  };
  EXPECT_EQ(action("actions", {}), "1");
  EXPECT_EQ(action("wide", {"--widen"}), "4");
  EXPECT_EQ(action("blocks", {}), "0") << "of equals the first";
  EXPECT_EQ(action("blocks", {"--widen"}), "0") << "of any number of actions";
  EXPECT_EQ(wait(start("few", words({"--up", "0", "--widen", "--decide", "agent:" + at("actions.json")}))), 1);
  EXPECT_TRUE(logged("few", "growth_agent: found a model of 6 actions, expected as many", 1));
}

TEST_F(GrowthProgram, WrongOptionsAreTold) {
  const auto status = [&](const char* name, const std::vector<std::string>& more) {
    return wait(start(name, words(more)));
  };
  EXPECT_EQ(status("decider", {"--decide", "random:x"}), 2);
  EXPECT_TRUE(logged("decider", "found 'random:x', expected never, random:SEED, actions:0,1,1 or agent:FILE", 1));
  EXPECT_EQ(status("net", {"--net", "resnet"}), 2);
  EXPECT_EQ(status("resume", {"--resume"}), 2);
  EXPECT_EQ(status("clocks", {"--processor-clock"}), 2);
  EXPECT_EQ(status("samples", {"--samples", "51"}), 1);
  EXPECT_TRUE(logged("samples", "50 images for training, expected --samples 51", 1));
  EXPECT_EQ(status("agent", {"--decide", "agent:" + at("none.json")}), 1);
  EXPECT_TRUE(logged("agent", "none.json: cannot be opened", 1));
  EXPECT_EQ(status("action", {"--budget", "2", "--up", "0", "--decide", "actions:4"}), 1);
  EXPECT_TRUE(logged("action", "decision 0: found action 4, expected one up to 3", 1));
  EXPECT_EQ(status("data", {"--json", at("no/folder.json")}), 1);
  EXPECT_TRUE(logged("data", "torch_growth: --json: cannot create", 1));
}

}  // namespace
}  // namespace libtorch_growth_program_test
