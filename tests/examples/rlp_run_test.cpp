#include "../../examples/lab/rlp_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>

#include "../../examples/lab/given.hpp"
#include "lab_bench.hpp"
#include "lab_program.hpp"

namespace {

using namespace rubato::lab;
using rubato::test::lab_program;

rlp_runs quick_runs(std::vector<std::string> settings = {}, bool stopped = false) {
  rubato::test::lab_bench bench;
  bench.stop = stopped;
  const rubato::support::scenario scenario = rubato::test::quick("bsp", 1, std::move(settings)).scenario;
  return run_rlp_table(scenario, 1,
                       {.data = bench.data, .threads = 1, .stop = bench.stop, .progress = bench.shown, .display = {}});
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST(RlpRun, StepsAddUpToPushes) {
  const rlp_runs runs = quick_runs();
  ASSERT_EQ(runs.of.size(), 7U);
  for (const rlp_run& run : runs.of) {
    EXPECT_EQ(std::accumulate(run.steps.begin(), run.steps.end(), std::uint64_t{0}), run.whole.pushes) << run.policy;
    EXPECT_EQ(run.spans.size(), run.whole.pushes) << run.policy;
  }
}

TEST(RlpRun, NobodyComputesTwiceAtOnce) {
  const rlp_runs runs = quick_runs();
  for (const rlp_run& run : runs.of) {
    std::vector<double> free_from(run.steps.size());
    for (const rlp_run::span& each : run.spans) {
      EXPECT_GE(each.begin, free_from[each.worker]);
      EXPECT_GT(each.end, each.begin);
      free_from[each.worker] = each.end;
    }
  }
}

TEST(RlpRun, TheTableHasThePapersRowsWhereWorkersAreTen) {
  const std::string ten = table(quick_runs());
  EXPECT_NE(ten.find("\nASP, in the paper "), std::string::npos) << ten;
  EXPECT_NE(ten.find(" 659 "), std::string::npos) << "the sum, which the paper misprints";
  EXPECT_EQ(table(quick_runs({"workers=3"})).find("in the paper"), std::string::npos);
}

TEST(RlpRun, ThePictureHasEachStepThatBeganByThen) {
  const rlp_runs runs = quick_runs();
  const double until = 5;
  std::size_t steps = 0;
  for (const rlp_run& run : runs.of)
    steps += static_cast<std::size_t>(
        std::ranges::count_if(run.spans, [&](const rlp_run::span& each) { return each.begin < until; }));
  const std::string picture = svg(runs, until);
  EXPECT_EQ(count(picture, "#3366cc"), steps);
  EXPECT_EQ(count(picture, "<text"), runs.of.size() + 1);
  EXPECT_EQ(picture.find("<svg "), 0U);
  EXPECT_EQ(picture.substr(picture.size() - 7), "</svg>\n");
}

TEST(RlpRun, SaysWhatItIsOf) {
  const rlp_runs runs = quick_runs();
  EXPECT_EQ(table(runs).find("quick: the run of seed 1, "), 0U) << table(runs);
  const nlohmann::json document = to_json(runs);
  EXPECT_EQ(document["seed"], 1);
  EXPECT_EQ(document["scenario"]["name"], "quick");
  EXPECT_EQ(document["interrupted"], false);
  EXPECT_EQ(document["runs"].size(), 7U);
}

TEST(RlpRun, SaysThatItWasInterrupted) {
  const rlp_runs runs = quick_runs({}, true);
  EXPECT_TRUE(runs.of.empty());
  EXPECT_NE(table(runs).find("; INTERRUPTED\n"), std::string::npos);
  EXPECT_EQ(to_json(runs)["interrupted"], true);
}

TEST(RlpRun, AsPrograms) {
  const lab_program lab;
  const auto shown = lab.run("experiment table1 --scenario quick.json --quiet --json a.json");
  EXPECT_EQ(shown.status, 0);
  EXPECT_EQ(shown.text.find("quick: the run of seed 1, "), 0U) << shown.text;
  EXPECT_EQ(nlohmann::json::parse(lab.content("a.json"))["runs"].size(), 7U);
  const auto drawn = lab.run("experiment fig4 --scenario quick.json --quiet --svg a.svg");
  EXPECT_EQ(drawn.status, 0);
  EXPECT_EQ(drawn.text, shown.text);
  EXPECT_EQ(lab.content("a.svg").find("<svg "), 0U);
}

}  // namespace
