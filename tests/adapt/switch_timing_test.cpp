#include <rubato/adapt/switch_timing.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <rubato/core/rng.hpp>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace rubato::adapt;
using rubato::errc;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

switch_search made(switch_search_options options = {}) {
  auto search = switch_search::make(std::move(options));
  EXPECT_TRUE(search) << search.error().message;
  return *std::move(search);
}

// Drives a search to its end with what `train` says of each trial; the shares that it tried, the target's included.
template <class Train>
std::vector<double> driven(switch_search& search, Train&& train) {
  std::vector<double> shares;
  while (!search.done()) {
    const switch_trial trial = search.next();
    if (trial.repetition == 0) shares.push_back(trial.share);
    const rubato::error refused = search.report(trial, train(trial));
    if (refused.code != errc::ok) {
      ADD_FAILURE() << refused.message;
      break;
    }
  }
  return shares;
}

// Accuracy 0.9 from `enough` on, 0.8 below; a training takes 10, of which a synchronous share takes four times as long.
auto step_at(double enough) {
  return [=](const switch_trial& trial) {
    return switch_outcome{trial.share >= enough ? 0.9 : 0.8, 10 * (1 + 3 * trial.share)};
  };
}

TEST(SwitchSearch, HalvesUntilTheFirstFailure) {
  switch_search search = made({.target_runs = 2, .runs = 3});
  EXPECT_EQ(search.share(), std::nullopt);
  EXPECT_EQ(driven(search, step_at(0.1)), (std::vector<double>{1, 0.5, 0.25, 0.125, 0.0625}));
  EXPECT_EQ(search.share(), 0.125);
  ASSERT_EQ(search.curve().size(), 5u);
  EXPECT_EQ(search.curve()[0].runs.size(), 2u);
  for (const switch_point& point : search.curve().subspan(1)) {
    EXPECT_EQ(point.runs.size(), 3u);
    EXPECT_TRUE(point.judged);
    EXPECT_EQ(point.passed, point.share >= 0.1) << point.share;
    EXPECT_DOUBLE_EQ(point.time, 10 * (1 + 3 * point.share));
  }
}

// The differences of these decimals are above and below 0.01 for a double.
TEST(SwitchSearch, ExactlyBetaBelowIsGoodEnough) {
  for (const auto& of : {std::pair{0.92, 0.91}, {0.74, 0.73}, {0.9, 0.89}, {92.0, 91.99}})
    for (const bool lower : {false, true}) {
      const double target = of.first, accuracy = of.second;
      switch_search search = made({.target_runs = 1, .runs = 1, .most_candidates = 1});
      static_cast<void>(driven(search, [&](const switch_trial& trial) {
        return switch_outcome{trial.share == 1 ? target : accuracy - (lower ? 1e-6 : 0.0), 10};
      }));
      EXPECT_EQ(search.share(), lower ? 1 : 0.5) << target << ' ' << accuracy;
    }
}

// No mean of what is taken is infinite, and the test has an answer.
TEST(SwitchSearch, LargestValuesAreJudged) {
  for (const switch_acceptance acceptance : {switch_acceptance::mean, switch_acceptance::welch}) {
    switch_search search = made({.target_runs = 2, .runs = 2, .most_candidates = 1, .acceptance = acceptance});
    static_cast<void>(driven(search, [](const switch_trial& trial) {
      const double sign = trial.share == 1 && trial.repetition == 0 ? -1 : 1;
      return switch_outcome{sign * most_switch_value, most_switch_value};
    }));
    ASSERT_TRUE(search.target());
    EXPECT_EQ(search.target()->accuracy.mean, 0);
    EXPECT_EQ(search.target()->time, most_switch_value);
    EXPECT_EQ(search.share(), acceptance == switch_acceptance::mean ? 0.5 : 1);
  }
  switch_search stored = made({.stored = switch_target{{2, 0.9, most_switch_value * most_switch_value}, 10},
                               .target_runs = 0,
                               .acceptance = switch_acceptance::welch});
  static_cast<void>(driven(stored, step_at(0)));
  EXPECT_EQ(stored.share(), 1) << "a target that scatters like this refutes nothing";
}

TEST(SwitchSearch, GoesOnByBisection) {
  switch_search search = made({.target_runs = 1, .runs = 1, .most_candidates = 5, .stops_at_failure = false});
  EXPECT_EQ(driven(search, step_at(0.3)), (std::vector<double>{1, 0.5, 0.25, 0.375, 0.3125, 0.28125}));
  EXPECT_EQ(search.share(), 0.3125);
}

// The nearest level to the middle, and of two as near the smaller: halves of 1, 0.5, 0.25, 0.1 are 0.5, 0.25, 0.125,
// 0.05.
TEST(SwitchSearch, TriesOnlyLevels) {
  const std::vector<double> levels{0.02, 0.04, 0.05, 0.1, 0.15, 0.2, 0.25, 0.5, 0.75};
  switch_search search = made({.levels = levels});
  EXPECT_EQ(driven(search, step_at(0.03)), (std::vector<double>{1, 0.5, 0.25, 0.1, 0.05, 0.02}));
  EXPECT_EQ(search.share(), 0.05);
  switch_search to_the_end = made({.levels = levels});
  static_cast<void>(driven(to_the_end, step_at(0)));
  EXPECT_EQ(to_the_end.share(), 0.02) << "nothing is left to try";
  switch_search between = made({.stops_at_failure = false, .levels = levels});
  EXPECT_EQ(driven(between, step_at(0.2)), (std::vector<double>{1, 0.5, 0.25, 0.1, 0.15, 0.2}));
}

TEST(SwitchSearch, StoredTargetCostsNothing) {
  switch_search search = made({.stored = switch_target{{5, 0.9, 0}, 40}, .target_runs = 0, .runs = 2});
  EXPECT_EQ(driven(search, step_at(0.4)), (std::vector<double>{0.5, 0.25}));
  EXPECT_EQ(search.share(), 0.5);
  EXPECT_DOUBLE_EQ(search.cost(), (2 * 25 + 2 * 17.5) / 40);
  EXPECT_DOUBLE_EQ(search.effective(), 2 / search.cost());
}

// Synchronous trainings of 40, candidates of 25, 17.5 and 13.75, of which the last one fails.
TEST(SwitchSearch, CostsAreAsDefined) {
  switch_search search = made({.target_runs = 2, .runs = 4});
  static_cast<void>(driven(search, step_at(0.2)));
  EXPECT_DOUBLE_EQ(search.cost(), 2 + 4 * (25 + 17.5 + 13.75) / 40);
  EXPECT_DOUBLE_EQ(search.amortization(), search.cost() / (1 - 17.5 / 40));
  EXPECT_DOUBLE_EQ(search.effective(), (2 + 4 * 2) / search.cost());

  switch_search useless = made({.target_runs = 2, .runs = 4});
  static_cast<void>(driven(useless, step_at(1)));
  EXPECT_EQ(useless.share(), 1);
  EXPECT_EQ(useless.amortization(), std::numeric_limits<double>::infinity());
}

TEST(SwitchSearch, DivergedCandidateHasFailed) {
  switch_search search = made({.target_runs = 1, .runs = 5});
  const auto shares = driven(search, [](const switch_trial& trial) {
    return switch_outcome{0.9, 10, trial.share == 0.25 && trial.repetition == 1};
  });
  EXPECT_EQ(shares, (std::vector<double>{1, 0.5, 0.25}));
  EXPECT_EQ(search.share(), 0.5);
  const switch_point& last = search.curve().back();
  EXPECT_EQ(last.runs.size(), 2u) << "no further runs";
  EXPECT_EQ(last.diverged, 1u);
  EXPECT_EQ(last.accuracy.size, 1u);
  EXPECT_FALSE(last.passed);
}

TEST(SwitchSearch, DivergedRunsCostWhatIsAsked) {
  const auto breaks_down = [](const switch_trial& trial) {
    return trial.share == 1 ? switch_outcome{0.9, 10} : switch_outcome{not_a_number, 3, true};
  };
  switch_search nothing = made({.target_runs = 1, .runs = 5});
  static_cast<void>(driven(nothing, breaks_down));
  EXPECT_DOUBLE_EQ(nothing.cost(), 1);
  switch_search charged = made({.target_runs = 1, .runs = 5, .charges_diverged = true});
  static_cast<void>(driven(charged, breaks_down));
  EXPECT_DOUBLE_EQ(charged.cost(), 1.3);
  EXPECT_EQ(charged.share(), 1);
}

TEST(SwitchSearch, DivergedTargetRunsDoNotCount) {
  switch_search search = made({.target_runs = 3, .runs = 1});
  static_cast<void>(driven(search, [](const switch_trial& trial) {
    if (trial.share < 1) return switch_outcome{0.5, 10};
    return switch_outcome{0.7 + 0.1 * trial.repetition, 10.0 + trial.repetition, trial.repetition == 1};
  }));
  ASSERT_TRUE(search.target());
  EXPECT_EQ(search.target()->accuracy.size, 2u);
  EXPECT_DOUBLE_EQ(search.target()->accuracy.mean, 0.8);
  EXPECT_DOUBLE_EQ(search.target()->time, 11);
  EXPECT_EQ(search.curve().front().diverged, 1u);
}

TEST(SwitchSearch, WithoutATargetThereIsNoAnswer) {
  switch_search search = made({.target_runs = 2});
  EXPECT_EQ(driven(search, [](const switch_trial&) { return switch_outcome{0, 1, true}; }), std::vector<double>{1});
  EXPECT_EQ(search.share(), std::nullopt);
  EXPECT_EQ(search.target(), std::nullopt);
  EXPECT_EQ(search.cost(), 0);
  EXPECT_EQ(search.effective(), 0);
  EXPECT_EQ(search.amortization(), std::numeric_limits<double>::infinity());
}

// A stand-in for a training: noisy, its accuracy falls below a share of 0.2, and it diverges now and then.
switch_outcome noisy(const switch_trial& trial, std::uint64_t seed) {
  rubato::random_sequence draw{seed, static_cast<std::uint64_t>(trial.share * 1e6), trial.repetition * 64ull};
  const double lost = trial.share < 0.2 ? 0.02 : 0.0;
  return {0.9 - lost + 0.007 * draw.normal(), 10 * (1 + 3 * trial.share), draw.below(12) == 0};
}

std::vector<switch_search_options> many_options() {
  std::vector<switch_search_options> all;
  for (const std::uint32_t runs : {1u, 2u, 5u})
    for (const bool stops : {true, false})
      for (const bool tests : {false, true}) {
        if (tests && runs < 2) continue;
        switch_search_options one{.target_runs = runs, .runs = runs, .most_candidates = 6, .stops_at_failure = stops};
        if (tests) one.acceptance = switch_acceptance::welch;
        all.push_back(one);
        one.levels = {0.03, 0.1, 0.11, 0.4, 0.6};
        all.push_back(one);
        one.stored = switch_target{{5, 0.9, 1e-5}, 40};
        one.target_runs = 0;
        all.push_back(one);
      }
  return all;
}

TEST(SwitchSearch, NeverAsksForMoreThanPromised) {
  for (const switch_search_options& options : many_options())
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      switch_search search = made(options), again = made(options);
      std::uint32_t asked = 0;
      while (!search.done()) {
        const switch_trial trial = search.next();
        ASSERT_LE(trial.repetition + search.ahead(), trial.share == 1 ? options.target_runs : options.runs);
        ASSERT_LT(++asked, 1'000u);
        ASSERT_EQ(again.next(), trial);
        ASSERT_EQ(search.report(trial, noisy(trial, seed)).code, errc::ok);
        ASSERT_EQ(again.report(trial, noisy(trial, seed)).code, errc::ok);
      }
      EXPECT_TRUE(again.done());
      EXPECT_EQ(search.share(), again.share());
      EXPECT_LE(asked, options.target_runs + options.runs * options.most_candidates);
      EXPECT_EQ(search.ahead(), 0u);
      const auto& target = search.target();
      if (!target) continue;
      double least = 1;
      for (const switch_point& point : search.curve())
        if (point.passed) least = std::min(least, point.share);
      EXPECT_EQ(search.share(), least);
    }
}

TEST(SwitchSearch, ReportsAgainResume) {
  for (const switch_search_options& options : many_options()) {
    switch_search whole = made(options);
    static_cast<void>(driven(whole, [](const switch_trial& trial) { return noisy(trial, 3); }));
    for (std::uint32_t cut = 0; cut < 12; ++cut) {
      switch_search first = made(options), second = made(options);
      for (std::uint32_t i = 0; i < cut && !first.done(); ++i)
        ASSERT_EQ(first.report(first.next(), noisy(first.next(), 3)).code, errc::ok);
      for (const switch_point& point : first.curve())
        for (const switch_outcome& run : point.runs) {
          ASSERT_EQ(second.next().share, point.share);
          ASSERT_EQ(second.report(second.next(), run).code, errc::ok);
        }
      static_cast<void>(driven(second, [](const switch_trial& trial) { return noisy(trial, 3); }));
      EXPECT_EQ(second.share(), whole.share());
      EXPECT_EQ(second.cost(), whole.cost());
      EXPECT_EQ(second.effective(), whole.effective());
    }
  }
}

// In 1,000 searches with three noisy runs of each share, where 0.2 is what is needed.
TEST(SwitchSearch, TheTestIsSaferThanTheMeanInNoise) {
  const auto too_early = [](switch_acceptance acceptance) {
    int count = 0;
    for (std::uint64_t seed = 0; seed < 1'000; ++seed) {
      switch_search search = made({.target_runs = 3, .runs = 3, .acceptance = acceptance});
      static_cast<void>(driven(search, [&](const switch_trial& trial) {
        switch_outcome run = noisy(trial, seed);
        run.diverged = false;
        return run;
      }));
      count += *search.share() < 0.2;
    }
    return count;
  };
  const int by_mean = too_early(switch_acceptance::mean), by_test = too_early(switch_acceptance::welch);
  EXPECT_GT(by_mean, 15);
  EXPECT_LE(by_test, 3);
}

TEST(SwitchSearch, CandidatesHaveALimit) {
  switch_search search = made({.target_runs = 1, .runs = 1, .most_candidates = 3});
  EXPECT_EQ(driven(search, step_at(0)).size(), 4u);
  EXPECT_EQ(search.share(), 0.125);
}

// With 10 workers and 100 steps a tenth is one barrier, and so is whatever is less.
TEST(SwitchSearch, NoneBelowTheLeastIsTried) {
  switch_search search = made({.target_runs = 1, .runs = 1, .least_share = 0.1});
  EXPECT_EQ(driven(search, step_at(0)).size(), 4u);
  EXPECT_EQ(search.share(), 0.125);
  switch_search exactly = made({.target_runs = 1, .runs = 1, .least_share = 0.125});
  EXPECT_EQ(driven(exactly, step_at(0)).size(), 4u) << "the least itself is tried";
  switch_search none = made({.target_runs = 1, .runs = 1, .least_share = 1});
  EXPECT_EQ(driven(none, step_at(0)).size(), 1u);
  EXPECT_EQ(none.share(), 1);
}

TEST(SwitchSearch, JudgesWhatItHasNotAskedFor) {
  switch_search search = made({.target_runs = 1, .runs = 1, .most_candidates = 1});
  ASSERT_EQ(search.report(search.next(), {0.92, 10}).code, errc::ok);
  EXPECT_TRUE(search.is_good_enough({.size = 1, .mean = 0.91}));
  EXPECT_FALSE(search.is_good_enough({.size = 1, .mean = 0.9099}));
}

TEST(SwitchSearch, JudgesWithFewerRuns) {
  switch_search search = made({.target_runs = 5, .runs = 5});
  EXPECT_EQ(search.judge_now().message,
            "switch_search: found judge_now() after 0 runs at share 1, expected at least 1");
  ASSERT_EQ(search.report(search.next(), {0.9, 10}).code, errc::ok);
  ASSERT_EQ(search.judge_now().code, errc::ok);
  EXPECT_EQ(search.target()->accuracy.size, 1u);
  EXPECT_EQ(search.next(), (switch_trial{0.5, 0}));
  EXPECT_EQ(search.ahead(), 5u);
}

// It is over, as after all of target_runs.
TEST(SwitchSearch, JudgesATargetOfDivergedRuns) {
  switch_search search = made({.target_runs = 5});
  ASSERT_EQ(search.report(search.next(), {0, 1, true}).code, errc::ok);
  ASSERT_EQ(search.judge_now().code, errc::ok);
  EXPECT_TRUE(search.done());
  EXPECT_EQ(search.share(), std::nullopt);
  switch_search test = made({.acceptance = switch_acceptance::welch});
  ASSERT_EQ(test.report(test.next(), {0.9, 10}).code, errc::ok);
  EXPECT_EQ(test.judge_now().message, "switch_search: found judge_now() after 1 runs at share 1, expected at least 2");
  ASSERT_EQ(test.report(test.next(), {0, 1, true}).code, errc::ok);
  ASSERT_EQ(test.judge_now().code, errc::ok);
  EXPECT_TRUE(test.done());
  EXPECT_EQ(test.share(), std::nullopt);
}

TEST(SwitchSearch, RefusesWhatItDidNotAskFor) {
  switch_search search = made({.target_runs = 1, .runs = 1, .most_candidates = 1});
  const auto refusal = [&](const switch_trial& trial, const switch_outcome& what) {
    const switch_trial before = search.done() ? switch_trial{} : search.next();
    const rubato::error refused = search.report(trial, what);
    EXPECT_EQ(refused.code, errc::invalid_option);
    EXPECT_TRUE(search.done() || search.next() == before);
    return refused.message;
  };
  EXPECT_EQ(refusal({1, 1}, {0.9, 10}), "switch_search: found run 1 at share 1, expected run 0 at share 1");
  EXPECT_EQ(refusal({0.5, 0}, {0.9, 10}), "switch_search: found run 0 at share 0.5, expected run 0 at share 1");
  for (const double time : {0.0, -1.0, 2e100})
    EXPECT_NE(refusal({1, 0}, {0.9, time}).find("expected a number above 0, at most 1e+100"), std::string::npos)
        << time;
  for (const double accuracy : {-2e100, 1.7e308})
    EXPECT_NE(refusal({1, 0}, {accuracy, 10}).find("expected a number from -1e+100 to 1e+100"), std::string::npos);
  EXPECT_NE(refusal({1, 0}, {0.9, not_a_number}).find("found the time nan"), std::string::npos);
  EXPECT_NE(refusal({1, 0}, {not_a_number, 10}).find("found the accuracy nan"), std::string::npos);
  EXPECT_NE(refusal({1, 0}, {not_a_number, not_a_number, true}).find("found the time nan"), std::string::npos);
  static_cast<void>(driven(search, step_at(1)));
  EXPECT_EQ(refusal({0.25, 0}, {0.9, 10}),
            "switch_search: found run 0 at share 0.25 after the end of the search, expected none");
  EXPECT_EQ(search.judge_now().code, errc::invalid_option);
}

TEST(SwitchSearch, RefusesBadOptions) {
  const auto refusal = [](switch_search_options options) {
    const auto search = switch_search::make(std::move(options));
    return search ? std::string{} : search.error().message;
  };
  const switch_target known{{5, 0.9, 1e-5}, 40};
  EXPECT_EQ(refusal({.beta = -0.5}), "switch_search: beta is -0.5, expected a finite number of 0 or more");
  EXPECT_EQ(refusal({.beta = not_a_number}), "switch_search: beta is nan, expected a finite number of 0 or more");
  EXPECT_EQ(refusal({.acceptance = static_cast<switch_acceptance>(7)}),
            "switch_search: acceptance is 7, expected mean or welch");
  EXPECT_EQ(refusal({.target_runs = 0}), "switch_search: target_runs is 0, expected at least 1");
  EXPECT_EQ(refusal({.stored = known}), "switch_search: target_runs is 5, expected 0 beside a stored target");
  EXPECT_EQ(refusal({.runs = 0}), "switch_search: runs is 0, expected at least 1");
  EXPECT_EQ(refusal({.most_candidates = 0}), "switch_search: most_candidates is 0, expected 1 to 64");
  EXPECT_EQ(refusal({.most_candidates = 65}), "switch_search: most_candidates is 65, expected 1 to 64");
  EXPECT_EQ(refusal({.least_share = 1.5}), "switch_search: least_share is 1.5, expected a share from 0 to 1");
  EXPECT_EQ(refusal({.least_share = not_a_number}), "switch_search: least_share is nan, expected a share from 0 to 1");
  EXPECT_EQ(refusal({.levels = {0.5, 1}}), "switch_search: levels[1] is 1, expected a share between 0 and 1");
  EXPECT_EQ(refusal({.levels = {0}}), "switch_search: levels[0] is 0, expected a share between 0 and 1");
  EXPECT_EQ(refusal({.levels = {0.5, 0.25}}),
            "switch_search: levels[1] is 0.25, expected more than the one before, 0.5");
  EXPECT_EQ(refusal({.runs = 1, .acceptance = switch_acceptance::welch}),
            "switch_search: runs is 1, expected at least 2 for a test");
  EXPECT_EQ(refusal({.target_runs = 1, .acceptance = switch_acceptance::welch}),
            "switch_search: target_runs is 1, expected at least 2 for a test");
  EXPECT_EQ(refusal({.acceptance = switch_acceptance::welch, .level = 1}),
            "switch_search: level is 1, expected a probability between 0 and 1");
  const auto stored = [&](auto change) {
    switch_search_options options{.stored = known, .target_runs = 0, .acceptance = switch_acceptance::welch};
    change(*options.stored);
    return refusal(options);
  };
  EXPECT_EQ(stored([](switch_target&) {}), "");
  EXPECT_EQ(stored([](switch_target& t) { t.accuracy.size = 1; }),
            "switch_search: stored.accuracy.size is 1, expected at least 2 for a test");
  EXPECT_EQ(stored([](switch_target& t) { t.accuracy.mean = not_a_number; }),
            "switch_search: stored.accuracy.mean is nan, expected a number from -1e+100 to 1e+100");
  EXPECT_EQ(stored([](switch_target& t) { t.accuracy.variance = -1; }),
            "switch_search: stored.accuracy.variance is -1, expected a number from 0 to 1e+200");
  EXPECT_EQ(stored([](switch_target& t) { t.accuracy.variance = 2e200; }),
            "switch_search: stored.accuracy.variance is 2e+200, expected a number from 0 to 1e+200");
  EXPECT_EQ(stored([](switch_target& t) { t.time = 0; }),
            "switch_search: stored.time is 0, expected a number above 0, at most 1e+100");
}

}  // namespace
