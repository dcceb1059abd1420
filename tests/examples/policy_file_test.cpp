// Policies that `compare` reads from files.
#include "../../examples/lab/policy_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "../../examples/lab/policies.hpp"
#include "../../examples/lab/report.hpp"
#include "../../examples/lab/result_cache.hpp"
#include "../../examples/support/user_error.hpp"
#include "lab_bench.hpp"
#include "lab_program.hpp"
#include "policy_bytes.hpp"

namespace {

using nlohmann::json;
using rubato::lab::parse_policies;
using rubato::lab::parse_policy;
using rubato::test::lab_program;
using rubato::test::policy_bytes;
using rubato::test::temporary_directory;

struct policy_folder : temporary_directory {
  void put(const std::string& name, const policy_bytes& content) const {
    write(name, std::string_view{content.bytes()});
  }
  [[nodiscard]] std::string at(const std::string& name) const { return (path() / name).string(); }
};

policy_bytes rule_card(const std::string& kind, const std::string& rule) {
  policy_bytes content;
  content.card = {.rubato = "0.1.0", .kind = kind, .rule = rule};
  return content;
}

std::string said_about(const std::string& list) {
  return rubato::test::message_of<rubato::support::user_error>([&] { return parse_policies(list, false); });
}

TEST(PolicyFile, ANetworkIsLoaded) {
  const policy_folder folder;
  folder.put("p", policy_bytes::of());
  const auto policy = parse_policy("file:" + folder.at("p"));
  EXPECT_EQ(policy.name, "file:" + folder.at("p"));
  EXPECT_EQ(policy.policy.kind(), "rlp");
  EXPECT_EQ(parse_policy("rlp:" + folder.at("p")).policy.describe().json, policy.policy.describe().json);
  folder.put("n", policy_bytes::of<rubato::rlp_normalised_state>());
  EXPECT_EQ(parse_policy("rlp:" + folder.at("n")).policy.kind(), "rlp_normalised");
  folder.put("c", policy_bytes::of<rubato::cluster_state>());
  EXPECT_EQ(parse_policy("file:" + folder.at("c")).policy.kind(), "cluster");
}

TEST(PolicyFile, ARuleIsTheRule) {
  const policy_folder folder;
  for (const std::string rule : {"bsp", "bsp:sum", "asp", "ssp:3", "ssp:inf", "ssp:3:rlp"}) {
    const auto same = parse_policy(rule).policy;
    folder.put("p", rule_card(std::string{same.kind()}, rule));
    EXPECT_EQ(parse_policy("file:" + folder.at("p")).policy.describe().json, same.describe().json);
  }
}

TEST(PolicyFile, RefusesARuleThatIsNone) {
  const policy_folder folder;
  const auto refused = [&](const std::string& kind, const std::string& rule) {
    folder.put("p", rule_card(kind, rule));
    return said_about("file:" + folder.at("p"));
  };
  const std::string card = "--policies: " + folder.at("p") + ": policy card: ";
  EXPECT_EQ(refused("ssp", "ssp:x"), card + "rule \"ssp:x\": found \"x\", expected a number of steps, or inf");
  EXPECT_EQ(refused("bsp", "asp"), card + "found the rule \"asp\" of kind \"bsp\", expected the kind of that rule");
  for (const std::string& rule : std::vector<std::string>{"bps", "asp,bsp", "file:" + folder.at("p"), "rlp"})
    EXPECT_TRUE(refused("asp", rule).ends_with("expected a rule of --policies that reads no file")) << rule;
}

TEST(PolicyFile, RlpTakesItsOwnKinds) {
  const policy_folder folder;
  folder.put("c", policy_bytes::of<rubato::cluster_state>());
  EXPECT_EQ(said_about("rlp:" + folder.at("c")),
            "--policies: " + folder.at("c") + ": policy card: found kind \"cluster\", expected rlp or rlp_normalised");
  folder.put("s", rule_card("ssp", "ssp:3"));
  EXPECT_EQ(said_about("rlp:" + folder.at("s")),
            "--policies: " + folder.at("s") + ": policy card: found kind \"ssp\", expected rlp or rlp_normalised");
}

TEST(PolicyFile, OnlyTheFirstColonSeparates) {
  const policy_folder folder;
  folder.put("a:b:3", policy_bytes::of());
  const auto list = parse_policies("asp, file:" + folder.at("a:b:3") + " ,rlp:" + folder.at("a:b:3"), true);
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[1].candidates.at(0).policy.kind(), "rlp");
  EXPECT_EQ(list[2].name, "rlp:" + folder.at("a:b:3"));
}

TEST(PolicyFile, CommasSeparateAlsoInAPath) {
  const policy_folder folder;
  folder.put("a,b", policy_bytes::of());
  EXPECT_EQ(said_about("file:" + folder.at("a,b")),
            "--policies: cannot read " + folder.at("a") + ": No such file or directory");
}

TEST(PolicyFile, RefusesNamesThatResultsCannotHave) {
  const policy_folder folder;
  for (const std::string name : {"a\nb", "a\x1b[2J", "a\xFF"}) {
    folder.put(name, policy_bytes::of());
    EXPECT_NE(
        said_about("file:" + folder.at(name)).find("expected a path of UTF-8 without control or hidden characters"),
        std::string::npos)
        << said_about("file:" + folder.at(name));
  }
  EXPECT_NE(said_about("file").find("found \"\", expected the path of a policy file"), std::string::npos);
  EXPECT_NE(said_about("rlp:").find("found \"\", expected the path of a policy file"), std::string::npos);
}

TEST(PolicyFile, TuningKeepsIt) {
  const policy_folder folder;
  folder.put("p", policy_bytes::of());
  EXPECT_EQ(parse_policies("file:" + folder.at("p"), true)[0].candidates.size(), 1U);
}

// Whatever is trained anew into the same path is another policy.
TEST(PolicyFile, ResultsOfAnotherFileAreNotTakenFromTheCache) {
  const policy_folder folder;
  const auto key = [&](const policy_bytes& content) {
    folder.put("p", content);
    const rubato::lab::setting at{rubato::test::quick("asp", 1).scenario, 0};
    return result_key(at, 1, parse_policy("file:" + folder.at("p")).policy, 1);
  };
  policy_bytes weight = policy_bytes::of(), bias = weight, mean = weight, variance = weight, activation = weight;
  weight.put("policy/layer0/weight", 319, 0.125F);
  bias.put("policy/layer1/bias", 2, 0.125F);
  mean.put("obs_norm/mean", 39, 0.125);
  variance.put("obs_norm/var", 39, 0.125);
  activation.card.activation = "tanh";
  const std::string first = key(policy_bytes::of());
  for (const policy_bytes& other : {weight, bias, mean, variance, activation}) EXPECT_NE(key(other), first);
  policy_bytes praised = policy_bytes::of();
  praised.card.evaluation.clear();
  praised.card.command = "another";
  EXPECT_EQ(key(praised), first) << "what it says about itself decides nothing";
}

TEST(PolicyFile, AComparisonRunsIt) {
  const lab_program lab;
  lab.folder.write("p\"1\".safetensors", std::string_view{policy_bytes::of(1).bytes()});
  const std::string policies = "--policies 'bsp:sum,file:p\"1\".safetensors,rlp:p\"1\".safetensors' ";
  const auto got = lab.compare("--quiet --json - --csv runs.csv --log run.jsonl " + policies + "2>/dev/null");
  ASSERT_EQ(got.status, 0) << got.text;
  const json rows = json::parse(got.text)["rows"];
  EXPECT_EQ(rows[1]["policy"], "file:p\"1\".safetensors");
  EXPECT_EQ(rows[1]["description"], "rlp: a network of 40 inputs values hold, submitter, all");
  EXPECT_EQ(rows[1]["time_iqm"], rows[2]["time_iqm"]);
  EXPECT_NE(lab.content("runs.csv").find("\n\"file:p\"\"1\"\".safetensors\",\"file:p\"\"1\"\".safetensors\",0"),
            std::string::npos)
      << lab.content("runs.csv");

  const auto again = [&] { return lab.compare("--json a.json " + policies + "2>&1").text; };
  EXPECT_NE(again().find("9 of 9 results come from the cache\n"), std::string::npos);
  lab.folder.write("p\"1\".safetensors", std::string_view{policy_bytes::of(2).bytes()});
  EXPECT_NE(again().find("3 of 9 results come from the cache\n"), std::string::npos) << "those of bsp";
}

}  // namespace
