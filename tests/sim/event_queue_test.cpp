#include <rubato/sim/event_queue.hpp>

#include <gtest/gtest.h>

#include <limits>

namespace rubato::sim {
namespace {

TEST(EventQueue, TiesByOrderThenByInsertion) {
  event_queue queue{4};
  queue.schedule(0, 1.0, 7);
  queue.schedule(1, 1.0, 7);
  queue.schedule(2, 1.0, 3);
  queue.schedule(3, 0.5, 9);
  EXPECT_EQ(queue.pop().slot, 3U);
  EXPECT_EQ(queue.pop().slot, 2U);
  EXPECT_EQ(queue.pop().slot, 0U);
  EXPECT_EQ(queue.pop().slot, 1U);
}

TEST(EventQueue, UnchangedEventsKeepTheirPlace) {
  event_queue queue{2};
  queue.schedule(0, 1.0, 0);
  queue.schedule(1, 1.0, 0);
  queue.schedule(0, 1.0, 0);
  EXPECT_EQ(queue.pop().slot, 0U);
}

TEST(EventQueue, Retimes) {
  event_queue queue{2};
  queue.schedule(0, 1.0, 0);
  queue.schedule(1, 2.0, 1);
  queue.schedule(0, 3.0, 0);
  EXPECT_EQ(queue.next_time(), 2.0);
  EXPECT_EQ(queue.pop().slot, 1U);
  const event_queue::event last = queue.pop();
  EXPECT_EQ(last.slot, 0U);
  EXPECT_EQ(last.time, 3.0);
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueue, Cancels) {
  event_queue queue{2};
  queue.schedule(0, 1.0, 0);
  queue.cancel(0);
  queue.cancel(1);
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueue, InfinityNeverHappens) {
  constexpr double never = std::numeric_limits<double>::infinity();
  event_queue queue{1};
  EXPECT_EQ(queue.next_time(), never);
  queue.schedule(0, 1.0, 0);
  queue.schedule(0, never, 0);
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace rubato::sim
