#include "../../examples/lab/advise.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <sstream>

#include "../../examples/lab/shipped.hpp"
#include "../../examples/support/scenario_files.hpp"
#include "logged_run.hpp"

namespace {

using namespace rubato::lab;
using rubato::test::log_of;

// Advice about a noisy quadratic, from a log of so many pushes.
struct Advise : testing::Test {
  training_data data;
  std::atomic<bool> stop = false;
  std::ostringstream shown;
  run_context how{.data = data, .threads = 2, .stop = stop, .progress = shown, .display = {.quiet = true}};
  advise_options asked;
  std::vector<model_guess> guesses{{.weight = 1, .off = 0.2}};

  Advise() {
    asked.base.objective = rubato::support::objective_kind::quadratic;
    asked.members = 8;
    for (const char* name : {"bsp:sum", "asp", "ssp:1", "ssp:8", "distilled"})
      asked.rules.push_back(parse_policy(name));
  }

  static rubato::sim::cluster_options machines() {
    return rubato::support::find_scenario("table1", shipped("examples/lab/scenarios")).cluster;
  }
  advice from(const std::string& policy, std::uint64_t seed = 1) {
    asked.current = parse_policy(policy);
    return *advise(fit_cluster(log_of(machines(), policy, 600, seed)), guesses, asked, how);
  }
  // Times of a rule on the true machines, on other seeds than the log's.
  std::vector<double> measured(const std::string& policy, std::uint32_t seeds) {
    setting at{asked.base, 0};
    at.scenario.cluster = machines();
    std::vector<double> times;
    for (std::uint64_t seed = 101; seed < 101 + seeds; ++seed)
      times.push_back(workbench{data}.run(at, parse_policy(policy).policy, seed, stop)->time);
    return times;
  }
};

std::string text_of(const advice& given) {
  std::ostringstream all;
  all.precision(17);
  for (const rule_outlook& each : given.rules) {
    all << each.name << ' ' << each.time.value << ' ' << each.time.low << ' ' << each.time.high << ' ' << each.reached;
    if (each.gain) all << ' ' << each.gain->value << ' ' << each.gain->low << ' ' << each.gain->high;
    all << '\n';
  }
  if (given.best) all << *given.best << given.keep;
  return all.str();
}

TEST_F(Advise, ThreadsDoNotChangeTheResult) {
  const std::string two = text_of(from("ssp:3"));
  how.threads = 1;
  EXPECT_EQ(text_of(from("ssp:3")), two);
  asked.seed = 2;
  EXPECT_NE(text_of(from("ssp:3")), two);
}

TEST_F(Advise, RecommendsWhatIsQuickest) {
  const advice given = from("bsp:sum");
  ASSERT_TRUE(given.best);
  const std::string best = given.rules[*given.best].name;
  EXPECT_NE(best, "bsp:sum");
  EXPECT_FALSE(given.keep);
  const auto mean = [&](const std::string& policy) { return rubato::support::interquartile_mean(measured(policy, 9)); };
  for (const named_policy& each : asked.rules) EXPECT_LT(mean(best), 1.1 * mean(each.name)) << best << ' ' << each.name;
  const auto& gain = *given.rules[*given.best].gain;
  EXPECT_GT(gain.low, asked.threshold);
  EXPECT_NEAR(1 + gain.value, mean("bsp:sum") / mean(best), 0.25 * (1 + gain.value));
}

TEST_F(Advise, IntervalsHoldWhatIsMeasured) {
  int held = 0, all = 0;
  for (std::uint64_t log = 1; log <= 4; ++log) {
    const advice given = from("ssp:3", log);
    for (const rule_outlook& each : given.rules) {
      ASSERT_TRUE(each.reliable()) << each.name;
      for (const double time : measured(each.name, 12)) {
        const double in_units = time / 8.56;  // of the mean step
        held += each.time.low <= in_units && in_units <= each.time.high ? 1 : 0;
        ++all;
      }
    }
  }
  EXPECT_GE(held, 0.75 * all);
}

TEST_F(Advise, NoGainWhereTheLogHasTheBest) {
  const std::string best = [&] {
    const advice given = from("ssp:3");
    return given.rules[*given.best].name;
  }();
  const advice again = from(best);
  EXPECT_TRUE(again.keep || again.rules[*again.best].name != best);
  const rule_outlook& own = *std::ranges::find(again.rules, best, &rule_outlook::name);
  EXPECT_EQ(own.gain->value, 0) << "against itself";
  asked.threshold = 1e9;
  EXPECT_TRUE(from("bsp:sum").keep) << "a gain below the threshold is none";
}

TEST_F(Advise, WithoutThePolicyOfTheLogNoGain) {
  const auto history = log_of(machines(), "ssp:3", 600);
  const auto given = advise(fit_cluster(history), guesses, asked, how);
  ASSERT_TRUE(given && given->best);
  EXPECT_FALSE(given->current);
  EXPECT_FALSE(given->keep);
  for (const rule_outlook& each : given->rules) EXPECT_FALSE(each.gain);
}

TEST_F(Advise, ARuleThatDoesNotArriveIsNotRecommended) {
  asked.base.run.target_accuracy = 1;  // of a noisy quadratic: never
  const advice given = from("ssp:3");
  EXPECT_FALSE(given.best);
  for (const rule_outlook& each : given.rules) EXPECT_FALSE(each.reliable());
}

TEST_F(Advise, WhereNoModelIsAlikeNothingIsRecommended) {
  guesses.front().off = 3;  // a factor of twenty
  EXPECT_FALSE(from("ssp:3").best);
  guesses.front().off.reset();  // diverges
  EXPECT_FALSE(from("ssp:3").best);
}

TEST_F(Advise, StopsWhenAsked) {
  const cluster_fit fit = fit_cluster(log_of(machines(), "asp", 300));
  stop = true;
  EXPECT_FALSE(advise(fit, guesses, asked, how));
}

}  // namespace
