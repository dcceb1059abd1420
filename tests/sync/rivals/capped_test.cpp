#include <rubato/sync/rivals/capped.hpp>

#include "../../support/metronome.hpp"
#include "../recorder.hpp"

namespace {

using namespace rubato;
using test::bench;
using test::metronome;
using test::words;

std::vector<std::uint32_t> steps_started(const capped& policy, const std::vector<double>& step_times) {
  metronome cluster{policy, step_times};
  EXPECT_TRUE(cluster.run(400).ok());
  std::vector<std::uint32_t> steps(step_times.size());
  for (const test::beat& start : cluster.trace()) ++steps[start.worker];
  return steps;
}

TEST(Capped, NeverMoreThanTheCap) {
  for (const auto order : {release_order::fifo, release_order::fastest, release_order::random}) {
    metronome cluster{capped{.running = 2, .order = order}, {1.0, 2.0, 3.0, 4.5}};
    for (int n = 0; n < 200; ++n) {
      ASSERT_TRUE(cluster.run(1).ok());
      ASSERT_EQ(cluster.control().workers().busy(), 2u);
    }
  }
}

TEST(Capped, WaitsForThoseWhoRanAlready) {
  bench<> b{asp{}, 4};
  ASSERT_EQ(b.sync.switch_to(capped{.running = 2}, b.now, pending_gradients::flush, b.sink), errc::ok);
  EXPECT_EQ(b.push(0), words{});
  EXPECT_EQ(b.push(1), words{});
  EXPECT_EQ(b.push(2), words{"release 0@3"});
}

// While one waits, each of the others starts once at most.
TEST(Capped, FifoOvertakesNobody) {
  const std::vector<double> step_times{1.0, 1.0, 2.0, 9.0, 0.5};
  metronome cluster{capped{.running = 2}, step_times};
  ASSERT_TRUE(cluster.run(400).ok());
  const auto& starts = cluster.trace();
  for (std::uint32_t waiting = 0; waiting < step_times.size(); ++waiting) {
    double since = 0.0;
    std::vector<int> overtaking(step_times.size());
    for (const test::beat& start : starts) {
      if (start.worker == waiting) {
        since = start.time + step_times[waiting];
        overtaking.assign(step_times.size(), 0);
      } else if (start.time > since) {
        ASSERT_LE(++overtaking[start.worker], 1) << "of " << waiting << " at " << start.time;
      }
    }
  }
}

TEST(Capped, FastestPrefersTheFast) {
  const auto steps = steps_started({.running = 2, .order = release_order::fastest}, {1.0, 2.0, 4.0, 9.0});
  EXPECT_EQ(steps[2], 1u) << "everybody is tried once";
  EXPECT_EQ(steps[3], 1u);
  EXPECT_GT(steps[0], steps[1]);
}

}  // namespace
