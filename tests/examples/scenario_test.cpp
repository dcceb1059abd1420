#include "../../examples/support/scenario.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../../examples/support/user_error.hpp"
#include "temporary_directory.hpp"

namespace {

using namespace rubato::support;
using namespace rubato::sim;

scenario read(const std::string& rest) { return read_scenario("{\"name\": \"n\"" + rest + "}", "s.json"); }

std::string refusal_of(const std::string& rest) {
  return rubato::test::message_of<user_error>([&] { return read(rest); });
}

std::string set_refusal(const std::vector<std::string>& assignments) {
  scenario s;
  const std::string message = rubato::test::message_of<user_error>([&] {
    apply_settings(s, assignments);
    return 0;
  });
  EXPECT_TRUE(message.empty() || s == scenario{}) << "a refused setting must change nothing";
  return message;
}

scenario with(const std::vector<std::string>& assignments) {
  scenario s;
  apply_settings(s, assignments);
  return s;
}

// ---- reading ----

TEST(Scenario, NameAloneIsAScenarioOfDefaults) {
  scenario expected;
  expected.name = "n";
  EXPECT_EQ(read(""), expected);
}

TEST(Scenario, ReadsEveryKey) {
  const auto s = read(R"(,
    "description": "d", "workers": 3, "stop": "workload",
    "cluster": {"cores": 2, "step_time": [1, 2, 3.5], "fixed_share": 0.25, "jitter": 0.1,
                "link": {"bandwidth": 2, "latency": 0.1, "model_size": 0.5,
                         "congestion": {"share": 0.2, "length": 3, "gap": 4}},
                "decision_time": 0.01, "decision_latency": 0.04, "apply_time": 0.02, "round_time": 0.03,
                "failures": [{"time": 5, "worker": 1, "kind": "death"}, {"time": 9, "worker": 1, "kind": "join"}]},
    "stragglers": {"kind": "burst", "count": 2, "mean": 4, "sd": 2, "burst_length": 5, "burst_gap": 6, "tail_index": 2,
                   "slowdown": 8, "episodes": [{"worker": 2, "from": 1, "until": 4, "sleep": 0.5}]},
    "objective": {"kind": "quadratic", "hidden_layers": 2, "learning_rate": 0.1,
                  "learning_rate_boundaries": [{"after_pushes": 100, "factor": 0.1}, {"after_pushes": 200, "factor": 0}],
                  "momentum": 0.9, "batch": 32, "input": "unit", "data_fraction": 1, "label_noise": 0.4, "validation_size": 10,
                  "target_accuracy": "auto", "max_time": 7, "evaluate_every": 5, "loss_source": "probe",
                  "probe_time": 0.3, "workload": 640})");
  EXPECT_EQ(s, (scenario{
                   .name = "n",
                   .description = "d",
                   .cluster = {.workers = 3,
                               .cores = 2,
                               .step_time = {1, 2, 3.5},
                               .fixed_share = 0.25,
                               .jitter = 0.1,
                               .link = {.bandwidth = 2,
                                        .latency = 0.1,
                                        .model_size = 0.5,
                                        .congestion = {.share = 0.2, .length = 3, .gap = 4}},
                               .decision_time = 0.01,
                               .decision_latency = 0.04,
                               .apply_time = 0.02,
                               .round_time = 0.03,
                               .stragglers = {.kind = straggler_kind::burst,
                                              .count = 2,
                                              .mean = 4,
                                              .sd = 2,
                                              .burst_length = 5,
                                              .burst_gap = 6,
                                              .tail_index = 2,
                                              .slowdown = 8,
                                              .episodes = {{2, 1, 4, 0.5}}},
                               .failures = {{5, 1, failure_kind::death}, {9, 1, failure_kind::join}}},
                   .run = {.stop = stop_rule::workload,
                           .target_accuracy = scenario::auto_target,
                           .workload = 640,
                           .max_time = 7,
                           .evaluate_every = 5,
                           .batch = 32,
                           .learning_rate = {.base = 0.1, .boundaries = {{100, 0.1}, {200, 0}}},
                           .loss = loss_source::probe,
                           .probe_time = 0.3},
                   .objective = objective_kind::quadratic,
                   .hidden_layers = {2},
                   .sgd = {.momentum = 0.9,
                           .input = input_scale::unit,
                           .data_fraction = 1,
                           .label_noise = 0.4,
                           .validation_samples = 10},
               }));
  EXPECT_EQ(read_scenario(to_json(s).dump(), "again"), s);
}

TEST(Scenario, RefusesWhatNoKeyCanSeeAlone) {
  EXPECT_EQ(refusal_of(R"(, "cluster": {"step_time": [1, 2]})"),
            "s.json: cluster.step_time: found 2 values, expected 1 or workers = 10");
  EXPECT_EQ(refusal_of(R"(, "cluster": {"link": {"latency": 0.5}})"),
            "s.json: cluster.link.latency: found 0.5, expected 0 where cluster.link.bandwidth is 0");
  EXPECT_EQ(refusal_of(R"(, "stragglers": {"count": 2, "probability": 0.5})"),
            "s.json: found both stragglers.count and stragglers.probability, expected one of them");
  EXPECT_EQ(refusal_of(R"(, "stragglers": {"count": 11})"),
            "s.json: stragglers.count: found 11, expected at most workers = 10");
  EXPECT_EQ(refusal_of(R"(, "stop": "workload")"),
            "s.json: objective.workload: found 0, expected at least 1 where stop is workload");
  EXPECT_EQ(
      refusal_of(R"(, "objective": {"learning_rate_boundaries": [{"after_pushes": 9, "factor": 1},
                                                                   {"after_pushes": 9, "factor": 1}]})"),
      "s.json: objective.learning_rate_boundaries: found {\"after_pushes\":9}, expected more than the 9 before it");
}

TEST(Scenario, RefusesImpossibleEpisodes) {
  const auto with_episode = [](const std::string& members) {
    return refusal_of(R"(, "stragglers": {"episodes": [{)" + members + "}]}");
  };
  EXPECT_EQ(with_episode(R"("worker": 9, "from": 0, "until": 1, "sleep": 0)"), "");
  EXPECT_EQ(with_episode(R"("worker": 10, "from": 0, "until": 1, "sleep": 1)"),
            "s.json: stragglers.episodes: found {\"worker\":10}, expected a worker below workers = 10");
  EXPECT_EQ(
      with_episode(R"("worker": 1, "from": 2, "until": 2, "sleep": 1)"),
      "s.json: stragglers.episodes: found {\"from\":2.0,\"until\":2.0}, expected one that ends after it has begun");
  EXPECT_EQ(with_episode(R"("worker": 1, "from": 2, "sleep": 1)"),
            "s.json: stragglers.episodes[0]: found no until, expected a number from 0 to 1e+09");
}

TEST(Scenario, RefusesImpossibleFailures) {
  const auto with_failures = [](const std::string& list) {
    return refusal_of(R"(, "cluster": {"failures": [)" + list + "]}");
  };
  EXPECT_EQ(with_failures(R"({"time": 1, "worker": 10, "kind": "death"})"),
            "s.json: cluster.failures: found {\"worker\":10}, expected a worker below workers = 10");
  EXPECT_EQ(
      with_failures(R"({"time": 2, "worker": 1, "kind": "leave"}, {"time": 1, "worker": 1, "kind": "death"})"),
      "s.json: cluster.failures: found worker 1 going while absent at time 2.0, expected going and joining in turn");
  EXPECT_EQ(with_failures(R"({"time": 1, "worker": 1, "kind": "join"}, {"time": 2, "worker": 1, "kind": "join"})"),
            "s.json: cluster.failures: found worker 1 joining while present at time 2.0, expected going and joining in "
            "turn");
  EXPECT_EQ(with_failures(R"({"time": 1, "worker": 1, "kind": "explode"})"),
            "s.json: cluster.failures[0]: kind: found \"explode\", expected death|leave|join");
  EXPECT_EQ(with_failures(R"({"time": 1, "worker": 1, "kind": "join"}, {"time": 2, "worker": 1, "kind": "death"})"),
            "");
}

TEST(Scenario, NamesTheNearestKey) {
  EXPECT_EQ(refusal_of(R"(, "cluster": {"link": {"bandwith": 1}})"),
            "s.json: found the unknown key cluster.link.bandwith, expected a known one; the nearest is "
            "cluster.link.bandwidth");
  EXPECT_EQ(refusal_of(R"(, "cores": 1)"),
            "s.json: found the unknown key cores, expected a known one; the nearest is cluster.cores");
}

// ---- KEY=VALUE ----

TEST(ScenarioSettings, SetsDottedKeysOfEveryKind) {
  EXPECT_EQ(with({"workers=4"}).cluster.workers, 4u);
  EXPECT_EQ(with({"cluster.link.bandwidth=1.5"}).cluster.link.bandwidth, 1.5);
  EXPECT_EQ(with({"stragglers.kind=static"}).cluster.stragglers.kind, straggler_kind::fixed);
  EXPECT_EQ(with({"objective.hidden_layers=2"}).hidden_layers, std::vector<std::uint32_t>{2});
  EXPECT_EQ(with({"objective.hidden_layers=[0,1]"}).hidden_layers, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(with({"objective.hidden_layers=0,1"}).hidden_layers, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(with({"objective.target_accuracy=auto"}).run.target_accuracy, scenario::auto_target);
  EXPECT_EQ(with({"name=12"}).name, "12");
  EXPECT_EQ(with({"description=a=b, c"}).description, "a=b, c");
  EXPECT_EQ(with({R"(cluster.failures=[{"time": 3, "worker": 2, "kind": "leave"}])"}).cluster.failures.size(), 1u);
}

TEST(ScenarioSettings, LaterOnesWinAndTheWholeIsCheckedOnce) {
  EXPECT_EQ(with({"workers=4", "workers=5"}).cluster.workers, 5u);
  EXPECT_EQ(with({"cluster.step_time=1,2", "workers=2"}).cluster.step_time.size(), 2u);
}

TEST(ScenarioSettings, CountAndProbabilityReplaceEachOther) {
  const auto counted = with({"stragglers.count=2"});
  EXPECT_EQ(counted.cluster.stragglers.count, 2u);
  EXPECT_EQ(to_json(counted)["stragglers"]["probability"], nullptr);
  const auto drawn = with({"stragglers.count=2", "stragglers.probability=0.5"});
  EXPECT_FALSE(drawn.cluster.stragglers.count);
  EXPECT_EQ(drawn.cluster.stragglers.probability, 0.5);
}

TEST(ScenarioSettings, RefusesLikeAFile) {
  EXPECT_EQ(set_refusal({"workers"}), "--set: found \"workers\", expected KEY=VALUE");
  EXPECT_EQ(set_refusal({"=3"}), "--set: found \"=3\", expected KEY=VALUE");
  EXPECT_EQ(set_refusal({"worker=3"}),
            "--set: found the unknown key worker, expected a known one; the nearest is workers");
  EXPECT_EQ(set_refusal({"cluster=3"}),
            "--set: found the unknown key cluster, expected a known one; the nearest is cluster.cores");
  EXPECT_EQ(set_refusal({"workers=many"}), "--set workers: found \"many\", expected a whole number from 1 to 10000");
  EXPECT_EQ(set_refusal({"workers="}), "--set workers: found \"\", expected a whole number from 1 to 10000");
  EXPECT_EQ(set_refusal({"cluster.jitter=2"}), "--set cluster.jitter: found 2, expected a number from 0 to 0.5");
  EXPECT_EQ(set_refusal({"workers=4", "cluster.step_time=1,2"}),
            "--set: cluster.step_time: found 2 values, expected 1 or workers = 4");
  EXPECT_EQ(set_refusal({"cluster.step_time=1e999"}),
            "--set cluster.step_time: found \"1e999\", expected a number from 1e-06 to 1e+09");
  EXPECT_EQ(set_refusal({"name=\xff"}), "--set name: found \"\\ufffd\", expected valid UTF-8");
}

// Such runs would not end: time would stand still, or a step would draw bursts for hours.
TEST(ScenarioSettings, RefusesTimesWithoutProgress) {
  for (const std::string key :
       {"cluster.step_time", "cluster.link.congestion.length", "cluster.link.congestion.gap",
        "stragglers.burst_length", "stragglers.burst_gap", "objective.max_time"}) {
    EXPECT_EQ(set_refusal({key + "=1e-7"}), "--set " + key + ": found 1e-07, expected a number from 1e-06 to 1e+09");
    EXPECT_EQ(set_refusal({key + "=1e-6"}), "");
  }
  EXPECT_EQ(set_refusal({"stragglers.kind=burst", "stragglers.burst_length=1e-6", "stragglers.burst_gap=1e-6"}),
            "--set: found stragglers.burst_length + stragglers.burst_gap = 2e-06, expected at least "
            "objective.max_time / 100000000.0");
  EXPECT_EQ(set_refusal({"cluster.link.congestion.share=0.5", "cluster.link.congestion.length=1e-6",
                         "cluster.link.congestion.gap=1e-6"}),
            "--set: found cluster.link.congestion.length + cluster.link.congestion.gap = 2e-06, expected at least "
            "objective.max_time / 100000000.0");
}

// ---- canonical form ----

TEST(Scenario, HashIgnoresNameDescriptionAndSpelling) {
  const auto a = read_scenario(R"({"name": "a", "workers": 10, "objective": {"batch": 16}})", "a");
  const auto b = read_scenario(R"({"objective": {"batch": 1.6e1}, "description": "other", "name": "b"})", "b");
  EXPECT_EQ(canonical_form(a), canonical_form(b));
  EXPECT_EQ(hash(a), hash(b));
}

// A new key that hash() missed would let results of one setting pass for those of another.
TEST(Scenario, HashDependsOnEveryOtherKey) {
  const auto before = hash(scenario{});
  for (const auto* assignment : {"workers=9",
                                 "stop=converged",
                                 "cluster.cores=1",
                                 "cluster.step_time=2",
                                 "cluster.fixed_share=0.1",
                                 "objective.label_noise=0.1",
                                 "cluster.jitter=0",
                                 "cluster.link.bandwidth=1",
                                 "cluster.link.model_size=1",
                                 "cluster.link.congestion.share=0.5",
                                 "cluster.decision_time=1",
                                 "cluster.decision_latency=1",
                                 "cluster.apply_time=1",
                                 "cluster.round_time=1",
                                 R"(cluster.failures=[{"time": 3, "worker": 2, "kind": "leave"}])",
                                 "stragglers.kind=static",
                                 "stragglers.probability=0.1",
                                 "stragglers.count=1",
                                 "stragglers.mean=2",
                                 "stragglers.sd=2",
                                 "stragglers.burst_length=2",
                                 "stragglers.burst_gap=2",
                                 "stragglers.tail_index=2",
                                 "stragglers.slowdown=2",
                                 R"(stragglers.episodes=[{"worker": 1, "from": 0, "until": 9, "sleep": 1}])",
                                 "objective.kind=quadratic",
                                 "objective.hidden_layers=1",
                                 "objective.learning_rate=1",
                                 R"(objective.learning_rate_boundaries=[{"after_pushes": 3, "factor": 2}])",
                                 "objective.momentum=0.5",
                                 "objective.batch=1",
                                 "objective.input=unit",
                                 "objective.data_fraction=1",
                                 "objective.validation_size=1",
                                 "objective.target_accuracy=0.5",
                                 "objective.max_time=1",
                                 "objective.evaluate_every=1",
                                 "objective.loss_source=probe",
                                 "objective.probe_time=1",
                                 "objective.workload=1"})
    EXPECT_NE(hash(with({assignment})), before) << assignment;
  EXPECT_NE(hash(with({"cluster.link.bandwidth=1", "cluster.link.latency=1"})),
            hash(with({"cluster.link.bandwidth=1"})));
  const auto congested = [](const std::string& also) {
    return hash(with({"cluster.link.congestion.share=0.5", also}));
  };
  EXPECT_NE(congested("cluster.link.congestion.length=1"), congested("cluster.jitter=0.05"));
  EXPECT_NE(congested("cluster.link.congestion.gap=1"), congested("cluster.jitter=0.05"));
}

// Results measured before stay valid: change this value only together with what a scenario means.
TEST(Scenario, CanonicalFormIsStable) {
  EXPECT_EQ(
      canonical_form(scenario{}),
      R"({"cluster":{"apply_time":0.0,"cores":0,"decision_time":0.0,"failures":[],"jitter":0.05,)"
      R"("link":{"bandwidth":0.0,"latency":0.0,"model_size":0.0},"step_time":1.0},)"
      R"("objective":{"batch":16,"data_fraction":0.5,"evaluate_every":20,"hidden_layers":[0,1,2,3],"input":)"
      R"("standardised","kind":"sgd","learning_rate":0.03,"learning_rate_boundaries":[],"loss_source":)"
      R"("worker_ema","max_time":10000.0,"momentum":0.0,"probe_time":0.0,"target_accuracy":0.88,)"
      R"("validation_size":1000,"workload":0},"stop":"target","stragglers":{"burst_gap":30.0,"burst_length":10.0,)"
      R"("count":null,"kind":"none","mean":1.0,"probability":0.3,"sd":0.3333333333333333,"tail_index":1.5},)"
      R"("workers":10})");
}

TEST(Scenario, KeysAreDescribedWithValuesAndDefaults) {
  const std::string text = describe_keys();
  EXPECT_NE(text.find("cluster.jitter\n    relative standard deviation of the computing time\n"
                      "    a number from 0 to 0.5; default 0.05\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("a string that is not empty; required\n"), std::string::npos);
}

}  // namespace
