#include "../../examples/lab/step_fit.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "../../examples/support/user_error.hpp"
#include "logged_run.hpp"

namespace {

using namespace rubato::lab;
using rubato::sim::cluster_options;
using rubato::sim::straggler_kind;
using rubato::test::log_of;

const step_fit& likeliest(const std::vector<step_fit>& fits) {
  return *std::ranges::max_element(fits, {}, &step_fit::log_likelihood);
}

TEST(StepFit, CandidatesEndWithACoreEach) {
  EXPECT_EQ(cores_to_try(1), (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(cores_to_try(4), (std::vector<std::uint32_t>{1, 2, 3, 4}));
  const auto many = cores_to_try(64);
  EXPECT_EQ(many.back(), 64u);
  EXPECT_LT(many.size(), 30u);
  EXPECT_TRUE(std::ranges::is_sorted(many));
  EXPECT_EQ(std::ranges::adjacent_find(many), many.end());
}

TEST(StepFit, ComputingTimesAreThoseOfEachWorker) {
  const auto fits = fit_steps(log_of({.workers = 4, .step_time = {1, 2, 3, 4}}, "asp", 800));
  const step_fit& own = fits.back();
  for (std::uint32_t w = 0; w < 4; ++w) EXPECT_NEAR(own.base[w], w + 1, 0.03 * (w + 1));
  EXPECT_NEAR(own.jitter, 0.05, 0.008);
}

TEST(StepFit, FindsTheCoresWhereWorkersWait) {
  for (const std::uint32_t cores : {1u, 2u, 4u}) {
    const auto fits =
        fit_steps(log_of({.workers = 8, .cores = cores, .step_time = {1, 1, 1, 2, 2, 3, 3, 4}}, "ssp:2", 600));
    EXPECT_EQ(likeliest(fits).cores, cores);
    EXPECT_NEAR(likeliest(fits).base[7], 4, 0.2);
  }
}

TEST(StepFit, WhoAlwaysSleepsIsFound) {
  const auto history =
      log_of({.workers = 8, .cores = 3, .stragglers = {.kind = straggler_kind::fixed, .count = 2}}, "ssp:3", 800);
  const step_fit fit = likeliest(fit_steps(history));
  EXPECT_EQ(fit.cores, 3u);
  EXPECT_EQ(std::ranges::count(fit.sleepers, 1), 2);
}

TEST(StepFit, KnownCoresAreNotFitted) {
  const auto fits = fit_steps(log_of({.workers = 8, .cores = 3}, "asp", 300), {.cores = 5});
  ASSERT_EQ(fits.size(), 1u);
  EXPECT_EQ(fits[0].cores, 5u);
}

TEST(StepFit, TimeOfTheServerIsFromAdmissionToCommit) {
  const auto history = log_of({.workers = 4, .decision_time = 0.01, .apply_time = 0.03}, "asp", 300);
  EXPECT_NEAR(service_time(history), 0.04, 1e-9);
  EXPECT_NEAR(fit_steps(history).back().base[0], 1, 0.03) << "waiting for the server is no computing";
}

// Milliseconds in a clock that began in 1970: what is left of their digits is enough.
TEST(StepFit, TimesMayBeginAnywhereAndHaveAnyUnit) {
  const auto history = log_of({.workers = 8, .cores = 3, .decision_time = 0.01}, "ssp:2", 500);
  decision_history other = history;
  for (logged_step& each : other.steps)
    for (double* const time : {&each.start, &each.end, &each.served}) *time = 1.7e9 + 1e-3 * *time;
  for (unfinished_step& each : other.unfinished)
    for (double* const time : {&each.start, &each.end}) *time = 1.7e9 + 1e-3 * *time;
  const step_fit was = likeliest(fit_steps(history)), is = likeliest(fit_steps(other));
  EXPECT_EQ(is.cores, was.cores);
  EXPECT_NEAR(1e3 * is.base[0], was.base[0], 0.01);
  EXPECT_NEAR(is.jitter, was.jitter, 0.005);
}

TEST(StepFit, AFewStepsAreNotEnough) {
  EXPECT_THROW(static_cast<void>(fit_steps(log_of({.workers = 4}, "asp", 20))), rubato::support::user_error);
}

TEST(StepFit, StepsBeyondAnyMeasureAreNotCounted) {
  for (const double unit : {1e-320, 1e-310, 1e306}) {
    decision_history history = log_of({.workers = 4}, "asp", 200);
    for (logged_step& each : history.steps)
      for (double* const time : {&each.start, &each.end, &each.served}) *time *= unit;
    EXPECT_THROW(static_cast<void>(fit_steps(history)), rubato::support::user_error) << unit;
  }
}

}  // namespace
