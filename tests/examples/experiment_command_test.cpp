// `rubato-lab experiment` as a program.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "lab_program.hpp"
#include "source_directory.hpp"

namespace {

using nlohmann::json;
using rubato::test::lab_program;
using rubato::test::outcome;

const std::string quick_experiment =
    "experiment sync-switch --scenario quick.json --set stop=workload --set objective.workload=5120 "
    "--set cluster.round_time=2 --set objective.momentum=0.5 ";

TEST(Experiment, ListsExperimentsAndParts) {
  const outcome got = lab_program{}.run("experiment");
  EXPECT_EQ(got.status, 0);
  EXPECT_EQ(got.text.find("sync-switch\n"), 0u) << got.text;
  for (const char* line : {"    share: accuracy and time against the share of BSP\n", "\nfig2\n",
                           "    3b-model: six hidden layers\n", "\nfig4\n", "\ntable1\n"})
    EXPECT_NE(got.text.find(line), std::string::npos) << got.text;
}

TEST(Experiment, PrintsATableForEachPart) {
  const lab_program lab;
  const outcome got = lab.run(quick_experiment + "--seeds 2 --json a.json --quiet");
  EXPECT_EQ(got.status, 0) << got.text;
  EXPECT_EQ(got.text.find("quick: 10 workers; trainings of 320 pushes; seeds 1 to 2; a switch takes 36\nlogs: "), 0u)
      << got.text;
  const json made = json::parse(lab.content("a.json"));
  ASSERT_EQ(made["parts"].size(), 7u);
  for (const json& part : made["parts"]) {
    EXPECT_NE(got.text.find('\n' + part["part"].get<std::string>() + ": "), std::string::npos) << part["part"];
    for (const json& row : part["rows"]) EXPECT_EQ(row["runs"].size(), 2u);
  }
  EXPECT_NE(got.text.find('\n' + made["claim"].get<std::string>() + '\n'), std::string::npos);
  EXPECT_EQ(json::parse(lab.run(quick_experiment + "--seeds 2 --json - --no-cache --threads 3 --quiet").text), made);
}

TEST(Experiment, PartsAreMadeInTheirOrder) {
  const lab_program lab;
  const outcome got = lab.run(quick_experiment + "--part policies --part order --quiet --json -");
  const json made = json::parse(got.text);
  ASSERT_EQ(made["parts"].size(), 2u);
  EXPECT_EQ(made["parts"][0]["part"], "order");
  EXPECT_EQ(made["parts"][1]["part"], "policies");
}

const std::string long_experiment = quick_experiment +
                                    "--part order --seeds 6 --set objective.workload=500000 "
                                    "--set objective.max_time=1000000";

TEST(Experiment, InterruptedExperimentGoesOn) { rubato::test::expect_it_goes_on(long_experiment); }

TEST(Experiment, AnInterruptedDocumentIsNotPrinted) {
  const lab_program lab;
  EXPECT_EQ(lab.interrupted(long_experiment + " --quiet --json - --threads 1 2>said").text, "");
  EXPECT_EQ(lab.content("said"), "rubato-lab: interrupted; --json -: nothing printed; the same command goes on\n");
}

TEST(Experiment, BadInputIsOneLineAndStatus2) {
  const lab_program lab;
  std::filesystem::copy(rubato::test::source_directory / "examples/data", lab.folder.path() / "other",
                        std::filesystem::copy_options::recursive);
  for (const auto& [arguments, message] : std::vector<std::pair<std::string, std::string>>{
           {"sync-swich", "experiment: found \"sync-swich\", expected one of sync-switch, fig2, fig3, fig4, table1"},
           {"fig2 --switch-time 3", "--switch-time: experiment fig2 has no use for it"},
           {"fig2 --other-data .", "--other-data: experiment fig2 has no use for it"},
           {"table1 --svg a.svg", "--svg: experiment table1 has no use for it"},
           {"fig3 --part 3a-2 --other-data .", "--other-data: none of the parts has use for it"},
           {"fig3 --part 3b-data", "--other-data: found none, expected the folder that part 3b-data needs"},
           {"fig3 --other-data other --json other/train-images-idx3-ubyte.gz",
            "--json: found \"other/train-images-idx3-ubyte.gz\", which --other-data needs"},
           {"table1 --threads 2", "--threads: experiment table1 has no use for it"},
           {"table1 --cache here", "--cache: experiment table1 has no use for it"},
           {"table1 --no-cache", "--no-cache: experiment table1 has no use for it"},
           {"table1 --seeds 3", "--seeds: experiment table1 has no use for it"},
           {"fig4 --svg a.svg --part 2a", "--part: experiment fig4 has no use for it"},
           {"fig4", "--svg: found none, expected the file of fig4's picture"},
           {"fig4 --svg quick.json --scenario quick.json", "--svg: found \"quick.json\", which --scenario needs"},
           {"fig2 --part 3a-2", "--part: found \"3a-2\", expected one of 2a, 2b-0, 2b-3, 2c-0, 2c-1, 2c-3"},
           {"sync-switch --part shares", "--part: found \"shares\", expected one of latency, share, order,"},
           {"sync-switch --scenario quick.json", "--scenario: found another stop rule, expected stop = workload"},
           {"sync-switch --scenario shared4 --set stop=workload --set objective.workload=10 --set workers=2",
            "--scenario: found 2 workers, expected at least 4"},
           {"sync-switch --seeds 0", "--seeds: found \"0\", expected a whole number from 1"},
           {"sync-switch --switch-time -1", "--switch-time"},
           {"sync-switch --scenario quick.json --set stop=workload --set objective.workload=10",
            "--scenario: found objective.workload = 10, expected at least 160: a batch of each worker"},
           {"sync-switch --scenario quick.json --set stop=workload --set objective.workload=5120 --json quick.json",
            "--json: found \"quick.json\", which --scenario needs"}}) {
    const outcome got = lab.run("experiment --quiet " + arguments + " 2>&1 >/dev/null");
    EXPECT_EQ(got.status, 2) << arguments;
    EXPECT_NE(got.text.find(message), std::string::npos) << arguments << '\n' << got.text;
    EXPECT_EQ(std::count(got.text.begin(), got.text.end(), '\n'), 1) << got.text;
  }
}

}  // namespace
