#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <rubato/encode/loss_average.hpp>

namespace {

using rubato::archive;
using rubato::loss_average;

TEST(LossAverage, FirstLossInFullThenATenthOfTheWay) {
  loss_average average;
  EXPECT_EQ(average.value(), 0.0);
  EXPECT_EQ(average(2.0), 2.0);
  EXPECT_DOUBLE_EQ(average(1.0), 1.9);
  EXPECT_DOUBLE_EQ(average(1.0), 1.81);
}

TEST(LossAverage, WhatIsNotFiniteLeavesItAlone) {
  loss_average average;
  EXPECT_TRUE(std::isnan(average(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_EQ(average(3.0), 3.0) << "the first that counts";
  EXPECT_EQ(average(std::numeric_limits<double>::infinity()), std::numeric_limits<double>::infinity());
  EXPECT_EQ(average.value(), 3.0);
}

TEST(LossAverage, StateGoesOn) {
  loss_average whole, part;
  for (loss_average* each : {&whole, &part}) each->operator()(2.0);
  archive saved;
  part.state(saved);
  loss_average loaded;
  archive bytes{saved.bytes()};
  loaded.state(bytes);
  EXPECT_EQ(loaded(0.5), whole(0.5));
}

}  // namespace
