#include "../../examples/lab/search.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <numbers>
#include <rubato/io/policy_card.hpp>
#include <rubato/io/safetensors.hpp>
#include <rubato/learned/loader.hpp>
#include <rubato/learned/residual_file.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "../../examples/support/user_error.hpp"
#include "lab_bench.hpp"
#include "temporary_directory.hpp"

namespace {

using namespace rubato;
using namespace rubato::lab;
using rubato::support::user_error;
using rubato::test::message_of;

std::string content_of_file(const std::filesystem::path& file) {
  std::ifstream stream{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{stream}, {}};
}

struct search_bench {
  training_data data{};
  std::atomic<bool> stop = false;
  std::ostringstream shown{};
  test::temporary_directory folder{};
  std::function<double()> now = [] { return 0.0; };

  void stop_after_a_generation() {
    shown.str("");
    now = [this] { return stop = shown.str().find("searching 1/3") != std::string::npos, 0.0; };
  }
  void go_on() {
    now = [] { return 0.0; };
    stop = false;
  }
  [[nodiscard]] std::filesystem::path at(const std::string& name) const { return folder.path() / name; }
  search_report search(const search_request& asked, const std::string& name, bool resume = false, unsigned threads = 1,
                       const std::string& curve = "") {
    const run_context how{.data = data,
                          .threads = threads,
                          .stop = stop,
                          .progress = shown,
                          .display = {.terminal = false, .line_interval = 0, .now = now}};
    return lab::search(asked, training_files{at(name), curve}, resume, how);
  }
};

// Three generations on a noisy quadratic.
search_request brief_search(std::string_view agent = "cma-es") {
  search_request asked{.scenario = test::quick("asp", 1, {"objective.max_time=2000"}).scenario,
                       .scenario_argument = "my quick.json",
                       .agent = *find_search_agent(agent),
                       .generations = 3,
                       .clusters = 2,
                       .rounds = 2,
                       .select_every = 2,
                       .selection_clusters = 3};
  asked.agent.population = 4;
  return asked;
}

TEST(Search, SameBytesForAnyThreads) {
  for (const search_agent& agent : search_agents()) {
    search_bench b;
    const search_report report = b.search(brief_search(agent.name), "one");
    EXPECT_EQ(report.generations, 3U);
    EXPECT_EQ(report.selections.size(), 3U) << "before generations 0 and 2, and at the end";
    static_cast<void>(b.search(brief_search(agent.name), "three", false, 3));
    EXPECT_EQ(content_of_file(b.at("one")), content_of_file(b.at("three")));
    EXPECT_GT(content_of_file(b.at("one")).size(), 100U);
  }
}

TEST(Search, InterruptedAndResumedSameBytes) {
  search_bench b;
  static_cast<void>(b.search(brief_search(), "whole"));
  int parts = 0, kept = 0;
  for (bool resumed = false, interrupted = true; interrupted && parts < 20; resumed = true, ++parts) {
    b.stop = false;
    b.now = [&, calls = 0]() mutable {
      if (++calls > parts) b.stop = true;  // a little later each time
      return static_cast<double>(calls);
    };
    interrupted = b.search(brief_search(), "parts", resumed).interrupted;
    EXPECT_NE(std::filesystem::exists(b.at("parts")), interrupted);
    kept += std::filesystem::exists(b.at("parts.training")) ? 1 : 0;
  }
  EXPECT_GT(parts, 2);
  EXPECT_GT(kept, 1) << "there was something to go on from";
  EXPECT_EQ(content_of_file(b.at("whole")), content_of_file(b.at("parts")));
  EXPECT_FALSE(std::filesystem::exists(b.at("parts.training")));
}

TEST(Search, CompleteIsComplete) {
  search_bench b;
  static_cast<void>(b.search(brief_search(), "policy"));
  EXPECT_TRUE(b.search(brief_search(), "policy", true).complete);
  EXPECT_NE(message_of<user_error>([&] {
              return b.search(brief_search(), "policy").generations;
            }).find("expected a new file"),
            std::string::npos);
}

TEST(Search, RefusesAnotherSearch) {
  search_bench b;
  static_cast<void>(b.search(brief_search(), "policy"));
  search_request other = brief_search();
  other.seed = 2;
  const std::string message = message_of<user_error>([&] { return b.search(other, "policy", true).generations; });
  EXPECT_NE(message.find("--seed 1"), std::string::npos) << message;
  EXPECT_NE(message.find("--seed 2"), std::string::npos) << message;
}

TEST(Search, CardSaysHowItWasMade) {
  search_bench b;
  static_cast<void>(b.search(brief_search("es"), "policy"));
  const auto card = read_policy_card(*safetensors::load(b.at("policy").string()));
  ASSERT_TRUE(card) << card.error().message;
  EXPECT_EQ(card->kind, "progress");
  EXPECT_EQ(card->command,
            "rubato-lab train --scenario 'my quick.json' --agent es --generations 3 --population 4 --clusters 2 "
            "--rounds 2 --hidden 0 --select-every 2 --selection-clusters 3 --seed 1");
  EXPECT_EQ(card->actions, (std::vector<std::string>{"log2_rate", "log2_batch"}));
  const auto policy = load_residual_policy(b.at("policy").string());
  ASSERT_TRUE(policy) << policy.error().message;
  for (std::size_t i = 0; i < progress_state::dim; ++i) {
    EXPECT_LE(policy->range().least[i], policy->range().most[i]);
    EXPECT_LE(std::abs(policy->range().most[i]), 3.0F);
  }
}

TEST(Search, HiddenLayersAreSearchedToo) {
  search_bench b;
  search_request asked = brief_search("es");
  asked.hidden = 3;
  static_cast<void>(b.search(asked, "policy"));
  const auto policy = load_residual_policy(b.at("policy").string());
  ASSERT_TRUE(policy) << policy.error().message;
  EXPECT_EQ(policy->network().layers().size(), 2U);
}

TEST(Search, CorrectsOneAlone) {
  for (const search_agent& agent : search_agents()) {
    search_bench b;
    search_request asked = brief_search(agent.name);
    asked.select_every = 0;  // keeps the last guess, good or bad
    asked.only = correction::rate;
    static_cast<void>(b.search(asked, "rate"));
    const auto policy = load_residual_policy(b.at("rate").string());
    ASSERT_TRUE(policy) << policy.error().message;
    const auto weights = policy->network().parameters();
    bool corrects = false;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (i % corrections == static_cast<std::size_t>(correction::batch))
        EXPECT_EQ(weights[i], 0.0F) << i;
      else
        corrects = corrects || weights[i] != 0.0F;
    }
    EXPECT_TRUE(corrects);
    const auto card = read_policy_card(*safetensors::load(b.at("rate").string()));
    EXPECT_TRUE(card->command.ends_with("--seed 1 --corrections rate")) << card->command;
  }
}

TEST(Search, RefusesToGoOnWithOtherCorrections) {
  search_bench b;
  b.stop_after_a_generation();
  search_request asked = brief_search(), other = asked;
  asked.only = correction::rate;
  other.only = correction::batch;
  ASSERT_TRUE(b.search(asked, "policy").interrupted);
  ASSERT_TRUE(std::filesystem::exists(b.at("policy.training")));
  b.go_on();
  const auto refused = [&](const search_request& request) {
    return message_of<user_error>([&] { return b.search(request, "policy", true).generations; });
  };
  const std::string unfinished = refused(other);
  EXPECT_NE(unfinished.find("corrections rate, expected task="), std::string::npos) << unfinished;
  EXPECT_NE(unfinished.find("corrections batch"), std::string::npos) << unfinished;
  EXPECT_FALSE(b.search(asked, "policy", true).interrupted);
  EXPECT_NE(refused(other).find("found \"--corrections rate\", expected \"--corrections batch\""), std::string::npos);
  EXPECT_NE(refused(brief_search()).find("found \"--corrections rate\", expected \"\""), std::string::npos);
}

search_request brief_policy_search(const std::string& state) {
  search_request asked = brief_search("es");
  asked.state = state;
  return asked;
}

TEST(Search, FindsPoliciesOfEveryState) {
  for (const std::string state : {"rlp", "rlp_normalised", "cluster"})
    for (const std::uint32_t hidden : {0U, 3U}) {
      search_bench b;
      search_request asked = brief_policy_search(state);
      asked.hidden = hidden;
      EXPECT_EQ(b.search(asked, "policy").selections.front().mean, 0.0) << "it begins as asp";
      const auto loaded = load_policy(b.at("policy").string());
      ASSERT_TRUE(loaded) << loaded.error().message;
      EXPECT_EQ(loaded->kind(), state);
      const auto card = read_policy_card(*safetensors::load(b.at("policy").string()));
      EXPECT_EQ(card->actions, (std::vector<std::string>{"hold", "submitter", "all"}));
      EXPECT_EQ(card->reward, "-log(time / time of asp)");
      EXPECT_EQ(card->command, "rubato-lab train --scenario 'my quick.json' --agent es --state " + state +
                                   " --generations 3 --population 4 --clusters 2 --rounds 2 --hidden " +
                                   std::to_string(hidden) + " --select-every 2 --selection-clusters 3 --seed 1");
    }
}

TEST(Search, PoliciesAreSearchedForAlike) {
  search_bench b;
  const search_request asked = brief_policy_search("cluster");
  static_cast<void>(b.search(asked, "one", false, 1, b.at("curve.csv").string()));
  static_cast<void>(b.search(asked, "three", false, 3));
  EXPECT_TRUE(content_of_file(b.at("curve.csv")).starts_with("generation,mean_log_ratio,standard_error,best\n0,0.0"));
  b.stop_after_a_generation();
  ASSERT_TRUE(b.search(asked, "parts").interrupted);
  ASSERT_TRUE(std::filesystem::exists(b.at("parts.training")));
  b.go_on();
  static_cast<void>(b.search(asked, "parts", true));
  for (const char* other : {"three", "parts"})
    EXPECT_EQ(content_of_file(b.at("one")), content_of_file(b.at(other))) << other;
}

TEST(Search, RefusesToGoOnWithAnotherState) {
  search_bench b;
  b.stop_after_a_generation();
  ASSERT_TRUE(b.search(brief_policy_search("rlp"), "policy").interrupted);
  b.go_on();
  const auto refused = [&](const search_request& request) {
    return message_of<user_error>([&] { return b.search(request, "policy", true).generations; });
  };
  for (const search_request& other : {brief_policy_search("rlp_normalised"), brief_search("es")})
    EXPECT_NE(refused(other).find("state rlp, expected task="), std::string::npos) << refused(other);
  static_cast<void>(b.search(brief_policy_search("rlp"), "policy", true));
  EXPECT_NE(refused(brief_policy_search("cluster")).find("found \"rlp\", expected \"cluster\""), std::string::npos);
  EXPECT_NE(refused(brief_search("es")).find("found \"rlp\", expected \"progress\""), std::string::npos);
}

TEST(Search, RefusesAnUnknownState) {
  search_bench b;
  EXPECT_EQ(message_of<user_error>([&] { return b.search(brief_policy_search("cpu"), "policy").generations; }),
            "--state: found \"cpu\", expected rlp, rlp_normalised or cluster");
}

// The weights of what a search of no generations comes to.
std::vector<float> weights_after_nothing(search_bench& b, const std::string& initial, const std::string& name) {
  search_request asked = brief_search();
  asked.generations = 0;
  asked.initial = initial;
  static_cast<void>(b.search(asked, name));
  const auto made = load_residual_policy(b.at(name).string());
  if (!made) throw user_error{made.error().message};
  const auto parameters = made->network().parameters();
  return {parameters.begin(), parameters.end()};
}

TEST(Search, BeginsWithTheDistilledRule) {
  search_bench b;
  std::vector<float> expected(20);
  const std::size_t own = 2 * progress_state::samples_input, overhead = 2 * progress_state::overhead_input;
  expected[std::size_t{2} * progress_state::loss_change_input] = -1 / (6 * std::numbers::ln2_v<float>);
  expected[own] = 1 / 6.0F;
  expected[own + 1] = -1 / 3.0F;
  expected[overhead] = -1 / 3.0F;
  expected[overhead + 1] = 2 / 3.0F;
  EXPECT_THAT(weights_after_nothing(b, "distilled", "policy"), testing::Pointwise(testing::FloatEq(), expected));
  const auto card = read_policy_card(*safetensors::load(b.at("policy").string()));
  EXPECT_NE(card->command.find("--rounds 2 --initial distilled --select-every"), std::string::npos) << card->command;
  EXPECT_TRUE(card->trained_on.ends_with("; after distilled")) << card->trained_on;
}

TEST(Search, BeginsWithAFile) {
  search_bench b;
  nn::dynamic_mlp numbered = *nn::dynamic_mlp::make({progress_state::dim, 3, corrections});
  float next = 0.1F;
  for (float& w : numbered.parameters()) w = next, next = -next * 0.97F;
  ASSERT_TRUE(save_residual_policy(b.at("first").string(), residual_policy<progress_state, nn::dynamic_mlp>{numbered}));
  EXPECT_THAT(weights_after_nothing(b, b.at("first").string(), "second"),
              testing::ElementsAreArray(numbered.parameters()));
}

TEST(Search, RefusesToGoOnFromAnotherStart) {
  search_bench b;
  b.stop_after_a_generation();
  search_request asked = brief_search();
  asked.initial = "distilled";
  ASSERT_TRUE(b.search(asked, "policy").interrupted);
  b.go_on();
  const std::string refused =
      message_of<user_error>([&] { return b.search(brief_search(), "policy", true).generations; });
  EXPECT_NE(refused.find(" after distilled, expected task="), std::string::npos) << refused;
  static_cast<void>(b.search(asked, "policy", true));
  EXPECT_TRUE(std::filesystem::exists(b.at("policy")));
}

TEST(Search, RefusesWhatItCannotBeginWith) {
  search_bench b;
  const auto refused = [&](search_request asked, const std::string& initial) {
    asked.initial = initial;
    return message_of<user_error>([&] { return b.search(asked, "policy").generations; });
  };
  EXPECT_EQ(refused(brief_search(), "nowhere"), "--initial: cannot read nowhere: No such file or directory");
  const std::string beside = ", expected one of them: ";
  EXPECT_EQ(refused(brief_policy_search("rlp"), "distilled"),
            "--initial: found it beside --state" + beside + "such a search begins with asp");
  search_request alone = brief_search();
  alone.only = correction::rate;
  EXPECT_EQ(refused(alone, "distilled"), "--initial: found it beside --corrections, expected one of them");
  ASSERT_TRUE(save_q_policy(b.at("other").string(), q_policy<cluster_state, nn::dynamic_mlp>{
                                                        *nn::dynamic_mlp::make({cluster_state::dim, group_actions})}));
  const std::string other = refused(brief_search(), b.at("other").string());
  EXPECT_NE(other.find("expected \"progress\""), std::string::npos) << other;
  search_request deep = brief_search();
  deep.hidden = 3;
  EXPECT_EQ(refused(deep, "distilled"),
            "--initial: found it beside --hidden 3" + beside + "the network is the one that it begins with");
}

TEST(Search, WritesTheCurve) {
  search_bench b;
  static_cast<void>(b.search(brief_search(), "policy", false, 1, b.at("curve.csv").string()));
  const std::string curve = content_of_file(b.at("curve.csv"));
  EXPECT_TRUE(curve.starts_with("generation,mean_log_ratio,standard_error,best\n0,0.000000,0.000000,1\n2,")) << curve;
}

}  // namespace
