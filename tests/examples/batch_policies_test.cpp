#include "../../examples/lab/batch_policies.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../../examples/lab/policies.hpp"
#include "../../examples/support/user_error.hpp"
#include "temporary_directory.hpp"

namespace rubato::lab {
namespace {

[[nodiscard]] nlohmann::json described(const std::string& name) {
  return nlohmann::json::parse(parse_policy(name).policy.describe().json);
}

TEST(BatchPolicies, AreRulesAndTreatmentsOfTheSameNames) {
  const nlohmann::json as_rule = described("lb-bsp:128:2"), as_treatment = described("bsp+lb-bsp:128:2");
  EXPECT_EQ(as_rule, as_treatment);
  EXPECT_EQ(as_rule["kind"], "bsp");
  EXPECT_EQ(as_rule["batches"]["initial"], 128);
  EXPECT_EQ(as_rule["batches"]["period"], 2);
  EXPECT_EQ(as_rule["batches"]["rate"], "none");
  EXPECT_EQ(as_rule["batches"]["by"]["kind"], "lb-bsp");
  EXPECT_EQ(described("ssp:3+lb-bsp")["kind"], "ssp");
}

TEST(BatchPolicies, ArgumentsAreReadInTurn) {
  EXPECT_EQ(described("static:512")["batches"]["initial"], 512);
  EXPECT_EQ(described("warm-up:32:512:20")["batches"]["by"],
            (nlohmann::json{{"kind", "warm-up"}, {"last", 512}, {"over", 20}}));
  EXPECT_EQ(described("goodput-balanced:64")["batches"]["by"]["balanced"], true);
  EXPECT_EQ(described("goodput")["batches"]["by"]["balanced"], false);
}

TEST(BatchPolicies, BadArgumentsAreRefused) {
  const auto bad = [](const std::string& name, const std::string& what) {
    const std::string said = test::message_of<support::user_error>([&] { static_cast<void>(parse_policy(name)); });
    EXPECT_EQ(said.find("\"" + name + "\": found " + what), 0u) << said;
  };
  bad("static:16", "\"16\", expected 32 to 1024 samples");
  bad("lb-bsp:64:0", "\"0\", expected 1 or more steps of a period");
  bad("lb-bsp:64:5:5", "\"5\", expected nothing more");
  bad("warm-up:64:2000", "\"2000\", expected 32 to 1024 samples in the end");
  bad("asp+random:x", "\"x\", expected 32 to 1024 samples");
}

TEST(BatchPolicies, DynamixIsTheOneThatShipsOrOneInAFile) {
  EXPECT_EQ(described("dynamix")["batches"]["by"]["kind"], "dynamix");
  EXPECT_EQ(described("dynamix:128")["batches"]["initial"], 128);
  EXPECT_EQ(described("dynamix")["batches"]["period"], 2) << "as it was trained";
  const std::string file = std::string{RUBATO_SOURCE_DIR} + "/examples/lab/policies/dynamix.safetensors";
  EXPECT_EQ(described("ssp:3+dynamix:64:" + file)["kind"], "ssp");
  const std::string said =
      test::message_of<support::user_error>([] { static_cast<void>(parse_policy("dynamix:64:/nowhere")); });
  EXPECT_NE(said.find("cannot read /nowhere"), std::string::npos) << said;
}

TEST(BatchPolicies, AllStandsForNone) {
  for (const policy_request& each : parse_policies("all", false))
    EXPECT_EQ(nlohmann::json::parse(each.candidates.front().policy.describe().json).count("batches"), 0u) << each.name;
}

TEST(BatchPolicies, ABareNameIsTuned) {
  const std::vector<policy_request> requests =
      parse_policies("static,lb-bsp,warm-up,goodput,goodput-balanced,dynamix,random", true);
  for (const policy_request& each : requests) EXPECT_EQ(each.candidates.size(), 6u) << each.name << ": equal budgets";
}

}  // namespace
}  // namespace rubato::lab
