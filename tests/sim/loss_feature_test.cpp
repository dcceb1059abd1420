#include <rubato/sim/loss_feature.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace rubato::sim {
namespace {

TEST(LossFeature, AveragesWhatWorkersMeasured) {
  loss_feature loss{loss_source::worker_ema};
  EXPECT_FLOAT_EQ(loss.with({.loss = 2}, false), 2);
  EXPECT_FLOAT_EQ(loss.with({.loss = 1}, false), 1.9F);
  EXPECT_FLOAT_EQ(loss.with({.loss = 1}, false), 1.81F);
}

TEST(LossFeature, CancelledWorkersMeasureNothing) {
  loss_feature loss{loss_source::worker_ema};
  EXPECT_EQ(loss.with({.loss = 9}, true), 0);
  EXPECT_FLOAT_EQ(loss.with({.loss = 2}, false), 2);
  EXPECT_FLOAT_EQ(loss.with({.loss = 9}, true), 2);
}

TEST(LossFeature, ProbeReplacesTheWorkersLosses) {
  loss_feature loss{loss_source::probe};
  loss.probed(0.5);
  EXPECT_FLOAT_EQ(loss.with({.loss = 2}, false), 0.5F);
  loss.probed(0.25);
  EXPECT_FLOAT_EQ(loss.with({.loss = 2}, false), 0.25F);
}

TEST(LossFeature, WhatIsNotFiniteGoesThrough) {
  for (const loss_source source : {loss_source::worker_ema, loss_source::probe}) {
    loss_feature loss{source};
    loss.probed(2);
    static_cast<void>(loss.with({.loss = 2}, false));
    EXPECT_TRUE(std::isnan(loss.with({.loss = std::nanf("")}, false)));
    EXPECT_FALSE(std::isfinite(loss.with({.loss = 1, .norm = std::numeric_limits<float>::infinity()}, false)));
    EXPECT_FLOAT_EQ(loss.with({.loss = 2}, false), 2);
  }
}

}  // namespace
}  // namespace rubato::sim
