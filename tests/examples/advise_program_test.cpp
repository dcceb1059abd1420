// `fit` and `advise` as programs.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "lab_program.hpp"

namespace {

using nlohmann::json;
using rubato::test::lab_program;
using rubato::test::outcome;

// With a log of its own.
struct AdviseProgram : testing::Test {
  lab_program lab;
  AdviseProgram() {
    const outcome made = lab.run(
        "compare --scenario quick.json --policies ssp:3 --seeds 1 --quiet --no-cache --log run.jsonl "
        "--set objective.target_accuracy=1 --set objective.max_time=60 2>&1");
    EXPECT_EQ(made.status, 0) << made.text;
  }
};

TEST_F(AdviseProgram, AFitIsAScenario) {
  const outcome fitted = lab.run("fit run.jsonl --scenario quick.json 2>report");
  ASSERT_EQ(fitted.status, 0) << fitted.text;
  EXPECT_EQ(json::parse(fitted.text)["workers"], 10);
  const std::string report = lab.content("report");
  for (const char* part : {"90 % interval", "jitter", "cores", "Kolmogorov-Smirnov distance", "note: link: not"})
    EXPECT_NE(report.find(part), std::string::npos) << part;
  EXPECT_EQ(lab.run("fit run.jsonl --scenario quick.json --out fitted.json").status, 0);
  EXPECT_EQ(lab.content("fitted.json"), fitted.text);
  EXPECT_EQ(lab.run("compare --scenario fitted.json --policies asp --seeds 2 --quiet --no-cache").status, 0);
}

TEST_F(AdviseProgram, TheSameAdviceOnAnyNumberOfThreads) {
  const std::string command = "advise run.jsonl --scenario quick.json --policies bsp:sum,asp,ssp:3 --json - ";
  const outcome one = lab.run(command + "--threads 1 2>/dev/null"),
                three = lab.run(command + "--threads 3 2>/dev/null");
  ASSERT_EQ(one.status, 0);
  EXPECT_EQ(one.text, three.text);
  const json all = json::parse(one.text);
  EXPECT_EQ(all["rules"].size(), 3u);
  EXPECT_EQ(all["current"]["policy"], "ssp:3");
  EXPECT_LT(all["distance"], 0.2) << "of the fit's steps from the log's";
  EXPECT_FALSE(all["advice"].get<std::string>().empty());
}

TEST_F(AdviseProgram, WhereEveryModelDivergesItSaysSo) {
  const std::string command =
      "advise run.jsonl --scenario quick.json --set objective.learning_rate=1e6 --members 4 "
      "--policies asp --quiet ";
  const outcome made = lab.run(command + "2>/dev/null");
  ASSERT_EQ(made.status, 0);
  EXPECT_NE(made.text.find("all of them diverge"), std::string::npos) << made.text;
  EXPECT_NE(made.text.find("no advice: none of the models"), std::string::npos) << made.text;
  EXPECT_EQ(made.text.find("inf"), std::string::npos) << made.text;
  EXPECT_TRUE(json::parse(lab.run(command + "--json - 2>/dev/null").text)["models"][0]["off"].is_null());
}

TEST_F(AdviseProgram, AGzipLogIsTheSame) {
  const std::string text = lab.run("fit run.jsonl --scenario quick.json 2>/dev/null").text;
  ASSERT_EQ(rubato::test::shell("gzip '" + (lab.folder.path() / "run.jsonl").string() + "'").status, 0);
  EXPECT_EQ(lab.run("fit run.jsonl.gz --scenario quick.json 2>/dev/null").text, text);
}

TEST_F(AdviseProgram, BadInputIsOneLineAndStatus2) {
  lab.folder.write("other.jsonl", "{\"format\":\"other\"}\n");
  for (const char* arguments :
       {"fit missing.jsonl", "fit other.jsonl", "fit quick.json", "advise missing.jsonl", "fit run.jsonl --policy asp",
        "fit run.jsonl --cores 0", "fit run.jsonl --out run.jsonl", "advise run.jsonl --json run.jsonl",
        "advise run.jsonl --policies nobody", "advise run.jsonl --set stop=converged",
        "advise run.jsonl --members 1"}) {
    const outcome got = lab.run(std::string{arguments} + " 2>&1 >/dev/null");
    EXPECT_EQ(got.status, 2) << arguments;
    EXPECT_EQ(std::count(got.text.begin(), got.text.end(), '\n'), 1) << got.text;
    EXPECT_TRUE(got.text.starts_with("rubato-lab: ")) << got.text;
  }
  EXPECT_NE(lab.content("run.jsonl").find("rubato.decisions"), std::string::npos);
}

}  // namespace
