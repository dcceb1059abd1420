#include "../../examples/lab/threads_host.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <map>
#include <rubato/rubato.hpp>
#include <string>
#include <thread>
#include <vector>

#include "../support/sanitizers.hpp"
#include "real_setting.hpp"

namespace {

using namespace rubato;
using namespace rubato::lab;

using rubato::test::go_on;
using rubato::test::images;
using rubato::test::small;

TEST(ThreadsHost, ReachesWhatTheSimulatorReaches) {
  for (const any_policy& policy : {any_policy{bsp{}}, any_policy{ssp{.staleness = 2}}, any_policy{knee{}}}) {
    const setting at = small({"objective.target_accuracy=0.8"});
    const auto real = run_on_threads(at, images(), policy, 3, go_on);
    setting simulated = at;
    simulated.unit_seconds = 0;
    const auto virtual_run = workbench{images()}.run(simulated, policy, 3, go_on);
    ASSERT_TRUE(real && virtual_run);
    EXPECT_TRUE(real->reached) << real->end;
    EXPECT_TRUE(virtual_run->reached);
    EXPECT_GE(real->final_accuracy, 0.8);
    EXPECT_EQ(real->end, "reached");
    // The same batches from the same parameters: what differs is the order in which they come.
    EXPECT_GT(real->pushes, virtual_run->pushes / 4);
    EXPECT_LT(real->pushes, virtual_run->pushes * 4);
    EXPECT_EQ(real->overrides, 0u);
  }
}

TEST(ThreadsHost, AccountsForEveryGradient) {
  std::map<record::kind, std::uint64_t> records;
  any_observer watcher{[&](const record& r) { ++records[r.what]; }};
  setting at = small({"stop=workload", "objective.workload=4000"});
  const auto real = run_on_threads(at, images(), asp{}, 1, go_on, &watcher);
  ASSERT_TRUE(real);
  EXPECT_TRUE(real->reached);
  EXPECT_EQ(records[record::kind::commit], records[record::kind::admit]);
  EXPECT_GE(records[record::kind::commit], 4000u / 16);
  EXPECT_EQ(real->dropped, 0u);
}

TEST(ThreadsHost, FollowsTheSchedulesOfTheSeed) {
  // Behind a barrier on cores of their own a step takes as long as its slowest worker: never less than in the
  // simulator.
  const setting at = small({"stop=workload", "objective.workload=1280", "cluster.cores=0"});
  setting simulated = at;
  simulated.unit_seconds = 0;
  const auto real = run_on_threads(at, images(), bsp{}, 5, go_on);
  const auto virtual_run = workbench{images()}.run(simulated, bsp{}, 5, go_on);
  ASSERT_TRUE(real && virtual_run);
  EXPECT_GE(real->time, 0.98 * virtual_run->time);
}

TEST(ThreadsHost, WorkersDieAndComeBack) {
  std::map<record::kind, std::uint64_t> records;
  any_observer watcher{[&](const record& r) { ++records[r.what]; }};
  const setting at =
      small({"stop=workload", "objective.workload=6400",
             R"(cluster.failures=[{"time":5,"worker":1,"kind":"death"},{"time":8,"worker":2,"kind":"leave"},)"
             R"({"time":12,"worker":1,"kind":"join"},{"time":15,"worker":3,"kind":"death"}])"});
  const auto real = run_on_threads(at, images(), bsp{}, 2, go_on, &watcher);
  ASSERT_TRUE(real);
  EXPECT_TRUE(real->reached) << "those who are left go on";
  EXPECT_EQ(records[record::kind::join], 5u);
  EXPECT_EQ(records[record::kind::depart], 5u) << "three, and the two who were left at the end";
  EXPECT_EQ(real->overrides, 0u);
}

TEST(ThreadsHost, EndsAtMaxTime) {
  const setting at = small({"objective.target_accuracy=1", "objective.max_time=20"});
  const auto real = run_on_threads(at, images(), asp{}, 1, go_on);
  ASSERT_TRUE(real);
  EXPECT_FALSE(real->reached);
  EXPECT_EQ(real->end, "out_of_time");
  EXPECT_EQ(real->time, 20);
}

TEST(ThreadsHost, StopsWhenAsked) {
  const setting at = small({"objective.target_accuracy=1", "objective.max_time=1000000"});
  std::atomic<bool> stop{false};
  any_observer watcher{[&](const record& r) {
    if (r.what == record::kind::commit) stop = true;
  }};
  EXPECT_FALSE(run_on_threads(at, images(), bsp{}, 1, stop, &watcher));
}

// As `compare --log` makes it.
TEST(ThreadsHost, ARunThatIsWatchedStopsWhenAskedWhateverItsHost) {
  for (const host_kind host : {host_kind::threads, host_kind::simulator}) {
    setting at = small({"objective.target_accuracy=1", "objective.max_time=1000000"});
    at.host = host;
    std::atomic<bool> stop{false};
    any_observer watcher{[&](const record& r) {
      if (r.what == record::kind::commit) stop = true;
    }};
    EXPECT_FALSE(workbench{images()}.watch(at, bsp{}, 1, watcher, stop));
  }
}

// At most so many bytes more of address space for this process.
void allow_only(std::uint64_t more) {
  std::uint64_t pages = 0;
  std::ifstream{"/proc/self/statm"} >> pages;
  const rlimit limit{pages * static_cast<std::uint64_t>(getpagesize()) + more, RLIM_INFINITY};
  if (pages == 0 || setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(4);
}

// Of a worker that cannot be made, or runs out of memory in its own thread.
TEST(ThreadsHostDeathTest, ShortMemoryEndsTheRunWithAnError) {
  if (rubato::test::address_sanitized || rubato::test::thread_sanitized)
    GTEST_SKIP() << "sanitizers end the process where memory is short";
  static_cast<void>(images());
  EXPECT_EXIT(
      {
        allow_only(std::uint64_t{256} << 20);
        try {
          static_cast<void>(run_on_threads(small({"workers=400"}), images(), asp{}, 1, go_on));
          std::_Exit(0);
        } catch (const std::exception& e) {
          std::fputs(e.what(), stderr);
          std::_Exit(3);
        }
      },
      testing::ExitedWithCode(3), "no thread for worker [0-9]+|bad_alloc");
}

TEST(ThreadsHost, SaysWhatItDoesNotHave) {
  EXPECT_EQ(not_on_threads(small().scenario), "");
  EXPECT_EQ(not_on_threads(small({"cluster.link.bandwidth=1"}).scenario),
            "cluster.link.bandwidth is above 0, expected 0: threads have no link");
  EXPECT_EQ(not_on_threads(small({"objective.kind=quadratic"}).scenario),
            "objective.kind is quadratic, expected sgd: it trains images");
}

}  // namespace
