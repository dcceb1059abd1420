#include "../../examples/lab/log_stats.hpp"

#include <gtest/gtest.h>

#include <rubato/rubato.hpp>
#include <rubato/sim.hpp>
#include <string>
#include <vector>

#include "../../examples/lab/log_lines.hpp"
#include "../../examples/lab/read_stats.hpp"
#include "log_run.hpp"
#include "logged_run.hpp"

namespace {

using namespace rubato;
using lab::missing_worker;
using lab::whereabouts;
using test::log_run;

// As log_stats is told of a run, line by line, the counts add up whenever one asks.
lab::log_stats stats_of(const std::string& text) {
  lab::log_stats stats;
  lab::log_line line;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = text.find('\n', from);
    EXPECT_EQ(lab::read_log_line(std::string_view{text}.substr(from, end - from), line), "");
    from = end + 1;
    EXPECT_EQ(lab::take_in(stats, line), "");
    if (!stats.gradients().adds_up()) return ADD_FAILURE() << "after " << text.substr(from, 200), stats;
  }
  return stats;
}

sim::cluster_options with_failures() {
  sim::cluster_options machines{.workers = 6, .cores = 3};
  machines.stragglers.kind = sim::straggler_kind::transient;
  machines.failures = {{.time = 20, .worker = 1, .kind = sim::failure_kind::death},
                       {.time = 30, .worker = 2, .kind = sim::failure_kind::leave},
                       {.time = 40, .worker = 1, .kind = sim::failure_kind::join}};
  return machines;
}

TEST(LogStats, GradientsAddUpAfterEveryRecord) {
  for (const char* policy :
       {"asp", "ssp:1", "bsp:mean", "bsp:sum", "kbatchasync:3", "cap:2", "backup:1", "ssp:2+scale:1/tau"}) {
    SCOPED_TRACE(policy);
    const lab::log_stats stats = stats_of(test::log_text(with_failures(), policy, 400));
    lab::gradient_counts sum;
    for (const lab::worker_stats& each : stats.workers()) {
      EXPECT_TRUE(each.gradients.adds_up());
      sum.pushed += each.gradients.pushed;
      sum.applied += each.gradients.applied;
      sum.flushed += each.gradients.flushed;
      sum.in_round += each.gradients.in_round;
      sum.in_hand += each.gradients.in_hand;
      for (std::size_t why = 0; why < sum.dropped_for.size(); ++why)
        sum.dropped_for[why] += each.gradients.dropped_for[why];
    }
    const lab::gradient_counts& all = stats.gradients();
    EXPECT_GT(all.pushed, 300u);
    EXPECT_EQ(sum.pushed, all.pushed);
    EXPECT_EQ(sum.applied, all.applied);
    EXPECT_EQ(sum.flushed, all.flushed);
    EXPECT_EQ(sum.parked(), all.parked());
    EXPECT_EQ(sum.dropped(), all.dropped());
  }
}

// The simulator counts what it does with gradients, and knows nothing of records.
TEST(LogStats, CountsAreThoseOfTheHost) {
  const auto compare = [](const auto& policy) {
    lab::log_stats stats;
    lab::any_observer watcher{[&](const record& r) { EXPECT_EQ(stats.add(r), ""); }};
    sim::quadratic goal;
    sim::run_options run{.seed = 3};
    run.max_time = 60;
    const sim::run_result result = sim::simulate(with_failures(), run, policy, goal, watcher);
    EXPECT_GT(result.pushes, 20u);
    EXPECT_EQ(stats.gradients().pushed - stats.gradients().in_hand, result.pushes);
    EXPECT_EQ(stats.gradients().applied, result.gradients.applied);
    EXPECT_EQ(stats.gradients().flushed, result.gradients.flushed);
    EXPECT_EQ(stats.gradients().dropped(), result.gradients.dropped + result.gradients.discarded);
  };
  compare(any_policy{ssp{.staleness = 1}});
  compare(any_policy{bsp{}});
  compare(lab::parse_policy("kbatchasync:3").policy);
  compare(lab::parse_policy("backup:2").policy);
}

TEST(LogStats, WhoeverIsClearlySlowerIsSlow) {
  log_run run;
  for (std::uint32_t w = 0; w < 4; ++w) run.join(w);
  for (int i = 0; i < 6; ++i)
    for (std::uint32_t w = 0; w < 4; ++w) run.step(w, w == 3 ? 4.0 : w == 2 ? 1.2 : 1.0);
  const auto slow = run.stats.slow();
  ASSERT_EQ(slow.size(), 1u);
  EXPECT_EQ(slow[0].worker, 3u);
  EXPECT_NEAR(slow[0].times, 4.0, 1e-9);
  EXPECT_NEAR(run.stats.relative()[2], 1.2, 1e-9);
  EXPECT_NEAR(run.stats.workers()[3].compute.mean, 4.0, 1e-9);
}

TEST(LogStats, NobodyIsSlowByChance) {
  log_run run;
  for (std::uint32_t w = 0; w < 3; ++w) run.join(w);
  for (int i = 0; i < 4; ++i) run.step(2, 9.0);  // few steps
  for (int i = 0; i < 20; ++i) {
    run.step(0, 1.0);
    run.step(1, i == 7 ? 21.0 : 1.0);  // one long one: twice the other's mean, and no more than chance
  }
  EXPECT_GT(run.stats.relative()[2], 4.0);
  EXPECT_TRUE(run.stats.slow().empty());
}

TEST(LogStats, TheDeadTheSilentAndThoseWhoLeft) {
  log_run run;
  for (std::uint32_t w : {0u, 1u, 2u, 3u, 5u}) run.join(w);
  for (std::uint32_t w : {0u, 1u, 2u, 3u, 5u}) run.step(w, 1.0);
  run.release(1);
  run.release(2);
  const double since = run.now;
  run.now += 2;
  run.depart(2, cause::death);
  run.depart(3, cause::leave);
  run.depart(5, cause::done);
  for (int i = 0; i < 10; ++i) run.step(0, 1.0);
  const auto missing = run.stats.missing();
  ASSERT_EQ(missing.size(), 4u);
  EXPECT_EQ(missing[0].worker, 2u);
  EXPECT_EQ(missing[0].because, missing_worker::why::died);
  EXPECT_EQ(missing[0].since, since + 2);
  EXPECT_EQ(missing[1].worker, 1u);
  EXPECT_EQ(missing[1].because, missing_worker::why::silent);
  EXPECT_EQ(missing[1].since, since);
  EXPECT_NEAR(missing[1].times, 12.0, 1e-9);
  EXPECT_EQ(missing[2].worker, 3u);
  EXPECT_EQ(missing[2].because, missing_worker::why::left);
  EXPECT_EQ(missing[3].worker, 4u);
  EXPECT_EQ(missing[3].because, missing_worker::why::never_came);
  EXPECT_EQ(run.stats.workers()[2].lost_steps, 1u);
  EXPECT_EQ(run.stats.workers()[5].is, whereabouts::finished);
  EXPECT_EQ(run.stats.seen(), 5u);
}

// At the end of a job everybody leaves.
TEST(LogStats, WhoLeavesLastIsNotMissing) {
  log_run run;
  run.join(0);
  run.join(1);
  run.step(0, 1);
  run.step(1, 1);
  run.depart(0, cause::leave);
  run.depart(1, cause::leave);
  EXPECT_TRUE(run.stats.missing().empty());
}

TEST(LogStats, WhoComesLateOrBackIsTold) {
  log_run run;
  run.join(0);
  run.step(0, 1);
  run.join(1);
  run.step(1, 1);
  run.depart(0, cause::death);
  run.now += 3;
  run.join(0, 1);
  EXPECT_EQ(run.stats.workers()[0].departed, 2.0);
  EXPECT_EQ(run.stats.workers()[0].returned, 5.0);
  EXPECT_FALSE(run.stats.workers()[1].returned);
  EXPECT_FALSE(run.stats.workers()[0].late);
  EXPECT_EQ(run.stats.workers()[0].lives, 2u);
  EXPECT_TRUE(run.stats.workers()[1].late);
  EXPECT_EQ(run.stats.workers()[1].joined, 1.0);
  EXPECT_TRUE(run.stats.missing().empty());
}

TEST(LogStats, TimesThatLeapBeyondNumbersSayNothing) {
  log_run leaping;
  leaping.now = -1.5e308;
  for (std::uint32_t w = 0; w < 3; ++w) leaping.join(w);
  for (std::uint32_t w = 0; w < 3; ++w) leaping.release(w);
  leaping.now = 1.5e308;  // three steps of more than the largest number
  for (std::uint32_t w = 0; w < 3; ++w) leaping.admit(w, verdict::apply), leaping.commit(w, verdict::apply);
  for (int i = 0; i < 6; ++i)
    for (std::uint32_t w = 0; w < 3; ++w) leaping.step(w, 0);
  EXPECT_EQ(leaping.stats.relative(), std::vector<double>(3));
  EXPECT_TRUE(leaping.stats.slow().empty());
}

TEST(LogStats, WhereGradientsWent) {
  log_run run;
  for (std::uint32_t w = 0; w < 3; ++w) run.join(w);
  for (std::uint32_t w = 0; w < 3; ++w) run.release(w);
  run.admit(0, verdict::drop, 9, reason::stale);
  run.commit(0, verdict::drop, reason::stale);
  run.admit(1, verdict::accumulate);
  run.commit(1, verdict::accumulate);
  run.admit(2, verdict::accumulate);
  EXPECT_EQ(run.stats.gradients().in_round, 1u);
  EXPECT_EQ(run.stats.gradients().in_hand, 1u);
  run.add({.what = record::kind::flush, .count = 2, .value = 0.5F});  // said before the commit that completes it
  run.commit(2, verdict::accumulate);
  run.release(2);
  run.admit(2, verdict::accumulate, 0, reason::none, 1);
  run.commit(2, verdict::accumulate, reason::failed);
  run.release(1);
  run.admit(1, verdict::accumulate, 0, reason::none, 1);
  run.commit(1, verdict::accumulate);
  run.add({.what = record::kind::discard, .because = reason::switched, .round = 1, .count = 1});
  const lab::gradient_counts& all = run.stats.gradients();
  EXPECT_EQ(all.pushed, 5u);
  EXPECT_EQ(all.flushed, 2u);
  EXPECT_EQ(all.dropped(), 3u);
  for (const reason why : {reason::stale, reason::failed, reason::switched})
    EXPECT_EQ(all.dropped_for[static_cast<std::size_t>(why)], 1u) << name(why);
  EXPECT_EQ(all.parked(), 0u);
  EXPECT_EQ(run.stats.staleness().largest, 9u);
  EXPECT_EQ(run.stats.workers()[0].staleness.counts[staleness_histogram::bucket_of(9)], 1u);
}

TEST(LogStats, WaitsAndPolicyActionsAreCounted) {
  log_run run;
  run.stats.policy("first", 0);
  run.join(0);
  run.now = 2;  // for the others
  run.step(0, 1);
  run.step(0, 1);  // on at once
  run.now += 3;
  run.stats.policy("second", run.now);
  run.step(0, 1);
  const lab::worker_stats& w = run.stats.workers()[0];
  EXPECT_EQ(w.wait.total(), 5.0);
  EXPECT_EQ(w.wait.longest, 3.0);
  ASSERT_EQ(run.stats.policies().size(), 2u);
  EXPECT_EQ(run.stats.policies()[0].pushes, 2u);
  EXPECT_EQ(run.stats.policies()[0].at_once, 1u);
  EXPECT_EQ(run.stats.policies()[1].from, 7.0);
  EXPECT_EQ(run.stats.policies()[1].pushes, 1u);
  EXPECT_NEAR(run.stats.push_rate(), 3.0 / 6, 1e-12);
}

TEST(LogStats, WhatContradictsIsSaidAndChangesNothing) {
  log_run run;
  run.join(0);
  const auto refused = [&](const record& r, const char* part) {
    const auto records = run.stats.records();
    const std::string said = run.refusal(r);
    EXPECT_NE(said.find(part), said.npos) << said;
    EXPECT_EQ(run.stats.records(), records);
  };
  refused({.what = record::kind::join, .worker = {0, 1}}, "which is there");
  refused({.what = record::kind::commit, .worker = {0, 0}}, "without a push");
  refused({.what = record::kind::join, .worker = {70'000, 0}}, "expected 0 to 16383");
  refused({.what = record::kind::flush, .count = 1}, "with 1 gradients, expected 0");
  run.release(0);
  refused({.what = record::kind::release, .worker = {0, 0}}, "in a step");
  run.admit(0, verdict::apply);
  refused({.what = record::kind::admit, .worker = {0, 0}}, "commit first");
  refused({.what = record::kind::commit, .decided = verdict::drop, .worker = {0, 0}}, "expected apply");
  run.commit(0, verdict::apply);
  run.depart(0, cause::leave);
  refused({.what = record::kind::release, .worker = {0, 0}}, "which has gone");
  run.now = -1;
  refused({.what = record::kind::join, .worker = {1, 0}}, "run back");
}

TEST(LogStats, ALogThatBeginsInTheMiddle) {
  log_run run;
  run.release(4);
  run.add({.what = record::kind::flush, .round = 7, .count = 3, .value = 1});
  EXPECT_TRUE(run.stats.midway());
  EXPECT_EQ(run.stats.from_before(), 3u);
  EXPECT_FALSE(run.stats.workers()[4].late);
}

TEST(LogStats, WhatCameBeforeTheLogIsNotHeldAgainstIt) {
  log_run run;
  run.stats.begin_after(100);
  run.commit(2, verdict::apply);  // of a push before
  run.release(2);
  run.now = 5;
  run.admit(2, verdict::apply);
  run.commit(2, verdict::apply);
  run.join(3, 1);  // again
  EXPECT_EQ(run.stats.gradients().pushed, 1u);
  EXPECT_EQ(run.stats.workers()[3].lives, 2u);
  EXPECT_FALSE(run.stats.workers()[3].late);
  EXPECT_TRUE(run.stats.missing().empty());  // 0 and 1 may have gone
  EXPECT_NE(run.refusal({.what = record::kind::commit, .worker = {2, 0}}).find("without a push"), std::string::npos);
}

}  // namespace
