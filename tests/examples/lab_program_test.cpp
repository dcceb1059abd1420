// The program itself: exit statuses, and what it leaves behind.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../../examples/lab/library_version.hpp"
#include "../../examples/lab/shipped.hpp"
#include "lab_program.hpp"

namespace {

using nlohmann::json;
using rubato::test::lab_program;
using rubato::test::outcome;
using rubato::test::shell;

TEST(LabProgram, WritesEveryKindOfResult) {
  const lab_program lab;
  const outcome got = lab.compare("--quiet --json a.json --csv a.csv --log a.jsonl --trace a.trace 2>&1");
  EXPECT_EQ(got.status, 0) << got.text;
  EXPECT_NE(got.text.find("the run of bsp:mean with seed 1"), std::string::npos) << got.text;
  EXPECT_EQ(json::parse(lab.content("a.json"))["rows"].size(), 8u);
  EXPECT_EQ(json::parse(lab.content("a.trace")).count("traceEvents"), 1u);
  const std::string log = lab.content("a.jsonl");
  EXPECT_EQ(json::parse(log.substr(0, log.find('\n')))["describe"]["aggregate"], "mean");
  const std::string runs = lab.content("a.csv");
  EXPECT_EQ(std::count(runs.begin(), runs.end(), '\n'), 25);
}

TEST(LabProgram, JsonOnStandardOutputIsAlone) {
  const lab_program lab;
  const outcome got = lab.compare("--json - 2>/dev/null");
  EXPECT_EQ(got.status, 0);
  EXPECT_EQ(json::parse(got.text)["rows"][2]["policy"], "asp");
}

TEST(LabProgram, ResumesFromItsCache) {
  const lab_program lab;
  const outcome first = lab.compare("--quiet --json -");
  EXPECT_EQ(lab.compare("--quiet --json - --threads 3").text, first.text);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator{lab.folder.path() / "out/cache"}, {}), 1);
  EXPECT_EQ(lab.compare("--quiet --json - --no-cache").text, first.text);
}

// A long comparison that gets a signal as soon as a first run is in the cache.
outcome interrupted(const lab_program& lab, const std::string& signal, const std::string& arguments) {
  return lab.interrupted(
      "compare --scenario quick.json --set objective.target_accuracy=1 --seeds 500 --quiet --threads 2 " + arguments,
      signal);
}

TEST(LabProgram, InterruptKeepsWholeResultsAndWritesThePartBesideThem) {
  const lab_program lab;
  lab.folder.write("a.json", "whole");
  const outcome got = interrupted(lab, "INT", "--json a.json --csv a.csv --log a.jsonl 2>&1");
  EXPECT_EQ(got.status, 130) << got.text;
  EXPECT_NE(got.text.find("INTERRUPTED"), std::string::npos) << got.text;
  EXPECT_NE(got.text.find("interrupted; partial result in a.json.partial, a.csv.partial; no log, no trace\n"),
            std::string::npos)
      << got.text;
  EXPECT_EQ(lab.content("a.json"), "whole");
  EXPECT_EQ(json::parse(lab.content("a.json.partial"))["setting"]["interrupted"], true);
  EXPECT_TRUE(lab.content("a.csv.partial").starts_with("policy,used,"));
  for (const char* name : {"a.csv", "a.jsonl", "a.jsonl.partial"})
    EXPECT_FALSE(std::filesystem::exists(lab.folder.path() / name)) << name;
}

TEST(LabProgram, TerminationIsAnInterruptAndExits143) {
  const lab_program lab;
  const outcome got = interrupted(lab, "TERM", "--json - 2>said");
  EXPECT_EQ(got.status, 143);
  EXPECT_EQ(got.text, "");
  EXPECT_EQ(lab.content("said"), "rubato-lab: interrupted; --json -: nothing printed\n");
}

TEST(LabProgram, CompleteResultsReplacePartialOnes) {
  const lab_program lab;
  lab.folder.write("a.json.partial", "of an interrupted call");
  EXPECT_EQ(lab.run("compare --scenario quick.json --policies asp --seeds 1 --no-cache --quiet --json a.json").status,
            0);
  EXPECT_TRUE(std::filesystem::exists(lab.folder.path() / "a.json"));
  EXPECT_FALSE(std::filesystem::exists(lab.folder.path() / "a.json.partial"));
}

TEST(LabProgram, TrainingSaysWhatWasKeptAndWhatItIsWorth) {
  const lab_program lab;
  const outcome got =
      lab.run("train --scenario quick.json --agent dqn --expert-runs 1 --episodes 1 --quiet --out p 2>&1");
  EXPECT_EQ(got.status, 0);
  EXPECT_NE(got.text.find("warning: no episode has taught it anything: it learns after 1000 pushes\n"),
            std::string::npos)
      << got.text;
  EXPECT_NE(got.text.find("kept: the policy after 0 episodes, the best of 2 evaluations\n"), std::string::npos)
      << got.text;
  const outcome few =
      lab.run("train --scenario quick.json --agent ppo --expert-runs 1 --episodes 1 --quiet --out few 2>&1");
  EXPECT_NE(few.text.find("warning: no episode has taught it anything: it learns after 512 pushes\n"),
            std::string::npos)
      << few.text;
  const outcome missed = lab.run(
      "train --scenario quick.json --set objective.max_time=1 --agent dqn --expert-runs 1 --episodes 0 --quiet --out q "
      "2>&1");
  EXPECT_NE(missed.text.find("warning: where ratios are missing, it or the expert missed the target"),
            std::string::npos)
      << missed.text;
}

TEST(LabProgram, ASearchIsComparedWithTheRuleThatItBeginsWith) {
  const lab_program lab;
  const std::string search =
      "train --scenario quick.json --agent es --generations 1 --population 4 --clusters 1 --rounds 1 --select-every 1 "
      "--selection-clusters 2 --quiet ";
  const outcome policy = lab.run(search + "--state cluster --out p");
  EXPECT_NE(policy.text.find("time of asp / its time "), std::string::npos) << policy.text;
  EXPECT_NE(policy.text.find("--policies bsp:sum,asp,ssp:3,file:p\n"), std::string::npos) << policy.text;
  const outcome correction = lab.run(search + "--out c");
  EXPECT_NE(correction.text.find("time of knee+decay / its time "), std::string::npos) << correction.text;
  EXPECT_NE(correction.text.find("--policies bsp:sum,knee+decay,file:c\n"), std::string::npos) << correction.text;
}

TEST(LabProgram, TheCommandInACardMakesThePolicyAgain) {
  const std::string brief = "--generations 2 --population 4 --clusters 1 --rounds 1 --selection-clusters 2 ";
  for (const std::string& how :
       {std::string{"ppo --expert-runs 1 --test-seeds 2 --episodes 30 --evaluate-every 100 --evaluation-episodes 1"},
        std::string{"mc --expert-runs 1 --test-seeds 2"}, "es --corrections rate " + brief,
        "es --initial distilled " + brief, "cma-es --state rlp_normalised --hidden 2 " + brief}) {
    const lab_program lab;
    const std::string train = "train --scenario quick.json --set objective.max_time=200 --agent ";
    ASSERT_EQ(lab.run(train + how + " --quiet --out once").status, 0);
    const auto made = json::parse(lab.run("inspect once --json").text);
    const std::string command = made["card"]["command"], program = "rubato-lab ";
    ASSERT_TRUE(command.starts_with(program)) << command;
    EXPECT_EQ(lab.run(command.substr(program.size()) + " --quiet --out again").status, 0) << command;
    EXPECT_EQ(lab.content("once"), lab.content("again"));
  }
}

TEST(LabProgram, TrainingByExpertsAloneCountsNoEpisodes) {
  const lab_program lab;
  const outcome got = lab.run(
      "train --scenario quick.json --set objective.max_time=200 --agent mc --expert-runs 1 --quiet --out p 2>&1");
  EXPECT_EQ(got.status, 0) << got.text;
  EXPECT_EQ(got.text.find("episodes"), std::string::npos) << got.text;
  EXPECT_NE(got.text.find("time of cap:8:fastest / its time: "), std::string::npos) << got.text;
}

// Runs the command and kills it as soon as the file is there, or newer than it was. How it ended: as in a shell.
int killed_at(const std::filesystem::path& file, const std::string& command) {
  const auto written = [&file] {
    std::error_code missing;
    const auto time = std::filesystem::last_write_time(file, missing);
    return missing ? std::filesystem::file_time_type::min() : time;
  };
  const auto before = written();
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (written() > before) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// Makes a training once without a break, and once more, killed at each of these files of it.
void killed_and_resumed(const std::string& train, const std::vector<std::string>& files) {
  const lab_program lab;
  ASSERT_EQ(lab.run(train + " --quiet --threads 1 --out whole").status, 0);
  ASSERT_NE(lab.content("whole"), "");
  for (const std::string& file : files)
    EXPECT_EQ(
        killed_at(lab.folder.path() / file, "cd '" + lab.folder.path().string() + "' && exec '" RUBATO_LAB_BINARY "' " +
                                                train + " --resume --threads 3 --out parts >said 2>&1"),
        137)
        << file << ": " << lab.content("said");
  EXPECT_EQ(lab.run(train + " --resume --quiet --threads 2 --out parts").status, 0);
  EXPECT_EQ(lab.content("parts"), lab.content("whole"));
  for (const auto& file : std::filesystem::directory_iterator{lab.folder.path()}) {
    const std::string name = file.path().filename().string();
    EXPECT_TRUE(name == "quick.json" || name == "whole" || name == "parts" || name == "said") << name;
  }
}

// Killed while it watches experts, after that, and five times while it learns.
TEST(LabProgram, KilledTrainingResumesToTheSameBytes) {
  const std::string learning = "parts.training";
  killed_and_resumed(
      "train --scenario quick.json --set objective.max_time=200 --agent dqn-paper-scaled --expert-runs 4 "
      "--episodes 300 --test-seeds 0",
      {"parts.lock", "parts.start", learning, learning, learning, learning, learning});
}

TEST(LabProgram, KilledSearchResumesToTheSameBytes) {
  const std::string searching = "parts.training";
  for (const std::string agent : {"es --initial distilled", "cma-es"})
    killed_and_resumed("train --scenario quick.json --agent " + agent +
                           " --generations 200 --population 4 --clusters 2 --rounds 2 --select-every 50 "
                           "--selection-clusters 3",
                       {"parts.lock", searching, searching, searching, searching});
}

TEST(LabProgram, InterruptedTrainingSaysHowToGoOn) {
  const lab_program lab;
  const outcome got =
      shell("cd '" + lab.folder.path().string() +
            "' || exit; '" RUBATO_LAB_BINARY
            "' train --scenario quick.json --agent dqn-paper --expert-runs 1 --episodes 1000000 --out a "
            "2>&1 & for i in $(seq 600); do test -e a.training && break; sleep 0.1; done; "
            "kill -INT $!; wait $!");
  EXPECT_EQ(got.status, 130) << got.text;
  EXPECT_NE(got.text.find("of 1000000 episodes; the same command with --resume goes on\n"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(lab.folder.path() / "a"));
}

TEST(LabProgram, AFullDeviceIsAnError) {
  const lab_program lab;
  for (const char* arguments : {"compare --scenario quick.json --seeds 1 --quiet --json - --csv a.csv", "policies",
                                "scenarios --keys", "--version", "--help"}) {
    const outcome got = lab.run(std::string{arguments} + " 2>&1 >/dev/full");
    EXPECT_EQ(got.status, 1) << arguments;
    EXPECT_EQ(got.text, "rubato-lab: standard output: cannot be written\n") << arguments;
  }
  EXPECT_NE(lab.content("a.csv"), "");
}

TEST(LabProgram, SaysWhatItTookFromTheCache) {
  const lab_program lab;
  EXPECT_EQ(lab.compare("--policies asp --json a.json 2>&1").text.find("cache"), std::string::npos);
  const std::string said = lab.compare("--policies 'asp, bsp' --json b.json 2>&1").text;
  EXPECT_NE(said.find("comparing: 3 of 6 results come from the cache\n"), std::string::npos) << said;
}

TEST(LabProgram, SaysWhereStepsAreMoreThanARun) {
  const lab_program lab;
  const outcome got = lab.compare("--policies syncswitch:0.4:900000,asp --quiet 2>&1 >/dev/null");
  EXPECT_TRUE(got.text.starts_with("rubato-lab: note: syncswitch:0.4:900000: runs end after some ")) << got.text;
  EXPECT_EQ(std::count(got.text.begin(), got.text.end(), '\n'), 1) << got.text;
  EXPECT_EQ(lab.compare("--policies asp --quiet 2>&1 >/dev/null").text, "");
}

TEST(LabProgram, AClairvoyantPlanIsARowBesideThePolicies) {
  const lab_program lab;
  const outcome got = lab.compare("--policies asp,ssp:3 --clairvoyant --quiet --json - 2>&1");
  ASSERT_EQ(got.status, 0) << got.text;
  const auto rows = nlohmann::json::parse(got.text)["rows"];
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[2]["policy"], "clairvoyant");
}

TEST(LabProgram, SaysItsVersion) {
  const outcome got = lab_program{}.run("--version");
  EXPECT_EQ(got.status, 0);
  EXPECT_EQ(got.text, "rubato-lab " + rubato::lab::library_version() + "\n");
}

TEST(LabProgram, ListsPoliciesAndScenarios) {
  const lab_program lab;
  EXPECT_NE(lab.run("policies").text.find("ssp: no worker starts a step more than 3 steps ahead"), std::string::npos);
  EXPECT_EQ(json::parse(lab.run("policies --json").text)[1]["variants"][0]["describe"]["kind"], "asp");
  const json rules = json::parse(lab.run("policies --json").text);  // also where a file of one is missing
  const auto named = [&](std::string_view name) -> const json& {
    return *std::ranges::find_if(rules, [&](const json& each) { return each["name"] == name; });
  };
  const json& rlp = named("rlp");
  EXPECT_EQ(rlp["variants"][0]["line"].is_null(), rlp["variants"][0].contains("refused"));
  EXPECT_EQ(named("file")["syntax"], "file:PATH");
  EXPECT_NE(lab.run("scenarios").text.find("\nshared4\n    "), std::string::npos);
  EXPECT_NE(lab.run("scenarios").text.find("\nrandom:NUMBER\n    "), std::string::npos);
  EXPECT_EQ(json::parse(lab.run("scenarios paper").text)["cluster"]["cores"], 1);
  EXPECT_NE(lab.run("scenarios --keys").text.find("cluster.link.bandwidth\n"), std::string::npos);
  EXPECT_EQ(lab.run("--help").status, 0);
}

TEST(LabProgram, BadInputIsOneLineAndStatus2) {
  const lab_program lab;
  lab.folder.write("bad.json", R"({"name": "bad", "workers": "ten"})");
  lab.folder.write("a", "");
  std::filesystem::create_symlink("a", lab.folder.path() / "link");
  lab.folder.write("train-images-idx3-ubyte", "short");
  lab.folder.write("train-labels-idx1-ubyte", "short");
  for (const auto& [arguments, message] : std::vector<std::pair<std::string, std::string>>{
           {"", "A subcommand is required"},
           {"compute --seeds 3", "found \"compute\", expected one of compare, room, batch, train"},
           {"batch train --population 3 --out a", "--population: found 3, expected an even number"},
           {"compare --bogus", "The following argument was not expected: --bogus"},
           {"compare --scenario nope", "--scenario: found \"nope\", expected a .json file, random:NUMBER or one of"},
           {"compare --scenario bad.json", "bad.json: workers: found \"ten\", expected a whole number from 1 to 10000"},
           {"compare --scenario none.json", "none.json: found no such file"},
           {"compare --set worker=3", "--set: found the unknown key worker, expected a known one; the nearest is"},
           {"compare --policies foo", "--policies: found \"foo\", expected one of bsp"},
           {"compare --policies asp,ksync:11",
            "--policies: \"ksync:11\": k is 11, expected 1 to 10, the number of workers"},
           {"compare --policies ssp:x", "found \"x\", expected a number of steps, or inf"},
           {"compare --seeds 0", "--seeds: found \"0\", expected a whole number from 1 to 100000"},
           {"compare --seed -1", "--seed: found \"-1\", expected a whole number from 0 to"},
           {"compare --threads many", "--threads: found \"many\", expected a whole number from 1 to 1024"},
           {"compare --data nowhere", "nowhere: cannot be read as a directory"},
           {"compare --data .", "train-images-idx3-ubyte"},
           {"compare --scenario quick.json --json no/where.json", "--json: "},
           {"compare --scenario quick.json --csv -", "--csv: found \"-\", expected the name of a file"},
           {"compare --scenario quick.json --json a --csv ./a",
            "--csv: found \"./a\", which --json needs, expected a file of its own"},
           {"compare --scenario quick.json --log a --trace link", "--trace: found \"link\", which --log needs"},
           {"compare --scenario quick.json --cache bad.json/x", "--cache: bad.json/x"},
           {"train --agent dqn", "--out is required"},
           {"train --out a", "--agent is required"},
           {"train --agent sarsa --out a",
            "--agent: found \"sarsa\", expected one of dqn-paper, dqn-paper-scaled, dqn"},
           {"train --agent sarsa --scenario random --out a", "--agent: found \"sarsa\", expected one of"},
           {"train --agent dqn --scenario random --out b",
            "--scenario: found random with --agent dqn, which does not search, expected one cluster, such as random:1"},
           {"train --agent dqn --state cpu --out b --scenario quick.json", "--state: found \"cpu\", expected rlp"},
           {"train --agent dqn --episodes -1 --out b", "--episodes: found \"-1\", expected a whole number from 0"},
           {"train --agent mc --episodes 5 --out b --scenario quick.json",
            "--episodes: found 5, expected 0: mc learns from experts alone"},
           {"train --agent ppo --episodes 0 --out b --scenario quick.json",
            "--episodes 0: found neither experts that teach nor --initial"},
           {"train --agent dqn --initial none --out b --scenario quick.json", "none"},
           {"train --agent dqn --initial none --expert-runs 3 --out b", "--expert-runs: found it beside --initial"},
           {"train --agent dqn --set objective.target_accuracy=auto --out b", "found objective.target_accuracy = auto"},
           {"train --agent dqn --out no/where --scenario quick.json", "no/where"},
           {"train --agent dqn --scenario quick.json --out b --curve ./b", "--curve: found \"./b\", which --out needs"},
           {"train --agent dqn --scenario quick.json --out b --curve b.start", "--curve: found \"b.start\""},
           {"train --agent dqn --scenario quick.json --out b --curve -", "--curve: found \"-\""},
           {"train --agent dqn --out b --initial i --curve ./i", "--curve: found \"./i\", which --initial needs"},
           {"train --agent dqn --scenario quick.json --out ''", "--out: found \"\", expected something"},
           {"train --agent dqn --scenario quick.json --out b --curve no/where", "--curve: "},
           {"train --agent dqn-paper --scenario quick.json --out b --curve c",
            "--curve: found no evaluations to write"},
           {"train --agent dqn-paper --scenario quick.json --out b --evaluation-episodes 3", "--evaluation-episodes: "},
           {"train --agent dqn --scenario quick.json --out b --expert-runs 0",
            "--expert-runs: found 0, expected at least 1"},
           {"train --agent dqn-paper --scenario quick.json --out b --expert-runs 0 --episodes 0",
            "--episodes 0: found"},
           {"train --agent dqn --scenario quick.json --out b --licence 'a\nb'", "found a control or hidden character"},
           {"train --agent dqn --scenario quick.json --out b --corrections rate",
            "--corrections: found it with --agent dqn, which does not search"},
           {"train --agent es --scenario quick.json --out b --corrections none",
            "--corrections: found \"none\", expected rate, batch or both"},
           {"train --agent es --scenario quick.json --out b --state cluster --corrections both",
            "--corrections: found it beside --state, expected one of them"},
           {"train --agent es --scenario quick.json --out b --state cpu", "--state: found \"cpu\", expected rlp"},
           {"train --agent es --scenario quick.json --out b --episodes 3",
            "--episodes: found it with --agent es, which searches"},
           {"explain '" + rubato::lab::shipped("examples/lab/policies/learned.safetensors").string() +
                "' --map no/where.svg",
            "--map: cannot create no/where.svg"},
           {"scenarios nope", "found \"nope\""}}) {
    const outcome got = lab.run(arguments + " 2>&1 >/dev/null");
    EXPECT_EQ(got.status, 2) << arguments;
    EXPECT_TRUE(got.text.starts_with("rubato-lab: ")) << got.text;
    EXPECT_NE(got.text.find(message), std::string::npos) << got.text;
    EXPECT_EQ(std::count(got.text.begin(), got.text.end(), '\n'), 1) << got.text;
  }
}

TEST(LabProgram, NothingIsWrittenOverWhatItNeeds) {
  const lab_program lab;
  std::filesystem::copy_file(rubato::lab::shipped("examples/lab/policies/learned.safetensors"),
                             lab.folder.path() / "p.safetensors");
  std::filesystem::create_directory(lab.folder.path() / "images");
  const std::string image(3'073, '\0');
  lab.folder.write("images/data_batch_1.bin", image + image);
  const std::string scenario = lab.content("quick.json"), policy = lab.content("p.safetensors");
  for (const auto& [arguments, message] : std::vector<std::pair<std::string, std::string>>{
           {"compare --scenario quick.json --csv ./quick.json",
            "--csv: found \"./quick.json\", which --scenario needs"},
           {"compare --policies asp,file:p.safetensors+decay --log p.safetensors",
            "--log: found \"p.safetensors\", which --policies needs"},
           {"explain p.safetensors --map ./p.safetensors", "--map: found \"./p.safetensors\", which FILE needs"},
           {"explain p.safetensors --scenario quick.json --map quick.json",
            "--map: found \"quick.json\", which --scen"},
           {"train --agent es --scenario quick.json --initial p.safetensors --out p.safetensors",
            "--out: found \"p.safetensors\", which --initial needs"},
           {"train --agent dqn --scenario quick.json --out b --curve quick.json",
            "--curve: found \"quick.json\", which --scenario needs"},
           {"compare --scenario quick.json --data images --json images/data_batch_1.bin",
            "--json: found \"images/data_batch_1.bin\", which --data needs"},
           {"explain p.safetensors --scenario quick.json --data images --map images/data_batch_1.bin",
            "which --data needs"},
           {"search-switch --scenario quick.json --data images --json images/data_batch_1.bin", "which --data needs"},
           {"experiment sync-switch --set objective.kind=quadratic --data images --json images/data_batch_1.bin",
            "which --data needs"},
           {"train --agent dqn --scenario quick.json --data images --out b --curve images/data_batch_1.bin",
            "which --data needs"},
           {"train --agent es --scenario quick.json --data images --out images/data_batch_1.bin",
            "which --data needs"}}) {
    const outcome got = lab.run(arguments + " 2>&1");
    EXPECT_EQ(got.status, 2) << arguments << '\n' << got.text;
    EXPECT_NE(got.text.find(message), std::string::npos) << arguments << '\n' << got.text;
  }
  EXPECT_EQ(lab.content("quick.json"), scenario);
  EXPECT_EQ(lab.content("p.safetensors"), policy);
  EXPECT_EQ(lab.content("images/data_batch_1.bin"), image + image);
}

// As of a variable of the shell that is not set.
TEST(LabProgram, AnEmptyWordIsRefused) {
  const lab_program lab;
  for (const std::string arguments :
       {"compare --scenario quick.json --json", "compare --scenario quick.json --csv", "compare --data",
        "compare --cache", "timeline run.jsonl --out", "stats run.jsonl --json", "stats", "report a.json -o",
        "explain p --map", "train --agent dqn --out", "growth train --tables", "batch train --out"}) {
    const outcome got = lab.run(arguments + " '' 2>&1");
    EXPECT_EQ(got.status, 2) << arguments << '\n' << got.text;
    EXPECT_NE(got.text.find(": found \"\", expected something\n"), std::string::npos) << arguments << '\n' << got.text;
    EXPECT_EQ(std::ranges::count(got.text, '\n'), 1) << got.text;
  }
}

TEST(LabProgram, NothingIsWrittenOverTheCache) {
  const lab_program lab;
  ASSERT_EQ(lab.compare("--cache c >/dev/null 2>&1").status, 0);
  const auto cache = std::filesystem::directory_iterator { lab.folder.path() / "c" } -> path();
  const std::string name = "c/" + cache.filename().string(), before = lab.content(name.c_str());
  ASSERT_FALSE(before.empty());
  for (const char* command :
       {"compare --scenario quick.json", "experiment sync-switch", "search-switch --scenario quick.json"}) {
    const outcome got = lab.run(std::string{command} + " --cache c --json " + name + " 2>&1");
    EXPECT_EQ(got.status, 2) << got.text;
    EXPECT_NE(got.text.find("which --cache needs"), std::string::npos) << got.text;
    EXPECT_EQ(lab.content(name.c_str()), before);
  }
}

TEST(LabProgram, AFileAboveTheShellsLimitIsAnErrorLikeAnyOther) {
  const lab_program lab;
  const outcome got =
      shell("cd '" + lab.folder.path().string() +
            "' && ulimit -f 1 && '" RUBATO_LAB_BINARY
            "' compare --scenario quick.json --policies asp --seeds 2 --no-cache --quiet --log a.jsonl 2>&1");
  EXPECT_EQ(got.status, 2) << got.text;
  EXPECT_NE(got.text.find("a.jsonl: File too large"), std::string::npos) << got.text;
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator{lab.folder.path()}, {}), 1);  // quick.json
}

TEST(LabProgram, NobodyWaitsForAPipeNorReadsADeviceOrFolder) {
  const lab_program lab;
  std::filesystem::create_directory(lab.folder.path() / "logs");
  for (const char* pipe : {"pipe", "logs/summary.csv"}) ASSERT_EQ(mkfifo((lab.folder.path() / pipe).c_str(), 0600), 0);
  for (const auto& [arguments, message] : std::vector<std::pair<std::string, std::string>>{
           {"stats pipe", "pipe: found a device or pipe"},
           {"replay pipe", "pipe: found a device or pipe"},
           {"fit pipe", "pipe: found a device or pipe"},
           {"timeline pipe --out a", "pipe: found a device or pipe"},
           {"watch pipe --once", "pipe: found a device or pipe"},
           {"watch pipe", "pipe: found a device or pipe"},
           {"report pipe -o a.html", "pipe: found a device or pipe"},
           {"report --log pipe -o a.html", "pipe: found a device or pipe"},
           {"search-switch --logs logs --workload w", "logs/summary.csv: found a device or pipe"},
           {"train --agent dqn --scenario quick.json --out b --initial pipe", "pipe: found a device or pipe"},
           {"train --agent dqn --scenario quick.json --out b --initial /dev/zero", "/dev/zero: found a device or pipe"},
           {"train --agent dqn --scenario quick.json --out b --initial logs", "logs: found a directory"},
           {"stats logs", "logs: found a directory"},
           {"watch logs --once", "logs: found a directory"}}) {
    const outcome got =
        shell("cd '" + lab.folder.path().string() + "' && timeout 20 '" RUBATO_LAB_BINARY "' " + arguments + " 2>&1");
    EXPECT_EQ(got.status, 2) << arguments << '\n' << got.text;
    EXPECT_TRUE(got.text.starts_with("rubato-lab: " + message)) << arguments << '\n' << got.text;
  }
}

TEST(LabProgram, InterruptedExplanationSaysSo) {
  const lab_program lab;
  const outcome got = shell("cd '" + lab.folder.path().string() + "' || exit; '" RUBATO_LAB_BINARY "' explain '" +
                            rubato::lab::shipped("examples/lab/policies/learned.safetensors").string() +
                            "' --scenario paper --seeds 500 --map a.svg 2>&1 & "
                            "for i in $(seq 600); do ls a.svg.* >/dev/null 2>&1 && break; sleep 0.1; done; sleep 0.5; "
                            "kill -INT $!; wait $!");
  EXPECT_EQ(got.status, 130) << got.text;
  EXPECT_EQ(got.text, "rubato-lab: interrupted; nothing is kept\n");
  EXPECT_FALSE(std::filesystem::exists(lab.folder.path() / "a.svg"));
}

TEST(LabProgram, ARefusedRequestLeavesNothingBehind) {
  const lab_program lab;
  EXPECT_EQ(lab.compare("--json a.json --csv no/where.csv 2>&1").status, 2);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator{lab.folder.path()}, {}), 1);  // quick.json
}

}  // namespace
