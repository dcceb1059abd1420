// `rubato-lab timeline`, as a program.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "../support/trace_check.hpp"
#include "lab_program.hpp"

namespace {

using rubato::test::check_trace;
using rubato::test::lab_program;
using rubato::test::outcome;
using rubato::test::read_trace;

TEST(Timeline, OfALogIsThatOfItsRun) {
  const lab_program lab;
  ASSERT_EQ(lab.compare("--policies ssp:2 --no-cache --quiet --set workers=5 --log run.jsonl --trace whole.json").status,
            0);
  const outcome said = lab.run("timeline run.jsonl --out drawn.json 2>&1");
  ASSERT_EQ(said.status, 0) << said.text;
  EXPECT_EQ(said.text, "");
  const read_trace whole = check_trace(lab.content("whole.json"), 5);
  const read_trace drawn = check_trace(lab.content("drawn.json"), 5);
  for (int thread = 1; thread <= 5; ++thread)
    for (const char* span : {"compute", "apply", "wait"}) {
      const auto expected = whole.of(thread, span), found = drawn.of(thread, span);
      ASSERT_EQ(found.size(), expected.size()) << span << " of thread " << thread;
      EXPECT_TRUE(expected.size() > 3 || span != std::string{"compute"});
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].begin, expected[i].begin);
        EXPECT_EQ(found[i].end, expected[i].end);
        EXPECT_EQ(found[i].args, expected[i].args);
      }
    }
  EXPECT_EQ(drawn.arrows.size(), whole.arrows.size());
  EXPECT_EQ(drawn.curves, whole.curves);
  EXPECT_EQ(drawn.other.at("policy"), whole.other.at("policy"));
}

TEST(Timeline, TimeHasTheUnitThatIsSaid) {
  const lab_program lab;
  ASSERT_EQ(lab.compare("--policies asp --no-cache --quiet --set workers=2 --log run.jsonl").status, 0);
  ASSERT_EQ(lab.run("timeline run.jsonl --out seconds.json").status, 0);
  ASSERT_EQ(lab.run("timeline run.jsonl --unit-seconds 60 --out minutes.json").status, 0);
  const auto seconds = check_trace(lab.content("seconds.json"), 2).of(1, "compute");
  const auto minutes = check_trace(lab.content("minutes.json"), 2).of(1, "compute");
  ASSERT_GT(seconds.size(), 3U);
  ASSERT_EQ(minutes.size(), seconds.size());
  EXPECT_NEAR(static_cast<double>(minutes[3].end), 60.0 * static_cast<double>(seconds[3].end), 61);
}

TEST(Timeline, WhatIsSoundOfALogIsDrawnAndTheRestIsSaid) {
  const lab_program lab;
  ASSERT_EQ(lab.compare("--policies bsp:mean --no-cache --quiet --set workers=3 --log run.jsonl").status, 0);
  const std::string log = lab.content("run.jsonl");
  lab.folder.write("cut.jsonl", log.substr(0, log.size() / 2) + "\n");
  const outcome said = lab.run("timeline cut.jsonl --out cut.json 2>&1");
  EXPECT_EQ(said.status, 1);
  EXPECT_NE(said.text.find("cut.jsonl:"), std::string::npos) << said.text;
  EXPECT_NE(said.text.find("is left out"), std::string::npos) << said.text;
  EXPECT_GT(check_trace(lab.content("cut.json"), 3).of(1, "compute").size(), 3U);
}

TEST(Timeline, StrangersHaveNoTrack) {
  const lab_program lab;
  ASSERT_EQ(lab.compare("--policies asp --no-cache --quiet --set workers=3 --log run.jsonl").status, 0);
  const std::string stranger = R"({"now":1e9,"what":"refuse","worker":4000000000,"incarnation":0,)"
                               R"("because":"unknown_worker","version":0,"parked":0})"
                               "\n";
  lab.folder.write("more.jsonl", lab.content("run.jsonl") + stranger);
  const outcome said = lab.run("timeline more.jsonl --out drawn.json 2>&1");
  ASSERT_EQ(said.status, 0) << said.text;
  EXPECT_EQ(check_trace(lab.content("drawn.json"), 3).other.at("records_left_out"), 1);
}

TEST(Timeline, BadInputIsOneLineAndStatus2) {
  const lab_program lab;
  lab.folder.write("none.jsonl", "no log\n");
  for (const char* wrong : {"timeline none.jsonl --out t.json", "timeline missing.jsonl --out t.json",
                            "timeline none.jsonl --out none.jsonl", "timeline none.jsonl",
                            "timeline none.jsonl --out t.json --unit-seconds 0"}) {
    const outcome said = lab.run(std::string{wrong} + " 2>&1");
    EXPECT_EQ(said.status, 2) << wrong << ": " << said.text;
    EXPECT_EQ(std::count(said.text.begin(), said.text.end(), '\n'), 1) << said.text;
  }
  EXPECT_EQ(lab.content("none.jsonl"), "no log\n");
  EXPECT_FALSE(std::filesystem::exists(lab.folder.path() / "t.json"));
}

}  // namespace
