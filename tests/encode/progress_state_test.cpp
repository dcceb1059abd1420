#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <rubato/core/rng.hpp>
#include <rubato/encode/progress_state.hpp>
#include <string>
#include <utility>

#include "shown.hpp"

namespace {

using namespace rubato;
using test::encoded;
using test::shown_cluster;
using test::step_of;

// An encoder, and a cluster of workers.
struct progress_bench {
  shown_cluster cluster;
  progress_state encoder{};
  double now = 0;

  explicit progress_bench(std::uint32_t workers) : cluster{workers} { encoder.resize(workers); }
  progress_bench& push(float loss, std::uint64_t staleness = 0) {
    encoder.observe(step_of(0, now += 1, loss, staleness));
    return *this;
  }
  double operator[](const std::string& name) {
    const auto out = encoded(encoder, cluster.view(now, 0));
    const auto features = encoder.features();
    for (std::size_t i = 0; i < features.size(); ++i)
      if (features[i].name == name) return static_cast<double>(out[i]);
    ADD_FAILURE() << "no feature " << name;
    return 0;
  }
};

TEST(ProgressState, LossByHand) {
  progress_bench b{2};
  for (int n = 0; n < 10; ++n) b.push(4.0F);
  EXPECT_EQ(b["loss"], 1.5);
  b.push(2.0F);
  EXPECT_NEAR(b["loss"], std::log(0.95) + 1.5, 1e-6) << "the running loss moves a tenth of the way";
}

TEST(ProgressState, TheBeginningIsThatOfTenLosses) {
  progress_bench b{2};
  b.push(100.0F);
  for (int n = 0; n < 9; ++n) b.push(1.0F);
  EXPECT_EQ(b["loss"], 1.5) << "an odd first loss is no measure";
}

TEST(ProgressState, TrendHasItsSign) {
  progress_bench b{2};
  for (int n = 0; n < 60; ++n) b.push(3.0F * std::pow(0.97F, static_cast<float>(n)));
  EXPECT_LT(b["loss_trend"], 1 - 4 * 0.2);
  for (int n = 0; n < 20; ++n) b.push(3.0F);
  EXPECT_GT(b["loss_trend"], 1 + 4 * 0.1) << "it has risen";
  for (int n = 0; n < 600; ++n) b.push(3.0F);
  EXPECT_NEAR(b["loss_trend"], 1.0, 1e-3);
}

TEST(ProgressState, NoiseOfASteadyLossIsLow) {
  const auto noise_of = [](double deviation) {
    progress_bench b{2};
    random_sequence random{3};
    for (int n = 0; n < 400; ++n) b.push(static_cast<float>(std::exp(deviation * random.normal())));
    return b["loss_noise"];
  };
  EXPECT_EQ(noise_of(0.0), -3.0);
  EXPECT_NEAR(noise_of(0.1), 2 * std::log(0.1) + 4, 0.6);
  EXPECT_NEAR(noise_of(0.3) - noise_of(0.1), 2 * std::log(3.0), 0.2);
}

TEST(ProgressState, ChangesByHand) {
  progress_bench b{2};
  b.push(1.0F).push(2.0F);
  const double squared = std::log(2.0) * std::log(2.0);
  const double variance = 0.95 * 0.0025 + 0.05 * squared;
  EXPECT_NEAR(b["loss_change"], std::log(variance) + 6, 1e-5);
  EXPECT_EQ(b["loss_persistence"], 0.0) << "nothing came before";
  b.push(4.0F);
  EXPECT_NEAR(b["loss_change"], std::log(0.95 * variance + 0.05 * squared) + 6, 1e-5);
  EXPECT_NEAR(b["loss_persistence"], 5 * 0.05 * (squared / 3) / (0.95 * variance + 0.05 * squared), 1e-5);
}

TEST(ProgressState, PersistenceTellsATrendFromJumps) {
  progress_bench falls{2}, jumps{2};
  for (int n = 0; n < 200; ++n) {
    falls.push(5.0F * std::pow(0.99F, static_cast<float>(n)));
    jumps.push(n % 2 == 0 ? 1.0F : 1.1F);
  }
  EXPECT_GT(falls["loss_persistence"], 2.5);
  EXPECT_LT(jumps["loss_persistence"], -1.0);
}

TEST(ProgressState, StalenessByHand) {
  progress_bench b{10};
  EXPECT_EQ(b["staleness"], 0.0);
  b.push(1.0F, 4);
  EXPECT_NEAR(b["staleness"], std::log(0.5) + 0.6, 1e-6) << "five updates, of ten workers";
  EXPECT_NEAR(b["concurrency"], std::log(5.0) - 1.8, 1e-6);
  b.push(1.0F, 9);
  EXPECT_NEAR(b["staleness"], std::log(0.55) + 0.6, 1e-6);
}

TEST(ProgressState, SamplesAndOverheadByHand) {
  progress_bench b{2};
  EXPECT_EQ(b["samples"], 0.0);
  EXPECT_EQ(b["overhead"], 0.0);
  for (const std::uint32_t samples : {64U, 32U, 64U}) {
    feedback step = step_of(0, 1, 1.0F, 0, samples / 64.0 + 1);
    step.what.samples = samples;
    b.encoder.granted(0, b["samples"] == 0.0 ? 0 : samples);
    b.encoder.observe(step);
  }
  EXPECT_EQ(b["samples"], 2.0) << "of the first push, whatever came later";
  EXPECT_NEAR(b["overhead"], std::log2(b.encoder.cost().overhead()) / 2, 1e-6);
  EXPECT_LT(b.encoder.cost().elasticity(), 0.6);
}

TEST(ProgressState, WithoutLosses) {
  progress_bench b{4};
  const float none = std::numeric_limits<float>::quiet_NaN();
  for (const float loss : {0.0F, none, -1.0F, std::numeric_limits<float>::infinity()}) b.push(loss, 3);
  for (const char* name : {"loss", "loss_trend", "loss_noise", "loss_change", "loss_persistence"})
    EXPECT_EQ(b[name], 0.0) << name;
  EXPECT_FALSE(b.encoder.has_losses());
  EXPECT_NEAR(b["staleness"], 0.6, 1e-6) << "four updates, of four workers";
  b.push(5.0F).push(none);
  EXPECT_TRUE(b.encoder.has_losses());
  EXPECT_EQ(b["loss"], 1.5);
}

TEST(ProgressState, StaysInItsRanges) {
  progress_bench b{2};
  random_sequence random{1};
  for (std::uint32_t n = 0; n < 500; ++n) {
    b.push(static_cast<float>(std::exp(20 * random.normal())), random.below(1000));
    EXPECT_LE(std::abs(b["loss"]), 2.0);
    for (const feature& each : b.encoder.features()) EXPECT_LE(std::abs(b[each.name]), 3.0) << each.name;
  }
}

}  // namespace
