#include "../../examples/lab/decision_history.hpp"

#include <gtest/gtest.h>

#include <string>

#include "../../examples/support/user_error.hpp"
#include "gzipped.hpp"
#include "logged_run.hpp"
#include "temporary_directory.hpp"

namespace {

using namespace rubato::lab;
using rubato::support::user_error;
using rubato::test::log_of;
using rubato::test::message_of;
using rubato::test::temporary_directory;
using kind = logged_effect::kind;

const std::string first_line =
    R"({"format":"rubato.decisions","version":1,"policy":"asp: at once","describe":{"kind":"asp"}})"
    "\n";
const std::string joined = R"({"now":null,"what":"join","worker":0,"incarnation":0,"version":0,"parked":1})"
                           "\n";
const std::string released =
    R"({"now":1.5,"what":"release","worker":0,"incarnation":0,"clock":0,"batch":0,"lr_scale":1,"version":0,"parked":0})"
    "\n";
const std::string admitted =
    R"({"now":3,"what":"admit","worker":0,"incarnation":0,"step":1,"clock":0,"verdict":"apply","weight":0.5,)"
    R"("staleness":0,"loss":2.25,"version":0,"parked":0})"
    "\n";
const std::string committed =
    R"({"now":3.25,"what":"commit","worker":0,"incarnation":0,"step":1,"clock":1,"verdict":"apply",)"
    R"("version":1,"parked":0})"
    "\n";

struct DecisionHistory : testing::Test {
  temporary_directory folder;
  decision_history read(const std::string& text) {
    folder.write("log", text);
    return read_decision_history(folder.path() / "log");
  }
  std::string refusal(const std::string& text) {
    const std::string said = message_of<user_error>([&] { return read(text); });
    const std::string file = (folder.path() / "log").string();
    return said.starts_with(file) ? said.substr(file.size()) : said;
  }
};

TEST_F(DecisionHistory, AStepIsFromReleaseToAdmission) {
  const auto history = read(first_line + joined + released + admitted + committed);
  EXPECT_EQ(history.policy, "asp: at once");
  EXPECT_EQ(history.description, R"({"kind":"asp"})");
  EXPECT_EQ(history.workers, 1u);
  ASSERT_EQ(history.steps.size(), 1u);
  EXPECT_EQ(history.steps[0].start, 1.5);
  EXPECT_EQ(history.steps[0].end, 3);
  EXPECT_EQ(history.steps[0].served, 3.25);
  EXPECT_TRUE(history.steps[0].whole);
  ASSERT_EQ(history.effects.size(), 2u);
  EXPECT_EQ(history.effects[0].what, kind::release);
  EXPECT_EQ(history.effects[1].what, kind::apply);
  EXPECT_EQ(history.effects[1].factor, 0.5F);
  EXPECT_EQ(history.effects[1].loss, 2.25F);
  EXPECT_EQ(history.first, 1.5);
  EXPECT_EQ(history.last, 3.25);
  EXPECT_EQ(history.cut_off, "");
}

TEST_F(DecisionHistory, FurtherMembersAreIgnored) {
  std::string more = released;
  more.insert(1, R"("new":{"deep":[1,2]},)");
  EXPECT_EQ(read(first_line + joined + more + admitted + committed).steps.size(), 1u);
}

TEST_F(DecisionHistory, ALastLineThatIsCutOffIsLeftOutAndSaid) {
  const auto history = read(first_line + joined + released + admitted + committed.substr(0, 30));
  EXPECT_EQ(history.cut_off, "line 5 is cut off and left out");
  EXPECT_EQ(history.steps.size(), 1u);
  EXPECT_EQ(history.steps[0].served, 3) << "never committed";
}

TEST_F(DecisionHistory, OfAGzipFileThatEndsEarlyTheRestIsLeftOutAndSaid) {
  constexpr std::size_t steps = 5000;
  std::string lines = first_line + joined;
  for (std::size_t i = 0; i < steps; ++i)
    for (std::string line : {released, admitted, committed}) {
      const std::size_t from = line.find(':') + 1;
      line.replace(from, line.find(',') - from, std::to_string(i));
      lines += line;
    }
  const std::string packed = rubato::test::gzipped(lines);
  const auto history = read(packed.substr(0, packed.size() / 2));
  EXPECT_GT(history.steps.size(), 0u);
  EXPECT_LT(history.steps.size(), steps);
  EXPECT_TRUE(history.cut_off.starts_with("the gzip file ends early: what comes after line ")) << history.cut_off;
}

TEST_F(DecisionHistory, ABrokenLineElsewhereIsRefused) {
  EXPECT_EQ(refusal(first_line + joined + released.substr(0, 20) + "\n" + admitted),
            ":3: found what is no JSON object, expected one in each line");
  EXPECT_EQ(refusal(first_line + "[]\n" + released), ":2: found what is no JSON object, expected one in each line");
  EXPECT_EQ(refusal("{\"format\""), ":1: found a line that is cut off, expected a whole one");
}

// A line that would overflow the stack of whoever writes it again.
TEST_F(DecisionHistory, ALineThatIsNestedTooDeepIsRefused) {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  std::string header = first_line;
  header.replace(header.find("{\"kind\":\"asp\"}"), 14, deep);
  EXPECT_EQ(refusal(header), ":1: found nesting deeper than 64 levels, expected an object of few");
  EXPECT_EQ(refusal(first_line + R"({"now":1,"what":)" + deep + "}\n"),
            ":2: found what = something else, expected a string");
}

TEST_F(DecisionHistory, AnotherFormatOrVersionIsRefused) {
  EXPECT_EQ(refusal("{\"format\":\"x\"}\n"), ":1: found format = \"x\", expected \"rubato.decisions\"");
  EXPECT_EQ(refusal("{\"traceEvents\":[]}\n"), ":1: found no member \"what\", expected a string");
  EXPECT_EQ(refusal(R"({"format":"rubato.decisions","version":2})"
                    "\n"),
            ":1: found version 2, expected 1, which is what this program reads");
}

TEST_F(DecisionHistory, TimesThatRunBackAreRefused) {
  EXPECT_EQ(refusal(first_line + joined + admitted + released),
            ":4: found now = 1.5 after 3, expected times that do not run back");
}

TEST_F(DecisionHistory, WhatIsMissingIsNamed) {
  std::string without = released;
  without.replace(without.find("\"batch\""), 7, "\"bitch\"");
  EXPECT_EQ(refusal(first_line + joined + without), ":3: found no member \"batch\", expected a whole number from 0 to 4294967295");
  std::string negative = released;
  negative.replace(negative.find("\"worker\":0"), 10, "\"worker\":-1");
  EXPECT_EQ(refusal(first_line + joined + negative),
            ":3: found worker = -1, expected a whole number from 0 to 4294967294");
  std::string large = released;
  large.replace(large.find("\"worker\":0"), 10, "\"worker\":4000000000");
  EXPECT_EQ(refusal(first_line + joined + large), ":3: found worker 4000000000, expected 0 to 9999");
  std::string heavy = admitted;
  heavy.replace(heavy.find("\"weight\":0.5"), 12, "\"weight\":1e300");
  EXPECT_EQ(refusal(first_line + joined + released + heavy),
            ":4: found weight = 1e+300, expected a number that a float can hold");
  EXPECT_EQ(refusal(first_line + released + joined), ":3: found now = null, expected a time");
  EXPECT_EQ(refusal(first_line + "{\"now\":1,\"what\":\"sneeze\"}\n"),
            ":2: found what = \"sneeze\", expected a kind that a decision log of version 1 has");
  EXPECT_EQ(refusal(first_line + joined + released + released),
            ":4: found a release of a worker that is in a step, expected its admission first");
}

TEST_F(DecisionHistory, ALogWithoutAStepIsRefused) {
  EXPECT_EQ(refusal(first_line + joined + released),
            ": found no step, expected at least one release and the admission after it");
  EXPECT_EQ(refusal(""), ": found an empty file, expected a decision log");
}

TEST_F(DecisionHistory, StepsThatDoNotEndAreKept) {
  const std::string gone =
      R"({"now":2,"what":"depart","worker":0,"incarnation":0,"why":"death","clock":0,"version":0,"parked":0})"
      "\n";
  std::string again = released;
  again.replace(again.find("1.5"), 3, "2.5");
  const auto history = read(first_line + joined + released + gone + again + admitted + committed);
  ASSERT_EQ(history.unfinished.size(), 1u);
  EXPECT_EQ(history.unfinished[0].end, 2);
  EXPECT_EQ(history.departures, 1u);
  ASSERT_EQ(history.steps.size(), 1u);
  EXPECT_EQ(history.steps[0].start, 2.5);
}

TEST_F(DecisionHistory, WhoGoesAtTheEndIsNotMissed) {
  const std::string gone =
      R"({"now":9,"what":"depart","worker":0,"incarnation":0,"why":"leave","clock":1,"version":1,"parked":0})"
      "\n";
  EXPECT_EQ(read(first_line + joined + released + admitted + committed + gone).departures, 0u);
  std::string again = released;
  again.replace(again.find("1.5"), 3, "9.5");
  EXPECT_EQ(read(first_line + joined + released + admitted + committed + gone + again).departures, 1u);
  std::string done = gone;
  done.replace(done.find("leave"), 5, "done");
  EXPECT_EQ(read(first_line + joined + released + admitted + committed + done + again).departures, 0u);
}

TEST_F(DecisionHistory, ACancelledStepSaysNothingOfItsLength) {
  const std::string cancelled =
      R"({"now":2,"what":"cancel","worker":0,"incarnation":0,"clock":0,"version":0,"parked":0})"
      "\n";
  const auto history = read(first_line + joined + released + cancelled + admitted + committed);
  EXPECT_FALSE(history.steps[0].whole);
  EXPECT_EQ(history.not_whole, 1u);
}

TEST_F(DecisionHistory, WhatAHostDoesAtTheSameTimeIsPartOfTheStep) {
  const auto of_worker_1 = [](std::string line, const std::string& now, const std::string& then) {
    line.replace(line.find("\"worker\":0"), 10, "\"worker\":1");
    return line.replace(line.find("\"now\":" + now), 6 + now.size(), "\"now\":" + then);
  };
  const std::string both = first_line + released + of_worker_1(released, "1.5", "1.5") + admitted;
  const auto at_once =
      read(both + of_worker_1(admitted, "3", "3.1") + committed + of_worker_1(committed, "3.25", "3.5"));
  EXPECT_TRUE(at_once.serves_at_once);
  EXPECT_EQ(at_once.overlaps, 1u);
  EXPECT_EQ(at_once.steps[0].end, 3.25);
  EXPECT_EQ(at_once.steps[1].end, 3.5);
  const auto in_turn =
      read(both + committed + of_worker_1(admitted, "3", "3.25") + of_worker_1(committed, "3.25", "3.5"));
  EXPECT_FALSE(in_turn.serves_at_once);
  EXPECT_EQ(in_turn.steps[1].end, 3.25);
}

// Of a whole simulated run: every push is there, and what the rounds came to.
TEST_F(DecisionHistory, ARunOfRounds) {
  const auto history = log_of({.workers = 4, .cores = 2}, "bsp:mean", 200);
  std::size_t flushes = 0, added = 0;
  for (const logged_effect& each : history.effects) {
    flushes += each.what == kind::flush ? 1 : 0;
    added += each.what == kind::accumulate ? 1 : 0;
  }
  EXPECT_EQ(history.steps.size(), 200u);
  EXPECT_EQ(added, 200u);
  EXPECT_EQ(flushes, 50u);
  EXPECT_EQ(history.workers, 4u);
}

}  // namespace
