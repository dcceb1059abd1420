#include <gtest/gtest.h>

#include <rubato/threads_ps/any_rule.hpp>
#include <rubato/threads_ps/slice.hpp>
#include <string>
#include <utility>
#include <vector>

namespace threads_ps_any_rule_test {
namespace {

namespace ps = rubato::threads_ps;
using numbers = std::vector<float>;

const numbers start{0, 1, -2}, gradient{1, -1, 0.5F};

numbers moved(ps::any_rule rule, int steps) {
  numbers values = start;
  for (int i = 0; i < steps; ++i) rule.update(values, {.direction = gradient});
  return values;
}
ps::any_rule resized(ps::any_rule rule) { return rule.resize(start.size()), rule; }

TEST(AnyRule, IsTheRuleItHolds) {
  const ps::sgd_options options{.learning_rate = 0.5F, .momentum = 0.5F};
  ps::sgd plain{options};
  plain.resize(start.size());
  numbers expected = start;
  for (int i = 0; i < 3; ++i) plain.update(expected, {.direction = gradient});
  EXPECT_EQ(moved(resized(ps::sgd{options}), 3), expected);
  EXPECT_EQ(moved(resized(ps::any_rule{}), 2), moved(resized(ps::sgd{}), 2)) << "the default";
}

TEST(AnyRule, CopiesShareNothing) {
  ps::any_rule one = resized(ps::sgd{{.learning_rate = 1, .momentum = 0.5F}}), two = one;
  numbers values = start;
  one.update(values, {.direction = gradient});
  EXPECT_NE(one.state(), two.state());
  EXPECT_EQ(two.state(), std::string(start.size() * sizeof(float), '\0'));
  two = one;
  EXPECT_EQ(one.state(), two.state());
}

TEST(AnyRule, StateRoundTrip) {
  ps::any_rule one = resized(ps::sgd{{.learning_rate = 1, .momentum = 0.5F}}), two = one;
  numbers values = start;
  one.update(values, {.direction = gradient});
  ASSERT_TRUE(two.restore(one.state()));
  EXPECT_EQ(moved(one, 2), moved(two, 2));
  EXPECT_FALSE(two.restore("short"));
  EXPECT_EQ(moved(one, 2), moved(two, 2)) << "nothing has changed";
}

}  // namespace
}  // namespace threads_ps_any_rule_test
