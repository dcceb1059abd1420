#include "../../examples/lab/switch_trials.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <rubato/core/number_text.hpp>
#include <string>
#include <vector>

#include "../../examples/lab/policies.hpp"
#include "../../examples/lab/switch_report.hpp"
#include "../../examples/lab/switching_policy.hpp"
#include "../../examples/support/user_error.hpp"
#include "lab_bench.hpp"
#include "temporary_directory.hpp"

namespace {

using namespace rubato::lab;
using rubato::support::user_error;
using rubato::test::lab_bench;
using rubato::test::message_of;
using rubato::test::temporary_directory;

// A noisy quadratic on four shared cores, 400 pushes a training.
switch_request quick_job(std::vector<std::string> settings = {}) {
  switch_request asked{.pushes = 400, .search = {.target_runs = 2, .runs = 2, .most_candidates = 3}};
  asked.scenario.name = "quick";
  settings.insert(settings.begin(), {"objective.kind=quadratic", "cluster.cores=4", "stragglers.kind=static"});
  rubato::support::apply_settings(asked.scenario, settings);
  return asked;
}

// What the server has handled at each staleness above 0, in the order of pushes.
std::vector<std::uint64_t> stalenesses(double share, std::uint64_t pushes) {
  switch_request asked = quick_job();
  asked.pushes = pushes;
  std::vector<std::uint64_t> seen;
  any_observer watcher{[&](const rubato::record& r) {
    if (r.what == rubato::record::kind::admit) seen.push_back(r.staleness);
  }};
  const training_data nothing;
  static_cast<void>(workbench{nothing}.watch(setting_of(asked, 1), switching_policy(share, pushes), 1, watcher));
  return seen;
}

// With ten workers a round is one update, so nothing is stale; after the switch nobody waits, and rounds dissolve.
TEST(SwitchTrials, SwitchesAfterItsShare) {
  const auto seen = stalenesses(0.25, 400), synchronous = stalenesses(1, 400), asynchronous = stalenesses(0, 400);
  ASSERT_EQ(seen.size(), 400u);
  const auto is_fresh = [](std::uint64_t staleness) { return staleness == 0; };
  EXPECT_TRUE(std::ranges::all_of(synchronous, is_fresh));
  EXPECT_TRUE(std::all_of(seen.begin(), seen.begin() + 100, is_fresh));
  EXPECT_FALSE(std::all_of(seen.begin() + 100, seen.begin() + 110, is_fresh));
  EXPECT_FALSE(std::equal(seen.begin(), seen.end(), asynchronous.begin()));
}

// So that a search is one for what is run afterwards, momentum or not.
TEST(SwitchTrials, SearchesForWhatSyncswitchRuns) {
  for (const double share : {0.0625, 0.5, 1.0}) {
    const std::string name = "syncswitch:" + rubato::detail::text_of(share) + ":400";
    EXPECT_EQ(switching_policy(share, 400).describe().json, parse_policy(name).policy.describe().json) << name;
  }
}

TEST(SwitchTrials, WholeSharesAreTheRules) {
  EXPECT_EQ(stalenesses(1, 100), std::vector<std::uint64_t>(100, 0));
  EXPECT_EQ(switching_policy(0, 100).kind(), "asp");
  EXPECT_NE(switching_policy(0.5, 100).describe().json, switching_policy(0.25, 100).describe().json);
}

// At this rate and momentum asynchronous training loses a twentieth of the accuracy from 50 % on, and nearly all of it
// from 25 % on.
switch_request job_where_staleness_costs() {
  switch_request asked = quick_job({"objective.momentum=0.5"});
  asked.scenario.run.learning_rate.base *= 4;
  return asked;
}

TEST(SwitchTrials, FindsTheShareThatIsNeeded) {
  lab_bench quiet;
  switch_request asked = job_where_staleness_costs();
  const auto answer = [&](double beta) {
    asked.search.beta = beta;
    return search_switch(asked, quiet.runner()).search;
  };
  const rubato::adapt::switch_search found = answer(0.2);
  EXPECT_EQ(found.share(), 0.5);
  ASSERT_EQ(found.curve().size(), 3u) << "25 % was the last to be tried";
  EXPECT_FALSE(found.curve()[2].passed);
  EXPECT_GT(found.curve()[0].time, found.curve()[1].time) << "asynchronous training is quicker";
  for (const auto& point : found.curve()) EXPECT_EQ(point.runs.size(), 2u);
  EXPECT_NE(quiet.shown.str().find("25 % BSP"), std::string::npos) << quiet.shown.str();
  EXPECT_EQ(answer(0.01).share(), 1);
  EXPECT_EQ(answer(1).share(), 0.125);
}

// Ten workers, 100 pushes: a barrier is a tenth of them.
TEST(SwitchTrials, TriesNoLessThanABarrier) {
  lab_bench quiet;
  switch_request asked = quick_job();
  asked.pushes = 100;
  asked.search.beta = 1;
  asked.search.most_candidates = 64;
  EXPECT_EQ(share_of_a_barrier(asked), 0.1);
  const switch_trials made = search_switch(asked, quiet.runner());
  EXPECT_EQ(made.search.share(), 0.125);
  EXPECT_EQ(made.search.curve().size(), 4u) << "100, 50, 25 and 12.5 %";
  EXPECT_NE(table(asked, made).find("smaller shares were not tried: one barrier is 10 % of the workload\n"),
            std::string::npos)
      << table(asked, made);
}

TEST(SwitchTrials, SaysWhetherAspIsGoodEnough) {
  lab_bench quiet;
  switch_request asked = job_where_staleness_costs();
  const auto tried = [&](double beta) {
    asked.search.beta = beta;
    switch_trials made = search_switch(asked, quiet.runner());
    const bool said = table(asked, made).find("ASP throughout is good enough: ") != std::string::npos;
    EXPECT_EQ(said, made.asynchronous->passed) << table(asked, made);
    return *made.asynchronous;
  };
  const rubato::adapt::switch_point found = tried(0.2);
  EXPECT_FALSE(found.passed) << "nearly all of the accuracy is lost";
  EXPECT_EQ(found.share, 0);
  EXPECT_EQ(found.runs.size(), 2u);
  EXPECT_TRUE(tried(1).passed);
}

TEST(SwitchTrials, SaysThatStepsAreMoreThanARun) {
  EXPECT_EQ(steps_beyond_runs("syncswitch:0.125:2000", 359.6),
            "syncswitch:0.125:2000: runs end after some 360 pushes, and the first 250 of 2000 are BSP; expected STEPS "
            "to be the pushes of a whole run");
  EXPECT_NE(steps_beyond_runs("syncswitch:0.125:elastic:4000+decay", 360), "");
  for (const char* fits : {"syncswitch:0.125:1000", "syncswitch:0.9:360", "syncswitch:1:360", "syncswitch:0:2000",
                           "syncswitch:1:9000", "syncswitch:0.6:400", "asp", "ssp:3+decay"})
    EXPECT_EQ(steps_beyond_runs(fits, 360), "") << fits;
}

TEST(SwitchTrials, SameForAnyThreads) {
  lab_bench quiet;
  const switch_trials one = search_switch(quick_job(), quiet.runner()),
                      three = search_switch(quick_job(), quiet.runner(3));
  ASSERT_EQ(one.search.curve().size(), three.search.curve().size());
  for (std::size_t i = 0; i < one.search.curve().size(); ++i)
    for (std::size_t r = 0; r < one.search.curve()[i].runs.size(); ++r) {
      EXPECT_EQ(one.search.curve()[i].runs[r].accuracy, three.search.curve()[i].runs[r].accuracy);
      EXPECT_EQ(one.search.curve()[i].runs[r].time, three.search.curve()[i].runs[r].time);
    }
}

TEST(SwitchTrials, GoesOnFromTheCache) {
  const temporary_directory folder;
  lab_bench quiet;
  const switch_trials whole = search_switch(quick_job(), quiet.runner());
  {
    result_cache cache{folder.path(), "v"};
    switch_request first = quick_job();
    first.search.most_candidates = 1;
    static_cast<void>(search_switch(first, quiet.runner(cache)));
  }
  result_cache cache{folder.path(), "v"};
  quiet.stop = true;  // nothing new can be run
  const switch_trials part = search_switch(quick_job(), quiet.runner(cache));
  EXPECT_TRUE(part.interrupted);
  ASSERT_GE(part.search.curve().size(), 2u);
  EXPECT_EQ(part.search.curve()[1].runs.size(), 2u);
  quiet.stop = false;
  const switch_trials again = search_switch(quick_job(), quiet.runner(cache));
  EXPECT_FALSE(again.interrupted);
  EXPECT_EQ(again.search.share(), whole.search.share());
  EXPECT_EQ(again.search.cost(), whole.search.cost());
}

TEST(SwitchTrials, DivergedTrainingsTakeUntilNoticed) {
  lab_bench quiet;
  switch_request asked = quick_job();
  asked.scenario.run.learning_rate.base = 1e30;
  asked.search.stored = rubato::adapt::switch_target{{1, 0.9, 0}, 100};
  asked.search.target_runs = 0;
  asked.search.charges_diverged = true;
  const switch_trials made = search_switch(asked, quiet.runner());
  ASSERT_EQ(made.search.curve().size(), 1u);
  const auto& point = made.search.curve().front();
  ASSERT_EQ(point.runs.size(), 1u) << "the other one was not asked for";
  EXPECT_TRUE(point.runs[0].diverged);
  EXPECT_GT(point.runs[0].time, 0);
  EXPECT_LT(point.runs[0].time, asked.scenario.run.max_time / 2);
  EXPECT_EQ(made.search.share(), 1);
}

TEST(SwitchTrials, RefusesARunThatIsNotOver) {
  lab_bench quiet;
  EXPECT_EQ(message_of<user_error>([&] {
              return search_switch(quick_job({"objective.max_time=5"}), quiet.runner());
            }).find("--scenario: found a run with 100 % of BSP that has made "),
            0u);
  switch_request bad = quick_job();
  bad.search.runs = 0;
  EXPECT_EQ(message_of<user_error>([&] { return search_switch(bad, quiet.runner()); }),
            "switch_search: runs is 0, expected at least 1");
}

}  // namespace
