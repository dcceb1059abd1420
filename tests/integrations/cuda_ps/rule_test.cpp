#include <rubato/cuda_ps/rule.cuh>

#include <gtest/gtest.h>

#include <cstddef>
#include <rubato/nn/kernels/kernels.hpp>
#include <rubato/nn/optimiser.hpp>
#include <rubato/threads_ps/update_rule.hpp>
#include <vector>

#include "numbers.hpp"

namespace rubato::cuda_ps::rule_test {
namespace {

using cuda_ps::test::numbers;
using floats = std::vector<float>;

// A rule on a vector, number by number.
struct ours {
  rule_options options;
  floats values;
  floats first = floats(values.size()), second = floats(values.size());
  rule_state state{};

  void update(const floats& direction, float scale = 1, float weight = 1) {
    const rule_step step = next_step(options, state, scale, weight);
    for (std::size_t i = 0; i < values.size(); ++i) cuda_ps::update(step, direction[i], values[i], first[i], second[i]);
  }
};

TEST(CudaPsRule, SgdAndMomentumAreThoseOfThreadsPs) {
  for (const rule_kind kind : {rule_kind::sgd, rule_kind::momentum}) {
    ours mine{{.kind = kind, .learning_rate = 0.05, .momentum = 0.75}, numbers(17, 1)};
    threads_ps::sgd theirs{{.learning_rate = 0.05F, .momentum = kind == rule_kind::sgd ? 0.0F : 0.75F}};
    floats values = mine.values;
    theirs.resize(values.size());
    for (std::uint64_t n = 1; n < 6; ++n) {
      const floats direction = numbers(17, 2, n);
      const float scale = 0.3F * static_cast<float>(n);
      mine.update(direction, scale, 3);
      theirs.update(values, {.direction = direction, .scale = scale, .weight = 3});
      for (std::size_t i = 0; i < values.size(); ++i) EXPECT_FLOAT_EQ(mine.values[i], values[i]);
    }
  }
}

TEST(CudaPsRule, AdamHasTheBitsOfNn) {
  ours mine{{.kind = rule_kind::adam, .learning_rate = 0.02, .beta1 = 0.85}, numbers(17, 1)};
  nn::adam theirs{17, {.learning_rate = 0.02, .beta1 = 0.85}, nn::kernels::reproducible<float>()};
  floats values = mine.values;
  for (std::uint64_t n = 1; n < 20; ++n) {
    const floats gradient = numbers(17, 2, n);
    mine.update(gradient);
    theirs.step(values, gradient);
    EXPECT_EQ(mine.values, values) << n;
  }
}

// A sum of K gradients that is flushed with 1 / K is a step by their mean at the rate of one; a weight scales the rate.
TEST(CudaPsRule, AdamStepsByTheMeanOfARound) {
  const rule_options adam{.kind = rule_kind::adam, .learning_rate = 0.5};
  ours by_sum{adam, {1, 1, 1}}, by_mean{adam, {1, 1, 1}}, light{adam, {1, 1, 1}}, empty{adam, {1, 1, 1}};
  by_sum.update({4, -8, 0}, 0.25F, 4);
  by_mean.update({1, -2, 0});
  EXPECT_EQ(by_sum.values, by_mean.values);
  EXPECT_FLOAT_EQ(by_mean.values[0], 0.5F);
  light.update({1, -2, 0}, 0.5F);
  EXPECT_FLOAT_EQ(light.values[0], 0.75F);
  EXPECT_FLOAT_EQ(light.values[1], 1.25F);
  empty.update({0, 0, 0}, 1, 0);
  EXPECT_EQ(empty.values, (floats{1, 1, 1}));
}

TEST(CudaPsRule, BadOptionsAreSentences) {
  EXPECT_EQ(problem(rule_options{}), "");
  EXPECT_EQ(problem(rule_options{.learning_rate = -1}), "learning_rate: expected a number in [0, 1e6)");
  EXPECT_EQ(problem(rule_options{.momentum = 1}), "momentum: expected a number in [0, 1)");
  EXPECT_EQ(problem(rule_options{.beta1 = -0.1}), "beta1: expected a number in [0, 1)");
  EXPECT_EQ(problem(rule_options{.beta2 = 0.99999999999}), "beta2: expected a number in [0, 1)") << "1 as a float";
  EXPECT_EQ(problem(rule_options{.epsilon = 1e-60}), "epsilon: expected a number in (0, 1]") << "0 as a float";
}

}  // namespace
}  // namespace rubato::cuda_ps::rule_test
