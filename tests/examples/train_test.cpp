#include "../../examples/lab/train.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <rubato/learned/loader.hpp>
#include <set>
#include <sstream>
#include <variant>

#include "../../examples/lab/expert_runs.hpp"
#include "../../examples/lab/library_version.hpp"
#include "../../examples/lab/summary.hpp"
#include "../../examples/support/file_lock.hpp"
#include "../../examples/support/user_error.hpp"
#include "lab_bench.hpp"
#include "temporary_directory.hpp"

namespace {

using namespace rubato;
using namespace rubato::lab;
using rubato::support::user_error;
using rubato::test::message_of;
using rubato::test::temporary_directory;

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream stream{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{stream}, {}};
}

// A fingerprint of the network.
std::string weights_in(const std::filesystem::path& file) {
  const auto policy = load_policy(file.string());
  return policy ? nlohmann::json::parse(policy->describe().json).at("weights").get<std::string>()
                : policy.error().message;
}

struct training_bench {
  training_data data;
  std::atomic<bool> stop = false;
  std::ostringstream shown;
  temporary_directory folder;
  std::function<double()> now = [] { return 0.0; };

  [[nodiscard]] std::filesystem::path at(const std::string& name) const { return folder.path() / name; }
  training_report train(const training_request& asked, const std::string& name, bool resume = false,
                        unsigned threads = 1) {
    const run_context how{.data = data,
                          .threads = threads,
                          .stop = stop,
                          .progress = shown,
                          .display = {.terminal = false, .line_interval = 0, .now = now}};
    return lab::train(asked, at(name), resume, how);
  }
  [[nodiscard]] std::string refusal(const training_request& asked, const std::string& name, bool resume) {
    return message_of<user_error>([&] { return train(asked, name, resume).episodes; });
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator{folder.path()}, {}));
  }
};

// Begins to learn by acting as early as it can.
void hurry(rl::dqn_options& learning) { learning.learn_after = learning.batch; }
void hurry(rl::ppo_options& learning) { learning.horizon = learning.batch; }

// On a noisy quadratic, after one run of each expert.
training_request brief(const std::string& agent, std::uint64_t episodes) {
  training_request asked{.scenario = test::quick("asp", 1, {"objective.max_time=200"}).scenario,
                         .scenario_argument = "my quick.json",
                         .settings = {},
                         .agent = find_training_agent(agent),
                         .state = std::string{find_training_agent(agent).state},
                         .episodes = episodes,
                         .evaluation_episodes = 2,
                         .test_seeds = 0,
                         .initial = "",
                         .licence = ""};
  asked.agent.expert_runs = 1;
  if (asked.agent.evaluate_every > 0) asked.agent.evaluate_every = 100;
  std::visit([](auto& learning) { hurry(learning); }, asked.agent.learning);
  return asked;
}

// Five episodes, if the agent learns by acting.
training_request brief(const std::string& agent) {
  return brief(agent, std::min(find_training_agent(agent).episodes, std::uint64_t{5}));
}

TEST(Train, SameBytesForAnyThreads) {
  for (const char* agent : {"dqn-paper", "ppo", "mc"}) {
    training_bench bench;
    bench.train(brief(agent), "one");
    bench.train(brief(agent), "three", false, 3);
    EXPECT_NE(bytes_of(bench.at("one")), "");
    EXPECT_EQ(bytes_of(bench.at("one")), bytes_of(bench.at("three")));
    EXPECT_EQ(bench.files(), 2U) << "what only a resumption needs goes";
  }
}

TEST(Train, EveryStateAndAgent) {
  training_bench bench;
  std::set<std::string> different;
  for (const training_agent& agent : training_agents())
    for (const char* state : {"rlp", "rlp_normalised", "cluster"}) {
      training_request asked = brief(std::string{agent.name});
      asked.state = state;
      const std::string name = std::string{agent.name} + state;
      const training_report report = bench.train(asked, name);
      EXPECT_EQ(report.episodes, asked.episodes);
      EXPECT_EQ(report.updates + report.rejected_updates > 0, asked.episodes > 0) << name;
      const auto learned = load_policy(bench.at(name).string());
      ASSERT_TRUE(learned) << learned.error().message;
      EXPECT_EQ(learned->kind(), state);
      different.insert(weights_in(bench.at(name)));
    }
  EXPECT_EQ(different.size(), 15U);
  training_request odd = brief("dqn");
  odd.state = "cpu";
  EXPECT_EQ(bench.refusal(odd, "odd", false), "--state: found \"cpu\", expected rlp, rlp_normalised or cluster");
}

// Stops at every place where it can be stopped, one after another.
TEST(Train, InterruptedAndResumedSameBytes) {
  for (const char* agent : {"dqn-paper-scaled", "dqn", "ppo", "mc"}) {
    training_bench bench;
    const training_request asked = brief(agent);
    bench.train(asked, "whole");
    int calls = 0, interruptions = 0;
    for (bool over = false; !over; ++interruptions) {
      ASSERT_LT(interruptions, 20);
      calls = 0;
      bench.stop = false;
      bench.now = [&] { return bench.stop = ++calls > 3 + 4 * interruptions, 0.0; };
      over = !bench.train(asked, "parts", interruptions > 0).interrupted;
    }
    EXPECT_GT(interruptions, 3);
    EXPECT_EQ(bytes_of(bench.at("whole")), bytes_of(bench.at("parts")));
    EXPECT_EQ(bench.files(), 2U);
  }
}

TEST(Train, LongerIsAContinuation) {
  training_bench bench;
  const training_request asked = brief("dqn-paper-scaled", 7);
  bench.train(asked, "whole");
  training_request start = brief("dqn-paper-scaled", 0);
  EXPECT_EQ(bench.train(start, "start").pushes, 0U);
  training_request rest = brief("dqn-paper-scaled", 7);
  rest.initial = bench.at("start").string();
  bench.train(rest, "rest");
  const auto a = load_q_policy<rlp_normalised_state>(bench.at("whole").string());
  const auto b = load_q_policy<rlp_normalised_state>(bench.at("rest").string());
  ASSERT_TRUE(a && b);
  EXPECT_TRUE(std::ranges::equal(a->network().parameters(), b->network().parameters()))
      << "to watch experts, and to begin with what they taught, is the same";
}

// What is chosen at the end of the shorter one does not count in the longer one.
TEST(Train, ResumedWithMoreEpisodes) {
  training_bench bench;
  training_request shorter = brief("dqn", 3), longer = brief("dqn", 6);
  for (training_request* each : {&shorter, &longer}) each->agent.evaluate_every = 1'000'000;
  const auto whole = bench.train(longer, "whole").evaluations;
  shorter.test_seeds = longer.test_seeds = 1;
  bench.now = [&] { return bench.stop = bench.shown.str().find("after 3 episodes") != std::string::npos, 0.0; };
  ASSERT_TRUE(bench.train(shorter, "parts").interrupted);
  bench.now = [] { return 0.0; };
  bench.stop = false;
  const auto parts = bench.train(longer, "parts", true).evaluations;
  EXPECT_EQ(weights_in(bench.at("whole")), weights_in(bench.at("parts")));
  EXPECT_EQ(parts, whole);
}

TEST(Train, CurveIsThereBeforeTheResult) {
  training_bench bench;
  const training_request asked = brief("dqn");
  std::filesystem::create_directory(bench.at("curves"));
  const auto with_curve = [&](bool resume) {
    const run_context how{.data = bench.data,
                          .stop = bench.stop,
                          .progress = bench.shown,
                          .display = {.terminal = false, .line_interval = 0, .now = bench.now}};
    return lab::train(asked, {bench.at("a"), bench.at("curves/a.csv").string()}, resume, how);
  };
  bench.now = [&] { return std::filesystem::remove(bench.at("curves")), 0.0; };
  EXPECT_NE(message_of<user_error>([&] { return with_curve(false).episodes; }).find("--curve: "), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(bench.at("a")));
  bench.now = [] { return 0.0; };
  std::filesystem::create_directory(bench.at("curves"));
  const training_report report = with_curve(true);
  const std::string curve = bytes_of(bench.at("curves/a.csv"));
  EXPECT_EQ(static_cast<std::size_t>(std::count(curve.begin(), curve.end(), '\n')), 1 + report.evaluations.size());
  EXPECT_TRUE(with_curve(true).complete);
  EXPECT_EQ(bytes_of(bench.at("curves/a.csv")), curve);
  std::filesystem::remove(bench.at("curves/a.csv"));
  EXPECT_NE(message_of<user_error>([&] { return with_curve(true).episodes; }).find("complete, expected no --curve"),
            std::string::npos);
}

TEST(Train, LeavesOtherFilesAlone) {
  training_bench bench;
  for (const char* name : {"a.2.7.0.tmp", "a.2024.tmp", "a.x.0.tmp", "a.7.0.tmp.old", "b.7.0.tmp"})
    bench.folder.write(name, "somebody's");
  bench.folder.write("a.7.0.tmp", "left behind");
  bench.train(brief("dqn-paper"), "a");
  EXPECT_FALSE(std::filesystem::exists(bench.at("a.7.0.tmp")));
  EXPECT_EQ(bench.files(), 6U);
  bench.folder.write("p.lock", "a package manager's");
  EXPECT_NE(bench.refusal(brief("dqn-paper"), "p", false).find("p.lock: found a file of 19 bytes"), std::string::npos);
  EXPECT_EQ(bytes_of(bench.at("p.lock")), "a package manager's");
}

TEST(Train, RefusesToLoseATraining) {
  training_bench bench;
  bench.now = [&] { return bench.stop = bench.shown.str().find("training 2/5") != std::string::npos, 0.0; };
  ASSERT_TRUE(bench.train(brief("dqn"), "a").interrupted);
  ASSERT_TRUE(std::filesystem::exists(bench.at("a.training")));
  bench.stop = false;
  EXPECT_NE(bench.refusal(brief("dqn"), "a", false).find("a.start of an unfinished training, expected --resume"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(bench.at("a")));
}

TEST(Train, RefusesAnotherTraining) {
  training_bench bench;
  bench.now = [&] { return bench.stop = bench.shown.str().find("training 2/5") != std::string::npos, 0.0; };
  ASSERT_TRUE(bench.train(brief("dqn"), "a").interrupted);
  bench.now = [] { return 0.0; };
  bench.stop = false;
  const std::string start = bytes_of(bench.at("a.start"));
  const auto refused = [&](auto change, const std::string& part) {
    training_request other = brief("dqn");
    change(other);
    const std::string message = bench.refusal(other, "a", true);
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  refused([](auto& r) { r.seed = 2; }, "a.start: found \"--seed 1\", expected \"--seed 2\"");
  refused([](auto& r) { r.licence = "MIT"; }, "a.start: found \"\", expected \"--licence MIT\"");
  refused([](auto& r) { r.scenario.cluster.jitter = 0.2; }, "a.start: found \"quick ");
  refused([](auto& r) { r.state = "rlp"; }, "found kind \"cluster\", expected \"rlp\"");
  refused([](auto& r) { r.agent.expert_runs = 2; }, "--expert-runs 1");
  refused([](auto& r) { std::get<rl::dqn_options>(r.agent.learning).gamma = 0.5; },
          "trained with gamma=0.99, expected gamma=0.5");
  refused([](auto& r) { r.agent.evaluate_every = 50; }, "evaluate_every=100");
  refused([](auto& r) { r.episodes = 1; }, "--episodes: found 1, expected at least the ");
  EXPECT_EQ(bytes_of(bench.at("a.start")), start);
  std::string damaged = bytes_of(bench.at("a.training"));
  damaged[damaged.size() / 2] ^= 1;
  bench.folder.write("a.training", damaged);
  EXPECT_NE(bench.refusal(brief("dqn"), "a", true).find("the file is damaged"), std::string::npos);
}

TEST(Train, CardSaysHowItWasMade) {
  training_bench bench;
  training_request asked = brief("dqn");
  asked.settings = {"objective.kind=quadratic", "stragglers.count=null"};
  asked.licence = "Apache-2.0";
  asked.seed = 9;
  bench.train(asked, "a");
  const auto file = safetensors::load(bench.at("a").string());
  const auto card = read_policy_card(*file);
  ASSERT_TRUE(card) << card.error().message;
  EXPECT_EQ(card->command,
            "rubato-lab train --scenario 'my quick.json' --set objective.kind=quadratic --set stragglers.count=null "
            "--agent dqn --state cluster --episodes 5 --seed 9 --expert-runs 1 --evaluate-every 100 "
            "--evaluation-episodes 2 --licence Apache-2.0");
  EXPECT_TRUE(card->trained_on.starts_with("quick ")) << card->trained_on;
  EXPECT_EQ(card->seed, 9U);
  EXPECT_EQ(card->licence, "Apache-2.0");
  EXPECT_EQ(card->loss_source, "worker_ema");
  EXPECT_EQ(card->reward, "-(time until the next push) / 2.5");  // ten workers share four cores
}

TEST(Train, CardNamesTheAgent) {
  training_bench bench;
  bench.train(brief("ppo"), "ppo");
  bench.train(brief("mc"), "mc");
  const auto card_of = [&](const char* name) { return *read_policy_card(*safetensors::load(bench.at(name).string())); };
  const std::string begin = "rubato-lab train --scenario 'my quick.json' --agent ";
  EXPECT_EQ(card_of("ppo").command, begin + "ppo --state cluster --episodes 5 --seed 1 --expert-runs 1 "
                                            "--evaluate-every 100 --evaluation-episodes 2");
  EXPECT_EQ(card_of("mc").command, begin + "mc --state cluster --episodes 0 --seed 1 --expert-runs 1");
  for (const char* name : {"ppo", "mc"}) EXPECT_EQ(card_of(name).reward, "-(time until the next push) / 2.5");
}

TEST(Train, CardSaysHowGoodItIs) {
  training_bench bench;
  training_request asked = brief("dqn-paper");
  asked.test_seeds = 5;
  const training_report report = bench.train(asked, "a");
  const auto card = read_policy_card(*safetensors::load(bench.at("a").string()));
  ASSERT_EQ(card->evaluation.size(), 5U);
  EXPECT_EQ(card->evaluation, report.appraisal);
  EXPECT_TRUE(card->command.ends_with(" --test-seeds 5"));

  compare_options same = test::quick("bsp:sum,asp,file:" + bench.at("a").string(), 5, {"objective.max_time=200"});
  const comparison_summary seen = summarise(test::lab_bench{}.compare(same));
  EXPECT_EQ(card->evaluation[0].ratio, seen.rows[0].time.value / seen.rows[2].time.value);
  EXPECT_EQ(card->evaluation[1].ratio, seen.rows[1].time.value / seen.rows[2].time.value);
}

TEST(Train, KeepsTheBest) {
  training_bench bench;
  training_request asked = brief("dqn", 8);
  const training_report report = bench.train(asked, "best");
  const auto& seen = report.evaluations;
  const auto best = std::ranges::max_element(seen, {}, &rl::evaluation::mean);
  ASSERT_GT(seen.end() - best, 1) << "of no use if the last one is the best";
  asked.agent.evaluate_every = 0;
  asked.episodes = best->episodes;
  EXPECT_TRUE(bench.train(asked, "until then").evaluations.empty());
  EXPECT_EQ(weights_in(bench.at("best")), weights_in(bench.at("until then")));
  asked.episodes = 8;
  bench.train(asked, "last");
  EXPECT_NE(weights_in(bench.at("best")), weights_in(bench.at("last")));
}

TEST(Train, OneAtATime) {
  training_bench bench;
  const support::file_lock held{bench.at("a.lock").string(), ""};
  EXPECT_EQ(bench.refusal(brief("dqn"), "a", false),
            bench.at("a.lock").string() + ": another training writes " + bench.at("a").string());
}

TEST(Train, CompleteIsComplete) {
  training_bench bench;
  const training_request asked = brief("dqn-paper");
  EXPECT_FALSE(bench.train(asked, "a").complete);
  const std::string bytes = bytes_of(bench.at("a"));
  bench.folder.write("a.start", "killed before this was removed");
  bench.folder.write("a.training.123.0.tmp", "killed before this had its name");
  EXPECT_NE(bench.refusal(asked, "a", false).find("expected a new file, or that you remove it"), std::string::npos);
  EXPECT_TRUE(bench.train(asked, "a", true).complete);
  EXPECT_EQ(bytes_of(bench.at("a")), bytes);
  EXPECT_EQ(bench.files(), 1U);
  EXPECT_NE(bench.refusal(brief("dqn-paper", 6), "a", true).find("found \"--episodes 5\", expected \"--episodes 6\""),
            std::string::npos);

  const std::string version = library_version();
  std::string older = bytes;
  const std::size_t at = older.find(version);
  ASSERT_NE(at, std::string::npos);
  older.replace(at, version.size(), std::string(version.size(), '9'));
  bench.folder.write("a", older);
  EXPECT_NE(bench.refusal(asked, "a", true).find("expected \"" + version + "\""), std::string::npos);
}

TEST(Train, BeginsWithAPolicy) {
  training_bench bench;
  bench.train(brief("dqn", 0), "teacher");
  training_request asked = brief("dqn", 0);
  asked.initial = bench.at("teacher").string();
  bench.train(asked, "pupil");
  const auto a = load_q_policy<cluster_state>(bench.at("teacher").string());
  const auto b = load_q_policy<cluster_state>(bench.at("pupil").string());
  ASSERT_TRUE(a && b);
  EXPECT_TRUE(std::ranges::equal(a->network().parameters(), b->network().parameters()));
  EXPECT_TRUE(std::ranges::equal(a->scale().mean(), b->scale().mean()));
  bench.train(brief("dqn", 1), "another");
  asked.initial = bench.at("another").string();
  asked.episodes = 5;
  bench.now = [&] { return bench.stop = bench.shown.str().find("training 2/5") != std::string::npos, 0.0; };
  ASSERT_TRUE(bench.train(asked, "b").interrupted);
  bench.stop = false;
  using enum std::filesystem::copy_options;
  std::filesystem::copy_file(bench.at("teacher"), bench.at("another"), overwrite_existing);
  EXPECT_NE(bench.refusal(asked, "b", true).find("; after "), std::string::npos) << "another policy of the same name";
  asked.state = "rlp";
  EXPECT_NE(bench.refusal(asked, "other", false).find("expected \"rlp\""), std::string::npos);
  asked.initial = bench.at("nowhere").string();  // also where it is known by its fingerprint only
  EXPECT_NE(bench.refusal(asked, "other", false).find("nowhere"), std::string::npos);
  EXPECT_NE(bench.refusal(brief("dqn"), "no/where", false).find("no/where"), std::string::npos);
}

TEST(Train, ExpertsMeetTheSameRuns) {
  training_bench bench;
  const run_context how{.data = bench.data, .stop = bench.stop, .progress = bench.shown, .display = {.quiet = true}};
  const support::scenario quick =
      test::quick("asp", 1, {"objective.max_time=50", "cluster.cores=0", "stragglers.kind=none"}).scenario;
  const auto experts = experts_of(find_training_agent("dqn"), quick);
  const rl::trace seen = watch_experts<rlp_state>(experts, quick, 3, 2, 1, how).steps;
  ASSERT_EQ(seen.ends.size(), 10U) << "two runs of each of five";
  const auto wait_of = [&](std::size_t run) { return seen.elapsed[run == 0 ? 0 : seen.ends[run - 1]]; };
  for (std::size_t run = 0; run < 10; ++run)
    EXPECT_EQ(wait_of(run), wait_of(run % 2)) << "between the first pushes of two workers no rule matters";
  EXPECT_NE(wait_of(0), wait_of(1));
}

std::vector<std::string> names_of(std::span<const policy_request> requests) {
  std::vector<std::string> names;
  for (const policy_request& each : requests) names.push_back(each.name);
  return names;
}

TEST(Train, DiverseExpertsFitTheWorkers) {
  const auto among = [](const std::string& workers) {
    const support::scenario quick = test::quick("asp", 1, {"workers=" + workers}).scenario;
    return names_of(experts_of(find_training_agent("mc"), quick));
  };
  EXPECT_EQ(among("3"), (std::vector<std::string>{"bsp:sum", "asp", "ssp:2:rlp", "ssp:5:rlp", "ssp:8:rlp",
                                                  "cap:1:fastest", "cap:2:fastest"}));
  EXPECT_EQ(among("1").size(), 5U);
  EXPECT_EQ(among("10").back(), "cap:8:fastest") << "with ten running it would be asp";
  EXPECT_EQ(among("64").back(), "cap:48:fastest");
}

TEST(Train, ExpertsAloneTeachOnlyWithoutEpisodes) {
  training_bench bench;
  EXPECT_EQ(bench.refusal(brief("mc", 5), "a", false),
            "--episodes: found 5, expected 0: mc learns from experts alone");
  EXPECT_EQ(bench.files(), 0U);
}

// On runs that it has not seen it knows more of the time left than that of the mean push.
TEST(Train, LearnsFromDiverseExperts) {
  training_bench bench;
  training_request asked = brief("mc");
  asked.agent.expert_runs = 5;
  bench.train(asked, "a");
  const auto learned = load_q_policy<cluster_state>(bench.at("a").string());
  ASSERT_TRUE(learned) << learned.error().message;

  const run_context how{.data = bench.data, .stop = bench.stop, .progress = bench.shown, .display = {.quiet = true}};
  const auto experts = experts_of(asked.agent, asked.scenario);
  rl::trace seen = watch_experts<cluster_state>(experts, asked.scenario, 2, 2, 2.5, how).steps;
  seen.compute_returns({});
  double sum = 0, squares = 0, errors = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    std::array<float, cluster_state::dim> state;
    std::ranges::copy(seen.observation(i), state.begin());
    learned->scale().apply(state);
    std::array<float, group_actions> values;
    learned->network().evaluate(state, values);
    const auto left = static_cast<double>(seen.returns[i]);
    sum += left;
    squares += left * left;
    errors += std::pow(static_cast<double>(values[seen.actions[i]]) - left, 2);
  }
  EXPECT_LT(errors, 0.5 * (squares - sum * sum / static_cast<double>(seen.size())));
}

TEST(Train, PpoBeginsAtRandom) {
  training_bench bench;
  training_request asked = brief("ppo", 0), more = brief("ppo", 0);
  more.agent.expert_runs = 2;
  bench.train(asked, "one");
  bench.train(more, "two");
  const auto a = load_q_policy<cluster_state>(bench.at("one").string());
  const auto b = load_q_policy<cluster_state>(bench.at("two").string());
  ASSERT_TRUE(a && b);
  EXPECT_TRUE(std::ranges::equal(a->network().parameters(), b->network().parameters()));
  EXPECT_FALSE(std::ranges::equal(a->scale().mean(), b->scale().mean())) << "experts only scale what it sees";
}

}  // namespace
