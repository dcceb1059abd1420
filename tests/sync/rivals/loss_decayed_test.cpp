#include <rubato/sync/rivals/loss_decayed.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <rubato/sync/asp.hpp>

#include "../../support/cluster.hpp"
#include "../../support/test_policies.hpp"

namespace {

using namespace rubato;

TEST(LossDecayed, FactorByHand) {
  const loss_decay usual;
  EXPECT_EQ(usual(2.3), 2.0F);
  EXPECT_EQ(usual(1.0), 1.0F);
  EXPECT_EQ(usual(0.7), 1.0F);
  EXPECT_EQ(usual(0.5), 0.5F);
  const loss_decay own{.high = 4.0F, .low = 2.0F, .early = 3.0F, .late = 0.1F};
  EXPECT_EQ(own(4.5), 3.0F);
  EXPECT_EQ(own(3.0), 1.0F);
  EXPECT_EQ(own(2.0), 0.1F);
}

TEST(LossDecayed, FollowsTheRunningLoss) {
  test::cluster c{loss_decayed{asp{}}, 1};
  const auto scale = [&] { return c.heard().releases.back().terms.lr_scale; };
  EXPECT_EQ(scale(), 1.0F) << "nothing is known yet";
  c.push(0, 2.0F);
  EXPECT_EQ(scale(), 2.0F);
  // After n losses of 0.2 the average is 0.2 + 1.8 x 0.9^n.
  for (int n = 1; n <= 7; ++n) c.push(0, 0.2F);
  EXPECT_EQ(scale(), 2.0F) << "1.061";
  c.push(0, 0.2F);
  EXPECT_EQ(scale(), 1.0F) << "0.975";
  for (int n = 9; n <= 14; ++n) c.push(0, 0.2F);
  EXPECT_EQ(scale(), 1.0F) << "0.612";
  c.push(0, 0.2F);
  EXPECT_EQ(scale(), 0.5F) << "0.571";
}

TEST(LossDecayed, OneWithoutLosses) {
  test::cluster c{loss_decayed{asp{}}, 1};
  for (const float none : {0.0F, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    c.push(0, none);
    EXPECT_EQ(c.heard().releases.back().terms.lr_scale, 1.0F);
  }
}

TEST(LossDecayed, MultipliesTheDecision) {
  // weighing decides on 0.5 and multiplies that by 1 + loss / 4 at the release.
  test::cluster c{loss_decayed{test::weighing{}}, 1};
  c.push(0, 4.0F);
  EXPECT_EQ(c.heard().releases.back().terms.lr_scale, 2.0F * 0.5F * 2.0F);
}

TEST(LossDecayed, SavesTheAverage) {
  loss_decayed policy{asp{}};
  policy.observe({.what = {.worker = 0, .loss = 3.0F}});
  archive out;
  policy.state(out);
  const auto first_scale = [](auto held) {
    test::cluster c{held, 1};
    return c.heard().releases.back().terms.lr_scale;
  };
  loss_decayed other{asp{}};
  EXPECT_EQ(first_scale(other), 1.0F);
  archive in{out.bytes()};
  other.state(in);
  EXPECT_TRUE(in.finished());
  EXPECT_EQ(first_scale(other), 2.0F);
}

TEST(LossDecayed, RefusesBadOptions) {
  const auto problem = [](loss_decay by) { return loss_decayed{asp{}, by}.problem(4); };
  EXPECT_EQ(problem({}), "");
  EXPECT_EQ(problem({.early = 0.0F}), "loss_decay: early and late must be numbers above 0");
  EXPECT_EQ(problem({.late = std::numeric_limits<float>::infinity()}),
            "loss_decay: early and late must be numbers above 0");
  EXPECT_EQ(problem({.high = 0.5F}), "loss_decay: expected low <= high");
  EXPECT_EQ(problem({.newest = 0.0F}), "loss_decay: newest must lie in (0, 1]");
}

TEST(LossDecayed, DescribesItself) {
  EXPECT_EQ(loss_decayed{asp{}}.describe().json,
            R"({"kind":"asp","loss_decay":[1,0.6,2,0.5,0.1],"of":{"kind":"asp"}})");
}

}  // namespace
