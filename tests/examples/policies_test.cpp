#include "../../examples/lab/policies.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <rubato/sync/knee.hpp>

#include "../../examples/support/user_error.hpp"
#include "temporary_directory.hpp"

namespace {

using namespace rubato::lab;

std::string describe(const std::string& name) { return parse_policy(name).policy.describe().json; }

std::string refusal_of_list(const std::string& list, bool tunable = false) {
  return rubato::test::message_of<rubato::support::user_error>([&] { return parse_policies(list, tunable); });
}

TEST(Policies, EveryVariantParsesAndPrintsItself) {
  for (const rule& each : rules())
    for (const auto& name : each.variants) {
      if (each.of_file) continue;  // what lies in a file is another matter
      const named_policy parsed = parse_policy(name);
      EXPECT_EQ(parsed.name, name);
      EXPECT_FALSE(parsed.policy.describe().line.empty());
      EXPECT_EQ(nlohmann::json::parse(describe(parsed.name)).at("kind"), parsed.policy.kind());
      EXPECT_EQ(parsed.policy.kind(), each.of_batches ? "bsp" : each.name);
    }
}

TEST(Policies, NamesMeanWhatTheySay) {
  EXPECT_EQ(describe("bsp"), R"({"kind":"bsp","aggregate":"mean"})");
  EXPECT_EQ(describe("bsp:mean"), describe("bsp"));
  EXPECT_EQ(describe("bsp:sum"), R"({"kind":"bsp","aggregate":"sum"})");
  EXPECT_EQ(describe("asp"), R"({"kind":"asp"})");
  EXPECT_EQ(describe("ssp:0"), R"({"kind":"ssp","staleness":0})");
  EXPECT_EQ(describe("ssp:inf"), R"({"kind":"ssp","staleness":null})");
  EXPECT_EQ(describe("knee"), R"({"kind":"knee","threshold":0.3,"scales_rate":true,"most_scatter":0.25})");
  EXPECT_EQ(describe("knee:0.5"), R"({"kind":"knee","threshold":0.5,"scales_rate":true,"most_scatter":0.25})");
  EXPECT_EQ(describe("knee:0.3:fixed"), R"({"kind":"knee","threshold":0.3,"scales_rate":false,"most_scatter":0.25})");
  EXPECT_EQ(describe("knee:0.3:eager"), R"({"kind":"knee","threshold":0.3,"scales_rate":true})");
  EXPECT_EQ(nlohmann::json::parse(describe("knee:0.5+decay")).at("of"), nlohmann::json::parse(describe("knee:0.5")));
}

TEST(Policies, ThresholdsOfKneeAreTheNumbersThatItPrints) {
  for (const float threshold : {0.3F, 0.1F, 1.0F / 3, 0.30000004F, 1e-7F, 1.1e-38F, 0.99999994F}) {
    const std::string options = rubato::knee{.threshold = threshold}.describe().json;
    const std::size_t begin = options.find("threshold\":") + std::string_view{"threshold\":"}.size();
    const std::string printed = options.substr(begin, options.find(',', begin) - begin);
    const named_policy parsed = parse_policy("knee:" + printed);
    EXPECT_EQ(parsed.name, "knee:" + printed);
    EXPECT_EQ(parsed.policy.target<rubato::knee>()->threshold, threshold) << printed;
  }
}

TEST(Policies, BadNamesOfKneeAreRefused) {
  const auto bad = [](const std::string& name, const std::string& what) {
    EXPECT_EQ(refusal_of_list(name).find("--policies: \"" + name + "\": found " + what + " (usage: "), 0u)
        << refusal_of_list(name);
  };
  for (const std::string each : {"", "0", "1", "-0.5", "1.5", "nan", "0.5x", "0.9999999999", "1e-60", "fixed", "loss"})
    bad("knee:" + each, "\"" + each + "\", expected a number above 0 and below 1");
  bad("knee:0.5:scaled", "\"scaled\", expected fixed, eager or nothing");
  bad("knee:0.5:", "\"\", expected fixed, eager or nothing");
  bad("knee:0.5:fixed:1", "\"1\", expected nothing more");
}

// Zhu et al. hold a worker when its lead equals s, we when it exceeds s.
TEST(Policies, RlpConventionIsOneLess) {
  EXPECT_EQ(describe("ssp:3:rlp"), describe("ssp:2"));
  EXPECT_EQ(describe("ssp:1:rlp"), describe("ssp:0"));
}

TEST(Policies, RivalNamesMeanWhatTheySay) {
  EXPECT_EQ(describe("ksync:5"), R"({"kind":"ksync","k":5})");
  EXPECT_EQ(describe("kbatch:5"), R"({"kind":"kbatch","k":5})");
  EXPECT_EQ(describe("kasync:5"), R"({"kind":"kasync","k":5})");
  EXPECT_EQ(describe("kbatchasync:5"), R"({"kind":"kbatchasync","k":5})");
  EXPECT_EQ(describe("buffer:10-5-2"), R"({"kind":"buffer","active":10,"buffer":5,"open":2})");
  EXPECT_EQ(describe("backup:0"), R"({"kind":"backup","backups":0})");
  EXPECT_EQ(describe("rennala:5"), R"({"kind":"rennala","batch":5})");
  EXPECT_EQ(describe("ringmaster:20"), R"({"kind":"ringmaster","delay":20,"stops":false})");
  EXPECT_EQ(describe("ringmaster:20:stop"), R"({"kind":"ringmaster","delay":20,"stops":true})");
  EXPECT_EQ(describe("mfastest:4"), R"({"kind":"mfastest","m":4,"probe":0})");
  EXPECT_EQ(describe("mfastest:4:50"), R"({"kind":"mfastest","m":4,"probe":50})");
  EXPECT_EQ(describe("cap:3"), R"({"kind":"cap","running":3,"order":"fifo"})");
  EXPECT_EQ(describe("cap:3:fastest"), R"({"kind":"cap","running":3,"order":"fastest"})");
  EXPECT_EQ(describe("cap:3:random"), R"({"kind":"cap","running":3,"order":"random"})");
  EXPECT_EQ(describe("aimd"), R"({"kind":"aimd","tolerance":0.2,"decrease":0.5})");
}

TEST(Policies, BadNamesOfRivalsAreRefused) {
  const auto bad = [](const std::string& name, const std::string& what) {
    EXPECT_EQ(refusal_of_list(name).find("--policies: \"" + name + "\": found " + what + " (usage: "), 0u)
        << refusal_of_list(name);
  };
  for (const std::string each : {"ksync:", "kasync:"}) bad(each, "\"\", expected a number of workers, at least 1");
  for (const std::string each : {"kbatch:0", "kbatchasync:0", "rennala:0"})
    bad(each, "\"0\", expected a number of gradients, at least 1");
  bad("ksync:3:2", "\"2\", expected nothing more");
  bad("backup:x", "\"x\", expected a number of workers");
  for (const std::string parts : {"10", "10-5", "10-5-", "10-5-1-1", "10-0-1", "-5-1", "a-b-c"})
    EXPECT_NE(refusal_of_list("buffer:" + parts).find("expected three numbers of at least 1: K-B-O, as in 10-5-1"),
              std::string::npos)
        << parts;
  bad("ringmaster:0", "\"0\", expected a number of updates, at least 1");
  bad("ringmaster:5:go", "\"go\", expected stop or nothing");
  bad("mfastest:4:0", "\"0\", expected a number of pushes, at least 1");
  bad("cap:3:slowest", "\"slowest\", expected fifo, fastest or random");
}

TEST(Policies, AdaptiveNamesMeanWhatTheySay) {
  EXPECT_EQ(describe("dssp:3-15"), R"({"kind":"dssp","lower":3,"upper":15,"smoothing":1})");
  EXPECT_EQ(describe("zipline"), describe("zipline:15"));
  EXPECT_EQ(describe("zipline:40"), R"({"kind":"zipline","lookahead":40})");
  EXPECT_EQ(describe("aap"), R"({"kind":"aap","floor":1,"fraction":0,"staleness":null})");
  EXPECT_EQ(describe("aap:inf"), R"({"kind":"aap","floor":null,"fraction":0,"staleness":null})");
  EXPECT_EQ(describe("aap:3:0.5:8"), R"({"kind":"aap","floor":3,"fraction":0.5,"staleness":8})");
  EXPECT_EQ(describe("adasync"), describe("adasync:1:kasync"));
  EXPECT_EQ(describe("adasync:ksync"), describe("adasync:1:ksync"));
  EXPECT_EQ(describe("adasync:2:kbatch"),
            R"({"kind":"adasync","rule":"kbatch","initial":2,"interval":10,"newest":0.1,"monotone":true})");
  EXPECT_EQ(describe("syncswitch:0.25:500"),
            R"({"kind":"syncswitch","share":0.25,"workload":500,"reaction":"none","scales_rate":true,)"
            R"("first":{"kind":"bsp","aggregate":"mean"},"second":{"kind":"asp"}})");
  EXPECT_EQ(nlohmann::json::parse(describe("syncswitch:1:greedy:7")).at("reaction"), "greedy");
}

TEST(Policies, BadNamesOfAdaptiveRulesAreRefused) {
  const auto bad = [](const std::string& name, const std::string& what) {
    EXPECT_EQ(refusal_of_list(name).find("--policies: \"" + name + "\": found " + what + " (usage: "), 0u)
        << refusal_of_list(name);
  };
  for (const std::string parts : {"", "3", "15-3", "3-", "-3", "3-70000", "a-b"})
    EXPECT_NE(
        refusal_of_list("dssp:" + parts).find("expected two numbers of steps, the lower one first: L-U, as in 3-15"),
        std::string::npos)
        << parts;
  bad("zipline:0", "\"0\", expected a number of steps, at least 1");
  bad("aap:-1", "\"-1\", expected a number of updates, or inf");
  bad("aap:1:-1", "\"-1\", expected a part of a step time, 0 or more");
  bad("aap:1:0:x", "\"x\", expected a number of steps");
  bad("aap:1:0:3:4", "\"4\", expected nothing more");
  bad("adasync:0", "\"0\", expected a number of gradients, at least 1");
  bad("adasync:2:asp", "\"asp\", expected ksync, kasync, kbatch or kbatchasync");
  bad("adasync:asp", "\"asp\", expected a number of gradients, ksync, kasync, kbatch or kbatchasync");
  bad("adasync:2:ksync:1", "\"1\", expected nothing more");
  bad("syncswitch:0.5", "\"\", expected greedy, elastic or the number of steps of all workers together");
}

TEST(Policies, ThoseThatDoNotFitTheWorkersAreRefused) {
  auto list = parse_policies("asp,ksync:11", false);
  EXPECT_EQ(rubato::test::message_of<rubato::support::user_error>([&] { fit_policies(list, 10); }),
            "--policies: \"ksync:11\": k is 11, expected 1 to 10, the number of workers");
  list = parse_policies("asp,ksync:11", false);
  fit_policies(list, 11);
  EXPECT_EQ(list[1].candidates.size(), 1u);
}

TEST(Policies, TuningTakesThoseThatFit) {
  auto list = parse_policies("ksync,rennala", true);
  EXPECT_EQ(list[0].candidates.size(), 4u);
  fit_policies(list, 5);
  ASSERT_EQ(list[0].candidates.size(), 2u);
  EXPECT_EQ(list[0].candidates.back().name, "ksync:4");
  EXPECT_EQ(list[1].candidates.size(), 4u);
  EXPECT_EQ(rubato::test::message_of<rubato::support::user_error>([&] { fit_policies(list, 1); }),
            "--policies: \"ksync\": k is 2, expected 1 to 1, the number of workers");
}

// With ten workers cap:10:fastest, cap:12:fastest, cap:16 and so on are all asp.
TEST(Policies, OneCapOfThoseThatHoldNobody) {
  const auto open = [](const std::string& list, bool tunable, std::uint32_t workers) {
    auto requests = parse_policies(list, tunable);
    fit_policies(requests, workers);
    std::string names;
    for (const policy_request& request : requests)
      for (const auto& [name, policy] : request.candidates)
        if (name.starts_with("cap:") && std::stoul(name.substr(4)) >= workers) names += " " + name;
    return names;
  };
  EXPECT_EQ(open("cap", true, 10), " cap:10:fastest");
  EXPECT_EQ(open("cap", true, 11), " cap:12:fastest");
  EXPECT_EQ(open("cap,cap+decay", true, 16), " cap:16:fastest cap:16:fastest+decay");
  EXPECT_EQ(open("cap", true, 65), "");
  EXPECT_EQ(open("all", true, 10), " cap:10:fastest");
  EXPECT_EQ(open("all,all+decay", false, 10), " cap:10:fastest cap:10:fastest+decay");
  EXPECT_EQ(open("cap:64,cap:16,cap:12:fastest,cap:16+decay", false, 10), " cap:64 cap:16 cap:12:fastest cap:16+decay");
  EXPECT_EQ(open("cap:64,cap", true, 10), " cap:64 cap:10:fastest");
  EXPECT_EQ(open("all,cap:16", false, 10), " cap:10:fastest cap:16");
  auto cap = parse_policies("cap", true);
  fit_policies(cap, 10);
  EXPECT_EQ(cap[0].candidates.size(), 16u);
}

TEST(Policies, BadNamesAreRefusedWithWhatIsKnown) {
  const std::string known =
      "bsp[:mean|:sum], asp, ssp:S|ssp:inf|ssp:S:rlp, knee[:THRESHOLD[:fixed|eager]], learned, distilled, stigmergic, "
      "ksync:K, kbatch:K, kasync:K, "
      "kbatchasync:K, "
      "buffer:K-B-O, "
      "backup:B, rennala:K, ringmaster:R[:stop], mfastest:M[:PROBE], cap:M[:fifo|:fastest|:random], aimd, "
      "dssp:L-U, zipline[:R], aap[:L[:F[:S]]], adasync[:K0][:ksync|:kasync|:kbatch|:kbatchasync], "
      "syncswitch:SHARE[:greedy|:elastic]:STEPS, rlp[:PATH], "
      "file:PATH; after any of them +scale:1/tau|1/(tau+1)|dyn|poly:A|hinge:A:B +const:C +lr:R/M +decay +batch:N "
      "+gone:TIME "
      "+static[:N] +lb-bsp[:N[:PERIOD]] +warm-up[:FROM:TO[:OVER]] +goodput[:N[:PERIOD]] "
      "+goodput-balanced[:N[:PERIOD]] +dynamix[:N[:FILE]] +random[:N[:PERIOD]]; from +static on also without the +";
  EXPECT_EQ(refusal_of_list("bps"), "--policies: found \"bps\", expected one of " + known + "; the nearest is bsp");
  EXPECT_EQ(refusal_of_list(""), "--policies: found \"\", expected one of " + known + "; the nearest is bsp");
  EXPECT_EQ(refusal_of_list("asp,,bsp"), "--policies: found \"\", expected one of " + known + "; the nearest is bsp");
  const auto bad = [&](const std::string& name, const std::string& what) {
    EXPECT_EQ(refusal_of_list("asp," + name).find("--policies: \"" + name + "\": " + what + " (usage: "), 0u);
  };
  bad("bsp:median", "found \"median\", expected mean or sum");
  bad("bsp:sum:2", "found \"2\", expected nothing more");
  bad("asp:1", "found \"1\", expected nothing more");
  bad("ssp:", "found \"\", expected a number of steps, or inf");
  bad("ssp:-1", "found \"-1\", expected a number of steps, or inf");
  bad("ssp:3.5", "found \"3.5\", expected a number of steps, or inf");
  bad("ssp:99999999999", "found \"99999999999\", expected a number of steps, or inf");
  bad("ssp:inf:rlp", "found \"inf\", expected a number of steps");
  bad("ssp:3:ho", "found \"ho\", expected rlp or nothing");
  bad("ssp:0:rlp", "found \"0\", expected at least 1 with rlp: nobody could ever run");
  bad("ssp:3:rlp:x", "found \"x\", expected nothing more");
}

TEST(Policies, ListKeepsOrderAndRefusesRepeats) {
  const auto list = parse_policies("ssp:3,bsp", false);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].name, "ssp:3");
  EXPECT_EQ(list[1].name, "bsp");
  EXPECT_EQ(refusal_of_list("asp,bsp,asp"), "--policies: found \"asp\" twice, expected it once");
}

TEST(Policies, BlanksAroundNamesAreOfNoMatter) {
  const auto list = parse_policies(" asp, ssp:3 ", false);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].name, "asp");
  EXPECT_EQ(list[1].name, "ssp:3");
  EXPECT_EQ(refusal_of_list("asp, asp"), "--policies: found \"asp\" twice, expected it once");
  EXPECT_EQ(refusal_of_list("asp, "), refusal_of_list("asp,"));
}

TEST(Policies, AllIsEveryRuleThatReadsNoFileAndSetsNoBatches) {
  const auto names_of = [](const std::string& list, bool tunable) {
    std::vector<std::string> names;
    for (const policy_request& each : parse_policies(list, tunable)) names.push_back(each.name);
    return names;
  };
  const auto count = [](const std::vector<std::string>& names, const std::string& name) {
    return std::ranges::count(names, name);
  };
  const auto tuned = names_of("all", true), each = names_of("all", false);
  for (const rule& known : rules()) {
    const auto any_of_it = [&](const std::string& name) { return name.substr(0, name.find(':')) == known.name; };
    const bool expected = !known.of_file && !known.of_batches;
    EXPECT_EQ(std::ranges::any_of(tuned, any_of_it), expected) << known.name;
    EXPECT_EQ(std::ranges::any_of(each, any_of_it), expected) << known.name;
  }
  EXPECT_EQ(count(tuned, "ssp"), 1);
  EXPECT_EQ(count(each, "ssp:3"), 1);
  EXPECT_EQ(count(tuned, "bsp:sum"), 1);
  EXPECT_EQ(count(tuned, "bsp:mean"), 0) << "bsp is the same";
  EXPECT_EQ(count(names_of("all+decay", true), "ssp+decay"), 1);
  const auto first = names_of("knee,all", true);
  EXPECT_EQ(first.front(), "knee");
  EXPECT_EQ(count(first, "knee"), 1);
}

TEST(Policies, AllLeavesOutWhatDoesNotFit) {
  auto requests = parse_policies("all", false);
  const auto before = requests.size();
  fit_policies(requests, 3);
  EXPECT_LT(requests.size(), before);
  EXPECT_GT(requests.size(), 20u);
  for (const policy_request& each : requests) EXPECT_EQ(each.candidates.front().policy.problem(3), "") << each.name;
}

TEST(Policies, AllAndAnyOfThemInAnyOrder) {
  const auto before = parse_policies("knee,all", true), after = parse_policies("all,knee", true);
  EXPECT_EQ(std::ranges::count(after, "knee", &policy_request::name), 1);
  EXPECT_EQ(before.size(), after.size());
  EXPECT_FALSE(std::ranges::find(after, "knee", &policy_request::name)->of_all) << "asked for by its name as well";
  EXPECT_NE(refusal_of_list("asp,asp").find("twice"), std::string::npos);
}

TEST(Policies, OnlyTuningFindsAParameterByItself) {
  EXPECT_EQ(refusal_of_list("ssp"),
            "--policies: found \"ssp\", expected ssp:S|ssp:inf|ssp:S:rlp (only --tune finds the parameter by itself)");
  const auto list = parse_policies("ssp,ssp:3,asp,bsp", true);
  EXPECT_EQ(list[0].candidates.size(), 6u);
  for (const std::size_t fixed : {1u, 2u, 3u}) EXPECT_EQ(list[fixed].candidates.size(), 1u);
}

}  // namespace
