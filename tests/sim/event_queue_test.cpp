#include <rubato/sim/event_queue.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include <rubato/core/rng.hpp>

namespace rubato::sim {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

TEST(EventQueue, TiesByWorkerThenByInsertion) {
  event_queue queue{8, 3};
  queue.schedule_service(0, 1.0, 7);
  queue.schedule_service(1, 1.0, 7);
  queue.schedule(7, 1.0);
  queue.schedule_service(2, 1.0, 3);
  queue.schedule(4, 1.0);
  queue.schedule(6, 0.5);
  for (const std::uint32_t source : {6U, 8U + 2U, 4U, 8U + 0U, 8U + 1U, 7U}) EXPECT_EQ(queue.pop().source, source);
  EXPECT_EQ(queue.next_time(), never);
}

TEST(EventQueue, UnchangedEventsKeepTheirPlace) {
  event_queue queue{1, 2};
  queue.schedule_service(0, 1.0, 0);
  queue.schedule_service(1, 1.0, 0);
  queue.schedule_service(0, 1.0, 0);
  EXPECT_EQ(queue.pop().source, 1U);
}

TEST(EventQueue, Retimes) {
  event_queue queue{2, 1};
  queue.schedule(0, 1.0);
  queue.schedule(1, 2.0);
  queue.schedule(0, 3.0);
  queue.schedule_service(0, 0.5, 0);
  queue.schedule_service(0, 2.5, 0);
  EXPECT_EQ(queue.next_time(), 2.0);
  EXPECT_EQ(queue.pop().source, 1U);
  EXPECT_EQ(queue.next_time(), 2.5);
  EXPECT_EQ(queue.pop().source, 2U);
  const event_queue::event last = queue.pop();
  EXPECT_EQ(last.source, 0U);
  EXPECT_EQ(last.time, 3.0);
  EXPECT_EQ(queue.next_time(), never);
}

TEST(EventQueue, Cancels) {
  event_queue queue{2, 1};
  queue.schedule(0, 1.0);
  queue.cancel(0);
  queue.cancel(1);
  EXPECT_EQ(queue.next_time(), never);
  queue.schedule(1, 2.0);
  queue.schedule(0, 3.0);
  EXPECT_EQ(queue.pop().source, 1U);
  queue.cancel(1);
  EXPECT_EQ(queue.next_time(), 3.0);
}

TEST(EventQueue, InfinityNeverHappens) {
  event_queue queue{1, 1};
  EXPECT_EQ(queue.next_time(), never);
  queue.schedule(0, 1.0);
  queue.schedule(0, never);
  queue.schedule_service(0, 1.0, 0);
  queue.schedule_service(0, never, 0);
  EXPECT_EQ(queue.next_time(), never);
}

// Against a plain list of (time, worker, insertion, source), few different times, so that there are many ties.
TEST(EventQueue, AgreesWithASort) {
  constexpr std::uint32_t workers = 10, services = 5;
  event_queue queue{workers, services};
  std::vector<std::tuple<double, std::uint32_t, int, std::uint32_t>> all;
  random_sequence random{5};
  double now = 0;
  for (int step = 0; step < 50'000; ++step) {
    const auto source = static_cast<std::uint32_t>(random.below(workers + services));
    const auto mine = [&](const auto& e) { return std::get<3>(e) == source; };
    const auto worker = source < workers ? source : static_cast<std::uint32_t>(random.below(workers));
    const double time = now + static_cast<double>(random.below(5));
    switch (random.below(4)) {
      case 0:
        if (all.empty()) break;
        {
          const auto first = std::ranges::min_element(all);
          ASSERT_EQ(queue.next_time(), std::get<0>(*first));
          const event_queue::event next = queue.pop();
          ASSERT_EQ(next.time, std::get<0>(*first));
          ASSERT_EQ(next.source, std::get<3>(*first));
          now = next.time;
          all.erase(first);
        }
        break;
      case 1:
        std::erase_if(all, mine);
        source < workers ? queue.cancel(source) : queue.schedule_service(source - workers, never, 0);
        break;
      default:
        const bool same = std::ranges::any_of(all, [&](const auto& e) {
          return mine(e) && source >= workers && std::get<0>(e) == time && std::get<1>(e) == worker;
        });
        source < workers ? queue.schedule(source, time) : queue.schedule_service(source - workers, time, worker);
        if (same) break;
        std::erase_if(all, mine);
        all.emplace_back(time, worker, step, source);
    }
  }
}

}  // namespace
}  // namespace rubato::sim
