#include <rubato/adapt/online.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <rubato/core/rng.hpp>
#include <vector>

namespace {

using namespace rubato::adapt;
using rubato::errc;

constexpr double infinite = std::numeric_limits<double>::infinity();

online_search search_from(std::vector<float> parameters, const online_options& options = {}) {
  auto made = online_search::make(std::move(parameters), options);
  EXPECT_TRUE(made) << made.error().message;
  return *made;
}

using job = std::function<double(std::span<const float>)>;

void run(online_search& search, int jobs, const job& cost) {
  for (int i = 0; i < jobs; ++i) {
    const double paid = cost(search.next());
    ASSERT_EQ(search.report(paid).code, errc::ok);
  }
}

// A sequence that no search draws from.
rubato::random_sequence noise_of(std::uint64_t seed) { return rubato::random_sequence{seed, 7}; }

// Least at 1 in each parameter, with noise from job to job.
job bowl(double deviation, std::uint64_t seed) {
  return [deviation, random = noise_of(seed)](std::span<const float> at) mutable {
    double cost = deviation * random.normal();
    for (const float x : at) cost += 0.4 * (x - 1.0) * (x - 1.0);
    return cost;
  };
}

// What the candidate's job of each pair costs more.
void run_pairs(online_search& search, const std::vector<double>& differences) {
  for (const double difference : differences)
    for (int each = 0; each < 2; ++each)
      ASSERT_EQ(search.report(search.tries_candidate() ? difference : 0).code, errc::ok);
}

std::size_t accepted(const online_search& search) {
  return static_cast<std::size_t>(std::ranges::count_if(search.trials(), &online_trial::accepted));
}

TEST(OnlineSearch, TakesWhatIsBetter) {
  online_search search = search_from({0});
  run(search, 200, bowl(0.1, 1));
  EXPECT_NEAR(search.incumbent()[0], 1, 0.3);
  EXPECT_GE(accepted(search), 1U);
}

TEST(OnlineSearch, TakesWhatIsBetterInTwoParameters) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    online_search search = search_from({0, 0}, {.seed = seed});
    run(search, 600, bowl(0.1, seed));
    for (const float x : search.incumbent()) EXPECT_NEAR(x, 1, 0.5) << seed;
  }
}

TEST(OnlineSearch, PairsHaveBothInRandomOrder) {
  online_search search = search_from({0});
  int candidate_first = 0;
  for (int pair = 0; pair < 400; ++pair) {
    const bool first = search.tries_candidate();
    candidate_first += first ? 1 : 0;
    EXPECT_EQ(search.next()[0] != search.incumbent()[0], first);
    const std::size_t before = search.trials().size();
    ASSERT_EQ(search.report(0).code, errc::ok);
    EXPECT_EQ(search.tries_candidate(), !first);
    EXPECT_EQ(search.trials().size(), before);
    ASSERT_EQ(search.report(0).code, errc::ok);
  }
  EXPECT_NEAR(candidate_first, 200, 40);
}

TEST(OnlineSearch, AsManyPairsBeginWithEither) {
  online_search search = search_from({0}, {.pairs = 100});
  run_pairs(search, std::vector<double>(60, -0.001));
  for (std::size_t i = 0; i + 1 < search.trials()[0].pairs.size(); i += 2)
    EXPECT_NE(search.trials()[0].pairs[i].candidate_first, search.trials()[0].pairs[i + 1].candidate_first);
}

// Also where candidates fail.
TEST(OnlineSearch, HalfOfTheJobsTryCandidates) {
  online_search search = search_from({0});
  int tries = 0;
  for (int made = 0; made < 200; ++made) {
    tries += search.tries_candidate() ? 1 : 0;
    ASSERT_EQ(search.report(search.tries_candidate() ? infinite : 0).code, errc::ok);
  }
  EXPECT_EQ(tries, 100);
}

// The share of candidates that are taken though they cost the same, of so many that are not open any more.
double taken_of_equals(const online_options& options, double deviation, double drift) {
  std::size_t tried = 0, taken = 0;
  for (std::uint64_t seed = 1; tried < 4'000; ++seed) {
    online_options own = options;
    own.seed = seed;
    online_search search = search_from({0}, own);
    rubato::random_sequence noise = noise_of(seed);
    for (double jobs = 0; search.trials().size() <= 10; ++jobs)
      EXPECT_EQ(search.report(drift * jobs + deviation * noise.normal()).code, errc::ok);
    tried += 10;
    taken += accepted(search);
  }
  return static_cast<double>(taken) / static_cast<double>(tried);
}

// With four standard errors of 4,000 candidates beside it.
TEST(OnlineSearch, KeepsItsLevel) {
  for (const auto& [pairs, level] :
       {std::pair{8U, 0.05}, std::pair{8U, 0.4}, std::pair{20U, 0.05}, std::pair{20U, 0.01}}) {
    const double share = taken_of_equals({.pairs = pairs, .level = level}, 0.2, 0);
    EXPECT_LT(share, level + 4 * std::sqrt(level / 4'000)) << pairs << ' ' << level;
    EXPECT_GT(share, level / 4) << pairs << ' ' << level << ": a test that never takes anything has no power";
  }
}

// A second job of a pair that costs ten times the noise more, or less.
TEST(OnlineSearch, KeepsItsLevelWhereTheClusterDrifts) {
  for (const double drift : {-0.02, 0.02})
    EXPECT_LT(taken_of_equals({}, 0.002, drift), 0.05 + 4 * std::sqrt(0.05 / 4'000)) << drift;
}

TEST(OnlineSearch, WhatIsMuchWorseIsNeverTaken) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    online_search search = search_from({0}, {.seed = seed, .recheck = 0});
    rubato::random_sequence noise = noise_of(seed);
    run(search, 50, [&](std::span<const float> at) { return (at[0] == 0 ? 0 : 0.4) + 0.1 * noise.normal(); });
    EXPECT_EQ(accepted(search), 0U) << seed;
  }
}

TEST(OnlineSearch, WhatIsHopelessIsGivenUpAfterItsFirstPair) {
  online_search search = search_from({0});
  run_pairs(search, std::vector<double>(10, 0.71));
  ASSERT_EQ(search.trials().size(), 11U);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(search.trials()[i].pairs.size(), 1U);
  online_search just_not = search_from({0});
  run_pairs(just_not, {0.7});
  EXPECT_EQ(just_not.trials().size(), 1U);
}

TEST(OnlineSearch, WhatIsNoBetterIsGivenUpFromTheThirdPairOn) {
  for (const auto& [differences, after] :
       {std::pair{std::vector<double>{0, 0, 0}, 3U}, std::pair{std::vector{-0.1, -0.1, 0.0, 0.0, 0.3}, 5U}}) {
    online_search search = search_from({0});
    run_pairs(search, differences);
    ASSERT_EQ(search.trials().size(), 2U);
    EXPECT_EQ(search.trials()[0].pairs.size(), after);
    EXPECT_FALSE(search.trials()[0].accepted);
  }
}

TEST(OnlineSearch, WhatIsClearlyBetterIsTakenAfterHalfOfThePairs) {
  online_search search = search_from({0}, {.pairs = 12});
  run_pairs(search, std::vector<double>(6, -0.5));
  ASSERT_EQ(search.trials().size(), 2U);
  EXPECT_TRUE(search.trials()[0].accepted);
  EXPECT_EQ(search.incumbent()[0], search.trials()[0].parameters[0]);
}

TEST(OnlineSearch, WhatIsBetterIsTakenAfterAllPairs) {
  online_search search = search_from({0});
  run_pairs(search, {-0.1, -0.3, -0.2, 0, -0.1, -0.2, -0.1, -0.2});
  ASSERT_EQ(search.trials().size(), 2U);
  EXPECT_TRUE(search.trials()[0].accepted);
  EXPECT_EQ(search.trials()[0].pairs.size(), 8U);
}

TEST(OnlineSearch, WhatIsNotProvedAfterAllPairsIsGivenUp) {
  online_search search = search_from({0});
  run_pairs(search, {-0.6, 0.2, -0.6, 0.5, -0.3, 0.3, -0.4, 0.4});
  ASSERT_EQ(search.trials().size(), 2U);
  EXPECT_FALSE(search.trials()[0].accepted);
  EXPECT_EQ(search.trials()[0].pairs.size(), 8U);
  EXPECT_EQ(search.incumbent()[0], 0);
  EXPECT_FLOAT_EQ(search.trials()[1].parameters[0], 1.1892071F * search.trials()[0].parameters[0])
      << "a longer step in the same direction";
}

TEST(OnlineSearch, TheNextGoesOnInTheSameDirectionTwiceAsFar) {
  online_search search = search_from({0}, {.step = 0.25});
  run(search, 8, [](std::span<const float> at) { return at[0] == 0 ? 1.0 : 0.5; });
  ASSERT_EQ(accepted(search), 1U);
  EXPECT_FLOAT_EQ(search.trials()[1].parameters[0], 3 * search.trials()[0].parameters[0]);
}

TEST(OnlineSearch, TheOtherWayIsTriedNext) {
  online_search search = search_from({2}, {.recheck = 0});
  run(search, 4, [](std::span<const float> at) { return at[0] == 2 ? 0.0 : 9.0; });
  ASSERT_EQ(search.trials().size(), 3U);
  const float first = search.trials()[0].parameters[0] - 2, second = search.trials()[1].parameters[0] - 2;
  EXPECT_FLOAT_EQ(std::abs(first), 0.5F);
  EXPECT_FLOAT_EQ(second, -first * 0.84089642F);
}

TEST(OnlineSearch, StepsStayWithinTheirLimits) {
  online_search search = search_from({0}, {.recheck = 0});
  run(search, 200, [](std::span<const float> at) { return at[0] == 0 ? 0.0 : 9.0; });
  EXPECT_DOUBLE_EQ(search.step(), 0.5 / 8);
  double falls = 0;
  online_search better = search_from({0}, {.recheck = 0});
  for (int i = 0; i < 200; ++i) ASSERT_EQ(better.report(better.tries_candidate() ? falls - 1 : falls).code, errc::ok);
  EXPECT_DOUBLE_EQ(better.step(), 4);
}

// What was better at first is worse later: the search goes back to what it began with.
TEST(OnlineSearch, WhatItBeganWithIsTriedAgain) {
  online_search search = search_from({0}, {.step = 0.5, .recheck = 2});
  rubato::random_sequence noise = noise_of(3);
  bool changed = false;
  const job cost = [&](std::span<const float> at) {
    return (at[0] == 0) == changed ? 0.0 : 0.6 + 0.05 * noise.uniform();
  };
  run(search, 40, cost);
  ASSERT_NE(search.incumbent()[0], 0);
  changed = true;
  run(search, 60, cost);
  EXPECT_EQ(search.incumbent()[0], 0);
}

TEST(OnlineSearch, NeverTriesWhatItBeganWithIfNotAsked) {
  online_search search = search_from({0}, {.recheck = 0});
  run(search, 400, [](std::span<const float> at) { return -at[0]; });
  for (const online_trial& each : search.trials()) EXPECT_FALSE(each.is_recheck);
  EXPECT_GE(accepted(search), 4U);
}

TEST(OnlineSearch, ACandidateThatFailsIsGivenUp) {
  online_search search = search_from({0});
  for (int each = 0; each < 2; ++each) ASSERT_EQ(search.report(search.tries_candidate() ? infinite : 1).code, errc::ok);
  EXPECT_TRUE(search.trials()[0].failed);
  EXPECT_FALSE(search.trials()[0].accepted);
  EXPECT_EQ(search.trials().size(), 2U);
}

TEST(OnlineSearch, WhereBothFailNothingIsSaid) {
  online_search search = search_from({0});
  run(search, 20, [](std::span<const float>) { return infinite; });
  EXPECT_EQ(search.trials().size(), 1U);
  EXPECT_FALSE(search.trials()[0].failed);
  EXPECT_TRUE(search.trials()[0].pairs.empty());
}

TEST(OnlineSearch, ACandidateThatDoesNotFailReplacesWhatDoes) {
  online_search search = search_from({0});
  run(search, 8, [](std::span<const float> at) { return at[0] == 0 ? infinite : 1; });
  EXPECT_EQ(accepted(search), 1U);
  EXPECT_EQ(search.trials()[0].pairs[0].difference, -search.options().hopeless);
}

TEST(OnlineSearch, ReportsAgainResume) {
  online_search search = search_from({0, 0}, {.seed = 5});
  run(search, 123, bowl(0.2, 5));
  online_search again = search_from({0, 0}, {.seed = 5});
  for (const double cost : search.costs()) ASSERT_EQ(again.report(cost).code, errc::ok);
  EXPECT_TRUE(std::ranges::equal(again.next(), search.next()));
  EXPECT_TRUE(std::ranges::equal(again.incumbent(), search.incumbent()));
  EXPECT_EQ(again.tries_candidate(), search.tries_candidate());
  EXPECT_EQ(again.trials().size(), search.trials().size());
}

TEST(OnlineSearch, CostsThatAreNoneAreRefused) {
  online_search search = search_from({0});
  ASSERT_EQ(search.report(1).code, errc::ok);
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), -infinite, 1.1e100, -1.1e100}) {
    const auto refused = search.report(bad);
    EXPECT_EQ(refused.code, errc::invalid_option);
    EXPECT_EQ(refused.message.find("online_search: found the cost "), 0U) << refused.message;
  }
  EXPECT_EQ(search.costs().size(), 1U);
}

TEST(OnlineSearch, RefusesBadOptions) {
  const auto refused = [](std::vector<float> parameters, const online_options& options) {
    const auto made = online_search::make(std::move(parameters), options);
    EXPECT_FALSE(made);
    return made ? std::string{} : made.error().message;
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(refused({}, {}), "online_search: found no parameters, expected some");
  EXPECT_EQ(refused({1, nan}, {}), "online_search: parameter 1 is nan, expected a finite number that steps change");
  EXPECT_EQ(refused({1e9F}, {}), "online_search: parameter 0 is 1e+09, expected a finite number that steps change");
  EXPECT_EQ(refused({1}, {.step = 0}), "online_search: step is 0, expected a number above 0, at most 1e6");
  EXPECT_EQ(refused({0}, {.step = 1e-50}),
            "online_search: parameter 0 is 0, expected a finite number that steps change");
  for (const std::uint32_t pairs : {4U, 10U, 1'004U})
    EXPECT_EQ(refused({1}, {.pairs = pairs}),
              "online_search: pairs is " + std::to_string(pairs) + ", expected a multiple of 4 from 8 to 1,000");
  EXPECT_EQ(refused({1}, {.level = 0.6}), "online_search: level is 0.6, expected a probability above 0, at most 0.5");
  EXPECT_EQ(refused({1}, {.hopeless = -1}), "online_search: hopeless is -1, expected a number above 0, at most 1e+100");
  EXPECT_EQ(refused({1}, {.recheck = 1}), "online_search: recheck is 1, expected 0, or 2 or more");
}

}  // namespace
