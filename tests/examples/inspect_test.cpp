#include "../../examples/lab/inspect.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "../../examples/lab/policies.hpp"
#include "lab_program.hpp"
#include "policy_bytes.hpp"

namespace {

using nlohmann::json;
using rubato::lab::inspection;
using rubato::lab::inspection_json;
using rubato::lab::policy_file;
using rubato::test::lab_program;
using rubato::test::policy_bytes;
using rubato::test::temporary_directory;

// What is read from these bytes under the name p.safetensors.
policy_file file_of(const temporary_directory& folder, const policy_bytes& content) {
  folder.write("p.safetensors", std::string_view{content.bytes()});
  auto file = rubato::lab::read_policy_file((folder.path() / "p.safetensors").string());
  if (!file) throw std::runtime_error{file.error().message};
  return *std::move(file);
}

// The line that begins with this key; the first of them if it has several.
std::string line_of(const std::string& text, const std::string& key) {
  const std::size_t begin = text.find('\n' + key + ' ') + 1;
  if (begin == 0) return "no line " + key;
  std::string line = text.substr(begin, text.find('\n', begin) - begin);
  return line.size() > 13 ? line.substr(13) : line;
}

TEST(Inspect, SaysWhatAFileIs) {
  const temporary_directory folder;
  policy_bytes content = policy_bytes::of<rubato::rlp_normalised_state>();
  const std::uint64_t count = 50;
  content.add("obs_norm/count", "U64", {}, std::vector{count});
  const policy_file file = file_of(folder, content);
  const std::string text = inspection(file), path = (folder.path() / "p.safetensors").string();
  EXPECT_TRUE(text.starts_with("file         " + path + "\nbytes        ")) << text;
  EXPECT_EQ(line_of(text, "bytes"), std::to_string(content.bytes().size()));
  EXPECT_EQ(line_of(text, "kind"), "rlp_normalised");
  EXPECT_TRUE(line_of(text, "network").starts_with("40-8-3, leaky_relu(0.01); 355 parameters, fingerprint ")) << text;
  EXPECT_EQ(line_of(text, "40 features"), "iteration@0..@9 [log1p(pushes)/10], loss@0..@9 [first loss],");
  EXPECT_EQ(line_of(text, "normaliser"), "mean and variance of each feature, of 50 observations");
  EXPECT_EQ(line_of(text, "actions"), "hold, submitter, all");
  EXPECT_EQ(line_of(text, "decides at"), "push");
  EXPECT_EQ(line_of(text, "loss source"), "worker_ema");
  EXPECT_EQ(line_of(text, "reward"), "-time");
  EXPECT_EQ(line_of(text, "trained on"), "shared4");
  EXPECT_EQ(line_of(text, "command"), "by hand");
  EXPECT_EQ(line_of(text, "seed"), "1");
  EXPECT_EQ(line_of(text, "evaluation"), "shared4  1.25 x bsp:sum  [1.125, 1.5]  10 seeds");
  EXPECT_EQ(line_of(text, "licence"), "Apache-2.0");
  EXPECT_EQ(line_of(text, "rubato"), content.card.rubato + ", card format 1");
  EXPECT_EQ(line_of(text, "tensors"), "obs_norm/mean         F64 [40]     0.25 to 0.25, rms 0.25");
  EXPECT_NE(text.find("             obs_norm/count        U64 []\n"), std::string::npos) << text;
  EXPECT_EQ(line_of(text, "runs here"), "yes: rlp_normalised: a network of 40 inputs values hold, submitter, all");
  EXPECT_LT(std::ranges::count(text, '\n'), 30);
}

TEST(Inspect, HistoriesAreOneWord) {
  const temporary_directory folder;
  const auto features = [&](const std::vector<rubato::feature>& list) {
    policy_bytes content;
    content.card = {.kind = "x", .features = list, .actions = {"go"}};
    const auto size = static_cast<std::uint32_t>(list.size());
    content.card.layers = {size, 1};
    content.card.activation = "tanh";
    content.add("policy/layer0/weight", "F32", {1, size}, std::vector<float>(size));
    content.add("policy/layer0/bias", "F32", {1}, std::vector<float>(1));
    const std::string text = inspection(file_of(folder, content));
    EXPECT_EQ(line_of(text, "normaliser"), "none");
    EXPECT_EQ(line_of(text, "reward"), "-");
    return line_of(text, std::to_string(size) + " features");
  };
  EXPECT_EQ(features({{"a@0", ""}, {"b@0", "s"}, {"a@1", ""}, {"b@1", "s"}, {"a@2", ""}}), "a@0..@2, b@0..@1 [s]");
  EXPECT_EQ(features({{"a@0", ""}, {"a@2", ""}, {"a@3", ""}}), "a@0,@2..@3");
  EXPECT_EQ(features({{"a@1", ""}, {"a@0", ""}}), "a@1,@0") << "in their order";
  EXPECT_EQ(features({{"a@0", "s"}, {"a@1", "ms"}}), "a@0 [s], a@1 [ms]") << "other units";
  EXPECT_EQ(features({{"a@01", ""}, {"a@", ""}, {"@", ""}, {"a", ""}, {"a@4294967296", ""}, {"a@4294967295", ""}}),
            "a@01, a@, @, a, a@4294967296, a@4294967295");
}

// Whoever wrote it: the card may have a megabyte of text, and there may be thousands of tensors.
TEST(Inspect, ALongFileIsOneScreen) {
  const temporary_directory folder;
  policy_bytes content = policy_bytes::of();
  content.card.command = std::string(300'000, 'c');
  content.card.reward = 'x';
  for (int i = 0; i < 1000; ++i) content.card.reward += "\xC3\xA9";
  for (int i = 0; i < 500; ++i) content.card.evaluation.push_back({"s" + std::to_string(i), "bsp", 1, 1, 1, 1});
  for (int i = 0; i < 500; ++i) content.add("opt/" + std::to_string(i), "F32", {1}, std::vector<float>(1));
  std::vector<float> broken{1.0F, std::nanf("")};
  content.add("opt/of_nan", "F32", {2}, broken);
  const policy_file file = file_of(folder, content);
  const std::string text = inspection(file);
  EXPECT_LT(std::ranges::count(text, '\n'), 50);
  EXPECT_LT(text.size(), 5000U);
  EXPECT_EQ(line_of(text, "command"), std::string(297, 'c') + "...");
  EXPECT_TRUE(rubato::is_plain(line_of(text, "reward"))) << "cut between characters";
  EXPECT_NE(text.find("             ... and 489 more\n"), std::string::npos) << text;
  EXPECT_NE(text.find("             ... and 495 more\n"), std::string::npos) << text;
  const json all = inspection_json(file);
  EXPECT_EQ(all["tensors"].size(), 507U);
  EXPECT_EQ(all["card"]["command"].get<std::string>().size(), 300'000U);
  EXPECT_EQ(all["tensors"].back()["name"], "opt/of_nan");
  EXPECT_TRUE(all["tensors"].back()["max"].is_null());
}

TEST(Inspect, ARuleHasNoTensors) {
  const temporary_directory folder;
  policy_bytes content;
  content.card = {.rubato = "0.1.0", .kind = "ssp", .rule = "ssp:3", .licence = "CC0-1.0"};
  const policy_file file = file_of(folder, content);
  const std::string text = inspection(file);
  EXPECT_EQ(line_of(text, "rule"), "ssp:3");
  EXPECT_EQ(line_of(text, "runs here"), "yes: ssp: no worker starts a step more than 3 steps ahead of the slowest");
  for (const std::string key : {"tensors", "network", "reward"}) EXPECT_EQ(line_of(text, key), "no line " + key);
  const json all = inspection_json(file);
  EXPECT_TRUE(all["parameters"].is_null() && all["weights"].is_null());
  EXPECT_EQ(all["describe"]["staleness"], 3);
}

TEST(Inspect, SaysWhyItCannotBeRun) {
  const temporary_directory folder;
  policy_bytes content = policy_bytes::of();
  content.card.kind = "ppo";
  const policy_file file = file_of(folder, content);
  const std::string why = (folder.path() / "p.safetensors").string() +
                          ": policy card: found kind \"ppo\", expected rlp, rlp_normalised, cluster or progress";
  EXPECT_EQ(line_of(inspection(file), "runs here"), "no: " + why);
  EXPECT_EQ(inspection_json(file)["refused"], why);
  EXPECT_TRUE(inspection_json(file)["describe"].is_null());
}

TEST(Inspect, JsonHasEverything) {
  const temporary_directory folder;
  policy_bytes content = policy_bytes::of();
  content.put("policy/layer1/bias", 0, -3.0F);
  content.put("policy/layer1/bias", 1, 0.0F);
  content.put("policy/layer1/bias", 2, 4.0F);
  const json all = inspection_json(file_of(folder, content));
  EXPECT_EQ(all["bytes"], content.bytes().size());
  EXPECT_EQ(all["card"], json::parse(content.card_json()));
  EXPECT_EQ(all["card"]["features_hash"].get<std::string>().size(), 16U);
  EXPECT_EQ(all["parameters"], 355);
  EXPECT_EQ(all["normalised"], true);
  EXPECT_TRUE(all["observations"].is_null());
  EXPECT_TRUE(all["refused"].is_null());
  ASSERT_EQ(all["tensors"].size(), 6U);
  const json& bias = all["tensors"][5];
  EXPECT_EQ(bias["name"], "policy/layer1/bias");
  EXPECT_EQ(bias["dtype"], "F32");
  EXPECT_EQ(bias["shape"], json::array({3}));
  EXPECT_EQ(bias["min"], -3);
  EXPECT_EQ(bias["max"], 4);
  EXPECT_NEAR(bias["rms"].get<double>(), std::sqrt(25.0 / 3), 1e-12);
}

TEST(Inspect, TheFingerprintIsThatOfThePolicy) {
  const temporary_directory folder;
  const json all = inspection_json(file_of(folder, policy_bytes::of(5)));
  EXPECT_EQ(all["weights"], all["describe"]["weights"]);
  EXPECT_NE(all["weights"], inspection_json(file_of(folder, policy_bytes::of(6)))["weights"]);
}

TEST(Inspect, AsAProgram) {
  const lab_program lab;
  lab.folder.write("p.safetensors", std::string_view{policy_bytes::of().bytes()});
  const auto shown = lab.run("inspect p.safetensors 2>&1");
  EXPECT_EQ(shown.status, 0);
  EXPECT_TRUE(shown.text.starts_with("file         p.safetensors\n")) << shown.text;
  EXPECT_EQ(json::parse(lab.run("inspect --json p.safetensors").text)["card"]["kind"], "rlp");
  lab.folder.write("p\xFF", std::string_view{policy_bytes::of().bytes()});
  EXPECT_EQ(json::parse(lab.run("inspect --json p$(printf '\\377')").text)["file"], "p\xEF\xBF\xBD");
  const auto nothing = lab.run("inspect 2>&1");
  EXPECT_EQ(nothing.status, 2);
  EXPECT_EQ(nothing.text, "rubato-lab: FILE is required\n");
}

}  // namespace
