#include "../../examples/lab/page/log_timeline.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace {

using rubato::record;
using rubato::verdict;
using rubato::lab::page::log_timeline;

record of(record::kind what, std::uint32_t worker, double now) {
  record r{.what = what};
  r.worker.index = worker;
  r.now = now;
  r.value = 1.0F;
  return r;
}

void step(log_timeline& line, std::uint32_t worker, double from, double to, std::uint64_t staleness = 0) {
  line.add(of(record::kind::release, worker, from));
  record in = of(record::kind::admit, worker, to);
  in.staleness = staleness;
  line.add(in);
  line.add(of(record::kind::commit, worker, to));
}

double busy_of(const log_timeline& line) {
  double sum = 0;
  for (const auto& each : line.moments()) sum += each.busy;
  return sum;
}

TEST(LogTimeline, TimesAddUp) {
  log_timeline line;
  line.add(of(record::kind::join, 0, -std::numeric_limits<double>::infinity()));
  line.add(of(record::kind::join, 1, 10));
  double now = 10;
  for (int i = 0; i < 1'000; ++i, now += 3) {
    step(line, 0, now, now + 2);
    line.add(of(record::kind::adjust, rubato::no_worker, now + 2));
  }
  line.add(of(record::kind::depart, 1, now));
  line.finish();
  EXPECT_NEAR(busy_of(line), 2'000, 1e-6);
  ASSERT_EQ(line.workers().size(), 2u);
  double waiting[2] = {}, there[2] = {};
  for (std::size_t w = 0; w < 2; ++w)
    for (const auto& each : line.workers()[w]) waiting[w] += each.waiting, there[w] += each.there();
  EXPECT_NEAR(waiting[0], 1'000, 1e-6);
  EXPECT_NEAR(waiting[1], 3'000, 1e-6);
  EXPECT_NEAR(there[0], 3'000, 1e-6);
  EXPECT_DOUBLE_EQ(line.begin(), 10);
  EXPECT_DOUBLE_EQ(line.end(), now);
}

// Its gradient is committed after it has gone, or has come back and computes again.
TEST(LogTimeline, WhoHasGoneDoesNotWait) {
  for (const bool comes_back : {false, true}) {
    log_timeline line;
    line.add(of(record::kind::release, 0, 0));
    line.add(of(record::kind::admit, 0, 4));
    line.add(of(record::kind::depart, 0, 5));
    if (comes_back) line.add(of(record::kind::join, 0, 6)), line.add(of(record::kind::release, 0, 6));
    line.add(of(record::kind::commit, 0, 7));
    line.add(of(record::kind::join, 1, 20));
    line.finish();
    double waiting = 0;
    for (const auto& each : line.workers()[0]) waiting += each.waiting;
    EXPECT_EQ(waiting, 0);
    EXPECT_NEAR(busy_of(line), comes_back ? 5 + 14 : 5, 1e-9);
  }
}

TEST(LogTimeline, PartsAreNeverTooMany) {
  log_timeline line;
  std::uint64_t steps = 0;
  for (double now = 0; now < 1e6; now = now * 1.5 + 1, ++steps) {
    step(line, 0, now, now + 0.5, steps);
    EXPECT_LE(line.parts(), log_timeline::most_parts);
    EXPECT_GE(2 * line.parts(), log_timeline::most_parts) << steps;
    EXPECT_GE(line.length() * static_cast<double>(line.parts()) * (1 + 1e-9), line.end() - line.begin());
  }
  line.finish();
  std::uint64_t pushes = 0;
  for (const auto& each : line.moments()) pushes += each.pushes();
  EXPECT_EQ(pushes, steps);
  for (std::size_t part = line.parts(); part < line.moments().size(); ++part)
    EXPECT_EQ(line.moments()[part].pushes(), 0u);
}

TEST(LogTimeline, CountsStaleness) {
  log_timeline line;
  for (const std::uint64_t staleness : {std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{3}, std::uint64_t{1} << 40})
    step(line, 0, 1, 2, staleness);
  line.finish();
  ASSERT_EQ(line.staleness().size(), log_timeline::stalest + 1);
  EXPECT_EQ(line.staleness()[0], 1u);
  EXPECT_EQ(line.staleness()[3], 2u);
  EXPECT_EQ(line.staleness().back(), 1u);
}

TEST(LogTimeline, ALogThatBeginsWithinAStep) {
  log_timeline line;
  record in = of(record::kind::admit, 2, 5);
  line.add(in);
  line.add(of(record::kind::commit, 2, 6));
  line.finish();
  ASSERT_EQ(line.workers().size(), 3u);
  EXPECT_TRUE(line.workers()[0].empty());
  EXPECT_NEAR(busy_of(line), 1, 1e-9);
}

TEST(LogTimeline, FarWorkersCountTogether) {
  log_timeline line;
  step(line, log_timeline::most_workers + 5, 0, 4);
  line.finish();
  EXPECT_TRUE(line.workers().empty());
  EXPECT_NEAR(busy_of(line), 4, 1e-9);
}

}  // namespace
