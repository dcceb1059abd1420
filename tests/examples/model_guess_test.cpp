#include "../../examples/lab/model_guess.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <sstream>

#include "../../examples/lab/shipped.hpp"
#include "../../examples/support/user_error.hpp"
#include "logged_run.hpp"

namespace {

using namespace rubato::lab;
using rubato::test::temporary_directory;

struct ModelGuess : testing::Test {
  rubato::support::scenario base;
  training_data data;
  std::atomic<bool> stop = false;
  std::ostringstream shown;
  run_context how{.data = data, .threads = 2, .stop = stop, .progress = shown, .display = {.quiet = true}};

  ModelGuess() {
    base.cluster = {.workers = 8, .cores = 3};
    base.hidden_layers = {0, 1};
    base.run.learning_rate.base = 0.03;
    base.sgd.input = rubato::sim::input_scale::standardised;
    base.run.stop = rubato::sim::stop_rule::workload;
    base.run.workload = 300 * base.run.batch;
    data = load_data(base, shipped("examples/data"));
  }

  decision_history log(std::uint32_t hidden_layers, double rate_factor, const std::string& policy,
                       std::uint64_t seed = 99) {
    setting at{base, hidden_layers};
    at.scenario.run.learning_rate.base *= rate_factor;
    const temporary_directory folder;
    folder.write("log", rubato::test::log_text(at, policy, data, seed));
    return read_decision_history(folder.path() / "log");
  }
};

// Two runs of one model differ much, so that one log leaves room for others, and many are tried.
TEST_F(ModelGuess, FindsTheModelOfALog) {
  constexpr std::uint64_t logs = 12;
  for (const std::uint32_t layers : {0u, 1u}) {
    double right = 0;
    for (std::uint64_t seed = 1; seed <= logs; ++seed) {
      const auto guesses = guess_models(log(layers, 1, "ssp:3", seed), base, 1'000 * seed, how);
      ASSERT_TRUE(guesses);
      double all = 0;
      for (const model_guess& each : *guesses) {
        all += each.weight;
        right += each.hidden_layers == layers ? each.weight / logs : 0;
      }
      EXPECT_NEAR(all, 1, 1e-9);
    }
    EXPECT_GT(right, 0.6) << layers << " hidden layers";
  }
}

TEST_F(ModelGuess, FindsHowQuicklyItLearns) {
  const auto guesses = guess_models(log(0, 2, "bsp:mean"), base, 1, how);
  double expected = 0;
  for (const model_guess& each : *guesses) expected += each.weight * each.rate_factor;
  EXPECT_GT(expected, 1.5);
}

// Else the log's own run would be one of those that it is compared with, and the model seem nearer than it is.
TEST_F(ModelGuess, DoesNotMeetTheRunOfTheLog) {
  base.hidden_layers = {0};
  double its_own = 0, others = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const auto history = log(0, 1, "asp", seed);
    const auto off = [&](std::uint64_t from) { return *(*guess_models(history, base, from, how))[1].off; };
    its_own += off(seed);
    others += off(seed + 1'000);
  }
  EXPECT_GT(its_own, 0.8 * others);
}

TEST_F(ModelGuess, WhatDivergesIsNotOffByANumber) {
  base.objective = rubato::support::objective_kind::quadratic;
  const auto history = log(0, 1, "asp");
  base.run.learning_rate.base = 1e6;
  const auto guesses = guess_models(history, base, 1, how);
  for (const model_guess& each : *guesses) EXPECT_FALSE(each.off);
}

TEST_F(ModelGuess, AFewLossesAreNotEnough) {
  base.run.workload = 40 * base.run.batch;
  EXPECT_THROW(static_cast<void>(guess_models(log(0, 1, "asp"), base, 1, how)), rubato::support::user_error);
}

TEST_F(ModelGuess, StopsWhenAsked) {
  const auto history = log(0, 1, "asp");
  stop = true;
  EXPECT_FALSE(guess_models(history, base, 1, how));
}

}  // namespace
