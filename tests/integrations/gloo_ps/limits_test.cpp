#include <gtest/gtest.h>

#include <limits>
#include <rubato/gloo_ps/limits.hpp>

namespace gloo_ps_limits_test {
namespace {

using rubato::gloo_ps::after;
using rubato::gloo_ps::limit_options;
using rubato::gloo_ps::limits_of;

constexpr limit_options options{.floor = 2, .ceiling = 60, .slack = 4, .hello = 5};
constexpr double infinite = std::numeric_limits<double>::infinity();

TEST(Limits, CeilingBeforeTheFirstStep) {
  const auto l = limits_of(options, 0, 1);
  EXPECT_EQ(l.step, 60);
  EXPECT_EQ(l.wait, 120);
}

TEST(Limits, FloorHolds) {
  const auto l = limits_of(options, 0.001, 1);
  EXPECT_EQ(l.step, 2);
  EXPECT_EQ(l.wait, 4);
}

TEST(Limits, WaitCoversAHangingPeer) {
  for (const double longest : {0.01, 1.0, 7.0, 1000.0})
    for (const double legal : {0.0, 1.0, 3.0, infinite}) {
      const auto l = limits_of(options, longest, legal);
      // A peer that hangs in its step is given up after `step`; who waits for it must not give up before.
      EXPECT_GE(l.wait, l.step + options.floor);
    }
}

TEST(Limits, InfiniteWaitIsCapped) {
  EXPECT_EQ(limits_of(options, 1, infinite).wait, 64);
  EXPECT_EQ(limits_of(options, 3, 2).wait, 12 + 6);
}

TEST(Limits, NoTimeIsTooLongForTheClock) {
  EXPECT_GT(after(1e300), after(1e7));
  EXPECT_LT(after(-1e300), after(-1e7));
  EXPECT_GT(after(infinite), after(1e7));
}

TEST(Limits, ProblemsAreSentences) {
  EXPECT_EQ(problem(options), "");
  EXPECT_NE(problem(limit_options{.floor = 0}), "");
  EXPECT_NE(problem(limit_options{.floor = 5, .ceiling = 4}), "");
  EXPECT_NE(problem(limit_options{.slack = 0.5}), "");
  EXPECT_NE(problem(limit_options{.hello = -1}), "");
  EXPECT_NE(problem(limit_options{.ceiling = infinite}), "");
  EXPECT_NE(problem(limit_options{.ceiling = 1e10}), "");
  EXPECT_NE(problem(limit_options{.hello = 1e10}), "");
}

}  // namespace
}  // namespace gloo_ps_limits_test
