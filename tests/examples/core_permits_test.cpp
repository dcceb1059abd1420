#include "../../examples/support/core_permits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <thread>
#include <vector>

namespace {

using rubato::support::core_permits;
using seconds = core_permits::seconds;

constexpr auto no_work = [] {};
constexpr auto never = [] { return false; };

double since(core_permits::clock::time_point begin) { return seconds{core_permits::clock::now() - begin}.count(); }

TEST(CorePermits, NoMoreComputeThanThereAreCores) {
  core_permits cores{2, seconds{0.001}};
  std::atomic<std::uint32_t> inside{0}, most{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i)
    threads.emplace_back([&] {
      cores.compute(seconds{0.01}, no_work, [&] {
        inside = cores.busy();
        std::uint32_t before = most;
        while (inside > before && !most.compare_exchange_weak(before, inside)) continue;
        return false;
      });
    });
  const auto begin = core_permits::clock::now();
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(most, 2u);
  EXPECT_EQ(cores.busy(), 0u);
  EXPECT_GE(since(begin), 0.02) << "six times 10 ms on two cores, some of it before the first clock was read";
}

TEST(CorePermits, ThoseWhoShareTakeTurns) {
  // One core, and a thread that needs it for long: one that comes later need not wait until it is done.
  core_permits cores{1, seconds{0.001}};
  std::atomic<bool> first_is_done{false}, first_computes{false};
  std::thread first{[&] {
    cores.compute(
        seconds{0.2}, [&] { first_computes = true; }, never);
    first_is_done = true;
  }};
  while (!first_computes) std::this_thread::yield();
  const seconds without = cores.compute(seconds{0.01}, no_work, never);
  EXPECT_FALSE(first_is_done);
  EXPECT_GT(without.count(), 0.0) << "it had to wait for its turns";
  first.join();
}

TEST(CorePermits, WorkCountsAsComputed) {
  core_permits cores{0, seconds{0.001}};
  const auto begin = core_permits::clock::now();
  std::atomic<int> asked{0};
  cores.compute(
      seconds{0.005},
      [&] {
        while (since(begin) < 0.02) continue;
      },
      [&] { return ++asked < 0; });
  EXPECT_LE(asked, 2) << "no busy loop after work that took longer";
}

TEST(CorePermits, WorkThatThrowsGivesItsCoreBack) {
  core_permits cores{1, seconds{0.001}};
  EXPECT_THROW(cores.compute(seconds{0.001}, [] { throw std::bad_alloc{}; }, never), std::bad_alloc);
  EXPECT_EQ(cores.busy(), 0u);
  cores.compute(seconds{0.001}, no_work, never);  // and does not wait for ever
}

TEST(CorePermits, EndsEarlyWhereAsked) {
  core_permits cores{1, seconds{3600}};
  int asked = 0;
  cores.compute(seconds{3600}, no_work, [&] { return ++asked >= 3; });
  EXPECT_GE(asked, 3);
  EXPECT_EQ(cores.busy(), 0u);
}

}  // namespace
