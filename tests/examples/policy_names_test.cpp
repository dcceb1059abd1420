#include "support/policy_names.hpp"

#include <gtest/gtest.h>

#include <string>

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
