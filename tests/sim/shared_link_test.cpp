#include <rubato/sim/shared_link.hpp>

#include <gtest/gtest.h>

#include <limits>

namespace rubato::sim {
namespace {

constexpr double at_no_time = std::numeric_limits<double>::infinity();

TEST(SharedLink, OneTransferTakesItsTime) {
  shared_link link{{.bandwidth = 2, .model_size = 3}, 2, 1};
  EXPECT_EQ(link.transfer_time(), 1.5);
  EXPECT_FALSE(link.is_congested_at_times());
  link.start(1, 10);
  EXPECT_EQ(link.transfers().next_completion(), 11.5);
  EXPECT_EQ(link.finish(11.5), 1u);
  EXPECT_EQ(link.transfers().active(), 0u);
  EXPECT_EQ((shared_link{{}, 2, 1}.transfer_time()), 0);
}

TEST(SharedLink, CongestionIsFeltDuringATransfer) {
  shared_link link{{.bandwidth = 1, .model_size = 100, .congestion = {.share = 0.25, .length = 8, .gap = 8}}, 1, 7};
  EXPECT_TRUE(link.is_congested_at_times());
  link.start(0, 0);
  double now = 0, sent = 0;
  while (link.transfers().next_completion() > link.next_change()) {
    const double to = link.next_change();
    sent += link.transfers().rate() * (to - now);
    EXPECT_TRUE(link.transfers().rate() == 1 || link.transfers().rate() == 0.25);
    const double before = link.transfers().rate();
    link.feel_congestion(now = to);
    EXPECT_NE(link.transfers().rate(), before);
  }
  sent += link.transfers().rate() * (link.transfers().next_completion() - now);
  EXPECT_NEAR(sent, 100, 1e-9);
}

TEST(SharedLink, NothingIsDueWhileNothingIsUnderWay) {
  shared_link link{{.bandwidth = 1, .model_size = 1, .congestion = {.share = 0.5, .length = 1, .gap = 1}}, 1, 3};
  EXPECT_EQ(link.next_change(), at_no_time);
  link.start(0, 5);
  EXPECT_LT(link.next_change(), at_no_time);
  link.remove(0, 5.1);
  EXPECT_EQ(link.next_change(), at_no_time);
}

}  // namespace
}  // namespace rubato::sim
