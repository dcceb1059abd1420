#include "../../examples/lab/tuning.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../../examples/support/statistics.hpp"
#include "lab_bench.hpp"
#include "temporary_directory.hpp"

namespace {

using namespace rubato::lab;
using rubato::support::interquartile_mean;
using rubato::test::lab_bench;
using rubato::test::quick;
using rubato::test::temporary_directory;

[[nodiscard]] compare_options tuned(const std::string& policies, std::uint32_t tuning_seeds) {
  auto asked = quick(policies, 3, {"objective.learning_rate=0.1"}, true);
  asked.tuning_seeds = tuning_seeds;
  return asked;
}

// At a quarter of the rate that suits them, among stragglers: the first candidates, ssp:0 and half the rate, are slow.
TEST(Tuning, FindsParameterAndRate) {
  lab_bench bench;
  auto asked = quick("asp,ssp", 3, {"objective.learning_rate=0.025"}, true);
  asked.tuning_seeds = 2;
  const auto made = bench.compare(asked);
  EXPECT_EQ(made.rows[0].name, "asp");
  EXPECT_EQ(made.rows[0].used.name, "asp");
  EXPECT_EQ(made.rows[1].name, "ssp");
  EXPECT_TRUE(made.rows[1].used.name.starts_with("ssp:")) << made.rows[1].used.name;
  EXPECT_NE(made.rows[1].used.name, "ssp:0");
  for (const auto& row : made.rows) EXPECT_EQ(row.learning_rate, 0.1) << row.name;
}

// Of one rule's candidates on the seeds of tuning, as the cache has them: by description and learning rate.
using times_of_candidates = std::map<std::pair<std::string, double>, std::vector<double>>;

[[nodiscard]] times_of_candidates tuning_times(const std::filesystem::path& cache, const std::string& kind) {
  times_of_candidates found;
  std::ifstream file{cache};
  for (std::string line; std::getline(file, line);) {
    const auto run = nlohmann::json::parse(line);
    const std::string policy = run["key"]["policy"];
    if (run["key"]["seed"] < first_tuning_seed || nlohmann::json::parse(policy)["kind"] != kind) continue;
    found[{policy, run["key"]["scenario"]["objective"]["learning_rate"]}].push_back(run["result"]["time"]);
  }
  return found;
}

// Up to tuning_round seeds all candidates run on all of them, so that the quickest is known. cap has dozens, of which
// a quarter of a quarter is still several.
TEST(Tuning, TheQuickestWinsHoweverFewTheSeeds) {
  for (const std::uint32_t seeds : {1U, 2U, 4U}) {
    lab_bench bench;
    temporary_directory folder;
    result_cache cache{folder.path(), "v"};
    const auto made = bench.compare(tuned("ssp,cap", seeds), cache);
    for (const auto& row : made.rows) {
      const auto times = tuning_times(folder.path() / "v.jsonl", row.name);
      ASSERT_GE(times.size(), 24u);
      double least = 1e9;
      for (const auto& [candidate, on_seeds] : times) least = std::min(least, interquartile_mean(on_seeds));
      const auto& chosen = times.at({row.used.policy.describe().json, row.learning_rate});
      EXPECT_EQ(chosen.size(), seeds);
      EXPECT_EQ(interquartile_mean(chosen), least) << row.used.name << ", " << seeds << " seeds";
    }
  }
}

// asp: 5 rates, then 2, and 2; ssp: 6 bounds at 5 rates, then 8, and 2.
TEST(Tuning, ThreeInFourGoAfterEachRound) {
  lab_bench bench;
  static_cast<void>(bench.compare(tuned("asp,ssp", 10)));
  for (const std::string label : {"tuning, 4 seeds 140/140", "tuning, 8 seeds 40/40", "tuning, 10 seeds 8/8"})
    EXPECT_NE(bench.shown.str().find(label), std::string::npos) << label << "\n" << bench.shown.str();
}

// At a hundredth of the rate that suits it, eight times as much is the best; at sixteen times as much, a half is.
TEST(Tuning, TakesTheBetterRate) {
  lab_bench bench;
  const auto factor = [&](double base) {
    auto asked = quick("asp", 3, {}, true);
    asked.scenario.run.learning_rate.base = base;
    asked.tuning_seeds = 4;
    return bench.compare(asked).rows[0].learning_rate / base;
  };
  EXPECT_EQ(factor(0.002), 8);
  EXPECT_EQ(factor(1.6), 0.5);
}

// At an eighth of a good rate everything is slow; the cache tells what limit each run had.
TEST(Tuning, GivesUpWhatTakesTooLong) {
  lab_bench bench;
  temporary_directory folder;
  const auto asked = quick("ssp", 1, {"objective.learning_rate=0.01"}, true);
  {
    result_cache cache{folder.path(), "v"};
    static_cast<void>(bench.compare(asked, cache));
  }
  std::map<std::uint64_t, double> usual, longest;
  std::ifstream file{folder.path() / "v.jsonl"};
  for (std::string line; std::getline(file, line);) {
    const auto run = nlohmann::json::parse(line);
    const std::uint64_t seed = run["key"]["seed"];
    if (seed < first_tuning_seed) continue;
    const bool is_asp = run["key"]["policy"].get<std::string>().find("\"asp\"") != std::string::npos;
    double& time = (is_asp ? usual : longest).try_emplace(seed, is_asp ? 1e9 : 0.0).first->second;
    const double found = run["result"]["time"];
    time = is_asp ? std::min(time, found) : std::max(time, found);
  }
  ASSERT_EQ(longest.size(), asked.tuning_seeds);
  bool any_given_up = false;
  for (const auto& [seed, time] : longest) {
    EXPECT_LE(time, tuning_patience * usual.at(seed));
    any_given_up |= time == tuning_patience * usual.at(seed);
  }
  EXPECT_TRUE(any_given_up);
}

TEST(Tuning, SeedsAreApartFromThoseOfTheTable) {
  const auto asked = tuned("asp", 12);
  EXPECT_GE(tuning_seed(asked, 0), first_tuning_seed);
  EXPECT_GT(first_tuning_seed, asked.seed + asked.seeds);
}

TEST(Tuning, ThreadsDoNotChangeIt) {
  lab_bench one, three;
  const auto alone = one.compare(tuned("asp,ssp,cap", 8), 1), together = three.compare(tuned("asp,ssp,cap", 8), 3);
  for (std::size_t row = 0; row < 3; ++row) {
    EXPECT_EQ(alone.rows[row].used.name, together.rows[row].used.name);
    EXPECT_EQ(alone.rows[row].learning_rate, together.rows[row].learning_rate);
  }
}

}  // namespace
