// `rubato-lab stats` and `rubato-lab replay`, as programs.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "../../examples/lab/stats_report.hpp"
#include "lab_program.hpp"
#include "log_run.hpp"

namespace {

using nlohmann::json;
using rubato::test::lab_program;
using rubato::test::log_run;
using rubato::test::outcome;

void expect_one_screen(const std::string& text) {
  EXPECT_LE(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), rubato::lab::stats_lines) << text;
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), rubato::lab::stats_columns) << line;
}

TEST(Stats, AThousandWorkersAreOneScreen) {
  log_run run;
  for (std::uint32_t w = 0; w < 1000; ++w) run.join(w);
  for (int i = 0; i < 6; ++i)
    for (std::uint32_t w = 0; w < 1000; ++w) run.step(w, w % 3 == 0 ? 5.0 : 1.0);
  for (std::uint32_t w = 0; w < 1000; ++w) {
    run.release(w);
    run.admit(w, w % 2 == 0 ? rubato::verdict::drop : rubato::verdict::accumulate, w,
              w % 2 == 0 ? rubato::reason::stale : rubato::reason::none);
    run.commit(w, w % 2 == 0 ? rubato::verdict::drop : rubato::verdict::accumulate,
               w % 2 == 0 ? rubato::reason::stale : rubato::reason::none);
  }
  for (std::uint32_t w = 0; w < 500; ++w) run.depart(w, w % 2 == 0 ? rubato::cause::death : rubato::cause::leave);
  for (std::uint32_t w = 0; w < 100; ++w) run.join(w, 1);
  run.step(999, 1);
  const std::string text = rubato::lab::stats_text("log", run.stats, {});
  expect_one_screen(text);
  EXPECT_NE(text.find("worker 0   5.00 times"), text.npos) << text;
  EXPECT_NE(text.find("and 330 more"), text.npos) << text;
  EXPECT_NE(text.find("and 396 more: 196 died 200 left"), text.npos) << text;
  EXPECT_NE(text.find("all are accounted for"), text.npos) << text;
}

TEST(Stats, AListEndsWithHowManyMore) {
  log_run run;
  for (std::uint32_t w = 0; w < 4; ++w) run.join(w);
  for (int i = 0; i < 24; ++i)
    for (std::uint32_t w = 0; w < 4; ++w) {
      const bool drops = i % 3 == 0;
      run.release(w);
      run.admit(w, drops ? rubato::verdict::drop : rubato::verdict::apply, 0,
                drops ? rubato::reason::stale : rubato::reason::none);
      run.commit(w, drops ? rubato::verdict::drop : rubato::verdict::apply,
                 drops ? rubato::reason::stale : rubato::reason::none);
    }
  const std::string text = rubato::lab::stats_text("log", run.stats, {});
  expect_one_screen(text);
  EXPECT_NE(text.find("    by worker worker 0: 8 of 24, worker 1: 8 of 24, and 2 more\n"), text.npos) << text;
}

TEST(Stats, SaysWhenWorkersCameBackAndWhyCallsWereRefused) {
  log_run run;
  for (std::uint32_t w = 0; w < 2; ++w) run.join(w);
  run.step(0, 1);
  run.depart(1, rubato::cause::death);
  run.now = 4;
  run.join(1, 1);
  for (const auto why : {rubato::reason::old_incarnation, rubato::reason::invalid_token, rubato::reason::invalid_token})
    EXPECT_EQ(run.refusal({.what = rubato::record::kind::refuse, .because = why, .worker = {1, 0}}), "");
  const std::string text = rubato::lab::stats_text("log", run.stats, {});
  EXPECT_NE(text.find("came back  1 at 4\n"), text.npos) << text;
  EXPECT_NE(text.find("refused    3 calls: invalid_token 2, old_incarnation 1\n"), text.npos) << text;
  const json all = rubato::lab::stats_json("log", run.stats, {});
  EXPECT_EQ(all.at("refused_for"), (json{{"invalid_token", 2}, {"old_incarnation", 1}}));
  EXPECT_EQ(all.at("workers")[1].at("departed"), 1);
  EXPECT_EQ(all.at("workers")[1].at("returned"), 4);
  EXPECT_FALSE(all.at("workers")[0].contains("departed"));
}

TEST(Stats, TextOfTheLogIsEscaped) {
  log_run run;
  run.stats.policy("\x1b[31mred\n\xff" + std::string(300, 'x'), 0);
  run.join(0);
  const std::string text = rubato::lab::stats_text("log", run.stats, {});
  expect_one_screen(text);
  EXPECT_EQ(text.find('\x1b'), text.npos);
  EXPECT_NE(text.find("\\x1b[31mred\\x0a\\xffxx"), text.npos) << text;
}

TEST(Stats, AnswersFromTheLogOfARun) {
  const lab_program lab;
  ASSERT_EQ(lab.compare("--policies ssp:2 --no-cache --quiet --log run.jsonl --set workers=5").status, 0);
  const outcome said = lab.run("stats run.jsonl");
  EXPECT_EQ(said.status, 0) << said.text;
  expect_one_screen(said.text);
  for (const char* question : {"Who is slow?", "Who is missing?", "What happened to my gradients?"})
    EXPECT_NE(said.text.find(question), std::string::npos) << said.text;
  EXPECT_NE(said.text.find(" pushes of 5 workers"), std::string::npos) << said.text;
}

// Wherever a ring that has gone round begins.
TEST(Stats, AFlightRecordBeginsInTheMiddle) {
  const lab_program lab;
  ASSERT_EQ(lab.compare("--policies ssp:2 --no-cache --quiet --log run.jsonl --set workers=5").status, 0);
  std::istringstream log{lab.content("run.jsonl")};
  std::vector<std::string> lines;
  for (std::string line; std::getline(log, line);) lines.push_back(line + "\n");
  ASSERT_GT(lines.size(), 100U);
  const std::string& header = lines.front();
  for (std::size_t first = 40; first < 60; ++first) {
    std::string text = header.substr(0, header.rfind('}')) + ",\"earlier\":" + std::to_string(first - 1) + "}\n";
    for (std::size_t i = first; i < lines.size(); ++i) text += lines[i];
    lab.folder.write("flight.jsonl", text);
    const outcome said = lab.run("stats flight.jsonl 2>&1");
    EXPECT_EQ(said.status, 0) << said.text;
    expect_one_screen(said.text);
    EXPECT_NE(said.text.find("in the middle of a run, after " + std::to_string(first - 1) + " records."), said.text.npos)
        << said.text;
    for (const char* wrong : {"never came", "came late", "NOT accounted"})
      EXPECT_EQ(said.text.find(wrong), said.text.npos) << said.text;
    EXPECT_EQ(json::parse(lab.run("stats flight.jsonl --json -").text).at("earlier"), first - 1);
  }
}

TEST(Stats, TheDocumentHasWhatTheScreenSays) {
  const lab_program lab;
  ASSERT_EQ(lab.compare("--policies bsp:mean --no-cache --quiet --log run.jsonl").status, 0);
  const outcome printed = lab.run("stats run.jsonl --json -");
  ASSERT_EQ(printed.status, 0) << printed.text;
  ASSERT_EQ(lab.run("stats run.jsonl --json stats.json").status, 0);
  EXPECT_EQ(lab.content("stats.json"), printed.text);
  const json document = json::parse(printed.text);
  const json& all = document.at("gradients");
  EXPECT_EQ(all.at("pushed"), all.at("applied").get<int>() + all.at("flushed").get<int>() +
                                  all.at("dropped").get<int>() + all.at("in_round").get<int>() +
                                  all.at("at_server").get<int>());
  int pushed = 0;
  for (const json& each : document.at("workers")) pushed += each.at("gradients").at("pushed").get<int>();
  EXPECT_EQ(all.at("pushed"), pushed);
  EXPECT_GT(pushed, 100);
  EXPECT_EQ(document.at("policies").at(0).at("flushes"), document.at("updates"));
}

TEST(Stats, WhatIsSoundOfALogIsReadAndTheRestIsSaid) {
  const lab_program lab;
  ASSERT_EQ(lab.compare("--policies asp --no-cache --quiet --log run.jsonl").status, 0);
  const std::string log = lab.content("run.jsonl");
  const std::size_t middle = log.find('\n', log.size() / 2);
  const auto expect = [&](const std::string& name, const std::string& text, const std::string& part) {
    lab.folder.write(name, text);
    for (const char* command : {"stats ", "replay "}) {
      const outcome said = lab.run(command + name + " 2>&1");
      EXPECT_EQ(said.status, 1) << said.text;
      EXPECT_NE(said.text.find(part), std::string::npos) << said.text;
      EXPECT_EQ(said.text.find('\x1b'), std::string::npos);
      EXPECT_NE(said.text.find("pushes of"), std::string::npos) << said.text;
    }
  };
  const auto lines = std::count(log.begin(), log.begin() + static_cast<std::ptrdiff_t>(middle), '\n') + 2;
  const std::string place = ":" + std::to_string(lines) + ": found ";
  expect("cut.jsonl", log.substr(0, middle + 30), "cut.jsonl" + place + "a line that is cut off");
  expect("torn.jsonl", log.substr(0, middle + 1) + "{\"what\":\"\x1b[2J\"}\n" + log.substr(middle + 1),
         "torn.jsonl" + place);
  expect("two.jsonl", log.substr(0, middle + 1) + log, "two.jsonl" + place + "the header of another log");
  lab.folder.write("none", "nothing\n");
  for (const char* command : {"stats none", "replay none", "stats absent", "replay absent"}) {
    const outcome said = lab.run(std::string{command} + " 2>&1");
    EXPECT_EQ(said.status, 2) << said.text;
    EXPECT_EQ(std::count(said.text.begin(), said.text.end(), '\n'), 1) << said.text;
  }
}

TEST(Replay, TheLoggedPolicyRepeatsItself) {
  const lab_program lab;
  for (const char* policy : {"asp", "ssp:2", "bsp:mean", "cap:2"}) {
    ASSERT_EQ(lab.compare(std::string{"--policies "} + policy + " --no-cache --quiet --log run.jsonl").status, 0);
    for (const char* given : {"", " --policy recorded"}) {
      const outcome said = lab.run(std::string{"replay run.jsonl"} + given);
      EXPECT_EQ(said.status, 0) << said.text;
      EXPECT_NE(said.text.find("The policy repeats itself exactly."), std::string::npos) << said.text;
    }
    EXPECT_EQ(lab.run(std::string{"replay run.jsonl --policy "} + policy).status, 0);
  }
}

// One number of one decision.
TEST(Replay, APolicyThatDoesNotRepeatItselfIsStatus3) {
  const lab_program lab;
  ASSERT_EQ(lab.compare("--policies ssp:2 --no-cache --quiet --log run.jsonl").status, 0);
  std::string log = lab.content("run.jsonl");
  const std::size_t release = log.find("\"what\":\"release\"", log.size() / 2);
  const std::string rate = "\"lr_scale\":1";
  log.replace(log.find(rate, release), rate.size(), "\"lr_scale\":2");
  lab.folder.write("changed.jsonl", log);
  const outcome said = lab.run("replay changed.jsonl 2>&1");
  EXPECT_EQ(said.status, 3) << said.text;
  EXPECT_NE(said.text.find("does NOT repeat itself"), std::string::npos) << said.text;
  EXPECT_NE(said.text.find("rate x 2"), std::string::npos) << said.text;
}

TEST(Replay, AnotherPolicyShowsWhereItDiffers) {
  const lab_program lab;
  ASSERT_EQ(lab.compare("--policies asp --no-cache --quiet --log run.jsonl").status, 0);
  const outcome said = lab.run("replay run.jsonl --policy bsp:mean --json both.json");
  EXPECT_EQ(said.status, 0) << said.text;
  const json document = json::parse(lab.content("both.json"));
  EXPECT_FALSE(document.at("same_policy").get<bool>());
  EXPECT_GT(document.at("differences").at("held"), 0);
  EXPECT_EQ(document.at("first").at(0).at("what"), "verdict");
  EXPECT_GT(document.at("first").at(0).at("line"), 1);
  EXPECT_EQ(lab.run("replay run.jsonl --policy nonsense 2>&1").status, 2);
  EXPECT_EQ(lab.run("replay run.jsonl --workers 1 2>&1").status, 2);
}

TEST(Replay, SyncSwitchRepeatsItself) {
  const lab_program lab;
  for (const char* policy : {"syncswitch:0.25:200", "syncswitch:0.25:greedy:200", "syncswitch:0.25:elastic:200"}) {
    ASSERT_EQ(lab.compare("--policies " + std::string{policy} + " --no-cache --quiet --log run.jsonl").status, 0);
    const outcome said = lab.run("replay run.jsonl 2>&1");
    EXPECT_EQ(said.status, 0) << policy << ": " << said.text;
    EXPECT_NE(said.text.find("The policy repeats itself exactly."), std::string::npos) << said.text;
  }
}

TEST(Replay, SaysWhatItMisses) {
  const lab_program lab;
  ASSERT_EQ(lab.compare("--policies ssp:2 --no-cache --quiet --log run.jsonl").status, 0);
  std::string log = lab.content("run.jsonl");
  const std::string staleness = "\"staleness\":2";
  std::string unknown = log;
  unknown.replace(unknown.find(staleness), staleness.size(), "\"staleness\":2.5");
  lab.folder.write("unknown.jsonl", unknown);
  const outcome policy = lab.run("replay unknown.jsonl 2>&1");
  EXPECT_EQ(policy.status, 2);
  EXPECT_NE(policy.text.find("expected --policy to name it"), std::string::npos) << policy.text;
  const std::size_t join = log.find('\n') + 1;
  log.erase(join, log.find('\n', join) + 1 - join);
  lab.folder.write("late.jsonl", log);
  const outcome midway = lab.run("replay late.jsonl 2>&1");
  EXPECT_EQ(midway.status, 2);
  EXPECT_NE(midway.text.find("a worker without a join"), std::string::npos) << midway.text;
}

}  // namespace
