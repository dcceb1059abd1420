#include "../../examples/lab/rlp_figures.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "../../examples/support/scenario_files.hpp"
#include "../../examples/support/user_error.hpp"
#include "lab_bench.hpp"
#include "lab_program.hpp"
#include "source_directory.hpp"
#include "temporary_directory.hpp"

namespace {

using namespace rubato;
using namespace rubato::lab;
using rubato::test::lab_program;

rlp_figure_request asked(const std::string& experiment, std::vector<std::string> parts = {},
                         std::vector<std::string> settings = {}) {
  rlp_figure_request request{.experiment = experiment, .parts = std::move(parts), .seeds = 2};
  request.scenario = test::quick("bsp", 1, std::move(settings)).scenario;
  return request;
}

measurement run_of(double time, bool reached = true) {
  measurement run;
  run.time = time;
  run.reached = reached;
  return run;
}

// The rules of the paper and one policy, with these times in each of ten runs.
comparison with_times(const std::vector<double>& times) {
  comparison made;
  made.asked = test::quick("bsp:sum,asp,ssp:2:rlp,ssp:3:rlp,ssp:5:rlp,ssp:8:rlp,knee", 10);
  for (std::size_t i = 0; i < times.size(); ++i) {
    comparison_row row{.name = made.asked.policies[i].name,
                       .used = made.asked.policies[i].candidates.front(),
                       .learning_rate = 0.1,
                       .runs = {}};
    row.runs.assign(10, run_of(times[i]));
    made.rows.push_back(std::move(row));
  }
  made.hidden_layers.assign(10, 0);
  return made;
}

TEST(RlpFigures, EachCaseFitsTheScenarios) {
  for (const char* name : {"paper", "shared4", "paper-literal"})
    for (const rlp_case& each : rlp_cases()) {
      support::scenario scenario = support::find_scenario(name, test::source_directory / "examples/lab/scenarios");
      EXPECT_NO_THROW(support::apply_settings(scenario, each.settings)) << name << ' ' << each.part;
    }
}

TEST(RlpFigures, RatiosAreThoseOfThePolicy) {
  const comparison made = with_times({40, 60, 50, 30, 35, 45, 20});
  const rlp_comparison with = compare_with_rules(made, summarise(made), rlp_rules);
  EXPECT_DOUBLE_EQ(with.bsp->value, 2);
  EXPECT_DOUBLE_EQ(with.asp->value, 3);
  EXPECT_DOUBLE_EQ(with.ssp->value, 1.5) << "of the best bound";
  EXPECT_DOUBLE_EQ(with.best->value, 1.5);
  EXPECT_DOUBLE_EQ(with.best->low, 1.5);
}

TEST(RlpFigures, RulesThatDoNotArriveAreNotCompared) {
  comparison made = with_times({40, 60, 50, 30, 35, 45, 20});
  for (std::size_t row : {std::size_t{0}, std::size_t{3}})
    for (std::size_t i = 0; i < 2; ++i) made.rows[row].runs[i] = run_of(9, false);  // eight of ten
  const rlp_comparison with = compare_with_rules(made, summarise(made), rlp_rules);
  EXPECT_FALSE(with.bsp);
  EXPECT_DOUBLE_EQ(with.ssp->value, 1.75) << "of the best bound that arrives";
  for (auto& run : made.rows[rlp_rules].runs) run = run_of(9, false);
  EXPECT_FALSE(compare_with_rules(made, summarise(made), rlp_rules).best);
}

TEST(RlpFigures, PartsAreChosen) {
  test::lab_bench bench;
  const rlp_figure made = run_rlp_figure(asked("fig2", {"2c-1", "2c-0"}), bench.runner(), nullptr);
  ASSERT_EQ(made.cases.size(), 2U);
  EXPECT_EQ(made.cases[0].of->part, "2c-0");
  EXPECT_EQ(*made.cases[1].made.asked.scenario.cluster.stragglers.count, 1U);
  const std::string message = test::message_of<support::user_error>(
      [&] { static_cast<void>(run_rlp_figure(asked("fig2", {"3b-model"}), bench.runner(), nullptr)); });
  EXPECT_EQ(message, "--part: found \"3b-model\", expected one of 2a, 2b-0, 2b-3, 2c-0, 2c-1, 2c-3");
}

TEST(RlpFigures, WithoutOtherDataItsCasesAreLeftOut) {
  test::lab_bench bench;
  const rlp_figure made = run_rlp_figure(asked("fig3", {}, {"objective.max_time=1"}), bench.runner(), nullptr);
  EXPECT_EQ(made.cases.size(), 4U);
  ASSERT_EQ(made.left_out.size(), 4U);
  EXPECT_EQ(made.left_out[0]->part, "3b-data");
  EXPECT_NE(table(made).find("\n3b-data: left out, it needs other data: --other-data\n"), std::string::npos);
  EXPECT_EQ(to_json(made)["left_out"], (nlohmann::json{"3b-data", "3c-2", "3c-5", "3c-8"}));
}

TEST(RlpFigures, ANamedPartIsNotLeftOut) {
  test::lab_bench bench;
  EXPECT_EQ(test::message_of<support::user_error>(
                [&] { static_cast<void>(run_rlp_figure(asked("fig3", {"3b-data"}), bench.runner(), nullptr)); }),
            "--other-data: found none, expected the folder that part 3b-data needs");
}

TEST(RlpFigures, OtherDataIsForItsCases) {
  test::lab_bench usual, other;
  other.data.description = "the other data";
  const runner of_other = other.runner();
  const rlp_figure made =
      run_rlp_figure(asked("fig3", {"3a-2", "3b-data"}, {"objective.max_time=1"}), usual.runner(), &of_other);
  ASSERT_EQ(made.cases.size(), 2U);
  EXPECT_EQ(made.cases[0].made.data, usual.data.description);
  EXPECT_EQ(made.cases[1].made.data, "the other data");
}

TEST(RlpFigures, SaysWhatThePaperSays) {
  test::lab_bench bench;
  const rlp_figure made = run_rlp_figure(asked("fig2", {"2a"}), bench.runner(), nullptr);
  const std::string text = table(made);
  const std::size_t paper = text.find("RLP, in the paper");
  ASSERT_NE(paper, std::string::npos);
  for (const char* number : {"1.56", "1.86", "1.44"}) EXPECT_NE(text.find(number, paper), std::string::npos) << text;
  const nlohmann::json document = to_json(made);
  EXPECT_EQ(document["cases"][0]["published"]["asp"], 1.86);
  EXPECT_EQ(document["cases"][0]["comparison"]["rows"].size(), rlp_rules + 4);
  for (const char* name : {"rlp", "learned", "distilled", "knee"})
    EXPECT_TRUE(document["cases"][0]["ratios"].contains(name)) << name;
}

TEST(RlpFigures, AsAProgram) {
  const lab_program lab;
  const std::string command = "experiment fig2 --part 2a --scenario quick.json --seeds 2 --quiet ";
  const auto got = lab.run(command + "--json a.json");
  EXPECT_EQ(got.status, 0);
  EXPECT_EQ(got.text.find("quick: seeds 1 to 2, each of them a case of its own\n\n2a: all cases together\n"), 0U)
      << got.text;
  EXPECT_EQ(lab.run(command + "--json b.json --threads 2 --no-cache").status, 0);
  EXPECT_EQ(lab.content("a.json"), lab.content("b.json"));
}

TEST(RlpFigures, GoOnWhereTheyWereInterrupted) {
  rubato::test::expect_it_goes_on(
      "experiment fig2 --part 2a --scenario quick.json --seeds 6 --set stop=workload "
      "--set objective.workload=500000 --set objective.max_time=1000000");
}

}  // namespace
