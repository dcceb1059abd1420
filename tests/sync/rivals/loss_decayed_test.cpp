#include <rubato/sync/rivals/loss_decayed.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <limits>
#include <rubato/sync/asp.hpp>
#include <vector>

#include "../../support/cluster.hpp"
#include "../../support/test_policies.hpp"

namespace {

using namespace rubato;

TEST(LossDecayed, FactorByHand) {
  const loss_decay usual;
  EXPECT_EQ(usual(1.0), 1.0F);
  EXPECT_EQ(usual(0.2), 1.0F);
  EXPECT_EQ(usual(0.1), 0.5F);
  EXPECT_EQ(usual(0.01), 0.35F);
  const loss_decay own{.slope = 2.0F, .least = 0.25F, .most = 4.0F};
  EXPECT_EQ(own(3.0), 4.0F);
  EXPECT_EQ(own(1.0), 2.0F);
  EXPECT_EQ(own(0.1), 0.25F);
}

TEST(LossDecayed, FollowsTheRunningLoss) {
  test::cluster c{loss_decayed{asp{}, {.first = 2}}, 1};
  const auto scale = [&] { return c.heard().releases.back().terms.lr_scale; };
  EXPECT_EQ(scale(), 1.0F) << "nothing is known yet";
  c.push(0, 3.0F);
  EXPECT_EQ(scale(), 1.0F);
  c.push(0, 2.0F);  // the beginning is 3 + 0.1 x (2 - 3) = 2.9
  EXPECT_EQ(scale(), 1.0F);
  // After n more losses of 0.1 the running one is 0.1 + 2.8 x 0.9^n.
  for (int n = 1; n <= 16; ++n) c.push(0, 0.1F);
  EXPECT_EQ(scale(), 1.0F) << "0.619, a share of 0.2133";
  for (int n = 17; n <= 20; ++n) c.push(0, 0.1F);
  EXPECT_NEAR(scale(), 5 * (0.1 + 2.8 * std::pow(0.9, 20)) / 2.9, 1e-6);
  for (int n = 21; n <= 100; ++n) c.push(0, 0.1F);
  EXPECT_EQ(scale(), 0.35F);
}

TEST(LossDecayed, OneWithoutLosses) {
  test::cluster c{loss_decayed{asp{}}, 1};
  for (const float none : {0.0F, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    c.push(0, none);
    EXPECT_EQ(c.heard().releases.back().terms.lr_scale, 1.0F);
  }
}

TEST(LossDecayed, AUsedOneStartsAfresh) {
  test::cluster c{loss_decayed{asp{}, {.first = 2}}, 1};
  c.push(0, 3.0F);
  for (int n = 0; n < 100; ++n) c.push(0, 0.1F);
  ASSERT_EQ(c.heard().releases.back().terms.lr_scale, 0.35F);
  test::cluster next{c.control().policy(), 1};
  for (int n = 0; n < 20; ++n) next.push(0, 0.1F);
  EXPECT_EQ(next.heard().releases.back().terms.lr_scale, 1.0F);
}

// The law is for losses above 0.
TEST(LossDecayed, OneWhereTheFirstLossesAreNotAbove0) {
  const auto scales = [](std::initializer_list<float> losses) {
    test::cluster c{loss_decayed{asp{}, {.newest = 0.5F, .first = 2}}, 1};
    std::vector<float> all;
    for (const float loss : losses) {
      c.push(0, loss);
      all.push_back(c.heard().releases.back().terms.lr_scale);
    }
    EXPECT_EQ(c.overrides(), 0u);
    return all;
  };
  EXPECT_EQ(scales({-1.0F, -1.1F, -2.0F, -4.0F}), std::vector(4, 1.0F));
  EXPECT_EQ(scales({1.0F, -1.0F, -1.0F, -2.0F}), std::vector(4, 1.0F)) << "the average of the first two is 0";
  EXPECT_EQ(scales({1.0F, 1.0F, -9.0F}).back(), 0.35F) << "fallen far";
}

TEST(LossDecayed, MultipliesTheDecision) {
  // weighing decides on 0.5 and multiplies that by 1 + loss / 4 at the release.
  test::cluster c{loss_decayed{test::weighing{}, {.slope = 3.0F, .most = 3.0F}}, 1};
  c.push(0, 4.0F);
  EXPECT_EQ(c.heard().releases.back().terms.lr_scale, 3.0F * 0.5F * 2.0F);
}

TEST(LossDecayed, SavesTheAverage) {
  const loss_decay by{.first = 1};
  loss_decayed policy{asp{}, by};
  policy.observe({.what = {.worker = 0, .loss = 3.0F}});
  for (int n = 0; n < 100; ++n) policy.observe({.what = {.worker = 0, .loss = 0.3F}});
  archive out;
  policy.state(out);
  test::cluster c{loss_decayed{asp{}, by}, 1};
  loss_decayed other = c.control().policy();
  const auto scale = [&] {
    const roster& workers = c.control().workers();
    return other.release({workers, {}, 0}, {.worker = 0}).lr_scale;
  };
  EXPECT_EQ(scale(), 1.0F);
  archive in{out.bytes()};
  other.state(in);
  EXPECT_TRUE(in.finished());
  EXPECT_NEAR(scale(), 0.5F, 1e-3F);
}

TEST(LossDecayed, RefusesBadOptions) {
  const auto problem = [](loss_decay by) { return loss_decayed{asp{}, by}.problem(4); };
  EXPECT_EQ(problem({}), "");
  EXPECT_EQ(problem({.slope = 0.0F}), "loss_decay.slope is 0, expected a number above 0");
  EXPECT_EQ(problem({.least = 0.0F}), "loss_decay.least is 0, expected a number above 0");
  EXPECT_EQ(problem({.least = 2.0F}), "loss_decay.most is 1, expected a number of at least 2, the least");
  EXPECT_EQ(problem({.most = std::numeric_limits<float>::infinity()}),
            "loss_decay.most is inf, expected a number of at least 0.35, the least");
  EXPECT_EQ(problem({.newest = 0.0F}), "loss_decay.newest is 0, expected a number above 0, at most 1");
  EXPECT_EQ(problem({.first = 0}), "loss_decay.first is 0, expected at least 1");
}

TEST(LossDecayed, DescribesItself) {
  EXPECT_EQ(loss_decayed{asp{}}.describe().json,
            R"({"kind":"asp","loss_decay":[5,0.35,1,0.1,10],"of":{"kind":"asp"}})");
}

}  // namespace
