#include <rubato/adapt/batch_state.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace {

using namespace rubato;
using adapt::batch_period;
using adapt::batch_state;
using adapt::batch_worker;

using observation = std::array<float, batch_state::size>;

[[nodiscard]] observation observed(const batch_state& state, std::size_t worker) {
  observation out;
  state.observe(worker, out);
  return out;
}

/// Two workers, of which the second computes twice as long.
struct two_workers {
  std::vector<batch_worker> workers;
  std::uint64_t periods = 0;

  two_workers() : workers(2, {.counts = true, .batch = 128, .least = 32, .most = 1024, .steps = 4, .samples = 128}) {
    workers[0].step_time = 4, workers[0].loss = 2, workers[0].accuracy_deviation = 0.25F;
    workers[0].metrics = {.compute_time = 3,
                          .communication_time = 1,
                          .throughput = 0.5F,
                          .retransmissions = 0,
                          .processor = 0.75F,
                          .memory = 0.125F,
                          .accuracy = 0.5F,
                          .gradient_variance = 512,
                          .gradient_square = 1};
    workers[1].step_time = 6;
    workers[1].batch = 64;
  }
  [[nodiscard]] batch_period period(double time) {
    return {.workers = workers, .alive = 2, .usual = 64, .initial = 64, .number = periods++, .time = time};
  }
};

TEST(BatchState, FeaturesByHand) {
  two_workers of;
  batch_state state;
  state.resize(2);
  state.begin(of.period(24));
  const observation first = observed(state, 0);
  EXPECT_EQ(first[0], 0.5F);
  EXPECT_EQ(first[1], 0);
  EXPECT_EQ(first[2], 0.25F) << "one of four";
  EXPECT_EQ(first[3], 0.75F);
  EXPECT_EQ(first[4], 0.125F);
  EXPECT_EQ(first[5], 0.5F) << "three of six";
  EXPECT_EQ(first[6], 1) << "twice the usual batch";
  EXPECT_EQ(first[7], 0.5F);
  EXPECT_EQ(first[8], 0.25F);
  EXPECT_FLOAT_EQ(first[10], static_cast<float>(std::log(512.0 / 192.0) / 2)) << "192 samples in an update";
  EXPECT_EQ(first[11], 0.5F) << "of those who know theirs";
  EXPECT_FLOAT_EQ(first[12], static_cast<float>(std::log2(1.5)));
  EXPECT_FLOAT_EQ(first[13], 4.0F / 504);
  EXPECT_EQ(first[14], 0) << "the first period";
  EXPECT_FLOAT_EQ(first[15], 1.0F / 3) << "3 and 6";
}

TEST(BatchState, WhatIsNotKnownIsFlagged) {
  two_workers of;
  batch_state state;
  state.resize(2);
  state.begin(of.period(24));
  const observation first = observed(state, 0), second = observed(state, 1);
  for (std::size_t f = 0; f < batch_state::features; ++f) {
    EXPECT_EQ(first[batch_state::features + f], f == 9 ? 0 : 1) << batch_state::names[f];
    const bool known = f == 5 || f == 6 || f >= 10;
    EXPECT_EQ(second[batch_state::features + f], known ? 1 : 0) << batch_state::names[f];
    EXPECT_TRUE(known || second[f] == 0) << batch_state::names[f];
  }
  EXPECT_EQ(second[5], 1) << "by the time from grant to arrival";
}

TEST(BatchState, RemembersTheFirstPeriod) {
  two_workers of;
  batch_state state;
  state.resize(2);
  state.begin(of.period(24));
  state.end();
  of.workers[0].loss = 1.5F;
  state.begin(of.period(96));
  const observation first = observed(state, 0);
  EXPECT_EQ(first[9], -0.25F) << "of the first loss, 2";
  EXPECT_EQ(first[batch_state::features + 9], 1);
  EXPECT_EQ(first[14], 2) << "four times as long";
  EXPECT_FLOAT_EQ(first[13], 8.0F / 508);
}

TEST(BatchState, EverythingIsClipped) {
  two_workers of;
  batch_state state;
  state.resize(2);
  of.workers[0].metrics.retransmissions = 1e30F;
  of.workers[0].metrics.gradient_square = -1;
  of.workers[0].loss = std::numeric_limits<float>::max();
  of.workers[1].step_time = std::numeric_limits<float>::max();
  state.begin(of.period(1e300));
  state.end();
  of.workers[0].loss = -std::numeric_limits<float>::max();
  state.begin(of.period(1e-300));
  for (std::size_t w = 0; w < 2; ++w)
    for (const float each : observed(state, w)) EXPECT_LE(std::abs(each), 4);
}

TEST(BatchState, SavesWhatItKnows) {
  two_workers of;
  batch_state state, other;
  state.resize(2), other.resize(2);
  state.begin(of.period(24));
  state.end();
  archive saved;
  state.state(saved);
  archive bytes{saved.bytes()};
  other.state(bytes);
  EXPECT_TRUE(bytes.finished());
  two_workers same = of;
  state.begin(of.period(7)), other.begin(same.period(7));
  EXPECT_EQ(observed(state, 0), observed(other, 0));
}

}  // namespace
