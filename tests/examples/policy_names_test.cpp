#include "support/policy_names.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

namespace rubato::support {
namespace {

std::string described(const std::string& name) {
  const auto policy = policy_named(name);
  return policy ? policy->describe().line : "none";
}

TEST(PolicyNames, EachIsItsRule) {
  EXPECT_EQ(described("asp"), any_policy{asp{}}.describe().line);
  EXPECT_EQ(described("bsp"), any_policy{bsp{}}.describe().line);
  EXPECT_EQ(described("bsp:sum"), any_policy{bsp{.aggregate = bsp::sum}}.describe().line);
  EXPECT_EQ(described("knee"), any_policy{knee{}}.describe().line);
  EXPECT_EQ(described("learned"), any_policy{learned_policy{}}.describe().line);
  EXPECT_EQ(described("ssp:0"), any_policy{ssp{.staleness = 0}}.describe().line);
  EXPECT_EQ(described("ssp:3"), any_policy{ssp{.staleness = 3}}.describe().line);
  EXPECT_EQ(described("ssp:3:rlp"), any_policy{ssp_rlp(3)}.describe().line);
}

TEST(PolicyNames, BatchesAreATreatment) {
  const auto expected = [](any_policy policy, auto by, std::uint32_t usual) {
    return any_policy{adapt::batch_sized<any_policy, decltype(by)>{
                          std::move(policy),
                          {.usual = usual, .initial = 128, .period = 5, .rate = adapt::rate_rule::none},
                          std::move(by)}}
        .describe()
        .json;
  };
  EXPECT_EQ(policy_named("bsp+static:128")->describe().json, expected(bsp{}, adapt::same_batches{}, 32));
  EXPECT_EQ(policy_named("ssp:3+lb-bsp:128", 64)->describe().json,
            expected(ssp{.staleness = 3}, adapt::speed_proportional{}, 64));
  EXPECT_EQ(policy_named("asp+goodput:128")->describe().json, expected(asp{}, adapt::goodput{}, 32));
  const auto learned = policy_named("bsp+dynamix:128:" RUBATO_SOURCE_DIR "/examples/lab/policies/dynamix.safetensors");
  ASSERT_TRUE(learned);
  EXPECT_NE(learned->describe().json.find(R"("kind":"dynamix")"), std::string::npos) << learned->describe().json;
}

TEST(PolicyNames, NoSuchBatches) {
  for (const char* const name :
       {"bsp+", "bsp+static", "bsp+static:", "bsp+static:16", "bsp+static:2000", "bsp+static:64:1", "bsp+lb-bsp:x",
        "bsp+dynamix:64", "bsp+dynamix:64:no-such-file", "no+static:64", "+static:64", "bsp+more:64"})
    EXPECT_FALSE(policy_named(name)) << name;
}

TEST(PolicyNames, SyncSwitchHasItsShareItsReactionAndItsSteps) {
  const auto expected = [](straggler_reaction reaction) {
    return any_policy{sync_switch<>{{.share = 0.125, .workload = 400, .reaction = reaction, .scales_rate = true}}}
        .describe()
        .json;
  };
  EXPECT_EQ(policy_named("syncswitch:0.125:400")->describe().json, expected(straggler_reaction::none));
  EXPECT_EQ(policy_named("syncswitch:0.125:greedy:400")->describe().json, expected(straggler_reaction::greedy));
  EXPECT_EQ(policy_named("syncswitch:0.125:elastic:400")->describe().json, expected(straggler_reaction::elastic));
}

// In the lab, too, whose names have the same reader.
TEST(PolicyNames, SyncSwitchSaysWhatIsWrong) {
  const auto refusal = [](const std::string& arguments) {
    const auto options = sync_switch_named(split(arguments, ':'));
    return options ? "" : options.error().message;
  };
  const std::string steps = "the number of steps of all workers together";
  EXPECT_EQ(refusal("0.5:100"), "");
  for (const std::string share : {"", "1.5", "-0.1", "nan", "0.5x", "greedy"})
    EXPECT_EQ(refusal(share + ":100"), "found \"" + share + "\", expected a share of the steps, 0 to 1");
  EXPECT_EQ(refusal("0.5"), "found \"\", expected greedy, elastic or " + steps);
  EXPECT_EQ(refusal("0.5:fast:100"), "found \"fast\", expected greedy, elastic or " + steps);
  EXPECT_EQ(refusal("0.5:0"), "found \"0\", expected greedy, elastic or " + steps);
  EXPECT_EQ(refusal("0.5:elastic"), "found \"\", expected " + steps);
  EXPECT_EQ(refusal("0.5:greedy:-4"), "found \"-4\", expected " + steps);
  EXPECT_EQ(refusal("0.5:100:elastic"), "found \"elastic\", expected nothing more");
}

TEST(PolicyNames, OthersAreNone) {
  for (const char* name :
       {"", "ASP", "asp:1", "bsp:mean", "ssp", "ssp:", "ssp:-1", "ssp:3x", "ssp:3:", "ssp:0:rlp", "ssp:3:rlp:1",
        "ssp:3:mlp", "syncswitch", "syncswitch:0.5", "syncswitch:0.5:100:", "syncswitch:0.5:greedyish:100"})
    EXPECT_FALSE(policy_named(name)) << name;
}

}  // namespace
}  // namespace rubato::support
