#include <rubato/adapt/switch_replay.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace rubato::adapt;
using rubato::errc;

// Two of the four runs at 0.5 are too low by themselves; together with one of the good ones they are good enough.
const std::vector<logged_share> few{{1, {{0.90, 10}, {0.90, 10}}},
                                    {0.5, {{0.90, 6}, {0.90, 6}, {0.885, 6}, {0.885, 6}}},
                                    {0.25, {{0.80, 4}}},
                                    {0, {{0.70, 2}}}};

double probability(const switch_search_options& options, double answer, const std::vector<logged_share>& logs = few) {
  const auto found = success_probability(options, logs, answer);
  EXPECT_TRUE(found) << found.error().message;
  return found ? *found : -1;
}

// With one run of each, half of the draws pass at 0.5; with two, all pairs but the one of both low runs; then 0.25
// fails.
TEST(SwitchReplay, ProbabilityByHand) {
  EXPECT_DOUBLE_EQ(probability({.target_runs = 1, .runs = 1}, 0.5), 0.5);
  EXPECT_DOUBLE_EQ(probability({.target_runs = 1, .runs = 1}, 1), 0.5);
  EXPECT_DOUBLE_EQ(probability({.target_runs = 2, .runs = 2}, 0.5), 5.0 / 6);
  EXPECT_DOUBLE_EQ(probability({.target_runs = 2, .runs = 4}, 0.5), 1);
  EXPECT_DOUBLE_EQ(probability({.stored = switch_target{{1, 0.89, 0}, 10}, .target_runs = 0, .runs = 1}, 0.5), 1);
}

// Runs in which every order of accuracies occurs, and one that diverged.
TEST(SwitchReplay, ProbabilitiesOfAllAnswersAddUp) {
  const std::vector<logged_share> logs{{1, {{0.90, 10}, {0.915, 11}, {0.88, 10}}},
                                       {0.5, {{0.90, 6}, {0.88, 6}, {0.895, 6}, {0.91, 6}}},
                                       {0.25, {{0.89, 4}, {0.9, 4}, {0, 1, true}}},
                                       {0.125, {{0.87, 3}, {0.93, 3}}}};
  for (const std::uint32_t runs : {1u, 2u, 3u})
    for (const bool stops : {true, false}) {
      const switch_search_options options{.target_runs = runs, .runs = runs, .stops_at_failure = stops};
      double sum = 0;
      for (const logged_share& each : logs) {
        const double one = probability(options, each.share, logs);
        EXPECT_GE(one, 0);
        sum += one;
      }
      EXPECT_NEAR(sum, 1, 1e-12);
    }
  EXPECT_GT(probability({.target_runs = 1, .runs = 1}, 0.125, logs), 0);
  EXPECT_EQ(probability({.target_runs = 3, .runs = 3}, 0.25, logs), 0) << "one of the three has diverged";
}

// A search that is told the mean of the logs each time.
TEST(SwitchReplay, CostsAreThoseOfASearch) {
  const auto reference = replay({}, few);
  ASSERT_TRUE(reference);
  EXPECT_EQ(reference->share(), 0.5);
  for (const std::uint32_t target_runs : {0u, 1u, 5u})
    for (const std::uint32_t runs : {1u, 4u}) {
      switch_search_options options{.target_runs = target_runs, .runs = runs, .levels = {0.25, 0.5}};
      if (target_runs == 0) options.stored = reference->target();
      auto search = switch_search::make(options);
      ASSERT_TRUE(search);
      while (!search->done()) {
        const switch_trial trial = search->next();
        const auto point = std::ranges::find(reference->curve(), trial.share, &switch_point::share);
        ASSERT_NE(point, reference->curve().end());
        ASSERT_EQ(search->report(trial, {point->accuracy.mean, point->time}).code, errc::ok);
      }
      const switch_cost got = expected_cost(*reference, target_runs, runs);
      EXPECT_DOUBLE_EQ(got.cost, search->cost());
      EXPECT_DOUBLE_EQ(got.amortization, search->amortization());
      EXPECT_DOUBLE_EQ(got.effective, search->effective());
    }
}

// All orders of the runs of a candidate, of which two have diverged, and of the target's, of which one has.
TEST(SwitchReplay, TheOrderOfRunsIsOfNoMatter) {
  std::vector<std::size_t> order{0, 1, 2, 3};
  const logged_share target{1, {{0.9, 10}, {0.91, 12}, {0.92, 14}, {0, 2, true}}};
  const logged_share candidate{0.5, {{0.9, 4}, {0.92, 6}, {0, 3, true}, {0, 1, true}}};
  do {
    std::vector<logged_share> logs{{1, {}}, {0.5, {}}};
    for (const std::size_t i : order) {
      logs[0].runs.push_back(target.runs[i]);
      logs[1].runs.push_back(candidate.runs[i]);
    }
    const auto search = replay({.charges_diverged = true}, logs);
    ASSERT_TRUE(search) << search.error().message;
    EXPECT_EQ(search->share(), 1);
    EXPECT_DOUBLE_EQ(search->target()->accuracy.mean, 0.91);
    const switch_point& point = search->curve().back();
    EXPECT_EQ(point.runs.size(), 3u) << "those that did not diverge, and one that did";
    EXPECT_DOUBLE_EQ(point.accuracy.mean, 0.91);
    EXPECT_DOUBLE_EQ(point.time, 5);
    EXPECT_DOUBLE_EQ(search->cost(), (36.0 + 2 + 4 + 6 + 1) / 12) << "the shortest of those that diverged";
    EXPECT_DOUBLE_EQ(expected_cost(*search, 2, 3).cost, 2 + 3 * 5.0 / 12);
  } while (std::ranges::next_permutation(order).found);
}

// Whether a share that is not needed has fewer runs than the target, or more.
TEST(SwitchReplay, WithoutATargetThereIsNoAnswerWhateverElseWasLogged) {
  const std::vector<switch_outcome> one{{0.9, 6}}, five(5, {0.9, 6});
  for (const auto& others : {one, five}) {
    const std::vector<logged_share> none{{1, {{0, 1, true}, {0, 1, true}}}, {0.5, others}};
    const std::vector<logged_share> too_few{{1, {{0.9, 10}, {0, 1, true}}}, {0.5, others}};
    const auto by_mean = replay({}, none);
    const auto by_test = replay({.acceptance = switch_acceptance::welch}, too_few);
    ASSERT_TRUE(by_mean) << by_mean.error().message;
    ASSERT_TRUE(by_test) << by_test.error().message;
    for (const auto& search : {by_mean, by_test}) {
      EXPECT_TRUE(search->done());
      EXPECT_EQ(search->share(), std::nullopt);
      EXPECT_EQ(search->curve().size(), 1u);
    }
    EXPECT_EQ(probability({.target_runs = 5, .runs = 1}, 1, none), 0);
    EXPECT_EQ(probability({.target_runs = 1, .runs = 1}, 0.5, too_few), 0.5) << "half of the draws have a target";
  }
}

TEST(SwitchReplay, RefusesLogsThatCannotBeSearched) {
  const auto refusal = [](switch_search_options options, const std::vector<logged_share>& logs) {
    const auto search = replay(std::move(options), logs);
    return search ? std::string{} : search.error().message;
  };
  EXPECT_EQ(refusal({}, {{0.5, {{0.9, 6}}}}), "logged runs: found none at share 1, expected at least one");
  EXPECT_EQ(refusal({}, {{1, {{0.9, 6}}}, {0.5, {{0.9, 6}}}, {0.5, {{0.8, 6}}}}),
            "switch_search: levels[1] is 0.5, expected more than the one before, 0.5");
  EXPECT_EQ(refusal({.beta = -1}, few), "switch_search: beta is -1, expected a finite number of 0 or more");
  EXPECT_EQ(refusal({.acceptance = switch_acceptance::welch}, {{1, {{0.9, 6}}}}),
            "logged runs: found 1 at share 1, expected at least 2 for a test");
  EXPECT_EQ(refusal({}, {{1, {{0.9, 0}}}}),
            "switch_search: run 0 at share 1: found the time 0, expected a number above 0, at most 1e+100");
  const auto without = success_probability({}, std::vector<logged_share>{{0.5, {{0.9, 6}}}}, 0.5);
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().message, "logged runs: found none at share 1, expected at least one");
}

TEST(SwitchReplay, TooManyDrawsAreRefused) {
  std::vector<logged_share> many{{1, {}}, {0.5, {}}};
  for (logged_share& each : many) each.runs.assign(40, {0.9, 10});
  const auto refused = success_probability({.target_runs = 20, .runs = 20}, many, 0.5);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "logged runs: found more than 2e+06 ways to draw runs, expected fewer runs");
  EXPECT_TRUE(success_probability({.target_runs = 1, .runs = 1}, many, 0.5));
}

}  // namespace
