#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <rubato/core/rng.hpp>
#include <rubato/encode/progress_state.hpp>
#include <string>

#include "shown.hpp"

namespace {

using namespace rubato;
using test::encoded;
using test::shown_cluster;
using test::step_of;

// An encoder, and a cluster of workers whose steps take 1 unless they say otherwise.
struct progress_bench {
  shown_cluster cluster;
  progress_state encoder{};
  double now = 0;

  explicit progress_bench(std::uint32_t workers) : cluster{workers} { encoder.resize(workers); }
  progress_bench& push(float loss, std::uint64_t staleness = 0, std::uint32_t worker = 0, double step_time = 1) {
    encoder.observe(step_of(worker, now += 1, loss, staleness, step_time));
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
  EXPECT_EQ(b["loss"], 1.0);
  b.push(2.0F);
  EXPECT_NEAR(b["loss"], std::log(0.95) + 1, 1e-6) << "the running loss moves a tenth of the way";
  EXPECT_NEAR(b["loss_squared"], (std::log(0.95) + 1) * (std::log(0.95) + 1), 1e-6);
}

TEST(ProgressState, TheBeginningIsThatOfTenLosses) {
  progress_bench b{2};
  b.push(100.0F);
  for (int n = 0; n < 9; ++n) b.push(1.0F);
  EXPECT_EQ(b["loss"], 1.0) << "an odd first loss is no measure";
}

TEST(ProgressState, TrendHasItsSign) {
  progress_bench b{2};
  for (int n = 0; n < 60; ++n) b.push(3.0F * std::pow(0.97F, static_cast<float>(n)));
  EXPECT_LT(b["loss_trend"], -0.2);
  for (int n = 0; n < 20; ++n) b.push(3.0F);
  EXPECT_GT(b["loss_trend"], 0.1) << "it has risen";
  for (int n = 0; n < 600; ++n) b.push(3.0F);
  EXPECT_NEAR(b["loss_trend"], 0.0, 1e-3);
}

TEST(ProgressState, NoiseOfASteadyLossIsLow) {
  const auto noise_of = [](double deviation) {
    progress_bench b{2};
    random_sequence random{3};
    for (int n = 0; n < 400; ++n) b.push(static_cast<float>(std::exp(deviation * random.normal())));
    return b["loss_noise"];
  };
  EXPECT_EQ(noise_of(0.0), -3.0);
  EXPECT_NEAR(noise_of(0.1), std::log(0.1) + 2.5, 0.3);
  EXPECT_NEAR(noise_of(0.3) - noise_of(0.1), std::log(3.0), 0.1);
}

TEST(ProgressState, StalenessByHand) {
  progress_bench b{10};
  EXPECT_EQ(b["staleness"], 0.0);
  b.push(1.0F, 4);
  EXPECT_NEAR(b["staleness"], std::log(0.5), 1e-6) << "five updates, of ten workers";
  b.push(1.0F, 9);
  EXPECT_NEAR(b["staleness"], std::log(0.55), 1e-6);
}

TEST(ProgressState, StretchByHand) {
  progress_bench b{3};
  b.push(1.0F, 0, 0, 2.0).push(1.0F, 0, 1, 5.0);
  EXPECT_EQ(b["stretch"], 0.0) << "the first of each";
  b.push(1.0F, 0, 0, 4.0);
  EXPECT_NEAR(b["stretch"], 0.1 * std::log(2.0), 1e-6);
  b.push(1.0F, 0, 1, 2.5);
  EXPECT_NEAR(b["stretch"], 0.09 * std::log(2.0), 1e-6) << "a new shortest";
  b.encoder.forget(0);
  b.push(1.0F, 0, 0, 8.0);
  EXPECT_NEAR(b["stretch"], 0.081 * std::log(2.0), 1e-6) << "somebody else with that index";
}

TEST(ProgressState, WithoutLosses) {
  progress_bench b{4};
  const float none = std::numeric_limits<float>::quiet_NaN();
  for (const float loss : {0.0F, none, -1.0F, std::numeric_limits<float>::infinity()}) b.push(loss, 3);
  for (const char* name : {"loss", "loss_squared", "loss_trend", "loss_noise"}) EXPECT_EQ(b[name], 0.0) << name;
  EXPECT_FALSE(b.encoder.has_losses());
  EXPECT_EQ(b["staleness"], 0.0) << "four updates, of four workers";
  b.push(5.0F).push(none);
  EXPECT_TRUE(b.encoder.has_losses());
  EXPECT_EQ(b["loss"], 1.0);
}

TEST(ProgressState, StaysInItsRanges) {
  progress_bench b{2};
  random_sequence random{1};
  for (std::uint32_t n = 0; n < 500; ++n) {
    b.push(static_cast<float>(std::exp(20 * random.normal())), random.below(1000), n % 2,
           std::exp(5 * random.normal()));
    EXPECT_LE(std::abs(b["loss"]), 2.0);
    EXPECT_LE(std::abs(b["loss_squared"]), 4.0);
    EXPECT_LE(std::abs(b["loss_trend"]), 3.0);
    EXPECT_LE(std::abs(b["loss_noise"]), 3.0);
    EXPECT_LE(b["staleness"], 2.0);
    EXPECT_GE(b["stretch"], 0.0);
    EXPECT_LE(b["stretch"], 3.0);
  }
}

}  // namespace
