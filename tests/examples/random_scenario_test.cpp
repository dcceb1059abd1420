#include "../../examples/support/random_scenario.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <rubato/core/fnv1a.hpp>
#include <set>
#include <string>

#include "../../examples/support/scenario_files.hpp"
#include "../../examples/support/user_error.hpp"
#include "temporary_directory.hpp"

namespace {

using namespace rubato::support;
using namespace rubato::sim;
using rubato::test::message_of;

TEST(RandomScenario, SameNumberSameScenario) { EXPECT_EQ(random_scenario(5), random_scenario(5)); }

TEST(RandomScenario, NumbersDiffer) {
  std::set<std::string> seen;
  for (std::uint64_t number = 0; number < 100; ++number) seen.insert(canonical_form(random_scenario(number)));
  EXPECT_EQ(seen.size(), 100u);
}

TEST(RandomScenario, AllKindsAreDrawn) {
  std::set<straggler_kind> stragglers;
  std::set<input_scale> inputs;
  std::set<std::uint32_t> batches, layers, workers;
  int cores = 0, links = 0, equal = 0;
  for (std::uint64_t number = 0; number < 300; ++number) {
    const scenario s = random_scenario(number);
    stragglers.insert(s.cluster.stragglers.kind);
    inputs.insert(s.sgd.input);
    batches.insert(s.run.batch);
    layers.insert(s.hidden_layers.begin(), s.hidden_layers.end());
    workers.insert(s.cluster.workers);
    cores += s.cluster.cores > 0;
    links += s.cluster.link.bandwidth > 0;
    equal += s.cluster.step_time.size() == 1;
  }
  EXPECT_EQ(stragglers.size(), 5u);
  EXPECT_EQ(inputs.size(), 2u);
  EXPECT_EQ(batches, (std::set<std::uint32_t>{8, 16, 32}));
  EXPECT_EQ(layers, (std::set<std::uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(*workers.begin(), 2u);
  EXPECT_GE(*workers.rbegin(), 62u);
  EXPECT_NEAR(cores, 120, 30);
  EXPECT_NEAR(links, 90, 30);
  EXPECT_NEAR(equal, 150, 30);
}

TEST(RandomScenario, IsWhatTheSimulatorTakes) {
  for (std::uint64_t number = 0; number < 300; ++number) {
    const scenario s = random_scenario(number);
    EXPECT_EQ(problem(s.cluster), "") << number;
    EXPECT_EQ(problem(s.run), "") << number;
    EXPECT_EQ(problem(s.sgd), nullptr) << number;
  }
}

TEST(RandomScenario, SurvivesJson) {
  for (std::uint64_t number = 0; number < 100; ++number) {
    const scenario s = random_scenario(number);
    EXPECT_EQ(read_scenario(to_json(s).dump(), s.name), s);
  }
}

// Policies are judged on these: another generator would be another bar.
TEST(RandomScenario, TheHeldOutOnesStay) {
  std::string all;
  const auto add = [&](std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t number = first; number <= last; ++number) all += canonical_form(random_scenario(number)) + "\n";
    return rubato::fnv1a(all);
  };
  EXPECT_EQ(add(1, 20), 14235740235060508224U) << all;
  EXPECT_EQ(add(21, 40), 9224585475180567804U) << all;
}

TEST(RandomScenario, IsFoundByItsNumber) {
  EXPECT_EQ(find_scenario("random:17", "/nowhere"), random_scenario(17));
  for (const char* wrong : {"random:", "random:x", "random:-1", "random:1 ", "random:99999999999999999999"}) {
    const std::string said = message_of<user_error>([&] { return find_scenario(wrong, "/nowhere"); });
    EXPECT_NE(said.find("expected random:NUMBER"), std::string::npos) << said;
  }
}

}  // namespace
