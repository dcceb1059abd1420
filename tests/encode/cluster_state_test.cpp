#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <rubato/core/rng.hpp>
#include <rubato/encode/cluster_state.hpp>
#include <string>
#include <vector>

#include "shown.hpp"

namespace {

using namespace rubato;
using test::encoded;
using test::shown_cluster;
using test::step_of;

// An encoder and the cluster that it is shown; everybody starts at 0.
struct bench {
  shown_cluster cluster;
  cluster_state encoder{};
  double now = 0;
  std::uint32_t submitter = 0;

  explicit bench(std::uint32_t workers) : cluster{workers} {
    encoder.resize(workers);
    for (std::uint32_t w = 0; w < workers; ++w) encoder.started(cluster.view(0.0, w), w);
  }
  void arrive(std::uint32_t w, double at, double step_time, float loss = 1.0F, std::uint64_t staleness = 0) {
    now = at;
    submitter = w;
    cluster.take(w, step_time);
    cluster.park(w);
    encoder.observe(step_of(w, at, loss, staleness, step_time));
  }
  void start(std::uint32_t w) {
    cluster.start(w);
    encoder.started(cluster.view(now, w), w);
  }
  double operator[](const std::string& name) {
    const auto out = encoded(encoder, cluster.view(now, submitter));
    const auto features = encoder.features();
    for (std::size_t i = 0; i < features.size(); ++i)
      if (features[i].name == name) return static_cast<double>(out[i]);
    ADD_FAILURE() << "no feature " << name;
    return 0;
  }
};

TEST(ClusterState, SharesByHand) {
  bench b{4};
  EXPECT_EQ(b["running_share"], 1.0);
  b.arrive(0, 1.0, 1.0);
  EXPECT_EQ(b["running_share"], 0.75);
  EXPECT_EQ(b["parked_share"], 0.0) << "the submitter does not count";
  EXPECT_EQ(b["idle_share"], 0.0);
  b.arrive(1, 2.0, 2.0);
  EXPECT_EQ(b["running_share"], 0.5);
  EXPECT_EQ(b["parked_share"], 0.25);
  EXPECT_NEAR(b["idle_share"], 0.1 * 0.25, 1e-6) << "one of four did nothing between the two pushes";
  EXPECT_EQ(b["activity@0"], 0.5);
  EXPECT_EQ(b["activity@1"], 0.75);
  EXPECT_EQ(b["activity@2"], 0.0);
  b.start(0);
  b.start(1);
  EXPECT_EQ(b["running_share"], 1.0);
  EXPECT_EQ(b["activity@0"], 0.5) << "as it was at the push";
}

TEST(ClusterState, NextArrivalInMedianSteps) {
  bench b{3};
  EXPECT_EQ(b["next_arrival"], cluster_state::horizon) << "nobody knows";
  for (const std::uint32_t w : {0U, 1U, 2U}) b.arrive(w, 2.0, 2.0);
  b.start(0);
  b.start(1);
  EXPECT_NEAR(b["next_arrival"], 1.0, 1e-6);
  b.now = 3.0;
  EXPECT_NEAR(b["next_arrival"], 0.5, 1e-6);
  b.arrive(0, 4.0, 2.0);
  b.now = 5.0;
  EXPECT_NEAR(b["next_arrival"], 1.5, 1e-6) << "worker 1 is late by 1 after 3";
}

TEST(ClusterState, SpeedsByHand) {
  bench b{4};
  for (const std::uint32_t w : {0U, 1U, 2U}) b.arrive(w, 1.0, 1.0);
  EXPECT_EQ(b["speed_dispersion"], 0.0);
  b.arrive(3, 4.0, 4.0);
  const double mean = std::log(4.0) / 4;
  EXPECT_NEAR(b["speed_dispersion"], std::sqrt(std::log(4.0) * std::log(4.0) / 4 - mean * mean), 1e-6);
  EXPECT_NEAR(b["own_slowness"], std::log(4.0), 1e-6);
  EXPECT_EQ(b["speed_rank"], 0.75);
  EXPECT_EQ(b["stretch"], 0.0);
  b.start(0);
  b.arrive(0, 6.0, 2.0);
  EXPECT_NEAR(b["stretch"], 0.1 * std::log(2.0), 1e-6);
}

TEST(ClusterState, TrendsHaveTheirSign) {
  bench b{2};
  double now = 0;
  for (int n = 0; n < 60; ++n) {
    now += n < 40 ? 2.0 : 1.0;
    b.arrive(0, now, 1.0, 3.0F * std::pow(0.97F, static_cast<float>(n)));
    b.start(0);
  }
  EXPECT_GT(b["throughput_trend"], 0.2) << "pushes come faster than they did";
  EXPECT_LT(b["loss_trend"], -0.1);
  EXPECT_NEAR(b["loss"], std::pow(0.97, 59), 1e-3);
  b.arrive(0, now + 40, 40.0, std::numeric_limits<float>::quiet_NaN());
  EXPECT_LT(b["throughput_trend"], 0.0);
  EXPECT_NEAR(b["loss"], std::pow(0.97, 59), 1e-3) << "frozen";
}

TEST(ClusterState, StalenessQuantiles) {
  bench b{2};
  EXPECT_EQ(b["staleness_median"], 0.0);
  for (std::uint64_t n = 0; n < 100; ++n) {  // the latest 32 are 68 to 99
    b.arrive(0, static_cast<double>(n), 1.0, 1.0F, n / 10);
    b.start(0);
  }
  EXPECT_EQ(b["staleness"], 9.0 / 2);
  EXPECT_EQ(b["staleness_median"], 8.0 / 2) << "number 15 of 0 to 31: 83";
  EXPECT_EQ(b["staleness_high"], 9.0 / 2) << "number 27: 95";
}

// Twice as many workers who do the same give the same numbers; but for shares, of which one worker is half as much, and
// for what goes by pushes.
TEST(ClusterState, IsScaledByTheWorkersAlive) {
  const auto seen = [](std::uint32_t copies) {
    bench b{4 * copies};
    for (int round = 1; round <= 30; ++round)
      for (std::uint32_t w = 0; w < 4 * copies; ++w) {
        const std::uint32_t kind = w / copies;  // those of kind 0 are quick, and those of kind 3 miss every other round
        if (kind == 3 && round % 2 != 0) continue;
        b.arrive(w, 4.0 * round + kind, kind == 0 ? 1.0 + round % 2 : 1.0 + kind, 8.0F / static_cast<float>(round + 3),
                 (kind + 1) * copies);
        static_cast<void>(b["activity@0"]);  // a policy encodes at each push
        b.cluster.finish(w);
        if (round < 30 || kind > 1) b.start(w);
      }
    b.now += 0.5;
    b.submitter = copies;  // of kind 1, which waits as those of kind 0 do
    std::vector<double> numbers;
    for (const float each : encoded(b.encoder, b.cluster.view(b.now, b.submitter)))
      numbers.push_back(static_cast<double>(each));
    return numbers;
  };
  const std::vector<double> few = seen(1), many = seen(2);
  const auto features = cluster_state{}.features();
  for (std::size_t i = 0; i < features.size(); ++i) {
    const std::string& name = features[i].name;
    const bool goes_by_pushes = name == "iteration" || name.ends_with("trend") || name == "stretch" ||
                                name == "staleness_high" || (name.starts_with("activity") && name != "activity@0");
    if (goes_by_pushes) continue;
    const bool per_worker = features[i].unit == "share" && name != "speed_rank";
    EXPECT_NEAR(few[i], many[i], per_worker ? 0.25 : 1e-6) << name;
    EXPECT_TRUE(few[i] != 0 || name == "idle_share") << name << " has something to say here";
  }
  EXPECT_LT(few[0], many[0]) << "iteration: pushes are counted";
  for (const std::uint32_t workers : {4U, 8U}) {
    bench b{workers};
    b.arrive(0, 1.0, 1.0);
    EXPECT_EQ(b["running_share"], (workers - 1.0) / workers) << "the first push tells";
  }
}

TEST(ClusterState, ForgetsWhoLeaves) {
  bench b{3};
  b.arrive(0, 1.0, 1.0);
  b.arrive(1, 1.0, 1.0);
  b.arrive(2, 9.0, 9.0);
  EXPECT_GT(b["speed_dispersion"], 0.5);
  b.cluster.leave(2);
  b.encoder.forget(2);
  b.submitter = 1;
  EXPECT_EQ(b["speed_dispersion"], 0.0);
  b.start(0);
  b.start(1);
  b.cluster.leave(0);
  b.cluster.leave(1);
  b.encoder.forget(0);
  b.encoder.forget(1);
  b.encoder.forget(1);
  b.encoder.forget(99);
  b.submitter = no_worker;
  EXPECT_EQ(b["next_arrival"], cluster_state::horizon);
}

TEST(ClusterState, StaysInItsRanges) {
  random_sequence random{5};
  bench b{6};
  double now = 0;
  for (int n = 0; n < 2000; ++n) {
    const auto w = static_cast<std::uint32_t>(random.below(6));
    now += std::exp(8 * random.normal());
    b.arrive(w, now, std::exp(20 * random.normal()), static_cast<float>(std::exp(30 * random.normal())),
             random.below(3) == 0 ? ~std::uint64_t{0} : random.below(9));
    if (random.below(2) == 0) b.start(w);
    for (const float number : encoded(b.encoder, b.cluster.view(now, w))) {
      ASSERT_GE(number, -10.0F);
      ASSERT_LE(number, 10.0F);
    }
  }
}

// After a load the host's clock may start anew; what is expected stays as far away as it was.
TEST(ClusterState, ClockMayStartAnew) {
  bench b{3};
  for (const std::uint32_t w : {0U, 1U, 2U}) b.arrive(w, 1000.0, 2.0), b.start(w);
  b.arrive(0, 0.0, 2.0);
  EXPECT_NEAR(b["next_arrival"], 1.0, 1e-6);
  EXPECT_TRUE(std::isfinite(b["throughput_trend"]));
}

}  // namespace
