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

// Least at 1 in each parameter, with noise from job to job.
job bowl(double deviation, std::uint64_t seed) {
  return [deviation, random = rubato::random_sequence{seed}](std::span<const float> at) mutable {
    double cost = deviation * random.normal();
    for (const float x : at) cost += 0.4 * (x - 1.0) * (x - 1.0);
    return cost;
  };
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

// Candidates that cost the same are taken in at most one of twenty.
TEST(OnlineSearch, KeepsItsLevel) {
  std::size_t tried = 0, taken = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    online_search search = search_from({0}, {.seed = seed});
    rubato::random_sequence noise{seed, 7};
    run(search, 200, [&](std::span<const float>) { return 0.2 * noise.normal(); });
    tried += search.trials().size() - 1;
    taken += accepted(search);
  }
  ASSERT_GT(tried, 5'000U);
  EXPECT_LT(static_cast<double>(taken), 0.055 * static_cast<double>(tried));
  EXPECT_GT(static_cast<double>(taken), 0.01 * static_cast<double>(tried)) << "a test that never rejects has no power";
}

TEST(OnlineSearch, WhatIsMuchWorseIsNeverTaken) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    online_search search = search_from({0}, {.seed = seed, .recheck = 0});
    rubato::random_sequence noise{seed, 7};
    run(search, 50, [&](std::span<const float> at) { return (at[0] == 0 ? 0 : 0.4) + 0.1 * noise.normal(); });
    EXPECT_EQ(accepted(search), 0U) << seed;
  }
}

TEST(OnlineSearch, SlowDriftMovesNothing) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    online_search search = search_from({0}, {.seed = seed, .recheck = 0});
    int jobs = 0;
    run(search, 100, [&](std::span<const float> at) { return (at[0] == 0 ? 0 : 0.3) - 0.02 * ++jobs; });
    EXPECT_EQ(accepted(search), 0U) << seed;
  }
}

TEST(OnlineSearch, WhatIsHopelessIsGivenUpAfterItsFirstPair) {
  online_search search = search_from({0});
  run(search, 20, [](std::span<const float> at) { return at[0] == 0 ? 0.0 : 0.71; });
  ASSERT_EQ(search.trials().size(), 11U);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(search.trials()[i].worse, std::vector{0.71});
}

TEST(OnlineSearch, WhatIsNoBetterIsGivenUpAfterThreePairs) {
  online_search search = search_from({0});
  run(search, 60, [](std::span<const float>) { return 5.0; });
  ASSERT_EQ(search.trials().size(), 11U);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(search.trials()[i].worse.size(), 3U);
}

TEST(OnlineSearch, WhatIsClearlyBetterIsTakenAfterHalfOfThePairs) {
  online_search search = search_from({0}, {.pairs = 10});
  run(search, 10, [](std::span<const float> at) { return at[0] == 0 ? 1.0 : 0.5; });
  ASSERT_EQ(search.trials().size(), 2U);
  EXPECT_TRUE(search.trials()[0].accepted);
  EXPECT_EQ(search.incumbent()[0], search.trials()[0].parameters[0]);
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
  rubato::random_sequence noise{3};
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

TEST(OnlineSearch, AFailedJobEndsItsCandidate) {
  online_search search = search_from({0});
  while (!search.tries_candidate()) ASSERT_EQ(search.report(1).code, errc::ok);
  ASSERT_EQ(search.report(infinite).code, errc::ok);
  EXPECT_TRUE(search.trials()[0].failed);
  EXPECT_FALSE(search.trials()[0].accepted);
  EXPECT_EQ(search.trials().size(), 2U);
}

// It says nothing of the candidate.
TEST(OnlineSearch, AFailedJobOfWhatIsInUseVoidsItsPair) {
  online_search search = search_from({0});
  for (int pair = 0; pair < 10; ++pair)
    for (int each = 0; each < 2; ++each)
      ASSERT_EQ(search.report(search.tries_candidate() ? 1 : infinite).code, errc::ok);
  EXPECT_EQ(search.trials().size(), 1U);
  EXPECT_TRUE(search.trials()[0].worse.empty());
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
  EXPECT_EQ(refused({1, nan}, {}), "online_search: parameter 1 is nan, expected a finite number");
  EXPECT_EQ(refused({1}, {.step = 0}), "online_search: step is 0, expected a number above 0, at most 1e6");
  EXPECT_EQ(refused({1}, {.pairs = 4}), "online_search: pairs is 4, expected an even number from 6 to 1,000");
  EXPECT_EQ(refused({1}, {.pairs = 7}), "online_search: pairs is 7, expected an even number from 6 to 1,000");
  EXPECT_EQ(refused({1}, {.level = 0.6}), "online_search: level is 0.6, expected a probability above 0, at most 0.5");
  EXPECT_EQ(refused({1}, {.hopeless = -1}),
            "online_search: hopeless is -1, expected a number above 0, at most 1e100");
}

}  // namespace
