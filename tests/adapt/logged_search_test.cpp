// The search for the switch point on the runs that the authors of Sync-Switch logged: oracles O5 and O6, and how often
// fewer runs find the same answer.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "logged_runs.hpp"

namespace {

using namespace rubato::adapt;
using rubato::test::logged_runs;

switch_search searched(std::string_view workload, switch_search_options options = {}) {
  auto search = replay(std::move(options), logged_runs(workload).shares);
  EXPECT_TRUE(search) << search.error().message;
  return *std::move(search);
}

std::vector<double> shares_of(const switch_search& search) {
  std::vector<double> shares;
  for (const switch_point& point : search.curve()) shares.push_back(point.share);
  return shares;
}

// Means 0.7425, 0.7505 and 0.7460 pass, 0.7325 fails, of a target of 0.7462.
TEST(LoggedSearch, TwelveAndAHalfPerCentOnCifar100) {
  const switch_search search = searched("cifar100_res50");
  EXPECT_EQ(search.share(), 0.125);
  EXPECT_EQ(shares_of(search), (std::vector<double>{1, 0.5, 0.25, 0.125, 0.0625}));
  const double means[] = {0.7462, 0.7425, 0.7505, 0.7460, 0.7325};
  for (std::size_t i = 0; i < std::size(means); ++i) {
    EXPECT_NEAR(search.curve()[i].accuracy.mean, means[i], 0.00006) << i;
    EXPECT_EQ(search.curve()[i].passed, i < 4) << i;
    EXPECT_EQ(search.curve()[i].runs.size(), 5u) << i;
  }
}

// What the paper calls 6.25 % are the logs of 5 %.
TEST(LoggedSearch, ThePapersPoliciesOnTheOthers) {
  const switch_search first = searched("cifar10_res32"), third = searched("cluster_16");
  EXPECT_EQ(first.share(), 0.05);
  EXPECT_EQ(shares_of(first), (std::vector<double>{1, 0.5, 0.25, 0.1, 0.05, 0.02}));
  EXPECT_EQ(third.share(), 0.5);
  EXPECT_EQ(shares_of(third), (std::vector<double>{1, 0.5}));
}

// ResNet32 on CIFAR-10 with its sixth synchronous run, that of slower machines, too.
std::vector<logged_share> with_slow_run() {
  std::vector<logged_share> shares = logged_runs("cifar10_res32").shares;
  shares.front().runs.push_back({0.9263, 18207.0});
  return shares;
}

// It raises the target to 0.9200.
TEST(LoggedSearch, TheRunOfSlowMachinesChangesNothing) {
  const auto search = replay({}, with_slow_run());
  ASSERT_TRUE(search);
  EXPECT_NEAR(search->target()->accuracy.mean, 0.9200, 0.00006);
  EXPECT_EQ(search->share(), 0.05);
}

TEST(LoggedSearch, TheTestFindsTheSamePolicies) {
  for (const char* workload : {"cifar10_res32", "cifar100_res50"})
    EXPECT_EQ(searched(workload, {.acceptance = switch_acceptance::welch}).share(), searched(workload).share())
        << workload;
  EXPECT_EQ(searched("cluster_16", {.acceptance = switch_acceptance::welch}).share(), 1)
      << "three runs that scatter by 0.01 refute nothing";
}

// Means of times, and their ratios to the synchronous ones.
TEST(LoggedSearch, TimesOfTheLogs) {
  struct {
    const char* workload;
    double share, time, ratio;
  } const table[] = {{"cifar10_res32", 1, 10'532, 1},          {"cifar10_res32", 0.5, 5'980, 0.567},
                     {"cifar10_res32", 0.25, 3'870, 0.367},    {"cifar10_res32", 0.1, 2'518, 0.239},
                     {"cifar10_res32", 0.05, 2'055, 0.195},    {"cifar10_res32", 0.02, 1'774, 0.168},
                     {"cifar100_res50", 1, 11'288, 1},         {"cifar100_res50", 0.5, 8'512, 0.754},
                     {"cifar100_res50", 0.25, 7'294, 0.646},   {"cifar100_res50", 0.125, 6'790, 0.602},
                     {"cifar100_res50", 0.0625, 6'427, 0.569}, {"cluster_16", 1, 9'631, 1},
                     {"cluster_16", 0.5, 5'158, 0.536}};
  for (const auto& row : table) {
    const switch_search search = searched(row.workload);
    const auto point = std::ranges::find(search.curve(), row.share, &switch_point::share);
    ASSERT_NE(point, search.curve().end()) << row.workload << ' ' << row.share;
    EXPECT_NEAR(point->time, row.time, 0.6) << row.workload << ' ' << row.share;
    EXPECT_NEAR(point->time / search.target()->time, row.ratio, 0.001) << row.workload << ' ' << row.share;
  }
}

// Table II as its definitions give it. The sixth row is 9.05 and 22.71 in the paper, which its own 1.17 contradicts.
// Within 0.5 %, or what two decimals cannot tell.
TEST(LoggedSearch, CostsOfTableTwo) {
  struct {
    const char* workload;
    std::uint32_t target_runs, runs;
    double cost, amortization, effective;
  } const table[] = {{"cifar10_res32", 5, 5, 12.68, 15.76, 1.97},  {"cifar10_res32", 3, 3, 7.61, 9.45, 1.97},
                     {"cifar10_res32", 0, 3, 4.61, 5.73, 2.60},    {"cifar100_res50", 5, 5, 17.86, 44.81, 1.12},
                     {"cifar100_res50", 4, 4, 14.28, 35.85, 1.12}, {"cifar100_res50", 0, 4, 10.28, 25.81, 1.17},
                     {"cluster_16", 5, 5, 7.68, 16.53, 1.30},      {"cluster_16", 3, 3, 4.61, 9.92, 1.30},
                     {"cluster_16", 0, 1, 0.54, 1.15, 1.87}};
  for (const auto& row : table) {
    const switch_cost got = expected_cost(searched(row.workload), row.target_runs, row.runs);
    const auto expect_near = [&](double found, double expected, const char* what) {
      EXPECT_NEAR(found, expected, std::max(0.005 * expected, 0.005))
          << row.workload << ' ' << row.target_runs << ' ' << row.runs << ' ' << what;
    };
    expect_near(got.cost, row.cost, "cost");
    expect_near(got.amortization, row.amortization, "amortization");
    expect_near(got.effective, row.effective, "effective");
  }
}

// Per cent of all draws without replacement that end where all runs together do.
double success(const std::vector<logged_share>& shares, std::uint32_t target_runs, std::uint32_t runs,
               switch_acceptance acceptance = switch_acceptance::mean) {
  const auto reference = replay({.acceptance = acceptance}, shares);
  EXPECT_TRUE(reference);
  switch_search_options options{.target_runs = target_runs, .runs = runs, .acceptance = acceptance};
  if (target_runs == 0) options.stored = reference->target();
  const auto found = success_probability(options, shares, *reference->share());
  EXPECT_TRUE(found) << found.error().message;
  return 100 * *found;
}

// With the accuracy of the run on slower machines among the target's, as the resampling of the logs had it.
TEST(LoggedSearch, SuccessProbabilities) {
  const std::vector<logged_share> first = with_slow_run(), second = logged_runs("cifar100_res50").shares;
  EXPECT_NEAR(success(first, 5, 5), 100, 2);
  EXPECT_NEAR(success(first, 3, 3), 92, 2);
  EXPECT_NEAR(success(first, 0, 3), 100, 2);
  EXPECT_NEAR(success(first, 1, 1), 36.5, 2);
  EXPECT_NEAR(success(second, 5, 5), 100, 2);
  EXPECT_NEAR(success(second, 4, 4), 92, 2);
  EXPECT_NEAR(success(second, 3, 3), 86, 2);
  EXPECT_NEAR(success(second, 0, 4), 100, 2);
  EXPECT_NEAR(success(second, 1, 1), 36.5, 2);
}

// Than there are in logs: with fewer it often stops at a larger share.
TEST(LoggedSearch, TheTestNeedsMoreTrainings) {
  const std::vector<logged_share>&first = logged_runs("cifar10_res32").shares,
        &second = logged_runs("cifar100_res50").shares;
  constexpr auto welch = switch_acceptance::welch;
  EXPECT_NEAR(success(first, 5, 5, welch), 66.1, 0.06);
  EXPECT_NEAR(success(first, 5, 4, welch), 28.0, 0.06);
  EXPECT_NEAR(success(first, 4, 5, welch), 17.1, 0.06);
  EXPECT_NEAR(success(first, 4, 4, welch), 12.7, 0.06);
  EXPECT_NEAR(success(second, 5, 5, welch), 100, 0.06);
  EXPECT_NEAR(success(second, 5, 4, welch), 40.0, 0.06);
  EXPECT_NEAR(success(second, 4, 5, welch), 40.0, 0.06);
  EXPECT_NEAR(success(second, 4, 4, welch), 17.6, 0.06);
}

// Draws in which a candidate is exactly beta below the target: 0.01 is not to be 0.010000000000000009.
TEST(LoggedSearch, SuccessProbabilitiesOfTies) {
  const std::vector<logged_share>&first = logged_runs("cifar10_res32").shares,
        &second = logged_runs("cifar100_res50").shares;
  EXPECT_NEAR(success(first, 3, 1), 50.9, 0.06);
  EXPECT_NEAR(success(first, 4, 1), 47.7, 0.06);
  EXPECT_NEAR(success(first, 1, 2), 63.3, 0.06);
  EXPECT_NEAR(success(first, 2, 2), 76.6, 0.06);
  EXPECT_NEAR(success(first, 3, 3), 99.1, 0.06);
  EXPECT_NEAR(success(first, 2, 4), 99.9, 0.06);
  EXPECT_NEAR(success(second, 2, 3), 76.2, 0.06);
  EXPECT_NEAR(success(second, 2, 4), 86.0, 0.06);
}

// Its own, of 1,000 simulations each, where the logs have so many runs.
TEST(LoggedSearch, SuccessProbabilitiesOfThePaper) {
  const std::vector<logged_share>&first = logged_runs("cifar10_res32").shares,
        &second = logged_runs("cifar100_res50").shares, &third = logged_runs("cluster_16").shares;
  EXPECT_NEAR(success(first, 5, 5), 100, 0.5);
  EXPECT_NEAR(success(first, 3, 3), 99.2, 0.5);
  EXPECT_NEAR(success(first, 0, 3), 100, 0.5);
  EXPECT_NEAR(success(second, 5, 5), 100, 0.5);
  EXPECT_NEAR(success(second, 4, 4), 93.4, 1.5);
  EXPECT_NEAR(success(second, 0, 4), 100, 0.5);
  EXPECT_NEAR(success(third, 3, 3), 100, 0.5);
  EXPECT_NEAR(success(third, 0, 1), 100, 0.5);
}

}  // namespace
