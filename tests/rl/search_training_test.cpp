#include <rubato/rl/search_training.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <rubato/core/rng.hpp>
#include <rubato/rl/antithetic_es.hpp>
#include <rubato/rl/cma_es.hpp>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "../support/sealed.hpp"
#include "support/folder_test.hpp"

namespace rubato::rl {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t dimension = 4;

[[nodiscard]] double from_ones(std::span<const float> at) {
  double squares = 0;
  for (const float x : at) squares += std::pow(static_cast<double>(x) - 1, 2);
  return std::sqrt(squares);
}

// The distance to (1, 1, 1, 1); runs under one seed have the same luck, to which a little of their own comes.
[[nodiscard]] double cost_of(const trial& t) {
  const double distance = from_ones(t.parameters);
  random_sequence luck{t.seed};
  random_sequence own{t.seed, static_cast<std::uint64_t>(distance * 1e6)};
  return distance + 2 * luck.normal() + 0.2 * own.normal();
}

bool measure(std::span<const trial> trials, std::span<double> costs) {
  std::ranges::transform(trials, costs.begin(), cost_of);
  return true;
}

[[nodiscard]] cma_es start() { return *cma_es::make(std::vector<float>(dimension), {.population = 10}); }

class SearchTraining : public test::folder_test {
 protected:
  [[nodiscard]] search_training_options options() const {
    return {.seed = 3, .task = "distance", .runs = 6, .rounds = 2, .select_every = 4, .selection_runs = 20};
  }
  [[nodiscard]] search_training_options kept() const {
    search_training_options o = options();
    o.checkpoint = at("search.training");
    return o;
  }
};

TEST_F(SearchTraining, FindsTheMinimumOfNoisyRuns) {
  search_trainer training{start(), options()};
  ASSERT_EQ(*training.run(60, measure), 60u);
  EXPECT_LT(from_ones(training.best()), 0.3) << "from 2";
  search_trainer other{*antithetic_es::make(std::vector<float>(dimension), {}), options()};
  ASSERT_EQ(*other.run(100, measure), 100u);
  EXPECT_LT(from_ones(other.best()), 0.3);
}

TEST_F(SearchTraining, CandidatesShareTheirSeeds) {
  std::map<std::uint64_t, std::size_t> users;
  search_trainer training{start(), {.runs = 6}};
  const auto watch = [&](std::span<const trial> trials, std::span<double> costs) {
    for (const trial& t : trials) ++users[t.seed];
    return measure(trials, costs);
  };
  ASSERT_TRUE(training.run(1, watch));
  EXPECT_EQ(users.size(), 6u);
  for (const auto& [seed, count] : users) EXPECT_EQ(count, 10u);
}

TEST_F(SearchTraining, SeedsAreNewEachGeneration) {
  std::set<std::uint64_t> seeds;
  search_trainer training{start(), {.runs = 6, .select_every = 2, .selection_runs = 8}};
  const auto watch = [&](std::span<const trial> trials, std::span<double> costs) {
    for (const trial& t : trials) seeds.insert(t.seed);
    return measure(trials, costs);
  };
  ASSERT_TRUE(training.run(5, watch));
  EXPECT_EQ(seeds.size(), 5 * 6 + 8u) << "those of selections are always the same";
}

TEST_F(SearchTraining, RacingSavesTrials) {
  const auto last = [this](std::uint32_t rounds) {
    search_training_options o = options();
    o.rounds = rounds;
    search_trainer training{start(), o};
    generation_report latest;
    std::uint32_t out = 0;
    EXPECT_TRUE(training.run(30, measure, {.generation = [&](const generation_report& r) {
                               latest = r;
                               out += r.out;
                               return true;
                             }}));
    EXPECT_LT(from_ones(training.best()), 0.5);
    EXPECT_EQ(out > 0, rounds > 1);
    return latest.trials;
  };
  EXPECT_EQ(last(1), 30 * 10 * 6u);
  EXPECT_LT(last(3), 30 * 10 * 6 * 9 / 10u);
}

// After a generation the search has been told these ranks, and so many candidates were out.
void expect_ranks(const search_training_options& options, const run_trials& by_hand, const std::vector<double>& ranks,
                  std::uint32_t out) {
  search_trainer training{start(), options};
  std::uint32_t found_out = 0;
  ASSERT_TRUE(
      training.run(1, by_hand, {.generation = [&](const generation_report& r) { return found_out = r.out, true; }}));
  EXPECT_EQ(found_out, out);
  cma_es told = start();
  told.tell(ranks);
  std::vector<float> expected(dimension), found(dimension);
  told.best_guess(expected);
  training.search().best_guess(found);
  EXPECT_EQ(found, expected);
}

// Candidates 0 to 4 win the first round. In the next ones they cost more than the others did, the last one least.
TEST_F(SearchTraining, WhoIsOutRanksBehind) {
  bool first = true;
  const auto by_hand = [&](std::span<const trial> trials, std::span<double> costs) {
    const std::size_t racing = first ? 10 : 5;
    for (std::size_t i = 0; i < trials.size(); ++i) {
      const auto candidate = static_cast<double>(i % racing);
      costs[i] = first ? candidate : 100 - candidate;
    }
    first = false;
    return true;
  };
  expect_ranks({.runs = 6, .rounds = 3}, by_hand, {4, 3, 2, 1, 0, 5, 6, 7, 8, 9}, 5);
}

// Of ten candidates, the first two cost more than any number; the next three are out after the first round.
TEST_F(SearchTraining, WhatIsNotFiniteRanksLast) {
  bool first = true;
  const auto by_hand = [&](std::span<const trial> trials, std::span<double> costs) {
    for (std::size_t i = 0; i < trials.size(); ++i) {
      const auto candidate = first ? i % 10 : 5 + i % 5;
      costs[i] = 20 - static_cast<double>(candidate);
      if (first && candidate == 0) costs[i] = std::numeric_limits<double>::quiet_NaN();
      if (first && candidate == 1) costs[i] = std::numeric_limits<double>::infinity();
    }
    first = false;
    return true;
  };
  expect_ranks({.runs = 4, .rounds = 2}, by_hand, {8, 8, 7, 6, 5, 4, 3, 2, 1, 0}, 5);
}

TEST_F(SearchTraining, KeepsTheBestGuess) {
  search_trainer training{start(), options()};
  const auto ever_dearer = [](std::span<const trial> trials, std::span<double> costs) {
    for (std::size_t i = 0; i < trials.size(); ++i) costs[i] = std::abs(static_cast<double>(trials[i].parameters[0]));
    return true;
  };
  ASSERT_TRUE(training.run(12, ever_dearer));
  ASSERT_EQ(training.selections().size(), 4u);
  EXPECT_TRUE(training.selections()[0].best);
  EXPECT_EQ(training.selections()[0].mean, 0.0);
  EXPECT_EQ(training.best(), std::vector<float>(dimension)) << "where it began is the best there is";
}

TEST_F(SearchTraining, TheLastGuessCompetes) {
  search_trainer training{start(), options()};
  ASSERT_TRUE(training.run(2, measure));
  ASSERT_EQ(training.selections().size(), 1u) << "before generation 0";
  EXPECT_FALSE(*training.select([](auto, auto) { return false; })) << "it was stopped";
  ASSERT_EQ(training.selections().size(), 1u);
  ASSERT_TRUE(*training.select(measure));
  ASSERT_EQ(training.selections().size(), 2u);
  EXPECT_EQ(training.selections()[1].generation, 2u);
  ASSERT_TRUE(*training.select(measure));
  EXPECT_EQ(training.selections().size(), 2u) << "it has been measured already";
  const auto seeds = training.selection_seeds();
  EXPECT_EQ(seeds.size(), options().selection_runs);
}

TEST_F(SearchTraining, WhoGoesOnDoesNotKnowOfTheLastSelection) {
  search_trainer stopped{start(), kept()};
  ASSERT_TRUE(stopped.run(2, measure));
  ASSERT_TRUE(*stopped.select(measure));
  search_trainer resumed{start(), kept()}, whole{start(), options()};
  ASSERT_TRUE(resumed.resume());
  ASSERT_TRUE(resumed.run(10, measure));
  ASSERT_TRUE(whole.run(10, measure));
  EXPECT_TRUE(std::ranges::equal(resumed.selections(), whole.selections()));
  EXPECT_EQ(resumed.best(), whole.best());
}

TEST_F(SearchTraining, KilledAndResumedBitForBit) {
  search_trainer whole{start(), options()};
  std::vector<generation_report> reports, resumed_reports;
  ASSERT_TRUE(
      whole.run(10, measure, {.generation = [&](const generation_report& r) { return reports.push_back(r), true; }}));
  const auto killed_after = [&](std::size_t calls) {
    search_trainer training{start(), kept()};
    if (fs::exists(kept().checkpoint)) {
      EXPECT_TRUE(training.resume());
    }
    EXPECT_TRUE(
        training.run(10, [&](auto trials, auto costs) { return calls-- > 0 && measure(trials, costs); },
                     {.generation = [&](const generation_report& r) { return resumed_reports.push_back(r), true; }}));
    return training;
  };
  for (const std::size_t calls : {1u, 2u, 4u, 3u, 1u, 7u}) static_cast<void>(killed_after(calls));
  const search_trainer resumed = killed_after(1000);
  EXPECT_EQ(resumed.generation(), 10u);
  EXPECT_EQ(resumed_reports, reports);
  EXPECT_EQ(resumed.best(), whole.best());
  EXPECT_TRUE(std::ranges::equal(resumed.selections(), whole.selections()));
}

TEST_F(SearchTraining, AnotherConfigurationIsRefused) {
  search_trainer training{start(), kept()};
  ASSERT_TRUE(training.run(2, measure));
  search_training_options other = kept();
  other.runs = 7;
  search_trainer resumed{start(), other};
  const auto begun = resumed.resume();
  ASSERT_FALSE(begun);
  EXPECT_EQ(begun.error().code, errc::wrong_kind);
  EXPECT_NE(begun.error().message.find("runs=6, expected runs=7"), std::string::npos) << begun.error().message;
  search_trainer wider{*cma_es::make(std::vector<float>(5), {.population = 10}), kept()};
  EXPECT_EQ(wider.resume().error().code, errc::wrong_kind);
}

TEST_F(SearchTraining, ACheckpointWhoseBestIsNoNumberIsRefused) {
  search_trainer training{start(), kept()};
  ASSERT_TRUE(training.run(2, measure));
  std::ifstream from{kept().checkpoint, std::ios::binary};
  const std::string good{std::istreambuf_iterator<char>{from}, {}};
  const std::string none{"\0\0\xC0\x7F", 4};  // the last number before the checksum
  std::ofstream{kept().checkpoint, std::ios::binary} << test::sealed(good.substr(0, good.size() - 12) + none);
  search_trainer resumed{start(), kept()};
  const auto answer = resumed.resume();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, errc::corrupt) << answer.error().message;
}

TEST_F(SearchTraining, ACallbackEndsTheRun) {
  search_trainer training{start(), options()};
  EXPECT_EQ(*training.run(9, measure, {.generation = [](const generation_report& r) { return r.generation < 2; }}), 3u);
  EXPECT_EQ(*training.run(9, measure, {.selected = [](const selection_report& r) { return r.generation < 8; }}), 8u);
  EXPECT_EQ(*training.run(9, measure), 9u);
}

TEST_F(SearchTraining, StoppedTrialsLeaveNoTrace) {
  search_trainer training{start(), options()};
  ASSERT_TRUE(training.run(2, measure));
  const auto at = training.best();
  EXPECT_EQ(*training.run(9, [](auto, auto) { return false; }), 2u);
  EXPECT_EQ(training.best(), at);
  EXPECT_EQ(training.selections().size(), 1u);
}

TEST_F(SearchTraining, NanCostsAreSurvived) {
  search_trainer training{start(), options()};
  const auto sometimes = [](std::span<const trial> trials, std::span<double> costs) {
    for (std::size_t i = 0; i < trials.size(); ++i)
      costs[i] = trials[i].parameters[0] < -0.2F ? std::numeric_limits<double>::quiet_NaN() : cost_of(trials[i]);
    return true;
  };
  ASSERT_TRUE(training.run(40, sometimes));
  EXPECT_LT(from_ones(training.best()), 0.5);
}

// A run that diverges may cost minus infinity as well as NaN: neither is the best.
TEST_F(SearchTraining, ASelectionThatIsNotFiniteIsTheWorst) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {-infinity, infinity, std::numeric_limits<double>::quiet_NaN()}) {
    search_trainer training{start(), options()};
    const auto once = [&](std::span<const trial> trials, std::span<double> costs) {
      measure(trials, costs);
      if (training.selections().empty()) costs[0] = bad;  // before the first generation
      return true;
    };
    ASSERT_TRUE(training.run(4, once));
    ASSERT_EQ(training.selections().size(), 2u);
    EXPECT_EQ(training.selections()[0].mean, infinity);
    EXPECT_EQ(training.selections()[0].standard_error, infinity);
    EXPECT_TRUE(training.selections()[1].best);
  }
}

TEST_F(SearchTraining, RefusesBadOptions) {
  const auto refused = [](const search_training_options& o, const char* what) {
    search_trainer training{start(), o};
    const auto done = training.run(1, measure);
    ASSERT_FALSE(done) << what;
    EXPECT_EQ(done.error().code, errc::invalid_option);
    EXPECT_NE(done.error().message.find(what), std::string::npos) << done.error().message;
  };
  refused({.runs = 0}, "runs");
  refused({.runs = 3, .rounds = 4}, "rounds: expected 1 to 3");
  refused({.rounds = 0}, "rounds");
  refused({.select_every = 1, .selection_runs = 1}, "selection_runs");
  search_trainer once{start(), {.runs = 6, .selection_runs = 1}};
  EXPECT_EQ(once.select(measure).error().code, errc::invalid_option);
  refused({.task = std::string(241, 'x')}, "task");
}

}  // namespace
}  // namespace rubato::rl
