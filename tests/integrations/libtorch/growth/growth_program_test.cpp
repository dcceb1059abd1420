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
}

TEST_F(GrowthProgram, WrongOptionsAreTold) {
  const auto status = [&](const char* name, const std::vector<std::string>& more) {
    return wait(start(name, words(more)));
  };
  EXPECT_EQ(status("decider", {"--decide", "random:x"}), 2);
  EXPECT_TRUE(logged("decider", "found 'random:x', expected never, random:SEED, actions:0,1,1 or agent:FILE", 1));
  EXPECT_EQ(status("net", {"--net", "resnet"}), 2);
  EXPECT_EQ(status("resume", {"--resume"}), 2);
  EXPECT_EQ(status("samples", {"--samples", "51"}), 1);
  EXPECT_TRUE(logged("samples", "50 images for training, expected --samples 51", 1));
  EXPECT_EQ(status("agent", {"--decide", "agent:" + at("none.json")}), 1);
  EXPECT_TRUE(logged("agent", "none.json: cannot be read", 1));
  EXPECT_EQ(status("action", {"--budget", "2", "--up", "0", "--decide", "actions:4"}), 1);
  EXPECT_TRUE(logged("action", "decision 0: found action 4, expected one up to 3", 1));
  EXPECT_EQ(status("data", {"--json", at("no/folder.json")}), 1);
  EXPECT_TRUE(logged("data", "torch_growth: --json: cannot create", 1));
}

}  // namespace
}  // namespace libtorch_growth_program_test
