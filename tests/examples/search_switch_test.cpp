// `rubato-lab search-switch` as a program.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "lab_program.hpp"
#include "summary_file.hpp"

namespace {

using nlohmann::json;
using rubato::test::lab_program;
using rubato::test::outcome;

TEST(SearchSwitch, OnLogs) {
  const lab_program lab;
  lab.folder.write("summary.csv", rubato::test::summary_csv());
  const outcome got = lab.run("search-switch --logs . --workload cifar100_res50 --json a.json 2>&1");
  EXPECT_EQ(got.status, 0) << got.text;
  EXPECT_NE(got.text.find("cifar100_res50: 8 workers, 16000 steps of BSP or 128000 of ASP; 30 trainings, 0 others"),
            std::string::npos)
      << got.text;
  EXPECT_NE(got.text.find("switch after 12.5 % of the workload: accuracy 0.7460, with BSP throughout 0.7462, in 0.601 "
                          "of its time\n"),
            std::string::npos)
      << got.text;
  const json made = json::parse(lab.content("a.json"));
  EXPECT_EQ(made["share"], 0.125);
  EXPECT_EQ(made["settings"].size(), 30u);
  EXPECT_EQ(made["settings"][29]["success"], 1.0);
  EXPECT_EQ(made["logged"].size(), 30u);
  const outcome screen = lab.run("search-switch --logs . --workload cifar100_res50 --json -");
  EXPECT_EQ(json::parse(screen.text), made);
  const json test =
      json::parse(lab.run("search-switch --logs . --workload cifar100_res50 --acceptance welch --json -").text);
  EXPECT_EQ(test["share"], 0.125);
  EXPECT_EQ(test["options"]["level"], 0.05);
}

// That of docs/sync-switch.md.
TEST(SearchSwitch, ASummaryMadeByHandWillDo) {
  const lab_program lab;
  lab.folder.write("summary.csv",
                   "dir,acc_laststep,acc_final,loss_T\nmine/bsp_1,1000,0.911,800\nmine/bsp_2,1000,0.912,805\n"
                   "mine/b50_a50_1,2500,0.911,600\nmine/b25_a75_1,3250,0.88,400\n");
  const outcome got = lab.run("search-switch --logs . --workload mine 2>&1");
  EXPECT_EQ(got.status, 0) << got.text;
  EXPECT_TRUE(got.text.starts_with("mine: 4 workers, 1000 steps of BSP or 4000 of ASP; 4 trainings, 0 others not used"))
      << got.text;
  EXPECT_NE(got.text.find("switch after 50 % of the workload"), std::string::npos) << got.text;
}

TEST(SearchSwitch, SaysWhereTrainingsDifferByMoreThanBeta) {
  const lab_program lab;
  const std::string search = "search-switch --scenario quick.json --pushes 200 --runs 2 --bsp-runs 2 --candidates 1 ";
  const std::string note = "rubato-lab: note: the accuracy of BSP has a deviation of ";
  EXPECT_TRUE(lab.run(search + "--quiet --beta 0 2>&1 >/dev/null").text.starts_with(note));
  EXPECT_EQ(lab.run(search + "--quiet --beta 0.9 2>&1 >/dev/null").text, "");
}

TEST(SearchSwitch, InSimulations) {
  const lab_program lab;
  const std::string search = "search-switch --scenario quick.json --pushes 200 --bsp-runs 2 --runs 2 --candidates 2 ";
  const outcome got = lab.run(search + "--json a.json 2>&1");
  EXPECT_EQ(got.status, 0) << got.text;
  EXPECT_NE(got.text.find("quick: 10 workers; trainings of 200 pushes; seeds 1 to 2\n"), std::string::npos) << got.text;
  EXPECT_NE(got.text.find("100 % BSP 2/2"), std::string::npos) << "progress: " << got.text;
  const json made = json::parse(lab.content("a.json"));
  EXPECT_EQ(made["pushes"], 200);
  EXPECT_EQ(made["curve"][0]["runs"].size(), 2u);
  EXPECT_EQ(made["interrupted"], false);
  EXPECT_EQ(json::parse(lab.run(search + "--json - --no-cache --threads 3 --quiet").text), made);
  const outcome known = lab.run(search + "2>&1");
  EXPECT_NE(known.text.find("2 of 2 results come from the cache\n"), std::string::npos) << known.text;
}

TEST(SearchSwitch, AStoredTargetTakesNoRuns) {
  const lab_program lab;
  const outcome got = lab.run(
      "search-switch --scenario quick.json --pushes 200 --runs 1 --candidates 1 --target-accuracy 0.5 --target-time "
      "100 "
      "--json - --quiet");
  const json made = json::parse(got.text);
  EXPECT_EQ(made["curve"].size(), 1u);
  EXPECT_EQ(made["curve"][0]["share"], 0.5);
  EXPECT_EQ(made["target"]["time"], 100.0);
}

TEST(SearchSwitch, InterruptedSearchGoesOn) {
  rubato::test::expect_it_goes_on(
      "search-switch --scenario quick.json --pushes 20000 --set objective.max_time=100000 --bsp-runs 20 --runs 20 "
      "--candidates 1");
}

TEST(SearchSwitch, BadInputIsOneLineAndStatus2) {
  const lab_program lab;
  lab.folder.write("summary.csv", rubato::test::summary_csv());
  const std::string summary = lab.content("summary.csv");
  for (const auto& [arguments, message] : std::vector<std::pair<std::string, std::string>>{
           {"", "--scenario: found neither it nor --logs, expected one of them"},
           {"--logs .", "--workload: found none beside --logs, expected the name of one"},
           {"--logs . --workload w", "--workload: found \"w\", expected one of those in ./summary.csv: \"cifar100_res50\""},
           {"--logs . --workload cluster_16 --scenario quick.json", "--scenario: found it with --logs"},
           {"--logs . --workload cluster_16 --pushes 5", "--pushes: found it with --logs"},
           {"--logs . --workload cluster_16 --json ./summary.csv",
            "--json: found \"./summary.csv\", which --logs needs"},
           {"--logs nowhere --workload w", "nowhere/summary.csv: cannot be opened"},
           {"--scenario quick.json --workload w", "--workload: found it without --logs, expected --pushes"},
           {"--scenario quick.json --json quick.json", "--json: found \"quick.json\", which --scenario needs"},
           {"--scenario quick.json --pushes 0", "--pushes: found \"0\", expected a whole number from 1"},
           {"--scenario quick.json --pushes 19", "--pushes: found 19, expected at least two barriers of 10 workers"},
           {"--scenario quick.json --target-accuracy 0.9",
            "--target-accuracy: expected it together with --target-time"},
           {"--scenario quick.json --target-accuracy 0.9 --target-time -1",
            "search-switch: stored.time is -1, expected a number above 0"},
           {"--scenario quick.json --target-accuracy 0.9 --target-time 10 --acceptance welch",
            "--target-accuracy: found it beside --acceptance welch"},
           {"--scenario quick.json --level 0.1", "--level: found it without a test"},
           {"--logs . --workload cluster_16 --level 0.1", "--level: found it without a test"},
           {"--logs . --workload cluster_16 --threads 2", "--threads: found it with --logs"},
           {"--logs . --workload cluster_16 --cache out/cache", "--cache: found it with --logs"},
           {"--logs . --workload cluster_16 --no-cache", "--no-cache: found it with --logs"},
           {"--scenario quick.json --acceptance welch --runs 1", "search-switch: runs is 1, expected at least 2"},
           {"--scenario shared4 --runs 3", "--bsp-runs: found 5 beside --runs 3 where seeds draw one of 4 numbers"},
           {"--scenario quick.json --set objective.max_time=3",
            "--scenario: found a run with 100 % of BSP that has"}}) {
    const outcome got = lab.run("search-switch --quiet " + arguments + " 2>&1 >/dev/null");
    EXPECT_EQ(got.status, 2) << arguments;
    EXPECT_NE(got.text.find(message), std::string::npos) << arguments << '\n' << got.text;
    EXPECT_EQ(std::count(got.text.begin(), got.text.end(), '\n'), 1) << got.text;
  }
  EXPECT_EQ(lab.content("summary.csv"), summary);
}

}  // namespace
