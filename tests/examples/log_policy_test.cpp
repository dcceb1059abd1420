#include "../../examples/lab/log_policy.hpp"

#include <gtest/gtest.h>

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

TEST(LogPolicy, AnotherIsNotGuessed) { EXPECT_FALSE(policy_of_log(log_of({.workers = 5}, "ssp:99", 40))); }

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
