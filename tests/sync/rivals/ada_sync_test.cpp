#include <rubato/sync/rivals/ada_sync.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "../../support/cluster.hpp"

namespace {

using namespace rubato;
using ada_rule = ada_sync::rule;

TEST(AdaSync, StateWithoutAFiniteFirstLossOrATimeIsRefused) {
  const auto loads = [](double first, double next) {
    ada_sync saved;
    saved.first = first, saved.next = next;
    archive out;
    saved.state(out);
    archive in{out.bytes()};
    ada_sync{}.state(in);
    return in.finished();
  };
  EXPECT_TRUE(loads(2.0, std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(loads(std::numeric_limits<double>::infinity(), 1.0));
  EXPECT_FALSE(loads(-2.0, 1.0)) << "losses below 0 are not gone by";
  EXPECT_FALSE(loads(2.0, std::numeric_limits<double>::quiet_NaN()));
}

TEST(AdaSync, KByHand) {
  // k_0 sqrt(F_0 / F), rounded, up to the number of workers.
  for (const ada_rule linear : {ada_rule::k_async, ada_rule::k_batch_sync, ada_rule::k_batch_async}) {
    EXPECT_EQ(ada_sync::k_for(linear, 1, 1.0, 10), 1u);
    EXPECT_EQ(ada_sync::k_for(linear, 1, 4.0, 10), 2u);
    EXPECT_EQ(ada_sync::k_for(linear, 2, 4.0, 10), 4u);
    EXPECT_EQ(ada_sync::k_for(linear, 2, 3.0, 10), 3u) << "3.46";
    EXPECT_EQ(ada_sync::k_for(linear, 2, 1000.0, 10), 10u);
    EXPECT_EQ(ada_sync::k_for(linear, 4, 0.01, 10), 1u);
  }
  // k^2 / (10 - k) = 4 / 8 F_0 / F: (-c + sqrt(c^2 + 40 c)) / 2.
  EXPECT_EQ(ada_sync::k_for(ada_rule::k_sync, 2, 1.0, 10), 2u);
  EXPECT_EQ(ada_sync::k_for(ada_rule::k_sync, 2, 4.0, 10), 4u) << "c = 2: 3.58";
  EXPECT_EQ(ada_sync::k_for(ada_rule::k_sync, 2, 20.0, 10), 6u) << "c = 10: 6.18";
  EXPECT_EQ(ada_sync::k_for(ada_rule::k_sync, 2, 1e9, 10), 10u);
  EXPECT_EQ(ada_sync::k_for(ada_rule::k_sync, 10, 0.1, 10), 10u) << "all of them leave no choice";
  EXPECT_EQ(ada_sync::k_for(ada_rule::k_sync, 3, 5.0, 2), 2u) << "some have gone";
  EXPECT_EQ(ada_sync::k_for(ada_rule::k_async, 1, std::numeric_limits<double>::infinity(), 3), 3u);
}

TEST(AdaSync, KSolvesItsEquation) {
  for (const std::uint32_t k_0 : {1u, 2u, 5u})
    for (const double fallen : {1.0, 2.0, 7.0, 50.0}) {
      const double n = 1000.0;
      const double c = k_0 * k_0 / (n - k_0) * fallen;
      EXPECT_EQ(ada_sync::k_for(ada_rule::k_sync, k_0, fallen, 1000),
                std::round((-c + std::sqrt(c * c + 4 * c * n)) / 2));
    }
}

TEST(AdaSync, GrowsAsTheLossFalls) {
  test::cluster c{ada_sync{.by = ada_rule::k_batch_async, .initial = 1, .interval = 0.0, .newest = 1.0}, 4};
  const auto k = [&] { return c.control().policy().k(); };
  c.push(0, 4.0F).push(1, 4.0F);
  EXPECT_EQ(k(), 1u) << "4 is what later losses are compared with";
  c.push(0, 1.0F).push(1, 1.0F);
  EXPECT_EQ(k(), 2u);
  ASSERT_EQ(c.control().updates(), 3u);
  c.push(2, 0.25F);
  EXPECT_EQ(c.control().updates(), 4u) << "two gradients made this update";
  c.push(0, 0.25F);
  EXPECT_EQ(k(), 4u);
  c.push(1, 0.25F).push(2, 0.25F);
  EXPECT_EQ(c.control().updates(), 4u);
  c.push(3, 0.25F);
  EXPECT_EQ(c.control().updates(), 5u);
}

TEST(AdaSync, KeepsKWithoutLosses) {
  for (const float none : {0.0F, std::numeric_limits<float>::quiet_NaN(), -2.0F}) {
    test::cluster c{ada_sync{.by = ada_rule::k_async, .initial = 2, .interval = 0.0, .newest = 1.0}, 4};
    for (int n = 0; n < 20; ++n) c.push(c.running().front(), none);
    EXPECT_EQ(c.control().policy().k(), 2u);
    EXPECT_EQ(c.control().policy().first, 0.0);
  }
}

TEST(AdaSync, ChangesBetweenRoundsOnly) {
  test::cluster c{ada_sync{.by = ada_rule::k_async, .initial = 2, .interval = 0.0, .newest = 1.0, .monotone = false},
                  4};
  const auto k = [&] { return c.control().policy().k(); };
  c.push(0, 4.0F).push(1, 4.0F).push(0, 4.0F);
  c.push(2, 1.0F);
  EXPECT_EQ(k(), 2u);
  c.push(0, 64.0F);
  EXPECT_EQ(k(), 4u) << "the first gradient of a round, after a loss of 1";
  c.push(1, 64.0F).push(2, 64.0F);
  EXPECT_EQ(k(), 4u) << "the round is open";
  EXPECT_EQ(c.control().updates(), 2u);
  c.push(3, 64.0F);
  EXPECT_EQ(c.control().updates(), 3u) << "of four gradients, though the loss would want one";
  c.push(0, 64.0F);
  EXPECT_EQ(k(), 1u);
}

TEST(AdaSync, OncePerInterval) {
  test::cluster c{ada_sync{.by = ada_rule::k_batch_async, .interval = 10.0, .newest = 1.0}, 9};
  const auto k = [&] { return c.control().policy().k(); };
  c.at(1).push(0, 9.0F).at(2).push(0, 1.0F).at(11).push(0, 1.0F);
  EXPECT_EQ(k(), 1u) << "9 was taken at 2";
  c.at(12).push(0, 0.25F);
  EXPECT_EQ(k(), 3u);
  c.at(13).push(0, 0.25F).at(14).push(0, 0.25F).at(21.5).push(0, 0.25F);
  EXPECT_EQ(k(), 3u);
  c.at(22).push(0, 0.25F).at(22).push(0, 0.25F).at(22).push(0, 0.25F);
  EXPECT_EQ(k(), 6u);
}

TEST(AdaSync, MonotoneNeverFalls) {
  const auto after_a_rise = [](bool monotone) {
    test::cluster c{ada_sync{.by = ada_rule::k_batch_async, .interval = 0.0, .newest = 1.0, .monotone = monotone}, 4};
    c.push(0, 4.0F).push(0, 1.0F).push(0, 1.0F).push(0, 16.0F).push(0, 16.0F).push(0, 16.0F);
    return c.control().policy().k();
  };
  EXPECT_EQ(after_a_rise(true), 2u);
  EXPECT_EQ(after_a_rise(false), 1u);
}

TEST(AdaSync, SavesWhatItLearned) {
  const ada_sync options{.by = ada_rule::k_batch_async, .interval = 5.0, .newest = 1.0};
  test::cluster c{options, 4};
  c.push(0, 4.0F).push(0, 1.0F).push(0, 1.0F).at(9).push(0, 1.0F);
  ada_sync policy = c.control().policy();
  ASSERT_EQ(policy.k(), 2u);
  archive out;
  policy.state(out);
  ada_sync loaded = options;
  archive in{out.bytes()};
  loaded.state(in);
  EXPECT_TRUE(in.finished());
  EXPECT_EQ(loaded.k(), 2u);
  EXPECT_EQ(loaded.first, 4.0);
  EXPECT_EQ(loaded.next, 14.0);
  EXPECT_EQ(loaded.loss.average, 1.0);
}

TEST(AdaSync, RefusesBadOptions) {
  EXPECT_EQ(ada_sync{}.problem(4), "");
  EXPECT_EQ(ada_sync{.initial = 5}.problem(4), "initial is 5, expected 1 to 4, the number of workers");
  EXPECT_EQ(ada_sync{.initial = 0}.problem(4), "initial is 0, expected 1 to 4, the number of workers");
  EXPECT_EQ(ada_sync{.interval = -1.0}.problem(4), "interval is -1, expected a number of at least 0");
  EXPECT_EQ(ada_sync{.interval = std::nan("")}.problem(4), "interval is nan, expected a number of at least 0");
  EXPECT_EQ(ada_sync{.newest = 0.0}.problem(4), "newest is 0, expected a number above 0, at most 1");
  EXPECT_EQ(ada_sync{.by = static_cast<ada_rule>(7)}.problem(4), "by is 7, expected one of the four rules");
}

TEST(AdaSync, DescribesItself) {
  EXPECT_EQ((ada_sync{.by = ada_rule::k_sync, .initial = 2}.describe().json),
            R"({"kind":"adasync","rule":"ksync","initial":2,"interval":60,"newest":0.1,"monotone":true})");
}

}  // namespace
