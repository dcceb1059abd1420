#include "../../examples/lab/log_policy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "../../examples/lab/treatments.hpp"
#include "../../examples/support/policy_names.hpp"
#include "../../examples/support/user_error.hpp"
#include "logged_run.hpp"

namespace {

using namespace rubato::lab;
using rubato::support::user_error;
using rubato::test::log_of;

TEST(LogPolicy, FindsThePolicyOfALog) {
  for (const char* name : {"asp", "bsp:sum", "bsp:mean", "ssp:17", "cap:3:fastest", "knee", "distilled", "learned"}) {
    const auto found = policy_of_log(log_of({.workers = 5}, name, 40));
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(found->policy.describe().json, parse_policy(name).policy.describe().json);
  }
}

// The description of a policy, as a log's header has it.
std::string described(const std::string& name) {
  return nlohmann::json::parse(parse_policy(name).policy.describe().json).dump();
}

void expect_it_is_found(const std::string& name) {
  const auto found = policy_described(described(name));
  ASSERT_TRUE(found) << name;
  EXPECT_TRUE(describes(described(name), found->policy)) << name << ": found " << found->name;
  EXPECT_EQ(described(found->name), described(name)) << found->name;
}

// All that `rubato-lab policies` lists, and of each rule with a parameter one that is not listed.
TEST(LogPolicy, FindsWhatEachNameDescribes) {
  const std::vector<std::string> others{"bsp:sum",
                                        "ssp:99",
                                        "ssp:inf",
                                        "ssp:7:rlp",
                                        "knee:0.45",
                                        "knee:0.45:fixed",
                                        "knee:0.45:eager",
                                        "ksync:3",
                                        "kbatch:3",
                                        "kasync:3",
                                        "kbatchasync:3",
                                        "buffer:9-4-2",
                                        "backup:7",
                                        "rennala:3",
                                        "ringmaster:3",
                                        "ringmaster:3:stop",
                                        "mfastest:3",
                                        "mfastest:3:50",
                                        "cap:77",
                                        "cap:77:fastest",
                                        "cap:77:random",
                                        "dssp:4-9",
                                        "zipline:7",
                                        "aap:2",
                                        "aap:inf:0.25",
                                        "aap:2:0.25:5",
                                        "adasync:3",
                                        "adasync:3:ksync",
                                        "syncswitch:0.3:777",
                                        "syncswitch:0:2000",
                                        "syncswitch:1:2000",
                                        "syncswitch:0.00001:greedy:64000",
                                        "syncswitch:0.3:elastic:777",
                                        "static:77",
                                        "lb-bsp:77:3",
                                        "warm-up:77:777:7",
                                        "goodput:77:3",
                                        "goodput-balanced:77",
                                        "dynamix:77",
                                        "random:77:3"};
  for (const std::string& name : others) expect_it_is_found(name);
  for (const rule& each : rules()) {
    for (const std::string_view variant : each.variants) expect_it_is_found(std::string{variant});
    const bool has_parameter = each.syntax.find(':') != std::string_view::npos && !each.of_file;
    EXPECT_TRUE(!has_parameter || std::ranges::any_of(others, [&](const std::string& name) {
      return name.starts_with(std::string{each.name} + ":");
    })) << each.name;
  }
  for (const treatment& each : treatments())
    for (const std::string_view variant : each.variants) expect_it_is_found("ssp:3" + std::string{variant});
  for (const char* name :
       {"asp+scale:dyn", "asp+scale:poly:0.75", "asp+scale:hinge:0.75:9", "asp+const:0.25", "asp+lr:7/M", "asp+batch:9",
        "syncswitch:0.3:elastic:777+scale:1/tau+decay", "learned+const:0.5"})
    expect_it_is_found(name);
}

// The programs of hosts have the library's detector of stragglers, the lab one with other windows.
TEST(LogPolicy, FindsSyncSwitchOfHosts) {
  for (const std::string name :
       {"syncswitch:0.25:2000", "syncswitch:0.25:greedy:2000", "syncswitch:0.25:elastic:2000"}) {
    const std::string description = nlohmann::json::parse(rubato::support::policy_named(name)->describe().json).dump();
    const auto found = policy_described(description);
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(found->name, name);
    EXPECT_TRUE(describes(description, found->policy)) << name;
  }
}

TEST(LogPolicy, AnotherIsNotGuessed) {
  for (const char* description :
       {R"({"decrease":0.25,"kind":"aimd","tolerance":0.2})", R"({"kind":"ssp"})", R"({"kind":"ssp","staleness":"x"})",
        R"({"kind":"ssp","staleness":[3]})", R"({"kind":3})", R"({"kind":"unheard"})", R"([1])", "{", "",
        R"({"kind":"asp","of":{"kind":"asp"},"weight":"1/("})", R"({"kind":"asp","of":{"kind":"asp"}})",
        R"({"kind":"ksync","k":0})", R"({"kind":"syncswitch","reaction":"greedy","share":2,"workload":10})"})
    EXPECT_FALSE(policy_described(description)) << description;
  std::string deep = R"({"kind":"asp"})";
  for (int i = 0; i < 20; ++i) deep = R"({"batch":4,"kind":"asp","of":)" + deep + "}";
  EXPECT_FALSE(policy_described(deep)) << "treatments without end";
}

TEST(LogPolicy, WhatIsGivenMustBeWhatRan) {
  const auto history = log_of({.workers = 5}, "ssp:99", 40);
  EXPECT_EQ(policy_of_log(history, "ssp:99")->name, "ssp:99");
  const std::string said = rubato::test::message_of<user_error>([&] { return policy_of_log(history, "ssp:98"); });
  EXPECT_TRUE(said.starts_with("--policy: found ssp:98 (")) << said;
  EXPECT_NE(said.find("more than 99 steps ahead"), std::string::npos) << said;
}

TEST(LogPolicy, WhatCannotRunOnTheWorkersIsRefused) {
  auto history = log_of({.workers = 9}, "ksync:8", 90);
  EXPECT_TRUE(policy_of_log(history, "ksync:8"));
  history.workers = 5;  // as in a log that begins late
  const std::string said = rubato::test::message_of<user_error>([&] { return policy_of_log(history, "ksync:8"); });
  EXPECT_NE(said.find(": found 5 workers under ksync:8: "), std::string::npos) << said;
}

}  // namespace
