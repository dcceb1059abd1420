#include "../../examples/support/scenario_files.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../../examples/support/user_error.hpp"
#include "source_directory.hpp"
#include "temporary_directory.hpp"

namespace {

using namespace rubato::support;
using namespace rubato::sim;
using rubato::test::message_of;
using rubato::test::temporary_directory;

const auto shipped_scenarios = rubato::test::source_directory / "examples/lab/scenarios";

scenario load(const std::string& name) { return find_scenario(name, shipped_scenarios); }

bool is_of_batches(const std::string& name) { return name.starts_with("batch-"); }

TEST(ShippedScenarios, AreThoseDocumented) {
  EXPECT_EQ(scenario_names(shipped_scenarios),
            (std::vector<std::string>{"batch-congested", "batch-generations", "batch-mixed", "batch-one-slow",
                                      "batch-wide", "ideal", "link", "paper", "paper-literal", "shared4", "sync-switch",
                                      "table1", "table1-ideal"}));
}

TEST(ShippedScenarios, CarryTheirFileNameAndADescription) {
  for (const auto& name : scenario_names(shipped_scenarios)) {
    EXPECT_EQ(load(name).name, name);
    EXPECT_GT(load(name).description.size(), 60u) << name;
  }
}

TEST(ShippedScenarios, RoundTrip) {
  for (const auto& name : scenario_names(shipped_scenarios)) {
    const auto loaded = load(name);
    EXPECT_EQ(read_scenario(to_json(loaded).dump(), name), loaded);
  }
}

TEST(ShippedScenarios, AreWhatTheSimulatorTakes) {
  for (const auto& name : scenario_names(shipped_scenarios)) {
    const auto s = load(name);
    EXPECT_EQ(problem(s.cluster), "") << name;
    EXPECT_EQ(problem(s.run), "") << name;
    EXPECT_EQ(problem(s.sgd), nullptr) << name;
  }
}

TEST(ShippedScenarios, ShareTheStudysSetUp) {
  for (const auto& name : scenario_names(shipped_scenarios)) {
    if (name == "sync-switch" || is_of_batches(name)) continue;  // other studies
    const auto s = load(name);
    EXPECT_EQ(s.cluster.workers, 10u) << name;
    EXPECT_EQ(s.cluster.jitter, 0.05) << name;
    EXPECT_EQ(s.run.batch, 16u) << name;
    EXPECT_EQ(s.hidden_layers, (std::vector<std::uint32_t>{0, 1, 2, 3})) << name;
    EXPECT_EQ(s.run.target_accuracy, 0.88) << name;
    EXPECT_EQ(s.sgd.validation_samples, 1'000u) << name;
    EXPECT_EQ(s.sgd.data_fraction, 0.5) << name;
    EXPECT_EQ(s.run.evaluate_every, 20u) << name;
    EXPECT_EQ(s.sgd.momentum, 0) << name;
    EXPECT_EQ(s.run.stop, stop_rule::target) << name;
    const bool literal = name == "paper-literal";
    EXPECT_EQ(s.run.learning_rate.base, literal ? 0.01 : 0.03) << name;
    EXPECT_EQ(s.sgd.input, literal ? input_scale::unit : input_scale::standardised) << name;
  }
}

// Their logs: 10,532 s of 64,000 / 8 rounds, and 1,598 s of as many steps on each worker.
TEST(ShippedScenarios, SyncSwitchTakesWhatItsLogsSay) {
  const auto s = load("sync-switch");
  const double rounds = static_cast<double>(s.run.workload / s.run.batch / s.cluster.workers);
  EXPECT_NEAR(rounds * (s.cluster.step_time[0] + 8 * s.cluster.round_time), 10'532, 10);
  EXPECT_NEAR(rounds * s.cluster.step_time[0], 1'598, 10);
}

TEST(ShippedScenarios, ThoseOfBatchesDifferInTheirMachinesOnly) {
  std::uint32_t most = 0;
  for (const auto& name : scenario_names(shipped_scenarios)) {
    if (!is_of_batches(name)) continue;
    const auto s = load(name);
    most = (std::max)(most, s.cluster.workers);
    EXPECT_GE(s.cluster.workers, 8u) << name;
    EXPECT_EQ(s.cluster.jitter, 0.05) << name;
    EXPECT_EQ(s.cluster.fixed_share, 0.3) << name;
    EXPECT_GT(s.cluster.link.bandwidth, 0) << name;
    EXPECT_EQ(s.run.batch, 64u) << name;
    EXPECT_EQ(s.hidden_layers, (std::vector<std::uint32_t>{1})) << name;
    EXPECT_EQ(s.sgd.label_noise, 0.7) << name;
    EXPECT_EQ(s.run.evaluate_every, 2 * s.cluster.workers) << name;
    EXPECT_EQ(s.run.learning_rate.base, load("batch-wide").run.learning_rate.base) << name;
    EXPECT_EQ(s.run.target_accuracy, load("batch-wide").run.target_accuracy) << name;
    EXPECT_EQ(s.run.stop, stop_rule::target) << name;
  }
  EXPECT_EQ(most, 32u);
}

TEST(ShippedScenarios, DifferWhereTheyShould) {
  EXPECT_EQ(load("paper").cluster.cores, 1u);
  EXPECT_EQ(load("shared4").cluster.cores, 4u);
  EXPECT_EQ(load("table1").cluster.cores, 4u);
  for (const auto* name : {"paper-literal", "link", "ideal", "table1-ideal"}) EXPECT_EQ(load(name).cluster.cores, 0u);
  for (const auto* name : {"paper", "shared4", "link", "paper-literal"}) {
    EXPECT_EQ(load(name).cluster.stragglers.kind, straggler_kind::fixed);
    EXPECT_EQ(load(name).cluster.stragglers.probability, 0.3);
  }
  for (const auto* name : {"ideal", "table1", "table1-ideal"})
    EXPECT_EQ(load(name).cluster.stragglers.kind, straggler_kind::none);
  const auto link = load("link").cluster.link;
  EXPECT_EQ(2 * (link.model_size / link.bandwidth + link.latency), 0.5);  // a pull and a push alone
  const std::vector<double> times{9.17, 10.103, 4.37, 4.47, 4.57, 15.39, 22.189, 5.31, 4.97, 5.07};
  EXPECT_EQ(load("table1").cluster.step_time, times);
  EXPECT_EQ(load("table1-ideal").cluster.step_time, times);
}

TEST(FindScenario, TakesAFileOrAName) {
  EXPECT_EQ(find_scenario((shipped_scenarios / "paper.json").string(), "/nowhere"), load("paper"));
}

TEST(FindScenario, RefusesAnUnknownNameListingTheKnown) {
  EXPECT_EQ(message_of<user_error>([] { return load("papper"); }),
            "--scenario: found \"papper\", expected a .json file, random:NUMBER or one of batch-congested, "
            "batch-generations, "
            "batch-mixed, batch-one-slow, batch-wide, ideal, link, paper, paper-literal, shared4, sync-switch, table1, "
            "table1-ideal");
}

TEST(LoadScenario, NamesTheFileInEveryRefusal) {
  const temporary_directory d;
  d.write("bad.json", "{\n\"name\": \"x\",\n\"workers\": 0}");
  d.write("syntax.json", "{\n\"name\" 3}");
  d.write("huge.json", std::string(2u << 20, ' '));
  const auto refusal = [&](const std::string& name) {
    const auto file = d.path() / name;
    const std::string message = message_of<user_error>([&] { return load_scenario(file); });
    EXPECT_TRUE(message.starts_with(file.string() + ": ")) << message;
    return message.substr(std::min(message.size(), file.string().size() + 2));
  };
  d.write("name.json", "{\"name\": \"\\u001b[2J\"}");
  EXPECT_EQ(refusal("name.json"), "name: found \"\\u001b[2J\", expected no control or hidden character in it");
  EXPECT_EQ(refusal("bad.json"), "workers: found 0, expected a whole number from 1 to 10000");
  EXPECT_TRUE(refusal("syntax.json").starts_with("line 2, byte 10: ")) << refusal("syntax.json");
  EXPECT_EQ(refusal("huge.json"), "found more than 1048576 bytes, expected at most that");
  EXPECT_EQ(refusal("none.json"), "found no such file, expected a scenario (JSON)");
  std::filesystem::create_directory(d.path() / "folder.json");
  EXPECT_EQ(refusal("folder.json"), "found a directory, expected a regular file");
  ASSERT_EQ(mkfifo((d.path() / "pipe.json").c_str(), 0600), 0);
  EXPECT_EQ(refusal("pipe.json"), "found a device or pipe, expected a regular file");
}

}  // namespace
